"""Tests the LLDB driver itself, without the plug-in."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.lldb_driver import LldbTerminal, lldb_name, lldb_programs, run_lldb
from support.programs import program
from support.skips import run_unittests


class LldbDriverTest(unittest.TestCase):
    def setUp(self) -> None:
        if not lldb_programs():
            self.skipTest("not installed: lldb")

    def test_batch_continues_after_errors(self) -> None:
        for lldb in lldb_programs():
            with self.subTest(lldb_name(lldb)):
                result = run_lldb(
                    ["no_such_command", "run", "version"],
                    program("exit_status"),
                    ["7", "0"],
                    lldb=lldb,
                    plugin=False,
                    one_stream=True,
                )
                self.assertRegex(
                    result.stdout,
                    r"(?s)\(lldb\) no_such_command\nerror: .*"
                    r"\(lldb\) run\n.*exited with status = 7.*\(lldb\) version\nlldb ",
                )
                self.assertEqual(result.status, 0, result)

    def test_batch_ends_at_an_error(self) -> None:
        for lldb in lldb_programs():
            with self.subTest(lldb_name(lldb)):
                result = run_lldb(
                    ["no_such_command", "version"], lldb=lldb, plugin=False, stop_on_error=True
                )
                self.assertEqual(result.status, 1, result)
                self.assertRegex(result.stderr, r"\Aerror: 'no_such_command' is not .*\n\Z")
                self.assertNotIn("(lldb) version", result.stdout)

    def test_own_home(self) -> None:
        lldb = lldb_programs()[0]
        result = run_lldb(
            ["platform shell echo home=$HOME mine=$MINE"],
            lldb=lldb,
            plugin=False,
            environment={"MINE": "1"},
        )
        self.assertRegex(result.stdout, r"home=\S*lldb-home-\S* mine=1\n")

    def test_interrupt(self) -> None:
        for lldb in lldb_programs():
            with self.subTest(lldb_name(lldb)), LldbTerminal(
                program("sleeper"), lldb=lldb, plugin=False
            ) as terminal:
                self.assertRegex(terminal.command("version"), r"^lldb version [0-9.]+\n?$")
                terminal.send("run")
                terminal.expect("asleep\n")
                terminal.interrupt()
                self.assertIn("stop reason = signal", terminal.expect_prompt())
                terminal.send("quit")
                self.assertEqual(terminal.wait(), 0, terminal.transcript)


if __name__ == "__main__":
    run_unittests()
