"""Tests the backend `agent`, preloaded at `run` if perf is refused, or loaded into a process."""
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from scenario import PARTS, Play, play_gdb, read_status
from support.gdb_driver import GdbTerminal
from support.programs import SOURCE_ROOT, program
from support.running import wait_for_cpu, wait_for_name
from support.skips import need_perf, need_tools, run_unittests

REFUSED = [program("seccomp_run"), "eperm"]  # refuses perf, for GDB and its children
TESTS = str(SOURCE_ROOT / "tests")
SIGNAL = "info signals SIG61"
WRAPPER = "show exec-wrapper"


class AgentCase(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("gdb")

    def assert_clean(self, play: Play) -> None:
        self.assertNotRegex(play.result.output, "Traceback|Python Exception|internal-error|Quit")


class PreloadTest(AgentCase):
    def test_auto_where_perf_is_refused(self) -> None:
        play = play_gdb(
            [
                WRAPPER,
                SIGNAL,
                "profile start",
                WRAPPER,
                "break checkpoint",
                "run",
                WRAPPER,
                "profile status",
                "continue",
                "profile status",
                "profile report",
                PARTS,
                WRAPPER,
                "profile stop",
                WRAPPER,
                SIGNAL,
            ],
            program("spin7030"),
            ["0.2", "1", "7"],
            wrapper=REFUSED,
        )
        self.assertEqual(play.stderr, "", play)
        self.assert_clean(play)
        why = r"agent \(auto; perf: a seccomp filter .*\)"
        self.assertRegex(
            play.text("profile start"),
            rf"\ASampling begins with the next process: {why}, 1000 Hz of CPU time, ",
        )
        self.assertIn("Breakpoint 1, checkpoint", play.text("run"))
        self.assertIn("exited with code 07", play.text("continue"))
        stopped, ended = play.status(0), play.status(1)
        for now in (stopped, ended):
            self.assertRegex(now["backend"], f"^{why}$")
            self.assertRegex(now["clock"], r"^cpu \(ticker: ")
            # A tick is lost that a busy machine delivers late.
            self.assertLess(now.count("lost"), now.count("samples"), play)
        self.assertEqual(stopped.count("threads"), 1, play)
        self.assertGreater(stopped.count("samples"), 0, play)
        self.assertGreater(ended.count("samples"), stopped.count("samples"), play)
        self.assertGreater(ended.count("delivered_hz"), 0, play)
        self.assertEqual(ended.count("samples"), play.report().total)
        self.assertEqual(play.parts(), ["breakpoint 1, spin7030.c:20", "exited, status 7"])
        self.assertGreater(play.report().row("seventy").self_ticks, 0, play)
        # The rest is time in the vDSO, which has no frame pointers: some clocks are slow.
        self.assertGreater(play.report().row("main").inclusive_ticks, 0.5 * play.report().total)
        # The agent's wrapper is set only while the next run is waited for.
        before, armed, during, rearmed, after = play.all(WRAPPER)
        self.assertIn("LD_PRELOAD=", armed)
        self.assertEqual((during, after), (before, before))
        self.assertIn("LD_PRELOAD=", rearmed)
        self.assertEqual(play.text(SIGNAL, 0), play.text(SIGNAL, 1))

    def test_rings_if_the_program_may_use_perf(self) -> None:
        need_perf()

        play = play_gdb(
            [
                "profile start --backend agent --frequency 4000",
                "break checkpoint",
                "run",
                "info threads",
                "continue",
                "profile status",
                "profile report",
            ],
            program("spin7030"),
            ["0.1", "1"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertRegex(play.status()["clock"], r"^cpu \(ring: ")
        self.assertEqual(play.status().count("interruptions"), 0)
        self.assertNotIn("  2 ", play.text("info threads"))
        self.assertGreater(play.status().count("samples"), 150, play)
        self.assertGreater(play.report().row("seventy").self_ticks, 0, play)

    def test_run_again(self) -> None:
        play = play_gdb(
            [
                "profile start",
                "run",
                "profile status",
                "run",
                "profile status",
                "profile diff previous",
                "break checkpoint",
                "run",
                "kill",
                "run",
                "continue",
                "profile status",
            ],
            program("spin7030"),
            ["0.2", "1"],
            wrapper=REFUSED,
        )
        self.assertEqual(play.stderr, "", play)
        self.assert_clean(play)
        for which in range(3):
            self.assertRegex(play.status(which)["backend"], "^agent")
            self.assertGreater(play.status(which).count("samples"), 30, play)

    def test_the_users_own_wrapper_and_environment(self) -> None:
        """With startup-with-shell off GDB ignores wrappers, but loses the program if one is set."""
        for settings, own in (
            (["set exec-wrapper env -u DISPLAY OWN=1"], '"1"'),
            (["set startup-with-shell off"], "0x0"),
        ):
            with self.subTest(settings):
                play = play_gdb(
                    [
                        *settings,
                        WRAPPER,
                        "set environment LD_PRELOAD libm.so.6",
                        "profile start",
                        "break checkpoint",
                        "run",
                        WRAPPER,
                        "show environment LD_PRELOAD",
                        "show environment TALLY_AGENT",
                        'print (char *) getenv("OWN")',
                        'print (char *) getenv("LD_PRELOAD")',
                        'print (char *) getenv("TALLY_AGENT")',
                        "continue",
                        "profile status",
                    ],
                    program("spin7030"),
                    ["0.2", "1"],
                    wrapper=REFUSED,
                )
                self.assert_clean(play)
                self.assertEqual(play.text(WRAPPER, 0), play.text(WRAPPER, 1))
                self.assertIn("LD_PRELOAD = libm.so.6", play.text("show environment LD_PRELOAD"))
                self.assertIn("not defined", play.text("show environment TALLY_AGENT"))
                self.assertIn(own, play.text('print (char *) getenv("OWN")'))
                self.assertIn('"libm.so.6"', play.text('print (char *) getenv("LD_PRELOAD")'))
                self.assertIn("0x0", play.text('print (char *) getenv("TALLY_AGENT")'))
                self.assertGreater(play.status().count("samples"), 30, play)

    def test_a_wrapper_that_leaves_no_room(self) -> None:
        """GDB expects exactly one exec by a wrapper, so that Tally cannot add its own to one other
        than `env`. `auto` then selects the next backend."""
        play = play_gdb(
            [
                "set exec-wrapper nice",
                "profile start --backend agent",
                "profile start",
                WRAPPER,
                "run",
                "profile status",
            ],
            program("spin7030"),
            ["0.3"],
            wrapper=REFUSED,
        )
        self.assertRegex(play.stderr, r"\A--backend agent: the exec-wrapper 'nice' .*\n\Z")
        self.assertIn('"nice"', play.text(WRAPPER))
        self.assertRegex(play.status()["backend"], "^interrupt .auto; perf: .*; agent: .*'nice'")
        self.assertGreater(play.status().count("samples"), 0, play)

    def test_a_static_program(self) -> None:
        """The agent is refused before the run; `auto` selects the next backend."""
        static = program("spin7030_static")
        play = play_gdb(
            ["profile start --backend agent", "profile start", "run", "profile status"],
            static,
            ["0.3"],
            wrapper=REFUSED,
        )
        self.assertRegex(play.stderr, r"\A--backend agent: .*static.*\n\Z")
        self.assertRegex(play.text("profile start"), "interrupt .auto; perf: .*; agent: .*static")
        self.assertGreater(play.status().count("samples"), 0, play)

    def test_stop_while_the_program_continues(self) -> None:
        """A signal of the agent's that is pending when sampling ends is not reported."""
        play = play_gdb(
            [
                "profile start --frequency 4000",
                "break checkpoint",
                "run",
                "profile stop",
                SIGNAL,
                "profile status",
                "continue",
                "continue",
                SIGNAL,
                "profile status",
            ],
            program("spin7030"),
            ["0.15", "2", "3"],
            wrapper=REFUSED,
        )
        self.assertEqual(play.stderr, "", play)
        self.assertIn("exited with code 03", play.text("continue", 1))
        self.assertRegex(play.text(SIGNAL, 0), r"SIG61\s+No\s+No\s+Yes")
        self.assertRegex(play.text(SIGNAL, 1), r"SIG61\s+Yes\s+Yes\s+Yes")
        self.assertEqual(play.status(0)["samples"], play.status(1)["samples"])

    def test_samples_survive_a_kill(self) -> None:
        play = play_gdb(
            ["profile start", "run", "profile status", "kill", "profile status", "profile report"],
            program("crasher"),
            ["0.2"],
            wrapper=REFUSED,
        )
        self.assertRegex(play.text("run"), "SIGSEGV|SIGABRT")
        self.assertGreater(play.status(0).count("samples"), 20, play)
        self.assertEqual(play.report().total, play.status(1).count("samples"))

    def test_an_exec_ends_sampling(self) -> None:
        play = play_gdb(
            ["profile start", "run", "profile status"], program("execer"), ["0.1"], wrapper=REFUSED
        )
        self.assert_clean(play)
        self.assertRegex(play.text("run"), "exited normally|exited with code")
        self.assertRegex(play.text("run"), "Sampling ended before the process did: .*exec")

    def test_the_programs_own_signals(self) -> None:
        """The program's SIGPROF remains its own. The agent reports that the program, too, has a
        profiling timer."""
        play = play_gdb(
            [
                "handle SIGALRM SIGPROF nostop noprint pass",
                "profile start",
                "run",
                "profile status",
            ],
            program("own_timers"),
            ["60"],
            wrapper=REFUSED,
        )
        self.assertIn("exited normally", play.text("run"))
        self.assertEqual(play.program_value("others"), 0, play)
        self.assertRegex(play.status()["conflict"], "profiling timer", play)

    def test_ctrl_c(self) -> None:
        with GdbTerminal(program("spin7030"), ["600"], wrapper=REFUSED) as gdb:
            self.assertIn("agent", gdb.command("profile start"))
            for go in ("run", "continue"):
                gdb.send(go)
                gdb.expect("Starting program.*\n" if go == "run" else "Continuing.\n")
                wait_for_cpu(wait_for_name(gdb.process.pid, "spin7030"), 0.2)
                gdb.interrupt()
                self.assertRegex(gdb.expect_prompt(), "SIGINT, Interrupt")
            now = read_status(gdb.command("profile status"))
            self.assertGreater(now.count("samples"), 50)
            self.assertEqual(now["parts"], "2")
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertNotRegex(gdb.transcript, "Traceback|Python Exception|internal-error|Aborted")


class HostileTest(AgentCase):
    def test_a_program_that_lies(self) -> None:
        """It can spoil its own counts. GDB answers, and so does Ctrl-C."""
        problems = 0
        for seed in range(4):
            with self.subTest(seed), GdbTerminal(program("hostile"), ["2.5", str(seed)]) as gdb:
                gdb.command("profile start --backend agent")
                gdb.send("run")
                gdb.expect("plays\n")
                time.sleep(0.7)
                gdb.interrupt()
                self.assertRegex(gdb.expect_prompt(), "SIGINT, Interrupt")
                gdb.command("profile status")
                gdb.command("profile report --limit 3")
                self.assertIn("exited normally", gdb.command("continue"))
                report = gdb.command("profile report --by thread --limit 3")
                problem = re.search("^problem (.*)$", gdb.command("profile status"), re.M)
                if problem:
                    self.assertIn(problem[1], report)
                    problems += 1
                gdb.send("quit")
                self.assertEqual(gdb.wait(), 0, gdb.transcript)
                self.assertNotRegex(gdb.transcript, "Traceback|Python Exc|internal-error|Aborted")
        self.assertGreater(problems, 0)


class LoadTest(AgentCase):
    def test_load_into_a_stopped_process(self) -> None:
        play = play_gdb(
            [
                "break checkpoint",
                "run",
                "profile start --backend agent",
                "show scheduler-locking",
                "continue",
                "profile status",
                "profile report",
            ],
            program("spin7030"),
            ["0.6", "1"],
            wrapper=REFUSED,
        )
        self.assertEqual(play.stderr, "", play)
        self.assertRegex(
            play.text("profile start --backend agent"),
            r"\ASampling process \d+: agent, 1000 Hz",
        )
        self.assertGreater(play.status().count("samples"), 0, play)
        self.assertGreater(play.report().row("seventy").self_ticks, 0, play)

    def test_refusal_where_loading_could_hang(self) -> None:
        play = play_gdb(
            [
                "break main",
                "run",
                "break malloc",
                "continue",
                "profile start --backend agent",
                "delete",
                "profile status",
                "kill",
            ],
            program("own_timers"),
        )
        self.assertRegex(
            play.stderr,
            r"--backend agent: thread 1 is stopped inside "
            r"(the allocator|libc|the dynamic loader)",
        )
        self.assertEqual(play.status()["state"], "idle")
        play = play_gdb(["starti", "profile start --backend agent", "kill"], program("spin7030"))
        self.assertRegex(play.stderr, r"--backend agent: .*(no dlopen|dynamic loader)")
        play = play_gdb(
            ["break checkpoint", "run", "profile start --backend agent", "kill"],
            program("spin7030_static"),
            ["0.1", "1"],
        )
        self.assertRegex(play.stderr, r"--backend agent: .*static")

    def test_exec_after_a_late_load(self) -> None:
        """A signal that is pending at the exec must not kill the new program."""
        for _ in range(5):
            play = play_gdb(
                [
                    "break before_exec",
                    "run",
                    "delete",
                    "profile start --backend agent --frequency 4000",
                    "continue",
                    SIGNAL,
                ],
                program("execer"),
                ["0.1"],
                wrapper=REFUSED,
            )
            self.assert_clean(play)
            self.assertIn("exited normally", play.text("continue"), play)

    def test_detach(self) -> None:
        process = subprocess.Popen([program("spin7030_traced"), "600"], stdout=subprocess.DEVNULL)
        try:
            play = play_gdb(
                [
                    f"attach {process.pid}",
                    "break seventy",
                    "continue",
                    "delete",
                    "profile start --backend agent",
                    f"python import sys, threading; sys.path.insert(0, {TESTS!r})",
                    "python from support.running import wait_for_cpu",
                    f"python threading.Thread(target=lambda: (wait_for_cpu({process.pid}, 0.2), "
                    "gdb.post_event(lambda: gdb.execute('interrupt')))).start()",
                    "continue",
                    "profile status",
                    "detach",
                    "profile report",
                ],
                program("spin7030_traced"),
                wrapper=REFUSED,
            )
            self.assert_clean(play)
            self.assertGreater(play.status().count("samples"), 50, play)
            wait_for_cpu(process.pid, 0.1)
            self.assertIsNone(process.poll(), play)
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    run_unittests()
