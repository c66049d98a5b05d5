"""Tests the shares of real time that the agent counts, and how many ticks come, with each clock.

The number of samples follows from the error that is allowed (support/shares.py). Nothing is
measured again. Shares are those of `seventy` and `thirty` relative to each other, because on a busy
machine a signal arrives late, at the program's next system call.
"""
from __future__ import annotations

import os
import sys
import unittest

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..")]
from recording import Recorded, record
from support.shares import assert_share
from support.skips import need_perf, run_unittests

# A hypervisor that preempts the processor takes away ticks that fall due meanwhile.
LEAST = 0.5


class Rates(unittest.TestCase):
    def check(self, run: Recorded, frequency: int, clock: str) -> None:
        self.assertEqual(run.status, 0, run.messages)
        self.assertIn(f"the agent's clock was {clock}", run.messages)
        samples, seconds, lost = run.summary()
        self.assertGreater((samples + lost) / seconds, LEAST * frequency, run.messages)
        self.assertLess(samples / seconds, 1.05 * frequency, run.messages)

    def check_share(self, run: Recorded, error: float) -> None:
        seventy, thirty = run.of("seventy"), run.of("thirty")
        assert_share(self, seventy, seventy + thirty, 0.7, error, run.messages)

    def test_ticker(self) -> None:
        for frequency, seconds, error in ((1000, "2", 0.08), (4000, "1", 0.06)):
            run = record("spin7030", seconds, frequency=frequency)
            self.check(run, frequency, "ticker")
            self.check_share(run, error)

    def test_ring(self) -> None:
        need_perf()
        run = record("spin7030", "1", frequency=4000, perf=True)
        self.check(run, 4000, "ring")
        self.check_share(run, 0.06)

    def test_timer(self) -> None:
        run = record("spin7030", "2", frequency=100)
        self.check(run, 100, "timer")
        self.check_share(run, 0.24)

    def test_threads(self) -> None:
        run = record("spin7030_threads", "0.5")
        self.check(run, 1000, "ticker")
        self.check_share(run, 0.08)

    def test_threads_that_come_and_go(self) -> None:
        run = record("threads_late", "both", frequency=2000)
        self.check(run, 2000, "ticker")


if __name__ == "__main__":
    run_unittests()
