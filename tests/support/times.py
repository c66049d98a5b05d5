"""Compares the times of runs that a debugger shows with those that the program measures."""
from __future__ import annotations

import re
import unittest

# A time may differ by 2 ms or 2 %. On a busy machine, the program may wait for a processor after it
# was resumed, which only the kernel sees.
LEAST_SHARE = 0.8


def _seconds(text: str) -> float:
    number, _, unit = text.replace("under ", "").partition(" ")
    return float(number) / (1000 if unit == "ms" else 1)


def assert_times(case: unittest.TestCase, printed: str, pattern: str) -> None:
    """Compares what `pattern` finds with the lines that the program `stamps` prints, from the last
    one back: the first run begins in the dynamic linker."""
    ran = [float(each) for each in re.findall(r"^ran (\S+)$", printed, re.MULTILINE)]
    shown = [_seconds(each) for each in re.findall(pattern, printed, re.MULTILINE)]
    pairs = list(zip(reversed(ran), reversed(shown)))[: len(ran) - 1]
    case.assertGreaterEqual(len(pairs), len(ran) - 2, printed)
    good = sum(abs(s - r) <= max(0.002, 0.02 * r) for r, s in pairs)
    case.assertGreaterEqual(good, LEAST_SHARE * len(pairs), (pairs, printed))
