"""Tests how scenarios are read, and which output matches them."""
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..")]
from scenario_file import (
    Scenario,
    Step,
    difference,
    matches,
    read_scenario,
    tallys_lines,
    without_remarks_on_a_busy_machine,
)
from support.skips import run_unittests

DETACHED = "Sampling of process 7 ended: detached; 5 ticks are kept.\n"


class ReadTest(unittest.TestCase):
    def read(self, text: str) -> Scenario:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "one.scenario"
            path.write_text(text, encoding="utf-8")
            return read_scenario(path)

    def test_parts_of_a_file(self) -> None:
        scenario = self.read(
            "# What for.\nprogram stops 0.1\n\n> run\n" "> profile status\nparts  1\n…\n"
        )
        self.assertEqual(scenario.head, {"program": ["stops", "0.1"]})
        self.assertEqual(
            scenario.steps, (Step("run", ()), Step("profile status", ("parts 1", "…")))
        )

    def test_unknown_words_in_the_head(self) -> None:
        with self.assertRaisesRegex(ValueError, "one.scenario:2: 'progam stops'"):
            self.read("# What for.\nprogam stops\n> run\n")


class LinesTest(unittest.TestCase):
    def test_selection_of_tallys_lines(self) -> None:
        printed = 'error: /tmp/x/out.cg:  no\n\n  at ../src/a.c:3, 1/2 "/usr/b.c"\n'
        self.assertEqual(
            tallys_lines(Step("profile report", ()), printed), ["out.cg: no", 'at a.c:3, 1/2 "b.c"']
        )
        self.assertEqual(
            tallys_lines(Step("detach", ()), f"Detaching\n{DETACHED}[done]\n"), [DETACHED.strip()]
        )

    def test_numbers(self) -> None:
        self.assertTrue(matches(["N% N at a.c:N, +N"], ["70.5% 0x1f at a.c:12, +-3"]))
        self.assertTrue(matches(["[--limit N]"], ["[--limit N]"]))
        self.assertFalse(matches(["part 2"], ["part 3"]))
        self.assertFalse(matches(["N ticks"], ["many ticks"]))

    def test_wildcards(self) -> None:
        self.assertTrue(matches(["a … z", "…"], ["a b c z"]))
        self.assertTrue(matches(["…", "z", "…"], ["a", "b", "z", "c"]))
        self.assertFalse(matches(["…", "z"], ["a", "z", "c"]))
        self.assertFalse(matches([], ["a"]))

    def test_any_order(self) -> None:
        loose = ["head", "~ a N", "~ b", "tail"]
        self.assertTrue(matches(loose, ["head", "b", "a 1", "tail"]))
        for lines in (
            ["head", "b", "b", "tail"],
            ["head", "b", "tail"],
            ["head", "a 1", "b", "a 2", "tail"],
        ):
            self.assertFalse(matches(loose, lines), lines)


class DifferenceTest(unittest.TestCase):
    scenario = Scenario(
        "one.scenario",
        {},
        (
            Step("detach", ("Sampling of process N ended: detached; N ticks are kept.",)),
            Step("profile status", ("state stopped", "…")),
        ),
    )

    def test_a_notice_in_time(self) -> None:
        for late_news in (False, True):
            self.assertEqual(
                difference(self.scenario, [DETACHED, "state stopped\nparts 1\n"], "it", late_news),
                "",
            )

    def test_a_late_notice(self) -> None:
        printed = ["", f"{DETACHED}state stopped\n"]
        self.assertEqual(difference(self.scenario, printed, "it", True), "")
        self.assertIn("-Sampling", difference(self.scenario, printed, "it", False))

    def test_a_missing_notice(self) -> None:
        for late_news in (False, True):
            self.assertIn(
                "-Sampling of process N",
                difference(self.scenario, ["", "state stopped\n"], "it", late_news),
            )

    def test_shows_the_difference(self) -> None:
        found = difference(self.scenario, [DETACHED, "state idle\nparts 1\n"], "it", False)
        self.assertIn("-state stopped\n-…\n+state idle\n+parts 1", found)
        self.assertIn("\n Sampling of process N", found)

    def test_a_busy_machine(self) -> None:
        printed = (
            "1 N\n(27 samples were lost)\n(1 sample was lost)\n(no samples were lost)\n"
            "(2 rounds stand for 430 ticks of each thread, because stops took long: shares are less"
            " exact)\n(1 round stands for 3 ticks of each thread, because stops took long)\n"
            "(7 of 60 rounds stopped the threads late: they show the ends of system calls)\n"
        )
        self.assertEqual(
            without_remarks_on_a_busy_machine(printed), "1 N\n(no samples were lost)\n"
        )


if __name__ == "__main__":
    run_unittests()
