"""Parses line and branch counts from the output of gcov and similar tools."""
from __future__ import annotations

import collections
import os
import re


def counts_of_text(text: str) -> dict[tuple[str, int], int]:
    """Returns (file, line) -> count, from the text of one or more concatenated .gcov files."""
    counts: dict[tuple[str, int], int] = {}
    file = ""
    for count, line, rest in re.findall(r"(?m)^ *(-|#####|=====|\d+)\*?: *(\d+):(.*)$", text):
        if line == "0":
            file = rest.removeprefix("Source:") if rest.startswith("Source:") else file
        elif count != "-":
            counts[file, int(line)] = int(count) if count.isdigit() else 0
    return counts


def branches_of_text(text: str) -> dict[tuple[str, int], list[int]]:
    """Returns (file, line) -> the count of each branch, from the output of `llvm-cov gcov -bc`."""
    branches: dict[tuple[str, int], list[int]] = {}
    file, number = "", 0
    for row in text.splitlines():
        if line := re.match(r" *(?:-|#####|=====|\d+)\*?: *(\d+):(.*)$", row):
            number = int(line[1])
            if number == 0 and line[2].startswith("Source:"):
                file = line[2].removeprefix("Source:")
        elif branch := re.match(r"branch +\d+ (?:taken (\d+)|never executed)", row):
            branches.setdefault((file, number), []).append(int(branch[1] or 0))
    return branches


def branches_of_json(document: dict) -> dict[tuple[str, int], list[int]]:
    """Returns (file, line) -> the count of each branch, from gcov's JSON."""
    branches: dict[tuple[str, int], list[int]] = {}
    for file in document["files"]:
        for line in file["lines"]:
            if line["branches"]:
                branches.setdefault((file["file"], line["line_number"]), []).extend(
                    branch["count"] for branch in line["branches"]
                )
    return branches


def counts_of_json(document: dict) -> dict[tuple[str, int], int]:
    """Returns (file, line) -> count, from gcov's JSON. Counts of repeated lines are summed."""
    counts: dict[tuple[str, int], int] = collections.Counter()
    for file in document["files"]:
        for line in file["lines"]:
            counts[file["file"], line["line_number"]] += line["count"]
    return dict(counts)


def by_plain_names(counts: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """Normalizes the file names, and sums the counts of names that become equal."""
    plain: dict[tuple[str, int], int] = collections.Counter()
    for (file, line), count in counts.items():
        plain[os.path.normpath(file), line] += count
    return dict(plain)
