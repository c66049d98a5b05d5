"""Helpers for the tests in this directory: they run GDB in batch mode, and split its output by
command.

    play = play_gdb(["profile start", "run", "profile status"], program("spin7030"), ["1"])
    play.status()["samples"]
"""
from __future__ import annotations

import os
import re
import sys
import unittest
from dataclasses import dataclass
from typing import Sequence

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.gdb_driver import GdbResult, run_gdb
from support.skips import need_perf, need_tools
from support.tables import Report, parse_report, status_number


class GdbCase(unittest.TestCase):
    """A case that drives GDB and samples."""

    def setUp(self) -> None:
        need_tools("gdb")
        need_perf()

    def assert_refused(self, play: "Play", *patterns: str) -> None:
        """Asserts that standard error holds one line for each pattern, in order, and no more."""
        lines = play.stderr.splitlines()
        self.assertEqual(len(lines), len(patterns), f"refusals: {lines}\n{play}")
        for line, pattern in zip(lines, patterns):
            self.assertRegex(line, pattern)


@dataclass(frozen=True)
class Status:
    """The values of `profile status`, by name."""

    values: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def number(self, name: str) -> float:
        return status_number(self.values, name)

    def count(self, name: str) -> int:
        return int(self.values[name])


def read_status(text: str) -> Status:
    lines = [re.fullmatch(r"([a-z_]+) (\S.*)", line) for line in text.splitlines()]
    if not lines or None in lines:
        raise AssertionError(f"not lines of `name value`: {text!r}")
    values = {line[1]: line[2] for line in lines if line}
    if len(values) != len(lines):
        raise AssertionError(f"two lines have the same name: {text!r}")
    return Status(values)


@dataclass(frozen=True)
class Play:
    """The output of GDB, split by command."""

    result: GdbResult
    sections: tuple[tuple[str, str], ...]  # (command, its standard output)

    @property
    def stderr(self) -> str:
        """Returns standard error without GDB's messages about missing library sources."""
        return re.sub(
            r"^\d+\t.*: No such file or directory\.\n", "", self.result.stderr, flags=re.MULTILINE
        )

    def all(self, command: str) -> list[str]:
        """Returns the output of each use of the command."""
        return [text for said, text in self.sections if said == command]

    def text(self, command: str, which: int = 0) -> str:
        texts = self.all(command)
        if not texts:
            raise AssertionError(f"no command {command!r} was played\n{self}")
        return texts[which]

    def status(self, which: int = -1) -> Status:
        try:
            return read_status(self.text("profile status", which))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self}") from None

    def report(self, options: str = "", which: int = -1) -> Report:
        try:
            return parse_report(self.text(f"profile report {options}".strip(), which))
        except ValueError as error:
            raise AssertionError(f"{error}\n{self}") from None

    def parts(self, which: int = -1, least: int = 1) -> list[str]:
        """Returns what ended each part of at least `least` ticks, in order, from the PARTS
        table."""
        rows = self.report("--by part --limit 0", which).rows
        numbered = sorted(
            (int(row.name.split(" ", 1)[0]), row.name.split(" ", 1)[1])
            for row in rows
            if row.self_ticks >= least
        )
        return [name for _, name in numbered]

    def program_value(self, name: str, which: int = -1) -> float:
        """Returns the value of a line `name 1.234` that the program printed."""
        found = re.findall(rf"^{name} ([0-9.]+)$", self.result.stdout, re.MULTILINE)
        if not found:
            raise AssertionError(f"the program printed no {name}\n{self}")
        return float(found[which])

    def __str__(self) -> str:
        return str(self.result)


PARTS = "profile report --by part --limit 0"


def play_gdb(
    commands: Sequence[str], program: str | None = None, args: Sequence[str] = (), **options: object
) -> Play:
    """Calls run_gdb() with a mark before each command. Raises AssertionError if loading the plug-in
    prints anything."""
    marked = []
    for number, command in enumerate(commands):
        marked += [f"echo \\n@{number}@\\n", command]
    result = run_gdb(marked, program, args, **options)  # type: ignore[arg-type]
    pieces = re.split(r"\n@(\d+)@\n", result.stdout)
    if len(pieces) != 2 * len(commands) + 1:
        raise AssertionError(f"GDB did not reach all {len(commands)} commands\n{result}")
    if pieces[0].strip():
        raise AssertionError(f"loading the plug-in printed {pieces[0]!r}\n{result}")
    return Play(result, tuple(zip(commands, pieces[2::2])))
