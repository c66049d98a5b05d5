"""Tests programs with the agent inside: what the agent counts, and what the programs notice.

`tally record --backend agent` plays the debugger's part. Each case runs with perf_event_open
refused (the clock is then the ticker or a timer), and some run also with it allowed. No test
depends on how long things take; rates_test.py has what does.
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..")]
from recording import Recorded, record
from support.programs import command_line, program
from support.skips import need_perf, run_unittests


class Counts(unittest.TestCase):
    def check(self, run: Recorded, frequency: int, clock: str = "") -> None:
        """Checks what holds at any speed: all rows are there, and no tick comes early."""
        self.assertEqual(run.status, 0, run.messages)
        if clock:
            self.assertIn(f"the agent's clock was {clock}", run.messages)
        samples, seconds, _ = run.summary()
        self.assertEqual(run.samples(), samples, run.messages)
        self.assertLess(samples / seconds, 1.05 * frequency, run.messages)

    def test_ticker(self) -> None:
        for frequency in (1000, 4000):
            run = record("spin7030", "0.25", frequency=frequency)
            self.check(run, frequency, "ticker")
            self.assertGreater(run.of("main", "spin_slices", "seventy"), 0)
            self.assertGreater(run.of("thirty"), 0)

    def test_ring(self) -> None:
        need_perf()
        run = record("spin7030", "0.25", frequency=4000, perf=True)
        self.check(run, 4000, "ring")
        self.assertGreater(run.of("seventy"), run.of("thirty"))

    def test_timer_clock(self) -> None:
        run = record("spin7030", "0.4", frequency=100)
        self.check(run, 100, "timer")

    def test_threads(self) -> None:
        run = record("spin7030_threads", "0.1")
        self.check(run, 1000)
        self.assertGreater(run.of("seventy"), 0)
        # Stacks of threads are unwound to libc's outermost frame, which has different names.
        cut = [stack for stack in run.stacks if "[truncated" in stack and "seventy" in stack]
        self.assertEqual(cut, [], run.stacks)

    def test_threads_that_come_and_go(self) -> None:
        run = record("threads_late", "both", "0.05", frequency=2000)
        self.check(run, 2000)
        self.assertGreater(run.of("late_thread") + run.of("short_thread"), 0)

    def test_threads_made_by_clone(self) -> None:
        run = record("inside", "clones")
        self.assertEqual(run.status, 0, run.messages)
        self.assertGreater(run.of("clone_spin"), 10)

    def test_no_stacks_on_request(self) -> None:
        with tempfile.TemporaryDirectory(prefix="agent-") as folder:
            path = os.path.join(folder, "out.folded")
            subprocess.run(
                [
                    program("seccomp_run"),
                    "eperm",
                    command_line(),
                    "record",
                    "--backend",
                    "agent",
                    "--stacks",
                    "none",
                    "-o",
                    path,
                    "--",
                    program("spin7030"),
                    "0.15",
                ],
                check=True,
                capture_output=True,
                timeout=60,
            )
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertIn("seventy", text)
        self.assertNotIn(";seventy", text)


class Choice(unittest.TestCase):
    def test_auto_says_why(self) -> None:
        run = record("spin7030", "0.1", backend="auto")
        self.assertEqual(run.status, 0, run.messages)
        first = run.messages.splitlines()[0]
        self.assertRegex(
            first, r"^tally: sampled by an agent inside the program, because .*seccomp"
        )

    def test_perf_means_perf(self) -> None:
        run = record("spin7030", "0.3", backend="perf")
        self.assertEqual(run.status, 1)
        self.assertNotIn("agent", run.messages)
        self.assertEqual(run.out, "")

    def test_static_programs_are_refused_before_they_run(self) -> None:
        for backend in ("agent", "auto"):
            run = record("spin7030_static", "0.3", backend=backend)
            self.assertEqual((run.status, run.out), (1, ""), run.messages)
            self.assertIn("is linked statically", run.messages)

    def test_processes_that_run_are_refused(self) -> None:
        done = subprocess.run(
            [command_line(), "record", "--backend", "agent", "-p", "1"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("give a program instead of -p", done.stderr)

    def test_a_missing_library(self) -> None:
        run = record("spin7030", "0.3", environment={"TALLY_AGENT_LIBRARY": "/nonexistent"})
        self.assertEqual((run.status, run.out), (1, ""))
        self.assertIn("looked for /nonexistent", run.messages)

    def test_tally_that_is_found_by_path(self) -> None:
        """The agent is beside the program, and not beside the name by which it was called."""
        folder, name = os.path.split(command_line())
        environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        environment.pop("TALLY_AGENT_LIBRARY", None)
        with tempfile.TemporaryDirectory(prefix="agent-") as output:
            done = subprocess.run(
                [
                    name,
                    "record",
                    "--backend",
                    "agent",
                    "-o",
                    f"{output}/out.folded",
                    "--",
                    program("spin7030"),
                    "0.1",
                ],
                capture_output=True,
                text=True,
                timeout=60,
                env=environment,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("wrote ", done.stderr)

    def test_a_library_that_cannot_be_loaded(self) -> None:
        """ld.so reports this on the program's standard error, and continues."""
        run = record("spin7030", "0.05", environment={"TALLY_AGENT_LIBRARY": __file__})
        self.assertEqual(run.status, 4, run.messages)
        self.assertIn("cpu_seconds", run.out)
        self.assertIn("the agent was loaded", run.messages)


