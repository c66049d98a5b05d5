"""Compares a share of samples with the true share, so that chance does not decide a test.

    assert_share(self, seventy, seventy + thirty, 0.7, 0.05, play)

The number of samples in a function is binomially distributed. By the normal approximation, a
measured share misses the true one by more than `error` once in a million times if there are at
least samples_for(share, error) samples. A test lets the program run until there are that many.
"""
from __future__ import annotations

import math
import unittest

from support.tables import Report

# The normal distribution lies beyond this many standard deviations once in a million times.
DEVIATIONS = 4.9


def samples_for(share: float, error: float) -> int:
    """Returns how many samples show the share with at most this error. Both are parts of 1."""
    return math.ceil(share * (1 - share) * (DEVIATIONS / error) ** 2)


def assert_share(
    case: unittest.TestCase,
    ticks: int,
    total: int,
    share: float,
    error: float,
    message: object = None,
) -> None:
    """Asserts that `ticks` of `total` are this share, and that `total` suffices to tell."""
    case.assertGreaterEqual(total, samples_for(share, error), message)
    case.assertAlmostEqual(ticks / total, share, delta=error, msg=message)


def assert_seventy(
    case: unittest.TestCase, report: Report, error: float, message: object = None
) -> None:
    """Asserts that `seventy` has 0.7 of the ticks of spin7030's two functions. Other functions do
    not count: on a busy machine, the kernel and the loader have more of the ticks than usual."""
    seventy, thirty = report.row("seventy").self_ticks, report.row("thirty").self_ticks
    assert_share(case, seventy, seventy + thirty, 0.7, error, message)


def assert_ticks(
    case: unittest.TestCase,
    ticks: int,
    asked_ms: float,
    message: object = None,
    frequency: int = 1000,
) -> None:
    """Asserts that so many ticks of a thread's CPU time fit a program that was asked to use that
    much of it. A hypervisor may take ticks away, but adds none; a program uses a little more than it
    is asked to, for its start and end. Time that is counted twice is noticed from 40 ms on."""
    case.assertGreater(ticks, 0.4 * asked_ms * frequency / 1000, message)
    case.assertLess(ticks, (1.1 * asked_ms + 30) * frequency / 1000, message)
