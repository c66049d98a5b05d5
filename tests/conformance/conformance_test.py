"""Plays each *.scenario of this directory in GDB, or in each LLDB; all must match the same file.

    conformance_test.py gdb|lldb [argument of unittest]...

A scenario begins with comments (`# …`) and with what it needs, one per line:

    program NAME [ARGUMENT]...    the program to debug, of tests/programs
    attached NAME [ARGUMENT]...   a process that already runs, for `attach`, and sleeps until
                                  then (spin7030_traced does)
    core NAME [ARGUMENT]...       the program's core file, made at `checkpoint`, for `core`
    under NAME [ARGUMENT]...      the program that runs the debugger itself
    needs watchpoints             hardware watchpoints work
    needs kernel                  perf samples the kernel, too
    needs gcc                     the programs were compiled by GCC

Then come commands (`> …`), each followed by what Tally prints for it. Commands `profile …` go to
both debuggers unchanged; players.py translates the others. Blank lines are ignored.

After a `profile` command, all output of the debugger is compared. After another command, only the
lines that begin like Tally's messages are. LLDB's `error: ` and its own lines about events
(`Process 7 exited …`) are removed, runs of blanks become one blank, and of a path only the last
name remains. The remark that samples were lost is removed, because a busy machine loses some. If
perf may sample user code only, Tally's remarks about that are removed, too. Then each line must
match the scenario's line, in which

    N    matches any number: 7, 0.25, -1.5, 0x1168; every other number matches itself only
    …    matches any text; alone on a line it matches any number of lines, including none
    ~    before each of several lines lets these come in any order

A scenario holds nothing that depends on chance: of a table it has the heavy rows (`--limit`).

One rule is for LLDB alone. LLDB has no event that tells a plug-in at once what another command did.
Therefore what Tally prints about `run` or `detach` may come first in the output of the next
`profile` command.
"""
import os
import sys
import unittest
from pathlib import Path
from typing import Callable

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..")]
from players import Played, play_in_gdb, play_in_lldb
from scenario_file import (
    Scenario,
    difference,
    read_scenario,
    without_remarks_on_a_busy_machine,
    without_remarks_on_user_code,
)
from support.lldb_driver import in_each_lldb, lldb_name, need_lldb
from support.programs import program
from support.skips import (
    need_hardware_watchpoints,
    need_kernel_samples,
    need_perf,
    need_tools,
    perf_samples_the_kernel,
    run_unittests,
)

FOLDER = Path(__file__).parent


def need_counters_of_gcc() -> None:
    """Skips the test if another compiler made the program `counted`: libgcov's list is missing."""
    if b"__gcov_root" not in Path(program("counted")).read_bytes():
        raise unittest.SkipTest("the programs were not compiled by GCC")


NEEDS = {
    "watchpoints": need_hardware_watchpoints,
    "kernel": need_kernel_samples,
    "gcc": need_counters_of_gcc,
}


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
            need_tools("gdb")  # GDB makes the core file
        if self.debugger == "gdb":
            self.hold(scenario, "gdb", play_in_gdb)
        else:
            in_each_lldb(
                self,
                lambda lldb: self.hold(
                    scenario, lldb_name(lldb), lambda scenario: play_in_lldb(scenario, lldb)
                ),
            )

    def hold(self, scenario: Scenario, name: str, player: Callable[[Scenario], Played]) -> None:
        played = player(scenario)
        printed = tuple(map(without_remarks_on_a_busy_machine, played.printed))
        if not perf_samples_the_kernel():
            printed = tuple(map(without_remarks_on_user_code, printed))
        found = difference(scenario, printed, name, self.debugger == "lldb")
        if found:
            self.fail(f"{scenario.name} in {name}\n{found}\n\n{played.result}")


def _add(path: Path) -> None:
    def test(self: ConformanceTest) -> None:
        self.play(read_scenario(path))

    setattr(ConformanceTest, f"test_{path.stem}", test)


for _path in sorted(FOLDER.glob("*.scenario")):
    _add(_path)


if __name__ == "__main__":
    ConformanceTest.debugger = sys.argv.pop(1)
    run_unittests()
