#!/usr/bin/env python3
"""Compares Tally with gprof on gmon.out: Tally reads gprof's files, and gprof reads Tally's."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import List

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line, program
from support.skips import need_perf, run_unittests

PROGRAM = r"""
static volatile unsigned long sink;
#define NOINLINE __attribute__((noinline))
NOINLINE static void spin(int n) { for (int i = 0; i < n; i++) sink += i; }
NOINLINE void leaf(void) { spin(3000); }
NOINLINE void mid(int n) { for (int i = 0; i < n; i++) leaf(); spin(9000); }
NOINLINE int fact(int n) { spin(20); return n < 2 ? 1 : n * fact(n - 1); }
NOINLINE static void other(void) { for (int i = 0; i < 5000; i++) sink ^= i; }
int main(void) { for (int i = 0; i < 30000; i++) { mid(i % 5); fact(6); other(); } return 0; }
"""

# Symbols of each kind, 64 bytes each. gprof decides which of them are functions.
SYMBOLS = [
    ("aaa", "global"),
    ("fa", "global"),
    ("fb", "global"),
    ("local_one", "local"),
    ("local_one.cold", "local"),
    ("f.part.0", "local"),
    ("f.constprop.0", "local"),
    # gprof 2.40 reads beyond the end of such a name, so that a plain name must follow.
    ("plain", "local"),
    ("f.clone.1", "local"),
    ("plainer", "local"),
    ("glob.cold", "global"),
    ("dol$lar", "local"),
    ("glob$dollar", "global"),
    ("weak_one", "weak"),
    ("_ZL4cpp1v", "local"),
    ("__gnu_compiled_c", "local"),
    ("last_one", "global"),
]


class Gmon:
    """Writes a gmon.out of a little-endian 64-bit program."""

    def __init__(self) -> None:
        self.bytes = b"gmon" + struct.pack("<i", 1) + bytes(12)

    def histogram(self, low, high, counts, rate=100, dimension=b"seconds", abbreviation=b"s"):
        self.bytes += (
            b"\0"
            + struct.pack("<QQii15sc", low, high, len(counts), rate, dimension, abbreviation)
            + struct.pack(f"<{len(counts)}H", *counts)
        )
        return self

    def arc(self, caller, callee, count):
        self.bytes += b"\1" + struct.pack("<QQI", caller, callee, count)
        return self


@unittest.skipUnless(shutil.which("gprof"), "not installed: gprof")
class GprofCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="gmon-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_in(self, *words: str) -> str:
        done = subprocess.run(
            words, cwd=self.folder, capture_output=True, text=True, check=False, timeout=120
        )
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done.stdout

    def put(self, name: str, data) -> str:
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return name

    def get(self, name: str) -> bytes:
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def gprof_flat(self, path: str, file: str) -> dict:
        """Returns percent and seconds by function, for functions with ticks."""
        rows = {}
        for line in self.run_in("gprof", "-b", "-p", path, file).splitlines():
            found = re.match(r"\s*(\d+\.\d+)\s+\S+\s+(\d+\.\d+)\s+(.*)$", line)
            if found and float(found[1]) > 0:
                rest = re.sub(r"^\d+\s+\S+\s+\S+\s+", "", found[3]).strip()
                rows[rest] = (float(found[1]), float(found[2]))
        return rows

    def tally_flat(self, path: str, file: str) -> dict:
        """Returns percent and ticks by function, for functions with ticks."""
        rows = {}
        text = self.run_in(
            command_line(), "report", file, "--program", path, "--limit", "0", "--full-names"
        )
        calls = " calls " in text.splitlines()[1]
        for line in text.splitlines()[2:]:
            words = line.split(None, 4 if calls else 3)[1:]  # after the row's number
            name = re.sub(r"  +\S+$", "", words[-1]).strip()
            if float(words[0].rstrip("%")) > 0:
                rows[name] = (float(words[0].rstrip("%")), int(words[1]))
        return rows

    def assert_same_flat(self, path: str, file: str, rate: float) -> None:
        theirs, ours = self.gprof_flat(path, file), self.tally_flat(path, file)
        # A share of less than half a tick may be rounded to 0 by one of them.
        for name in set(theirs) ^ set(ours):
            if name in ours:
                self.assertEqual(ours.pop(name)[1], 0, name)
            else:
                self.assertLess(theirs.pop(name)[1], 1 / rate, name)
        # gprof sums seconds in floating point. If there are few ticks, all its percentages are too
        # great by the same factor, and add up to 100.16 %.
        total = sum(percent for percent, _ in theirs.values())
        self.assertAlmostEqual(total, 100, delta=0.5)
        rounding = 0.0101 + 0.005 * len(theirs)
        for name, (percent, ticks) in ours.items():
            share = theirs[name][0] / total * 100
            self.assertAlmostEqual(share, percent, delta=rounding, msg=name)
            self.assertAlmostEqual(theirs[name][1], ticks / rate, delta=0.01 + 1 / rate, msg=name)

    def symbols(self) -> str:
        lines = [".text", ".globl _start", "_start: .fill 64, 1, 0x90"]
        for name, kind in SYMBOLS:
            if kind != "local":
                lines.append(f".{'globl' if kind == 'global' else 'weak'} {name}")
            # 70 bytes, so that the next function begins within a bin of 64 bytes.
            lines += [
                f".type {name},@function",
                f"{name}: .fill {70 if name == 'fa' else 64},1,0x90",
            ]
        self.put("symbols.s", "\n".join(lines) + "\n")
        self.run_in(
            "gcc",
            "-nostdlib",
            "-static",
            "-no-pie",
            "-Wl,--build-id=none",
            "symbols.s",
            "-o",
            "symbols",
        )
        return "symbols"


class OfGprof(GprofCase):
    def compile(self) -> str:
        self.put("pg.c", PROGRAM)
        # No code lies in the bins between functions, of which gprof rounds the bounds.
        self.run_in("gcc", "-g", "-O1", "-falign-functions=64", "-pg", "pg.c", "-o", "pg")
        self.run_in("./pg")
        return "./pg"

    def test_a_program_compiled_with_pg(self) -> None:
        path = self.compile()
        self.assert_same_flat(path, "gmon.out", 100)
        calls = {}
        for line in self.run_in("gprof", "-b", "-q", path, "gmon.out").splitlines():
            found = re.match(r"\[\d+\]\s+\S+\s+\S+\s+\S+\s+(\d+)(?:\+(\d+))?\s+(\w+)", line)
            if found:
                calls[found[3]] = int(found[1]) + int(found[2] or 0)
        self.assertEqual(calls["fact"], 180000)
        text = self.run_in(command_line(), "report", "gmon.out", "--program", path, "--limit", "0")
        ours = {line.split()[4]: int(line.split()[3]) for line in text.splitlines()[2:]}
        self.assertEqual({name: count for name, count in ours.items() if count}, calls)

    def gprof_rows(self, how: str, path: str, profile: str) -> List[str]:
        """Returns what gprof prints, sorted: rows with equal times are in the order of the arcs in
        the file, which Tally writes in an order of its own."""
        return sorted(self.run_in("gprof", "-b", how, path, profile).splitlines())

    def test_gprof_reads_a_rewritten_file_alike(self) -> None:
        path = self.compile()
        tally = command_line()
        self.run_in(tally, "rewrite", "gmon.out", "-o", "again.gmon")
        self.assertEqual(self.run_in(tally, "validate", "again.gmon"), "")
        for how in ("-p", "-q"):
            self.assertEqual(
                self.gprof_rows(how, path, "gmon.out"), self.gprof_rows(how, path, "again.gmon")
            )
        self.run_in("gprof", "-s", path, "gmon.out", "again.gmon")
        self.run_in(tally, "merge", "gmon.out", "again.gmon", "-o", "sum.gmon")
        for how in ("-p", "-q"):
            self.assertEqual(
                self.gprof_rows(how, path, "gmon.sum"), self.gprof_rows(how, path, "sum.gmon")
            )

    def test_symbols_of_each_kind(self) -> None:
        path = self.symbols()
        low = 0x401000
        ticks = [100 + i * i % 97 for i in range((len(SYMBOLS) + 2) * 64 // 2)]
        for width in (2, 4, 64, 6, 22):
            counts = [ticks[i % len(ticks)] for i in range((len(SYMBOLS) + 1) * 64 // width)]
            self.put("x.gmon", Gmon().histogram(low, low + len(counts) * width, counts).bytes)
            self.assert_same_flat(path, "x.gmon", 100)
        # A range with odd addresses.
        self.put("x.gmon", Gmon().histogram(low + 1, low + 641, [50] * 20).bytes)
        self.assert_same_flat(path, "x.gmon", 100)

    def test_a_bin_is_shared_by_bytes(self) -> None:
        path = self.symbols()
        start = 0x401040 + 64  # of fa, which has 70 bytes: the bin holds its last 6 and 58 of fb
        self.put("share.gmon", Gmon().histogram(start + 64, start + 128, [1000]).bytes)
        expected = {"fa": 9.38, "fb": 90.62}
        self.assertEqual(
            {k: v[0] for k, v in self.gprof_flat(path, "share.gmon").items()}, expected
        )
        self.assertEqual(
            {k: v[0] for k, v in self.tally_flat(path, "share.gmon").items()}, expected
        )

    def test_a_bin_beyond_16_bits(self) -> None:
        path = self.symbols()
        data = Gmon()
        for part in (65535, 65535, 65535, 3395):
            data.histogram(0x401080, 0x4010C0, [0, part] + [0] * 30)
        self.put("big.gmon", data.bytes)
        self.run_in(command_line(), "rewrite", "big.gmon", "-o", "again.gmon")
        for file in ("big.gmon", "again.gmon"):
            self.assertEqual(self.gprof_flat(path, file), {"fa": (100.0, 2000.0)})
        self.assertEqual(self.tally_flat(path, "again.gmon"), {"fa": (100.0, 200000)})

    def test_several_ranges_and_calls(self) -> None:
        path = self.symbols()
        self.put(
            "x.gmon",
            Gmon()
            .histogram(0x401080, 0x4010C0, [1] * 32)
            .histogram(0x4010C0, 0x401100, [2] * 32)
            .histogram(0x401200, 0x401240, [3] * 32)
            .arc(0x401082, 0x401200, 7)
            .arc(0x401082, 0x401200, 0xFFFFFFFF)
            .bytes,
        )
        self.run_in(command_line(), "rewrite", "x.gmon", "-o", "again.gmon")
        for how in ("-p", "-q"):
            self.assertEqual(
                self.run_in("gprof", "-b", how, path, "x.gmon"),
                self.run_in("gprof", "-b", how, path, "again.gmon"),
            )
        self.assert_same_flat(path, "again.gmon", 100)

    def test_the_form_of_bsd(self) -> None:
        path = self.symbols()
        low, counts = 0x401080, [3] * 64
        self.put(
            "bsd.gmon",
            struct.pack("<QQiiiiii", low, low + 128, 40 + 128, 0x51879, 100, 0, 0, 0)
            + struct.pack("<64H", *counts)
            + struct.pack("<QQQ", low + 2, 0x401200, 5),
        )
        self.assert_same_flat(path, "bsd.gmon", 100)
        self.run_in(command_line(), "rewrite", "bsd.gmon", "-o", "again.gmon")
        self.assertEqual(self.get("again.gmon"), self.get("bsd.gmon"))


class OfSamples(GprofCase):
    def setUp(self) -> None:
        super().setUp()
        need_perf()

    def test_programs_that_were_recorded(self) -> None:
        for name in ("spin7030", "inlines", "spin7030_nopie"):
            path = program(name)
            for file in ("a.gmon", "b.gmon"):
                self.run_in(command_line(), "record", "-F", "4000", "-o", file, "--", path, "0.15")
            self.assert_same_flat(path, "a.gmon", 4000)
            self.run_in(command_line(), "merge", "a.gmon", "b.gmon", "-o", "sum.gmon")
            if name != "inlines":  # gprof 2.40 miscounts its names, and says so
                self.run_in("gprof", "-s", path, "a.gmon", "b.gmon")
                self.run_in(command_line(), "rewrite", "gmon.sum", "-o", "gprofs.gmon")
                self.assertEqual(self.get("gprofs.gmon"), self.get("sum.gmon"))
            self.assert_same_flat(path, "sum.gmon", 4000)
            if name.startswith("spin"):
                # A thousand samples on a busy machine give a rough share, which is enough to know that the
                # files hold this program's samples.
                shares = self.tally_flat(path, "sum.gmon")
                self.assertAlmostEqual(shares["seventy"][0], 70, delta=10)
                self.assertAlmostEqual(shares["thirty"][0], 30, delta=10)

    def test_omitted_data_is_reported(self) -> None:
        done = subprocess.run(
            [command_line(), "record", "-o", "x.gmon", "--", program("inlines"), "0.1"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertRegex(
            done.stderr, r"tally: not in gmon: \d+ ticks outside of inlines's own text"
        )
        self.assertIn("tally: not in gmon: callers", done.stderr)


@unittest.skipUnless(shutil.which("valgrind"), "not installed: valgrind")
class OfCallgrind(GprofCase):
    def test_instructions_by_address(self) -> None:
        path = program("spin7030")
        self.put(
            "small.c",
            "int f(int n) { int s = 0; while (n) s += n--; return s; }\n"
            "int main(void) { int s = 0; for (int i = 0; i < 50; i++) s += f(i); "
            "return s == 0; }\n",
        )
        self.run_in("gcc", "-g", "-O1", "-fno-inline", "small.c", "-o", "small")
        path = "./small"
        self.run_in(
            "valgrind", "--tool=callgrind", "--dump-instr=yes", "--callgrind-out-file=cg.out", path
        )
        self.run_in(command_line(), "convert", "cg.out", "--from", "callgrind", "-o", "x.gmon")
        flat = self.run_in("gprof", "-b", "-p", path, "x.gmon")
        self.assertIn("Each sample counts as 1 Ir.", flat)
        self.assert_same_flat(path, "x.gmon", 1)
        text = self.run_in(command_line(), "report", "cg.out", "--limit", "0")
        costs = {
            words[5]: int(words[2])
            for words in map(str.split, text.splitlines()[2:])
            if len(words) > 6 and words[6] == "small.c"
        }
        ours = self.tally_flat(path, "x.gmon")
        for name in ("f", "main"):
            self.assertEqual(ours[name][1], costs[name])
        self.assertRegex(flat, r"50 +\d+\.\d+ +\d+\.\d+ +f")


if __name__ == "__main__":
    run_unittests()
