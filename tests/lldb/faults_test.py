"""Tests that defects of Tally, or of the process that LLDB is in, do not end LLDB."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from case import LldbCase
from support.lldb_driver import lldb_name, lldb_programs, run_lldb
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
                    "settings set target.run-args 0.3", "profile start", "run"):
        do(debugger, command)
for debugger in debuggers:
    do(debugger, "profile report --limit 1")
lldb.SBDebugger.Destroy(debuggers[0])
do(debuggers[1], "profile status")
print("the end")
"""


def python_with_lldb(lldb: str, folder: str) -> dict[str, str]:
    """Returns the environment in which Python finds this LLDB's module. Skips if there is none."""
    modules = sorted(
        Path("/usr/lib", lldb_name(lldb).replace("lldb", "llvm")).glob(
            "lib/python3.*/dist-packages/lldb/__init__.py"
        )
    )
    if not modules:
        raise unittest.SkipTest(f"not installed: python3-{lldb_name(lldb)}")
    # The link in Debian's package points at a liblldb that is elsewhere.
    shown = Path(folder, "lldb")
    shown.mkdir()
    for each in modules[0].parent.iterdir():
        if not each.name.startswith("_lldb"):
            os.symlink(each, shown / each.name)
    library = f"/usr/lib/{lldb_name(lldb).replace('lldb', 'llvm')}/lib/liblldb.so.1"
    os.symlink(library, shown / "_lldb.so")
    server = f"/usr/lib/{lldb_name(lldb).replace('lldb', 'llvm')}/bin/lldb-server"
    return {**os.environ, "PYTHONPATH": folder, "LLDB_DEBUGSERVER_PATH": server}


class ExceptionTest(LldbCase):
    samples_by_perf = False

    def test_a_command_that_throws(self) -> None:
        throwing = os.environ.get("TALLY_THROWING", "")
        self.assertTrue(os.path.exists(throwing), throwing)

        def measure(lldb: str) -> None:
            result = run_lldb(
                ["profile status", "profile start", "run", "profile report"],
                program("exit_status"),
                ["7"],
                lldb=lldb,
                environment={"TALLY_LIBRARY": throwing},
            )
            self.assertEqual(result.stderr.count("error: thrown on purpose"), 3, result)
            self.assertIn("exited with status = 7", result.stdout)
            self.assertEqual(result.status, 0, result)

        self.in_each(measure)


class PythonHostTest(LldbCase):
    def host(self, flags: str) -> str:
        lldb = lldb_programs()[0]
        with tempfile.TemporaryDirectory() as folder:
            environment = python_with_lldb(lldb, folder)
            done = subprocess.run(
                [
                    "/usr/bin/python3",
                    "-c",
                    HOST.format(flags=flags, plugin=lldb_plugin(), program=program("spin7030")),
                ],
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1:]), (0, ["the end"]), done)
        return done.stdout

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
