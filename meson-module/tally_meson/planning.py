# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Joins the flags, the settings of configure() and gcovr's configuration file."""

from __future__ import annotations

import dataclasses
import os
import re
import typing as T

from . import gcovr_config, source_based
from .refusal import Refusal
from .settings import Settings, report_word, stored

if T.TYPE_CHECKING:
    from .arguments import Flags
    from .build_dir import BuildDir


class Baseline(T.NamedTuple):
    """Parameters of the comparison with a baseline."""

    file: str
    fail_under_new: T.Optional[str]
    update: bool


class Table(T.NamedTuple):
    """How the table is shown."""

    limit: T.Optional[str]
    sort: T.Optional[str]
    full: bool


@dataclasses.dataclass(frozen=True)
class Plan:
    """Parameters of one run of the collector."""

    reports: T.Tuple[str, ...]
    filter: T.Tuple[str, ...]
    exclude: T.Tuple[str, ...]
    fail_under: T.Optional[str]
    fail_under_branch: T.Optional[str]
    baseline: T.Optional[Baseline]
    exclude_lines: T.Tuple[str, ...]
    substitute: T.Tuple[str, ...]
    exclude_objects: T.Tuple[str, ...]
    table: Table
    diff: T.Optional[str]
    per_test: bool
    redundant: bool
    source_based: bool


def plan(build: BuildDir, flags: Flags, typed_in: str) -> Plan:
    """Returns the parameters. For a single value the flag takes precedence over configure(), and
    configure() over gcovr's file; lists are joined. Paths in flags are relative to `typed_in`."""
    own, gcovr = stored(build), gcovr_config.read(build.source)
    chosen = [*flags.filter, *own.get("filter", []), *gcovr.filter]
    exclude = [*flags.exclude, *own.get("exclude", []), *gcovr.exclude]
    if not chosen:  # a filter also selects files that are left out by default
        exclude += left_out_by_default(build, own.get("include_subprojects", []))
    reports = [report_word(word, typed_in, build) for word in flags.report] + [
        report_word(word, build.path, build) for word in own.get("reports", [])
    ]

    def single(name: str) -> T.Optional[str]:
        for value in (getattr(flags, name), own.get(name), getattr(gcovr, name)):
            if value is not None:
                return str(value)
        return None

    native = own.get("native", True) and not flags.no_native
    return Plan(
        tuple(dict.fromkeys(reports)),
        tuple(chosen),
        tuple(exclude),
        single("fail_under"),
        single("fail_under_branch"),
        _baseline(build, flags, own, typed_in),
        (*flags.exclude_lines, *own.get("exclude_lines", [])),
        tuple(_substitute(word, typed_in) for word in flags.substitute),
        () if native else tuple(map(_pattern_of_objects, build.native_object_folders())),
        Table(flags.limit, flags.sort, flags.full),
        flags.diff,
        flags.per_test or own.get("per_test", False),
        flags.redundant,
        flags.source or source_based.is_on(build),
    )


def _baseline(build: BuildDir, flags: Flags, own: Settings, typed_in: str) -> T.Optional[Baseline]:
    """A file in flags is relative to `typed_in`, and one of configure() to the source root. The
    latter does not apply to changed lines, because a baseline has the numbers of whole files."""
    given = [
        name for name in ("baseline", "new", "update") if getattr(flags, name) not in (None, False)
    ]
    if flags.diff is not None:
        if given:
            raise Refusal(f"--coverage-{given[0]}: cannot be used with --coverage-diff")
        return None
    if flags.baseline is not None:
        file = os.path.join(typed_in, flags.baseline) if flags.baseline else ""
    elif "baseline" in own:
        file = os.path.join(build.source, own["baseline"])
    elif given:
        raise Refusal(
            f"--coverage-{given[0]}: requires --coverage-baseline, or baseline in configure()"
        )
    else:
        return None
    new = flags.new if flags.new is not None else own.get("fail_under_new")
    return Baseline(file, new, flags.update)


def _pattern_of_objects(folder: str) -> str:
    """Returns a pattern of the objects of a target, relative to the build directory. For
    source-based coverage this is the program that is linked of them."""
    if folder.endswith(".p"):
        return f"^{re.escape(folder[:-2])}(\\.p/|$)"
    return f"^{re.escape(folder)}/"


def _substitute(word: str, folder: str) -> str:
    """Returns FROM=TO with the absolute path of TO, which is relative to `folder`."""
    name, equals, path = word.partition("=")
    return f"{name}={os.path.join(folder, path)}" if equals and path else word


def left_out_by_default(build: BuildDir, include_subprojects: T.Iterable[str]) -> T.List[str]:
    """Returns patterns for subprojects that do not count and for generated files. Generated files
    need a pattern only if the build directory is below the source root."""
    folders = [re.escape(build.folder_of_subproject(name)) for name in include_subprojects]
    but = f'(?!(?:{"|".join(folders)})/)' if folders else ""
    out = [f"^{re.escape(build.subproject_folder())}/{but}"]
    inside = os.path.relpath(build.path, build.source)
    if inside != "." and inside.split(os.sep)[0] != "..":
        out.append(f"^{re.escape(inside)}/")
    return out
