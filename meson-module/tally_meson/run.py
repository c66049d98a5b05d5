# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The commands `tally-meson test` and `report`, which work with any Meson and without a hook."""

from __future__ import annotations

import os
import subprocess
import typing as T

from . import (
    arguments,
    choosing,
    comparing,
    lending,
    running,
    settings,
    words as command_words,
    wrapped_test,
)
from .build_dir import BuildDir, ninja
from .measurement import Measurement
from .refusal import BUILD_FAILED, Refusal, say
from .switching import refuse_stale, switch_off


def test(words: T.Sequence[str]) -> int:
    parsed = command_words.split(words)
    if parsed is None:
        raise Refusal("-C: expected a build directory")
    own = arguments.parser_of("test")
    if parsed.help:
        own.print_help()
        return 0
    options = own.parse_args(parsed.coverage)
    flags = arguments.Flags.of(options)
    compared = comparing.Comparing.of(options, benchmark=parsed.benchmark)
    chosen = choosing.Choosing.of(options)
    build = BuildDir(parsed.build)
    if compared:
        if chosen:
            raise Refusal("--affected cannot be combined with --benchmark")
        return _compare(build, flags, compared, parsed)
    if chosen:
        return _run_chosen(build, flags, chosen, parsed)
    meson_test = [*build.meson(), "test", "-C", build.path]
    if flags.off:
        switch_off(build, flags, {"--list": parsed.list_only, "--no-rebuild": parsed.no_rebuild})
        return running.unmeasured(build, parsed.meson)
    if parsed.list_only:
        more = ["--no-rebuild"] if parsed.no_rebuild else []
        return subprocess.run([*meson_test, *more, *parsed.meson], check=False).returncode
    measurement = Measurement(build, flags, os.getcwd())
    # Abbreviations of --test-args and --setup count, too.
    measurement.is_plain = not parsed.benchmark and not any(
        word.startswith(("--te", "--se")) for word in parsed.meson
    )
    _one_wrapper(measurement, parsed)
    try:
        measurement.prepare(may_rebuild=not parsed.no_rebuild)
        if not parsed.no_rebuild:
            # If ninja configures again, it does so without the module.
            if (
                not is_built(build, benchmark=parsed.benchmark)
                or measurement.hold_settings()
                and not is_built(build, benchmark=parsed.benchmark)
            ):
                return BUILD_FAILED
        measurement.begin()
        measurement.zero()
        meson_test.append("--no-rebuild")
        if measurement.trees:
            _one_wrapper(measurement, parsed)  # the rebuild may have changed per_test
            meson_test.append("--wrapper=" + wrapped_test.wrapper(measurement.trees))
        before = running.logs(build)
        status = running.run(
            [*meson_test, *parsed.meson],
            wrapped_by="--coverage-per-test" if measurement.trees else "",
        )
        log = running.log_since(build, before)
        if (
            status != 0
            and log is None
            and "--gdb" not in parsed.meson
            and "--interactive" not in parsed.meson
        ):
            return status  # no test was run
        entries = running.entries(log)
        measurement.ran = [ran for ran, _, _ in entries]
        if measurement.trees:
            alike = wrapped_test.assign_claims(measurement.trees, entries)
            if alike:
                say(
                    f'several tests run the same command: {", ".join(alike)}: only their order '
                    "distinguishes them; `meson test --coverage` knows each (tally-meson enable)"
                )
        return measurement.finish(status)
    finally:
        measurement.close()


def _compare(
    build: BuildDir,
    flags: arguments.Flags,
    compared: comparing.Comparing,
    parsed: command_words.Words,
) -> int:
    """Runs the benchmarks, and compares them with a baseline."""
    from .benchmarks import Comparison

    other = flags.first_given() or (
        "--coverage" if flags.coverage else "--coverage-off" if flags.off else None
    )
    if other:
        raise Refusal(f"--baseline cannot be combined with {other}: counters would be timed, too")
    for option, is_given in (
        ("--wrapper", parsed.wrapper),
        ("--list", parsed.list_only),
        ("--gdb", "--gdb" in parsed.meson),
        ("--interactive", "--interactive" in parsed.meson),
    ):
        if is_given:
            raise Refusal(f"--baseline cannot be combined with {option}")
    comparison = Comparison(build, compared, parsed)
    return comparison.run(lambda: parsed.no_rebuild or is_built(build, benchmark=parsed.benchmark))


def _run_chosen(
    build: BuildDir, flags: arguments.Flags, chosen: choosing.Choosing, parsed: command_words.Words
) -> int:
    """Runs the tests that a change may affect, without measuring them."""
    choosing.refuse_measuring(flags)
    if parsed.benchmark:
        raise Refusal("--affected cannot be combined with --benchmark")
    choosing.check_revision(build, chosen)
    if (
        not chosen.list_only
        and not parsed.no_rebuild
        and not is_built(build, benchmark=parsed.benchmark)
    ):
        return BUILD_FAILED
    tests = choosing.chosen(build, chosen)
    named, others = choosing.names_in(build, parsed.meson)
    if chosen.list_only or not tests and not named:
        return 0
    # All names stand together, because Meson's parser accepts no more of them after an option.
    return running.unmeasured(build, ["--no-rebuild", *sorted({*named, *tests}), *others])


def _one_wrapper(measurement: Measurement, parsed: command_words.Words) -> None:
    if measurement.per_test and {"--gdb", "--interactive"} & set(parsed.meson):
        raise Refusal(
            "--coverage-per-test cannot be combined with --gdb or --interactive: Meson "
            "then writes no log that names the tests"
        )
    if measurement.per_test and parsed.wrapper:
        raise Refusal(
            "--coverage-per-test cannot be combined with --wrapper: only `meson test "
            "--coverage` supports both (tally-meson enable)"
        )


def is_built(build: BuildDir, *, benchmark: bool) -> bool:
    """Builds what the tests or benchmarks need, and returns whether that succeeded."""
    target = "meson-benchmark-prereq" if benchmark else "meson-test-prereq"
    return subprocess.run([*ninja(), "-C", build.path, target], check=False).returncode == 0


def report(words: T.Sequence[str]) -> int:
    """Prints the table of the counters on disk."""
    parsed = command_words.split(words)
    if parsed is None:
        raise Refusal("-C: expected a build directory")
    own = arguments.parser_of("report")
    if parsed.help:
        own.print_help()
        return 0
    flags = arguments.Flags.of(own.parse_args([*parsed.coverage, *parsed.meson]))
    build = BuildDir(parsed.build)
    refuse_stale(build)
    if settings.are_missing(build):
        raise Refusal(f"{lending.WHY}: tally-meson test -C {build.path} configures it again")
    measurement = Measurement(build, flags, os.getcwd())
    settings.refuse_unknown_subprojects(build)
    return measurement.finish(0)
