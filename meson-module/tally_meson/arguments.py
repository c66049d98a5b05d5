# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Lists the flags of `meson test` and `tally-meson`, and defines the parsers of `tally-meson`."""

from __future__ import annotations

import argparse
import re
import typing as T

from . import choosing, comparing
from .refusal import Refusal

# Marks the flags of `tally-meson report`, which runs no tests.
_REPORTING = "reporting"


class _Flag(T.NamedTuple):
    name: str
    kind: str  # 'switch', 'value', 'list', 'optional'
    metavar: str
    help: str
    use: str = ""


SWITCHES = ("--coverage", "--coverage=source", "--coverage-off")
FLAGS: T.Tuple[_Flag, ...] = (
    _Flag(
        "--coverage",
        "switch",
        "",
        "Measure which lines the tests reach, and print a table: by Clang's source-based coverage "
        "if the build has it, otherwise by the option b_coverage.",
    ),
    # An option of its own, because "--coverage" must not take the name of a test for its value.
    _Flag(
        "--coverage=source",
        "switch",
        "",
        "Measure by Clang's source-based coverage. Adds its arguments to c_args, c_link_args and "
        "those of other languages if they are not there.",
    ),
    _Flag(
        "--coverage-report",
        "list",
        "FMT[:FILE]",
        "Also write a report. FMT is one of html, lcov, gcovr, cobertura, sonarqube, markdown, "
        "github, badge, shields, json, callgrind, text. FILE is relative to the current directory; the "
        "default is meson-logs/coverage.* in the build directory. May be repeated.",
        _REPORTING,
    ),
    _Flag(
        "--coverage-fail-under",
        "value",
        "PCT",
        "Exit with status 3 if less than PCT percent of the lines were reached.",
        _REPORTING,
    ),
    _Flag(
        "--coverage-fail-under-branch",
        "value",
        "PCT",
        "Exit with status 3 if less than PCT percent of the branches were taken.",
        _REPORTING,
    ),
    _Flag(
        "--coverage-baseline",
        "value",
        "FILE",
        "Exit with status 3 if the coverage of a file, of a directory or in total is smaller than in "
        "FILE.",
        _REPORTING,
    ),
    _Flag(
        "--coverage-new",
        "value",
        "PCT",
        "Exit with status 3 if less than PCT percent of the lines of a file were reached that the "
        "baseline does not have.",
        _REPORTING,
    ),
    _Flag(
        "--coverage-update",
        "switch",
        "",
        "Write the new numbers to the baseline, unless something has fallen.",
        _REPORTING,
    ),
    _Flag(
        "--coverage-filter",
        "list",
        "RE",
        "Show only files whose path matches the regular expression RE, including files that "
        "are left out by default. May be repeated.",
        _REPORTING,
    ),
    _Flag(
        "--coverage-exclude",
        "list",
        "RE",
        "Leave out files whose path matches RE. May be repeated.",
        _REPORTING,
    ),
    _Flag(
        "--coverage-substitute",
        "list",
        "FROM=TO",
        "Look below TO for sources that the compiler recorded below FROM. May be repeated.",
        _REPORTING,
    ),
    _Flag(
        "--coverage-no-native",
        "switch",
        "",
        "Leave out what is compiled for the build machine (native: true).",
        _REPORTING,
    ),
    _Flag(
        "--coverage-limit",
        "value",
        "N",
        "Show only N files in the table; the totals include all.",
        _REPORTING,
    ),
    _Flag(
        "--coverage-sort",
        "value",
        "file|lines|functions|branches|missed",
        "Order of the files in the table: by path (file), by the smallest percentage, or by the "
        "most lines not run (missed).",
        _REPORTING,
    ),
    _Flag(
        "--coverage-diff",
        "optional",
        "REV",
        "Count only lines that `git diff REV` (default: HEAD) shows as added or changed.",
        _REPORTING,
    ),
    _Flag("--coverage-per-test", "switch", "", "Count each test separately."),
    _Flag("--coverage-keep", "switch", "", "Add to the counts of earlier runs."),
    # Options of their own, as --coverage=source is.
    _Flag(
        "--coverage-update=atomic",
        "switch",
        "",
        "Let threads increment the counters without losing counts (-fprofile-update=atomic). This is "
        "the default when coverage is switched on in a project that uses threads.",
    ),
    _Flag(
        "--coverage-update=prefer-atomic",
        "switch",
        "",
        "The same, but only where the target machine supports it.",
    ),
    _Flag(
        "--coverage-update=single",
        "switch",
        "",
        "Increment the counters as in a program without threads: faster, but threads lose counts.",
    ),
    _Flag(
        "--coverage-no-reconfigure",
        "switch",
        "",
        "Never switch the option b_coverage on, nor add arguments.",
    ),
    _Flag(
        "--coverage-off",
        "switch",
        "",
        "Switch the option b_coverage off again, take the arguments of --coverage=source away, and "
        "run the tests without measuring them.",
    ),
)


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
    substitute: T.Tuple[str, ...] = ()
    no_native: bool = False
    limit: T.Optional[str] = None
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


def _dest(flag: _Flag) -> str:
    return re.sub("[-=]", "_", flag.name[2:])


def _field(flag: _Flag) -> str:
    return "coverage" if flag.name == "--coverage" else _dest(flag)[len("coverage_") :]


def add_arguments(parser: argparse.ArgumentParser, *, reporting_only: bool = False) -> None:
    group = parser.add_argument_group("coverage (Tally)")
    for flag in FLAGS:
        if reporting_only and flag.use != _REPORTING:
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
