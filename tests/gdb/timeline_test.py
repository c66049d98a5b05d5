"""Tests `profile timeline`, and --from and --to of the tables."""
from __future__ import annotations

import itertools
import json
import os
import sys
from typing import Dict

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, Play, play_gdb
from support.programs import program
from support.skips import need_kernel_samples, run_unittests

PHASE = 0.3  # seconds
REPORT = "profile report --json --limit 0"
# Sets `end` to the running time, in µs, at which the first part ends.
END = (
    "python import json; end = json.loads(gdb.execute('profile timeline --json', to_string=True))"
    "['parts'][0]['end_ns'] // 1000"
)


class TimelineTest(GdbCase):
    def setUp(self) -> None:
        super().setUp()
        need_kernel_samples()

    def play(self, *commands: str) -> Play:
        """Samples the three phases, with two seconds at the prompt before the third."""
        play = play_gdb(
            [
                "profile start --clock wall --frequency 2000",
                "break second",
                "run",
                "shell sleep 2",
                "continue",
                *commands,
            ],
            program("phases"),
            [str(PHASE)],
        )
        self.assertEqual(play.stderr, "", play)
        return play

    def cpu_of(self, play: Play, command: str) -> Dict[str, float]:
        """Returns the CPU time of each function, in seconds."""
        rows = json.loads(play.text(command))["functions"]
        return {row["name"]: row["self"][0] / 1e9 for row in rows}

    def test_three_phases(self) -> None:
        """Compares with the times that the program itself measured."""
        play = self.play(
            "profile timeline --json --width 90", "profile timeline --width 90", "profile status"
        )
        shown = json.loads(play.text("profile timeline --json --width 90"))
        end = shown["axis"]["to_ns"] / 1e9
        first, sleep, second = (
            play.program_value(f"{name}_elapsed") for name in ("first", "sleep", "second")
        )
        # The time at the prompt is no part of the axis, but the program's start is.
        self.assertGreater(end, first + sleep + second - 0.01)
        self.assertAlmostEqual(end, play.status().number("running"), delta=0.01)
        self.assertGreater(play.status().number("stopped"), 2 - 0.01)
        main = min(shown["threads"], key=lambda thread: int(thread["begin_ns"]))
        cell = (shown["axis"]["to_ns"] - shown["axis"]["from_ns"]) / shown["axis"]["cells"]

        def share(state: str, begin: float, stop: float) -> float:
            """Returns the share of a stretch, in seconds, that the thread was in the state. The
            cells at its ends do not count."""
            inner = main[state][int(begin * 1e9 / cell) + 1 : int(stop * 1e9 / cell)]
            return float(sum(inner)) / (cell * max(len(inner), 1))

        stop = shown["parts"][0]["end_ns"] / 1e9  # after the sleep, and before `second`
        waits = [i for i, waited in enumerate(main["waiting"]) if waited > cell / 2]
        stretches = [
            [i for _, i in stretch]
            for _, stretch in itertools.groupby(enumerate(waits), lambda pair: pair[1] - pair[0])
        ]
        cells = max((each for each in stretches if each[0] * cell < stop * 1e9), key=len)
        asleep, awake = cells[0] * cell / 1e9, (cells[-1] + 1) * cell / 1e9
        self.assertGreater(awake - asleep, PHASE - 2 * cell / 1e9)
        self.assertLess(awake - asleep, sleep + 2 * cell / 1e9)
        self.assertGreater(share("waiting", asleep, awake), 0.95)
        computes = (asleep - first, asleep)
        self.assertGreater(share("running", *computes) + share("queued", *computes), 0.8)
        self.assertAlmostEqual(
            share("running", *computes), play.program_value("first_cpu") / first, delta=0.1
        )
        self.assertLess(share("waiting", stop, stop + second), 0.1)
        self.assertGreater(stop, awake - 2 * cell / 1e9)
        worker = max(shown["threads"], key=lambda thread: int(thread["begin_ns"]))
        self.assertEqual(worker["name"], "worker")
        row = next(
            line
            for line in play.text("profile timeline --width 90").splitlines()
            if "phases" in line and "." in line
        )
        self.assertRegex(row, r"[#-]+ ?\.+[ |]*[#-]+")

    def test_slices(self) -> None:
        # In ms from the end of the first part: in `first`, asleep, and in `second`. GDB may hold the
        # program for most of that when its thread starts, and that time is not on the axis.
        cuts = [-PHASE * 1500, -PHASE * 500, 10]
        slices = [
            f"python gdb.execute('{REPORT}{begin}{to}')"
            for begin, to in zip(
                ["", *(f" --from %dus' % (end + {cut:.0f}000) + '" for cut in cuts)],
                [*(f" --to %dus' % (end + {cut:.0f}000) + '" for cut in cuts), ""],
            )
        ]
        play = self.play(END, REPORT, *slices)
        whole = json.loads(play.text(REPORT))
        sums = [0] * len(whole["totals"])
        for command in slices:
            for i, total in enumerate(json.loads(play.text(command))["totals"]):
                sums[i] += total
        for name, total, parts in zip(whole["events"], whole["totals"], sums):
            # Intervals are cut at multiples of 10 µs, and their lengths add up to the sum.
            self.assertAlmostEqual(parts / 1e9, total / 1e9, delta=0.001, msg=name)
        self.assertNotIn("second", self.cpu_of(play, slices[0]))
        self.assertNotIn("first", self.cpu_of(play, slices[-1]))

    def test_the_end_of_a_part_is_exact(self) -> None:
        """`second` begins where the part ends; 10 ms before and after, the functions differ. On a busy
        machine GDB learns of the stop later than that, and meanwhile `second` waits, without CPU time.
        """
        before, after = (
            f"python gdb.execute('{REPORT} --{option} %dus' % (end {shift} 10000))"
            for option, shift in (("to", "-"), ("from", "+"))
        )
        play = self.play(END, before, after)
        self.assertEqual(self.cpu_of(play, before).get("second", 0), 0)
        self.assertGreater(self.cpu_of(play, before)["first"], 0)
        self.assertEqual(self.cpu_of(play, after).get("first", 0), 0)
        self.assertGreater(self.cpu_of(play, after)["second"], 0)

    def test_refusals(self) -> None:
        commands = [
            "profile timeline --from 300ms --to 100ms",
            "profile timeline --from 20s",
            "profile report --from soon",
            "profile timeline out.png",
            "profile timeline --width 3",
        ]
        play = play_gdb(
            ["profile start --clock wall", "run", *commands], program("phases"), ["0.05"]
        )
        self.assertEqual(
            play.stderr.splitlines(),
            [
                "--to: expected a time after that of --from",
                "there are no samples between these times",
                "--from: expected a time such as 1.2s, 300ms or 15us, found 'soon'",
                "out.png: a timeline is written as an SVG: name a FILE.svg",
                "--width: expected a whole number from 40 to 10000, found '3'",
            ],
        )


if __name__ == "__main__":
    run_unittests()
