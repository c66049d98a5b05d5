# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Knows tests whose processes may reach more than their counters tell."""

from __future__ import annotations

import os
import typing as T

if T.TYPE_CHECKING:
    from .build_dir import BuildDir
    from .build_graph import BuildGraph

# What replaces a process by another program. GCC lets it write the counters before by functions of
# libgcov, but not with a strict standard of C, and Clang not for source-based coverage.
_EXEC = ("execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "fexecve")


def loses(graph: BuildGraph, test: T.Mapping[str, T.Any]) -> str:
    """Returns a function that the test's programs call, at which counts are lost; '' if there is
    none, or if the programs are not known."""
    programs = {path for path in (graph.inputs_of(test) or ()) if ".so" in path}
    for path in (*test["cmd"][:1], *programs):
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            continue
        if content[:4] != b"\x7fELF":
            continue
        for name in _EXEC:
            if (
                b"\0%s\0" % name.encode() in content
                and b"__gcov_%s\0" % name.encode() not in content
            ):
                return name
    return ""


def counters_beside(build: BuildDir) -> T.Optional[str]:
    """Returns a file of counters in the build directory, in which a process writes them that has
    not inherited the environment of its test."""
    for folder, _, files in os.walk(build.path):
        for name in files:
            if name.endswith(".gcda"):
                return os.path.join(folder, name)
    return None
