"""Helpers for the tests in this directory: they run each LLDB, and split its output by command.

    def measure(lldb: str) -> None:
        result = run_lldb(["profile start", "run", "profile status"], program("spin7030"), ["1"],
                          lldb=lldb)
        self.assertEqual(status_of(result)["parts"], "1", result)
    self.in_each(measure)
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Callable

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.lldb_driver import LldbResult, in_each_lldb, lldb_name, lldb_programs, need_lldb
from support.programs import lldb_plugin, program
from support.skips import need_perf
from support.tables import Report, parse_report, parse_status

REPORT = "profile report --limit 0"
PARTS = "profile report --by part --limit 0"


class LldbCase(unittest.TestCase):
    """A test case that drives each LLDB."""

    samples_by_perf = True

    def setUp(self) -> None:
        need_lldb()
        if self.samples_by_perf:
            need_perf()

    def in_each(self, measure: Callable[[str], None]) -> None:
        """Calls `measure` with each LLDB."""
        in_each_lldb(self, measure)


def pid_of(launched: str) -> int:
    """Returns the process of LLDB's message `Process 7 launched: …`."""
    found = re.search(r"Process (\d+) launched", launched)
    assert found, launched
    return int(found[1])


def text_of(result: LldbResult, command: str, which: int = 0) -> str:
    """Returns standard output from the given use of the command up to the next command."""
    uses = result.stdout.split(f"(lldb) {command}\n")[1:]
    if which >= len(uses):
        raise AssertionError(f"{command!r} was played {len(uses)} times\n{result}")
    return ("\n" + uses[which]).partition("\n(lldb) ")[0][1:]


def report_of(result: LldbResult, command: str = REPORT, which: int = 0) -> Report:
    try:
        return parse_report(text_of(result, command, which))
    except ValueError as error:
        raise AssertionError(f"{error}\n{result}") from None


def status_of(result: LldbResult, which: int = 0) -> dict[str, str]:
    return parse_status(text_of(result, "profile status", which))


def _python_with_lldb(lldb: str, folder: str) -> dict[str, str]:
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


def run_python(script: str) -> str:
    """Returns the output of a Python program that uses the module of the first LLDB."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["/usr/bin/python3", "-c", script],
            env=_python_with_lldb(lldb_programs()[0], folder),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    if done.returncode != 0:
        raise AssertionError(str(done))
    return done.stdout


# The beginning of a client of LLDB's API, which executes commands by do(). format() fills in {plugin}.
CLIENT = """
import os, subprocess, sys, time
sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
import lldb
debugger = lldb.SBDebugger.Create()
debugger.SetAsync(False)
def do(command):
    result = lldb.SBCommandReturnObject()
    debugger.GetCommandInterpreter().HandleCommand(command, result)
    print(result.GetOutput() or "", result.GetError() or "", sep="", end="")
do("plugin load {plugin}")
"""
_RESUMES = (
    CLIENT
    + """for command in {before}:
    do(command)
target = debugger.CreateTarget("{program}")
target.BreakpointCreateByName("checkpoint")
process = target.LaunchSimple({arguments}, None, "/")
for _ in range({stops} - 1):
    time.sleep({look_s})
    for command in {at_stop}:
        do(command)
    process.Continue()
time.sleep({look_s})
for command in {last}:
    do(command)
print(process.GetSTDOUT(65536))
"""
)


def resumes(
    name: str, arguments: list[str], stops: int, look_s: float, **commands: list[str]
) -> str:
    """Returns the output of a script that resumes the program, without a command, until its given
    stop. It looks at each stop for some time, and then executes `at_stop`, or `last` at the last.
    """
    shown: dict[str, list[str]] = {"before": [], "at_stop": [], "last": [], **commands}
    return run_python(
        _RESUMES.format(
            plugin=lldb_plugin(),
            program=program(name),
            arguments=arguments,
            stops=stops,
            look_s=look_s,
            **shown,
        )
    )
