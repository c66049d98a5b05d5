"""Plays each *.scenario of this folder with GDB, or with each LLDB: both must match the same file.

    conformance_test.py gdb|lldb [argument of unittest]...

A scenario begins with comments (`# …`) and with what it needs, a line each:

    program NAME [ARGUMENT]...    the program to debug, of tests/programs
    attached NAME [ARGUMENT]...   a process that runs already, for `attach`
    core NAME [ARGUMENT]...       its core file, made at `checkpoint`, for `core`
    under NAME [ARGUMENT]...      the program that the debugger itself is run by
    needs watchpoints             hardware's
    needs kernel                  perf samples the kernel, too

Then come commands (`> …`), each followed by what Tally prints to it. `profile …` goes to both
debuggers as it stands; players.py translates the other words. Blank lines mean nothing.

Of what a debugger printed, all that follows a `profile` command is Tally's; what follows another
is passed over, but for lines that begin as Tally's news do. LLDB's `error: ` and its own lines on
events (`Process 7 exited …`) are taken off, blanks are counted as one, and of paths the last name
is left. Where perf may sample user code only, what Tally says of that is taken off, too. Then each
line must be as the scenario has it, where

    N    stands for any number: 7, 0.25, -1.5, 0x1168; every other number is meant
    …    stands for any text; alone on its line, for any number of lines, none too
    ~    before each of some lines: they come in any order

and is nothing that depends on chance: of a table the file has the heavy rows (`--limit`).

One rule is for LLDB alone: it has no event that tells a plug-in at once what another command did,
so what Tally says to `run` or `detach` may stand at the head of the next `profile` command.
"""
import os
import re
import sys
import unittest
from pathlib import Path
from typing import Callable

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..")]
from players import Played, play_in_gdb, play_in_lldb
from scenario_file import Scenario, difference, read_scenario
from support.chance import with_one_retry
from support.lldb_driver import in_each_lldb, lldb_name, need_lldb
from support.skips import (need_hardware_watchpoints, need_kernel_samples, need_perf, need_tools,
                           perf_samples_the_kernel, run_unittests)

FOLDER = Path(__file__).parent
NEEDS = {"watchpoints": need_hardware_watchpoints, "kernel": need_kernel_samples}
USER_ONLY = re.compile(r"^\(user code only: .*\)$\n?| in user code only| \(user code only: .*\)$",
                       re.MULTILINE)


class ConformanceTest(unittest.TestCase):
    debugger = "gdb"

    def setUp(self) -> None:
        if self.debugger == "gdb":
            need_tools("gdb")
        else:
            need_lldb()
        need_perf()

    def play(self, scenario: Scenario) -> None:
        for name in scenario.head.get("needs", []):
            NEEDS[name]()
        if "core" in scenario.head:
            need_tools("gdb")  # makes it
        if self.debugger == "gdb":
            self.hold(scenario, "gdb", play_in_gdb)
        else:
            in_each_lldb(self, lambda lldb: self.hold(
                scenario, lldb_name(lldb), lambda scenario: play_in_lldb(scenario, lldb)))

    def hold(self, scenario: Scenario, name: str, player: Callable[[Scenario], Played]) -> None:
        def measure() -> None:
            played = player(scenario)
            printed = played.printed
            if not perf_samples_the_kernel():
                printed = tuple(USER_ONLY.sub("", text) for text in printed)
            found = difference(scenario, printed, name, self.debugger == "lldb")
            if found:
                self.fail(f"{scenario.name} in {name}\n{found}\n\n{played.result}")
        with_one_retry(measure)


def _add(path: Path) -> None:
    def test(self: ConformanceTest) -> None:
        self.play(read_scenario(path))
    setattr(ConformanceTest, f"test_{path.stem}", test)


for _path in sorted(FOLDER.glob("*.scenario")):
    _add(_path)


if __name__ == "__main__":
    ConformanceTest.debugger = sys.argv.pop(1)
    run_unittests()
