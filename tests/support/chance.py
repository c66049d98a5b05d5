"""Retries assertions on samples, which can fail once by chance or because the machine is busy."""
from __future__ import annotations

import unittest
from typing import Callable


def with_one_retry(case: unittest.TestCase, measure: Callable[[], None]) -> None:
    """Calls `measure`, and once more if an assertion in it fails. Each retry prints a line
    `RETRY: TEST CASE: REASON`; summary.py shows and counts these, and fails a run that has many.
    Further lines of the assertion's text follow, each after `| `."""
    try:
        measure()
        return
    except AssertionError as error:
        reason, *further = str(error).splitlines() or ["an assertion failed"]
        name = case.id()[len("__main__.") :] if case.id().startswith("__main__.") else case.id()
        # unittest leaves the name of the case on the current line.
        print(f"\nRETRY: {name}: {reason}", *further[:100], sep="\n| ", flush=True)
    measure()
