# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Knows tests whose processes may reach more than their counters tell."""

from __future__ import annotations

import contextlib
import os
import typing as T

from .build_graph import BuildGraph, GraphError

if T.TYPE_CHECKING:
    from .build_dir import BuildDir

_MOST_NAMES = 10

# What replaces a process by another program. GCC lets it write the counters before by functions of
# libgcov, but not with a strict standard of C, and Clang not for source-based coverage.
_EXEC = ("execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "fexecve")
# libgcov itself calls the function of the key in its form of the function of the value: execv() in
# __gcov_execl().
_CALLED_FOR = {"execv": "execl", "execve": "execle", "execvp": "execlp"}


def _lost_in(content: bytes) -> str:
    """Returns the function that a program or library calls, at which its counts are lost."""
    is_gcov = b".gcda\0" in content
    # Clang's counters for gcov are written before, whatever the standard is.
    if b"llvm_gcda_start_file" in content or not is_gcov and b"__llvm_prf_" not in content:
        return ""
    for name in _EXEC:
        wrappers = (name, _CALLED_FOR.get(name, name))
        if b"\0%s\0" % name.encode() in content and not any(
            b"__gcov_%s\0" % each.encode() in content for each in wrappers
        ):
            return name
    return ""


def loses(graph: T.Optional[BuildGraph], test: T.Mapping[str, T.Any]) -> str:
    """Returns a function that the test's programs call, at which counts are lost; '' if there is
    none, or if the programs are not known. Without a graph, knows no libraries."""
    inputs = graph.inputs_of(test) if graph else None
    for path in (*test["cmd"][:1], *(path for path in inputs or () if ".so" in path)):
        try:
            with open(path, "rb") as file:
                found = _lost_in(file.read()) if file.read(4) == b"\x7fELF" else ""
        except OSError:
            continue
        if found:
            return found
    return ""


def losing(build: BuildDir, ran: T.Iterable[str], *, with_libraries: bool) -> T.Dict[str, str]:
    """Returns those of the tests, by the names that `meson test` accepts, that call a function at
    which counts are lost, with the function. `ran` has the names as Meson shows them."""
    shown, tests = build.names_for_meson(), build.tests_by_name()
    graph = None
    if with_libraries:
        with contextlib.suppress(GraphError):
            graph = BuildGraph(build)
    out = {}
    for name in dict.fromkeys(shown.get(each, each) for each in ran):
        try:
            function = loses(graph, tests[name]) if name in tests else ""
        except GraphError:
            function = loses(None, tests[name])
        if function:
            out[name] = function
    return out


def said_of(losing_tests: T.Mapping[str, str], *, source_based: bool) -> str:
    """Returns the line that names tests whose counts are lost; there is at least one."""
    names = sorted(losing_tests)
    more = f", and {len(names) - _MOST_NAMES} others" if len(names) > _MOST_NAMES else ""
    why = (
        "Clang writes source-based counters only when a process ends"
        if source_based
        else "GCC writes them before only with a GNU standard, such as c_std=gnu99"
    )
    functions = ", ".join(sorted(set(losing_tests.values())))
    return f'{", ".join(names[:_MOST_NAMES])}{more}: counts are lost at {functions}: {why}'


def counters_beside(build: BuildDir) -> T.Optional[str]:
    """Returns a file of counters in the build directory, in which a process writes them that has
    not inherited the environment of its test."""
    for folder, _, files in os.walk(build.path):
        for name in files:
            if name.endswith(".gcda"):
                return os.path.join(folder, name)
    return None
