"""Tests `tally record --clock wall` with a program that measures each of its own waits."""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase, run_tally
from support.programs import SANITIZED, command_line, program
from support.skips import need_kernel_samples, need_perf, run_unittests
from support.waits import Way, ways_of

VALUES = ["cpu", "wait", "queued", "waits"]
# The functions that wait for a time, and not for another thread.
TIMED = ("wait_sleep", "wait_short", "wait_poll", "wait_select", "wait_epoll")


def check_life(case: unittest.TestCase, way: Way, times: list[int], slack: float) -> None:
    """Checks the times that a thread computes, waits and queues, in ns. A thread may also queue
    before its first instruction and after its last."""
    cpu, wait, queued = times
    slack += 0.01 * way.life
    case.assertLessEqual(cpu + wait, way.life + slack)
    case.assertGreaterEqual(cpu + wait + queued, way.own_life - slack)


class WaitsTest(ProfileCase):
    def setUp(self) -> None:
        super().setUp()
        need_kernel_samples()

    def record(self, name: str, *args: str) -> tuple[str, str]:
        path = self.path(name)
        done = self.tally("record", "--clock", "wall", "-o", path, "--", program("waits"), *args)
        return path, done.stdout

    def test_each_wait_has_its_function_and_time(self) -> None:
        path, printed = self.record("out.pb.gz", "30")
        ways = ways_of(printed)
        self.assertEqual(len(ways), 12)
        report = self.report(path)
        self.assertEqual(report["events"], VALUES)
        rows: dict[str, dict[str, int]] = {
            row["name"]: dict(zip(VALUES, row["inclusive"])) for row in report["functions"]
        }
        for name, way in ways.items():
            with self.subTest(name=name):
                row = rows[name]
                # A busy machine makes a thread queue after it was given the processor.
                measured = row["wait"] + row["queued"] + row["cpu"]
                self.assertAlmostEqual(measured, way.waited, delta=0.02 * way.waited + 3e6)
                self.assertLessEqual(row["wait"], way.waited)
                if name in TIMED:
                    # On a busy machine, a thread also waits for pages.
                    self.assertIn(row["waits"], range(way.waits - 2, way.waits + 9))
                else:  # what it waits for may have happened already
                    self.assertGreaterEqual(row["waits"], way.waits // 2)

    def test_a_threads_times_are_its_life(self) -> None:
        path, printed = self.record("out.pb.gz")
        rows = json.loads(self.tally("report", path, "--by", "thread", "--json").stdout)["threads"]
        for name, way in ways_of(printed).items():
            with self.subTest(name=name):
                # Threads that these create have the same name.
                rows_of: list[list[int]] = [row["self"] for row in rows if row["name"] == name]
                most: list[int] = max(rows_of, key=lambda values: values[3])
                row = dict(zip(VALUES, most))
                check_life(self, way, [way.cpu, row["wait"], row["queued"]], 2e6)

    def test_the_time_in_the_queue_after_a_wake_up_is_no_wait(self) -> None:
        path = self.path("out.pb.gz")
        done = self.tally("record", "--clock", "wall", "-o", path, "--", program("queued"), "2500")
        found = re.search(r"queued_s ([\d.]+) ([\d.]+)", done.stdout)
        assert found, done.stdout
        waiter, spinner = (float(each) * 1e9 for each in found.groups())
        report = self.report(path)
        # The last waits before the threads end are not divided. A hypervisor that takes the processor
        # away within a switch adds to the queue, but not to the kernel's account, which is up to
        # 10 ms old while a thread runs: the queues are long beside that.
        totals: dict[str, int] = dict(zip(VALUES, report["totals"]))
        self.assertGreater(totals["queued"], 0.9 * (waiter + spinner) - 5e6)
        self.assertGreater(totals["wait"], 2500 * 1e6, "each sleep takes a millisecond at least")
        of_sleep = max(
            (row["self"] for row in report["functions"] if "nanosleep" in row["name"]),
            key=lambda values: values[3],
        )
        row = dict(zip(VALUES, of_sleep))
        self.assertIn(row["waits"], range(2498, 2519))
        self.assertLess(row["queued"], waiter + 5e6)
        self.assertGreater(row["queued"], 0.5 * waiter - 5e6)

    def test_tables_show_each_value(self) -> None:
        path, _ = self.record("out.pb.gz")
        lines = self.tally("report", path).stdout.splitlines()
        self.assertRegex(lines[0], r"^\S+ \w+ cpu, .* wait, .* queued, \d+ waits in total$")
        self.assertIn("--sort inclusive", lines[1])
        self.assertEqual(lines[2].split()[:7], ["#", *VALUES, "function", "place"])
        one = self.tally("report", path, "--value", "wait", "--sort", "inclusive").stdout
        self.assertRegex(one.splitlines()[0], r"^[\d.]+ m?s wait in total$")
        self.assertEqual(one, self.tally("report", path, "--event=wait", "--sort=inclusive").stdout)
        refused = self.tally("report", path, "--value", "weight", status=2).stderr
        self.assertIn("there is no event 'weight' (there are: cpu, wait, queued, waits)", refused)

    def test_formats_keep_the_values(self) -> None:
        path, _ = self.record("out.pb.gz")
        totals = self.report(path)["totals"]
        callgrind = self.path("out.callgrind")
        self.tally("convert", path, "-o", callgrind)
        self.assertEqual(self.report(callgrind)["events"], VALUES)
        self.assertEqual(self.report(callgrind)["totals"], totals)
        line = self.tally("report", callgrind).stdout.splitlines()[0]
        self.assertEqual(line, self.tally("report", path).stdout.splitlines()[0])
        speedscope = self.path("out.speedscope.json")
        self.tally("convert", path, "-o", speedscope)
        with open(speedscope, encoding="utf-8") as file:
            profiles = json.load(file)["profiles"]
        for value, total in zip(VALUES, totals):
            of_value = [each for each in profiles if each["name"].startswith(value + ": ")]
            self.assertEqual(sum(each["endValue"] for each in of_value), total, value)
            unit = "none" if value == "waits" else "nanoseconds"
            self.assertEqual({each["unit"] for each in of_value} - {unit}, set())

    def test_no_wait_of_a_program_that_switches_all_the_time_is_lost(self) -> None:
        """The ring of stacks overruns. The records of switches are in another ring."""
        path = self.path("out.pb.gz")
        record = ["record", "--clock", "wall", "--stacks", "dwarf", "-o", path, "--"]
        # With a sanitizer, the reader needs several times as long.
        rounds = 2000 if SANITIZED else 100000
        done = self.tally(*record, program("pingpong"), str(rounds))
        voluntary = int(done.stdout)
        self.assertGreater(voluntary, rounds // 2)
        said = re.search(r" (\d+) waits of .* (\d+) lost;", done.stderr)
        assert said, done.stderr
        waits, lost = int(said[1]), int(said[2])
        # A busy machine may keep the reader from its rings for too long.
        self.assertAlmostEqual(waits, voluntary, delta=3 + 0.05 * voluntary, msg=done.stderr)
        self.assertEqual(self.report(path)["totals"][VALUES.index("waits")], waits)
        if lost > voluntary // 10:
            shown = self.tally("report", path, "--limit", "0").stdout
            self.assertIn("[waits without a stack]", shown)

    def test_one_value_is_converted(self) -> None:
        path, _ = self.record("out.pb.gz")
        whole = self.report(path)
        index = whole["events"].index("wait")
        folded, callgrind = self.path("wait.folded"), self.path("wait.callgrind")
        self.tally("convert", path, "-o", folded, "--value", "wait")
        with open(folded, encoding="utf-8") as file:
            total = sum(int(line.rsplit(" ", 1)[1]) for line in file)
        self.assertEqual(total, whole["totals"][index])
        self.tally("convert", path, "-o", callgrind, "--event=wait", "--thread=wait_poll")
        self.assertEqual(self.report(callgrind)["events"], ["wait"])
        self.assertEqual(
            self.report(callgrind)["totals"],
            self.report(path, "--value=wait", "--thread=wait_poll")["totals"],
        )
        refused = self.tally("convert", path, "-o", folded, "--value", "weight", status=2).stderr
        self.assertIn("there is no event 'weight'", refused)

    def test_a_thread_that_never_wakes(self) -> None:
        path = self.path("out.pb.gz")
        with subprocess.Popen([program("sleeper"), "30"], stdout=subprocess.PIPE) as sleeper:
            self.addCleanup(sleeper.kill)
            assert sleeper.stdout
            sleeper.stdout.readline()  # it is about to sleep
            time.sleep(0.2)
            words = ("record", "--clock", "wall", "-o", path, "-p", str(sleeper.pid))
            with subprocess.Popen([command_line(), *words], stderr=subprocess.PIPE) as recorder:
                assert recorder.stderr
                recorder.stderr.readline()  # it samples
                time.sleep(0.7)
                recorder.send_signal(signal.SIGINT)
                said = recorder.communicate(timeout=60)[1]
            sleeper.kill()
        self.assertEqual(recorder.returncode, 0, said)
        totals = dict(zip(VALUES, self.report(path)["totals"]))
        self.assertGreater(totals["wait"] / 1e9, 0.6)
        self.assertLess(totals["wait"] / 1e9, 5)

    def test_refusals(self) -> None:
        done = run_tally(*("record", "--clock", "wall", "--event", "cs", "--", program("waits")))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--event: context-switches cannot be sampled with --clock wall", done.stderr)


class AgentTest(ProfileCase):
    def test_the_times_are_the_kernels_and_stacks_are_seen(self) -> None:
        path = self.path("out.pb.gz")
        done = run_tally(
            *("record", "--clock", "wall", "--backend", "agent", "-o", path),
            *("--", program("waits"), "30", "3"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"waits of [\d.]+ s, queued for [\d.]+ s")
        report = self.report(path)
        self.assertEqual(report["events"], VALUES[:3])
        rows = {row["name"]: row["inclusive"] for row in report["functions"]}
        threads = {
            row["name"]: row["self"]
            for row in json.loads(self.tally("report", path, "--by", "thread", "--json").stdout)[
                "threads"
            ]
        }
        self.assertNotIn("tally-ticker", threads)
        for name, way in ways_of(done.stdout).items():
            if name not in TIMED or name == "wait_short":
                continue
            with self.subTest(name=name):
                # A thread is known from the first look on, and unknown after the last one. A busy
                # machine delays both by some tenths of a second.
                cpu, wait, queued = threads[name]
                check_life(self, way, [cpu, wait, queued], 0.3 * way.life)
                self.assertLess(cpu + wait, way.life + 4e6)
                self.assertGreater(rows[name][1], 0.5 * way.waited)


class UnprivilegedTest(ProfileCase):
    """As a user who may not sample the kernel: without the capabilities for that."""

    WITHOUT = ("setpriv", "--bounding-set=-perfmon,-sys_admin", "--inh-caps=-perfmon,-sys_admin")
    # The least share of the waiting time that has a stack. A wait that ends before it is looked at
    # has none, and a reader with a sanitizer needs several times as long between its looks.
    SEEN = 0.3 if SANITIZED else 0.8

    def setUp(self) -> None:
        super().setUp()
        need_perf()
        self.prefix = () if os.geteuid() != 0 else self.WITHOUT
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            if int(file.read()) < 2:
                self.skipTest("kernel.perf_event_paranoid lets everyone sample the kernel")

    def test_long_waits_have_stacks_and_totals_are_exact(self) -> None:
        # Without optimization, the place of a frame is in a register, which nobody sees.
        for name in ("waits", "waits_O0"):
            with self.subTest(name):
                self.check_waits_of(program(name))

    def check_waits_of(self, of: str) -> None:
        path = self.path("out.pb.gz")
        done = subprocess.run(
            [
                *self.prefix,
                *(command_line(), "record", "--clock", "wall", "-o", path),
                # A look that a busy machine delays by some ms misses little of a long wait.
                *("--", of, "12", "6"),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("waits under 1 ms have no stacks", done.stderr)
        report = self.report(path)
        rows: dict[str, dict[str, int]] = {
            row["name"]: dict(zip(VALUES, row["inclusive"])) for row in report["functions"]
        }
        # The kernel may truncate the stack of a tick of CPU time, because it does not wait for a
        # page that it moves. The stacks of waits are read from outside, which waits.
        bad = {name: row for name, row in rows.items() if re.search("truncated|guessed", name)}
        self.assertFalse([name for name, row in bad.items() if row["wait"] != 0], bad)
        ways = ways_of(done.stdout)
        for name, way in ways.items():
            with self.subTest(name=name):
                # The waits of wait_short are so short that on a busy machine each look from outside
                # may come too late. Then it has no row.
                wait = rows[name]["wait"] if name in rows else 0
                self.assertLessEqual(wait, way.waited)
                if name in TIMED and name != "wait_short":
                    self.assertGreater(wait, self.SEEN * way.waited - 3e7)
        threads = json.loads(self.tally("report", path, "--by", "thread", "--json").stdout)[
            "threads"
        ]
        for name, way in ways.items():
            with self.subTest(thread=name):
                rows_of: list[list[int]] = [row["self"] for row in threads if row["name"] == name]
                most: list[int] = max(rows_of, key=lambda values: values[3])
                check_life(self, way, most[:3], 4e6)


if __name__ == "__main__":
    run_unittests()
