"""Tests `tally record --live`: the table that is shown each second, and the recording after it."""
from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase
from support.programs import command_line, program
from support.skips import need_perf, run_unittests
from support.terminal import read_to_end


class LiveTest(ProfileCase):
    def setUp(self) -> None:
        need_perf()
        super().setUp()

    def test_tables_in_a_pipe(self) -> None:
        path = self.path("out.pb.gz")
        done = self.tally("record", "-o", path, "--live", "--", program("spin7030"), "2.5")
        totals = [int(each) for each in re.findall(r"(?m)^(\d+) ticks in total$", done.stdout)]
        self.assertGreaterEqual(len(totals), 2, done.stdout)  # more on a busy machine
        self.assertEqual(totals, sorted(totals))
        now = re.findall(r"(?m)^now: \d+% (?:seventy|thirty), \d+% ", done.stdout)
        self.assertEqual(len(now), len(totals), done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        # On a busy machine, the last table may be shown after the program's last tick.
        self.assertGreaterEqual(self.report(path)["totals"][0], totals[-1])

    def test_a_terminal_and_ctrl_c(self) -> None:
        path = self.path("out.pb.gz")
        with subprocess.Popen([program("spin7030"), "20"], stdout=subprocess.DEVNULL) as spinning:
            self.addCleanup(spinning.kill)
            master, slave = pty.openpty()
            words = ["record", "-o", path, "--live", "-p", str(spinning.pid)]
            with subprocess.Popen(
                [command_line(), *words], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave
            ) as recorder:
                os.close(slave)
                time.sleep(2.5)
                recorder.send_signal(signal.SIGINT)
                shown = read_to_end(master).decode()
            os.close(master)
            self.assertIsNone(spinning.poll(), "the process was ended")
            spinning.kill()
        self.assertEqual(recorder.returncode, 0, shown)
        tables = shown.split("\x1b[2J\x1b[H")[1:]
        self.assertIn(len(tables), (1, 2), shown)
        for table in tables:
            self.assertTrue(table.startswith(f"process {spinning.pid}: "), table)
        self.assertRegex(tables[-1], r"tally: SIGINT; \d+ samples")
        # On a busy machine, the program gets a part of the 2.5 s.
        self.assertGreater(self.report(path)["totals"][0], 200)

    def test_nobody_reads(self) -> None:
        """The recording goes on, and is written."""
        path = self.path("out.pb.gz")
        with subprocess.Popen(
            [command_line(), "record", "-o", path, "--live", "--", program("spin7030"), "1.5"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as recorder:
            assert recorder.stdout and recorder.stderr
            recorder.stdout.close()
            said = recorder.stderr.read()
        self.assertIn("wrote", said)
        self.assertGreater(self.report(path)["totals"][0], 1000)

    def test_standard_output_is_used_once(self) -> None:
        words = ["record", "-o", "-", "--format", "folded", "--live", "--", program("spin7030")]
        done = self.tally(*words, status=2)
        self.assertEqual(done.stdout, "")
        self.assertIn("--live: writes to standard output, as -o - does", done.stderr)


if __name__ == "__main__":
    run_unittests()
