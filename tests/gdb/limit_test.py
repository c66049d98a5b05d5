"""Tests `profile start --for`, which ends sampling by itself: what users and programs see of it."""
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from interrupt_test import remote
from scenario import GdbCase, Play, play_gdb
from support.gdb_driver import GdbTerminal
from support.programs import program
from support.skips import need_tools, run_unittests

THREADS = "python print('threads', threading.active_count())"


class LimitTest(GdbCase):
    def assert_unharmed(self, play: Play, times: int) -> None:
        """The program's own timers and handlers worked, and no other signal reached it."""
        self.assertEqual(play.stderr, "", play)
        self.assertIn("exited normally", play.result.stdout, play)
        for name, count in (("alarms", times), ("profs", times), ("others", 0), ("early", 0)):
            self.assertEqual(play.program_value(name), count, play)

    def test_the_program_runs_on(self) -> None:
        for backend in ("perf", "interrupt"):
            play = play_gdb(
                [
                    "python import threading",
                    "handle SIGALRM SIGPROF nostop noprint pass",
                    f"profile start --for 0.1s --continue --backend {backend}",
                    "run",
                    "profile status",
                    THREADS,
                ],
                program("own_timers"),
                ["120"],
            )
            self.assert_unharmed(play, 120)
            ran = play.text("run")
            self.assertRegex(ran, r"(?m)^Sampling ended after 100 ms of running time\.$", play)
            self.assertRegex(ran, r"(?m)^(\d+ ticks? in total$|no samples yet: )", play)
            self.assertNotIn("received signal", ran, play)
            self.assertEqual(play.status()["state"], "stopped")
            self.assertLess(play.status().number("running"), 1, play)
            self.assertIn("threads 1", play.text(THREADS))

    def test_the_program_stops_once(self) -> None:
        for backend in ("perf", "interrupt"):
            play = play_gdb(
                [
                    "python import threading",
                    "handle SIGALRM SIGPROF nostop noprint pass",
                    f"profile start --for 0.1s --backend {backend}",
                    "run",
                    THREADS,
                    "continue",
                    "profile status",
                ],
                program("own_timers"),
                ["120"],
            )
            self.assert_unharmed(play, 120)
            ran = play.text("run")
            self.assertIn("Program received signal SIGINT", ran, play)
            self.assertRegex(ran, r"(?m)^Sampling ended after 100 ms of running time\.$", play)
            self.assertRegex(ran, r"(?m)^(\d+ ticks? in total$|no samples yet: )", play)
            self.assertNotIn("received signal", play.text("continue"), play)
            self.assertEqual(play.status()["state"], "stopped", play)
            self.assertIn("threads 1", play.text(THREADS))

    def test_stops_before_the_end(self) -> None:
        """Time at the prompt does not count, and a stop or the program's end ends the timer."""
        play = play_gdb(
            [
                "python import threading",
                "profile start --for 10s",
                "break checkpoint",
                "run",
                THREADS,
                "continue",
                "profile status",
                THREADS,
            ],
            program("spin7030"),
            ["0.1", "1"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertEqual([text.split() for text in play.all(THREADS)], [["threads", "1"]] * 2)
        self.assertIn("exited normally", play.text("continue"), play)
        self.assertNotIn("Sampling ended", play.result.stdout, play)
        self.assertEqual(play.status()["ends_after"], "10.0 s of running time")

    def test_an_interrupt_that_comes_too_late(self) -> None:
        """The process stops for another reason, and the signal is pending: it does not stop the
        process again."""
        play = play_gdb(
            [
                "break checkpoint",
                "run",
                # As if the limit had been reached just before the stop.
                "python import gc, os, signal, tally_gdb.signals as signals",
                "python own, = [o for o in gc.get_objects() if isinstance(o, signals.Sigint)]",
                "python own.send(gdb.selected_inferior().pid)",
                "python own.stopped(by_sigint=False, by_catchpoint=0, is_alive=True)",
                "continue",
                "info breakpoints",
                "continue",
            ],
            program("spin7030"),
            ["0.1", "2"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertIn("Breakpoint 1, checkpoint (number=number@entry=2)", play.text("continue"))
        self.assertNotIn("catchpoint", play.text("info breakpoints"), play)
        self.assertNotIn("SIGINT", play.result.stdout, play)
        self.assertIn("exited normally", play.text("continue", 1), play)

    def test_a_program_that_gets_sigint(self) -> None:
        """Ctrl-C would not stop the program, but reach it."""
        play = play_gdb(
            ["handle SIGINT nostop pass", "profile start --for 0.1s", "run"],
            program("spin7030"),
            ["0.3"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertIn(
            "The program runs on: SIGINT is passed to the program: enter `handle SIGINT nopass` "
            "first.\nSampling ended after 100 ms of running time.\n",
            play.text("run"),
        )
        self.assertIn("exited normally", play.text("run"), play)

    def test_a_remote_target(self) -> None:
        need_tools("gdbserver")
        for option in ("", " --continue"):
            play = play_gdb(
                [
                    remote("spin7030", "1"),
                    f"profile start --for 0.2s{option}",
                    "continue",
                    "profile status",
                    "continue" if not option else "echo",
                ],
                program("spin7030"),
            )
            ran = play.text("continue")
            self.assertRegex(ran, r"(?m)^Sampling ended after 200 ms of running time\.$", play)
            self.assertEqual("SIGINT" in ran, not option, play)
            self.assertEqual(play.status()["state"], "stopped")
            self.assertIn("exited normally", play.result.stdout, play)

    def test_in_the_background(self) -> None:
        """The terminal is the user's while the program runs, and after a command, too."""
        with GdbTerminal(program("spin7030"), ["20"]) as gdb:
            for command in ("tbreak main", "run", "continue &"):  # GDB prints no more from there on
                gdb.command(command)
            gdb.command("profile start --for 0.2s")
            gdb.expect("Sampling ended after 200 ms of running time.")
            gdb.expect(" ticks in total")
            self.assertIn("state stopped", gdb.command("profile status"))


if __name__ == "__main__":
    run_unittests()
