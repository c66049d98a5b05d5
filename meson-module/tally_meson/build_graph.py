# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Which tests are built of which sources, as ninja knows it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import typing as T

from .build_dir import BuildDir, ninja

# Rules of Meson that run nothing which the project builds. All others may run a program of the
# project, whose output is then part of what is built of it.
_PLAIN_RULES = re.compile(
    r"(_COMPILER|_LINKER|_PCH|SHSYM)(_FOR_BUILD)?(_RSP)?$|^(phony|REGENERATE_BUILD)$"
)
_EDGE = re.compile(r"^build ((?:[^\s:$|]|\$.|[ ])+?) *(?:\|.*?)?: (\S+)", re.MULTILINE)
ASSEMBLER = (".s", ".S", ".sx", ".asm")
_MOST_WORDS = 500  # of one command


_PARTS = (re.compile(r"[^\s=:;,]+"), re.compile(r"/[^\s=:;,]+"))


def words_of(test: T.Mapping[str, T.Any]) -> T.Set[str]:
    """Returns the words of the test's command, arguments and environment, whole and in the parts
    that may name a file, as in `--input=FILE`."""
    texts = [*test["cmd"], *test.get("env", {}).values()]
    return {*texts, *(word for text in texts for part in _PARTS for word in part.findall(text))}


class GraphError(Exception):
    """Ninja does not tell the graph. A message for the user."""


def _tool(build: BuildDir, *words: str) -> T.List[str]:
    done = subprocess.run(
        [*ninja(), "-C", build.path, "-t", *words],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="surrogateescape",
    )
    if done.returncode != 0:
        raise GraphError(f"ninja -t {words[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout.splitlines()


class BuildGraph:
    def __init__(self, build: BuildDir) -> None:
        self._build = build
        # By object, the real paths of what it was compiled from.
        self.sources: T.Dict[str, T.Set[str]] = {}
        current: T.Set[str] = set()
        for line in _tool(build, "deps"):
            if line.startswith("    "):
                current.add(self._real(line.strip()))
            elif ": #deps" in line:
                current = self.sources.setdefault(self._real(line.partition(": #deps")[0]), set())
        targets = build.introspection("intro-targets.json")
        known: T.Set[str] = set().union(*self.sources.values())
        for each in (
            self._real(path)
            for target in targets
            for group in target.get("target_sources", [])
            for path in group.get("sources", [])
            if path.endswith(ASSEMBLER)
        ):
            # The compiler names no sources of an object whose assembler code is not preprocessed.
            if each not in known:
                self.sources[each] = {each}
        self._objects: T.Dict[str, T.Set[str]] = {}  # by source
        for name, sources in self.sources.items():
            for source in sources:
                self._objects.setdefault(source, set()).add(name)
        self._inputs: T.Dict[str, T.Set[str]] = {}
        self._run_by_build: T.Optional[T.Set[str]] = None
        self._made: T.Optional[T.Set[str]] = None
        self._targets = {
            target["id"]: [str(path) for path in target["filename"]] for target in targets
        }
        self._outputs = {path for paths in self._targets.values() for path in paths}

    def _real(self, path: str) -> str:
        return os.path.realpath(os.path.join(self._build.path, path))

    def objects_of(self, source: str) -> T.Set[str]:
        """Returns the objects that depend on a source; empty if the build does not know it."""
        return self._objects.get(os.path.realpath(source), set())

    def inputs_of(self, test: T.Mapping[str, T.Any]) -> T.Optional[T.Set[str]]:
        """Returns everything that the test's programs are built of, and all else that its
        definition names. Returns None if that is not known: if the test runs a command that this
        build does not make."""
        made = sorted(words_of(test) & self._outputs)
        if test["cmd"][0] not in self._outputs:
            return None
        for name in test.get("depends", []):
            made += self._targets.get(name, [])
        out: T.Set[str] = set()
        for path in made:
            out |= self._inputs_of_output(path)
        return out

    def _inputs_of_output(self, path: str) -> T.Set[str]:
        if path not in self._inputs:
            name = os.path.relpath(path, self._build.path)
            self._inputs[path] = self._inputs_of_names([name])
        return self._inputs[path]

    def _inputs_of_names(self, names: T.Sequence[str]) -> T.Set[str]:
        out: T.Set[str] = set()
        for at in range(0, len(names), _MOST_WORDS):
            for line in _tool(self._build, "inputs", *names[at : at + _MOST_WORDS]):
                # Ninja quotes a path that has a blank, as for a shell.
                out.add(self._real(shlex.split(line)[0] if line.startswith("'") else line))
        return out

    def _outputs_of_rules(self) -> T.Iterator[T.Tuple[str, str]]:
        """Returns what ninja makes, each output with the name of its rule."""
        for names, rule in _EDGE.findall(self._build.ninja_text()):
            for name in re.findall(r"(?:[^\s$]|\$.)+", names):
                yield re.sub(r"\$(.)", r"\1", name), rule

    def is_made(self, path: str) -> bool:
        """Returns whether a rule of ninja makes the file. Files that Meson itself writes are not."""
        if self._made is None:
            self._made = {self._real(name) for name, _ in self._outputs_of_rules()}
        return path in self._made

    def made_of(self, path: str) -> T.Set[str]:
        """Returns the objects that are compiled from what a generator makes of a file."""
        made = {
            source
            for source in set().union(*self.sources.values())
            if source.startswith(self._build.path + os.sep)
            and self.is_made(source)
            and path in self._inputs_of_output(source)
        }
        return {each for each, sources in self.sources.items() if sources & made}

    def linked_with(self, objects: T.Set[str]) -> T.Set[str]:
        """Returns all objects of the programs and shared libraries that contain one of these."""
        out = set(objects)
        for target in self._build.introspection("intro-targets.json"):
            if target["type"] in ("executable", "shared library", "shared module"):
                for path in target["filename"]:
                    inputs = self._inputs_of_output(str(path))
                    if inputs & objects:
                        out |= inputs & self.sources.keys()
        return out

    def runs_during_build(self, files: T.Set[str]) -> bool:
        """Returns whether one of the objects or sources may be part of a program that the build
        runs, such as a generator of sources, or be read by one. What such a program does, no test
        reaches."""
        if self._run_by_build is None:
            # Targets such as `test` depend on all programs, but nothing is built of their output.
            self._run_by_build = self._inputs_of_names(
                [
                    name
                    for name, rule in self._outputs_of_rules()
                    if not _PLAIN_RULES.search(rule) and not name.startswith("meson-internal__")
                ]
            )
        return bool(files & self._run_by_build)
