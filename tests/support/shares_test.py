"""Tests that the number of samples for a share keeps chance out of a comparison."""
from __future__ import annotations

import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.shares import assert_share, samples_for
from support.skips import run_unittests


class SharesTest(unittest.TestCase):
    def test_the_number_of_samples(self) -> None:
        self.assertEqual(samples_for(0.5, 0.1), 601)
        self.assertEqual(samples_for(0.7, 0.05), 2017)
        self.assertEqual(samples_for(0.3, 0.05), samples_for(0.7, 0.05))

    def test_chance_does_not_fail_it(self) -> None:
        source = random.Random(1)
        total = samples_for(0.7, 0.1)
        for _ in range(2000):
            ticks = sum(source.random() < 0.7 for _ in range(total))
            assert_share(self, ticks, total, 0.7, 0.1)

    def test_another_share_and_too_few_samples_fail_it(self) -> None:
        total = samples_for(0.7, 0.1)
        for ticks, of in ((total * 59 // 100, total), (total * 81 // 100, total), (7, 10)):
            with self.assertRaises(AssertionError):
                assert_share(self, ticks, of, 0.7, 0.1)


if __name__ == "__main__":
    run_unittests()
