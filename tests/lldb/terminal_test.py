"""Tests LLDB with a user at a terminal: Ctrl-C, status displays, `quit`; in each LLDB."""
import contextlib
import os
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from case import LldbCase, pid_of
from support.lldb_driver import LldbTerminal, run_lldb
from support.programs import program
from support.running import LONGEST_S, wait_for_cpu
from support.shares import assert_seventy
from support.skips import run_unittests
from support.tables import parse_report, parse_status, status_number

# Output of a broken LLDB, which Tally must not cause.
BROKEN = "PLEASE submit a bug report|Stack dump|terminate called|Aborted|Segmentation fault"
# Messages of Tally, which must not appear unless the user's command is one of Tally's.
TALLYS = re.compile(r"^(?:error: )?(?:Sampling |profile|Nothing was sampled|The next run )", re.M)


def go_on(lldb: LldbTerminal, command: str, until: str) -> str:
    """Resumes the program, and returns the output up to the prompt after `until`."""
    lldb.send(command)
    return lldb.expect(until) + lldb.expect_prompt()


def interrupt(lldb: LldbTerminal) -> str:
    lldb.interrupt()
    return lldb.expect("stop reason = ") + lldb.expect_prompt()


def processes_with(mark: dict[str, str]) -> list[str]:
    """Returns the names of the processes that have `mark` in their environment."""
    entry = "".join(f"{name}={value}" for name, value in mark.items()).encode()
    names = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if entry in (process / "environ").read_bytes().split(b"\0"):
                names.append((process / "comm").read_text().strip())
    return names


