"""Tests `tally-meson test --benchmark --baseline`: with Callgrind, whose counts are exact, and with
samples only as far as the clock does not matter."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import MixIn, for_each_meson, write_project
from support.skips import need_tools, run_unittests

SOURCE = """\
#include <stdlib.h>
#define WORK 100
volatile unsigned sink;
__attribute__((noinline)) static unsigned parse(unsigned n) {
  for (unsigned i = 0; i < n * WORK; ++i)
    sink = i;
  return n;
}
__attribute__((noinline)) static unsigned hash(unsigned n) {
  for (unsigned i = 0; i < n * 500; ++i)
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
""",
    "work.c": SOURCE,
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

    def test_exact_counts(self) -> None:
        need_tools("valgrind")
        exact = ("--baseline", "base", "--exact")
        self.assertIn("base is neither a directory nor a revision", self.compared(2, *exact).stderr)
        done = self.compared(0, *exact, "--baseline-update")
        self.assertIn("2 of the baseline's files are written to base", done.stderr)
        self.assertEqual(
            sorted(os.listdir(self.project / "base")), ["more%20work.callgrind", "work.callgrind"]
        )
        done = self.compared(0, *exact, "--fail-over", "0")
        self.assertEqual(done.stdout.count("nothing changed"), 2, done.stdout)
        self.edit(105)
        done = self.compared(3, *exact, "--fail-over=3")
        self.assertEqual(len(re.findall(r"tally: parse \(\S+\) grew by 5\.0 %", done.stderr)), 2)
        with open(self.project / "build/meson-logs/benchmarks.md", encoding="utf-8") as file:
            self.assertRegex(file.read(), r"### work\n\n- parse \(.*\) grew by 5\.0 %")
        self.compared(0, *exact, "--fail-over=3", "--function", "^hash$")
        # A new benchmark has no baseline, and is reported. If there is none at all, nothing passes.
        os.remove(self.project / "base" / "work.callgrind")
        self.assertIn("work: there is no base/work.callgrind", self.compared(0, *exact).stderr)
        self.assertIn("nothing was compared", self.compared(4, *exact, "work").stderr)

    def test_a_revision(self) -> None:
        need_tools("valgrind", "git")
        self.git("init", "-q")
        self.git("add", "meson.build", "work.c")
        self.git("commit", "-qm", "one")
        self.edit(103)
        done = self.compared(3, "--baseline=HEAD", "--exact", "--fail-over", "2", "work")
        self.assertRegex(done.stderr, r"tally: parse \(.*\) grew by 3\.0 %")
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)

    def test_what_fails(self) -> None:
        base = ("--baseline", ".", "--repeat=1")
        done = self.run_in("tally-meson", "test", "-C", "build", "--benchmark", *base, "fails")
        self.assertNotIn(done.returncode, (0, 3, 4))
        self.assertIn("fails: it failed, and is not compared", done.stderr)
        for words, message in (
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


globals().update(for_each_meson(Benchmarks))

if __name__ == "__main__":
    run_unittests()
