# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Chooses the tests that a change may affect: `tally-meson test --affected REV`.

A test is left out only if nothing that it reached has changed, neither since it was recorded nor
between then and REV. What a change outside of functions affects, the build graph tells; whatever is
unknown makes all tests run.
"""

from __future__ import annotations

import os
import re
import typing as T

from . import record, settings, source_text
from .build_graph import ASSEMBLER, BuildGraph, GraphError, words_of
from .record import Record
from .refusal import Refusal
from .repository import commit_of, git, names, top_of

if T.TYPE_CHECKING:
    from .build_dir import BuildDir

_BUILD_FILES = re.compile(r"(^|/)(meson\.build|meson_options\.txt|meson\.options|[^/]*\.wrap)$")
# Functions that the compiler makes of initializers. Their lines may enclose others.
_INITIALIZER = re.compile(r"_GLOBAL__|static_initialization_and_destruction")
# Functions whose bodies callers depend on when they are compiled. `auto` without a trailing type is
# a type that the body determines.
# Macros such as FMT_CONSTEXPR count, too.
_EVALUATED_EARLY = re.compile(r"(?i)const(expr|eval|init)")
_DEDUCED = re.compile(r"\bauto\b(?!.*->)")
_MOST_LINES_OF_HEAD = 20


class _Everything(Exception):
    """Says why all tests must run."""


class Choice(T.NamedTuple):
    reasons: T.Dict[str, str]  # by the name of a test that runs, one reason
    all: T.Dict[str, T.Any]  # the tests of the build, by name
    everything: str  # why all tests run; '' if they are chosen


class _Chooser:
    def __init__(self, build: BuildDir, revision: str) -> None:
        self._build = build
        self._tests = build.tests_by_name()
        self._alike: T.Dict[T.Tuple[str, ...], T.List[str]] = {}
        for name, test in self._tests.items():
            self._alike.setdefault(tuple(test["cmd"]), []).append(name)
        self.reasons: T.Dict[str, str] = {}
        found = Record.load(build)
        if not found:
            why = Record.why_none(build)
            raise _Everything(
                f"the last run with --coverage-per-test made no record: {why}"
                if why
                else "there is no record: run all tests with --coverage-per-test to make it"
            )
        self._record = found
        self._top = top_of(build)
        self._revision = commit_of(self._top, revision)
        self._ignored = [
            re.compile(pattern) for pattern in settings.stored(build).get("affected_ignore", [])
        ]
        self._build_files = {
            os.path.realpath(path) for path in build.introspection("intro-buildsystem_files.json")
        }
        self._made_graph: T.Optional[BuildGraph] = None
        self._named = {name: self._named_by(test) for name, test in self._tests.items()}

    def _named_by(self, test: T.Mapping[str, T.Any]) -> T.Set[str]:
        """Returns the real paths of what the test's definition may name."""
        folder = test.get("workdir") or self._build.path
        return {
            os.path.realpath(os.path.join(folder, word))
            for word in words_of(test)
            if "\0" not in word
        }

    @property
    def _graph(self) -> BuildGraph:
        if not self._made_graph:
            self._made_graph = BuildGraph(self._build)
        return self._made_graph

    def choose(self) -> None:
        kept = self._record
        if kept.configuration != record.configuration_of(self._build):
            raise _Everything("the build is configured differently from that of the record")
        for path, digest in kept.others.items():
            if record.digest_of(path) != digest:
                raise _Everything(f"{path} has changed, which git does not compare")
        for path in record.not_in_git(self._build, self._graph):
            if path not in kept.others:
                raise _Everything(f"{path} is compiled now, which git does not compare")
        revision = self._revision
        try:
            git(self._top, "cat-file", "-e", f"{kept.revision}^{{commit}}")
        except Refusal:
            raise _Everything(f"git has no revision {kept.revision} any more") from None
        # A test that left no data is in the list of names, too.
        with_data = {kept.names[at] for file in kept.files.values() for at in file["tests"]}
        for name, test in self._tests.items():
            before = kept.tests.get(name)
            if test.get("is_ambiguous"):
                self._add(name, "another test has the same name")
            elif not before:
                self._add(name, "it is new")
            elif before["definition"] != record.definition_of(test):
                self._add(name, "its definition has changed")
            elif not before["passed"]:
                self._add(name, "it did not pass last time")
            elif before["loses"]:
                self._add(name, f"it calls {before['loses']}, at which counts are lost")
            elif name not in with_data:
                self._add(name, "it had no data last time")
        differing = names(
            git(self._top, "diff", "--name-only", "-z", "--no-renames", kept.revision)
        )
        changed = {
            *kept.texts,
            *differing,
            *names(git(self._top, "ls-files", "--others", "--exclude-standard", "-z")),
        }
        for name in sorted(changed):
            path = os.path.join(self._top, name)
            if path.startswith(self._build.path + os.sep):
                continue
            try:
                old, new = self._recorded(name), record.text_of(path)
            except Refusal as error:
                raise _Everything(str(error)) from None
            if old == new and name in differing and name not in kept.texts:
                raise _Everything(f"the mode of {name} has changed")
            self._compare(name, old, new)
        if revision != kept.revision:
            between = git(
                self._top, "diff", "--name-only", "-z", "--no-renames", kept.revision, revision
            )
            for name in sorted({*kept.texts, *names(between)}):
                self._compare(name, self._recorded(name), self._committed(revision, name))

    def _add(self, test: str, reason: str) -> None:
        if test not in self._tests:
            return
        self.reasons.setdefault(test, reason)
        # If the tests ran in a wrapper, it could not tell those with one command apart.
        for other in self._alike[tuple(self._tests[test]["cmd"])]:
            self.reasons.setdefault(other, reason)

    def _committed(self, revision: str, name: str) -> T.Optional[str]:
        try:
            return git(self._top, "cat-file", "blob", f"{revision}:{name}").decode("latin-1")
        except Refusal:
            return None

    def _recorded(self, name: str) -> T.Optional[str]:
        if name in self._record.texts:
            return self._record.texts[name]
        return self._committed(self._record.revision, name)

    def _compare(self, name: str, old: T.Optional[str], new: T.Optional[str]) -> None:
        """Adds the tests that the difference of a file may affect. `name` is relative to the top
        directory of the repository, and a text is None if there is no such file."""
        path = os.path.join(self._top, name)
        if old == new and (old is not None or not os.path.lexists(path)):
            return
        if os.path.realpath(path) in self._build_files or _BUILD_FILES.search(name):
            raise _Everything(f"{name} defines the build")
        for test, named in self._named.items():
            if os.path.realpath(path) in named:
                self._add(test, f"{name} changed, which it names")
        if any(pattern.search(name) for pattern in self._ignored):
            return
        is_assembler = name.endswith(ASSEMBLER)
        if not (is_assembler or name.endswith(source_text.SUFFIXES)) or not self._graph.objects_of(
            path
        ):
            raise _Everything(f"{name} is not a source of this build")
        if self._graph.runs_during_build({os.path.realpath(path)}):
            # A generator may read comments and bodies.
            self._add_users(name, "changed, which the build reads or makes a program of")
        runs_during_build = self._graph.runs_during_build(self._graph.objects_of(path))
        if new is None or old is None:
            if new is None and old is None:
                raise _Everything(f"{name} is not a regular file")
            self._add_users(name, "was added or removed")
            return
        if is_assembler:  # it has no coverage, and its comments differ by processor
            self._add_users(name, "changed, which is assembler")
            return
        before, after = source_text.lines_of(old), source_text.lines_of(new)
        changes = source_text.changes(before, after)
        if changes and runs_during_build:
            self._add_users(name, "changed, which may be part of a program that the build runs")
        for change in changes:
            reached = None if change.is_structural() else self._reached(path, before, change)
            if reached is None:
                self._add_users(name, f"changed outside of functions, at line {change.first}")
                return  # which includes all that reached the file
            for test in reached:
                self._add(test, f"{name}:{change.first} changed in a function that it reached")

    def _reached(
        self, path: str, before: T.List[str], change: source_text.Change
    ) -> T.Optional[T.Set[str]]:
        """Returns the tests that reached the functions whose bodies contain the change. Returns
        None if a changed line is not in a body."""
        functions = []
        for function in self._record.files.get(os.path.realpath(path), {}).get("functions", []):
            first, last = function["first"], function["last"]
            if not 0 < first <= last <= len(before) or _INITIALIZER.search(function["name"]):
                continue
            head = first  # the line of the brace that opens the body
            while head <= last and "{" not in before[head - 1]:
                head += 1
            start = first - 1  # the index of the line at which the declaration begins
            while (
                start > max(0, first - _MOST_LINES_OF_HEAD)
                and not before[start - 1].endswith((";", "}"))
                and not before[start - 1].startswith("#")
            ):
                start -= 1
            text = " ".join(before[start:head])
            is_early = _EVALUATED_EARLY.search(text) or _DEDUCED.search(text.partition("{")[0])
            functions.append((head, last, None if is_early else function["tests"]))
        # What is inserted lies between the line before `first` and that line.
        spots = [
            (change.first + at, change.first + at) for at, line in enumerate(change.old) if line
        ] or [(change.first - 1, change.first)]
        out: T.Set[str] = set()
        for low, high in spots:
            around = [
                tests
                for head, last, tests in functions
                if (head < low if low == high else head <= low) and high <= last
            ]
            if not around or None in around:
                return None
            out |= {self._record.names[index] for tests in around for index in tests or ()}
        return out

    def _add_users(self, name: str, what: str) -> None:
        """Adds the tests whose programs depend on a file, those that reached anything compiled or
        linked together with it, and those of which it is not known what they run."""
        path = os.path.realpath(os.path.join(self._top, name))
        objects = self._graph.objects_of(path)
        if self._graph.runs_during_build({path}):
            objects = objects | self._graph.made_of(path)
        together = {path}
        for each in self._graph.linked_with(objects):
            together |= {
                source
                for source in self._graph.sources[each]
                if not source.endswith((".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tcc"))
            }
        reached = {
            self._record.names[index]
            for source in together
            for index in self._record.files.get(source, {}).get("tests", [])
        }
        for test, entry in self._tests.items():
            inputs = self._graph.inputs_of(entry)
            if test in reached or inputs is None or inputs & (objects | {path}):
                self._add(test, f"{name} {what}")


def choose(build: BuildDir, revision: str) -> Choice:
    """Returns the tests that changes since the record, or between it and the revision, may affect.
    Raises Refusal if there is no such revision."""
    tests = build.tests_by_name()
    try:
        chooser = _Chooser(build, revision)
        chooser.choose()
        return Choice(chooser.reasons, tests, "")
    except GraphError as error:
        return Choice(dict.fromkeys(tests, "everything runs"), tests, str(error))
    except _Everything as why:
        return Choice(dict.fromkeys(tests, "everything runs"), tests, str(why))
