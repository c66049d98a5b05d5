"""`tally` on gmon.out: its output with and without the program, and its errors."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line, program
from support.skips import run_unittests


def gmon(*histograms, arcs=()) -> bytes:
    """Returns a file of histograms (low, high, counts[, rate]) and arcs (from, to, count)."""
    out = b"gmon" + struct.pack("<i", 1) + bytes(12)
    for low, high, counts, *rate in histograms:
        out += (
            b"\0"
            + struct.pack("<QQii15sc", low, high, len(counts), *(rate or [100]), b"seconds", b"s")
            + struct.pack(f"<{len(counts)}H", *counts)
        )
    for arc in arcs:
        out += b"\1" + struct.pack("<QQI", *arc)
    return out


class GmonCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="cli-gmon-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.put("x.gmon", gmon((0x1000, 0x1008, [3, 0, 0, 4]), arcs=[(0x1002, 0x1006, 9)]))

    def put(self, name: str, data: bytes) -> None:
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)

    def get(self, name: str) -> bytes:
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def tally(self, *words: str) -> tuple:
        done = subprocess.run(
            [command_line(), *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr


class WithoutNames(GmonCase):
    def test_functions_are_named_by_address(self) -> None:
        status, out, err = self.tally("report", "x.gmon")
        self.assertEqual(
            (status, err),
            (
                0,
                "x.gmon: warning: holds addresses without names: "
                "use --program FILE to name the functions\n",
            ),
        )
        self.assertEqual(
            out.splitlines(),
            [
                "7 ticks in total",
                "#   self%  self  calls  function  place",
                "1  57.14%     4      9  0x1006",
                "2  42.86%     3      0  0x1000",
                "3   0.00%     0      0  0x1002",
            ],
        )
        table = json.loads(self.tally("report", "x.gmon", "--json")[1])
        self.assertEqual((table["events"], table["totals"]), (["ticks"], [7]))
        self.assertEqual(
            table["functions"][0],
            {
                "name": "0x1006",
                "file": "",
                "line": 0,
                "object": "",
                "self": [4],
                "inclusive": [4],
                "calls": 9,
            },
        )

    def test_a_format_of_functions_says_what_it_lacks(self) -> None:
        status, _, err = self.tally("convert", "x.gmon", "-o", "x.callgrind")
        self.assertEqual(
            (status, err.splitlines()),
            (
                0,
                [
                    "tally: the functions are named by address: use --program FILE to name the functions",
                    "tally: not in callgrind: addresses and the length of a tick",
                    "tally: not in callgrind: unmeasured costs of calls (written as 0)",
                ],
            ),
        )
        self.assertIn(b"fn=(1) 0x1000", self.get("x.callgrind"))

    def test_stacks_are_not_made_up(self) -> None:
        status, _, err = self.tally("convert", "x.gmon", "-o", "x.folded")
        self.assertEqual(status, 1)
        self.assertIn("holds stacks, and this profile has only calls", err)


class WithNames(GmonCase):
    def test_a_programs_functions(self) -> None:
        path = program("spin7030")
        symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        start = next(
            int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" seventy")
        )
        low = start & ~1
        self.put("s.gmon", gmon((low, low + 16, [5] * 8)))
        status, out, err = self.tally("report", "s.gmon", "--program", path)
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out.splitlines()[2], r"100.00% +40 +seventy +spin7030\.c")
        self.assertRegex(
            self.tally("report", "s.gmon", "--program", path, "--by", "line")[1],
            r"seventy +spin7030\.c:\d+",
        )
        status, out, err = self.tally(
            "histogram", "s.gmon", "seventy", "--program", path, "--scale", "0xFFFF"
        )
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.count("█" * 16), 8)
        self.assertIn(f"{low:#x}", out)
        bins = json.loads(self.tally("histogram", "s.gmon", "--program", path, "--json")[1])
        self.assertEqual(sum(each["ticks"] for each in bins["bins"]), 40)
        self.assertEqual(
            self.tally("diff", "s.gmon", "s.gmon", "--program", path)[1].splitlines()[1],
            "nothing changed",
        )

    def test_a_program_that_cannot_be_read(self) -> None:
        self.assertEqual(
            self.tally("report", "x.gmon", "--program", "missing"),
            (1, "", "tally: missing: cannot read: No such file or directory (ENOENT)\n"),
        )


class Files(GmonCase):
    def test_merge_rewrite_and_validate(self) -> None:
        self.assertEqual(self.tally("merge", "x.gmon", "x.gmon", "-o", "sum.gmon"), (0, "", ""))
        self.assertEqual(
            self.get("sum.gmon"), gmon((0x1000, 0x1008, [6, 0, 0, 8]), arcs=[(0x1002, 0x1006, 18)])
        )
        self.assertEqual(self.tally("rewrite", "sum.gmon", "-o", "again.gmon"), (0, "", ""))
        self.assertEqual(self.get("again.gmon"), self.get("sum.gmon"))
        self.assertEqual(self.tally("validate", "x.gmon", "sum.gmon"), (0, "", ""))

    def test_histograms_that_cannot_be_added(self) -> None:
        self.put("fast.gmon", gmon((0x2000, 0x2008, [1] * 4, 1000)))
        self.assertEqual(
            self.tally("merge", "x.gmon", "fast.gmon", "-o", "sum.gmon"),
            (
                1,
                "",
                "tally: fast.gmon: a histogram has 1000 ticks per unit (seconds), others 100 ticks "
                "per unit (seconds): their bins cannot be added up\n",
            ),
        )
        self.assertNotIn("sum.gmon", os.listdir(self.folder))

    def test_findings_have_an_offset(self) -> None:
        self.put("bad.gmon", gmon((0x1000, 0x1008, [1] * 4), (0x1004, 0x100C, [1] * 4)))
        self.assertEqual(
            self.tally("validate", "bad.gmon"),
            (
                1,
                "bad.gmon:0x45: error: the histograms of [0x1000, 0x1008) and [0x1004, 0x100c) overlap "
                "in part\n",
                "",
            ),
        )
        self.put("cut.gmon", gmon((0x1000, 0x1008, [1] * 4))[:-1])
        self.assertEqual(
            self.tally("validate", "cut.gmon")[:2],
            (1, "cut.gmon:0x3d: error: a histogram of 4 bins needs 8 bytes, but 7 are left\n"),
        )

    def test_names_alone_make_no_histogram(self) -> None:
        self.put("a.folded", b"main;f 3\n")
        status, _, err = self.tally("convert", "a.folded", "-o", "a.gmon")
        self.assertEqual(
            (status, err),
            (
                1,
                "tally: a.folded: the profile has no addresses, only names: no "
                "histogram can be made of it\n",
            ),
        )
        status, _, err = self.tally("histogram", "a.folded")
        self.assertEqual(
            (status, err),
            (
                1,
                "tally: a.folded: has no addresses, only names: no "
                "histogram can be made of it\n",
            ),
        )
        for scale in ("0", "1", "65536", "x"):
            self.assertEqual(self.tally("histogram", "x.gmon", "--scale", scale)[0], 2, scale)


if __name__ == "__main__":
    run_unittests()
