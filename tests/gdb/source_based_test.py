"""Tests `coverage …` in GDB on programs with Clang's source-based coverage."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from scenario import Play, play_gdb
from support.clang_coverage import clangs_with_profiles, da_lines
from support.gcov_programs import run
from support.programs import SOURCE_ROOT, command_line
from support.skips import need_tools, run_unittests

SOURCE = SOURCE_ROOT / "tests" / "programs" / "regions_counted.c"
FUNCTIONS = "coverage report --by function --limit 0 --json"
SINCE = "coverage report --by function --limit 0 --since mark --json"


class SourceBasedTest(unittest.TestCase):
    def setUp(self) -> None:
        if not clangs_with_profiles():
            self.skipTest("no Clang with its profile runtime is installed")
        self.built = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.built)
        # The programs write their profiles below it, if they are not told where.
        here = os.getcwd()
        os.chdir(self.built)
        self.addCleanup(os.chdir, here)
        shutil.copy(SOURCE, self.built)

    def compile(self, clang: str, *options: str) -> str:
        flags = ["-fprofile-instr-generate", "-fcoverage-mapping", "-g"]
        run([clang, *flags, *options, SOURCE.name, "-o", "x"], self.built)
        return str(self.built / "x")

    def play(self, path: str, *commands: str) -> Play:
        play = play_gdb(
            [f"set environment LLVM_PROFILE_FILE {self.built}/exit.profraw", *commands], path
        )
        self.assertEqual(play.stderr.strip(), "")
        return play

    def calls(self, play: Play, command: str, which: int = 0) -> dict[str, tuple[int, bool]]:
        """Returns the calls of each function, and whether the number is exact."""
        shown = json.loads(play.all(command)[which])
        return {
            each["name"]: (each["calls"]["count"], each["calls"]["exact"])
            for each in shown["functions"]
        }

    def test_counts_at_a_stop(self) -> None:
        for clang in clangs_with_profiles():
            with self.subTest(clang):
                path = self.compile(clang, "-O0")
                play = self.play(
                    path,
                    *("break checkpoint", "run", FUNCTIONS, "coverage mark", "continue"),
                    *(SINCE, "coverage annotate spin --since mark --json"),
                    *("coverage report --by object", "coverage status", "kill"),
                )
                calls = self.calls(play, FUNCTIONS)
                # The breakpoint may be before the code that counts the call.
                self.assertEqual(calls.pop("checkpoint"), (1, True))
                self.assertEqual(calls, {"add": (50, True), "spin": (1, True), "main": (1, True)})
                self.assertEqual(
                    self.calls(play, SINCE), {"checkpoint": (1, True), "spin": (1, True)}
                )
                lines = json.loads(play.text("coverage annotate spin --since mark --json"))["lines"]
                counts = {each["line"]: each["count"]["count"] for each in lines if each["count"]}
                text = SOURCE.read_text(encoding="utf-8").splitlines()
                loop = text.index("    if (i % 7 == 3)") + 1
                # The rest of the first call, and half of the second.
                self.assertEqual(counts[loop], 499 + 1001)
                self.assertEqual(counts[loop + 5], 1)
                self.assertRegex(play.text("coverage report --by object"), r"(?m)^x +\d+\.\d%")
                self.assertRegex(play.text("coverage status"), r"(?m)^functions +4$")

    def test_each_instruction_of_an_entry(self) -> None:
        """A call has begun before the code that counts it."""
        steps = 12
        for clang in clangs_with_profiles():
            with self.subTest(clang):
                path = self.compile(clang, "-O0")
                at_each = ["coverage mark", FUNCTIONS, *[*("stepi", FUNCTIONS, SINCE)] * steps]
                play = self.play(path, "break *checkpoint", "run", "continue", *at_each, "kill")
                calls = [self.calls(play, FUNCTIONS, i)["checkpoint"] for i in range(steps + 1)]
                self.assertEqual(calls[0], (2, True))
                for count, exact in calls:
                    self.assertIn((count, exact), [(2, True), (1, False)])
                self.assertEqual(calls[-1], (2, True))
                for i in range(steps):
                    since = self.calls(play, SINCE, i).get("checkpoint", (0, True))
                    self.assertEqual(since[0], 0)
                    self.assertEqual(since[1], calls[i + 1][1])

    def test_optimized_code_has_at_least_its_counts(self) -> None:
        for clang in clangs_with_profiles():
            with self.subTest(clang):
                path = self.compile(clang, "-O2")
                lines = "coverage report --by line --limit 0 --json"
                play = self.play(path, "break checkpoint", "run", FUNCTIONS, lines, "kill")
                calls = self.calls(play, FUNCTIONS)
                self.assertEqual(calls["add"][0], 50)
                self.assertFalse(calls["spin"][1])
                text = SOURCE.read_text(encoding="utf-8").splitlines()
                loop = text.index("    if (i % 7 == 3)") + 1
                found = [
                    each["count"]
                    for each in json.loads(play.text(lines))["lines"]
                    if each["line"] == loop
                ]
                # The loop has begun, and its counters may all be in registers.
                for count in found:
                    self.assertLessEqual(count["count"], 501)
                    self.assertTrue(count["at_least"])
                self.assertEqual(len(found), 1)

    def test_equals_the_profile_of_the_exit(self) -> None:
        for clang in clangs_with_profiles():
            for level in ("-O0", "-O2"):
                with self.subTest(clang + level):
                    path = self.compile(clang, level)
                    # The profile is written by a function that exit() calls.
                    play = self.play(
                        path,
                        *("tbreak main", "run", "break _exit", "continue"),
                        f"coverage dump {self.built}/live.info",
                        *(f"coverage dump {self.built}/live.profraw", "continue"),
                    )
                    self.assertIn("exited normally", str(play))
                    shown = {}
                    for name in ("exit", "live"):
                        done = subprocess.run(
                            [command_line(), "coverage", f"{name}.profraw", "--object", "x"]
                            + ["--report", "lcov:-", "--root", "."],
                            cwd=self.built,
                            stdout=subprocess.PIPE,
                            text=True,
                            check=True,
                        )
                        shown[name] = da_lines(done.stdout)
                    live = da_lines((self.built / "live.info").read_text(encoding="utf-8"))
                    self.assertGreater(len(live), 20)
                    self.assertEqual(live, shown["exit"])
                    self.assertEqual(live, shown["live"])

    def test_what_needs_gcov(self) -> None:
        path = self.compile(clangs_with_profiles()[0], "-O0")
        commands = ["coverage break", f"coverage dump {self.built}/folder/"]
        play = play_gdb(["break checkpoint", "run", *commands, "kill"], path)
        self.assertEqual(
            play.stderr.splitlines(),
            [
                "coverage break: needs gcov's counters (--coverage): the program counts "
                "source-based",
                "coverage dump: the program counts source-based, and has no counters for .gcda "
                "files: `coverage dump FILE.profraw` writes them",
            ],
        )

    def test_core_file(self) -> None:
        path = self.compile(clangs_with_profiles()[0], "-O0")
        core = self.built / "core"
        play_gdb(["break checkpoint", "run", f"generate-core-file {core}", "kill"], path)
        done = subprocess.run(
            [command_line(), "coverage", "--core", str(core), path, "--root", str(self.built)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        self.assertRegex(done.stdout, r"(?m)^regions_counted\.c +\d+\.\d% +2\d/30 ")
        play = play_gdb([f"core-file {core}", FUNCTIONS], path)
        self.assertEqual(self.calls(play, FUNCTIONS)["add"], (50, True))

    def test_remote(self) -> None:
        need_tools("gdbserver")
        path = self.compile(clangs_with_profiles()[0], "-O0")
        play = play_gdb(
            [f"target remote | gdbserver --once - {path}", "break checkpoint", "continue"]
            + [FUNCTIONS, "coverage mark", "continue", SINCE, "kill"],
            path,
        )
        self.assertEqual(self.calls(play, FUNCTIONS)["add"], (50, True))
        self.assertEqual(self.calls(play, SINCE)["spin"], (1, True))

    def test_a_module_without_mapping(self) -> None:
        run(
            [clangs_with_profiles()[0], "-fprofile-instr-generate", "-g", SOURCE.name, "-o", "x"],
            self.built,
        )
        play = play_gdb(["break checkpoint", "run", "coverage report", "kill"], f"{self.built}/x")
        self.assertRegex(
            play.stderr, re.escape("has no mapping of coverage: was it compiled with -fcoverage-")
        )


if __name__ == "__main__":
    run_unittests()
