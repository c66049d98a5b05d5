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
from support.gdb_driver import GdbTerminal, run_gdb
from support.programs import program
from support.running import wait_for_cpu, wait_for_name
from support.skips import need_tools, run_unittests
from support.tables import parse_report

START = "profile start --backend interrupt --frequency 200"


def remote(name: str, *args: str) -> str:
    return f"target remote | gdbserver --once - {' '.join([program(name), *args])}"


class InterruptCase(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("gdb", "gdbserver")

    def assert_clean(self, play: Play) -> None:
        self.assertNotRegex(play.result.output, "Traceback|Python Exception|internal-error|Quit")


class NativeTest(InterruptCase):
    def test_samples_within_a_continue(self) -> None:
        play = play_gdb(
            [
                "break main",
                "run",
                "info signals SIGURG",
                START,
                "output $bpnum",
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
            ["0.5", "1", "7"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assert_clean(play)
        self.assertRegex(
            play.text(START),
            r"\ASampling process \d+: interrupt, 200 Hz of wall "
            r"time, stacks unwound by the debugger\.\n\Z",
        )
        self.assertEqual(play.text("output $bpnum"), "1")
        self.assertIn("Breakpoint 3, checkpoint", play.text("continue"))
        self.assertIn("exited with code 07", play.text("continue", 1))
        stopped, ended = play.status(0), play.status(1)
        self.assertEqual(stopped["backend"], "interrupt")
        self.assertRegex(stopped["clock"], "^wall")
        self.assertGreater(stopped.count("samples"), 0, play)
        self.assertGreater(ended.count("samples"), stopped.count("samples"), play)
        self.assertEqual(ended.count("samples"), play.report().total)
        self.assertEqual(play.parts(), ["breakpoint 3, spin7030.c:20", "exited, status 7"])
        self.assertGreater(play.report().row("seventy").self_ticks, 0, play)
        self.assertGreater(play.report().row("main").inclusive_ticks, 0.5 * play.report().total)
        # The signal's handling is restored, once no signal of Tally's can be pending any more.
        before, armed, after = play.all("info signals SIGURG")
        self.assertRegex(armed, r"SIGURG\s+No\s+No\s+No")
        self.assertEqual(before, after)
        self.assertNotIn("catchpoint", play.text("info breakpoints"))

    def test_all_threads_count_running_or_not(self) -> None:
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
            ["late", "0.3"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertIn("exited normally", play.text("continue"))
        rows = play.report("--by thread").rows
        self.assertEqual(len(rows), 5, play)
        self.assertGreater(min(row.self_ticks for row in rows), 0, play)

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
        late = re.search(
            rf"\({status['unheld']} of (\d+) rounds stopped the threads late: ",
            play.text("profile report"),
        )
        self.assertIsNotNone(late, play)
        self.assertGreater(status.count("unheld"), 0.9 * int(late[1]), play)

    def test_the_programs_own_signals(self) -> None:
        """The program's timers and handlers work as without Tally; no other signal reaches it."""
        for times in (50, 200, 800, 3200):  # until there are some samples
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
            ["0.3"],
            wrapper=[program("seccomp_run"), "eperm"],
        )
        self.assertEqual(play.stderr, "", play)
        for text in (play.text("profile start"), play.status()["backend"]):
            self.assertRegex(text, r"interrupt \(auto; perf: .*seccomp.*; agent: .*--backend agent")
        self.assertGreater(play.status().count("samples"), 0, play)

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
        for word in ("delete", "disable"):
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
                ["0.3"],
            )
            self.assert_clean(play)
            self.assertIn("exited normally", play.text("continue"), play)
            self.assertEqual(play.status().count("samples") > 0, word == "delete", play)

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
            ["0.6", "3"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertGreater(play.status().count("delivered_hz"), 0, play)
        rate = play.status().count("samples") / play.status().number("running")
        # Both are rounded, and a round may count for several periods, but for no more than there were.
        self.assertGreaterEqual(rate, 0.95 * play.status().count("delivered_hz") - 1)
        self.assertLessEqual(rate, 1.1 * play.status().count("requested_hz"))

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
            ["0.3", "1"],
        )
        self.assertRegex(play.stderr, "--backend interrupt: .*non-stop")
        self.assertEqual(play.status(0)["samples"], play.status(1)["samples"])
        self.assertEqual(play.report().total, play.status(0).count("samples"))

    def test_detach(self) -> None:
        """A signal that is still pending does not kill the process."""
        for _ in range(6):
            process = subprocess.Popen(
                [program("spin7030_traced"), "60"], stdout=subprocess.DEVNULL
            )
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
                    program("spin7030_traced"),
                )
                self.assert_clean(play)
                self.assertRegex(play.text("info signals SIGURG"), r"SIGURG\s+No\s+No\s+Yes")
                wait_for_cpu(process.pid, 0.1)
                self.assertIsNone(process.poll(), play)
            finally:
                process.kill()
                process.wait()

    def test_ctrl_c(self) -> None:
        with GdbTerminal(program("spin7030"), ["600"]) as gdb:
            gdb.command(START)
            samples = runs = 0
            while samples <= 30 or runs < 3:
                gdb.send("continue" if runs else "run")
                gdb.expect("Continuing.\n" if runs else "Starting program.*\n")
                wait_for_cpu(wait_for_name(gdb.process.pid, "spin7030"), 0.1)
                gdb.interrupt()
                self.assertRegex(gdb.expect_prompt(), "SIGINT, Interrupt")
                samples = read_status(gdb.command("profile status")).count("samples")
                runs += 1
                self.assertLess(runs, 100, gdb.transcript)
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertNotRegex(gdb.transcript, "Traceback|Python Exception|internal-error|Aborted")


class RemoteTest(InterruptCase):
    def test_over_gdbserver(self) -> None:
        play = play_gdb(
            [
                remote("spin7030", "0.6", "1", "7"),
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
        self.assertGreater(play.status().count("delivered_hz"), 0, play)
        self.assertEqual(play.parts(), ["breakpoint 2, spin7030.c:20", "exited, status 7"])
        self.assertGreater(play.report().row("seventy").self_ticks, 0, play)
        self.assertNotIn("catchpoint", play.text("info breakpoints"))

    def test_one_stop_samples_all_threads(self) -> None:
        play = play_gdb(
            [
                remote("threads_late", "late", "0.3"),
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
                remote("spin7030", "0.5"),
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
        self.assertGreater(play.status().count("samples"), 0, play)

    def test_ctrl_c(self) -> None:
        """The user's own interrupts are reported as usual, among Tally's."""
        with GdbTerminal(program("spin7030")) as gdb:
            gdb.command(remote("spin7030", "600"))
            gdb.command("profile start")
            # While GDB reads symbols from the target, a run may pass without a tick, which is no
            # part.
            samples = runs = parts = 0
            while samples <= 30 or runs < 3:
                gdb.send("continue")
                gdb.expect("Continuing.\n")
                time.sleep(0.2)
                gdb.interrupt()
                self.assertRegex(gdb.expect_prompt(), "SIGINT, Interrupt")
                now = read_status(gdb.command("profile status"))
                runs += 1
                parts += now.count("samples") > samples
                samples = now.count("samples")
                self.assertLess(runs, 100, gdb.transcript)
            self.assertEqual(now.count("parts"), parts, gdb.transcript)
            self.assertEqual(
                parse_report(gdb.command("profile report")).total, now.count("samples")
            )
            gdb.command("kill")
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertNotRegex(gdb.transcript, "Traceback|Python Exception|internal-error|Aborted")

    def test_a_slow_stop_does_not_delay_the_next_run(self) -> None:
        """After a stop of 4 s the next tick comes 7 s later. A new run has its first tick after the
        usual period."""
        slow_once = (
            "python import time, tally_gdb.interrupter as ticker; "
            "quick = ticker._pcs; slow = [4]; "
            "ticker._pcs = lambda *words: (time.sleep(slow.pop() if slow else 0), quick(*words))[1]"
        )
        with GdbTerminal(program("spin7030")) as gdb:
            gdb.command(remote("spin7030", "600"))
            gdb.command("profile start")

            def run(seconds: float) -> int:
                """Returns the number of samples in a run of this time."""
                before = read_status(gdb.command("profile status")).count("samples")
                gdb.send("continue")
                gdb.expect("Continuing.\n")
                time.sleep(seconds)
                gdb.interrupt()
                self.assertRegex(gdb.expect_prompt(), "SIGINT, Interrupt")
                return read_status(gdb.command("profile status")).count("samples") - before

            # The first stops are slow, because GDB reads symbols from the target.
            self.assertTrue(any(run(0.4) > 5 for _ in range(100)), gdb.transcript)
            gdb.command(slow_once)
            self.assertTrue(
                any(
                    run(0.4) >= 0 and "[]" in gdb.command("python print(slow)") for _ in range(100)
                ),
                gdb.transcript,
            )
            self.assertGreater(run(2), 0, gdb.transcript)
            gdb.command("kill")
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertNotRegex(gdb.transcript, "Traceback|Python Exception|internal-error|Aborted")

    def test_a_target_that_dies(self) -> None:
        with GdbTerminal(program("spin7030")) as gdb:
            server = subprocess.Popen(
                ["gdbserver", "--once", "localhost:0", program("spin7030"), "600"],
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
                for _ in range(100):
                    gdb.send("continue")
                    gdb.expect("Continuing.\n")
                    time.sleep(0.3)
                    if before > 5:
                        break
                    gdb.interrupt()
                    gdb.expect_prompt()
                    before = read_status(gdb.command("profile status")).count("samples")
                server.send_signal(signal.SIGKILL)
                gdb.expect_prompt()
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