class Noticed(unittest.TestCase):
    """Tests what the program notices, at 4000 Hz to make effects likely."""

    def inside(self, *words: str, least: int = 20, **more) -> Recorded:
        run = record("inside", *words, frequency=4000, **more)
        self.assertEqual(run.status, 0, run.messages)
        self.assertGreater(run.samples(), least, run.messages)
        return run

    def test_environment(self) -> None:
        run = self.inside("environment")
        self.assertEqual(run.out, "getenv nothing\n")
        library = "libm.so.6"
        run = self.inside("environment", environment={"LD_PRELOAD": library})
        self.assertEqual(
            run.out, f"own LD_PRELOAD={library}\ngetenv {library}\n" f"child LD_PRELOAD={library}\n"
        )

    def test_errno(self) -> None:
        self.assertEqual(self.inside("errno").number("changed"), 0)

    def test_stacks_of_other_kinds(self) -> None:
        self.assertGreater(self.inside("altstack").of("spin_on_alternate", "inside_spin"), 20)
        self.assertGreater(self.inside("coroutine").of("run_coroutine", "inside_spin"), 20)

    def test_blocked_signals_are_lost_not_misplaced(self) -> None:
        run = self.inside("blocked")
        self.assertIn("a thread runs with the agent's signal blocked", run.messages)
        lost = run.summary()[2]
        self.assertGreater(lost, 100)
        self.assertLess(run.of("blocked_spin"), lost / 2)
        self.assertGreater(run.of("inside_spin"), 50)

    def test_sigwait_does_not_receive_the_agents_signals(self) -> None:
        run = record("inside", "waits", frequency=4000)
        self.assertEqual(run.number("foreign"), 0)
        if run.status != 0:  # the program blocks the signal all the time, so that no sample is kept
            self.assertIn("ticks were lost", run.messages)

    def test_the_last_thread_ends_the_program(self) -> None:
        run = self.inside("last")
        self.assertEqual(run.out, "last one out\n")
        self.assertGreater(run.of("last_thread"), 20)

    def test_a_program_that_takes_the_signal(self) -> None:
        run = self.inside("taken")
        self.assertIn("has changed the handler of the agent's signal", run.messages)

    def test_a_program_that_resets_all_signals(self) -> None:
        for frequency, seconds in ((4000, "0.02"), (100, "0.05")):
            for _ in range(10):
                run = record("inside", "resets", seconds, frequency=frequency)
                self.assertIn("exited, status 0", run.messages)
                self.assertIn("has changed the handler of the agent's signal", run.messages)

    def test_a_program_that_asks_for_handlers(self) -> None:
        self.assertEqual(self.inside("asks").number("handled"), 0)

    def test_children_are_left_alone(self) -> None:
        run = self.inside("child")
        self.assertEqual(run.of("child_spin"), 0)
        self.assertIn("exited, status 0", run.messages)
        forker = record("forker", "0.15", frequency=4000)
        self.assertEqual(forker.of("child_spin"), 0)
        self.assertGreater(forker.of("parent_spin"), 20)

    def test_samples_survive_every_end(self) -> None:
        for mode, end in (
            (["killed"], "ended by SIGKILL"),
            (["killed", "0.15", "50"], "ended by SIG50"),
            (["leaves"], "exited, status 7"),
        ):
            run = self.inside(*mode)
            self.assertIn(end, run.messages)
            self.assertGreater(run.of("inside_spin"), 100, run.messages)
        crashed = record("crasher", "0.15", frequency=4000)
        self.assertIn("ended by SIGSEGV", crashed.messages)
        self.assertGreater(crashed.of("before_crash"), 100, crashed.messages)

    def test_descriptors_threads_signals(self) -> None:
        def plain(*words: str) -> dict:
            done = subprocess.run(
                [program(words[0]), *words[1:]],
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
                stdin=subprocess.DEVNULL,
            )
            return dict(line.split() for line in done.stdout.splitlines())

        def sampled(*words: str, **more) -> dict:
            run = record(*words, frequency=4000, **more)
            return dict(line.split() for line in run.out.splitlines())

        own = plain("own_timers", "40")
        self.assertEqual(sampled("own_timers", "40"), own)
        before = plain("inside", "threads")
        under_ticker = sampled("inside", "threads")
        self.assertEqual(under_ticker["descriptors"], before["descriptors"])
        self.assertEqual(int(under_ticker["threads"]), 2)
        if os.access("/proc/self/pagemap", os.R_OK):
            need_perf()
            self.assertEqual(sampled("own_timers", "40", perf=True), own)
            self.assertEqual(sampled("inside", "threads", perf=True), before)

    def test_a_profiling_timer_of_its_own_is_reported(self) -> None:
        run = record("own_timers", "60", frequency=1000)
        self.assertIn("a profiling timer of its own", run.messages)


