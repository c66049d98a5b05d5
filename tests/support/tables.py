"""Parses the output of `profile status` and `profile report`."""
from __future__ import annotations

import re
from dataclasses import dataclass


def parse_status(text: str) -> dict[str, str]:
    """Parses lines `name value`: {"samples": "3005", "running": "3.01 s", "backend": "perf (…)"}.

    Reads the first such table in `text`: the line `state …` and the consecutive lines of this form
    after it. Ignores what the debugger and the inferior print before and after the table.
    """
    values: dict[str, str] = {}
    for line in text.splitlines():
        match = re.fullmatch(r"([a-z][a-z_]*) +(\S.*)", line)
        if values and not match:
            break
        if match and (values or match[1] == "state"):
            if match[1] in values:
                raise ValueError(f"two lines of status are named {match[1]}")
            values[match[1]] = match[2].strip()
    return values


def status_number(status: dict[str, str], name: str) -> float:
    """Returns the number at the start of a value. Raises ValueError if there is none."""
    match = re.match(r"[0-9]+(?:\.[0-9]+)?(?= |$)", status.get(name, ""))
    if not match:
        raise ValueError(f"status has no number {name}: {status}")
    return float(match[0])


@dataclass(frozen=True)
class ReportRow:
    self_percent: float
    self_ticks: int
    inclusive_percent: float | None  # None if the table has no such column
    inclusive_ticks: int | None
    name: str
    location: str


@dataclass(frozen=True)
class Report:
    total: int
    event: str
    rows: tuple[ReportRow, ...]
    not_shown: int  # rows that a limit left out

    def row(self, name: str) -> ReportRow:
        """Returns the only row of that name."""
        found = [row for row in self.rows if row.name == name]
        if len(found) != 1:
            raise ValueError(f"{len(found)} rows are named {name}: {[r.name for r in self.rows]}")
        return found[0]

    def self_percent(self, name: str) -> float:
        """Returns 0 if there is no such row."""
        return sum(row.self_percent for row in self.rows if row.name == name)


_TOTAL = re.compile(r"(\d+) (\S+) in total")
_MORE = re.compile(r"\((\d+) more; .*\)")
_SELF = re.compile(r" *\d+ +(\d+\.\d+)% +(\d+)  +(.*)")
_BOTH = re.compile(r" *\d+ +(\d+\.\d+)% +(\d+) +(\d+\.\d+)% +(\d+)  +(.*)")


def parse_report(text: str) -> Report:
    """Parses the first table in `text`, and ignores the lines before and after it."""
    lines = iter(text.splitlines())
    total = next((match for line in lines if (match := _TOTAL.fullmatch(line))), None)
    if total is None:
        raise ValueError(f"no table in: {text!r}")
    header = next(lines, "").split()
    if header[:3] != ["#", "self%", "self"]:
        raise ValueError(f"not a table's header: {header}")
    has_inclusive = header[3:5] == ["incl%", "incl"]
    has_location = header[-1] == "place"
    rows: list[ReportRow] = []
    not_shown = 0
    for line in lines:
        if more := _MORE.fullmatch(line):
            not_shown = int(more[1])
            break
        match = (_BOTH if has_inclusive else _SELF).fullmatch(line)
        if not match:
            break
        name, location = match[match.lastindex or 0], ""
        if has_location:
            # Two blanks separate the columns; names hold only single blanks.
            name, _, location = (
                (part.strip() for part in name.rpartition("  ")) if "  " in name else (name, "", "")
            )
        rows.append(
            ReportRow(
                float(match[1]),
                int(match[2]),
                float(match[3]) if has_inclusive else None,
                int(match[4]) if has_inclusive else None,
                name,
                location,
            )
        )
    return Report(int(total[1]), total[2], tuple(rows), not_shown)
