"""Tests that profiles in LLDB are correct: inlined frames, files, regions."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from case import REPORT, LldbCase, report_of, status_of
from support.callgrind_annotate import annotate
from support.lldb_driver import run_lldb
from support.programs import program
from support.skips import need_tools, run_unittests


class SamplingTest(LldbCase):
    def test_inlined_frames_of_functions_in_two_pieces(self) -> None:
        """LLDB 14 and 16 by themselves show neither."""

        def measure(lldb: str) -> None:
            result = run_lldb(
                ["profile start --frequency 4000", "run", REPORT],
                program("inlines"),
                ["0.25"],
                lldb=lldb,
            )
            report = report_of(result)
            split = [row for row in report.rows if "split_hot_cold" in row.name]
            self.assertTrue(split, result)
            inlined = [row for row in report.rows if "mix_well" in row.name]
            self.assertGreater(sum(row.inclusive_ticks for row in inlined), 20, result)

        self.in_each(measure)

    def test_other_calls_of_the_caller_do_not_stop(self) -> None:
        """A dispatcher's other calls return to the address at which the region's pass has ended."""

        def measure(lldb: str) -> None:
            result = run_lldb(
                ["profile region once", "run", "profile status"],
                program("dispatcher"),
                [],
                lldb=lldb,
            )
            status = status_of(result)
            self.assertEqual(status["passes"], "1", result)
            self.assertLess(int(status["region_stops"].split()[0]), 100, result)

        self.in_each(measure)

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
                    ["0.2", "1"],
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

        self.in_each(measure)


if __name__ == "__main__":
    run_unittests()
