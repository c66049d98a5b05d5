"""Tests `profile histogram`, and that gprof can read a gmon.out of sampled ticks."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, Play, play_gdb
from support.programs import program
from support.shares import assert_share
from support.skips import run_unittests


def ticks_of(text: str) -> int:
    """Returns the sum of the ticks of all bins in the output."""
    return sum(int(found) for found in re.findall(r"(?m)^ *0x[0-9a-f]+ +(\d+) +[\d.]+%", text))


class HistogramTest(GdbCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="histogram-")
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def play(self, *commands: str) -> Play:
        return play_gdb(
            ["profile start --frequency 4000", "break checkpoint", "run", *commands],
            program("spin7030"),
            ["0.35", "0"],
        )

    def test_bins_of_the_program_a_function_and_a_range(self) -> None:
        by_address = 'eval "profile histogram 0x%lx-0x%lx", (long)&seventy, (long)&thirty'
        play = self.play(
            "profile report --json",
            "profile histogram",
            "profile histogram seventy",
            "profile histogram seventy --scale 0xFFFF",
            by_address,
        )
        self.assertEqual(play.stderr, "", play)
        total = int(re.search(r'"totals":\[(\d+)\]', play.text("profile report --json"))[1])
        text = play.text("profile histogram")
        self.assertTrue(text.startswith(f"{total} ticks in total"), text)
        self.assertIn("of spin7030, ", text)
        elsewhere = re.search(r"(\d+) elsewhere", text)
        self.assertEqual(ticks_of(text) + int(elsewhere[1] if elsewhere else 0), total, text)
        seventy = play.text("profile histogram seventy")
        assert_share(self, ticks_of(seventy), total, 0.7, 0.12, seventy)
        self.assertRegex(seventy, r"seventy\+0x[0-9a-f]+ +spin7030\.c:\d+")
        finest = play.text("profile histogram seventy --scale 0xFFFF")
        self.assertEqual(ticks_of(finest), ticks_of(seventy), finest)
        self.assertIn(", 2 bytes a bin", finest)
        of_range = play.text(by_address)
        self.assertEqual(ticks_of(of_range), ticks_of(seventy), of_range)

    def test_refusals(self) -> None:
        play = self.play(
            "profile histogram nowhere",
            "profile histogram seventy --scale 1",
            "profile histogram 0x20-0x10",
        )
        self.assert_refused(
            play,
            "^nowhere: no such function in spin7030",
            r"^--scale: expected a scale from 2 to 0xFFFF, found '1'",
            "^0x20-0x10: the range is empty",
        )

    @unittest.skipUnless(shutil.which("gprof"), "not installed: gprof")
    def test_a_dump_that_gprof_reads(self) -> None:
        path = os.path.join(self.folder, "x.gmon")
        play = self.play("profile report --json", f"profile dump {path}")
        self.assertEqual(play.stderr, "", play)
        text = play.text(f"profile dump {path}")
        self.assertIn("Not in this format: callers", text)
        flat = subprocess.run(
            ["gprof", "-b", "-p", program("spin7030"), path],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found = {
            name: float(percent)
            for percent, name in re.findall(r"(?m)^ *([\d.]+) +[\d.]+ +[\d.]+ .*?(\w+)$", flat)
        }
        own = {
            row["name"]: row["self"][0]
            for row in json.loads(play.text("profile report --json"))["functions"]
            if row["object"] == program("spin7030")
        }
        for name in ("seventy", "thirty"):
            self.assertAlmostEqual(
                found[name], 100 * own[name] / sum(own.values()), delta=0.0101, msg=flat
            )


if __name__ == "__main__":
    run_unittests()
