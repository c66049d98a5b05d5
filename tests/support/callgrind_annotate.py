"""Runs callgrind_annotate, the reader of Callgrind files that comes with Valgrind, and parses its
table.

callgrind_annotate identifies a function by its name and the file of its lines, not by its object.
It shows an inlined piece as a function of its own, under the file of the inlined lines. Therefore
compare its rows with CallgrindRows.annotate_self().
"""
from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass

from support.skips import need_tools


@dataclass(frozen=True)
class AnnotateRow:
    file: str  # "" for ???
    function: str
    object: str  # "" for ??? and if there is none
    costs: tuple[int, ...]


@dataclass(frozen=True)
class Annotation:
    events: tuple[str, ...]
    totals: tuple[int, ...]
    rows: tuple[AnnotateRow, ...]

    def costs(self) -> dict[tuple[str, str], tuple[int, ...]]:
        """Returns (file, function) -> costs; callgrind_annotate prints one row for each pair."""
        return {(row.file, row.function): row.costs for row in self.rows}


def annotate(path: str, *, inclusive: bool = False) -> Annotation:
    """Returns the rows of all functions of the file. Raises AssertionError if callgrind_annotate
    writes to standard error or exits with a status other than 0. Skips the unittest case if the
    tool is not installed."""
    need_tools("callgrind_annotate")
    argv = [
        "callgrind_annotate",
        f"--inclusive={'yes' if inclusive else 'no'}",
        "--threshold=100",
        "--auto=no",
        "--show-percs=no",
        os.path.abspath(path),
    ]
    # callgrind_annotate shortens file names below the current directory: run it where no source is.
    with tempfile.TemporaryDirectory() as elsewhere:
        run = subprocess.run(
            argv,
            cwd=elsewhere,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            timeout=300,
            check=False,
        )
    if run.returncode != 0 or run.stderr:
        raise AssertionError(f"{' '.join(argv)}: status {run.returncode}\n{run.stderr}")
    return parse_annotation(run.stdout)


def parse_annotation(text: str) -> Annotation:
    events = re.search(r"^Events shown: +(.*)$", text, re.MULTILINE)
    totals = re.search(r"^(.*) PROGRAM TOTALS(?: \(calculated\))?$", text, re.MULTILINE)
    if not events or not totals:
        raise AssertionError(f"not callgrind_annotate's table:\n{text}")
    count = len(events[1].split())
    row_start = text.index("file:function\n", totals.end())
    rows = []
    # callgrind_annotate prints "." for a cost of zero.
    row_of = re.compile(r" *((?:[0-9,]+|\.)(?: +(?:[0-9,]+|\.)){%d})  ?(.*)" % (count - 1))
    for line in text[row_start:].splitlines()[2:]:
        match = row_of.fullmatch(line)
        if match:
            rows.append(AnnotateRow(*_split_name(match[2]), costs=_numbers(match[1])))
        elif line:
            break
    return Annotation(tuple(events[1].split()), _numbers(totals[1]), tuple(rows))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(0 if word == "." else int(word.replace(",", "")) for word in text.split())


def _split_name(text: str) -> tuple[str, str, str]:
    """Splits `file:function [object]`. C++ names may hold ::, blanks and brackets; files no
    colon."""
    text = text.strip()
    object_name = ""
    match = re.fullmatch(r"(.*) \[((?:/|\?\?\?|\[)[^\[\]]*\]?)\]", text)
    if match:
        text, object_name = match[1], match[2]
    file, _, function = text.partition(":")
    return ("" if file == "???" else file, function, "" if object_name == "???" else object_name)
