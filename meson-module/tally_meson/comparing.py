# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Lists the flags of `tally-meson test --benchmark` that compare benchmarks with a baseline."""

from __future__ import annotations

import argparse
import typing as T

from .refusal import Refusal

# By flag: the metavariable ("" for a switch), whether it may be repeated, and the help.
FLAGS: T.Dict[str, T.Tuple[str, bool, str]] = {
    "--baseline": (
        "PATH|REV",
        False,
        "Compare the benchmarks with those in the directory PATH, or with those of the git revision "
        "REV, which is built and run by turns with this build.",
    ),
    "--baseline-update": (
        "",
        False,
        "Write the results to PATH, after they are compared, unless the limit of --fail-over is "
        "exceeded or cannot be decided.",
    ),
    "--exact": (
        "",
        False,
        "Count instructions by Valgrind's Callgrind, in place of samples of many runs.",
    ),
    "--fail-over": (
        "PCT",
        False,
        "Exit with status 3 if a total or a function grew by more than PCT percent, see tally diff.",
    ),
    "--function": (
        "RE",
        True,
        "Judge only functions that match RE, see tally diff. May be repeated.",
    ),
}


class Comparing(T.NamedTuple):
    """The values of the flags."""

    baseline: str = ""
    update: bool = False
    exact: bool = False
    fail_over: T.Optional[str] = None
    function: T.Tuple[str, ...] = ()

    @classmethod
    def of(cls, options: argparse.Namespace, *, benchmark: bool) -> T.Optional[Comparing]:
        """Returns None if no flag is given. `benchmark` is whether --benchmark is."""
        given = cls(
            options.baseline or "",
            options.baseline_update,
            options.exact,
            options.fail_over,
            tuple(options.function or ()),
        )
        if given == cls() and options.baseline is None:
            return None
        if not benchmark:
            raise Refusal("benchmarks are compared only with --benchmark")
        if not given.baseline:
            raise Refusal("--baseline is missing: expected a directory or a revision")
        if given.function and given.fail_over is None:
            raise Refusal("--function requires --fail-over")
        return given


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("benchmarks (Tally)")
    for name, (metavar, repeats, text) in FLAGS.items():
        if metavar:
            group.add_argument(
                name, metavar=metavar, action="append" if repeats else "store", help=text
            )
        else:
            group.add_argument(name, action="store_true", help=text)
