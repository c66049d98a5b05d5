"""Tests which process is sampled with several targets, failed launches and preloading."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from case import PARTS, REPORT, LldbCase, report_of, status_of, text_of
from support.lldb_driver import run_lldb
from support.programs import program
from support.shares import assert_seventy
from support.skips import run_unittests
from support.tables import status_number

VARIABLES = "settings show target.env-vars"


class SeveralTargetsTest(LldbCase):
    def test_the_sampled_process_stays_the_same(self) -> None:
        """Another target runs meanwhile, with either backend that arms for launches."""
        for backend, seconds in (("perf", "0.2"), ("interrupt", "0.8")):

            def measure(lldb: str, backend: str = backend, seconds: str = seconds) -> None:
                result = run_lldb(
                    [
                        f"profile start --backend {backend}",
                        "breakpoint set -n checkpoint",
                        "run",
                        "profile status",
                        f"target create {program('exit_status')}",
                        "settings set target.disable-aslr false",
                        "settings set target.run-args 7 0.05",
                        "run",
                        "profile status",
                        "target select 0",
                        "continue",
                        "profile status",
                    ],
                    program("spin7030"),
                    [seconds, "1"],
                    lldb=lldb,
                )
                self.assertIn("exited with status = 7", result.stdout, result)
                note = "the selected target, exit_status, is not sampled)"
                self.assertEqual(result.stderr.count(note), 1, result)
                first, meanwhile, last = (status_of(result, each) for each in range(3))
                self.assertEqual(
                    (meanwhile["pid"], meanwhile["samples"]),
                    (first["pid"], first["samples"]),
                    result,
                )
                self.assertGreater(int(last["samples"]), int(first["samples"]), result)
                self.assertEqual(last["parts"], "2", result)

            self.in_each(measure)

    def test_the_process_has_ended(self) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(
                [
                    "profile start",
                    "run",
                    REPORT,
                    f"target create {program('exit_status')}",
                    REPORT,
                    "profile start",
                ],
                program("spin7030"),
                ["0.1"],
                lldb=lldb,
            )
            note = r"\(the profile is that of target #0, spin7030, process \d+; the selected target"
            self.assertEqual(len(re.findall(note, result.stderr)), 1, result)

        self.in_each(measure)


class OtherDebuggerTest(LldbCase):
    """A process of another debugger in the same LLDB process is not sampled."""

    def play(self, lldb: str, *commands: str, then: str) -> None:
        other = os.environ["TALLY_OTHER_DEBUGGER"]
        result = run_lldb(
            [
                f"plugin load {other}",
                "profile start",
                *commands,
                "other settings set target.disable-aslr false",
                f"other target create {program('spin7030')}",
                "other settings set target.run-args 0.3 0 7",
                "other run",
                "profile status",
                then,
                "profile status",
            ],
            program("spin7030"),
            ["0.2"],
            lldb=lldb,
        )
        self.assertIn("exited with status = 7", text_of(result, "other run"), result)
        before, after = status_of(result), status_of(result, 1)
        self.assertRegex(before["state"], "^armed", result)
        self.assertEqual((before["samples"], before["parts"]), ("0", "0"), result)
        self.assertEqual(after["parts"], "1", result)
        # The other process used 0.3 s.
        self.assertGreater(int(after["samples"]), 70, result)
        self.assertLess(int(after["samples"]), 280, result)

    def test_before_the_first_launch(self) -> None:
        self.in_each(lambda lldb: self.play(lldb, then="run"))

    def test_after_a_launch_that_failed(self) -> None:
        for launch in ("process launch --bogus", "process launch -w /nonexistent"):

            def measure(lldb: str, launch: str = launch) -> None:
                self.play(lldb, launch, then="run")

            with self.subTest(launch):
                self.in_each(measure)


class ExecTest(LldbCase):
    def test_lldb_stops_at_an_exec(self) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(
                [
                    "profile start",
                    "run",
                    "profile status",
                    "continue",
                    "profile status",
                    REPORT,
                    PARTS,
                ],
                program("execer"),
                ["0.15"],
                lldb=lldb,
            )
            self.assertIn("stop reason = exec", text_of(result, "run"), result)
            first, last = status_of(result), status_of(result, 1)
            self.assertEqual((first["state"], first["parts"]), ("sampling", "1"), result)
            self.assertRegex(last["state"], "^armed", result)
            self.assertEqual(
                sorted(row.name for row in report_of(result, PARTS).rows),
                ["1 exec", "2 exited, status 0"],
                result,
            )
            report = report_of(result)
            for function in ("before_exec", "after_exec"):
                self.assertGreater(report.row(function).inclusive_ticks, 60, result)
                self.assertLess(report.row(function).inclusive_ticks, 200, result)

        self.in_each(measure)


class LaunchTest(LldbCase):
    def test_a_launch_that_fails(self) -> None:
        def measure(lldb: str) -> None:
            for start, seconds in (
                ("profile start", "0.1"),
                ("profile start --backend interrupt", "0.4"),
            ):
                result = run_lldb(
                    [start, "process launch --bogus", "run", "profile status"],
                    program("spin7030"),
                    [seconds],
                    lldb=lldb,
                )
                self.assertIn("unknown or ambiguous option", result.output, result)
                self.assertEqual(status_of(result)["parts"], "1", result)
                plain = run_lldb(
                    ["process launch --bogus", "version"],
                    program("spin7030"),
                    lldb=lldb,
                    stop_on_error=True,
                )
                ours = run_lldb(
                    [start, "process launch --bogus", "version"],
                    program("spin7030"),
                    lldb=lldb,
                    stop_on_error=True,
                )
                self.assertEqual(ours.status, plain.status, ours)

        self.in_each(measure)

    def test_options_of_the_program_are_its_own(self) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(
                ["profile start --backend interrupt", "run 0.6 -s", "profile status"],
                program("spin7030"),
                lldb=lldb,
            )
            self.assertGreater(int(status_of(result)["samples"]), 0, result)

        self.in_each(measure)

    def test_only_the_time_that_it_ran_counts(self) -> None:
        """Tests short steps, a launch that stops at once, and a resume that LLDB refuses."""

        def measure(lldb: str) -> None:
            result = run_lldb(
                [
                    "profile start",
                    "process launch -s",
                    "platform shell sleep 1",
                    "breakpoint set -n checkpoint",
                    "continue",
                    "profile status",
                    "next",
                    "platform shell sleep 1",
                    "profile status",
                    "next --bogus",
                    "platform shell sleep 1",
                    "profile status",
                ],
                program("spin7030"),
                ["0.1", "1"],
                lldb=lldb,
            )
            # What counts as stopped does not count as running.
            stopped = [status_number(status_of(result, each), "stopped") for each in range(3)]
            self.assertGreater(stopped[0], 1 - 0.01, result)
            self.assertGreater(stopped[1] - stopped[0], 1 - 0.02, result)
            self.assertGreater(stopped[2] - stopped[1], 1 - 0.02, result)

        self.in_each(measure)

    def test_a_detach_that_fails(self) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(
                [
                    "profile start",
                    "breakpoint set -n checkpoint",
                    "run",
                    "process detach --bogus",
                    "profile start",
                    "continue",
                    "profile status",
                ],
                program("spin7030"),
                ["0.2", "1"],
                lldb=lldb,
            )
            self.assertGreater(int(status_of(result)["samples"]), 50, result)

        self.in_each(measure)


class AgentTest(LldbCase):
    def test_the_users_environment_is_restored(self) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(
                [
                    "settings set target.env-vars LD_PRELOAD=/nonexistent/theirs.so OTHER=1",
                    VARIABLES,
                    "profile start --backend agent",
                    VARIABLES,
                    "breakpoint set -n checkpoint",
                    "run",
                    f"target create {program('exit_status')}",
                    "target select 0",
                    VARIABLES,
                    "continue",
                    "profile status",
                    VARIABLES,
                ],
                program("spin7030"),
                ["0.2", "1"],
                lldb=lldb,
            )
            shown = [
                re.findall(r"(?m)^ +(\w+=.*)$", text_of(result, VARIABLES, each))
                for each in range(4)
            ]
            self.assertEqual(len(shown[0]), 2, result)
            self.assertEqual(shown, [shown[0]] * 4, result)
            self.assertIn("theirs.so", result.stderr + result.stdout, result)  # from the loader
            self.assertGreater(int(status_of(result)["samples"]), 50, result)

        self.in_each(measure)

    def test_load_into_a_stopped_process(self) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(
                [
                    "breakpoint set -n checkpoint",
                    "run",
                    "profile start --backend agent --frequency 4000",
                    "continue",
                    REPORT,
                ],
                program("spin7030"),
                ["0.3", "1"],
                lldb=lldb,
            )
            report = report_of(result)
            self.assertLess(report.total, 780, result)  # 600 in half of its time
            assert_seventy(self, report, 0.2, result)

        self.in_each(measure)

    def test_refusal_where_loading_could_hang(self) -> None:
        def measure(lldb: str) -> None:
            inside = run_lldb(
                [
                    "breakpoint set -n main",
                    "run",
                    "breakpoint set -n malloc",
                    "continue",
                    "profile start --backend agent",
                    "profile status",
                ],
                program("own_timers"),
                lldb=lldb,
            )
            self.assertRegex(
                inside.stderr,
                r"--backend agent: thread 1 is stopped inside "
                r"(the allocator|libc|the dynamic loader)",
            )
            self.assertEqual(status_of(inside)["state"], "idle")
            static = run_lldb(
                ["breakpoint set -n checkpoint", "run", "profile start --backend agent"],
                program("spin7030_static"),
                ["0.1", "1"],
                lldb=lldb,
            )
            self.assertRegex(static.stderr, r"--backend agent: .*static")

        self.in_each(measure)


class HookTest(LldbCase):
    def test_stop_hooks_are_not_run_by_interrupts(self) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(
                ["target stop-hook add -o version", "profile start --backend interrupt"],
                program("spin7030"),
                lldb=lldb,
            )
            self.assertRegex(result.stderr, "error: --backend interrupt: .*stop-hook disable")

        self.in_each(measure)


if __name__ == "__main__":
    run_unittests()
