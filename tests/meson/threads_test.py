"""Tests how tally-meson lets the threads of a project increment their counters."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import MixIn, for_each_meson, write_project
from support.skips import run_unittests

# Each line of work() runs a known number of times.
RACE = """\
#include <thread>
#include <vector>
static void work(volatile unsigned &sink) {
  for (unsigned i = 0; i < 20000; ++i) {
    if (i % 2)
      sink = i;
    else
      sink = ~i;
  }
}
int main() {
  std::vector<std::thread> all;
  unsigned sinks[8];
  for (unsigned &sink : sinks)
    all.emplace_back([&] { work(sink); });
  for (std::thread &thread : all)
    thread.join();
}
"""
PROJECT = {
    "meson.build": """\
project('race', 'cpp')
test('race', executable('race', 'race.cpp', dependencies: dependency('threads')))
""",
    "race.cpp": RACE,
}
HINT = (
    "tally: the project uses threads, which may lose counts: --coverage-update=atomic prevents "
    "that, and --coverage-update=single says that you know\n"
)


class Threads(MixIn):
    def setUp(self) -> None:
        super().setUp()
        write_project(self.project, PROJECT)
        self.addCleanup(shutil.rmtree, self.project)

    def measured(self, status: int, *words: str, **more: str) -> subprocess.CompletedProcess:
        return self.expect(status, "tally-meson", "test", "-C", "build", *words, **more)

    def methods(self) -> set[str]:
        commands = (self.project / "build" / "compile_commands.json").read_text(encoding="utf-8")
        return set(re.findall(r"-fprofile-update=([\w-]+)", commands))

    def counts(self) -> dict[int, int]:
        """Returns the counts of the lines of race.cpp."""
        self.measured(0, "--coverage-report", "lcov:all.info")
        text = (self.project / "all.info").read_text(encoding="utf-8")
        return {int(line): int(n) for line, n in re.findall(r"^DA:(\d+),(\d+)", text, re.MULTILINE)}

    def test_no_count_is_lost(self) -> None:
        self.must("meson", "setup", "build")
        done = self.measured(0)
        self.assertEqual(
            done.stderr,
            "tally: the option b_coverage is off: it is switched on, and everything is compiled "
            "again; it stays on until a run with --coverage-off\n"
            "tally: the project uses threads: counters are incremented atomically "
            "(-fprofile-update=atomic), which is slower; --coverage-update=single prevents that\n",
        )
        self.assertEqual(self.methods(), {"atomic"})
        for _ in range(5):
            counts = self.counts()
            self.assertEqual((counts[6], counts[8]), (80000, 80000))
        done = self.measured(0, "--coverage-off")
        self.assertEqual(
            done.stderr,
            "tally: the option b_coverage is switched off and -fprofile-update is taken out of "
            "cpp_args, and everything is compiled again\n",
        )
        self.assertEqual(self.methods(), set())

    def test_the_method_is_chosen(self) -> None:
        """A build that counts already is not compiled again unless a flag asks for it."""
        self.must("meson", "setup", "build", "-Db_coverage=true", "-Dcpp_args=-DNDEBUG")
        self.assertEqual(self.measured(0).stderr, HINT)
        for method in ("prefer-atomic", "single", "atomic"):
            flag = f"--coverage-update={method}"
            self.assertEqual(
                self.measured(0, flag).stderr,
                f"tally: counters are incremented by the method {method} (-fprofile-update)\n",
            )
            self.assertEqual(self.methods(), {method})
            # The choice stays.
            self.assertEqual(self.measured(0).stderr, "")
            self.assertEqual(self.measured(0, flag).stderr, "")
        self.refused(
            2,
            "--coverage-update=atomic cannot be combined with --coverage-update=single",
            "tally-meson",
            "test",
            "-C",
            "build",
            "--coverage-update=atomic",
            "--coverage-update=single",
        )
        self.refused(
            2,
            "the counters are not incremented by the method single, and --no-rebuild is given: "
            r".*cpp_args=-DNDEBUG -fprofile-update=single.*",
            "tally-meson",
            "test",
            "-C",
            "build",
            "--no-rebuild",
            "--coverage-update=single",
        )


globals().update(for_each_meson(Threads))

if __name__ == "__main__":
    run_unittests()
