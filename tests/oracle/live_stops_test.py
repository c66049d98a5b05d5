"""Compares the counts of stopped programs with counts that the programs keep themselves.

    python3 tests/oracle/live_stops_test.py

Random programs with a counter of their own in each line are stopped at random moments, at several
levels of optimization, with one and with four threads; an optimized one also once at each
instruction. No line may have a count that is shown as exact and is wrong. TALLY_STOPS is the number
of random stops of each program; the default is small.
"""
from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.gcov_programs import run
from support.skips import need_tools, run_unittests

HEAD = """\
#include <pthread.h>
#include <stdint.h>
#include <string.h>
extern uint64_t self_count[];
extern unsigned outside(unsigned x); /* without counters */
static _Thread_local char bytes[1 << 14];
#define C() COUNT
static _Thread_local unsigned state = 1;
static unsigned next(void) { return state = state * 1103515245u + 12345u; }
static unsigned chance(unsigned n) { return (next() >> 16) % n; }
"""
SELF = """\
#include <stdint.h>
uint64_t self_count[100000];
unsigned outside(unsigned x) {
  for (volatile int i = 0; i < 50; ++i)
    x = x * 31 + i;
  return x;
}
"""


class Program:
    """Writes a random program. Each statement has a line of its own."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.lines = HEAD.splitlines()

    def _statement(self, depth: int, functions: int, indent: str) -> None:
        kind = self._random.choice(
            ("set", "set", "if", "if", "while", "call", "do", "switch", "outside", "builtin")
        )
        add = self.lines.append
        if depth > 3 and kind in ("if", "while", "do", "switch"):
            kind = "set"
        if kind == "set" or (kind == "call" and functions == 0):
            add(f"{indent}C(), x = x * {self._random.randint(2, 9)} + chance(7);")
        elif kind == "call":
            add(f"{indent}C(), x += f{self._random.randrange(functions)}(x);")
        elif kind == "outside":
            add(f"{indent}C(), x += outside(x);")
        elif kind == "builtin":  # GCC knows that it returns, and adds no arc to the exit
            add(f"{indent}C(), memset(bytes, (int)x, sizeof bytes);")
        elif kind == "if":
            add(f"{indent}if (C(), chance({self._random.randint(2, 4)}) == 0) {{")
            self._block(depth + 1, functions, indent + "  ")
            if self._random.random() < 0.5:
                add(f"{indent}}} else {{")
                self._block(depth + 1, functions, indent + "  ")
            add(f"{indent}}}")
        elif kind == "while":
            add(f"{indent}while (C(), chance({self._random.randint(2, 5)}) != 0) {{")
            self._block(depth + 1, functions, indent + "  ")
            add(f"{indent}}}")
        elif kind == "do":
            add(f"{indent}do {{")
            self._block(depth + 1, functions, indent + "  ")
            add(f"{indent}}} while (C(), chance({self._random.randint(2, 4)}) != 0);")
        else:
            add(f"{indent}switch (C(), chance(4)) {{")
            for case in range(3):
                add(f"{indent}case {case}:")
                self._block(depth + 1, functions, indent + "  ")
                if self._random.random() < 0.7:
                    add(f"{indent}  C(), x ^= {case};")
                    add(f"{indent}  break;")
            add(f"{indent}}}")

    def _block(self, depth: int, functions: int, indent: str) -> None:
        for _ in range(self._random.randint(1, 3)):
            self._statement(depth, functions, indent)

    def text(self, threads: int) -> str:
        count = self._random.randint(3, 6)
        for i in range(count):
            self.lines += [f"static unsigned f{i}(unsigned x) {{"]
            for _ in range(self._random.randint(3, 8)):
                self._statement(1, i, "  ")
            self.lines += ["  C(), x += 3;", "  return x;", "}"]
        self.lines += [
            "static void *work(void *seed) {",
            "  C(), state = (unsigned)(uintptr_t)seed;",
            "  for (;;) {",
            f"    C(), next(), f{count - 1}(state);",
            "  }",
            "  return 0;",
            "}",
            "int main(void) {",
            f"  pthread_t threads[{threads}];",
            f"  for (int i = 1; i < {threads}; ++i)",
            "    pthread_create(&threads[i], 0, work, (void *)(uintptr_t)(i + 7));",
            "  work((void *)1);",
            "}",
        ]
        return "\n".join(self.lines) + "\n"


class LiveStopsTest(unittest.TestCase):
    stops = int(os.environ.get("TALLY_STOPS", "12"))
    programs = int(os.environ.get("TALLY_STOP_PROGRAMS", "3"))

    def setUp(self) -> None:
        need_tools("gcc")
        if "TALLY_LIVE_STOPS" not in os.environ:
            self.skipTest("TALLY_LIVE_STOPS is not set: run this test by `meson test`")

    @staticmethod
    def instructions(folder: Path) -> str:
        """Returns the addresses of the instructions of x.c."""
        text = run(["objdump", "-d", "--no-show-raw-insn", "x"], folder).stdout
        parts = re.split(r"^[0-9a-f]+ <(.*)>:$", text, flags=re.MULTILINE)[1:]
        code = "".join(
            body
            for name, body in zip(parts[::2], parts[1::2])
            if re.match(r"(main|work|next|chance|f\d)\b", name)
        )
        return "\n".join(re.findall(r"^ +([0-9a-f]+):", code, re.MULTILINE))

    def stop(
        self,
        options: list[str],
        threads: int,
        compiler: str = "gcc",
        each_instruction: bool = False,
    ) -> None:
        increment = (
            "__atomic_fetch_add(&self_count[__LINE__], 1, __ATOMIC_RELAXED)"
            if threads > 1
            else "(*(volatile uint64_t *)&self_count[__LINE__] += 1)"
        )
        sums = [0] * 8
        wrong = ""
        for seed in range(self.programs):
            folder = Path(tempfile.mkdtemp(prefix="stops-"))
            self.addCleanup(shutil.rmtree, folder)
            source = Program(seed).text(threads)
            (folder / "x.c").write_text(source, encoding="utf-8")
            (folder / "self.c").write_text(SELF, encoding="utf-8")
            count = f"-DCOUNT={increment}"
            run([compiler, "--coverage", "-g", *options, count, "-c", "x.c"], folder)
            run(["gcc", "-c", "self.c"], folder)
            run([compiler, "--coverage", "x.o", "self.o", "-pthread", "-o", "x"], folder)
            done = subprocess.run(
                [
                    os.environ["TALLY_LIVE_STOPS"],
                    "x.c",
                    str(self.stops),
                    str(seed),
                    "./x",
                ],
                cwd=folder,
                input=(
                    self.instructions(folder)
                    if each_instruction and seed == self.programs - 1
                    else ""
                ),
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            if "ptrace is not permitted" in done.stderr:
                self.skipTest("ptrace is not permitted")
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            sums = [a + b for a, b in zip(sums, map(int, done.stdout.split()))]
            wrong += done.stderr
        stops, lines, exact, intervals, own, bad, elsewhere, otherwise = sums
        print(
            f"{compiler} {' '.join(options)}, {threads} threads: {stops} stops, {lines} lines in open"
            f" functions: {exact} exact, {intervals} intervals, {own} of a pc wrong by one,"
            f" {bad} wrong; {elsewhere} wrong elsewhere, {otherwise} not comparable",
            file=sys.stderr,
        )
        self.assertGreater(lines, 0)
        if each_instruction:  # most of the code runs soon
            self.assertGreater(stops - self.stops * self.programs, 1000)
        self.assertEqual((bad, elsewhere), (0, 0), wrong[:3000])
        # Early optimizations duplicate code that gcov then counts twice.
        if "-O0" in options and compiler == "gcc":
            self.assertEqual(otherwise, 0)

    def test_without_optimization(self) -> None:
        self.stop(["-O0"], 1)

    def test_threads(self) -> None:
        self.stop(["-O0", "-fprofile-update=atomic"], 4)

    def test_clang(self) -> None:
        need_tools("clang-14")
        for options, threads in ((["-O0"], 1), (["-O1"], 1)):
            with self.subTest(options=options):
                self.stop(options, threads, "clang-14")

    def test_for_debugging(self) -> None:
        self.stop(["-Og"], 1)

    def test_counters_in_registers(self) -> None:
        self.stop(["-O2"], 1, each_instruction=True)

    def test_optimized(self) -> None:
        self.stop(["-O2", "-fprofile-update=atomic"], 1, each_instruction=True)


if __name__ == "__main__":
    run_unittests()
