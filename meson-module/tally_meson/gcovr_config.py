# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Reads filters and thresholds from gcovr's configuration file; its other options have no
equivalent here.

gcovr's patterns match from the beginning of a path. The path is relative to the directory of the
configuration file, or absolute if the pattern begins with / (gcovr 5.2, utils.py, FilterOption).
Tally searches for patterns in the path as the table shows it.
"""

from __future__ import annotations

import os
import re
import typing as T

from .refusal import Refusal, say


class Entries(T.NamedTuple):
    filter: T.List[str]
    exclude: T.List[str]
    fail_under: T.Optional[str]
    fail_under_branch: T.Optional[str]


def is_pattern(word: str) -> bool:
    """Returns whether this is a regular expression of Python, as gcovr's are."""
    try:
        re.compile(word)
        return True
    except re.error:
        return False


def searched(pattern: str, root: str) -> str:
    """Returns the equivalent pattern for a search in the path as the table shows it. `root` is the
    source root, which is the directory of gcovr's file."""
    for beginning in (root + "/", re.escape(root) + "/"):
        pattern = re.sub(r"(^|\||\()" + re.escape(beginning), r"\1", pattern)
    return f"^(?:{pattern})"


def _without_comment(line: str) -> str:
    """A comment begins with # at the beginning of the line or after a blank."""
    for at, char in enumerate(line):
        if char == "#" and (at == 0 or line[at - 1].isspace()):
            return line[:at]
    return line


def _pairs_of_cfg(path: str) -> T.Iterator[T.Tuple[str, str]]:
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for line in file:
            key, equals, value = _without_comment(line).partition("=")
            if equals and len(key.split()) == 1:
                yield key.strip(), value.strip()


def _pairs_of_toml(path: str, *tables: str) -> T.Iterator[T.Tuple[str, str]]:
    try:
        import tomllib
    except ImportError:  # before Python 3.11
        if not tables or _names_table(path, ".".join(tables)):
            say(f"{path} is not read: this Python has no tomllib")
        return
    with open(path, "rb") as file:
        content: T.Any = tomllib.load(file)
    for table in tables:
        content = content.get(table, {})
        if not isinstance(content, dict):
            raise ValueError(f"{table} is not a table")
    for key, value in content.items():
        for each in value if isinstance(value, list) else [value]:
            yield key, str(each)


def _names_table(path: str, name: str) -> bool:
    """Returns whether the file seems to have the table `name` or a table below it. The result is
    approximate, because no parser is available."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return any(re.match(rf"\s*\[\s*{re.escape(name)}\s*[].]", line) for line in file)


def read(root: str) -> Entries:
    """Returns the entries of the first file in `root` that gcovr would read; empty if there is no
    such file."""
    out = Entries([], [], None, None)
    readers: T.Tuple[T.Tuple[str, T.Callable[[str], T.Iterator[T.Tuple[str, str]]]], ...] = (
        ("gcovr.cfg", _pairs_of_cfg),
        ("gcovr.toml", _pairs_of_toml),
        ("pyproject.toml", lambda path: _pairs_of_toml(path, "tool", "gcovr")),
    )
    for name, pairs in readers:
        path = os.path.join(root, name)
        if not os.path.isfile(path):
            continue
        try:
            for key, value in pairs(path):
                if key == "filter":
                    out.filter.append(searched(value, root))
                elif key == "exclude":
                    out.exclude.append(searched(value, root))
                elif key == "fail-under-line":
                    out = out._replace(fail_under=value)
                elif key == "fail-under-branch":
                    out = out._replace(fail_under_branch=value)
        except (OSError, ValueError) as error:
            raise Refusal(f"{path}: {error}") from None
        break
    return out
