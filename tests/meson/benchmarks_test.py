"""Tests `tally-meson test --benchmark --baseline`: with Callgrind, whose counts are exact, and with
samples only as far as the clock does not matter."""
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import MixIn, for_each_meson, write_project
from support.skips import need_tools, run_unittests

from tally_meson import words as command_words
from tally_meson.benchmark_runs import Runs, file_name
from tally_meson.measurement import Ran
from tally_meson.refusal import Refusal

SOURCE = """\
#include <stdlib.h>
#ifndef HASH
#define HASH 500
#endif
#ifndef WORK
#define WORK 100
#endif
volatile unsigned sink;
__attribute__((noinline)) static unsigned parse(unsigned n) {
  for (unsigned i = 0; i < n * WORK; ++i)
    sink = i;
  return n;
}
__attribute__((noinline)) static unsigned hash(unsigned n) {
  for (unsigned i = 0; i < n * HASH; ++i)
    sink = i;
  return n;
}
int main(int argc, char **argv) {
  return argc > 1 && parse(atoi(argv[1])) + hash(atoi(argv[1])) == 0;
}
"""
PROJECT = {
    "meson.build": """\
project('bench', 'c', default_options: ['buildtype=debugoptimized'])
work = executable('work', 'work.c')
benchmark('work', work, args: ['300'])
benchmark('more work', work, args: ['400'], suite: 'slow')
benchmark('fails', work, args: ['0'], suite: 'bad')
benchmark('skips', find_program('sh'), args: ['-c', 'exit 77'], suite: 'bad')
benchmark('long', find_program('sh'), args: ['-c', 'exec sleep "$(cat "$0")"', files('seconds')],
  suite: 'bad', timeout: 60)
""",
    "work.c": SOURCE,
    "seconds": "30\n",
}