class Exec(unittest.TestCase):
    def test_a_pending_signal_does_not_kill_at_an_exec(self) -> None:
        """A signal that is pending survives an exec, but its handler does not."""
        for _ in range(60):
            run = record("inside", "chain", "0.01", "1", frequency=4000)
            self.assertEqual(run.out, "end of the chain\n", run.messages)

    def test_no_timer_of_another_thread_kills(self) -> None:
        """Timers count the CPU time of their threads, and may expire while another thread execs."""
        for _ in range(5):
            run = record(
                "inside",
                "searches",
                "0.05",
                "300",
                frequency=100,
                environment={"PATH": ":".join(["/nonexistent"] * 20)},
            )
            self.assertIn("the agent's clock was timer", run.messages)
            self.assertEqual(run.out, "end of the search\n", run.messages)
            self.assertGreater(run.of("inside_spin"), 0)

    def test_the_end_of_sampling_is_reported(self) -> None:
        run = record("inside", "chain", "0.1", "1", frequency=4000)
        self.assertIn("executed another program", run.messages)

    def test_failed_execs_change_nothing(self) -> None:
        run = record("inside", "fails", frequency=4000)
        self.assertEqual(run.status, 0, run.messages)
        self.assertIn("exited, status 0", run.messages)
        self.assertGreater(run.of("inside_spin"), 100)
        self.assertNotIn("ended early", run.messages)

    def test_samples_before_the_exec_stay(self) -> None:
        run = record("execer", "0.15", frequency=4000)
        self.assertGreater(run.of("before_exec"), 100)
        self.assertEqual(run.of("after_exec"), 0)

    def test_the_kernels_clocks_follow(self) -> None:
        need_perf()
        run = record("execer", "0.1", frequency=4000, perf=True)
        self.assertGreater(run.of("after_exec"), 100)


if __name__ == "__main__":
    run_unittests()
