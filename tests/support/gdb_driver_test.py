"""Tests the GDB driver itself, without the plug-in."""
import os
import resource
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.gdb_driver import GdbTerminal, run_gdb
from support.programs import program
from support.skips import need_tools, run_unittests


class GdbDriverTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("gdb")

    def test_batch(self) -> None:
        result = run_gdb(
            ["run", "print $_exitcode"], program("exit_status"), ["7", "0"], plugin=False
        )
        self.assertIn("$1 = 7", result.stdout, result)
        self.assertEqual((result.status, result.stderr), (0, ""), result)

    def test_batch_fails_by_its_last_command(self) -> None:
        result = run_gdb(["no_such_command"], plugin=False)
        self.assertEqual(result.status, 1, result)
        self.assertIn("no_such_command", result.stderr)

    def test_own_home_and_limits(self) -> None:
        result = run_gdb(
            ["shell echo home=$HOME mine=$MINE", "shell ulimit -n"],
            plugin=False,
            environment={"MINE": "1"},
            before_exec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
        )
        self.assertRegex(result.stdout, r"home=\S*gdb-home-\S* mine=1\n64\n")

    def test_too_slow(self) -> None:
        with self.assertRaisesRegex(AssertionError, "did not end"):
            run_gdb(["run"], program("sleeper"), plugin=False, timeout_s=3)

    def test_interrupt(self) -> None:
        with GdbTerminal(program("sleeper"), plugin=False) as gdb:
            self.assertEqual(gdb.command("print 6 * 7"), "$1 = 42")
            gdb.send("run")
            gdb.expect("asleep\n")
            gdb.interrupt()
            self.assertIn("SIGINT", gdb.expect_prompt())
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0)

    def test_resize_and_completion(self) -> None:
        with GdbTerminal(plugin=False, rows=24, columns=80) as gdb:
            gdb.resize(30, 100)
            # readline redraws its line, so that a second prompt appears, sooner or later.
            gdb.send("shell stty size")
            gdb.expect("\n30 100\n")
            gdb.expect_prompt()
            gdb.send_keys("info breakpoi\t")
            gdb.expect("info breakpoints")
            gdb.send("")
            self.assertIn("No breakpoints", gdb.expect_prompt())


if __name__ == "__main__":
    run_unittests()
