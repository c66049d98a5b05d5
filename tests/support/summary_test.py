"""Tests the summary that tests/run.sh prints last, on logs with known answers."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.skips import run_unittests


class SummaryTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def summary(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, os.path.join(os.path.dirname(__file__), "summary.py"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )

    def log(self, name: str, *tests: tuple[str, str]) -> str:
        """Writes the log of tests, each with its result and its output."""
        path = os.path.join(self.folder, f"{name}.json")
        with open(path, "w", encoding="utf-8") as file:
            for number, (result, output) in enumerate(tests):
                row = {
                    "name": f"tally:{name} / {name}-{number}",
                    "result": result,
                    "stdout": output,
                    "duration": number + 0.5,
                }
                print(json.dumps(row), file=file)
        return path

    def test_a_failed_build_stands_between_logs(self) -> None:
        first = self.log("own", ("OK", "Ran 3 tests in 0.1s\n\nOK (skipped=1)\nSKIP: A.b: no c\n"))
        second = self.log("use", ("OK", ""))
        result = self.summary(first, "--failed", "other: build", second)
        self.assertEqual(
            result.stdout.splitlines(),
            [
                "own: 2 passed, 0 failed, 1 skipped",
                "use: 1 passed, 0 failed, 0 skipped",
                "the slowest tests, in seconds:",
                "     0.5  tally:use / use-0",
                "     0.5  tally:own / own-0",
                "skipped: tally:own / own-0: A.b: no c",
                "failed: other: build",
                "3 passed, 1 failed, 1 skipped",
            ],
        )
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.summary(first, second).returncode, 0)

    def test_cases_of_googletest_and_unittest(self) -> None:
        googletest = (
            "[==========] 9 tests from 2 test suites ran. (1 ms total)\n"
            "[  FAILED  ] 2 tests, listed below:\n[  SKIPPED ] 1 test, listed below:\n"
        )
        unittest_output = "Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=1)\n"
        log = self.log("own", ("FAIL", googletest), ("FAIL", unittest_output))
        result = self.summary(log)
        self.assertEqual(result.stdout.splitlines()[-1], "8 passed, 4 failed, 2 skipped")
        self.assertIn("failed: tally:own / own-0: FAIL", result.stdout)

    def test_a_crash_counts_whatever_its_cases_said(self) -> None:
        log = self.log("own", ("FAIL", "Ran 5 tests in 0.1s\n\nOK\n"), ("TIMEOUT", ""))
        self.assertEqual(self.summary(log).stdout.splitlines()[-1], "4 passed, 2 failed, 0 skipped")

    def test_no_test_is_a_failure(self) -> None:
        for log in (os.path.join(self.folder, "none.json"), self.log("empty")):
            result = self.summary(log)
            self.assertEqual(result.returncode, 1)
            self.assertIn("no test ran", result.stdout)

    def test_ten_slowest(self) -> None:
        result = self.summary(self.log("use", *[("OK", "")] * 12))
        shown = [line.split()[-1] for line in result.stdout.splitlines() if "use-" in line]
        self.assertEqual(shown, [f"use-{number}" for number in range(11, 1, -1)])


if __name__ == "__main__":
    run_unittests()
