# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Stores and reads the settings of configure() of import('tally')."""

from __future__ import annotations

import json
import os
import re
import sys
import typing as T

from . import gcovr_config
from .refusal import Refusal

if T.TYPE_CHECKING:
    from .build_dir import BuildDir

# The default file of each report format, relative to meson-logs.
_DEFAULT_FILES = {
    "badge": "coverage.svg",
    "callgrind": "coverage.callgrind",
    "cobertura": "coverage.xml",
    "gcovr": "coverage.gcovr.json",
    "github": "coverage.github.txt",
    "html": "coverage",
    "json": "coverage.json",
    "lcov": "coverage.info",
    "markdown": "coverage.md",
    "shields": "coverage.shields.json",
    "sonarqube": "coverage.sonarqube.xml",
    "text": "coverage.txt",
}

# Matches import('tally') in a meson.build, but not in a comment.
_IMPORT = re.compile(r"^[^#\n]*\bimport\s*\(\s*'tally'", re.MULTILINE)

_LISTS = ("affected_ignore", "exclude", "exclude_lines", "filter", "include_subprojects", "reports")
_PERCENTAGES = ("fail_under", "fail_under_branch", "fail_under_new")
_BOOLEANS = ("native", "per_test")
_FILES = ("baseline",)
KEYWORDS = (*_LISTS, *_PERCENTAGES, *_BOOLEANS, *_FILES)

if sys.version_info >= (3, 8):

    class Settings(T.TypedDict, total=False):
        """The keyword arguments of configure() after the checks."""

        affected_ignore: T.List[str]
        exclude: T.List[str]
        exclude_lines: T.List[str]
        filter: T.List[str]
        include_subprojects: T.List[str]
        reports: T.List[str]
        fail_under: str
        fail_under_branch: str
        fail_under_new: str
        baseline: str
        native: bool
        per_test: bool

else:
    Settings = T.Dict[str, T.Any]


def _is_report(word: str) -> bool:
    name, colon, path = word.partition(":")
    return name in _DEFAULT_FILES and bool(path or not colon)


def checked(keywords: T.Mapping[str, T.Any]) -> Settings:
    """Returns the keyword arguments of configure(), with a single value of a list option as a list.
    Raises a TypeError that says what is wrong."""
    out: T.Dict[str, T.Any] = {}
    for name, value in keywords.items():
        if name in _LISTS:
            out[name] = value if isinstance(value, list) else [value]
            good, wanted = (
                all(isinstance(each, str) for each in out[name]),
                "a string or a list of strings",
            )
            if good and name == "reports":
                good = all(_is_report(word) for word in out[name])
                wanted = f'FMT or FMT:FILE, where FMT is one of {", ".join(_DEFAULT_FILES)}'
            elif good and name == "affected_ignore":
                good, wanted = all(map(gcovr_config.is_pattern, out[name])), "regular expressions"
        elif name in _PERCENTAGES:
            # Meson has no fractional numbers, so a fraction is given as a string such as '79.5'.
            out[name] = str(value)
            good = (
                not isinstance(value, bool)
                and isinstance(value, (int, str))
                and bool(re.match(r"^(100(\.0*)?|\d\d?(\.\d*)?)$", out[name]))
            )
            wanted = "a number from 0 to 100"
        elif name in _BOOLEANS:
            out[name] = value
            good, wanted = isinstance(value, bool), "a boolean"
        elif name in _FILES:
            out[name] = value
            good, wanted = isinstance(value, str) and value != "", "the name of a file"
        else:
            raise TypeError(f'unknown keyword argument "{name}" (there are: {", ".join(KEYWORDS)})')
        if not good:
            raise TypeError(f'keyword argument "{name}" must be {wanted}, not {value!r}')
    return T.cast(Settings, out)


def path_in(build: str) -> str:
    return os.path.join(build, "meson-private", "tally-coverage.json")


def store(path: str, settings: Settings) -> None:
    part = path + "~"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(settings, file, indent=1, sort_keys=True)
    os.replace(part, path)


def _mark_in(build: str) -> str:
    return os.path.join(build, "meson-private", "tally-coverage.imported")


def mark(build: str) -> None:
    """Records that this configuration could import the module, whether or not it did."""
    with open(_mark_in(build), "w", encoding="utf-8"):
        pass


def _is_of_last_configuration(path: str, build: BuildDir) -> bool:
    try:
        return os.stat(path).st_mtime >= build.configured_at()
    except FileNotFoundError:
        return False


def are_missing(build: BuildDir) -> bool:
    """Returns whether the project imports the module, but was last configured without it."""
    return not _is_of_last_configuration(_mark_in(build.path), build) and any(
        _IMPORT.search(text) for text in build.own_build_files()
    )


def stored(build: BuildDir) -> Settings:
    """Returns the settings that the last configuration stored; empty if it stored none."""
    path = path_in(build.path)
    try:
        if not _is_of_last_configuration(path, build):
            return {}
        with open(path, encoding="utf-8") as file:
            return checked(json.load(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise Refusal(
            f"{path}: {error}: configure again " f"(meson setup --reconfigure {build.path})"
        ) from None


def refuse_unknown_subprojects(build: BuildDir) -> None:
    """Raises Refusal if include_subprojects has an unknown name. Call this after the rebuild, which
    may have stored corrected settings."""
    for name in stored(build).get("include_subprojects", []):
        if not build.knows_subproject(name):
            there = ", ".join(build.subprojects()) or "none"
            raise Refusal(
                f"include_subprojects: there is no subproject '{name}' (there are: " f"{there})"
            )


def report_word(word: str, folder: str, build: BuildDir) -> str:
    """Returns FMT:FILE with the absolute path of FILE, which is relative to `folder`."""
    name, colon, path = word.partition(":")
    if path == "-":
        return word
    if colon:
        return f"{name}:{os.path.join(folder, path)}" if path else word
    default = _DEFAULT_FILES.get(name)
    return f"{name}:{os.path.join(build.logs, default)}" if default else word
