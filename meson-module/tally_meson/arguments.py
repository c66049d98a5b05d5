# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The values of the flags of `meson test` and `tally-meson`, and the parsers of `tally-meson`."""

from __future__ import annotations

import argparse
import re
import typing as T

from . import choosing, comparing
from .flag_table import FLAGS, REPORTING, SWITCHES, Flag
from .refusal import Refusal


class Flags(T.NamedTuple):
    """The values of the flags; None, False or () if a flag is not given. Its data members are
    many: one for each flag of coverage, and --redundant."""

    coverage: bool = False  # also with --coverage=source
    source: bool = False
    report: T.Tuple[str, ...] = ()
    fail_under: T.Optional[str] = None
    fail_under_branch: T.Optional[str] = None
    baseline: T.Optional[str] = None
    new: T.Optional[str] = None
    update: bool = False
    filter: T.Tuple[str, ...] = ()
    exclude: T.Tuple[str, ...] = ()
    exclude_lines: T.Tuple[str, ...] = ()
    substitute: T.Tuple[str, ...] = ()
    no_native: bool = False
    limit: T.Optional[str] = None
    full: bool = False
    sort: T.Optional[str] = None
    diff: T.Optional[str] = None
    per_test: bool = False
    keep: bool = False
    update_atomic: bool = False
    update_prefer_atomic: bool = False
    update_single: bool = False
    no_reconfigure: bool = False
    off: bool = False
    redundant: bool = False  # of `choosing`

    @classmethod
    def of(cls, options: argparse.Namespace) -> Flags:
        values: T.Dict[str, T.Any] = {}
        for flag in FLAGS:
            value = getattr(options, _dest(flag), None)
            if value is not None:
                values[_field(flag)] = tuple(value) if flag.kind == "list" else value
        if getattr(options, "redundant", False):
            values.update(redundant=True, per_test=True)
        values["coverage"] = values.get("coverage", False) or values.get("source", False)
        return cls(**values)

    def first_given(self) -> T.Optional[str]:
        """Returns the name of the first flag in FLAGS that is given and not in SWITCHES."""
        for flag in FLAGS:
            if flag.name not in SWITCHES and getattr(self, _field(flag)) not in (None, False, ()):
                return flag.name
        return None


def _dest(flag: Flag) -> str:
    return re.sub("[-=]", "_", flag.name[2:])


def _field(flag: Flag) -> str:
    return "coverage" if flag.name == "--coverage" else _dest(flag)[len("coverage_") :]


def add_arguments(parser: argparse.ArgumentParser, *, reporting_only: bool = False) -> None:
    group = parser.add_argument_group("coverage (Tally)")
    for flag in FLAGS:
        if reporting_only and flag.use != REPORTING:
            continue
        more: T.Dict[str, T.Any] = {"dest": _dest(flag), "help": flag.help}
        if flag.kind == "switch":
            more.update(action="store_true", default=False)
        else:
            more.update(metavar=flag.metavar)
            if flag.kind == "list":
                more.update(action="append")
            elif flag.kind == "optional":
                more.update(nargs="?", const="HEAD")
        group.add_argument(flag.name, **more)


class Parser(argparse.ArgumentParser):
    """The parser of a command of `tally-meson`. Reports an error in one line, as a Refusal."""

    def __init__(self, command: str, *, usage: str = "", add_help: bool = True) -> None:
        super().__init__(
            f"tally-meson {command}",
            add_help=add_help,
            usage=f"tally-meson {command} {usage}" if usage else None,
        )

    def error(self, message: str) -> T.NoReturn:
        value = message.partition("argument --coverage: ignored explicit argument ")[2]
        raise Refusal(f"--coverage: expected source, found {value}" if value else message)


def parser_of(command: str) -> Parser:
    """Returns the parser of a command. That of test and report is for Tally's flags alone; see
    words.split()."""
    if command in ("test", "report"):
        usage = "[-C BUILD] [flags below]" + (
            " [arguments of meson test]..." if command == "test" else "..."
        )
        parser = Parser(command, usage=usage, add_help=False)
        add_arguments(parser, reporting_only=command == "report")
        if command == "test":
            choosing.add_arguments(parser)
            comparing.add_arguments(parser)
        return parser
    parser = Parser(command)
    if command in ("enable", "disable"):
        group = parser.add_mutually_exclusive_group()
        group.add_argument("--user", action="store_true", help="Use the user's own site directory.")
        group.add_argument("--site", metavar="DIR", help="Use the site directory DIR.")
    return parser