def left_of(mark: dict[str, str]) -> list[str]:
    """Returns the names of the processes with `mark` that do not end by themselves."""
    deadline = time.monotonic() + LONGEST_S
    while (names := processes_with(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return names


class ColoursTest(LldbCase):
    samples_by_perf = False

    def test_colours_follow_use_color(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".folded") as file:
            file.write("main;lex 90\nmain 10\n")
            file.flush()

            def measure(path: str) -> None:
                with LldbTerminal(lldb=path, environment={"TERM": "xterm"}) as lldb:
                    lldb.command(f"profile load {file.name}")
                    plain = lldb.command("profile report")
                    self.assertRegex(plain, r"90\.00% +90 +90\.00% +90 +lex")
                    self.assertNotIn("\x1b[33mlex", lldb.raw)
                    lldb.command("settings set use-color true")
                    self.assertEqual(lldb.command("profile report"), plain)
                    self.assertIn("\x1b[31m90.00%\x1b[m", lldb.raw)
                    self.assertIn("\x1b[33mlex\x1b[m", lldb.raw)
                    lldb.command("settings set use-color false")
                    before = len(lldb.raw)
                    self.assertEqual(lldb.command("profile report"), plain)
                    self.assertNotIn("\x1b[33mlex", lldb.raw[before:])
                result = run_lldb(
                    ["settings set use-color true", f"profile load {file.name}", "profile report"],
                    lldb=path,
                    environment={"TERM": "xterm"},
                )
                self.assertRegex(result.stdout, r"90\.00% +90 +90\.00% +90 +lex")
                self.assertNotIn("\x1b[33mlex", result.stdout)

            self.in_each(measure)


class TerminalTest(LldbCase):
    def test_ctrl_c_continue_and_exit(self) -> None:
        def measure(path: str) -> None:
            with LldbTerminal(program("spin7030"), ["0.8", "0", "7"], lldb=path) as lldb:
                self.assertRegex(
                    lldb.command("profile start --frequency 2000"),
                    "^Sampling begins with the next process: perf .*\n?$",
                )
                silent = ""
                lldb.send("run")
                silent += lldb.expect("launched.*\n")
                wait_for_cpu(pid_of(silent), 0.2)
                silent += interrupt(lldb)
                first = parse_status(lldb.command("profile status"))
                self.assertEqual((first["state"], first["parts"]), ("sampling", "1"))
                self.assertGreater(int(first["samples"]), 50, lldb.transcript)
                # Some time passes at the prompt, in which nothing is counted.
                time.sleep(0.5)
                second = parse_status(lldb.command("profile status"))
                for name in ("samples", "running", "parts"):
                    self.assertEqual(second[name], first[name], lldb.transcript)
                self.assertGreater(status_number(second, "stopped"), 0.5 - 0.01)

                silent += go_on(lldb, "continue", "exited with status = 7.*\n")
                last = parse_status(lldb.command("profile status"))
                self.assertRegex(last["state"], "^armed")
                self.assertEqual(last["parts"], "2", lldb.transcript)
                report = parse_report(lldb.command("profile report"))
                self.assertEqual(report.total, int(last["samples"]))
                # The kernel may deliver fewer ticks than 2000 in a second, but not more.
                cpu = float(re.search(r"cpu_seconds (\S+)", lldb.transcript)[1])
                self.assertGreater(report.total, 0.4 * 2000 * cpu, lldb.transcript)
                self.assertLess(report.total, 1.02 * 2000 * cpu + 60, lldb.transcript)
                assert_seventy(self, report, 0.1, lldb.transcript)
                parts = parse_report(lldb.command("profile report --by part")).rows
                self.assertRegex(
                    "; ".join(sorted(row.name for row in parts)),
                    "^1 interrupted; 2 exited, status 7$",
                )
                self.assertNotRegex(silent, TALLYS)
                lldb.send("quit")
                self.assertEqual(lldb.wait(), 0, lldb.transcript)
                self.assertNotRegex(lldb.transcript, BROKEN)

        self.in_each(measure)

    def test_ctrl_c_in_a_sleeping_program(self) -> None:
        def measure(path: str) -> None:
            with LldbTerminal(program("sleeper"), lldb=path) as lldb:
                lldb.command("profile start")
                lldb.send("run")
                lldb.expect("asleep\n")
                time.sleep(0.5)
                interrupt(lldb)
                report = parse_report(lldb.command("profile report"))
                self.assertGreater(report.row("before_sleep").inclusive_ticks, 80)
                status = parse_status(lldb.command("profile status"))
                self.assertGreater(status_number(status, "running"), 0.4)

        self.in_each(measure)

    def test_stop_and_start_at_a_prompt(self) -> None:
        def measure(path: str) -> None:
            with LldbTerminal(program("spin7030"), ["600"], lldb=path) as lldb:
                go_on(lldb, "breakpoint set -n main", "Breakpoint 1")
                pid = pid_of(go_on(lldb, "run", "stop reason = breakpoint"))
                self.assertRegex(lldb.command("profile start"), r"^Sampling process \d+: perf")
                lldb.send("continue")
                wait_for_cpu(pid, 0.2)
                interrupt(lldb)
                self.assertEqual(lldb.command("profile stop").strip(), "")
                samples = parse_status(lldb.command("profile status"))["samples"]
                self.assertGreater(int(samples), 50, lldb.transcript)
                lldb.send("continue")
                wait_for_cpu(pid, 0.2)
                interrupt(lldb)
                status = parse_status(lldb.command("profile status"))
                self.assertEqual((status["state"], status["samples"]), ("stopped", samples))
                go_on(lldb, "process kill", "exited|killed")

        self.in_each(measure)

    def test_a_refusal_is_one_line(self) -> None:
        def measure(path: str) -> None:
            with LldbTerminal(program("spin7030"), lldb=path) as lldb:
                self.assertRegex(
                    lldb.command("profile start --frequency 0").strip(),
                    r"^error: --frequency: expected a whole number .*'0'$",
                )
                self.assertIn("state idle", lldb.command("profile status"))

        self.in_each(measure)


class LongWorkTest(LldbCase):
    def test_ctrl_c_ends_the_command_alone(self) -> None:
        """The library's command would never end."""
        busy = {"TALLY_LIBRARY": os.environ["TALLY_BUSY"]}

        def measure(path: str) -> None:
            with LldbTerminal(program("spin7030"), ["0.2"], lldb=path, environment=busy) as lldb:
                lldb.command("profile start")
                go_on(lldb, "run", "exited with status = 0.*\n")
                for _ in range(2):
                    lldb.send("profile dump /dev/null --format folded")
                    lldb.expect("busy on purpose")
                    lldb.interrupt()
                    shown = lldb.expect_prompt()
                    said = "error: interrupted"
                    self.assertEqual(shown.count(said), 1, shown)
                report = parse_report(lldb.command("profile report"))
                self.assertGreater(report.total, 50, lldb.transcript)
                lldb.send("quit")
                self.assertEqual(lldb.wait(), 0, lldb.transcript)
                self.assertNotRegex(lldb.transcript, BROKEN)

        self.in_each(measure)


class QuitTest(LldbCase):
    """LLDB ends as it does without Tally, whatever the state of sampling."""

    def ended(self, path: str, start: str, at: str) -> int:
        """Returns LLDB's exit status. `start` is the command that starts sampling; if it is empty,
        LLDB runs without the plug-in."""
        mark = {"TALLY_TEST_MARK": f"{os.getpid()}-{time.monotonic_ns()}"}
        with LldbTerminal(
            program("spin7030"), ["600", "6000"], lldb=path, plugin=bool(start), environment=mark
        ) as lldb:
            if start:
                self.assertRegex(lldb.command(start), "^Sampling begins")
            if at == "breakpoint":
                go_on(lldb, "breakpoint set -n checkpoint", "Breakpoint 1")
                go_on(lldb, "run", "stop reason = breakpoint")
            elif at == "interrupt":
                lldb.send("run")
                wait_for_cpu(pid_of(lldb.expect("launched.*\n")), 0.1)
                interrupt(lldb)
            self.assertEqual("spin7030" in processes_with(mark), at != "start", lldb.transcript)
            lldb.send("quit")
            status = lldb.wait()
            self.assertNotRegex(lldb.transcript, BROKEN)
            self.assertFalse(left_of(mark), lldb.transcript)
            return status

    def test_quit_while_sampling(self) -> None:
        for at in ("start", "breakpoint", "interrupt"):

            def measure(path: str, at: str = at) -> None:
                alone = self.ended(path, "", at)
                for backend in ("perf", "agent", "interrupt"):
                    self.assertEqual(
                        self.ended(path, f"profile start --backend {backend}", at),
                        alone,
                        f"{at}, {backend}",
                    )

            self.in_each(measure)


if __name__ == "__main__":
    run_unittests()
