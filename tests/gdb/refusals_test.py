"""Tests that each refusal is one line that names the cause, and that running sessions continue."""
import os
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, play_gdb
from support.gdb_driver import run_gdb
from support.programs import gdb_plugin, library, program
from support.shares import assert_ticks
from support.skips import need_tools, run_unittests


class WordsTest(GdbCase):
    def test_commands_that_need_samples(self) -> None:
        play = play_gdb(
            [
                "profile stop",
                "profile report",
                "profile dump out.cg",
                "profile diff previous",
                "profile clear",
                "profile status",
            ],
            program("spin7030"),
        )
        self.assert_refused(
            play,
            "^profile stop: sampling has not begun",
            "nothing was collected",
            "nothing was collected",
            "previous: there is no run before this one",
        )
        self.assertEqual(play.status()["state"], "idle")
        self.assertEqual(
            (play.status()["requested_hz"], play.status()["backend"]), ("1000", "auto")
        )

    def test_without_a_program(self) -> None:
        play = play_gdb(["profile start", "profile report", "profile stop", "profile status"])
        self.assert_refused(play, "nothing was collected")
        self.assertEqual(play.status()["state"], "idle")

    def test_frequencies(self) -> None:
        bad = ["0", "abc", "-1", "1000000000", "1e3", "1000Hz", "18446744073709551617", "''"]
        commands = [f"profile start --frequency {value}" for value in bad]
        commands += [f"profile start --frequency={value}" for value in bad]
        commands += [f"set profile frequency {value}" for value in bad[:-1]]
        commands += ["set profile frequency"]
        commands += [f"profile config frequency {value}" for value in bad if value != "-1"]
        play = play_gdb(
            [
                *commands,
                "profile config frequency -- -1",
                "show profile frequency",
                "profile config frequency",
                "profile status",
            ],
            program("spin7030"),
        )
        shown = [re.escape(value.strip("'")) for value in bad]
        expected = r"expected a whole number from 1 to \d+, found '{}'$"
        self.assert_refused(
            play,
            *[f"^--frequency: {expected.format(value)}" for value in shown * 2],
            *[f"^frequency: {expected.format(value)}" for value in shown],
            *[f"^frequency: {expected.format(value)}" for value in shown if value != r"\-1"],
            f"^frequency: {expected.format('-1')}",
        )
        self.assertEqual(play.text("show profile frequency"), "profile frequency is 1000.\n")
        self.assertEqual(play.text("profile config frequency"), "frequency 1000\n")
        self.assertEqual((play.status()["state"], play.status()["requested_hz"]), ("idle", "1000"))

    def test_options(self) -> None:
        play = play_gdb(
            [
                "profile start --bogus",
                "profile start --frequency",
                "profile start -f 100",
                "profile start now",
                "profile start --stacks deep",
                "profile stop --all",
                "profile report --by colour",
                "profile report --limit -3",
                "profile report --sort",
                "profile report --json=yes",
                "profile config nonsense",
                "profile config backend nonsense",
                "profile config frequency 1 2",
                "profile nonsense",
                "profile start --frequency 10 --frequency",
                "profile diff",
            ],
            program("spin7030"),
        )
        self.assert_refused(
            play,
            "^--bogus: unknown option; usage: profile start",
            "^--frequency: expected a value",
            "^-f: unknown option",
            "^profile start: unexpected 'now'",
            "^--stacks: expected one of none, fp, dwarf, found 'deep'",
            "^--all: unknown option",
            "^--by: expected one of function, line, module, object, namespace, directory, thread, part, process, found 'colour'",
            "^--limit: expected a whole number .*'-3'",
            "^--sort: expected a value",
            "^--json: takes no value",
            "there is no setting 'nonsense' .*frequency",
            "^backend: expected one of .*'nonsense'",
            "^profile config: unexpected '2'",
            "there is no command 'nonsense' .*start",
            "^--frequency: expected a value",
            r"^profile diff: expected FILE\|previous",
        )

    def test_events_of_the_agent_are_unsupported(self) -> None:
        play = play_gdb(
            ["profile start --backend agent --event faults", "profile start", "profile status"],
            program("spin7030"),
        )
        self.assert_refused(play, "^--backend agent: samples the clock only")
        self.assertRegex(play.status()["state"], "^armed")

    def test_start_twice(self) -> None:
        play = play_gdb(
            [
                "profile start",
                "profile start --frequency 4000",
                "break checkpoint",
                "run",
                "profile status",
                "profile start",
                "continue",
                "profile status",
            ],
            program("spin7030"),
            ["0.2", "1"],
        )
        self.assert_refused(
            play,
            "^profile start: .*already.* at 1000 Hz; `profile stop` first",
            r"^profile start: process \d+ is already being sampled$",
        )
        self.assertGreater(play.status(0).count("samples"), 20)
        self.assertGreater(play.status(1).count("samples"), play.status(0).count("samples") + 20)
        self.assertEqual(play.status().count("requested_hz"), 1000)

    def test_output_to_the_debuggers_streams(self) -> None:
        play = play_gdb(
            [
                "profile start",
                "run",
                "profile dump - --format folded",
                "profile dump --parts --format callgrind -",
                "profile diff -",
            ],
            program("spin7030"),
            ["0.1"],
        )
        self.assert_refused(play, *["^-: standard input and output are the debugger's own"] * 3)
        self.assertNotIn("seventy", play.result.stdout)

    def test_no_samples(self) -> None:
        """The message says why there are no samples."""
        process = [
            "profile start --frequency 1",
            "profile report",
            "break main",
            "run",
            "profile report",
            "profile stop",
            "profile clear",
            "continue",
            "profile report",
        ]
        play = play_gdb(process, program("spin7030"), ["0.1"])
        self.assert_refused(
            play,
            "^nothing was collected yet: since `profile start` no process has run$",
            r"^profile report: no samples yet: the program ran for \S+ \S*s, in which a clock of 1 Hz "
            r"ticks 0 times",
            "^nothing was collected yet: `profile start`, then run",
        )
        play = play_gdb(
            [
                "break main",
                "run",
                "profile start",
                "profile report",
                "profile stop",
                "continue",
                "profile dump x.folded",
            ],
            program("spin7030"),
            ["0.1"],
        )
        self.assert_refused(
            play, *["no samples yet: the program has not run while it was sampled"] * 2
        )

    def test_errors_are_the_commands_own(self) -> None:
        """A refusal ends a script, as any error of GDB's does. GDB's exit status is that of the
        last command."""
        self.assertEqual(run_gdb(["profile start --frequency 0"]).status, 1)
        self.assertEqual(run_gdb(["profile status"]).status, 0)
        play = play_gdb(
            [
                "python\ntry:\n  gdb.execute('profile stop')\n"
                "except gdb.error as error:\n  print('caught', error)"
            ]
        )
        self.assertRegex(play.sections[0][1], "caught profile stop: sampling has not begun")


