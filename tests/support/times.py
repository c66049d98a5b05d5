"""Compares the times of runs that a debugger shows with those that the program measures."""
from __future__ import annotations

import re
import unittest

# A time may differ by 2 ms or 2 %. On a busy machine, the program may wait for a processor after it
# was resumed, which only the kernel sees.
LEAST_SHARE = 0.8


_UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3}


def _seconds(text: str) -> float:
    number, _, unit = text.replace("under ", "").partition(" ")
    return float(number) * _UNITS.get(unit, 1)


def assert_pass(case: unittest.TestCase, status: dict[str, str], truth: float) -> None:
    """Compares the median of a region's passes in `profile status` with the time of a pass in seconds
    that the program measured: they differ by a fifth, or by twice the error that is shown."""
    shown, _, error = status["pass_cpu_median"].partition(" (± ")
    if shown.startswith("under "):
        case.assertLess(truth, 0.000_5, status)  # what is longer is measured
        case.assertLess(0.8 * truth, _seconds(shown), status)
    else:
        delta = max(0.2 * truth, 2 * _seconds(error.rstrip(")")) if error else 0)
        case.assertAlmostEqual(_seconds(shown), truth, delta=delta, msg=status)


def assert_times(case: unittest.TestCase, printed: str, pattern: str) -> None:
    """Compares what `pattern` finds with the lines that the program `stamps` prints, from the last
    one back: the first run begins in the dynamic linker."""
    ran = [float(each) for each in re.findall(r"^ran (\S+)\r?$", printed, re.MULTILINE)]
    shown = [_seconds(each) for each in re.findall(pattern, printed, re.MULTILINE)]
    pairs = list(zip(reversed(ran), reversed(shown)))[: len(ran) - 1]
    case.assertGreaterEqual(len(pairs), max(1, len(ran) - 2), printed)
    # How long this machine takes between the debugger's resumption and the program's next instruction;
    # it is the program's time for the debugger only.
    latency = min(0.001, max(0.0, min(s - r for r, s in pairs)))
    good = sum(abs(s - r - latency) <= max(0.002, 0.02 * r) for r, s in pairs)
    case.assertGreaterEqual(good, LEAST_SHARE * len(pairs), (pairs, printed))
