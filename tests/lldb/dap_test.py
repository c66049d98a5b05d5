"""Tests LLDB driven by an editor: no command launches or resumes the program."""
import os
import sys
import unittest
from typing import Callable

sys.path.insert(0, os.path.dirname(__file__))
from case import REPORT, LldbCase
from support.dap_driver import LldbDap, dap_server
from support.lldb_driver import lldb_name, lldb_programs
from support.programs import program
from support.shares import assert_seventy
from support.skips import run_unittests
from support.tables import parse_report, parse_status


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
            dap.launch(
                program("spin7030"),
                ["0.9", "2"],
                commands=["profile start"],
                functions=["checkpoint"],
            )
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

    def test_the_console(self) -> None:
        """Lines as a user types them: with the escape prefix, at a stop, while the program runs and
        after its end. Without it they are expressions of the program's language."""

        def measure(dap: LldbDap) -> None:
            dap.launch(
                program("spin7030"),
                ["0.9", "2"],
                commands=["profile start"],
                functions=["checkpoint"],
            )
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
