# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The flags of `tally-meson test` that choose tests, and what they do."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import typing as T

from .refusal import Refusal, say

if T.TYPE_CHECKING:
    from .arguments import Flags
    from .build_dir import BuildDir

# By flag: the metavariable ("" for a switch), and the help.
FLAGS: T.Dict[str, T.Tuple[str, str]] = {
    "--affected": (
        "REV",
        "Run only the tests that changes since the git revision REV may affect, by the last run of "
        "all tests with --coverage-per-test. Does not measure.",
    ),
    "--affected-list": (
        "",
        "Print the names of these tests, and on standard error why; build and run nothing.",
    ),
    "--redundant": (
        "",
        "Also print the tests that reach no line that others do not reach. Implies "
        "--coverage-per-test.",
    ),
}


# Options of `meson test` with a value, which may be equal to the name of a test.
_WITH_VALUES = (
    *("--suite", "--no-suite", "--setup", "--repeat", "--maxfail", "--slice", "--logbase"),
    *("-t", "--timeout-multiplier", "-j", "--num-processes", "--test-args", "--wrapper"),
    "--gdb-path",
)


class Choosing(T.NamedTuple):
    """The values of the flags."""

    revision: str
    list_only: bool

    @classmethod
    def of(cls, options: argparse.Namespace) -> T.Optional[Choosing]:
        """Returns None if no flag is given."""
        if options.affected is None:
            if options.affected_list:
                raise Refusal("--affected-list requires --affected REV")
            return None
        if getattr(options, "redundant", False):
            raise Refusal("--affected cannot be combined with --redundant")
        if not options.affected or options.affected.startswith("-"):
            raise Refusal(f"--affected: expected a revision, found '{options.affected}'")
        return cls(options.affected, options.affected_list)


def add_arguments(parser: argparse.ArgumentParser, *, with_redundant: bool = True) -> None:
    """Adds the flags to a parser. `meson test` accepts --r for --repeat, which --redundant would
    make ambiguous."""
    group = parser.add_argument_group("tests that a change needs (Tally)")
    for name, (metavar, text) in FLAGS.items():
        if name == "--redundant" and not with_redundant:
            continue
        if metavar:
            group.add_argument(name, metavar=metavar, help=text)
        else:
            group.add_argument(name, action="store_true", help=text)


def is_asked_for(options: argparse.Namespace) -> bool:
    return getattr(options, "affected", None) is not None or bool(
        getattr(options, "affected_list", False)
    )


def refuse_measuring(flags: Flags) -> None:
    """Raises Refusal if a flag of coverage is given."""
    other = flags.first_given() or (
        "--coverage" if flags.coverage else "--coverage-off" if flags.off else None
    )
    if other:
        raise Refusal(
            f"--affected cannot be combined with {other}: some of the tests do not show what all reach"
        )


def run_chosen(
    run: T.Callable[[argparse.Namespace], T.Any], options: argparse.Namespace, flags: Flags
) -> T.Any:
    """Runs `meson test`, whose options these are, with the tests that a change may affect."""
    from .build_dir import BuildDir
    from .refusal import BUILD_FAILED
    from .run import is_built

    given = Choosing.of(options)
    assert given  # see is_asked_for()
    refuse_measuring(flags)
    if getattr(options, "benchmark", False):
        raise Refusal("--affected cannot be combined with --benchmark")
    build = BuildDir(getattr(options, "wd", None) or os.getcwd())
    check_revision(build, given)
    if not given.list_only and not getattr(options, "no_rebuild", False):
        if not is_built(build, benchmark=False):
            return BUILD_FAILED
        options.no_rebuild = True
    tests = chosen(build, given)
    named, others = names_in(build, getattr(options, "args", None) or [])
    if given.list_only or not (tests or named):
        return 0
    options.args = [*sorted({*named, *tests}), *others]
    return run(options)


def check_revision(build: BuildDir, given: Choosing) -> None:
    """Raises Refusal if the revision does not exist. Call this before anything is built."""
    from .repository import commit_of

    try:
        commit_of(build.source, given.revision)
    except Refusal:
        raise Refusal(f"--affected: {given.revision} is not a revision of {build.source}") from None


def names_in(build: BuildDir, words: T.Sequence[str]) -> T.Tuple[T.List[str], T.List[str]]:
    """Returns the tests of the build that words for `meson test` name, and the options among the
    words. Raises Refusal if a word names no test. Meson runs a test as often as it is named."""
    named: T.List[str] = []
    others = []
    for at, word in enumerate(words):
        if word.startswith("-") or (at > 0 and words[at - 1] in _WITH_VALUES):
            others.append(word)
            continue
        found = [
            name
            for name in build.tests_by_name()
            if fnmatch.fnmatchcase(name, word) or fnmatch.fnmatchcase(name.split(":")[-1], word)
        ]
        if not found:
            raise Refusal(f"the build has no test '{word}'")
        named += found
    return named, others


def chosen(build: BuildDir, given: Choosing) -> T.List[str]:
    """Returns the names of the tests to run, and says which these are."""
    from .affected import choose

    choice = choose(build, given.revision)
    if choice.everything:
        say(f"all {len(choice.all)} tests are affected: {choice.everything}")
    else:
        say(
            f"{len(choice.reasons)} of {len(choice.all)} tests are affected by changes since "
            f"{given.revision}"
        )
    if given.list_only:
        for name in sorted(choice.reasons):
            print(name)
            if not choice.everything:
                print(f"  {name}: {choice.reasons[name]}", file=sys.stderr)
    return sorted(choice.reasons)
