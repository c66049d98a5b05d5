"""Tests `coverage …` in GDB on code that several compilers and levels of optimization make."""
from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from scenario import Play, play_gdb
from support.gcov_programs import run
from support.skips import need_tools, run_unittests

# None of the functions around checkpoint() runs.
NEIGHBOURS = """\
volatile int sum;
__attribute__((noinline)) void before(int x) { if (x) sum += x; }
__attribute__((noinline)) void checkpoint(int x) { __asm__ volatile("" : : "r"(x)); }
__attribute__((noinline)) void after(int x) { if (x) sum -= x; }
int main(int argc, char **argv) {
  checkpoint(1);
  if (argc > 9)
    before(argc), after(argc);
  return 0;
}
"""
# The end of no function has a count.
LOOP = """\
int never(int x) {
  return x - 1;
}

int twice(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += 2;
  return sum;
}

void checkpoint(int number) {}
int main(void) {
  checkpoint(twice(3));
  return 0;
}
"""


class CoverageOfCompilersTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("gdb")
        self.built = Path(os.path.realpath(tempfile.mkdtemp(prefix="coverage-")))
        self.addCleanup(shutil.rmtree, self.built)

    def play(self, compiler: str, options: str, source: str, *commands: str) -> Play:
        """Compiles a program, and stops it at checkpoint() for the commands."""
        need_tools(compiler)
        (self.built / "x.c").write_text(source, encoding="utf-8")
        run([compiler, "--coverage", "-g", options, "-c", "x.c"], self.built)
        run([compiler, "--coverage", "x.o", "-o", "x"], self.built)
        play = play_gdb(["break checkpoint", "run", *commands], str(self.built / "x"))
        self.assertEqual(play.stderr, "", play)
        return play

    def test_neighbours_in_memory(self) -> None:
        """A thread is not in a function whose code is only near to the pc."""
        report = "coverage report --by function --json"
        for compiler, options in (("gcc", "-O2"), ("clang-14", "-O0")):
            with self.subTest(compiler):
                play = self.play(compiler, options, NEIGHBOURS, report)
                rows = json.loads(play.text(report))["functions"]
                self.assertEqual({row["name"] for row in rows}, {"checkpoint", "main"})

    def test_clang(self) -> None:
        """Clang 14 notes neither where a function ends nor where the compiler ran."""
        functions, annotated = "coverage report --by function", "coverage annotate twice"
        play = self.play("clang-14", "-O0", LOOP, "coverage report", functions, annotated)
        self.assertRegex(play.text("coverage report"), r"(?m)^x\.c +\d")
        self.assertRegex(play.text(functions), r"(?m)^\d +1 +5/5 +twice +x\.c:5$")
        text = play.text(annotated)
        self.assertEqual(text.splitlines()[0], "x.c")
        self.assertRegex(text, r"(?m)^ +3 +8 +    sum \+= 2;$")
        self.assertEqual(re.findall(r"(?m)^ +\d+ +(\d+)  ", text), list("56789"))

    def test_sources_in_an_unknown_directory(self) -> None:
        """Paths keep their first slash if no directory is known to contain all sources."""
        play = self.play("clang-14", "-O0", LOOP)
        notes = self.built / "notes"
        notes.mkdir()
        os.rename(self.built / "x.gcno", notes / "x.gcno")
        play = play_gdb(
            [f"coverage config notes {notes}", "break checkpoint", "run", "coverage report"],
            str(self.built / "x"),
        )
        self.assertEqual(play.stderr, "", play)
        self.assertRegex(play.text("coverage report"), rf"(?m)^{self.built}/x\.c +\d")

    def test_reports_of_uncertain_counts(self) -> None:
        """Each format has the smallest counts, and 1 where a call has not returned."""
        names = ["x.info", "x.gcovr.json", "x.callgrind"]
        dumps = [f"coverage dump {self.built}/{name}" for name in names]
        play = self.play("clang-14", "-O0", LOOP, "coverage annotate main", *dumps)
        self.assertRegex(play.text("coverage annotate main"), r"(?m)^=> +2\?  +14 ")
        for dump in dumps:
            self.assertRegex(
                play.text(dump), r"(?m)^\(\d+ lines are uncertain, because a thread is"
            )
            self.assertIn("(their smallest counts were written)", play.text(dump))
        report = (self.built / "x.info").read_text(encoding="utf-8")
        self.assertRegex(report, r"(?m)^DA:14,1$")
        self.assertRegex(report, r"(?m)^FNDA:1,main$")


if __name__ == "__main__":
    run_unittests()
