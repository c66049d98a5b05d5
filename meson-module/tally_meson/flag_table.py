# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The flags of `meson test` and `tally-meson` that measure."""

from __future__ import annotations

import typing as T

# Marks the flags of `tally-meson report`, which runs no tests.
REPORTING = "reporting"


class Flag(T.NamedTuple):
    name: str
    kind: str  # 'switch', 'value', 'list', 'optional'
    metavar: str
    help: str
    use: str = ""


SWITCHES = ("--coverage", "--coverage=source", "--coverage-off")
FLAGS: T.Tuple[Flag, ...] = (
    Flag(
        "--coverage",
        "switch",
        "",
        "Measure which lines the tests reach, and print a table: by Clang's source-based coverage "
        "if the build has it, otherwise by the option b_coverage.",
    ),
    # An option of its own, because "--coverage" must not take the name of a test for its value.
    Flag(
        "--coverage=source",
        "switch",
        "",
        "Measure by Clang's source-based coverage. Adds its arguments to c_args, c_link_args and "
        "those of other languages if they are not there.",
    ),
    Flag(
        "--coverage-report",
        "list",
        "FMT[:FILE]",
        "Also write a report. FMT is one of html, lcov, gcovr, cobertura, sonarqube, markdown, "
        "github, badge, shields, json, callgrind, text. FILE is relative to the current directory; the "
        "default is meson-logs/coverage.* in the build directory. May be repeated.",
        REPORTING,
    ),
    Flag(
        "--coverage-fail-under",
        "value",
        "PCT",
        "Exit with status 3 if less than PCT percent of the lines were reached.",
        REPORTING,
    ),
    Flag(
        "--coverage-fail-under-branch",
        "value",
        "PCT",
        "Exit with status 3 if less than PCT percent of the branches were taken.",
        REPORTING,
    ),
    Flag(
        "--coverage-baseline",
        "value",
        "FILE",
        "Exit with status 3 if the coverage of a file, of a directory or in total is smaller than in "
        "FILE.",
        REPORTING,
    ),
    Flag(
        "--coverage-new",
        "value",
        "PCT",
        "Exit with status 3 if less than PCT percent of the lines of a file were reached that the "
        "baseline does not have.",
        REPORTING,
    ),
    Flag(
        "--coverage-update",
        "switch",
        "",
        "Write the new numbers to the baseline, unless something has fallen.",
        REPORTING,
    ),
    Flag(
        "--coverage-filter",
        "list",
        "RE",
        "Show only files whose path matches the regular expression RE, including files that "
        "are left out by default. May be repeated.",
        REPORTING,
    ),
    Flag(
        "--coverage-exclude",
        "list",
        "RE",
        "Leave out files whose path matches RE. May be repeated.",
        REPORTING,
    ),
    Flag(
        "--coverage-exclude-lines",
        "list",
        "RE",
        "Leave out the lines whose text in the source matches RE. May be repeated.",
        REPORTING,
    ),
    Flag(
        "--coverage-substitute",
        "list",
        "FROM=TO",
        "Look below TO for sources that the compiler recorded below FROM. May be repeated.",
        REPORTING,
    ),
    Flag(
        "--coverage-no-native",
        "switch",
        "",
        "Leave out what is compiled for the build machine (native: true).",
        REPORTING,
    ),
    Flag(
        "--coverage-limit",
        "value",
        "N",
        "Show only N files in the table; the totals include all.",
        REPORTING,
    ),
    Flag(
        "--coverage-full",
        "switch",
        "",
        "On a terminal, show all lines that were not reached, and not only those that fit into two "
        "lines of the table.",
        REPORTING,
    ),
    Flag(
        "--coverage-sort",
        "value",
        "file|lines|functions|branches|missed",
        "Order of the files in the table: by path (file), by the smallest percentage, or by the "
        "most lines not run (missed).",
        REPORTING,
    ),
    Flag(
        "--coverage-diff",
        "optional",
        "REV",
        "Count only lines that `git diff REV` (default: HEAD) shows as added or changed.",
        REPORTING,
    ),
    Flag("--coverage-per-test", "switch", "", "Count each test separately."),
    Flag("--coverage-keep", "switch", "", "Add to the counts of earlier runs."),
    # Options of their own, as --coverage=source is.
    Flag(
        "--coverage-update=atomic",
        "switch",
        "",
        "Let threads increment the counters without losing counts (-fprofile-update=atomic). This is "
        "the default when coverage is switched on in a project that uses threads.",
    ),
    Flag(
        "--coverage-update=prefer-atomic",
        "switch",
        "",
        "The same, but only where the target machine supports it.",
    ),
    Flag(
        "--coverage-update=single",
        "switch",
        "",
        "Increment the counters as in a program without threads: faster, but threads lose counts.",
    ),
    Flag(
        "--coverage-no-reconfigure",
        "switch",
        "",
        "Never switch the option b_coverage on, nor add arguments.",
    ),
    Flag(
        "--coverage-off",
        "switch",
        "",
        "Switch the option b_coverage off again, take the arguments of --coverage=source away, and "
        "run the tests without measuring them.",
    ),
)
