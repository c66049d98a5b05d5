"""Tests that defects of Tally, or of the process that LLDB is in, do not end LLDB."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from case import LldbCase, run_python
from support.lldb_driver import run_lldb
from support.programs import lldb_plugin, program
from support.skips import run_unittests

HOST = """
import os, sys
sys.setdlopenflags(os.RTLD_NOW | {flags})
import lldb
debuggers = [lldb.SBDebugger.Create() for _ in range(2)]
def do(debugger, command):
    result = lldb.SBCommandReturnObject()
    debugger.GetCommandInterpreter().HandleCommand(command, result)
    print(command.split()[0:2], result.Succeeded(), result.GetOutput() or "", result.GetError() or "")
for debugger in debuggers:
    debugger.SetAsync(False)
    for command in ("plugin load {plugin}", "target create {program}",
                    "settings set target.disable-aslr false",
                    "settings set target.run-args 0.15", "profile start", "run"):
        do(debugger, command)
for debugger in debuggers:
    do(debugger, "profile report --limit 1")
lldb.SBDebugger.Destroy(debuggers[0])
do(debuggers[1], "profile status")
print("the end")
"""


class ExceptionTest(LldbCase):
    samples_by_perf = False

    def test_a_command_that_throws(self) -> None:
        throwing = os.environ.get("TALLY_THROWING", "")
        self.assertTrue(os.path.exists(throwing), throwing)

        def measure(lldb: str) -> None:
            result = run_lldb(
                ["profile status", "profile start", "run", "profile report"],
                program("exit_status"),
                ["7", "0.05"],
                lldb=lldb,
                environment={"TALLY_LIBRARY": throwing},
            )
            self.assertEqual(result.stderr.count("error: thrown on purpose"), 3, result)
            self.assertIn("exited with status = 7", result.stdout)
            self.assertEqual(result.status, 0, result)

        self.in_each(measure)


class PythonHostTest(LldbCase):
    def host(self, flags: str) -> str:
        script = HOST.format(flags=flags, plugin=lldb_plugin(), program=program("spin7030"))
        shown = run_python(script)
        self.assertEqual(shown.splitlines()[-1:], ["the end"], shown)
        return shown

    def test_two_debuggers_of_one_process(self) -> None:
        shown = self.host("os.RTLD_GLOBAL")
        self.assertEqual(shown.count("ticks in total"), 2, shown)
        self.assertEqual(shown.count("seventy"), 2, shown)

    def test_a_module_that_hides_its_functions(self) -> None:
        """The loader cannot resolve the plug-in's symbols: LLDB reports this, and continues."""
        shown = self.host("0")
        self.assertIn("['plugin', 'load'] False", shown)
        self.assertIn("['run'] True", shown)


if __name__ == "__main__":
    run_unittests()
