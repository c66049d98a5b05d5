"""Tests `coverage …` on other processors, which QEMU emulates: on a Cortex-M3 without an operating
system, and on a PowerPC with Linux, which stores words in the other order.

The firmware (tests/programs/firmware/) has a counter of its own in each line with "RAN". GDB prints
these counters, and the counts of coverage must equal them.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from scenario import Play, play_gdb
from support.gcov_counts import counts_of_json
from support.gcov_programs import run
from support.programs import SOURCE_ROOT
from support.skips import need_tools, run_unittests

SOURCES = SOURCE_ROOT / "tests" / "programs" / "firmware"
COUNTED = ("main", "frames")
COMPILER = "arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -g -ffreestanding -Wall -Wextra -Werror"
SECTION = ("--coverage", "-fprofile-info-section")
# -icount lets the timer depend on the instructions, and not on how fast QEMU runs.
QEMU = "qemu-system-arm -M mps2-an385 -icount shift=3 -nographic -monitor none -serial none"
CONNECT = f"target extended-remote | exec {QEMU} -kernel firmware.elf -S -gdb stdio"
KILLED = re.compile(r"Terminated via GDBstub|Broken pipe\.$")  # what `kill` may print
FUNCTIONS = "coverage report --by function --limit 0 --json"
PRINT = "print -elements unlimited -repeats unlimited -- "

Counts = dict[tuple[str, int], int]  # (name of the source without .c, line) -> count


def own_lines() -> set[tuple[str, int]]:
    """Returns the lines that count themselves."""
    return {
        (name, number)
        for name in COUNTED
        for number, text in enumerate((SOURCES / f"{name}.c").read_text("utf-8").splitlines(), 1)
        if re.fullmatch(r" +RAN;", text)
    }


class BareMetalTest(unittest.TestCase):
    lines: set[tuple[str, int]] = set()
    folder = Path()

    @classmethod
    def setUpClass(cls) -> None:
        need_tools("gdb-multiarch", "arm-none-eabi-gcc", "qemu-system-arm")
        cls.lines = own_lines()

    def build(self, *options: str) -> None:
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="firmware-")))
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(SOURCES, self.folder, dirs_exist_ok=True)
        compiler = COMPILER.split()
        run([*compiler, "-Og", "-c", "startup.c", "gcov_stub.c"], self.folder)
        run([*compiler, *options, "-c", *(f"{name}.c" for name in COUNTED)], self.folder)
        objects = [f"{name}.o" for name in ("startup", *COUNTED)]
        # Without the section, constructors call functions of libgcov that need files.
        gcov = "-lgcov" if set(SECTION) <= set(options) else "gcov_stub.o"
        link = ["-nostdlib", "-Wl,--gc-sections", "-T", "firmware.ld"]
        run([*compiler, *link, *objects, gcov, "-o", "firmware.elf"], self.folder)

    def play(self, *commands: str, refusals: int = 0) -> Play:
        # QEMU would continue after a detach, and GDB waits some seconds for the end of a pipe's child.
        words = ["file firmware.elf", CONNECT, *commands, "kill"]
        play = play_gdb(words, cwd=str(self.folder), gdb="gdb-multiarch")
        said = [line for line in play.stderr.splitlines() if not KILLED.search(line)]
        self.assertEqual(len(said), refusals, play)
        return play

    def truth(self, play: Play, which: int = 0) -> Counts:
        """Returns what the firmware has counted, as GDB printed it."""
        counts: Counts = {}
        for name in COUNTED:
            words = play.text(f"{PRINT}{name}_ran", which).partition(" = ")[2].strip("{} \n")
            for line, count in enumerate(words.split(", ")):
                counts[name, line] = int(count)
        return {place: counts[place] for place in self.lines}

    def calls(self, truth: Counts, rows: list[dict]) -> dict[str, int]:
        """Returns the true number of calls of the functions of a table: the count of the first line
        that counts itself."""
        out = {}
        for row in rows:
            name = Path(row["file"]).stem
            out[row["name"]] = truth[
                min(place for place in self.lines if place > (name, row["line"]))
            ]
        return out

    def assert_calls(self, truth: Counts, text: str) -> None:
        rows = json.loads(text)["functions"]
        shown = {row["name"]: row["calls"]["count"] for row in rows}
        self.assertEqual(shown, self.calls(truth, rows))
        self.assertTrue(all(row["calls"]["exact"] for row in rows), rows)

    def shown(self, play: Play, options: str = "", which: int = 0) -> dict[tuple[str, int], dict]:
        """Returns the counts that `coverage annotate` shows."""
        return {
            (name, line["line"]): line["count"]
            for name in COUNTED
            for line in json.loads(play.text(f"coverage annotate {name}.c{options} --json", which))[
                "lines"
            ]
            if line.get("count")
        }

    def assert_lines(self, truth: Counts, shown: dict[tuple[str, int], dict]) -> None:
        exact = {place: count["count"] for place, count in shown.items() if count["exact"]}
        self.assertEqual({place: exact.get(place) for place in self.lines}, truth)

    show = tuple(f"{PRINT}{name}_ran" for name in COUNTED)
    annotate = tuple(f"coverage annotate {name}.c --json" for name in COUNTED)

    def test_counts(self) -> None:
        """The counters are found by the section .gcov_info, or by the symbols of functions."""
        for options in (
            ("-Og", *SECTION),
            ("-O0", *SECTION),
            ("-O0", "--coverage"),
            ("-Og", "--coverage"),
        ):
            with self.subTest(options=options):
                self.build(*options)
                play = self.play(
                    "break checkpoint",
                    "continue",
                    "continue",
                    *self.show,
                    *self.annotate,
                    FUNCTIONS,
                )
                truth = self.truth(play)
                self.assertEqual(truth["main", 54], 300)  # the second checkpoint
                self.assert_lines(truth, self.shown(play))
                self.assert_calls(truth, play.text(FUNCTIONS))

    def test_since_a_mark(self) -> None:
        self.build("-Og", *SECTION)
        since = FUNCTIONS + " --since mark"
        play = self.play(
            "break checkpoint",
            "continue",
            *self.show,
            "coverage mark",
            "continue",
            *self.show,
            since,
            *(f"coverage annotate {name}.c --since mark --json" for name in COUNTED),
        )
        before, after = self.truth(play, 0), self.truth(play, 1)
        difference = {place: after[place] - before[place] for place in after}
        self.assertGreater(difference["frames", 29], 1000)
        self.assert_calls(difference, play.text(since))
        self.assert_lines(difference, self.shown(play, " --since mark"))

    def test_files(self) -> None:
        """The compiler's own gcov reads what is written."""
        need_tools("arm-none-eabi-gcov")
        for options in (("-Og", *SECTION), ("-O0", "--coverage")):
            with self.subTest(options=options):
                self.build(*options)
                play = self.play(
                    "break finished", "continue", *self.show, f"coverage dump {self.folder}/out/"
                )
                truth, counted = self.truth(play), {}
                for name in COUNTED:
                    shutil.copy(f"{self.folder}/out{self.folder}/{name}.gcda", self.folder)
                    text = run(["arm-none-eabi-gcov", "-jt", f"{name}.gcda"], self.folder).stdout
                    counted.update(counts_of_json(json.loads(text)))
                self.assertEqual({(n, line): counted[f"{n}.c", line] for n, line in truth}, truth)

    def test_before_the_startup_code(self) -> None:
        """At reset, the variables have no values: neither the counters nor their descriptions."""
        for options in (SECTION, ("--coverage",)):
            with self.subTest(options=options):
                self.build("-Og", *options)
                refused = ["coverage report", "coverage mark"]
                play = self.play(
                    *refused, "break main", "continue", FUNCTIONS, refusals=len(refused)
                )
                self.assertEqual(
                    play.stderr.splitlines()[: len(refused)],
                    [
                        f"{command}: the variables of firmware.elf have no values yet: let its "
                        "startup code run"
                        for command in refused
                    ],
                )
                # The program stands at the entry of main(), whose counters may be in registers.
                functions = json.loads(play.text(FUNCTIONS))["functions"]
                self.assertEqual(
                    [(each["name"], each["calls"]) for each in functions],
                    [("main", {"count": 0, "at_least": True, "exact": False})],
                )


