"""Tests the shares of real time in profiles, and how many ticks come, with each backend.

The number of samples follows from the error that is allowed (support/shares.py). Nothing is
measured again.
"""
from __future__ import annotations

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, Play, play_gdb
from support.gdb_driver import run_gdb
from support.programs import program
from support.shares import assert_seventy, assert_share, samples_for
from support.skips import need_kernel_samples, need_perf, need_tools, run_unittests
from support.times import assert_pass, assert_times

REFUSED = [program("seccomp_run"), "eperm"]  # refuses perf, for GDB and its children
# A hypervisor that preempts a processor takes away ticks that fall due meanwhile, but never adds
# any.
LEAST, MOST = 0.5, 1.02


def until(samples: int) -> str:
    """Returns a command that continues from one breakpoint to the next until the profile has that
    many samples."""
    enough = f"lambda: int(gdb.parse_and_eval('$_profile_samples')) >= {samples}"
    return f"python [gdb.execute('continue') for _ in iter({enough}, True)]"


# A pretty-printer for the argument of `checkpoint`, and a breakpoint that is passed, with GDB at work
# for a while.
SLOW = """python
import random, time
class Slow:
  def __init__(self, value): self.value = value
  def to_string(self): time.sleep(random.random() / 10); return "slow"
gdb.pretty_printers.append(lambda v: Slow(v) if str(v.type.strip_typedefs()) == "double" else None)
class Passed(gdb.Breakpoint):
  def stop(self): time.sleep(random.random() / 20); return False
Passed("passed")
end
"""


class TimesTest(GdbCase):
    def test_the_time_of_a_run_is_the_programs(self) -> None:
        """It is that by the program's own clock, however long GDB works at a stop."""
        stops = 30
        for start in ("", "profile start"):
            with self.subTest(start=start), tempfile.NamedTemporaryFile("w") as script:
                script.write(f"set profile stop-times on\n{start}\n{SLOW}break checkpoint\nrun\n")
                shown = 'printf "shown %f\\n", $_profile_elapsed\n'
                script.write(f"{shown}continue\n" * (stops - 1) + shown)
                script.flush()
                result = run_gdb([f"source {script.name}"], program("stamps"), [str(stops)])
                assert_times(self, result.stdout, r"^shown (\S+)$")


class PerfTest(GdbCase):
    def shares(self, name: str, frequency: int, seconds: str, error: float) -> Play:
        play = play_gdb(
            [
                f"profile start --frequency {frequency}",
                "run",
                "profile status",
                "profile report --by function",
            ],
            program(name),
            [seconds],
        )
        self.assertEqual(play.stderr, "", play)
        assert_seventy(self, play.report("--by function"), error, play)
        return play

    def rate(self, play: Play, frequency: int) -> None:
        status, report = play.status(), play.report("--by function")
        self.assertGreater(report.self_percent("seventy") + report.self_percent("thirty"), 90)
        cpu = play.program_value("cpu_seconds")
        samples = status.count("samples")
        self.assertGreater(samples / (frequency * cpu), LEAST, play)
        # The program reads its clock before it ends.
        self.assertLess(samples / (frequency * cpu), MOST, play)
        self.assertAlmostEqual(
            samples / (status.number("delivered_hz") * cpu), 1, delta=0.1, msg=play
        )
        self.assertAlmostEqual(status.number("cpu") / cpu, 1, delta=0.05, msg=play)
        self.assertLess(status.count("lost"), samples / 100, play)
        self.assertEqual(report.total, samples, play)

    def test_1_khz(self) -> None:
        self.rate(self.shares("spin7030", 1000, "2", 0.08), 1000)

    def test_10_khz(self) -> None:
        self.rate(self.shares("spin7030", 10000, "1", 0.035), 10000)

    def test_every_kind_of_program(self) -> None:
        for name in ("spin7030_nopie", "spin7030_static", "spin7030_nodebug"):
            with self.subTest(name):
                self.shares(name, 10000, "0.3", 0.07)

    def test_late_and_short_threads(self) -> None:
        play = play_gdb(
            ["profile start", "run", "profile status", "profile report --limit 0"],
            program("threads_late"),
        )
        self.assertEqual(play.stderr, "", play)
        report = play.report("--limit 0")
        # The clock starts anew in each thread, so that the last part of a tick is not counted: half
        # a tick on average, which is a tenth of a short thread's life.
        for function, cpu, most in (
            ("late_thread", play.program_value("late_cpu"), MOST),
            ("short_thread", play.program_value("short_cpu"), 1.1),
        ):
            ticks = report.row(function).inclusive_ticks
            self.assertGreater(ticks, LEAST * 1000 * cpu, f"{function}\n{play}")
            self.assertLess(ticks, most * 1000 * cpu, f"{function}\n{play}")

    def test_passed_breakpoints(self) -> None:
        """The cost of breakpoints that GDB passes by itself is not the program's time."""
        asked = run_gdb(["python print(hasattr(gdb.Breakpoint, 'locations'))"], plugin=False)
        if "True" not in asked.stdout:
            self.skipTest("GDB before 13 does not report breakpoint locations")
        need_kernel_samples()  # because that time is spent in the kernel
        play = play_gdb(
            [
                "break here if number == 100000",
                "profile start --backend perf --frequency 10000",
                "run",
                "profile status",
                "profile report --limit 0",
            ],
            program("passed"),
            ["1500", "200000"],
        )
        self.assertEqual(play.result.status, 0, play)
        report = play.report("--limit 0")
        elsewhere = sum(report.self_percent(name) for name in ("here", "_start", "[kernel]"))
        self.assertGreaterEqual(report.total, samples_for(0.1, 0.05), play)
        self.assertLess(elsewhere, 15, play)


