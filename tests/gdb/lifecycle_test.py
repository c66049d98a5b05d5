"""Tests the life of a profile from first run to `quit`: rerun, detach, kill, exec, fork, attach."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from scenario import PARTS, GdbCase, Play, play_gdb
from support.gdb_driver import run_gdb
from support.programs import SOURCE_ROOT, program
from support.running import wait_for_cpu, wait_for_state
from support.shares import assert_seventy, assert_ticks, samples_for
from support.skips import run_unittests

TESTS = str(SOURCE_ROOT / "tests")


class RunsTest(GdbCase):
    def test_run_again_and_diff(self) -> None:
        play = play_gdb(
            [
                "profile start --frequency 4000",
                "run",
                "profile status",
                "profile diff previous",
                "run 0.15",
                "profile status",
                "profile report",
                "profile diff previous",
                "profile diff previous --json",
                "profile stop",
                "profile status",
            ],
            program("spin7030"),
            ["0.12"],
        )
        self.assert_refused(play, "^previous: there is no run before this one")
        first, second, stopped = (play.status(which) for which in range(3))
        # A profile per run. The runs differ in length, because the table omits functions whose cost
        # is the same.
        for status, asked_ms in ((first, 120), (second, 150)):
            assert_ticks(self, status.count("samples"), asked_ms, play, frequency=4000)
            self.assertEqual(status.count("parts"), 1, play)
        self.assertEqual(stopped["state"], "stopped")
        self.assertEqual(stopped.count("samples"), second.count("samples"))
        diff = play.text("profile diff previous", -1)
        self.assertRegex(diff, "seventy")
        # Both runs are of the same program: a share moves by chance alone. A difference of two
        # shares has twice the variance of one.
        self.assertGreaterEqual(first.count("samples"), 2 * samples_for(0.7, 0.25), play)
        for moved in re.findall(r"([+-][0-9.]+)%", diff):
            self.assertLess(abs(float(moved)), 25, play)

    def test_a_process_that_gdb_records(self) -> None:
        """The user learns once that the time is that of GDB's stops."""
        commands = ["break checkpoint", "profile start", "run", "record full"]
        play = play_gdb([*commands, "stepi", "stepi", "kill"], program("spin7030"), ["0.2", "2"])
        warning = r"profile: GDB records process \d+ and stops it at each instruction"
        self.assertEqual(len(re.findall(warning, play.stderr)), 1, play)

    def test_run_again_while_it_runs(self) -> None:
        play = play_gdb(
            [
                "profile start",
                "break checkpoint",
                "run",
                "profile status",
                "run",
                "profile status",
                "profile diff previous",
                "kill",
                "profile status",
                PARTS,
            ],
            program("spin7030"),
            ["0.2", "1"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertNotEqual(play.status(0)["pid"], play.status(1)["pid"])
        assert_ticks(self, play.status(1).count("samples"), 100, play)
        # The kernel charges its work of ending the process to it: one or two ticks, as a part.
        more = play.status(2).count("samples") - play.status(1).count("samples")
        self.assertIn(more, (0, 1, 2), play)
        self.assertEqual(len(play.parts()), 2 if more else 1, play)

    def test_restart_of_a_checkpoint(self) -> None:
        """Sampling stays with the process that it began with, and resumes when GDB goes back."""
        # The streams are redirected, because GDB restores file offsets, also of files that the
        # process shares with it.
        play = play_gdb(
            [
                "profile start",
                "break checkpoint",
                "run 0.2 2 </dev/null >/dev/null 2>&1",
                "profile status",
                "checkpoint",
                "restart 1",
                "profile status",
                "continue",
                "profile status",
                "restart 0",
                "continue",
                "profile status",
            ],
            program("spin7030"),
        )
        begun, left, other_ran, back = (play.status(which) for which in range(4))
        messages = [line for line in play.stderr.splitlines() if line.startswith("profile: ")]
        self.assertEqual(len(messages), 1, play)
        self.assertRegex(
            messages[0],
            r"^profile: process \d+ is not sampled: sampling stays with "
            rf"process {begun['pid']}, which was left at a checkpoint$",
        )
        self.assertEqual(left["pid"], begun["pid"], play)
        # `checkpoint` calls fork() in the process, which may get a tick: compare only what follows.
        for name in ("state", "pid", "samples", "parts"):
            self.assertEqual(other_ran[name], left[name], play)
        self.assertEqual(back["pid"], begun["pid"], play)
        self.assertGreater(back.count("samples"), begun.count("samples") + 20, play)

    def test_stop_clear_and_start_in_one_process(self) -> None:
        play = play_gdb(
            [
                "profile start",
                "break checkpoint",
                "run",
                "profile stop",
                "profile status",
                "continue",
                "profile status",
                "profile start",
                "continue",
                "profile status",
                "profile report",
                "profile clear",
                "profile status",
                "continue",
                "profile status",
                "profile report",
            ],
            program("spin7030"),
            ["0.4", "3"],
        )
        self.assertEqual(play.stderr, "", play)
        stopped, unsampled, again, cleared, ended = (play.status(which) for which in range(5))
        self.assertEqual((stopped["state"], unsampled["state"]), ("stopped", "stopped"))
        self.assertEqual(stopped.count("samples"), unsampled.count("samples"))
        # The process and the options are the same: the profile continues.
        self.assertGreater(again.count("samples"), unsampled.count("samples") + 20, play)
        self.assertEqual((again.count("threads"), again.count("parts")), (1, 2), play)
        self.assertEqual(play.report("", 0).total, again.count("samples"))
        self.assertEqual((cleared.count("samples"), cleared.count("parts")), (0, 0), play)
        self.assertEqual((cleared.number("cpu"), cleared.number("running")), (0, 0), play)
        assert_ticks(self, ended.count("samples"), 100, play)
        assert_ticks(self, ended.count("delivered_hz"), 1000, play)
        self.assertEqual(play.report().total, ended.count("samples"))

    def test_kill_and_detach_keep_what_was_collected(self) -> None:
        for leave, state in (("kill", "armed"), ("detach", "stopped")):
            with self.subTest(leave):
                play = play_gdb(
                    [
                        "profile start --frequency 2000",
                        "break checkpoint",
                        "run",
                        "profile status",
                        leave,
                        "profile status",
                        "shell sleep 1",
                        "profile status",
                        "profile report",
                    ],
                    program("spin7030"),
                    ["0.8", "1"],
                )
                self.assertEqual(play.stderr, "", play)
                before, after, later = (play.status(which) for which in range(3))
                self.assertRegex(after["state"], f"^{state}")
                # GDB itself reports a kill, but not that a detach ends sampling.
                messages = re.findall("(?m)^Sampling of process (.*)$", play.text(leave))
                self.assertEqual(
                    messages,
                    [f"{before['pid']} ended: detached; {after['samples']} ticks " "are kept."]
                    if leave == "detach"
                    else [],
                    play,
                )
                # The kernel's work of ending the process may get ticks, as may the moment in which
                # GDB has released it. It then runs for 800 ticks more, which must not count.
                self.assertLess(after.count("samples") - before.count("samples"), 300, play)
                self.assertEqual(later.count("samples"), after.count("samples"), play)
                self.assertEqual(later["running"], after["running"])
                assert_seventy(self, play.report(), 0.15, play)

    def test_a_program_that_becomes_another(self) -> None:
        for mode in ("same", "new"):  # with "new", GDB gives the program another inferior
            with self.subTest(mode):
                play = play_gdb(
                    [
                        f"set follow-exec-mode {mode}",
                        "profile start",
                        "run",
                        "profile status",
                        "profile report --limit 0",
                    ],
                    program("execer"),
                    ["0.1"],
                )
                self.assertEqual(play.stderr, "", play)
                report = play.report("--limit 0")
                for function in ("before_exec", "after_exec"):
                    assert_ticks(self, report.row(function).inclusive_ticks, 100, play)

    def test_a_child_is_left_out(self) -> None:
        play = play_gdb(
            ["profile start", "run", "profile status", "profile report --limit 0", PARTS],
            program("forker"),
            ["0.1"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertEqual(play.parts(), ["exited, status 0"], play)
        self.assert_parent_alone(play)

    def test_a_child_that_is_asked_for(self) -> None:
        play = play_gdb(
            [
                "profile start --children",
                "break waitpid",
                "run",
                "delete",
                "shell sleep 0.2",  # the child, if it still runs, is not counted meanwhile
                "continue",
                "profile status",
                "profile report --limit 0",
                "profile report --by process",
            ],
            program("forker"),
            ["0.1"],
        )
        self.assertEqual(play.stderr, "", play)
        report = play.report("--limit 0")
        assert_ticks(self, report.row("parent_spin").inclusive_ticks, 100, play)
        # On a busy machine, the child has not yet ended at the stop.
        self.assertGreater(report.row("child_spin").inclusive_ticks, 20, play)
        self.assertLess(report.row("child_spin").inclusive_ticks, 150, play)
        self.assertEqual(play.status().count("processes"), 2, play)
        rows = play.text("profile report --by process")
        self.assertEqual(len(re.findall(r"(?m) \d+ forker$", rows)), 2, play)

    def test_no_time_of_short_children_is_lost(self) -> None:
        """The clocks do not run for the work of fork and exit, which has a row."""
        script = "for i in $(seq 200); do /bin/true; done; times"
        play = play_gdb(
            ["profile start --children", "run", "profile report"], "/bin/sh", ["-c", script]
        )
        times = re.findall(r"(\d+)m(\d+\.\d+)s", str(play))
        self.assertEqual(len(times), 4, play)
        own = sum(60 * int(minutes) + float(seconds) for minutes, seconds in times)
        ticks = int(re.findall(r"(\d+) ticks in total", play.text("profile report"))[0])
        # The four numbers of `times` are multiples of 10 ms.
        self.assertAlmostEqual(ticks * 1.003e-3, own, delta=0.02 * own + 0.04, msg=str(play))

    def test_what_children_exclude(self) -> None:
        play = play_gdb(
            [
                "profile start --children --clock wall",
                "profile start --children --backend interrupt",
            ],
            program("forker"),
        )
        for message in (
            "--children: cannot be used with --clock wall",
            "--backend interrupt: samples the program's own process only",
        ):
            self.assertIn(message, play.stderr + str(play), play)

    def test_a_child_that_gdb_also_controls(self) -> None:
        """Both run on in the same continue. The end of the child is not the end of the sampled
        process."""
        play = play_gdb(
            [
                "set detach-on-fork off",
                "set schedule-multiple on",
                "profile start",
                "run",
                "inferior 1",
                "profile status",
                "continue",
                "profile status",
                "profile report --limit 0",
            ],
            program("forker"),
            ["0.1"],
        )
        # The parent ends at once when GDB has seen the child's end; of two ends GDB tells either first.
        self.assertRegex(play.text("run"), "Inferior [12] .*exited normally")
        self.assertRegex(play.status(0)["state"], "^(sampling|ended|armed)", play)
        self.assertRegex(play.status(1)["state"], "^armed")
        report = play.report("--limit 0")
        for name in ("parent_spin", "child_spin"):
            assert_ticks(self, report.row(name).inclusive_ticks, 100, play)

    def assert_parent_alone(self, play: Play) -> None:
        report = play.report("--limit 0")
        assert_ticks(self, report.row("parent_spin").inclusive_ticks, 100, play)
        self.assertNotIn("child_spin", [row.name for row in report.rows])

    def test_the_child_that_is_followed(self) -> None:
        """GDB detaches from the parent, which is then not sampled any more; the child is."""
        play = play_gdb(
            [
                "set follow-fork-mode child",
                "profile start",
                "run",
                "profile status",
                "profile report --limit 0",
            ],
            program("forker"),
            ["0.1"],
        )
        self.assertNotIn("Python", play.stderr, play)
        names = [row.name for row in play.report("--limit 0").rows]
        self.assertIn("child_spin", names)
        self.assertNotIn("parent_spin", names)
        assert_ticks(self, play.status().count("samples"), 100, play)

    def test_the_child_of_vfork_that_is_followed(self) -> None:
        """GDB leaves the parent at the child's exec, without reporting that the child resumes."""
        play = play_gdb(
            [
                "set follow-fork-mode child",
                "profile start",
                "run",
                "profile status",
                "profile report --limit 0",
                "profile diff previous --limit 0",
            ],
            program("execer"),
            ["0.1", "vfork"],
        )
        self.assertEqual(play.stderr, "", play)
        names = [row.name for row in play.report("--limit 0").rows]
        self.assertIn("after_exec", names)
        self.assertNotIn("before_exec", names)
        assert_ticks(self, play.status().count("samples"), 100, play)
        self.assertIn("before_exec", play.text("profile diff previous --limit 0"))


class SameAsWithoutTest(GdbCase):
    def test_end_of_the_program(self) -> None:
        for name, args, code, signal_number in (
            ("exit_status", ["7", "0.05"], "7", "void"),
            ("exit_status", ["0", "0.05"], "0", "void"),
            ("crasher", ["0.05"], "void", "11"),
        ):
            with self.subTest(name):
                commands = [
                    "handle all nostop noprint pass",
                    "run",
                    "print $_exitcode",
                    "print $_exitsignal",
                ]
                plain = play_gdb(commands, program(name), args, plugin=False)
                sampled = play_gdb(["profile start", *commands], program(name), args)
                for play in (plain, sampled):
                    self.assertRegex(play.text("print $_exitcode"), f"= {code}$")
                    self.assertRegex(play.text("print $_exitsignal"), f"= {signal_number}$")
                self.assertEqual(sampled.stderr, "", sampled)

    def test_state_that_the_program_observes(self) -> None:
        """The program gets exactly its own timers' signals; its descriptors, limits and signal mask
        are the same."""
        commands = ["handle SIGALRM SIGPROF nostop noprint pass", "run"]
        values = ("descriptors", "limit", "alarms", "profs", "others")
        plain = play_gdb(commands, program("own_timers"), ["40"], plugin=False)
        sampled = play_gdb(
            ["profile start --frequency 4000", *commands, "profile status"],
            program("own_timers"),
            ["40"],
        )
        for name in values:
            self.assertEqual(
                sampled.program_value(name),
                plain.program_value(name),
                f"{name}\n{plain}\n{sampled}",
            )
        for name in ("alarms", "profs"):
            self.assertEqual(sampled.program_value(name), 40, sampled)
        masks = [
            re.search("^masked (.*)$", play.result.stdout, re.MULTILINE)
            for play in (plain, sampled)
        ]
        self.assertEqual(masks[0][1], masks[1][1])
        self.assertGreater(sampled.status().count("samples"), 20)

    def test_output_while_nothing_is_sampled(self) -> None:
        """The plug-in is loaded but not used: it prints nothing."""
        commands = [
            "break checkpoint if number == 2",
            "run",
            "next",
            "print checkpoint(7)",
            "delete",
            "continue",
            "info breakpoints",
        ]
        texts = []
        for plugin in (False, True):
            play = play_gdb(commands, program("spin7030"), ["0.1", "2"], plugin=plugin)
            texts.append(
                re.sub(r"cpu_seconds [0-9.]+|process \d+|0x[0-9a-f]+", "", str(play.sections))
            )
            self.assertEqual(play.stderr, "", play)
        self.assertEqual(texts[0], texts[1])

    def test_output_while_sampling(self) -> None:
        """Sampling adds only the replies to `profile` commands."""
        commands = ["break checkpoint", "run", "next", "print checkpoint(7)", "delete", "continue"]
        texts = []
        starts: list[list[str]] = [[], ["profile start"]]
        for first in starts:
            play = play_gdb([*first, *commands], program("spin7030"), ["0.1", "1"])
            texts.append(
                [
                    re.sub(r"cpu_seconds [0-9.]+|process \d+|0x[0-9a-f]+", "", text)
                    for command, text in play.sections
                    if command not in first
                ]
            )
        self.assertEqual(texts[0], texts[1])


class QuitTest(GdbCase):
    def test_quit_while_sampling(self) -> None:
        ends: list[list[str]] = [[], ["quit"], ["quit 3"], ["python gdb.execute('quit')"]]
        for last in ends:
            for running in (["run"], ["starti"], ["run", "kill"]):
                with self.subTest(last=last, running=running):
                    commands = ["break checkpoint", *running]
                    arguments = (program("spin7030"), ["0.05", "1"])
                    plain = run_gdb([*commands, *last], *arguments, plugin=False)
                    sampled = run_gdb(["profile start", *commands, *last], *arguments)
                    self.assertEqual(sampled.status, plain.status, sampled)
                    self.assertEqual(sampled.stderr, plain.stderr, sampled)

    def test_quit_when_attached(self) -> None:
        """Nothing is kept in this case, and nothing reported."""
        with subprocess.Popen([program("sleeper")], stdout=subprocess.DEVNULL) as process:
            wait_for_cpu(process.pid, 0.1)
            result = run_gdb([f"attach {process.pid}", "profile start", "quit"])
            process.kill()
        self.assertNotIn("ended", result.output, result)

    def test_quit_when_armed(self) -> None:
        result = run_gdb(["profile start"], program("spin7030"))
        self.assertEqual((result.status, result.stderr), (0, ""), result)

    def test_quit_before_the_event_loop_executes_what_was_posted(self) -> None:
        """GDB 13 crashes when it destroys such a function. Batch mode has no event loop here."""
        late = "python import atexit; atexit.register(lambda: tally_gdb.posted.post(print))"
        ends: list[tuple[list[str], int]] = [([], 0), (["quit 3"], 3)]
        for last, status in ends:
            for posts in [late], ["python tally_gdb.posted.post(print)", late]:
                with self.subTest(last=last, posts=posts):
                    commands = ["profile status", "python import tally_gdb.posted", *posts]
                    result = run_gdb([*commands, "echo the last output", *last])
                    self.assertEqual((result.status, result.stderr), (status, ""), result)
                    self.assertTrue(result.stdout.endswith("the last output"), result)


class AttachTest(GdbCase):
    def started(self, seconds: float, name: str = "spin7030_traced") -> subprocess.Popen:
        process = subprocess.Popen([program(name), str(seconds)], stdout=subprocess.PIPE, text=True)
        if name == "spin7030_traced":
            wait_for_state(process.pid, "S")  # in main()
        else:
            wait_for_cpu(process.pid, 0.02)

        def end() -> None:
            process.kill()
            process.wait()
            process.stdout.close()

        self.addCleanup(end)
        return process

    def test_attach_then_start(self) -> None:
        process = self.started(600)
        play = play_gdb(
            [
                f"attach {process.pid}",
                "profile start --frequency 4000",
                "profile status",
                f"python import sys, threading, os, signal; sys.path.insert(0, {TESTS!r})",
                "python from support.running import wait_for_cpu",
                f"python threading.Thread(target=lambda: (wait_for_cpu({process.pid}, 0.2), "
                f"os.kill({process.pid}, signal.SIGINT))).start()",
                "continue",
                "profile status",
                "profile report",
                PARTS,
                "detach",
                "profile status",
            ]
        )
        self.assertRegex(
            play.text("profile start --frequency 4000"), f"^Sampling process {process.pid}: perf"
        )
        self.assertEqual(play.status(0)["state"], "sampling")
        self.assertIn("SIGINT", play.text("continue"))
        self.assertGreater(play.status(1).count("samples"), 100, play)
        assert_seventy(self, play.report(), 0.2, play)
        self.assertEqual(play.parts(), ["SIGINT"], play)
        self.assertEqual(play.status(2)["state"], "stopped")
        self.assertIsNone(process.poll())

    def test_start_then_attach(self) -> None:
        process = self.started(0.3)
        play = play_gdb(
            [
                "profile start",
                f"attach {process.pid}",
                "profile status",
                "continue",
                "profile status",
                PARTS,
            ]
        )
        self.assertRegex(play.text("profile start"), "^Sampling begins with the next process")
        self.assertEqual(
            play.status(0)["state"], f"armed (begins when process {process.pid} runs on)"
        )
        self.assertGreater(play.status().count("samples"), 100, play)
        self.assertEqual(play.parts(), ["exited, status 0"], play)

    def test_attach_and_leave_at_once(self) -> None:
        process = self.started(600, "spin7030")
        play = play_gdb(
            [
                f"attach {process.pid}",
                "profile start",
                "detach",
                "profile status",
                "shell sleep 0.2",
                "profile status",
                f"attach {process.pid}",
                "profile status",
                "profile start",
                "profile status",
                "detach",
            ]
        )
        states = [play.status(which)["state"] for which in range(4)]
        self.assertEqual(states, ["stopped", "stopped", "stopped", "sampling"], play)
        self.assertEqual(play.status(1).count("samples"), play.status(0).count("samples"), play)
        wait_for_cpu(process.pid, 0.1)
        self.assertIsNone(process.poll(), "GDB let it go on when it ended")

    def test_a_process_that_is_killed_from_outside(self) -> None:
        process = self.started(600)
        play = play_gdb(
            [
                f"attach {process.pid}",
                "profile start",
                f"python import sys, threading, os, signal; sys.path.insert(0, {TESTS!r})",
                "python from support.running import wait_for_cpu",
                f"python threading.Thread(target=lambda: (wait_for_cpu({process.pid}, 0.1), "
                f"os.kill({process.pid}, signal.SIGKILL))).start()",
                "continue",
                "profile status",
                PARTS,
            ]
        )
        self.assertIn("terminated with signal SIGKILL", play.text("continue"))
        self.assertEqual(play.parts(), ["ended by SIGKILL"], play)
        self.assertEqual(process.wait(), -signal.SIGKILL)


class LeftOverTest(GdbCase):
    def test_a_hundred_starts_and_stops(self) -> None:
        look = (
            "python import os; print(len(os.listdir('/proc/self/fd')), "
            "len(os.listdir('/proc/self/task')), "
            "open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"
        )
        rounds = (
            "python\nfor _ in range({}):\n  gdb.execute('profile start', to_string=True)\n"
            "  gdb.execute('tbreak checkpoint', to_string=True)\n"
            "  gdb.execute('continue', to_string=True)\n"
            "  gdb.execute('profile stop', to_string=True)\n"
            "  gdb.execute('profile report', to_string=True)"
        )
        play = play_gdb(
            [
                "break main",
                "run",
                rounds.format(10),
                look,
                rounds.format(100),
                look,
                "profile clear",
                "profile status",
            ],
            program("spin7030"),
            ["0.5", "200"],
        )
        self.assertEqual(play.stderr, "", play)
        before, after = ([int(word) for word in text.split()] for text in play.all(look))
        self.assertEqual(after[:2], before[:2], f"descriptors and threads\n{play}")
        self.assertLess(after[2] - before[2], 8 * 1024, f"KiB of memory\n{play}")


if __name__ == "__main__":
    run_unittests()
