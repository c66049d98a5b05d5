# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Reads the files in meson-info, and requires what this module uses of them."""

from __future__ import annotations

import json
import os
import typing as T

from .refusal import Refusal
from .shapes import Optional, Values, misfit

_TARGETS = [
    {
        "name": str,
        "id": str,
        "type": str,
        "filename": [str],
        "target_sources": Optional(
            [
                {
                    "machine": Optional(str),
                    "language": Optional(str),
                    "compiler": Optional([str]),
                    "parameters": Optional([str]),
                    "sources": Optional([str]),
                    "generated_sources": Optional([str]),
                }
            ]
        ),
    }
]
_TESTS = [
    {
        "name": str,
        "cmd": [str],
        "suite": [str],
        "env": Optional(Values(str)),
        "workdir": Optional((str, type(None))),
        "depends": Optional([str]),
    }
]
_SHAPES: T.Dict[str, T.Any] = {
    "meson-info.json": {
        "directories": {"source": str},
        "meson_version": {"full": str},
        "error": Optional(bool),
        "error_list": Optional([str]),
    },
    "intro-benchmarks.json": _TESTS,
    "intro-buildoptions.json": [{"name": str, "value": (str, bool, int, list)}],
    "intro-buildsystem_files.json": [str],
    "intro-projectinfo.json": {
        "subproject_dir": Optional(str),
        "subprojects": Optional([{"name": str}]),
    },
    "intro-targets.json": _TARGETS,
    "intro-tests.json": _TESTS,
}


def read(folder: str, name: str) -> T.Any:
    """Returns the content of a file in meson-info of the build directory. Raises Refusal if it
    cannot be read, or is not as Meson documents it."""
    path = os.path.join(folder, "meson-info", name)
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        why = misfit(value, _SHAPES.get(name, object))
        problem = f": {why}" if why else ""
    except (OSError, ValueError, RecursionError):
        problem = " cannot be read"
    if problem:
        raise Refusal(f"{path}{problem}: configure again (meson setup --reconfigure {folder})")
    return value


def targets_of(text: str) -> T.Any:
    """Returns the targets that `meson introspect --targets` prints. Raises ValueError if it prints
    something else."""
    value = json.loads(text)
    why = misfit(value, _TARGETS)
    if why:
        raise ValueError(why)
    return value
