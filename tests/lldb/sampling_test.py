"""Tests that profiles in LLDB are correct: shares compared with GDB's, inlined frames, files."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from case import REPORT, LldbCase, report_of
from support.callgrind_annotate import annotate
from support.gdb_driver import run_gdb
from support.lldb_driver import run_lldb
from support.programs import program
from support.skips import need_tools, run_unittests
from support.tables import parse_report


class SamplingTest(LldbCase):
    def test_shares_equal_those_in_gdb(self) -> None:
        need_tools("gdb")
        commands = ["profile start", "run", REPORT]

        def measure(lldb: str) -> None:
            in_lldb = report_of(run_lldb(commands, program("spin7030"), ["2"], lldb=lldb))
            shown = run_gdb(commands, program("spin7030"), ["2"]).stdout
            in_gdb = parse_report(shown[re.search(r"(?m)^\d+ ticks in total$", shown).start() :])
            for function, share in (("seventy", 70), ("thirty", 30)):
                # With 2000 samples one standard deviation is a point.
                self.assertAlmostEqual(in_lldb.self_percent(function), share, delta=4)
                self.assertAlmostEqual(
                    in_lldb.self_percent(function), in_gdb.self_percent(function), delta=5
                )
            self.assertAlmostEqual(in_lldb.total / in_gdb.total, 1, delta=0.1)

        self.in_each(measure, by_chance=True)

    def test_inlined_frames_of_functions_in_two_pieces(self) -> None:
        """LLDB 14 and 16 by themselves show neither."""

        def measure(lldb: str) -> None:
            result = run_lldb(
                ["profile start", "run", REPORT], program("inlines"), ["1"], lldb=lldb
            )
            report = report_of(result)
            split = [row for row in report.rows if "split_hot_cold" in row.name]
            self.assertTrue(split, result)
            inlined = [row for row in report.rows if "mix_well" in row.name]
            self.assertGreater(sum(row.inclusive_ticks for row in inlined), 20, result)

        self.in_each(measure, by_chance=True)

    def test_callgrind_annotate_reads_what_is_written(self) -> None:
        need_tools("callgrind_annotate")

        def measure(lldb: str) -> None:
            with tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "out.callgrind")
                result = run_lldb(
                    [
                        "profile start",
                        "breakpoint set -n checkpoint",
                        "run",
                        "continue",
                        REPORT,
                        f"profile dump {out}",
                    ],
                    program("spin7030"),
                    ["0.5", "1"],
                    lldb=lldb,
                )
                done = subprocess.run(
                    ["callgrind_annotate", "--threshold=100", out],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                self.assertEqual(done.stderr, "")
                self.assertEqual(annotate(out).totals, (report_of(result).total,), result)

        self.in_each(measure, by_chance=True)


if __name__ == "__main__":
    run_unittests()
