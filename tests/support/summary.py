"""Summarizes runs of `meson test`: failures, skips with their reasons, the slowest tests, and the
number of each result.

    summary.py [--failed WHAT]... LOG...

A LOG is a file meson-logs/NAME.json that `meson test --logbase NAME` writes. Counts the test cases
that GoogleTest and unittest print, and 1 for a Meson test that prints neither. A test that Meson
reports as failed counts at least one failure, whatever its cases reported. A LOG that is missing or
empty is a failure. --failed adds a failure of something that is not a test (a build). The last line
is `N passed, N failed, N skipped`; the exit status is 1 if there is a failure.
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

SHOWN_SLOWEST = 10
FAILED = ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS")


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def add(self, other: Count) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        self.reasons += other.reasons


def tests_of(log: Path) -> list[dict]:
    if not log.exists():
        return []
    with open(log, encoding="utf-8", errors="replace") as file:
        return [json.loads(line) for line in file if line.strip()]


def count_test(test: dict, total: Count) -> None:
    output = test.get("stdout") or ""
    result = test["result"]
    cases, failed, skipped = 1, 0, 0
    unittest = re.findall(
        r"^Ran (\d+) tests? in .*\n+(?:OK|FAILED)(?: \((.*)\))?", output, re.MULTILINE
    )
    googletest = re.findall(r"^\[==========\] (\d+) tests? from .* ran\.", output, re.MULTILINE)
    if unittest:
        cases = sum(int(ran) for ran, _ in unittest)
        details = dict(pair.split("=") for _, text in unittest for pair in text.split(", ") if pair)
        failed = int(details.get("failures", 0)) + int(details.get("errors", 0))
        skipped = int(details.get("skipped", 0))
    elif googletest:
        cases = sum(map(int, googletest))
        failed = _sum(r"^\[  FAILED  \] (\d+) tests?, listed below", output)
        skipped = _sum(r"^\[  SKIPPED \] (\d+) tests?, listed below", output)
    elif result == "SKIP":
        skipped = 1
    if result in FAILED:
        failed = max(failed, 1)
        total.failures.append(f"{test['name']}: {result}")
    # Each failing subtest counts as a failure, but its case counts only once: hence max().
    total.passed += max(cases - failed - skipped, 0)
    total.failed += failed
    total.skipped += skipped
    reasons = re.findall(r"^SKIP: (.*)$", output, re.MULTILINE) + re.findall(
        r":\d+: Skipped\n(.+)$", output, re.MULTILINE
    )
    if skipped and not reasons:
        reasons = ["no reason given"]
    total.reasons += [f"{test['name']}: {reason}" for reason in reasons]


def _sum(pattern: str, text: str) -> int:
    return sum(map(int, re.findall(pattern, text, re.MULTILINE)))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--failed", action="append", default=[])
    parser.add_argument("logs", nargs="*", type=Path, metavar="LOG")
    arguments = parser.parse_intermixed_args()
    whole = Count(failed=len(arguments.failed), failures=arguments.failed)
    durations = []
    for log in arguments.logs:
        total = Count()
        tests = tests_of(log)
        for test in tests:
            count_test(test, total)
            durations.append((test.get("duration", 0.0), test["name"]))
        if not tests:
            total.failed, total.failures = 1, [f"{log.stem}: no test ran"]
        print(f"{log.stem}: {total}")
        whole.add(total)
    slowest = sorted(durations, reverse=True)[:SHOWN_SLOWEST]
    if slowest:
        print("the slowest tests, in seconds:")
    for seconds, name in slowest:
        print(f"{seconds:8.1f}  {name}")
    for text in whole.reasons:
        print(f"skipped: {text}")
    for text in whole.failures:
        print(f"failed: {text}")
    print(whole)
    return 1 if whole.failed else 0


if __name__ == "__main__":
    sys.exit(main())
