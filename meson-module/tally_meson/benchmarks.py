# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Compares the benchmarks of a build with a baseline: `tally-meson test --benchmark --baseline`."""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import typing as T

from . import wrapped_test
from .benchmark_runs import Runs, file_name
from .build_dir import BuildDir, ninja
from .collector import Collector
from .refusal import BUILD_FAILED, NO_DATA, Refusal, say

if T.TYPE_CHECKING:
    from .comparing import Comparing
    from .measurement import Ran
    from .words import Words

_HERTZ = "5000"  # of CPU time: a run of one second has 5000 samples
_RUNS = 10
_BELOW = 3  # the status of a gate that failed

Execute = T.Callable[
    [BuildDir, T.List[str]], T.Tuple[int, T.List[T.Tuple["Ran", T.List[str], float]]]
]


def _revision(source: str, word: str) -> T.Optional[str]:
    done = subprocess.run(
        ["git", "-C", source, "rev-parse", "--verify", "--quiet", f"{word}^{{commit}}"],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    return done.stdout.strip() if done.returncode == 0 else None


def _warn(build: BuildDir) -> None:
    options = {
        each["name"]: each["value"] for each in build.introspection("intro-buildoptions.json")
    }
    if options.get("b_coverage"):
        say("the option b_coverage is on: counters slow the benchmarks down")
    if str(options.get("optimization")) in ("0", "g"):
        say(f'the option optimization is {options["optimization"]}: the compiler did not optimize')


class Comparison:
    """One run of the benchmarks, and what it is compared with."""

    def __init__(self, build: BuildDir, given: Comparing, words: Words, execute: Execute) -> None:
        self._build, self._given, self._words, self._execute = build, given, words, execute
        self._tally = Collector(build).path
        self._valgrind = shutil.which("valgrind") or ""
        if given.exact and not self._valgrind:
            raise Refusal("--exact: there is no valgrind on PATH")
        self._ending = ".callgrind" if given.exact else ".pb.gz"
        self._revision = None
        if not os.path.isdir(given.baseline) and not given.update:
            self._revision = _revision(build.source, given.baseline)
            if not self._revision:
                raise Refusal(
                    f"--baseline: {given.baseline} is neither a directory nor a revision: "
                    "--baseline-update makes the directory"
                )
        self._folder = ""

    def run(self) -> int:
        _warn(self._build)
        self._folder = tempfile.mkdtemp(
            prefix="benchmarks-", dir=os.path.join(self._build.path, "meson-private")
        )
        try:
            if self._revision:
                return self._compared_with_revision(self._revision)
            return self._compared_with_files(self._given.baseline)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _measure(self, build: BuildDir, into: Runs, repeat: int) -> int:
        tool, hertz = (self._valgrind, "0") if self._given.exact else (self._tally, _HERTZ)
        here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrapped_benchmark.py")
        wrapper = [sys.executable, here, into.folder, tool, hertz, "--"]
        more = [f"--repeat={repeat}"] if repeat > 1 else []
        if self._given.exact:  # Valgrind takes 20 to 100 times as long
            more.append("--timeout-multiplier=100")
        status, entries = self._execute(
            build, [*more, *self._words.meson, "--wrapper=" + " ".join(map(shlex.quote, wrapper))]
        )
        wrapped_test.assign_claims(T.cast(T.Any, into), entries)
        return status

    def _repeats(self) -> int:
        is_given = any(word.startswith("--repeat") for word in self._words.meson)
        return 1 if self._given.exact or is_given else _RUNS

    def _merged(self, runs: Runs, name: str, label: str) -> T.Optional[str]:
        """Returns a file with all runs of the benchmark; None if it left none."""
        files = runs.files_of(name)
        if name in runs.failed:
            say(f"{label}: it failed, and is not compared")
            return None
        if not files:
            say(f"{label}: no data: it used hardly any CPU time")
            return None
        out = os.path.join(runs.folder, file_name(name) + self._ending)
        self._must("merge", *files, "-o", out)
        return out

    def _must(self, *words: str) -> None:
        done = subprocess.run(
            [self._tally, *words],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        if done.returncode != 0:
            raise Refusal(re.sub("^tally: ", "", done.stderr.strip()), 1)

    def _compared_with_files(self, folder: str) -> int:
        runs = Runs(os.path.join(self._folder, "now"), self._build)
        status = self._measure(self._build, runs, self._repeats())
        pairs, updates, own = [], [], 0
        for name in runs.numbers:
            now = self._merged(runs, name, name)
            before = os.path.join(folder, file_name(name) + self._ending)
            if now is None:
                own = own or NO_DATA
            elif os.path.exists(before):
                pairs.append((name, before, now))
            elif not self._given.update:
                say(f"{name}: there is no {before}: --baseline-update writes it")
            if now is not None:
                updates.append((now, before))
        if not pairs and not self._given.update and not own:
            say("nothing was compared")
            own = NO_DATA
        own = self._shown(pairs) or own
        if self._given.update:
            self._write(folder, updates)
        return status if status % 256 else own

    def _write(self, folder: str, updates: T.List[T.Tuple[str, str]]) -> None:
        os.makedirs(folder, exist_ok=True)
        for now, file in updates:
            shutil.copyfile(now, file + "~")
            os.replace(file + "~", file)
        say(f"{len(updates)} of the baseline's files are written to {folder}")

    def _compared_with_revision(self, revision: str) -> int:
        source = os.path.join(self._folder, "source")
        git = ["git", "-C", self._build.source, "worktree"]
        added = subprocess.run(
            [*git, "add", "--quiet", "--detach", source, revision], check=False, stdout=sys.stderr
        )
        if added.returncode != 0:
            raise Refusal(f"{revision} cannot be checked out", 1)
        try:
            base = self._built(source)
            before = Runs(os.path.join(self._folder, "before"), base)
            now = Runs(os.path.join(self._folder, "now"), self._build)
            status = 0
            for _ in range(self._repeats()):  # by turns, so that both see the same machine
                status = self._measure(base, before, 1) or status
                status = self._measure(self._build, now, 1) or status
            pairs, own = [], 0
            for name in now.numbers:
                if name not in before.numbers:
                    say(f"{name}: the baseline has no such benchmark")
                    continue
                files = (
                    self._merged(before, name, f"{name} of the baseline"),
                    self._merged(now, name, name),
                )
                if files[0] and files[1]:
                    pairs.append((name, files[0], files[1]))
                else:
                    own = NO_DATA
            if not pairs and not own:
                say("nothing was compared")
                own = NO_DATA
            own = self._shown(pairs) or own
            return status if status % 256 else own
        finally:
            with contextlib.suppress(OSError):
                subprocess.run([*git, "remove", "--force", source], check=False)

    def _built(self, source: str) -> BuildDir:
        """Configures and builds the benchmarks of a source tree as this build is configured."""
        folder = os.path.join(self._folder, "build")
        given = configparser.ConfigParser(delimiters=["="], interpolation=None)
        given.optionxform = str  # type: ignore  # names differ in case
        given.read(
            os.path.join(self._build.path, "meson-private", "cmd_line.txt"), encoding="utf-8"
        )
        words = [f"-D{name}={value}" for name, value in dict(given["options"]).items()]
        for name in ("cross_file", "native_file"):
            for file in re.findall(r"'([^']*)'", given.get("properties", name, fallback="")):
                words.append(f'--{name.replace("_", "-")}={file}')
        log = os.path.join(self._folder, "log")
        with open(log, "w", encoding="utf-8") as file:
            for command in (
                [*self._build.meson(), "setup", *words, folder, source],
                [*ninja(), "-C", folder, "meson-benchmark-prereq"],
            ):
                done = subprocess.run(command, check=False, stdout=file, stderr=file)
                if done.returncode != 0:
                    with open(log, encoding="utf-8", errors="replace") as text:
                        sys.stderr.write("".join(text.readlines()[-20:]))
                    raise Refusal("the baseline cannot be built", BUILD_FAILED)
        return BuildDir(folder)

    def _shown(self, pairs: T.Sequence[T.Tuple[str, str, str]]) -> int:
        """Prints and writes what changed. Returns the status of the gates: 3 if one failed, 4 if
        one could not be decided."""
        statuses = set()
        markdown = []
        gate = [] if self._given.fail_over is None else [f"--fail-over={self._given.fail_over}"]
        gate += [f"--function={pattern}" for pattern in self._given.function]
        part = os.path.join(self._folder, "part.md")
        for name, before, now in pairs:
            print(f"\n{name}")
            sys.stdout.flush()
            diff = [self._tally, "diff", before, now]
            statuses.add(subprocess.run([*diff, "--limit=10", *gate], check=False).returncode)
            quiet: T.Dict[str, T.Any] = {
                "check": False,
                "stdout": subprocess.DEVNULL,
                "stderr": subprocess.DEVNULL,
            }
            subprocess.run([*diff, "-o", part, *gate], **quiet)
            with contextlib.suppress(OSError), open(part, encoding="utf-8") as file:
                markdown.append(file.read().replace("### Cost", f"### {name}", 1))
            if not self._given.exact:  # which has no stacks
                picture = os.path.join(self._build.logs, f"benchmark-{file_name(name)}.svg")
                subprocess.run([*diff, "-o", picture], **quiet)
        if markdown:
            report = os.path.join(self._build.logs, "benchmarks.md")
            with open(report + "~", "w", encoding="utf-8") as file:
                file.write("\n".join(markdown))
            os.replace(report + "~", report)
            say(f"wrote {report}")
        for status in (1, 2, _BELOW, NO_DATA):
            if status in statuses:
                return status
        return 0