class BigEndianTest(unittest.TestCase):
    def test_the_files_are_those_of_the_exit(self) -> None:
        need_tools("gdb-multiarch", "powerpc-linux-gnu-gcc", "qemu-ppc")
        folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="powerpc-")))
        self.addCleanup(shutil.rmtree, folder)
        source = SOURCE_ROOT / "tests" / "programs" / "counted.c"
        compiler = ["powerpc-linux-gnu-gcc", "-g", "-O0", "--coverage", "-static"]
        run([*compiler, str(source), "-o", "counted"], folder)
        dump = f"coverage dump {folder}/dump/"
        with subprocess.Popen(
            ["qemu-ppc", "-g", f"{folder}/socket", "./counted"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                deadline = time.monotonic() + 100
                while not (folder / "socket").exists():
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)
                play = play_gdb(
                    ["file counted", f"target remote {folder}/socket", "break checkpoint"]
                    + ["continue", FUNCTIONS, "delete", "break __gcov_exit", "continue", dump]
                    + ["continue"],
                    cwd=str(folder),
                    gdb="gdb-multiarch",
                )
            finally:
                process.kill()
        rows = json.loads(play.text(FUNCTIONS))["functions"]
        calls = {row["name"]: row["calls"]["count"] for row in rows}
        self.assertEqual((calls["square"], calls["handle"]), (3, 1), play)
        written = next(folder.glob("*.gcda"))
        self.assertEqual(Path(f"{folder}/dump{written}").read_bytes(), written.read_bytes())


if __name__ == "__main__":
    run_unittests()
