"""Tests `tally record --event`: counts are those that a program causes, at the functions that do."""
from __future__ import annotations

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase, run_tally
from support.programs import program
from support.skips import need_kernel_samples, need_perf, perf_samples_the_kernel, run_unittests


class EventsTest(ProfileCase):
    def setUp(self) -> None:
        need_perf()
        super().setUp()

    def record(self, event: str, *args: str, name: str = "out.pb.gz") -> tuple[str, str]:
        path = self.path(name)
        done = self.tally("record", "-o", path, "--event", event, "--", program("faults"), *args)
        return path, done.stderr + done.stdout

    def inclusive(self, path: str, event: str) -> dict[str, int]:
        report = self.report(path)
        self.assertEqual(report["events"], [event])
        return {row["name"]: row["inclusive"][0] for row in report["functions"]}

    def assert_sleeps(self, switches: int, sleeps: int, said: str) -> None:
        """A busy machine also takes the processor from the program."""
        preempted = re.search(r"preempted (\d+) times", said)
        assert preempted is not None, said
        self.assertGreaterEqual(switches, sleeps, said)
        self.assertLessEqual(switches, sleeps + int(preempted.group(1)), said)

    def test_page_faults(self) -> None:
        path, said = self.record("page-faults")
        self.assertIn(", 0 lost;", said)
        counts = self.inclusive(path, "page-faults")
        self.assertEqual(counts["touch"], 300, said)
        if perf_samples_the_kernel():
            self.assertEqual(counts["by_read"], 100, said)
        else:  # nothing is invented for the faults that the kernel makes, and that is said
            self.assertNotIn("by_read", counts)
            self.assertIn("page-faults that the kernel's code caused were not sampled", said)

    def test_events_beside_waits(self) -> None:
        need_kernel_samples()
        path = self.path("both.pb.gz")
        done = self.tally(
            *("record", "-o", path, "--event", "page-faults", "--clock", "wall", "--"),
            *(program("faults"), "50"),
        )
        self.assertRegex(done.stderr, r" of CPU time and \d+ page-faults, \d+ waits of ")
        report = self.report(path)
        self.assertEqual(report["events"], ["cpu", "wait", "queued", "waits", "page-faults"])
        rows = {row["name"]: row["inclusive"] for row in report["functions"]}
        self.assertEqual((rows["touch"][4], rows["touch"][3]), (300, 0))
        self.assert_sleeps(rows["sleeps"][3], 50, done.stdout)
        self.assertLess(rows["sleeps"][4], 5)  # the pages of the code
        # A sleep of 1 ms lasts 1 ms from before the switch. How much of the rest the thread stood in a
        # queue is the kernel's account, which is newer than the last records.
        self.assertGreater(rows["sleeps"][1] + rows["sleeps"][2], 49e6)
        self.assertGreater(rows["sleeps"][1], 25e6)

    def test_other_names_and_no_events(self) -> None:
        self.assertEqual(self.inclusive(self.record("faults")[0], "page-faults")["touch"], 300)
        none = self.path("none.pb.gz")
        for _ in range(5):
            done = run_tally(
                "record", "-o", none, "--event", "major-faults", "--", program("faults")
            )
            if done.returncode != 0:
                break
            os.remove(none)  # a page was read from the disk, and is in memory next time
        self.assertIn("the kernel counted 0 major-faults", done.stderr)
        self.assertEqual((done.returncode, os.listdir(self.folder)), (4, ["out.pb.gz"]))

    def test_context_switches(self) -> None:
        need_kernel_samples()
        path, said = self.record("context-switches", "40")
        counts = self.inclusive(path, "context-switches")
        self.assert_sleeps(counts["sleeps"], 40, said)

    def test_formats_keep_the_event(self) -> None:
        for name in ("out.callgrind", "out.folded", "out.svg", "out.speedscope.json"):
            with self.subTest(name=name):
                path, said = self.record("page-faults", name=name)
                self.assertEqual("the name of the event, page-faults" in said, "folded" in name)
                if name.endswith(".callgrind"):
                    self.assertEqual(self.inclusive(path, "page-faults")["touch"], 300)
                elif name.endswith(".json"):
                    with open(path, encoding="utf-8") as file:
                        self.assertEqual(json.load(file)["profiles"][0]["unit"], "none")
                else:
                    with open(path, encoding="utf-8") as file:
                        text = file.read()
                    self.assertIn("300", text)
                    self.assertTrue(name.endswith(".folded") or "page-faults" in text)

    def test_refusals(self) -> None:
        for event, said in (
            ("page-fault", "--event: expected one of page-faults, minor-faults,"),
            ("rxyz", "or rHEX, found 'rxyz'"),
            ("r", "found 'r'"),
            ("", "found ''"),
        ):
            with self.subTest(event=event):
                done = run_tally("record", "--event", event, "--", program("faults"))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr.splitlines()[0])
        if not os.path.isdir("/sys/bus/event_source/devices/cpu"):
            done = run_tally("record", "--event", "cycles", "--", program("faults"))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("gives perf no counter for cycles", done.stderr)
        done = run_tally(*("record", "-F", "99", "--event", "page-faults", "--", program("faults")))
        self.assertIn("--frequency: cannot be used with --event", done.stderr)
        self.assertEqual(done.returncode, 2)
        done = run_tally(
            *("record", "--backend", "agent", "--event", "page-faults", "--", program("faults"))
        )
        self.assertRegex(
            done.stderr, "^tally: --backend agent: .*other events need the perf backend"
        )


if __name__ == "__main__":
    run_unittests()
