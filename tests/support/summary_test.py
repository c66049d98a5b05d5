"""Tests the summary that .ci/run prints last, on logs with known answers."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.skips import run_unittests
from support.summary import may_be_chance

RAN_100 = "Ran 100 tests in 0.1s\n\nOK\n"


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

    def log(self, build: str, *outputs: str, result: str = "OK", again: str | None = None) -> str:
        """Writes the log of a build directory whose tests print `outputs`. With `again`, each was
        run again, with this output."""
        logs = os.path.join(self.folder, build, "meson-logs")
        os.makedirs(logs, exist_ok=True)

        def write(name: str, result: str, outputs: tuple[str, ...]) -> None:
            with open(os.path.join(logs, name), "w", encoding="utf-8") as file:
                for number, output in enumerate(outputs):
                    row = {"name": f"tally:gdb / gdb-{number}", "result": result, "stdout": output}
                    print(json.dumps(row), file=file)

        write("testlog.json", result, outputs)
        if again is not None:
            write("testlog-again.json", "OK", (again,) * len(outputs))
        return os.path.join(self.folder, build)

    def test_a_failed_build_stands_between_folders(self) -> None:
        first = self.log("first", "Ran 3 tests in 0.1s\n\nOK (skipped=1)\n")
        second = self.log("second", "")
        result = self.summary(first, "--failed", "other: build", second)
        self.assertEqual(
            result.stdout.splitlines()[-2:],
            ["failed: other: build", "3 passed, 1 failed, 1 skipped"],
        )
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.summary(first, second).returncode, 0)

    def test_a_retry_is_shown_and_one_percent_is_allowed(self) -> None:
        build = self.log("build", "test_a (__main__.A.test_a) ... \nRETRY: A.test_a: 1 != 2: x\nok")
        other = self.log("other", RAN_100)
        result = self.summary(build, other)
        self.assertEqual(
            result.stdout.splitlines()[2:],
            [
                "retried: build: gdb-0: A.test_a: 1 != 2: x",
                "1 of 101 test cases were retried",
                "101 passed, 0 failed, 0 skipped",
            ],
        )
        self.assertEqual(result.returncode, 0)

    def test_exactly_one_percent(self) -> None:
        text = "RETRY: A.test_a: why\nRETRY: A.test_a: why\n" + RAN_100
        self.assertEqual(self.summary(self.log("build", text)).returncode, 0)
        retries = "RETRY: A.test_a: why\nRETRY: A.test_b: why\n"
        ran = retries + "Ran 200 tests in 0.1s\n\nOK\n"
        self.assertEqual(self.summary(self.log("all", ran)).returncode, 0)
        skipped = retries + "Ran 200 tests in 0.1s\n\nOK (skipped=1)\n"
        self.assertEqual(self.summary(self.log("most", skipped)).returncode, 1)

    def test_one_retry_of_a_small_run_is_allowed(self) -> None:
        text = "RETRY: A.test_a: why\nRan 3 tests in 0.1s\n\nOK\n"
        self.assertEqual(self.summary(self.log("build", text)).returncode, 0)

    def test_more_than_one_percent_fails_the_run(self) -> None:
        build = self.log("build", "RETRY: A.test_a: why\nRETRY: A.test_b: why\n" + RAN_100)
        result = self.summary(build)
        self.assertEqual(
            result.stdout.splitlines()[-3:],
            [
                "2 of 100 test cases were retried",
                "failed: retries: 2 of 100 test cases were retried, more than 1%",
                "100 passed, 1 failed, 0 skipped",
            ],
        )
        self.assertEqual(result.returncode, 1)
        # Another directory of the same run counts, too.
        self.assertEqual(self.summary(build, self.log("other", RAN_100)).returncode, 0)

    def test_a_test_that_was_run_again(self) -> None:
        """Its failed cases count as retried, together with those that retried themselves."""
        unittests = (
            "RETRY: A.test_c: slow\n"
            "FAIL: test_a (__main__.A.test_a) [lldb-14]\n"
            "FAIL: test_a (__main__.A.test_a) [lldb-19]\n"
            "ERROR: test_b (__main__.A)\nRan 100 tests in 0.1s\n\nFAILED (failures=2, errors=1)\n"
        )
        result = self.summary(self.log("build", unittests, result="FAIL", again=RAN_100))
        self.assertEqual(
            result.stdout.splitlines()[1:],
            [
                "retried: build: gdb-0: A.test_c: slow",
                "retried: build: gdb-0: A.test_a, A.test_b: FAIL, and OK when it was run again, "
                "alone",
                "3 of 100 test cases were retried",
                "failed: retries: 3 of 100 test cases were retried, more than 1%",
                "100 passed, 1 failed, 0 skipped",
            ],
        )
        googletest = (
            "[  FAILED  ] A.B (3 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.B\n"
        )
        result = self.summary(self.log("google", googletest, result="FAIL", again=RAN_100))
        self.assertIn("retried: google: gdb-0: A.B: FAIL, and OK ", result.stdout)
        self.assertEqual(result.returncode, 0)

    def test_a_test_without_cases_that_was_run_again(self) -> None:
        again = self.log("again", "", result="TIMEOUT", again="")
        result = self.summary(again, self.log("build", RAN_100))
        self.assertIn("retried: again: gdb-0: the test: TIMEOUT, and OK when", result.stdout)
        self.assertIn("1 of 101 test cases were retried", result.stdout)
        self.assertEqual(result.returncode, 0)

    def test_tests_that_take_samples_may_fail_by_chance(self) -> None:
        tests = Path(__file__).resolve().parent.parent
        taking = [
            f"tally:suite / {path.parent.name}-{path.stem[: -len('_test')]}".replace("_", "-")
            for path in tests.glob("*/*_test.py")
            if re.search(r"^ +need_perf\(\)", path.read_text(encoding="utf-8"), re.MULTILINE)
        ]
        self.assertIn("tally:suite / cli-names", taking)
        for name in taking:
            self.assertTrue(may_be_chance({"name": name}), name)
            self.assertFalse(may_be_chance({"name": name, "stderr": "AddressSanitizer: x"}), name)
        self.assertFalse(may_be_chance({"name": "tally:suite / cli-profiles"}))


if __name__ == "__main__":
    run_unittests()
