# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The command `tally-meson`."""

from __future__ import annotations

import sys
import textwrap
import typing as T

from .arguments import parser_of
from .refusal import Refusal, refused_by_system, say

SYNOPSIS = (
    "test [-C BUILD] [--coverage-*]... [arguments of meson test]...",
    "test [-C BUILD] --affected REV [--affected-list] [arguments of meson test]...",
    "test [-C BUILD] --benchmark --baseline PATH|REV [arguments of meson test]...",
    "report [-C BUILD] [--coverage-*]...",
    "enable | disable [--user | --site DIR]",
    "doctor",
)
COMMANDS = {
    "test": "runs the tests as `meson test` does, and prints which lines they reached",
    "report": "prints the table of the counters on disk",
    "enable": "makes `meson test --coverage` and import('tally') work in the Meson that is on PATH",
    "disable": "removes everything that enable wrote",
    "doctor": "reports whether what enable wrote works, and if not, why",
}
EXIT_STATUS = {  # unless a test failed: then it is 1
    125: "the build failed",
    1: "a report cannot be written or an input cannot be used",
    2: "the command line is wrong",
    3: "below a threshold or a baseline, or slower than a limit permits",
    4: "no data, or too few to decide",
}
EXAMPLE = "tally-meson test -C build --coverage-fail-under 80"


def _usage() -> str:
    forms = "\n       ".join(f"tally-meson {form}" for form in SYNOPSIS)
    commands = "\n".join(f"  {name:<8} {summary}" for name, summary in COMMANDS.items())
    statuses = ", ".join(f"{status} {meaning}" for status, meaning in EXIT_STATUS.items())
    status = f"Exit status: 1 if a test failed; otherwise {statuses}."
    return (
        f"Usage: {forms}\n\nCommands:\n{commands}\n\n{textwrap.fill(status, 95)}\n\n"
        f"Example: {EXAMPLE}\n"
    )


def main() -> int:
    words = sys.argv[1:]
    if words in (["-h"], ["--help"], ["help"]):
        print(_usage(), end="")
        return 0
    if words == ["--version"]:
        from .collector import expected_version

        print(f"tally-meson {expected_version()}")
        return 0
    try:
        with refused_by_system():
            return _run(words)
    except Refusal as refusal:
        say(str(refusal))
        return refusal.status
    except KeyboardInterrupt:
        return 130


def _run(words: T.List[str]) -> int:
    command = words[0] if words else ""
    if command == "test":
        from . import run

        return run.test(words[1:])
    if command == "report":
        from . import run

        return run.report(words[1:])
    if command in ("enable", "disable"):
        from . import sites

        parsed = parser_of(command).parse_args(words[1:])
        if parsed.site == "":
            raise Refusal(f"{command}: --site: expected a directory, found ''")
        return (
            sites.enable(parsed.site, parsed.user)
            if command == "enable"
            else sites.disable(parsed.site, parsed.user)
        )
    if command == "doctor":
        parser_of(command).parse_args(words[1:])
        from . import doctor

        return doctor.doctor()
    raise Refusal(
        (f"there is no command '{command}': " if words else "")
        + "expected test, report, enable, disable or doctor"
    )
