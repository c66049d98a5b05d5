"""Tests `profile start --clock wall`: the waits of the program, and none of the debugger's."""
from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, Play, play_gdb
from support.programs import program
from support.skips import need_kernel_samples, run_unittests


class WaitsTest(GdbCase):
    def setUp(self) -> None:
        super().setUp()
        need_kernel_samples()

    def assert_times(self, play: Play, delta: float) -> None:
        """Compares the waits of `waits 50`, whose threads were stopped once, with its running time."""
        running = float(play.status()["running"].split()[0])
        threads = {
            row["name"]: row["self"]
            for row in json.loads(play.text("profile report --by thread --limit 0 --json"))[
                "threads"
            ]
        }
        # wait_sleep sleeps 50 times 15 ms, one of which the stop of a second has ended.
        self.assertAlmostEqual(threads["wait_sleep"][1] / 1e9, 0.75, delta=delta)
        for name, (_, wait, queued, *_) in threads.items():
            self.assertLess((wait + queued) / 1e9, running + 0.05, name)

    def test_the_debuggers_time_does_not_count(self) -> None:
        play = play_gdb(
            [
                "profile start --clock wall",
                "break wait_pipe if 0",
                "break main",
                "run",
                "shell sleep 0.5",
                "break wait_select",
                "continue",
                "shell sleep 1",
                "delete 3",
                "next",
                "stepi",
                "continue",
                "profile status",
                "profile report --by thread --limit 0 --json",
            ],
            program("waits"),
            ["50"],
        )
        self.assertEqual(play.stderr, "", play)
        status = play.status()
        self.assertEqual(status["clock"], "wall (CPU time is sampled, and each wait is measured)")
        self.assertGreaterEqual(status.count("waits"), 12 * 49)
        self.assert_times(play, delta=0.08)

    def test_the_agent(self) -> None:
        play = play_gdb(
            [
                "profile start --clock wall --backend agent",
                "break main",
                "run",
                "shell sleep 0.5",
                "break wait_select",
                "continue",
                "shell sleep 1",
                "delete 2",
                "continue",
                "profile status",
                "profile report --by thread --limit 0 --json",
            ],
            program("waits"),
            ["50"],
        )
        self.assertEqual(play.stderr, "", play)
        status = play.status()
        self.assertRegex(status["clock"], r"^wall \(CPU time is sampled; the time of waits is")
        self.assertNotIn("waits", status.values)
        self.assert_times(play, delta=0.15)

    def test_values_of_the_tables(self) -> None:
        play = play_gdb(
            [
                "profile start --clock wall",
                "run",
                "profile report --limit 3",
                "profile tree --value waits --limit 5",
                "profile annotate wait_poll --event wait",
                "profile report --value weight",
                "profile dump /dev/null --format folded --value wait",
                "complete profile report --value ",
            ],
            program("waits"),
        )
        self.assertRegex(
            play.text("profile report --limit 3"), r"^\S+ \S+ cpu, .* wait, .* queued, \d+ waits in"
        )
        self.assertRegex(play.text("profile tree --value waits --limit 5"), r"^\d+ waits in total")
        self.assertRegex(
            play.text("profile annotate wait_poll --event wait"), r"wait_poll|waits\.c"
        )
        self.assertRegex(
            play.text("profile dump /dev/null --format folded --value wait"),
            r"^Wrote [\d.]+ m?s wait",
        )
        self.assertEqual(
            play.text("complete profile report --value ").split(),
            " ".join(
                f"profile report --value {name}" for name in ("cpu", "queued", "wait", "waits")
            ).split(),
        )
        self.assertIn("there is no event 'weight'", play.stderr)

    def test_refusals(self) -> None:
        play = play_gdb(
            [
                "profile start --clock wall --backend agent --event page-faults",
                "profile start --clock wall --event page-faults",
                "profile status",
            ],
            program("waits"),
        )
        self.assert_refused(play, "^--backend agent: samples the clock only")
        self.assertIn(
            "1000 Hz of CPU time, page-faults (each one), each wait",
            play.text("profile start --clock wall --event page-faults"),
        )
        status = play.status()
        self.assertEqual(status["event"], "1000 Hz of CPU time, page-faults (each one)")
        self.assertRegex(status["clock"], "^wall ")


if __name__ == "__main__":
    run_unittests()