class TargetsTest(GdbCase):
    def test_core_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            core = os.path.join(folder, "core")
            made = run_gdb(
                ["break checkpoint", "run", f"generate-core-file {core}", "kill"],
                program("spin7030"),
                ["0.1", "1"],
            )
            self.assertTrue(os.path.exists(core), made)
            play = play_gdb(
                [f"core-file {core}", "profile start", "profile status", "profile report"],
                program("spin7030"),
            )
        self.assert_refused(
            play, "^profile start: a core file does not run", "nothing was collected"
        )
        self.assertEqual(play.status()["state"], "idle")


class PerfDeniedTest(GdbCase):
    def test_seccomp(self) -> None:
        for error in ("eperm", "enosys"):
            with self.subTest(error):
                play = play_gdb(
                    [
                        "profile start --backend perf",
                        "profile status",
                        "break checkpoint",
                        "run",
                        "profile start --backend perf",
                        "continue",
                        "profile status",
                    ],
                    program("spin7030"),
                    ["0.1", "1", "7"],
                    wrapper=[program("seccomp_run"), error],
                )
                self.assert_refused(
                    play, *["seccomp filter.*perf_event_open.*(PERFMON|unconfined)"] * 2
                )
                self.assertEqual([play.status(which)["state"] for which in (0, 1)], ["idle"] * 2)
                self.assertIn("exited with code 07", play.text("continue"))

    def test_descriptors(self) -> None:
        """Five threads need more descriptors than GDB may open."""

        def few() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (26, 26))

        play = play_gdb(
            [
                "break late_thread",
                "run",
                "info threads",
                "python import os; opened = len(os.listdir('/proc/self/fd'))",
                "python kept = [os.open('/dev/null', 0) for _ in range(24 - opened)]",
                "profile start --backend perf",
                "python [os.close(each) for each in kept]",
                "profile status",
                "delete",
                "continue",
            ],
            program("threads_late"),
            ["late", "0.05"],
            before_exec=few,
        )
        self.assert_refused(play, "descriptors.*ulimit")
        self.assertEqual(play.status()["state"], "idle")
        self.assertIn("exited normally", play.text("continue"))

    def test_an_ordinary_user(self) -> None:
        """As an ordinary user, Tally samples what the kernel permits, and reports what it does not
        permit."""
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")

        def nobody() -> None:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        for path in (gdb_plugin(), library(), program("spin7030")):
            try:
                done = subprocess.run(
                    ["test", "-r", path], preexec_fn=nobody, check=False, timeout=60
                )
            except subprocess.SubprocessError:
                self.skipTest("root cannot become another user here")
            if done.returncode != 0:
                self.skipTest(f"the user nobody cannot read {path}")
        play = play_gdb(
            ["profile start", "run", "profile status", "profile report"],
            program("spin7030"),
            ["0.2"],
            before_exec=nobody,
        )
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            paranoid = int(file.read())
        if paranoid > 2 and play.stderr:
            self.assert_refused(play, "perf_event_paranoid is .*sysctl", "nothing was collected")
            return
        self.assertEqual(play.stderr, "", play)
        self.assertGreater(play.status().count("samples"), 50)
        texts = [play.text("profile start"), play.status()["clock"], play.text("profile report")]
        self.assertEqual(
            [text for text in texts if "user code only" in text],
            texts if paranoid > 1 else [],
            play,
        )
        # delivered_hz counts only time that may be sampled.
        self.assertGreater(play.status().count("delivered_hz"), 400, play)


class LoadingTest(GdbCase):
    def test_sourced_twice(self) -> None:
        again = f"source {gdb_plugin()}"
        play = play_gdb(
            [
                again,
                "profile start",
                again,
                "break checkpoint",
                "run",
                again,
                "continue",
                "profile status",
                "profile report --by part",
            ],
            program("spin7030"),
            ["0.15", "1"],
        )
        self.assertEqual((play.stderr, "".join(play.all(again))), ("", ""), play)
        self.assertEqual(play.status().count("parts"), 2)
        samples = play.status().count("samples")
        assert_ticks(self, samples, 1000 * play.program_value("cpu_seconds"), play)

    def test_missing_library(self) -> None:
        for library, said in (
            ("/nonexistent/libtally.so", "cannot load libtally: .*nonexistent"),
            ("libm.so.6", "bindings and library do not match: libm.so.6 has no tally_"),
        ):
            result = run_gdb(["print 6 * 7"], environment={"TALLY_LIBRARY": library})
            self.assertRegex(result.stderr, rf"\ATally is not loaded: {said}\S*.*\n\Z")
            self.assertEqual((result.stdout, result.status), ("$1 = 42\n", 0), result)


if __name__ == "__main__":
    run_unittests()
