# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The flags, in one list for `meson test` and `tally-meson`; the parser of the latter."""

from __future__ import annotations

import argparse
import typing as T

from .refusal import Refusal

# In `tally-meson report`, which runs no tests, only those that are marked so mean something.
_REPORTING = 'reporting'


class _Flag(T.NamedTuple):
    name: str
    kind: str  # 'switch', 'value', 'list', 'optional'
    metavar: str
    help: str
    use: str = ''


SWITCHES = ('--coverage', '--coverage-off')
FLAGS: T.Tuple[_Flag, ...] = (
    _Flag('--coverage', 'switch', '', 'Measure what the tests reach, and print it as a table.'),
    _Flag('--coverage-report', 'list', 'FMT[:FILE]',
          'Also write a report: html, lcov, gcovr, cobertura, sonarqube, markdown, github, '
          'callgrind or text. FILE is relative to the current directory; without it, '
          'meson-logs/coverage.* in the build directory. May be repeated.', _REPORTING),
    _Flag('--coverage-fail-under', 'value', 'PCT',
          'Exit status 3 when a smaller part of the lines was reached.', _REPORTING),
    _Flag('--coverage-fail-under-branch', 'value', 'PCT',
          'Exit status 3 when a smaller part of the branches was taken.', _REPORTING),
    _Flag('--coverage-filter', 'list', 'RE',
          'Only files in whose path RE is found, also such as are left out by default. '
          'May be repeated.', _REPORTING),
    _Flag('--coverage-exclude', 'list', 'RE',
          'Leave out files in whose path RE is found. May be repeated.', _REPORTING),
    _Flag('--coverage-substitute', 'list', 'FROM=TO',
          'Sources that the compiler recorded below FROM lie below TO. May be repeated.',
          _REPORTING),
    _Flag('--coverage-no-native', 'switch', '',
          'Leave out what is compiled for the build machine (native: true).', _REPORTING),
    _Flag('--coverage-limit', 'value', 'N', 'Show only N files in the table.', _REPORTING),
    _Flag('--coverage-sort', 'value', 'file|lines|functions|branches|missed',
          'Order of the files in the table: by path, by the smallest percentage, or by the most '
          'lines not run.', _REPORTING),
    _Flag('--coverage-diff', 'optional', 'REV',
          'Count only lines that `git diff REV` (default: HEAD) names as added or changed.',
          _REPORTING),
    _Flag('--coverage-per-test', 'switch', '', 'Count each test by itself.'),
    _Flag('--coverage-keep', 'switch', '', 'Add to the counts of earlier runs.'),
    _Flag('--coverage-no-reconfigure', 'switch', '',
          'Never switch the option b_coverage on.'),
    _Flag('--coverage-off', 'switch', '',
          'Switch the option b_coverage off again, and measure nothing.'),
)


class Flags(T.NamedTuple):
    """What was typed; None: not given."""

    coverage: bool = False
    report: T.Tuple[str, ...] = ()
    fail_under: T.Optional[str] = None
    fail_under_branch: T.Optional[str] = None
    filter: T.Tuple[str, ...] = ()
    exclude: T.Tuple[str, ...] = ()
    substitute: T.Tuple[str, ...] = ()
    no_native: bool = False
    limit: T.Optional[str] = None
    sort: T.Optional[str] = None
    diff: T.Optional[str] = None
    per_test: bool = False
    keep: bool = False
    no_reconfigure: bool = False
    off: bool = False

    @classmethod
    def of(cls, options: argparse.Namespace) -> Flags:
        values: T.Dict[str, T.Any] = {}
        for flag in FLAGS:
            value = getattr(options, _dest(flag), None)
            if value is not None:
                values[_field(flag)] = tuple(value) if flag.kind == 'list' else value
        return cls(**values)

    def first_given(self) -> T.Optional[str]:
        """The first flag that was typed, but for those that switch measuring on or off."""
        for flag in FLAGS:
            if flag.name not in SWITCHES and getattr(self, _field(flag)) not in (None, False, ()):
                return flag.name
        return None


def _dest(flag: _Flag) -> str:
    return flag.name[2:].replace('-', '_')


def _field(flag: _Flag) -> str:
    return 'coverage' if flag.name == '--coverage' else _dest(flag)[len('coverage_'):]


def add_arguments(parser: argparse.ArgumentParser, *, reporting_only: bool = False) -> None:
    group = parser.add_argument_group('coverage (Tally)')
    for flag in FLAGS:
        if reporting_only and flag.use != _REPORTING:
            continue
        more: T.Dict[str, T.Any] = {'dest': _dest(flag), 'help': flag.help}
        if flag.kind == 'switch':
            more.update(action='store_true', default=False)
        else:
            more.update(metavar=flag.metavar)
            if flag.kind == 'list':
                more.update(action='append')
            elif flag.kind == 'optional':
                more.update(nargs='?', const='HEAD')
        group.add_argument(flag.name, **more)


class Parser(argparse.ArgumentParser):
    """Of a command of `tally-meson`: what is wrong is told in one line."""

    def __init__(self, command: str, *, usage: str = '', add_help: bool = True) -> None:
        super().__init__(f'tally-meson {command}', add_help=add_help,
                         usage=f'tally-meson {command} {usage}' if usage else None)

    def error(self, message: str) -> T.NoReturn:
        raise Refusal(message)
