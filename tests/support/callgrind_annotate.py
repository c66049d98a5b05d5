"""Runs callgrind_annotate, the reader of Callgrind files that comes with Valgrind, and reads its
table.

It tells functions apart by line file and name, not by object, and takes an inlined piece for a
function of its own under the file of its lines: compare with CallgrindRows.annotate_self().
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
    file: str      # "" for ???
    function: str
    object: str    # "" for ??? and for none
    costs: tuple[int, ...]


@dataclass(frozen=True)
class Annotation:
    events: tuple[str, ...]
    totals: tuple[int, ...]
    rows: tuple[AnnotateRow, ...]

    def costs(self) -> dict[tuple[str, str], tuple[int, ...]]:
        """(file, function) -> costs. It prints one row for each."""
        return {(row.file, row.function): row.costs for row in self.rows}


def annotate(path: str, *, inclusive: bool = False) -> Annotation:
    """Every function of the file. Anything on standard error, or another status than 0, is an
    AssertionError; without the tool the unittest case is skipped."""
    need_tools("callgrind_annotate")
    argv = ["callgrind_annotate", f"--inclusive={'yes' if inclusive else 'no'}", "--threshold=100",
            "--auto=no", "--show-percs=no", os.path.abspath(path)]
    # It shortens file names below the current folder: stand where no source is.
    with tempfile.TemporaryDirectory() as elsewhere:
        run = subprocess.run(argv, cwd=elsewhere, capture_output=True, text=True, errors="replace",
                             env={**os.environ, "LC_ALL": "C"}, timeout=300, check=False)
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
    # A cost that is not there is ".": its zero.
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
    """`file:function [object]`; C++ names hold ::, blanks and brackets, files no colon."""
    text = text.strip()
    object_name = ""
    match = re.fullmatch(r"(.*) \[((?:/|\?\?\?|\[)[^\[\]]*\]?)\]", text)
    if match:
        text, object_name = match[1], match[2]
    file, _, function = text.partition(":")
    return ("" if file == "???" else file, function, "" if object_name == "???" else object_name)
