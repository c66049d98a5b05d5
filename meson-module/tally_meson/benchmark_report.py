# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Prints and writes how benchmarks differ from their baseline."""

from __future__ import annotations

import contextlib
import glob
import os
import subprocess
import sys
import typing as T

from . import source_based
from .benchmark_runs import file_name
from .refusal import NO_DATA, say

if T.TYPE_CHECKING:
    from .build_dir import BuildDir

_BELOW = 3  # the status of a gate that failed


class Pair(T.NamedTuple):
    name: str
    before: str  # files
    now: str


def warn_of_slow_build(build: BuildDir) -> None:
    """Says what slows the benchmarks of a build down."""
    options = {
        each["name"]: each["value"] for each in build.introspection("intro-buildoptions.json")
    }
    if options.get("b_coverage"):
        say("the option b_coverage is on: counters slow the benchmarks down")
    elif source_based.is_on(build):
        say("the build has source-based coverage: counters slow the benchmarks down")
    if options.get("b_sanitize", "none") not in ("none", []):
        say(f'the option b_sanitize is {options["b_sanitize"]}: checks slow the benchmarks down')
    if str(options.get("optimization")) in ("0", "g"):
        say(f'the option optimization is {options["optimization"]}: the compiler did not optimize')


def remove_reports(folder: str) -> None:
    """Removes the reports of an earlier run, which would pass for those of this one."""
    for path in ("benchmarks.md", "benchmark-*.svg"):
        for file in glob.glob(os.path.join(glob.escape(folder), path)):
            with contextlib.suppress(OSError):
                os.remove(file)


def compare(
    tally: str,
    pairs: T.Sequence[Pair],
    *,
    gate: T.Sequence[str],
    has_stacks: bool,
    folder: str,
    notes: T.Sequence[str],
) -> int:
    """Prints what changed, and writes a report and, if the profiles have stacks, pictures to
    `folder`. `gate` holds the options of `tally diff` that judge. Returns 3 if one failed, 4 if one
    could not be decided, and 1 if profiles cannot be compared."""
    statuses = set()
    markdown: T.List[str] = []
    for name, before, now in pairs:
        print(f"\n{name}")
        sys.stdout.flush()
        diff = [tally, "diff", before, now]
        shown = subprocess.run(
            [*diff, "--limit=10", *gate], check=False, stdin=subprocess.DEVNULL
        ).returncode
        statuses.add(shown)
        part = now + ".md"
        _run(*diff, "-o", part, *gate)
        if os.path.exists(part):
            with open(part, encoding="utf-8") as file:
                markdown.append(file.read().replace("### Cost", f"### {name}", 1))
        if has_stacks:
            _run(*diff, "-o", os.path.join(folder, f"benchmark-{file_name(name)}.svg"))
    text = "\n".join([*markdown, "".join(f"- {note}\n" for note in notes)])
    if text:
        _write(os.path.join(folder, "benchmarks.md"), text)
    if statuses - {0, _BELOW, NO_DATA}:
        return 1  # also if the collector was killed
    return next((status for status in (_BELOW, NO_DATA) if status in statuses), 0)


def _run(*words: str) -> None:
    """Runs a command whose messages another one has shown already."""
    subprocess.run(
        words,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _write(path: str, text: str) -> None:
    with open(path + "~", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + "~", path)
    say(f"wrote {path}")
