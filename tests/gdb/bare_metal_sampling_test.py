"""Tests `profile start` on a Cortex-M3 without an operating system, which QEMU emulates. The firmware
counts by a timer of its own how much time it spends in each of two functions."""
from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from scenario import play_gdb
from support.gcov_programs import run
from support.programs import SOURCE_ROOT
from support.skips import need_tools, run_unittests
from support.tables import parse_report

SOURCES = SOURCE_ROOT / "tests" / "programs" / "firmware"
COMPILER = "arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -g -Og -ffreestanding -Wall -Wextra -Werror"
# -icount lets the timer depend on the instructions, and not on how fast QEMU runs.
QEMU = "qemu-system-arm -M mps2-an385 -icount shift=3 -nographic -monitor none -serial none"
CONNECT = f"target extended-remote | exec {QEMU} -kernel firmware.elf -S -gdb stdio"
# A remote target is interrupted as by Ctrl-C. A timer of GDB's Python presses it.
STOP_SOON = (
    "python import os, signal, threading; "
    "threading.Timer(4, lambda: os.kill(os.getpid(), signal.SIGINT)).start()"
)


class BareMetalSamplingTest(unittest.TestCase):
    folder = Path()

    def setUp(self) -> None:
        need_tools("gdb-multiarch", "arm-none-eabi-gcc", "qemu-system-arm")
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="firmware-")))
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(SOURCES, self.folder, dirs_exist_ok=True)
        self.build("firmware.elf")

    def build(self, name: str, *options: str) -> None:
        sources = ["startup.c", "gcov_stub.c", "shares.c"]
        link = ["-nostdlib", "-Wl,--gc-sections", "-T", "firmware.ld", "-o", name]
        run([*COMPILER.split(), *options, *sources, *link], self.folder)

    def test_shares(self) -> None:
        play = play_gdb(
            [
                *("set confirm off", "file firmware.elf", CONNECT, "profile start"),
                *(STOP_SOON, "continue", STOP_SOON, "continue"),
                *("profile status", "profile report", "profile tree", "print seen"),
                *("profile dump out.callgrind", "profile histogram long_work", "kill"),
            ],
            cwd=str(self.folder),
            gdb="gdb-multiarch",
        )
        self.assertNotRegex(play.stderr, "Traceback|Python Exception|internal-error")
        self.assertIn("backend interrupt", play.text("profile status"))
        found = re.search(r"\{(\d+), (\d+), (\d+)\}", play.text("print seen"))
        assert found, play
        in_long, in_short = int(found[2]), int(found[3])
        self.assertGreater(in_long, 1000)
        report = parse_report(play.text("profile report"))
        ticks = {row.name: row.inclusive_ticks or 0 for row in report.rows}
        all_ticks = ticks["long_work"] + ticks["short_work"]
        self.assertGreater(all_ticks, 40, play)
        truth = in_long / (in_long + in_short)
        # Five standard deviations of the share that so many ticks give.
        self.assertAlmostEqual(
            ticks["long_work"] / all_ticks,
            truth,
            delta=5 * (truth * (1 - truth) / all_ticks) ** 0.5,
        )
        self.assertRegex(play.text("profile tree"), r"main .*\n.* long_work ")
        self.assertTrue((self.folder / "out.callgrind").exists())
        histogram = play.text("profile histogram long_work")
        bins = re.findall(r"^ *0x[0-9a-f]+ +(\d+) .*\blong_work\b", histogram, re.MULTILINE)
        self.assertGreater(sum(map(int, bins)), 20, play)

    def test_other_firmware(self) -> None:
        """What `load` writes to the target has other functions at the same addresses."""
        self.build("other.elf", "-Dlong_work=other_work", "-Dshort_work=other_short")
        report = "profile report --limit 0"
        play = play_gdb(
            [
                *("set confirm off", "file firmware.elf", CONNECT, "profile start"),
                *(
                    STOP_SOON.replace("4", "2"),
                    "continue",
                    report,
                    "shell cp other.elf firmware.elf",
                ),
                *("load", STOP_SOON.replace("4", "2"), "continue", report, "profile diff previous"),
                "kill",
            ],
            cwd=str(self.folder),
            gdb="gdb-multiarch",
        )
        self.assertNotRegex(play.stderr, "Traceback|Python Exception|internal-error")
        self.assertRegex(
            play.text("load"), "ended: its program was replaced; [0-9]+ ticks are kept"
        )
        self.assertRegex(play.text(report), " long_work ")
        self.assertRegex(play.text(report, 1), " other_work ")
        self.assertNotRegex(play.text(report, 1), " (long|short)_work ")
        self.assertRegex(play.text("profile diff previous"), "other_work")


if __name__ == "__main__":
    run_unittests()