class Benchmarks(MixIn):
    def setUp(self) -> None:
        super().setUp()
        write_project(self.project, PROJECT)
        self.addCleanup(shutil.rmtree, self.project)
        self.must("meson", "setup", "build")

    def compared(self, status: int, *words: str) -> subprocess.CompletedProcess:
        done = self.expect(
            status, "tally-meson", "test", "-C", "build", "--benchmark", "--no-suite", "bad", *words
        )
        left = os.listdir(self.project / "build" / "meson-private")
        self.assertEqual([name for name in left if name.startswith("benchmarks-")], [])
        return done

    def edit(self, work: int) -> None:
        path = self.project / "work.c"
        path.write_text(SOURCE.replace("WORK 100", f"WORK {work}"), encoding="utf-8")

    def git(self, *words: str) -> str:
        return self.must(
            "git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=no", *words
        )

    def commit(self) -> None:
        self.git("init", "-q")
        self.git("add", "-A", ":!build")
        self.git("commit", "-qm", "one")

    def assert_no_worktree(self) -> None:
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)
        left = os.listdir(self.project / "build" / "meson-private")
        self.assertEqual([name for name in left if name.startswith("benchmarks-")], [])

    def test_exact_counts(self) -> None:
        need_tools("valgrind")
        exact = ("--baseline", "base", "--exact")
        self.assertIn("base is neither a directory nor a revision", self.compared(2, *exact).stderr)
        done = self.compared(0, *exact, "--baseline-update")
        self.assertIn("2 of the baseline's files are written to base", done.stderr)
        base = self.project / "base"
        self.assertEqual(sorted(os.listdir(base)), ["more%20work.callgrind", "work.callgrind"])
        done = self.compared(0, *exact, "--fail-over", "0")
        self.assertEqual(done.stdout.count("nothing changed"), 2, done.stdout)
        self.edit(105)
        # A baseline that failed is not replaced, because the next run would pass.
        before = (base / "work.callgrind").read_bytes()
        done = self.compared(3, *exact, "--fail-over=3", "--baseline-update")
        self.assertIn("base is not changed, because the limit is exceeded", done.stderr)
        self.assertEqual((base / "work.callgrind").read_bytes(), before)
        self.assertEqual(len(re.findall(r"tally: parse \(\S+\) grew by 5\.0 %", done.stderr)), 2)
        with open(self.project / "build/meson-logs/benchmarks.md", encoding="utf-8") as file:
            self.assertRegex(file.read(), r"### work.*\n\n- parse \(.*\) grew by 5\.0 %")
        self.compared(0, *exact, "--fail-over=3", "--function", "^hash$")
        # A new benchmark has no baseline, and is reported. If there is none at all, nothing passes.
        os.remove(base / "work.callgrind")
        self.assertIn("work: there is no base/work.callgrind", self.compared(0, *exact).stderr)
        self.assertIn("nothing was compared", self.compared(4, *exact, "work").stderr)
        # Without a limit, an update accepts what grew.
        self.compared(0, *exact, "--baseline-update")
        self.compared(0, *exact, "--fail-over=0")

    def test_a_revision(self) -> None:
        need_tools("valgrind", "git")
        self.commit()
        # What a killed run left is removed.
        left = "build/meson-private/benchmarks-left/source"
        self.git("worktree", "add", "-q", "--detach", left, "HEAD")
        self.edit(103)
        done = self.compared(3, "--baseline=HEAD", "--exact", "--fail-over", "2", "work")
        self.assertRegex(done.stderr, r"tally: parse \(.*\) grew by 3\.0 %")
        self.assert_no_worktree()
        self.assertIn(
            "HEAD is a revision: name a directory, such as ./HEAD",
            self.compared(2, "--baseline=HEAD", "--baseline-update").stderr,
        )
        (self.project / "HEAD").mkdir()
        done = self.compared(4, "--baseline=HEAD", "--exact", "work")
        self.assertIn("HEAD is taken as the directory, not as the revision", done.stderr)

    def test_a_revision_has_the_same_configuration(self) -> None:
        """So do compilers and arguments that came from the environment of `meson setup`. The project
        is in a subdirectory of its repository."""
        need_tools("valgrind", "git")
        shutil.rmtree(self.project / "build")
        write_project(self.project / "in ner", PROJECT)
        for name in PROJECT:
            (self.project / name).unlink()
        native = self.project / "native file"
        native.write_text("[properties]\nx = 1\n", encoding="utf-8")
        self.must(
            *(
                "meson",
                "setup",
                "build",
                "in ner",
                "-Doptimization=1",
                "--native-file",
                str(native),
            ),
            CC="gcc -DWORK=200",
            CFLAGS="-DHASH=700",
        )
        self.commit()
        done = self.compared(0, "--baseline=HEAD", "--exact", "--fail-over=1", "work")
        self.assertNotIn("the option", done.stderr)
        self.assert_no_worktree()

    def test_runs_of_a_revision(self) -> None:
        """The runs of both sides are all compared: their samples add up."""
        need_tools("git")
        self.commit()
        words = ("--baseline=HEAD", "--repeat=3", "work")
        done = self.run_in("tally-meson", "test", "-C", "build", "--benchmark", *words)
        self.assertIn("tally: run 3 of 3\n", done.stderr)
        if "no data" in done.stderr:
            self.skipTest("the benchmark ended before the first sample")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("work OK"), 2, "later runs are silent")
        self.assert_no_worktree()

    def test_interrupted(self) -> None:
        """Nothing remains, and nothing is compared."""
        need_tools("git")
        self.commit()
        # The interrupted run is that of the revision, which comes after that of the working copy.
        (self.project / "seconds").write_text("0\n", encoding="utf-8")
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen(
                ["tally-meson", "test", "-C", "build", "--benchmark", "--baseline=HEAD", "long"],
                cwd=self.project,
                env=self.environment(),
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            ) as run:
                deadline = time.monotonic() + 60
                claims = "build/meson-private/benchmarks-*/before/*.claim"
                while not list(self.project.glob(claims)) and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.assertTrue(list(self.project.glob(claims)))
                time.sleep(0.5)  # Meson loses a test if it is interrupted while starting it
                if number == signal.SIGINT:
                    os.killpg(run.pid, number)  # as a terminal does
                else:
                    run.send_signal(number)
                out, errors = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 128 + number, out + errors)
            self.assertIn("tally: interrupted: nothing is compared\n", errors)
            self.assertNotIn("Traceback", errors)
            self.assert_no_worktree()

    def test_what_fails(self) -> None:
        base = ("--baseline", ".", "--repeat=1")
        done = self.run_in("tally-meson", "test", "-C", "build", "--benchmark", *base, "fails")
        self.assertNotIn(done.returncode, (0, 3, 4))
        self.assertIn("fails: it failed, and is not compared", done.stderr)
        # The other benchmarks run as often as without it, but its failure is shown once.
        several = ("--baseline=.", "--repeat=3", "fails", "skips")
        done = self.run_in("tally-meson", "test", "-C", "build", "--benchmark", *several)
        self.assertNotIn(done.returncode, (0, 3, 4))
        self.assertIn("tally: run 3 of 3\n", done.stderr)
        self.assertIn("skips: it was skipped, and is not compared", done.stderr)
        self.assertEqual(len(re.findall("fails +FAIL", done.stdout)), 1, done.stdout)
        done = self.run_in("tally-meson", "test", "-C", "build", "--benchmark", *base, "skips")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("skips: it was skipped, and is not compared", done.stderr)
        for words, message in (
            ([*base, "--fail-over=abc"], "--fail-over: expected 0 to 1000000, found 'abc'"),
            ([*base, "--fail-over=0"], "--fail-over: 0 requires exact costs"),
            ([*base, "--fail-over=5", "--function=("], "--function: '(' is not a pattern"),
            ([*base, "--affected=HEAD"], "--affected cannot be combined with --benchmark"),
            ([*base, "--interactive"], "--baseline cannot be combined with --interactive"),
            (["--baseline=work.c"], "--baseline: work.c is not a directory"),
            (["--baseline=.", "--repeat=x"], "--repeat: expected a number from 1 to 1000"),
            (["--exact"], "--baseline is missing: expected a directory or a revision"),
            ([*base, "--function", "f"], "--function requires --fail-over"),
            (
                [*base, "--coverage-per-test"],
                "--baseline cannot be combined with --coverage-per-test: counters would be timed, "
                "too",
            ),
            ([*base, "--wrapper=env"], "--baseline cannot be combined with --wrapper"),
        ):
            self.assertIn(message, self.compared(2, *words).stderr)
        if shutil.which("valgrind"):
            self.assertIn(
                "--exact cannot be combined with --repeat",
                self.compared(2, *base, "--exact").stderr,
            )
        self.refused(
            2,
            "benchmarks are compared only with --benchmark",
            "tally-meson",
            "test",
            "-C",
            "build",
            *base,
        )

    def test_samples(self) -> None:
        """The samples of runs that take hardly any time are too few for a verdict."""
        base = ("--baseline", "base", "--repeat", "2", "more work")
        done = self.run_in(
            "tally-meson",
            "test",
            "-C",
            "build",
            "--benchmark",
            *base,
            "--baseline-update",
        )
        if "no data" in done.stderr:
            self.assertEqual(done.returncode, 4)
            self.skipTest("the benchmark ended before the first sample")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.compared(4, *base, "--fail-over", "0.01")
        self.assertRegex(done.stderr, "cannot be told from chance|samples are too few")


