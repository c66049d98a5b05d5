"""Tests the shares of real time in profiles that LLDB takes, and how many ticks come.

The number of samples follows from the error that is allowed (support/shares.py). Nothing is
measured again.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from case import REPORT, LldbCase, report_of, resumes
from support.gdb_driver import run_gdb
from support.lldb_driver import LldbTerminal, run_lldb
from support.programs import program
from support.shares import assert_seventy, samples_for
from support.skips import need_tools, run_unittests
from support.tables import Report, parse_report, parse_status
from support.times import assert_pass, assert_times


class TimesTest(LldbCase):
    def test_the_time_of_a_run_is_the_programs(self) -> None:
        stops = 30

        def measure(lldb: str) -> None:
            starts: list[list[str]] = [[], ["profile start"]]
            for start in starts:
                commands = ["profile config stop-times on", *start, "breakpoint set -n checkpoint"]
                commands += ["run"] + ["continue"] * (stops - 1) + ["profile status"]
                result = run_lldb(commands, program("stamps"), [str(stops)], lldb=lldb)
                assert_times(self, result.stdout, r"^\[([^],]+), .* CPU\]$")

        self.in_each(measure)

    def test_the_time_of_a_run_that_a_script_resumes(self) -> None:
        """No command resumes the program, so that its run is noticed late."""
        stops = 30
        shown = resumes(
            "stamps",
            [str(stops)],
            stops,
            0.03,
            before=["profile config stop-times on", "profile start"],
            at_stop=["profile status"],
            last=["profile status"],
        )
        assert_times(self, shown, r"^\[([^],]+), .* CPU\]$")


class PerfTest(LldbCase):
    def test_shares_equal_those_in_gdb(self) -> None:
        need_tools("gdb")
        commands = ["profile start --frequency 4000", "run", REPORT]

        def check(report: Report, shown: str) -> None:
            assert_seventy(self, report, 0.07, shown)
            self.assertGreater(report.self_percent("seventy") + report.self_percent("thirty"), 90)
            found = re.search(r"cpu_seconds (\S+)", shown)
            assert found, shown
            # A hypervisor may take ticks away, but never adds any.
            self.assertGreater(report.total, 0.5 * 4000 * float(found[1]), shown)
            self.assertLess(report.total, 1.02 * 4000 * float(found[1]), shown)

        shown = run_gdb(commands, program("spin7030"), ["0.8"]).stdout
        check(parse_report(shown), shown)

        def measure(lldb: str) -> None:
            result = run_lldb(commands, program("spin7030"), ["0.8"], lldb=lldb)
            check(report_of(result), result.stdout)

        self.in_each(measure)


class AgentTest(LldbCase):
    samples_by_perf = False

    def test_the_agents_signals_repeat_no_stop(self) -> None:
        """A signal in a step over a breakpoint would lead back to the breakpoint."""
        stops = 400

        def measure(lldb: str) -> None:
            result = run_lldb(
                ["profile start --backend agent --frequency 5000"]
                + ["breakpoint set -n checkpoint", "run"]
                + ["continue"] * stops
                + ["profile status"],
                program("spin7030"),
                [str(0.002 * stops), str(stops)],
                lldb=lldb,
                wrapper=[program("seccomp_run"), "eperm"],
            )
            self.assertIn("ticker", parse_status(result.stdout)["clock"], result)
            numbers = re.findall(r"`checkpoint\(number=(\d+)\) at ", result.stdout)
            self.assertGreaterEqual(len(numbers), stops, result)
            # A signal that is on its way when the breakpoint is hit comes in time now and then.
            self.assertLessEqual(len(numbers), stops + 2, result)

        self.in_each(measure)


class PassesTest(LldbCase):
    def test_times_of_passes(self) -> None:
        def measure(lldb: str) -> None:
            for steps, count in ((500, 100), (50000, 50), (5000000, 10)):
                result = run_lldb(
                    ["profile region work", "run", "profile status"],
                    program("passes"),
                    [str(steps), str(count)],
                    lldb=lldb,
                )
                found = re.search(r"pass_s ([0-9.]+)", result.stdout)
                assert found, result
                assert_pass(self, parse_status(result.stdout), float(found[1]))

        self.in_each(measure)


class InterruptTest(LldbCase):
    samples_by_perf = False

    def test_shares(self) -> None:
        error = 0.2

        def measure(path: str) -> None:
            with LldbTerminal(program("spin7030"), ["600", "1200"], lldb=path) as lldb:
                lldb.command("profile start --backend interrupt")
                lldb.send("breakpoint set -n checkpoint")
                lldb.expect("Breakpoint 1")
                lldb.expect_prompt()
                go, samples, runs = "run", 0, 0
                while samples < 2 * samples_for(0.7, error):
                    runs += 1
                    self.assertLess(runs, 200, lldb.transcript)
                    lldb.send(go)
                    lldb.expect("stop reason = breakpoint")
                    lldb.expect_prompt()
                    samples = int(parse_status(lldb.command("profile status"))["samples"])
                    go = "continue"
                report = parse_report(lldb.command(REPORT))
                assert_seventy(self, report, error, lldb.transcript)

        self.in_each(measure)


if __name__ == "__main__":
    run_unittests()
