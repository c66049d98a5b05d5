"""Tests `profile start --event`: samples of an event in place of the clock."""
from __future__ import annotations

import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, play_gdb
from support.programs import program
from support.skips import need_kernel_samples, run_unittests


class EventsTest(GdbCase):
    def test_page_faults(self) -> None:
        play = play_gdb(
            [
                "profile start --event page-faults",
                "break by_read",
                "run",
                "profile status",
                "profile report --limit 0",
                "continue",
                "profile report --by part",
                "profile dump /dev/null --format callgrind",
            ],
            program("faults"),
        )
        self.assertEqual(play.stderr, "", play)
        self.assertRegex(
            play.text("profile start --event page-faults"),
            r"perf \(.*\), page-faults \(each one\)",
        )
        status = play.status()
        self.assertEqual(status["event"], "page-faults (each one)")
        self.assertGreaterEqual(status.count("counted"), status.count("samples"))
        for row in ("clock", "requested_hz", "delivered_hz"):
            self.assertNotIn(row, status.values)
        self.assertEqual(play.report("--limit 0").row("touch").inclusive_ticks, 300, play)
        self.assertRegex(play.text("profile report --by part"), "exited, status 0")
        self.assertRegex(play.sections[-1][1], r"Wrote \d+ page-faults to")

    def test_the_debuggers_stops_are_no_context_switches(self) -> None:
        need_kernel_samples()
        play = play_gdb(
            [
                "profile start --event context-switches",
                "break usleep if 0",
                "break sleeps",
                "run",
                "next",
                "stepi",
                "shell sleep 0.2",
                "delete 2",
                "continue",
                "profile report --limit 0",
                "profile status",
            ],
            program("faults"),
            ["50"],
        )
        self.assertEqual(play.stderr, "", play)
        report = play.report("--limit 0")
        # A busy machine also takes the processor from the program, in usleep and elsewhere.
        preempted = re.search(r"preempted (\d+) times", play.result.stdout)
        assert preempted is not None, play
        most = 50 + int(preempted.group(1))
        self.assertGreaterEqual(report.row("usleep").inclusive_ticks, 50, play)
        self.assertLessEqual(report.row("sleeps").inclusive_ticks, most, play)

    def test_refusals(self) -> None:
        play = play_gdb(
            [
                "profile start --event nonsense",
                "profile start --event page-faults --backend interrupt",
                "profile start --event page-faults --backend agent",
                "profile start --event context-switches --clock wall",
                "profile status",
            ],
            program("faults"),
        )
        self.assert_refused(
            play,
            "^--event: expected one of page-faults, .* found 'nonsense'",
            "^--backend interrupt: samples the clock only: other events need the perf backend",
            "^--backend agent: samples the clock only: other events need the perf backend",
            "^--event: context-switches cannot be sampled with --clock wall",
        )
        self.assertEqual(play.status()["state"], "idle")


if __name__ == "__main__":
    run_unittests()
