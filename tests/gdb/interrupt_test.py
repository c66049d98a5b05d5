"""Tests the backend `interrupt`, which stops the program to sample it: natively, and remotely."""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from scenario import PARTS, Play, play_gdb, read_status
from support.chance import with_one_retry
from support.gdb_driver import GdbTerminal, run_gdb
from support.programs import program
from support.skips import need_tools, run_unittests
from support.tables import parse_report

START = "profile start --backend interrupt --frequency 200"


def remote(name: str, *args: str) -> str:
    return f"target remote | gdbserver --once - {' '.join([program(name), *args])}"


class InterruptCase(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("gdb", "gdbserver")

    def assert_seventy(self, play: Play, which: int = -1) -> None:
        """Compares the self ticks of the two functions only. A signal often stops the program where
        the scheduler preempted it, and that is often a system call."""
        report = play.report(which=which)
        seventy, thirty = report.row("seventy").self_ticks, report.row("thirty").self_ticks
        self.assertAlmostEqual(100 * seventy / (seventy + thirty), 70, delta=10, msg=play)

    def assert_clean(self, play: Play) -> None:
        self.assertNotRegex(play.result.output, "Traceback|Python Exception|internal-error|Quit")


class NativeTest(InterruptCase):
    def test_samples_within_a_continue(self) -> None:
        def measure() -> None:
            play = play_gdb(
                [
                    "break main",
                    "run",
                    "info signals SIGURG",
                    START,
                    "break checkpoint",
                    "continue",
                    "profile status",
                    "continue",
                    "profile status",
                    "profile report",
                    PARTS,
                    "info signals SIGURG",
                    "profile stop",
                    "info signals SIGURG",
                    "info breakpoints",
                ],
                program("spin7030"),
                ["1.5", "1", "7"],
            )
            self.assertEqual(play.stderr, "", play)
            self.assert_clean(play)
            self.assertRegex(
                play.text(START),
                r"\ASampling process \d+: interrupt, 200 Hz of wall "
                r"time, stacks unwound by the debugger\.\n\Z",
            )
            self.assertIn("Breakpoint 3, checkpoint", play.text("continue"))
            self.assertIn("exited with code 07", play.text("continue", 1))
            stopped, ended = play.status(0), play.status(1)
            self.assertEqual(stopped["backend"], "interrupt")
            self.assertRegex(stopped["clock"], "^wall")
            self.assertGreater(ended.count("samples"), 100)
            self.assertEqual(ended.count("samples"), play.report().total)
            self.assertEqual(play.parts(), ["breakpoint 3, spin7030.c:20", "exited, status 7"])
            self.assert_seventy(play)
            self.assertGreater(play.report().row("main").inclusive_ticks, 0.9 * play.report().total)
            # The signal's handling is restored, once no signal of Tally's can be pending any more.
            before, armed, after = play.all("info signals SIGURG")
            self.assertRegex(armed, r"SIGURG\s+No\s+No\s+No")
            self.assertEqual(before, after)
            self.assertNotIn("catchpoint", play.text("info breakpoints"))

        with_one_retry(self, measure)

    def test_all_threads_count_running_or_not(self) -> None:
        def measure() -> None:
            play = play_gdb(
                [
                    "break late_thread",
                    "run",
                    "delete",
                    START,
                    "continue",
                    "profile report --by thread",
                    "profile status",
                ],
                program("threads_late"),
                ["late", "2"],
            )
            self.assertEqual(play.stderr, "", play)
            self.assertIn("exited normally", play.text("continue"))
            rows = play.report("--by thread").rows
            self.assertEqual(len(rows), 5, play)
            self.assertGreater(min(row.self_ticks for row in rows), 20, play)

        with_one_retry(self, measure)

    def test_short_system_calls(self) -> None:
        """The calls take 2 % of the time. They would get half of the ticks if the signal were sent
        from another processor, because they end while the signal is on its way."""

        def measure() -> None:
            play = play_gdb(
                ["profile start --backend interrupt", "run", "profile report", "profile status"],
                program("asks_often"),
                ["2"],
            )
            self.assertEqual(play.stderr, "", play)
            report = play.report()
            self.assertGreater(report.total, 40, play)
            # A round that could not hold the processor may stop a thread anywhere.
            self.assertGreater(
                report.row("work").self_ticks + play.status().count("unheld"),
                0.8 * report.total,
                play,
            )

        with_one_retry(self, measure)

    def test_rounds_that_hold_no_processor_are_counted(self) -> None:
        """The wrapper's seccomp filter refuses to set the processor affinity."""
        play = play_gdb(
            ["profile start --backend interrupt", "run", "profile report", "profile status"],
            program("asks_often"),
            ["0.5"],
            wrapper=[program("seccomp_run"), "affinity"],
        )
        self.assertEqual(play.stderr, "", play)
        status = play.status()
        self.assertGreater(status.count("unheld"), 0.9 * status.count("samples"), play)
        self.assertRegex(
            play.text("profile report"),
            rf"\({status['unheld']} of \d+ rounds stopped the threads late: ",
        )

    def test_the_programs_own_signals(self) -> None:
        """The program's timers and handlers work as without Tally; no other signal reaches it."""
        for times in (100, 400, 1600):  # a busy machine needs more time for some samples
            play = play_gdb(
                [START, "handle SIGALRM SIGPROF nostop noprint pass", "run", "profile status"],
                program("own_timers"),
                [str(times)],
            )
            self.assertIn("exited normally", play.text("run"))
            for name in ("alarms", "profs"):
                self.assertEqual(play.program_value(name), times, play)
            self.assertEqual(play.program_value("others"), 0, play)
            self.assertEqual(play.program_value("early"), 0, play)
            if play.status().count("samples") > 5:
                return
        self.fail(f"too few samples: {play}")

    def test_auto_says_why(self) -> None:
        """`auto` does not load the agent into a stopped process if perf is refused."""
        play = play_gdb(
            ["break main", "run", "profile start", "continue", "profile status"],
            program("spin7030"),
            ["0.5"],
            wrapper=[program("seccomp_run"), "eperm"],
        )
        self.assertEqual(play.stderr, "", play)
        for text in (play.text("profile start"), play.status()["backend"]):
            self.assertRegex(text, r"interrupt \(auto; perf: .*seccomp.*; agent: .*--backend agent")
        self.assertGreater(play.status().count("samples"), 20, play)

    def test_wall_clock(self) -> None:
        """`--clock wall` samples a sleeping program."""
        play = play_gdb(
            [
                "profile start --backend interrupt --clock wall --frequency 200",
                "run",
                "profile status",
                "profile report --sort inclusive",
            ],
            program("sleeper"),
            ["1"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertRegex(
            play.text("profile start --backend interrupt --clock wall --frequency 200"),
            "interrupt, 200 Hz of wall time",
        )
        report = play.report("--sort inclusive")
        asleep = sum(row.self_ticks for row in report.rows if "nanosleep" in row.name)
        self.assertGreater(asleep, 0.5 * report.total, play)

    def test_the_users_delete_and_disable(self) -> None:
        """After `delete` Tally sets its catchpoint again. After `disable` the catchpoint remains
        disabled, and nothing is sampled. Neither stops the program."""
        for word, least in (("delete", 20), ("disable", 0)):
            play = play_gdb(
                [
                    "break main",
                    "run",
                    START,
                    word,
                    "continue",
                    "profile status",
                    "info breakpoints",
                ],
                program("spin7030"),
                ["0.5"],
            )
            self.assert_clean(play)
            self.assertIn("exited normally", play.text("continue"), play)
            self.assertGreaterEqual(play.status().count("samples"), least, play)

    def test_stop_and_start(self) -> None:
        play = play_gdb(
            [
                "break checkpoint",
                "run",
                START,
                "continue",
                "profile stop",
                START,
                "continue",
                "profile status",
                "profile stop",
                "continue",
            ],
            program("spin7030"),
            ["1.5", "3"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertGreater(play.status().count("delivered_hz"), 50, play)
        rate = play.status().count("samples") / play.status().number("running")
        self.assertAlmostEqual(rate, play.status().count("delivered_hz"), delta=0.1 * rate)

    def test_a_program_that_handles_the_signal(self) -> None:
        """Tally selects another signal or, if it is too late for that, ends sampling."""
        play = play_gdb(
            [
                "break main",
                "run",
                "delete",
                "break raised",
                "continue",
                START,
                "profile status",
                "continue",
                "profile status",
            ],
            program("own_signal"),
        )
        self.assert_clean(play)
        self.assertIn("got 20 of 20", play.result.stdout, play)

    def test_a_refusal_loses_nothing(self) -> None:
        play = play_gdb(
            [
                "set non-stop on",
                "profile start --backend perf",
                "break checkpoint",
                "run",
                "profile stop",
                "profile status",
                START,
                "profile status",
                "profile report",
            ],
            program("spin7030"),
            ["0.6", "1"],
        )
        self.assertRegex(play.stderr, "--backend interrupt: .*non-stop")
        self.assertEqual(play.status(0)["samples"], play.status(1)["samples"])
        self.assertEqual(play.report().total, play.status(0).count("samples"))

    def test_detach(self) -> None:
        """A signal that is still pending does not kill the process."""
        for _ in range(6):
            process = subprocess.Popen([program("spin7030"), "60"], stdout=subprocess.DEVNULL)
            try:
                play = play_gdb(
                    [
                        f"attach {process.pid}",
                        "break seventy if unit % 1021 == 0",
                        "profile start --backend interrupt",
                        "continue",
                        "continue",
                        "detach",
                        "info signals SIGURG",
                    ],
                    program("spin7030"),
                )
                self.assert_clean(play)
                self.assertRegex(play.text("info signals SIGURG"), r"SIGURG\s+No\s+No\s+Yes")
                time.sleep(0.2)
                self.assertIsNone(process.poll(), play)
            finally:
                process.kill()
                process.wait()

    def test_ctrl_c(self) -> None:
        with_one_retry(self, self.press_ctrl_c)

    def press_ctrl_c(self) -> None:
        with GdbTerminal(program("spin7030"), ["60"]) as gdb:
            gdb.command(START)
            for go in ("run", "continue", "continue"):
                gdb.send(go)
                gdb.expect("Starting program.*\n" if go == "run" else "Continuing.\n")
                time.sleep(0.7)
                gdb.interrupt()
                self.assertRegex(gdb.expect_prompt(), "SIGINT, Interrupt")
            self.assertGreater(read_status(gdb.command("profile status")).count("samples"), 60)
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertNotRegex(gdb.transcript, "Traceback|Python Exception|internal-error|Aborted")


class RemoteTest(InterruptCase):
    def test_over_gdbserver(self) -> None:
        def measure() -> None:
            play = play_gdb(
                [
                    remote("spin7030", "2", "1", "7"),
                    "profile start",
                    "break checkpoint",
                    "continue",
                    "profile status",
                    "continue",
                    "profile status",
                    "profile report",
                    PARTS,
                    "profile stop",
                    "info breakpoints",
                ],
                program("spin7030"),
            )
            self.assert_clean(play)
            self.assertRegex(
                play.text("profile start"),
                r"\ASampling process \d+: interrupt \(auto; perf: a remote .*; agent: ",
            )
            self.assertIn("Breakpoint 2, checkpoint", play.text("continue"))
            self.assertIn("exited with code 07", play.text("continue", 1))
            self.assertRegex(play.status()["clock"], "^wall.*100")
            self.assertGreaterEqual(play.status().count("delivered_hz"), 30, play)
            self.assertEqual(play.parts(), ["breakpoint 2, spin7030.c:20", "exited, status 7"])
            self.assert_seventy(play)
            self.assertNotIn("catchpoint", play.text("info breakpoints"))

        with_one_retry(self, measure)

    def test_one_stop_samples_all_threads(self) -> None:
        def measure() -> None:
            play = play_gdb(
                [
                    remote("threads_late", "late"),
                    "break late_thread",
                    "continue",
                    "delete",
                    "profile start",
                    "continue",
                    "profile report --by thread",
                    "profile report",
                ],
                program("threads_late"),
            )
            self.assert_clean(play)
            self.assertGreaterEqual(len(play.report("--by thread").rows), 4, play)
            late = play.report().row("late_thread")
            self.assertGreater(late.inclusive_ticks, 0.5 * play.report().total, play)

        with_one_retry(self, measure)

    def test_perf_and_agent_are_refused(self) -> None:
        for backend in ("perf", "agent"):
            play = play_gdb(
                [
                    remote("spin7030", "0.1"),
                    f"profile start --backend {backend}",
                    "profile status",
                    "kill",
                ],
                program("spin7030"),
            )
            self.assertRegex(play.stderr, rf"--backend {backend}: a remote target cannot be")
            self.assertEqual(play.status()["state"], "idle")

    def test_a_target_that_comes_after_the_start(self) -> None:
        play = play_gdb(
            [
                "profile start",
                remote("spin7030", "1"),
                "break main",
                "continue",
                "continue",
                "profile status",
            ],
            program("spin7030"),
        )
        self.assert_clean(play)
        self.assertIn("exited normally", play.text("continue", 1))
        self.assertRegex(play.status()["backend"], "^interrupt")
        self.assertGreater(play.status().count("samples"), 10, play)

    def test_ctrl_c(self) -> None:
        """The user's own interrupts are reported as usual, among Tally's."""
        with GdbTerminal(program("spin7030")) as gdb:
            gdb.command(remote("spin7030", "60"))
            gdb.command("profile start")
            for runs in range(1, 11):  # a busy machine needs more time for some samples
                gdb.send("continue")
                gdb.expect("Continuing.\n")
                time.sleep(0.7)
                gdb.interrupt()
                self.assertRegex(gdb.expect_prompt(20), "SIGINT, Interrupt")
                now = read_status(gdb.command("profile status"))
                if runs >= 3 and now.count("samples") > 30:
                    break
            self.assertGreater(now.count("samples"), 30)
            # While GDB reads symbols from the target, a run may pass without a tick.
            self.assertIn(now.count("parts"), range(runs - 2, runs + 1), gdb.transcript)
            self.assertEqual(
                parse_report(gdb.command("profile report")).total, now.count("samples")
            )
            gdb.command("kill")
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertNotRegex(gdb.transcript, "Traceback|Python Exception|internal-error|Aborted")

    def test_a_slow_stop_does_not_delay_the_next_run(self) -> None:
        """After a stop of 0.6 s the next tick comes 1 s later. A new run has its first tick after
        the usual period."""
        slow_once = (
            "python import time, tally_gdb.interrupter as ticker; "
            "quick = ticker._pcs; slow = [0.6]; "
            "ticker._pcs = lambda *words: (time.sleep(slow.pop() if slow else 0), quick(*words))[1]"
        )
        with GdbTerminal(program("spin7030")) as gdb:
            gdb.command(remote("spin7030", "60"))
            gdb.command("profile start")
            counts = [0]

            def run() -> int:
                """Returns the number of samples in a run of 0.7 s."""
                gdb.send("continue")
                gdb.expect("Continuing.\n")
                time.sleep(0.7)
                gdb.interrupt()
                self.assertRegex(gdb.expect_prompt(20), "SIGINT, Interrupt")
                counts.append(read_status(gdb.command("profile status")).count("samples"))
                return counts[-1] - counts[-2]

            # The first stops are slow, because GDB reads symbols from the target.
            self.assertTrue(any(run() > 20 for _ in range(30)), gdb.transcript)
            gdb.command(slow_once)
            run()
            self.assertIn("[]", gdb.command("python print(slow)"))
            self.assertGreater(run(), 10, gdb.transcript)
            gdb.command("kill")
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertNotRegex(gdb.transcript, "Traceback|Python Exception|internal-error|Aborted")

    def test_a_target_that_dies(self) -> None:
        with GdbTerminal(program("spin7030")) as gdb:
            server = subprocess.Popen(
                ["gdbserver", "--once", "localhost:0", program("spin7030"), "60"],
                stderr=subprocess.PIPE,
                text=True,
                stdout=subprocess.DEVNULL,
            )
            try:
                line = ""
                while "Listening on port" not in line:
                    line = server.stderr.readline()
                gdb.command(f"target remote localhost:{line.split()[-1]}")
                gdb.command("profile start")
                # The first stops are slow, because GDB reads symbols from the target.
                before = 0
                for _ in range(30):
                    gdb.send("continue")
                    gdb.expect("Continuing.\n")
                    time.sleep(1)
                    if before > 5:
                        break
                    gdb.interrupt()
                    gdb.expect_prompt(20)
                    before = read_status(gdb.command("profile status")).count("samples")
                server.send_signal(signal.SIGKILL)
                gdb.expect_prompt(20)
            finally:
                server.kill()
                server.wait()
                server.stderr.close()
            now = read_status(gdb.command("profile status"))
            self.assertGreater(before, 5)
            self.assertGreaterEqual(now.count("samples"), before)
            self.assertGreater(len(parse_report(gdb.command("profile report")).rows), 0)
            gdb.command("profile stop")
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertNotRegex(gdb.transcript, "Traceback|Python Exception|internal-error|Aborted")


if __name__ == "__main__":
    run_unittests()
