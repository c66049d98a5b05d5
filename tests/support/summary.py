"""Summarizes runs of `meson test`: failures, skips with their reasons, and the number of each.

    summary.py [--failed WHAT]... BUILD_FOLDER...
    summary.py --failing BUILD_FOLDER...

Counts the test cases that GoogleTest and unittest print, and 1 for a Meson test that prints
neither. A test that Meson reports as failed counts at least one failure, whatever its cases
reported. --failed adds a failure of something that is not a test (a build). Reads
meson-logs/testlog.json of each directory, and testlog-again.json, whose result replaces that of
the same test in testlog.json. A directory without tests is a failure. The last line is `N passed,
N failed, N skipped`; the exit status is 1 if there is a failure. --failing prints only the names of
the tests that failed in testlog.json and whose failure may be due to chance.

Each retry is shown: that of a test case which measures twice (the lines `RETRY: TEST CASE: REASON`,
see chance.py), and that of a Meson test which was run again. A test case counts as retried once,
however often it was retried. It is a failure if more than one, and more than 1 % of the test
cases that ran, were retried.
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    retries: list[str] = field(default_factory=list)
    retried: int = 0  # test cases


MOST_RETRIED = 0.01  # of the test cases that ran; one may always be retried
FAILED = ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS")


def entries(folder: Path, name: str = "testlog") -> Iterator[dict]:
    log = folder / "meson-logs" / f"{name}.json"
    if log.exists():
        with open(log, encoding="utf-8", errors="replace") as file:
            yield from (json.loads(line) for line in file if line.strip())


def may_be_chance(test: dict) -> bool:
    """Returns whether a failure may be due to chance: the test takes samples, and no sanitizer
    reported an error."""
    output = (test.get("stdout") or "") + (test.get("stderr") or "")
    return re.search(
        r"/ (?:unit-(?:collect|session)|(?:support-)?(?:gdb|lldb)-|mon-|agent|conformance-"
        r"|cli-(?:children|commands|events|live|names|timeline|waits)"
        r"|oracle-(?:disassembly|gmon|perf|pprof)-|documents-transcripts)",
        test["name"],
    ) is not None and not re.search(r"Sanitizer|runtime error:", output)


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


def count_retries(test: dict, again: dict | None, total: Count) -> None:
    """Counts the test cases of a Meson test that were retried. `again` is the result of its second
    run, if there was one."""
    name = test["name"].rpartition(" / ")[2]
    cases = set()
    for run in (test, again or {}):
        for case, reason in re.findall(r"^RETRY: ([^:]+): (.*)$", run.get("stdout") or "", re.M):
            cases.add(case)
            total.retries.append(f"{name}: {case}: {reason}")
    if again is not None:
        failed = failed_cases(test.get("stdout") or "")
        cases |= failed or {name}
        what = ", ".join(sorted(failed)) or "the test"
        total.retries.append(
            f"{name}: {what}: {test['result']}, and {again['result']} when it was run again, alone"
        )
    total.retried += len(cases)


def failed_cases(output: str) -> set[str]:
    """Returns the names of the failed test cases that unittest and GoogleTest print."""
    failed = set(re.findall(r"^\[  FAILED  \] (\w+\.\w+)", output, re.MULTILINE))
    for case, where in re.findall(r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)", output, re.MULTILINE):
        # Before Python 3.11, the second name is that of the class.
        path = where if where.endswith(f".{case}") else f"{where}.{case}"
        failed.add(re.sub(r"^__main__\.", "", path))
    return failed


def _sum(pattern: str, text: str) -> int:
    return sum(map(int, re.findall(pattern, text, re.MULTILINE)))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--failed", action="append", default=[])
    parser.add_argument("--failing", action="store_true")
    parser.add_argument("folders", nargs="*", type=Path)
    arguments = parser.parse_intermixed_args()
    if arguments.failing:
        print(
            *(
                test["name"].rpartition(" / ")[2]
                for folder in arguments.folders
                for test in entries(folder)
                if test["result"] in FAILED and may_be_chance(test)
            )
        )
        return 0
    ran = 0
    whole = Count(failed=len(arguments.failed), failures=arguments.failed)
    for folder in arguments.folders:
        total = Count()
        again = {test["name"]: test for test in entries(folder, "testlog-again")}
        tests = [again.get(test["name"], test) for test in entries(folder)]
        for test in tests:
            count_test(test, total)
        for test in entries(folder):
            count_retries(test, again.get(test["name"]), total)
        if not tests:
            total.failed, total.failures = 1, ["no test ran"]
        print(
            f"{folder.name}: {total.passed} passed, {total.failed} failed, "
            f"{total.skipped} skipped"
        )
        whole.passed += total.passed
        whole.failed += total.failed
        whole.skipped += total.skipped
        whole.failures += [f"{folder.name}: {text}" for text in total.failures]
        whole.reasons += [f"{folder.name}: {text}" for text in total.reasons]
        whole.retries += [f"{folder.name}: {text}" for text in total.retries]
        whole.retried += total.retried
        ran += total.passed + total.failed
    for text in whole.reasons:
        print(f"skipped: {text}")
    for text in whole.retries:
        print(f"retried: {text}")
    if whole.retried:
        print(f"{whole.retried} of {ran} test cases were retried")
    if whole.retried > max(1, MOST_RETRIED * ran):
        whole.failed += 1
        whole.failures.append(
            f"retries: {whole.retried} of {ran} test cases were retried, "
            f"more than {MOST_RETRIED:.0%}"
        )
    for text in whole.failures:
        print(f"failed: {text}")
    print(f"{whole.passed} passed, {whole.failed} failed, {whole.skipped} skipped")
    return 1 if whole.failed else 0


if __name__ == "__main__":
    sys.exit(main())
