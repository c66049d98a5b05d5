"""Tests `tally record` of programs that fork: each process is sampled, and none is lost."""
from __future__ import annotations

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase
from support.programs import program
from support.skips import need_perf, run_unittests

# Prints the CPU time of itself and of the children that it waited for, most of which live for less
# than a tick.
MANY = """
import os, resource
for number in range(400):
    if os.fork() == 0:
        sum(range(2000))
        os._exit(0)
    os.wait()
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print("cpu", sum(each.ru_utime + each.ru_stime for each in used))
"""


class ChildrenTest(ProfileCase):
    def setUp(self) -> None:
        need_perf()
        super().setUp()

    def test_processes_are_told_apart(self) -> None:
        path = self.path("out.pb.gz")
        spin = program("spin7030")
        script = f"{spin} 0.4 & {spin} 0.4; wait"
        done = self.tally("record", "-o", path, "--", "sh", "-c", script)
        self.assertRegex(done.stderr, r" of CPU time of 3 processes, 0 lost;")
        cpu = sum(float(each) for each in re.findall(r"cpu_seconds (\S+)", done.stdout))
        rows = self.report(path, "--by", "process")["processes"]
        processes = [row for row in rows if row["name"] == "spin7030"]
        self.assertEqual(len(processes), 2)
        ticks = sum(row["self"][0] for row in processes)
        self.assertAlmostEqual(ticks / 1000, cpu, delta=0.05 * cpu)

        pid = str(processes[0]["pid"])
        one = self.report(path, "--process", pid)["totals"][0]
        self.assertAlmostEqual(one, ticks / 2, delta=0.1 * ticks)
        self.assertEqual(self.report(path, "--process", "spin7030")["totals"], [ticks])
        refused = self.tally("report", path, "--process", "cc1", status=2)
        self.assertIn("--process: there is no process 'cc1' (there are: ", refused.stderr)

        tree = self.tally("tree", path, "--by", "process").stdout
        self.assertRegex(tree, rf"(?m)^ *\d+\.\d+% +{ticks} +0.00%  spin7030$")
        folded = self.path("out.folded")
        self.tally("convert", path, "-o", folded)
        with open(folded, encoding="utf-8") as file:
            roots = {line.split(";")[0] for line in file}
        self.assertLessEqual(roots - {"[not sampled]"}, {"sh", "spin7030", "[no process]"})
        self.assertIn("spin7030", roots)

    def test_short_processes_are_not_lost(self) -> None:
        path = self.path("out.pb.gz")
        done = self.tally("record", "-o", path, "--", sys.executable, "-c", MANY)
        self.assertRegex(done.stderr, r" of 40\d processes, 0 lost;")
        cpu = float(done.stdout.split()[1])
        ticks = self.report(path)["totals"][0]
        # The interpreter's end is not in its own sum.
        self.assertAlmostEqual(ticks * 1.003e-3, cpu, delta=0.03 * cpu + 0.02)

    def test_short_threads_are_not_lost(self) -> None:
        """The kernel once stopped a ring to which two ending threads wrote at the same time."""
        threads = """
import threading, resource
for wave in range(40):
    wave = [threading.Thread(target=sum, args=(range(3000),)) for number in range(16)]
    [each.start() for each in wave]
    [each.join() for each in wave]
used = resource.getrusage(resource.RUSAGE_SELF)
print("cpu", used.ru_utime + used.ru_stime)
"""
        for _ in range(3):
            path = self.path("out.pb.gz")
            done = self.tally("record", "-o", path, "--", sys.executable, "-c", threads)
            cpu = float(done.stdout.split()[1])
            ticks = self.report(path)["totals"][0]
            self.assertAlmostEqual(ticks * 1.003e-3, cpu, delta=0.05 * cpu + 0.03)

    def test_a_file_for_each_process(self) -> None:
        stem = self.path("callgrind.out")
        spin = program("spin7030")
        words = ["record", "--parts", "-o", stem, "--", "sh", "-c", f"{spin} 0.1; {spin} 0.1; true"]
        done = self.tally(*words)
        self.assertRegex(done.stderr, r"wrote \d files \(.*callgrind\.out\.PID\)")
        totals = {}
        for name in os.listdir(self.folder):
            report = self.report(self.path(name))
            if any(row["name"] == "seventy" for row in report["functions"]):
                totals[name] = report["totals"][0]
        self.assertEqual(len(totals), 2, done.stderr)
        for name, total in totals.items():
            self.assertRegex(name, r"^callgrind\.out\.\d+$")
            self.assertAlmostEqual(total, 100, delta=25)
        refused = self.tally("record", "--parts", "-o", self.path("x.svg"), "--", "true", status=2)
        self.assertIn("--parts: the format flamegraph does not support", refused.stderr)

    def test_only_the_program_itself(self) -> None:
        path = self.path("one.pb.gz")
        done = self.tally("record", "-o", path, "--no-children", "--", program("forker"), "0.2")
        self.assertNotIn("processes", done.stderr)
        names = {row["name"] for row in self.report(path)["functions"]}
        self.assertIn("parent_spin", names)
        self.assertNotIn("child_spin", names)
        both = self.tally("record", "--children", "--no-children", "--", "true", status=2)
        self.assertIn("give one of --children and --no-children", both.stderr)


if __name__ == "__main__":
    run_unittests()
