"""Tests several inferiors in one GDB: events of the others do not affect the sampled process."""
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from scenario import PARTS, GdbCase, play_gdb
from support.programs import program
from support.skips import run_unittests

SECOND = [f"add-inferior -exec {program('stops')}", "inferior 2", "set args 0.2"]
SPIN = (program("spin7030"), ["0.9", "2"])
CHECKPOINT = r"breakpoint 1, spin7030\.c:\d+"


class InferiorsTest(GdbCase):
    def assert_parts(self, parts: list, *patterns: str) -> None:
        self.assertEqual(len(parts), len(patterns), parts)
        for part, pattern in zip(parts, patterns):
            self.assertRegex(part, f"^{pattern}$")

    def test_another_inferior_is_selected_and_run(self) -> None:
        """The runs, stops and end of another inferior are not attributed to the sampled one."""
        play = play_gdb(
            [
                "profile start",
                "break checkpoint",
                "run",
                *SECOND,
                "profile status",
                "break here",
                "profile start",
                "run",
                "profile status",
                "profile report --limit 0",
                PARTS,
                "print here(1)",
                "kill",
                "inferior 1",
                "delete",
                "continue",
                "profile status",
                PARTS,
                "profile report --limit 0",
            ],
            *SPIN,
        )
        refusals = [line for line in play.stderr.splitlines() if line.startswith("profile")]
        self.assertEqual(len(refusals), 1, play)
        selected, other_ran, ended = (play.status(which) for which in range(3))
        self.assertRegex(
            refusals[0], rf"^profile start: process {selected['pid']} is already being sampled"
        )
        self.assertEqual((selected["state"], other_ran["state"]), ("sampling", "sampling"))
        for name in ("pid", "samples", "running", "parts", "cpu"):
            self.assertEqual(other_ran[name], selected[name], f"{name}\n{play}")
        self.assertEqual(play.report("--limit 0", 0).total, selected.count("samples"), play)
        self.assert_parts(play.parts(0), CHECKPOINT)
        self.assertNotIn("work", [row.name for row in play.report("--limit 0").rows])
        self.assertRegex(ended["state"], "^armed")
        self.assertLess(abs(ended.count("samples") - 900), 150, play)
        self.assert_parts(play.parts(), CHECKPOINT, "exited, status 0")

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
            ],
            program("spin7030"),
            ["4", "5"],
        )
        self.assertEqual(play.stderr.count("profile"), 0, play)
        self.assertIn("SIGUSR1", play.text("continue"))
        before, after = (play.status(which) for which in range(2))
        self.assertEqual(before["running"], after["running"], play)
        self.assertEqual(before["samples"], after["samples"], play)
        self.assert_parts(play.parts(), CHECKPOINT, "SIGUSR1")

    def test_one_inferior_runs_while_another_is_selected(self) -> None:
        play = play_gdb(
            [
                "set non-stop on",
                "profile start",
                "break checkpoint",
                "run",
                *SECOND,
                "run",
                "profile status",
                "inferior 1",
                "continue &",
                "inferior 2",
                "continue",
                "shell sleep 1",
                "profile status",
                "profile report",
            ],
            program("spin7030"),
            ["0.6", "1"],
        )
        before, after = (play.status(which) for which in range(2))
        self.assertLess(abs(before.count("samples") - 300), 60, play)
        self.assertLess(abs(after.count("samples") - 600), 120, play)
        self.assertAlmostEqual(play.report().self_percent("seventy"), 70, delta=15)

    def test_the_sampled_inferior_ends_while_another_is_selected(self) -> None:
        for leave, state in (("kill inferiors 1", "armed"), ("detach inferiors 1", "stopped")):
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
                self.assertRegex(play.status()["state"], f"^{state}")
                self.assertEqual("ended: detached" in play.text(leave), state == "stopped", play)
                # The kernel records ticks while it ends or continues the process, more of them on a
                # busy machine. If the sampling went on, they would be hundreds.
                later = play.report().total - play.status(0).count("samples")
                self.assertLessEqual(later, 30, play)

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
        self.assertLess(abs(play.status().count("samples") - 200), 60, play)
        names = [row.name for row in play.report("--limit 0").rows]
        self.assertIn("work", names)
        self.assertNotIn("seventy", names)


if __name__ == "__main__":
    run_unittests()