class Pure(unittest.TestCase):
    def test_runs_are_kept(self) -> None:
        """Each run of Meson numbers its runs from 1 on."""
        with tempfile.TemporaryDirectory() as name:
            build = mock.Mock()
            build.plain_names.return_value = {"p / a": "a", "p / b": "b"}
            runs = Runs(os.path.join(name, "runs"), build)
            for _ in range(2):
                for number, test in ((1, "p / a"), (2, "p / b")):
                    for process in ("", ".7"):
                        Path(runs.folder, f"{number}{process}.pb.gz").touch()
                    runs.ended(number, Ran(test, "OK", 0))
            runs.ended(runs.next(), Ran("p / c", "FAIL", 1))
            self.assertEqual([len(set(runs.files[each])) for each in "ab"], [4, 4])
            self.assertTrue(all(os.path.exists(file) for file in runs.files["a"]))
            self.assertEqual((runs.files["p / c"], runs.failed), ([], {"p / c"}))

    def test_names_of_files(self) -> None:
        names = ["a", "a b", "a%20b", "a/b", "\u20ac", " ac", "~", "..", "x" * 300, "x" * 301]
        files = [file_name(name) for name in names]
        self.assertEqual(len(set(files)), len(names))
        for file in files:
            self.assertRegex(file, r"\A[A-Za-z0-9_.+%-]{1,210}\Z")

    def test_repeat(self) -> None:
        for line, expected in (
            ("a --repeat 3 b", (3, ["a", "b"])),
            ("--rep=4 -v", (4, ["-v"])),
            ("a -- --repeat 3", (0, ["a", "--", "--repeat", "3"])),
            ("--test-args=--repeat=2", (0, ["--test-args=--repeat=2"])),
        ):
            self.assertEqual(command_words.without_repeat(line.split()), expected, line)
        for line in ("--repeat", "--repeat=0", "--repeat x", "--repeat=-1", "--repeat=99999999"):
            with self.assertRaises(Refusal):
                command_words.without_repeat(line.split())


globals().update(for_each_meson(Benchmarks))

if __name__ == "__main__":
    run_unittests()