class PassesTest(GdbCase):
    def test_times_of_passes(self) -> None:
        """Passes of 1 µs to 10 ms are those of the program's own clock, within a fifth, or "under"."""
        for steps, count in ((500, 200), (5000, 200), (50000, 100), (500000, 40), (5000000, 15)):
            with self.subTest(steps):
                play = play_gdb(
                    ["profile region work", "run", "profile status"],
                    program("passes"),
                    [str(steps), str(count)],
                )
                assert_pass(self, play.status().values, play.program_value("pass_s"))


class AgentTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("gdb")

    def measure(self, *commands: str, seconds: str, wrapper: list[str]) -> Play:
        play = play_gdb(
            [*commands, "continue", "profile status", "profile report"],
            program("spin7030"),
            [seconds, "1"],
            wrapper=wrapper,
        )
        self.assertEqual(play.stderr, "", play)
        assert_seventy(self, play.report(), 0.06, play)
        return play

    def rate(self, play: Play, part: float) -> None:
        """Compares with the part of the program's CPU time in which it was sampled."""
        cpu = play.program_value("cpu_seconds") * part
        samples = play.status().count("samples")
        self.assertGreater(samples / (4000 * cpu), LEAST, play)
        self.assertLess(samples / (4000 * cpu), 1.05, play)
        self.assertLess(play.status().count("lost"), samples / 100, play)
        self.assertGreater(play.status().count("delivered_hz"), LEAST * 4000, play)

    def test_ticker(self) -> None:
        play = self.measure(
            "profile start --frequency 4000",
            "break checkpoint",
            "run",
            seconds="1",
            wrapper=REFUSED,
        )
        self.assertRegex(play.status()["clock"], r"^cpu \(ticker: ")
        self.rate(play, 1)

    def test_ring(self) -> None:
        need_perf()
        play = self.measure(
            "profile start --backend agent --frequency 4000",
            "break checkpoint",
            "run",
            seconds="1",
            wrapper=[],
        )
        self.assertRegex(play.status()["clock"], r"^cpu \(ring: ")
        self.rate(play, 1)

    def test_loaded_into_a_stopped_process(self) -> None:
        play = self.measure(
            "break checkpoint",
            "run",
            "profile start --backend agent --frequency 4000",
            seconds="2",
            wrapper=REFUSED,
        )
        self.rate(play, 0.5)


class InterruptTest(unittest.TestCase):
    """A signal often stops the program where the scheduler preempted it, and that is often a system
    call. Therefore only the two functions are compared."""

    def setUp(self) -> None:
        need_tools("gdb", "gdbserver")

    def test_native(self) -> None:
        error = 0.16
        play = play_gdb(
            [
                "profile start --backend interrupt --frequency 200",
                "break checkpoint",
                "run",
                until(2 * samples_for(0.7, error)),
                "profile status",
                "profile report",
            ],
            program("spin7030"),
            ["600", "2400"],
        )
        self.assertEqual(play.stderr, "", play)
        assert_seventy(self, play.report(), error, play)

    def test_over_gdbserver(self) -> None:
        error = 0.2
        server = f"target remote | gdbserver --once - {program('spin7030')} 600 600"
        play = play_gdb(
            [
                server,
                "profile start",
                "break checkpoint",
                until(2 * samples_for(0.7, error)),
                "profile status",
                "profile report",
            ],
            program("spin7030"),
        )
        assert_seventy(self, play.report(), error, play)

    def test_short_system_calls(self) -> None:
        """The calls take 2 % of the time. They would get half of the ticks if the signal were sent
        from another processor, because they end while the signal is on its way."""
        play = play_gdb(
            ["profile start --backend interrupt", "run", "profile report", "profile status"],
            program("asks_often"),
            ["2"],
        )
        self.assertEqual(play.stderr, "", play)
        report = play.report()
        # A round that could not hold the processor may stop a thread anywhere.
        in_work = report.row("work").self_ticks + play.status().count("unheld")
        # Chance takes 0.98 for less than 0.8, or a half for more, once in a million times.
        self.assertGreaterEqual(report.total, samples_for(0.5, 0.3), play)
        self.assertGreater(in_work, 0.8 * report.total, play)


if __name__ == "__main__":
    run_unittests()
