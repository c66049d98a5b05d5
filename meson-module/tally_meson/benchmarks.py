# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Compares the benchmarks of a build with a baseline: `tally-meson test --benchmark --baseline`."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import typing as T

from . import benchmark_revision, wrapped_test
from .benchmark_report import Pair, compare, remove_reports, warn_of_slow_build
from .benchmark_runs import Runs, file_name
from .build_dir import BuildDir
from .collector import Collector
from .lock import exclude_others
from .refusal import BUILD_FAILED, NO_DATA, REFUSED, Refusal, say
from .running import ended_by_signals, executed
from .words import without_repeat

if T.TYPE_CHECKING:
    from .comparing import Comparing
    from .words import Words

_HERTZ = "5000"  # of CPU time: a run of one second has 5000 samples
_RUNS = 10


def _remove_if_empty(folder: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(folder)


class Comparison:
    """One run of the benchmarks, and what it is compared with."""

    def __init__(self, build: BuildDir, given: Comparing, words: Words) -> None:
        self._build, self._given = build, given
        self._repeat, self._meson = without_repeat(words.meson)
        self._tally = Collector(build).path
        self._valgrind = shutil.which("valgrind") or ""
        self._ending = ".callgrind" if given.exact else ".pb.gz"
        self._folder = ""
        self._has_failed = False
        self._notes: T.List[str] = []  # what the report says beside the comparisons
        if given.exact and not self._valgrind:
            raise Refusal("--exact: valgrind is not on PATH")
        if given.exact and self._repeat:
            raise Refusal("--exact cannot be combined with --repeat: one run is exact")
        self._check_limit()
        self._revision = self._chosen_revision()

    def _chosen_revision(self) -> T.Optional[str]:
        word = self._given.baseline
        revision = benchmark_revision.revision_of(self._build.source, word)
        if os.path.isdir(word):
            if revision:
                say(f"--baseline: {word} is taken as the directory, not as the revision")
            return None
        if os.path.lexists(word):
            raise Refusal(f"--baseline: {word} is not a directory")
        if revision and self._given.update:
            raise Refusal(
                f"--baseline-update: {word} is a revision: name a directory, such as ./{word}"
            )
        if not revision and not self._given.update:
            raise Refusal(
                f"--baseline: {word} is neither a directory nor a revision: "
                "--baseline-update makes the directory"
            )
        return revision

    def _check_limit(self) -> None:
        """Raises Refusal if `tally diff` would reject the limit or a pattern."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "any.callgrind")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'events: {"Ir" if self._given.exact else "ticks"}\nfn=any\n1 1\n')
            done = self._ran("diff", path, path, *self._gate())
        if done.returncode == REFUSED:
            raise Refusal(re.sub("^tally: ", "", done.stderr.partition("\n")[0]))

    def run(self, is_built: T.Callable[[], bool]) -> int:
        """Builds the benchmarks by `is_built`, runs and compares them. Returns the exit status."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(ended_by_signals())
            lock = exclude_others(self._build)
            if lock:
                stack.enter_context(lock)
            private = os.path.join(self._build.path, "meson-private")
            for left in glob.glob(os.path.join(glob.escape(private), "benchmarks-*")):
                self._remove(left)  # of a run that was killed
            if not is_built():
                return BUILD_FAILED
            if not self._revision and not os.path.isdir(self._given.baseline):
                os.makedirs(self._given.baseline)  # to fail early
                stack.callback(_remove_if_empty, self._given.baseline)
            warn_of_slow_build(self._build)
            remove_reports(self._build.logs)
            self._folder = tempfile.mkdtemp(prefix="benchmarks-", dir=private)
            stack.callback(self._remove, self._folder)
            if self._revision:
                status = self._compared_with_revision(self._revision)
            else:
                status = self._compared_with_files(self._given.baseline)
        return status

    def _remove(self, folder: str) -> None:
        source = os.path.join(folder, "source")
        if os.path.isdir(source):
            benchmark_revision.remove(self._build.source, source)
        shutil.rmtree(folder, ignore_errors=True)

    def _say(self, text: str) -> None:
        self._notes.append(text)
        say(text)

    def _measure(self, build: BuildDir, into: Runs, *, is_first: bool) -> int:
        """Runs the benchmarks once. The output of Meson is shown the first time, and when it fails
        for the first time."""
        tool, hertz = (self._valgrind, "0") if self._given.exact else (self._tally, _HERTZ)
        here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrapped_benchmark.py")
        wrapper = [sys.executable, here, into.folder, tool, hertz, "--"]
        words = ["--wrapper=" + " ".join(map(shlex.quote, wrapper))]
        if self._given.exact:  # Valgrind takes 20 to 100 times as long
            words.append("--timeout-multiplier=100")
        with tempfile.TemporaryFile() as hidden:
            output = None if is_first else hidden
            status, entries = executed(build, [*words, *self._meson], output)
            if status != 0 and not self._has_failed:
                self._has_failed = True
                hidden.seek(0)
                sys.stdout.flush()
                shutil.copyfileobj(hidden, sys.stdout.buffer)
        alike = wrapped_test.assign_claims(T.cast(T.Any, into), entries)
        if alike and is_first and into.folder.endswith("now"):
            self._say(
                f'several benchmarks run the same command: {", ".join(alike)}: only their order '
                "distinguishes them"
            )
        return status

    def _repeats(self) -> int:
        return 1 if self._given.exact else self._repeat or _RUNS

    def _merged(self, runs: Runs, name: str, label: str) -> T.Optional[str]:
        """Returns a file with all runs of the benchmark; None if it left none."""
        files = runs.files.get(name, [])
        if name in runs.failed:
            self._say(f"{label}: it failed, and is not compared")
            return None
        if name in runs.skipped:
            self._say(f"{label}: it was skipped, and is not compared")
            return None
        if not files:
            why = "Callgrind wrote none" if self._given.exact else "it used hardly any CPU time"
            self._say(f"{label}: no data: {why}")
            return None
        out = os.path.join(runs.merged, file_name(name) + self._ending)
        done = self._ran("merge", *files, "-o", out)
        if done.returncode == NO_DATA:
            self._say(f"{label}: no data: it used hardly any CPU time")
            return None
        self._refuse_failed(done)
        return out

    def _must(self, *words: str) -> None:
        self._refuse_failed(self._ran(*words))

    @staticmethod
    def _refuse_failed(done: subprocess.CompletedProcess[str]) -> None:
        if done.returncode != 0:
            raise Refusal(re.sub("^tally: ", "", done.stderr.strip()), 1)

    def _ran(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._tally, *words],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )

    def _compared_with_files(self, folder: str) -> int:
        runs = Runs(os.path.join(self._folder, "now"), self._build)
        status = self._measured((self._build, runs))
        pairs, updates, own = [], [], 0
        for name in runs.files:
            now = self._merged(runs, name, name)
            before = os.path.join(folder, file_name(name) + self._ending)
            if now is None:
                own = own if name in runs.skipped else NO_DATA
                continue
            updates.append((now, before))
            if os.path.exists(before):
                pairs.append(Pair(name, before, now))
            elif not self._given.update:
                self._say(f"{name}: there is no {before}: --baseline-update writes it")
        if not pairs and not updates or not pairs and not self._given.update:
            say("nothing was compared")
            own = NO_DATA
        gate = self._shown(pairs)
        if self._given.update and updates:
            if gate == 1 and self._given.fail_over is not None:
                say(
                    f"{folder} is not changed, because it cannot be compared: leave out --fail-over "
                    "to replace it"
                )
            elif gate not in (0, 1):
                say(
                    f"{folder} is not changed, because the limit is exceeded or cannot be decided: "
                    "leave out --fail-over to accept the costs"
                )
            else:
                self._write(folder, updates)
        return status if status % 256 else gate or own

    def _write(self, folder: str, updates: T.List[T.Tuple[str, str]]) -> None:
        for now, file in updates:
            part = file + "~"
            try:
                if self._given.exact:
                    shutil.copyfile(now, part)
                else:  # lines and addresses are most of the file, and functions are compared
                    self._must("convert", now, "--to=pprof", "--functions-only", "-o", part)
                os.replace(part, file)
            except OSError as error:
                raise OSError(error.errno, error.strerror, file) from None
            finally:
                with contextlib.suppress(OSError):
                    os.remove(part)
        say(f"{len(updates)} of the baseline's files are written to {folder}")

    def _compared_with_revision(self, revision: str) -> int:
        with benchmark_revision.Checkout(self._build, revision, self._folder) as checkout:
            base = checkout.built()
            before = Runs(os.path.join(self._folder, "before"), base)
            now = Runs(os.path.join(self._folder, "now"), self._build)
            status = self._measured((self._build, now), (base, before))
            pairs, own = [], 0
            for name in now.files:
                if name not in before.files:
                    self._say(f"{name}: the baseline has no such benchmark")
                    continue
                old = self._merged(before, name, f"{name} of the baseline")
                new = self._merged(now, name, name)
                if old and new:
                    pairs.append(Pair(name, old, new))
                elif not new and name not in now.skipped:
                    own = NO_DATA
            if not pairs:
                say("nothing was compared")
                own = NO_DATA
            own = self._shown(pairs) or own
            return status if status % 256 else own

    def _measured(self, *builds: T.Tuple[BuildDir, Runs]) -> int:
        """Runs the benchmarks of all builds by turns, so that all see the same machine. Returns the
        first status of the first build that is not 0. Meson's own --repeat would end after a
        failure."""
        status = 0
        for turn in range(self._repeats()):
            if turn > 0:
                say(f"run {turn + 1} of {self._repeats()}")
            for build, into in builds if turn % 2 == 0 else reversed(builds):
                found = self._measure(build, into, is_first=turn == 0)
                if build is builds[0][0]:
                    status = status or found
        return status

    def _gate(self) -> T.List[str]:
        gate = [] if self._given.fail_over is None else [f"--fail-over={self._given.fail_over}"]
        return gate + [f"--function={pattern}" for pattern in self._given.function]

    def _shown(self, pairs: T.Sequence[Pair]) -> int:
        return compare(
            self._tally,
            pairs,
            gate=self._gate(),
            has_stacks=not self._given.exact,  # Callgrind counts calls
            folder=self._build.logs,
            notes=self._notes,
        )
