"""Tests several inferiors in one GDB: each is sampled, and each has its own row, parts and times."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from scenario import PARTS, GdbCase, Play, play_gdb
from support.programs import program
from support.shares import assert_ticks
from support.skips import run_unittests

SECOND = [f"add-inferior -exec {program('stops')}", "inferior 2", "set args 0.1"]
SPIN = (program("spin7030"), ["0.3", "2"])
CHECKPOINT = r"breakpoint 1, spin7030\.c:\d+"
PROCESSES = "profile report --by process --limit 0"


def processes(play: Play, which: int = -1) -> dict:
    """Returns the ticks of each process in the table PROCESSES, by the name of its program."""
    rows = play.report("--by process --limit 0", which).rows
    ticks: dict[str, int] = {}
    for row in rows:
        name = row.name.split()[1]
        ticks[name] = ticks.get(name, 0) + row.self_ticks
    return ticks


class InferiorsTest(GdbCase):
    def assert_parts(self, parts: list, *patterns: str) -> None:
        self.assertEqual(len(parts), len(patterns), parts)
        for part, pattern in zip(parts, patterns):
            self.assertRegex(part, f"^{pattern}$")

    def test_each_inferior_is_sampled(self) -> None:
        """The runs, stops and end of one inferior are not attributed to the other."""
        play = play_gdb(
            [
                "profile start",
                "break checkpoint",
                "run",
                "profile status",
                PROCESSES,
                *SECOND,
                "break here",
                "profile start",
                "run",
                "profile status",
                PROCESSES,
                PARTS,
                "kill",
                PROCESSES,
                "inferior 1",
                "delete",
                "continue",
                "profile status",
                PARTS,
                PROCESSES,
                "profile report --limit 0",
                "profile timeline --json",
            ],
            *SPIN,
        )
        refusals = [line for line in play.stderr.splitlines() if line.startswith("profile")]
        self.assertEqual(len(refusals), 1, play)
        alone, both, ended = (play.status(which) for which in range(3))
        self.assertRegex(
            refusals[0], rf"^profile start: process {alone['pid']} is already being sampled"
        )
        self.assertEqual((both["state"], both["pid"]), ("sampling", alone["pid"]), play)
        other = both["other_pids"]
        self.assertNotIn("other_pids", alone.values)
        self.assertNotIn("other_pids", ended.values)
        first, second, after_kill, last = (processes(play, which) for which in range(4))
        self.assertEqual(second["spin7030"], first["spin7030"], play)
        # The kernel's work on a process that ends is the process's own: a tick, or the next one, too.
        end = after_kill["stops"] - second["stops"]
        self.assertIn(end, range(3), play)
        self.assertEqual({**second, "stops": second["stops"] + end}, after_kill, play)
        self.assertEqual(last["stops"], after_kill["stops"], play)
        self.assertEqual(both.count("samples"), sum(second.values()), play)
        assert_ticks(self, second["stops"], 100, play)
        assert_ticks(self, last["spin7030"], 300, play)
        of_other = [rf"process {other}: breakpoint 2, stops\.c:\d+"]
        self.assert_parts(play.parts(0), CHECKPOINT, *of_other)
        if end:
            of_other.append(f"process {other}: killed")
        self.assert_parts(play.parts(1), CHECKPOINT, *of_other, "exited, status 0")
        self.assertRegex(ended["state"], "^armed")
        names = [row.name for row in play.report("--limit 0").rows]
        self.assertLessEqual({"work", "seventy", "thirty"}, set(names), play)
        # They ran one after the other, and so do their rows.
        timeline = json.loads(play.text("profile timeline --json"))
        self.assertEqual(len(timeline["threads"]), 2, timeline)

    def test_both_inferiors_continue_together(self) -> None:
        """With schedule-multiple, a stop of either inferior stops both."""
        play = play_gdb(
            [
                "profile start",
                "break checkpoint",
                "run",
                *SECOND,
                "break here",
                "run",
                "set schedule-multiple on",
                "delete",
                "continue",
                "profile status",
                "shell sleep 1",
                "profile status",
                PARTS,
                PROCESSES,
            ],
            program("spin7030"),
            ["2", "5"],
        )
        self.assertEqual(play.stderr.count("profile"), 0, play)
        self.assertIn("SIGUSR1", play.text("continue"))
        before, after = (play.status(which) for which in range(2))
        self.assertEqual(before["running"], after["running"], play)
        self.assertEqual(before["samples"], after["samples"], play)
        other = f"process {before['other_pids']}: "
        parts = play.parts()
        self.assert_parts(parts[:2], CHECKPOINT, other + r"breakpoint 2, stops\.c:\d+")
        self.assert_parts(sorted(parts[2:]), "SIGUSR1", other + "SIGUSR1")
        assert_ticks(self, processes(play)["stops"], 400, play)

    def test_one_inferior_runs_while_another_is_selected(self) -> None:
        play = play_gdb(
            [
                "set non-stop on",
                "profile start",
                "break checkpoint",
                "run",
                *SECOND,
                "run",
                PROCESSES,
                "inferior 1",
                "continue &",
                "inferior 2",
                "continue",
                "shell sleep 1",
                PROCESSES,
                "profile report",
            ],
            program("spin7030"),
            ["0.2", "1"],
        )
        before, after = (processes(play, which) for which in range(2))
        assert_ticks(self, before["spin7030"], 100, play)
        self.assertGreater(after["spin7030"], before["spin7030"], play)
        self.assertLess(after["spin7030"], 250, play)
        self.assertGreater(after["stops"], before["stops"], play)

    def test_an_inferior_ends_while_another_is_selected(self) -> None:
        for leave, kind in (("kill inferiors 1", "killed"), ("detach inferiors 1", "detached")):
            with self.subTest(leave):
                play = play_gdb(
                    [
                        "profile start",
                        "break checkpoint",
                        "run",
                        "profile status",
                        *SECOND,
                        leave,
                        "profile status",
                        "profile report",
                    ],
                    *SPIN,
                )
                self.assertEqual(play.stderr, "", play)
                state = "armed" if kind == "killed" else "stopped"
                self.assertRegex(play.status()["state"], f"^{state}")
                self.assertEqual("ended: detached" in play.text(leave), kind == "detached", play)
                # The kernel records ticks while it ends or continues the process, more of them on a
                # busy machine. If the sampling went on, they would be hundreds.
                later = play.report().total - play.status(0).count("samples")
                self.assertLessEqual(later, 30, play)

    def test_the_other_stays_when_the_first_ends(self) -> None:
        """Its sampling goes on, and a process that joins later is added."""
        play = play_gdb(
            [
                "profile start",
                "break checkpoint",
                "run",
                *SECOND,
                "break here",
                "run",
                "kill inferiors 1",
                "profile status",
                "continue",
                PROCESSES,
                "inferior 1",
                "run",
                "profile status",
                PROCESSES,
                "profile stop",
                "profile status",
                PARTS,
            ],
            *SPIN,
        )
        self.assertEqual(play.stderr.count("profile"), 0, play)
        one, two, ended = (play.status(which) for which in range(3))
        self.assertEqual(one["state"], "sampling")
        self.assertNotIn("other_pids", one.values)
        self.assertEqual(two["pid"], one["pid"])
        self.assertEqual(ended["state"], "stopped")
        before, after = (processes(play, which) for which in range(2))
        self.assertEqual(before["stops"], after["stops"], play)
        assert_ticks(self, before["stops"], 400, play)
        assert_ticks(self, after["spin7030"] - before["spin7030"], 100, play)

    def test_a_forked_child_is_an_inferior(self) -> None:
        """With detach-on-fork off, the child stays stopped until the user continues it."""
        play = play_gdb(
            [
                "set detach-on-fork off",
                "profile start",
                "break parent_spin",
                "run",
                "inferior 2",
                "continue",
                "inferior 1",
                "continue",
                "profile report --by process --limit 0 --json",
                "profile report --limit 0",
            ],
            program("forker"),
            ["0.1"],
        )
        self.assertEqual(play.stderr.count("profile"), 0, play)
        rows = play.report("--limit 0").rows
        for name in ("child_spin", "parent_spin"):
            ticks = [row.self_ticks for row in rows if row.name == name]
            assert_ticks(self, sum(ticks), 100, f"{name}\n{play}")

    def test_what_samples_one_process(self) -> None:
        """A message says so, once for each of the others."""
        for start, why, seconds in (
            (
                "profile start --backend interrupt",
                "the interrupt backend samples one process",
                "0.9",
            ),
            ("profile region seventy", "a region belongs to one process", "0.3"),
        ):
            with self.subTest(start):
                play = play_gdb(
                    [
                        start,
                        "break checkpoint",
                        "run",
                        "profile status",
                        *SECOND,
                        "break here",
                        "run",
                        "continue",
                        PROCESSES,
                    ],
                    program("spin7030"),
                    [seconds, "2"],
                )
                first = play.status()["pid"]
                said = re.findall(r"Process (\d+) is not sampled: (.*)\.", str(play))
                self.assertEqual(len(said), 1, play)
                self.assertNotEqual(said[0][0], first)
                self.assertEqual(said[0][1], f"{why}, and now that is process {first}")
                self.assertEqual(list(processes(play)), ["spin7030"])

    def test_another_may_be_sampled_after_the_first(self) -> None:
        play = play_gdb(
            [
                "profile start",
                "break checkpoint",
                "run",
                "profile stop",
                *SECOND,
                "profile start",
                "break here",
                "run",
                "profile status",
                "profile report --limit 0",
                "profile diff previous",
            ],
            *SPIN,
        )
        self.assertEqual(play.stderr, "", play)
        self.assertRegex(play.text("profile start", 1), "^Sampling begins with the next process")
        assert_ticks(self, play.status().count("samples"), 100, play)
        names = [row.name for row in play.report("--limit 0").rows]
        self.assertIn("work", names)
        self.assertNotIn("seventy", names)


if __name__ == "__main__":
    run_unittests()
