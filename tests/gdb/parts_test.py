"""Tests parts: each ends at the next stop that the user sees, and is named after its cause."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from scenario import PARTS, GdbCase, Play, play_gdb
from support.gdb_driver import need_calls
from support.programs import SOURCE_ROOT, program
from support.skips import need_hardware_watchpoints, run_unittests

# The CPU time before each stop of the program `stops`: ten times that of the least part that
# assert_parts() counts.
SECONDS = "0.05"


def line_of(text: str) -> int:
    """Returns the number of the line of stops.c that has this text."""
    lines = (SOURCE_ROOT / "tests/programs/stops.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


class PartNamesTest(GdbCase):
    def assert_parts(self, play: Play, *patterns: str) -> None:
        """Checks the parts of at least 5 ticks; any other part may have a tick or two."""
        parts = play.parts(least=5)
        self.assertEqual(len(parts), len(patterns), f"{parts}\n{play}")
        for part, pattern in zip(parts, patterns):
            self.assertRegex(part, f"^(?:{pattern})$", f"{parts}\n{play}")
        self.assertEqual(play.status().count("parts"), len(play.parts()), play)

    def test_every_kind_of_stop(self) -> None:
        play = play_gdb(
            [
                "profile start",
                "break here",
                "run",
                "catch syscall getppid",
                "continue",
                "delete 2",
                "continue",
                "tbreak here",
                "continue",
                "continue",
                "profile status",
                PARTS,
            ],
            program("stops"),
            [SECONDS],
        )
        self.assertEqual(play.stderr, "", play)
        location = r"stops\.c:\d+"
        self.assert_parts(
            play,
            f"breakpoint 1, {location}",
            "catchpoint 2.*",
            "SIGUSR1",
            f"breakpoint 1, {location}",
            "exited, status 0",
        )

    def test_a_watchpoint(self) -> None:
        need_hardware_watchpoints()
        play = play_gdb(
            [
                "profile start",
                "break here",
                "run",
                "delete",
                "watch watched",
                "continue",
                "profile status",
                PARTS,
            ],
            program("stops"),
            [SECONDS],
        )
        self.assert_parts(play, r"breakpoint 1, stops\.c:\d+", r"watchpoint 2, stops\.c:\d+")

    def test_steps(self) -> None:
        first = line_of("here(2);") + 1
        play = play_gdb(
            [
                "profile start",
                "handle SIGUSR1 nostop noprint",
                f"break {first}",
                "run",
                "next",
                "break work",
                "continue",
                "delete",
                "finish",
                f"advance {first + 3}",
                "next",
                "continue",
                "profile status",
                PARTS,
            ],
            program("stops"),
            [SECONDS],
        )
        self.assertEqual(play.stderr, "", play)
        # Hardly anything runs before `work` is entered, and after its last call.
        self.assert_parts(
            play,
            rf"breakpoint 1, stops\.c:{first}",
            rf"step, stops\.c:{first + 1}",
            r"(?:step|finish), stops\.c:\d+",
            rf"(?:step|advance), stops\.c:{first + 3}",
            rf"step, stops\.c:{first + 4}",
        )

    def test_inner_stops_end_no_part(self) -> None:
        first = line_of("here(2);") + 1
        play = play_gdb(
            [
                "profile start",
                "handle SIGUSR1 nostop noprint",
                "break here if number == 7",
                "break work if seconds > 100",
                f"tbreak {first}",
                "run",
                "next 3",
                "continue",
                "profile status",
                PARTS,
                "info breakpoints",
            ],
            program("stops"),
            [SECONDS],
        )
        self.assertEqual(play.stderr, "", play)
        self.assert_parts(
            play,
            rf"breakpoint 3, stops\.c:{first}",
            rf"step, stops\.c:{first + 3}",
            "exited, status 0",
        )
        self.assertNotIn("already hit", play.text("info breakpoints"))

    def test_conditions_that_call_the_program(self) -> None:
        need_calls()
        play = play_gdb(
            [
                "break main",
                "run",
                "profile start",
                "handle SIGUSR1 nostop noprint",
                "break here if (int)getpid() == 1",
                "continue",
                "profile status",
                PARTS,
            ],
            program("stops"),
            [SECONDS],
        )
        self.assertEqual(play.stderr, "", play)
        self.assert_parts(play, "exited, status 0")

    def test_name_of_the_breakpoint_that_stopped(self) -> None:
        play = play_gdb(
            [
                "profile start",
                "handle SIGUSR1 nostop noprint",
                "break here if number == 7",
                "break here if number == 2",
                "run",
                "kill",
                "profile status",
                PARTS,
            ],
            program("stops"),
            [SECONDS],
        )
        self.assert_parts(play, r"breakpoint 2, stops\.c:\d+")

    def test_signals_and_how_programs_end(self) -> None:
        play = play_gdb(
            ["profile start", "run", "profile status", "continue", "profile status", PARTS],
            program("crasher"),
            ["0.1"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertIn("SIGSEGV", play.text("run"))
        self.assert_parts(play, "SIGSEGV")
        # The kernel's work of ending the process takes hardly a tick.
        self.assertIn(play.status(1).count("samples") - play.status(0).count("samples"), range(4))
        self.assertIn("Program terminated with signal SIGSEGV", play.text("continue"))

        play = play_gdb(
            ["handle SIGSEGV nostop noprint pass", "profile start", "run", "profile status", PARTS],
            program("crasher"),
            ["0.1"],
        )
        self.assert_parts(play, "ended by SIGSEGV")

    def test_parts_without_samples_are_not_kept(self) -> None:
        play = play_gdb(
            ["profile start", "break 26", "run"]
            + ["stepi"] * 20
            + ["delete", "continue", "profile status", PARTS],
            program("stops"),
            ["0.03"],
        )
        # A step takes a tick at times, but not each of the twenty.
        self.assertLess(play.status().count("parts"), 22, play)
        self.assertEqual(play.status().count("parts"), len(play.parts()), play)


class CallsTest(GdbCase):
    def test_calls_from_the_prompt(self) -> None:
        play = play_gdb(
            [
                "break main",
                "run",
                "profile start",
                "print here(1)",
                "profile status",
                "shell sleep 1",
                "profile status",
                "call work(0.1)",
                "profile status",
                PARTS,
            ],
            program("stops"),
        )
        self.assertEqual(play.stderr, "", play)
        called, later, worked = (play.status(which) for which in range(3))
        self.assertEqual(later.number("running"), called.number("running"))
        self.assertGreaterEqual(later.number("stopped"), called.number("stopped") + 0.99)
        # A call runs the program: its time counts as running, in a part of its own.
        self.assertGreaterEqual(worked.number("running"), later.number("running") + 0.08, play)
        self.assertEqual(play.parts(), ["call"], play)

    def test_a_call_that_is_stopped(self) -> None:
        play = play_gdb(
            [
                "break main",
                "run",
                "profile start",
                "break here",
                "print here(1)",
                "shell sleep 1",
                "profile status",
                "finish",
                "profile status",
            ],
            program("stops"),
        )
        self.assertIn("stopped while in a function called from GDB", play.stderr)
        self.assertGreaterEqual(play.status(0).number("stopped"), 0.99, play)
        self.assertGreaterEqual(
            play.status().number("stopped"), play.status(0).number("stopped"), play
        )

    def test_time_at_the_prompt_is_left_out(self) -> None:
        play = play_gdb(
            [
                "profile start",
                "break checkpoint",
                "run",
                "profile status",
                "shell sleep 2",
                "profile status",
                "delete",
                "continue",
                "profile status",
            ],
            program("spin7030"),
            ["0.2", "1"],
        )
        before, after, ended = (play.status(which) for which in range(3))
        for name in ("samples", "running", "cpu", "parts", "in_kernel"):
            self.assertEqual(before[name], after[name], f"{name}\n{play}")
        waited = after.number("stopped") - before.number("stopped")
        self.assertGreaterEqual(waited, 1.98, play)
        self.assertLess(waited, 60, play)
        self.assertGreaterEqual(ended.number("stopped"), after.number("stopped"))

    def test_status_and_report_change_nothing(self) -> None:
        look = ["profile status", "profile report --limit 0", PARTS]
        play = play_gdb(
            ["profile start", "break checkpoint", "run", *look, *look, "continue", *look, *look],
            program("spin7030"),
            ["0.2", "1"],
        )
        for report in look[1:]:
            texts = play.all(report)
            self.assertEqual((texts[0], texts[2]), (texts[1], texts[3]))
            self.assertNotEqual(texts[0], texts[2])
        self.assertEqual(
            re.sub("stopped .*", "", play.text("profile status", 0)),
            re.sub("stopped .*", "", play.text("profile status", 1)),
        )


if __name__ == "__main__":
    run_unittests()
