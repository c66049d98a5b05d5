"""Tests LLDB driven by an editor: no command launches or resumes the program."""
import os
import re
import sys
import time
import unittest
from typing import Callable

sys.path.insert(0, os.path.dirname(__file__))
from case import CLIENT, PARTS, REPORT, LldbCase, resumes, run_python
from support.dap_driver import LldbDap, dap_server
from support.lldb_driver import lldb_name, lldb_programs
from support.programs import lldb_plugin, program
from support.shares import assert_seventy
from support.skips import run_unittests
from support.tables import parse_report, parse_status


# A user looks at each stop for a second, and enters no command until the last.
LOOK_S = 1.0
SCRIPT = (
    CLIENT
    + """do("profile start")
target = debugger.CreateTarget("{program}")
target.BreakpointCreateByName("checkpoint")
process = target.LaunchSimple(["0.9", "3"], None, "/")
for _ in range(2):
    time.sleep({look_s})
    process.Continue()
do("{parts}")
do("profile status")
"""
)

# Nothing but the client attaches to the program, and resumes it.
ATTACH = (
    CLIENT
    + """do("profile start")
program = subprocess.Popen(["{program}", "1.5"])
target = debugger.CreateTarget("")
process = target.AttachToProcessWithID(debugger.GetListener(), program.pid, lldb.SBError())
process.Continue()
do("profile status")
print("exit status", program.wait())
"""
)


def assert_three_parts(case: unittest.TestCase, shown: str) -> None:
    """The program has spun for three times the same time, and two stops have been looked at."""
    report, status = parse_report(shown), parse_status(shown[shown.index("\nstate ") + 1 :])
    case.assertEqual(
        sorted(re.sub(", .*", "", row.name) for row in report.rows),
        ["1 breakpoint 1", "2 breakpoint 1", "3 breakpoint 1"],
        shown,
    )
    for row in report.rows:
        case.assertAlmostEqual(row.self_percent, 33.3, delta=8, msg=shown)
    case.assertGreaterEqual(float(status["stopped"].removesuffix(" s")), 2 * LOOK_S, shown)


def launch_with_stops(dap: LldbDap, parts: int) -> None:
    """Launches a sampled program that stops after each part, in which it spins for 0.9 s in all."""
    dap.launch(
        program("spin7030"),
        ["0.9", str(parts)],
        commands=["profile start"],
        functions=["checkpoint"],
    )


class ScriptTest(LldbCase):
    def test_a_script_that_resumes(self) -> None:
        """LLDB's lock is held while the program runs."""
        script = SCRIPT.format(
            plugin=lldb_plugin(), program=program("spin7030"), parts=PARTS, look_s=LOOK_S
        )
        assert_three_parts(self, run_python(script))

    def test_a_script_that_attaches(self) -> None:
        script = ATTACH.format(plugin=lldb_plugin(), program=program("spin7030"))
        shown = run_python(script)
        status = parse_status(shown[shown.index("\nstate ") + 1 :])
        self.assertGreater(int(status["samples"]), 200, shown)
        self.assertIn("exit status 0", shown)

    def test_each_stop_after_a_short_run(self) -> None:
        """Runs of a fraction of a millisecond lie between the looks at the process."""
        stops = 4
        shown = resumes(
            "spin7030",
            ["0.001", "10"],
            stops,
            LOOK_S,
            before=["profile config stop-times on", "profile start"],
            last=["profile status"],
        )
        self.assertEqual(len(re.findall(r"(?m)^\[.* CPU\]$", shown)), stops, shown)

    def test_coverage_since_a_stop(self) -> None:
        """Nobody knows whether a script has resumed the program once, or more often."""
        shown = resumes(
            "counted",
            [],
            2,
            0,
            at_stop=["coverage report --limit 1", "coverage mark"],
            last=["coverage report --since stop", "coverage report --limit 1 --since mark"],
        )
        self.assertRegex(shown, "coverage report: the stop before .*'coverage mark'")
        self.assertRegex(shown.rpartition("'coverage mark'")[2], r"(?m)^TOTAL ", shown)


class DapTest(LldbCase):
    def setUp(self) -> None:
        super().setUp()
        absent = [lldb_name(lldb) for lldb in lldb_programs() if dap_server(lldb) is None]
        if len(absent) == len(lldb_programs()):
            raise unittest.SkipTest(f"not installed: lldb-dap or lldb-vscode of {absent}")

    def in_each_server(self, measure: Callable[[LldbDap], None]) -> None:
        """Calls `measure` in a session with each installed server."""

        def serve(lldb: str) -> None:
            server = dap_server(lldb)
            if server is not None:
                with LldbDap(server) as dap:
                    measure(dap)

        self.in_each(serve)

    def test_sampling_from_the_launch(self) -> None:
        """The commands run before the launch, and no other command until the process has ended."""

        def measure(dap: LldbDap) -> None:
            dap.launch(
                program("spin7030"),
                ["1.5"],
                commands=["profile start"],
                exit_commands=["profile status", REPORT],
            )
            printed = dap.wait_exit()
            self.assertIn("Sampling begins with the next process", printed, dap.transcript)
            status = parse_status(printed[printed.rindex("\nstate ") + 1 :])
            self.assertGreater(int(status["samples"]), 200, dap.transcript)
            report = parse_report(printed[printed.rindex(REPORT) :].partition("\n")[2])
            assert_seventy(self, report, 0.15, dap.transcript)

        self.in_each_server(measure)

    def test_resumed_by_the_client(self) -> None:
        """Sampling is armed before the launch, and continues when the client resumes."""

        def measure(dap: LldbDap) -> None:
            launch_with_stops(dap, 2)
            samples = []
            for _ in range(2):
                dap.wait_event("stopped")
                status = parse_status(dap.command("profile status"))
                self.assertEqual(status["state"], "sampling", dap.transcript)
                samples.append(int(status["samples"]))
                dap.proceed()
            self.assertGreater(samples[0], 30, dap.transcript)
            self.assertGreater(samples[1], samples[0] + 30, dap.transcript)
            dap.wait_exit()

        self.in_each_server(measure)

    def test_stops_without_a_command(self) -> None:
        def measure(dap: LldbDap) -> None:
            launch_with_stops(dap, 3)
            for _ in range(2):
                dap.wait_event("stopped")
                time.sleep(LOOK_S)
                dap.proceed()
            dap.wait_event("stopped")
            assert_three_parts(self, dap.command(PARTS) + dap.command("profile status"))

        self.in_each_server(measure)

    def test_the_console(self) -> None:
        """Lines as a user types them: with the escape prefix, at a stop, while the program runs and
        after its end. Without it they are expressions of the program's language."""

        def measure(dap: LldbDap) -> None:
            launch_with_stops(dap, 2)
            dap.wait_event("stopped")
            at_stop = parse_report(dap.evaluate("`" + REPORT))
            self.assertGreater(at_stop.row("seventy").self_ticks, 20, dap.transcript)
            self.assertNotEqual(dap.refusal(REPORT), "")
            self.assertIn("--nonsense", dap.evaluate("`profile report --nonsense").splitlines()[-1])
            dap.proceed()
            running = parse_status(dap.evaluate("`profile status"))
            self.assertEqual(running["state"], "sampling", dap.transcript)
            dap.wait_event("stopped")
            dap.proceed()
            dap.wait_event("terminated")
            at_end = parse_report(dap.evaluate("`" + REPORT))
            self.assertGreater(
                at_end.row("seventy").self_ticks,
                at_stop.row("seventy").self_ticks + 20,
                dap.transcript,
            )

        self.in_each_server(measure)


if __name__ == "__main__":
    run_unittests()
