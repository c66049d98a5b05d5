"""Tests loading the plug-in, its help, and how a refusal ends a batch, in each LLDB."""
import json
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from case import LldbCase, status_of, text_of
from support.lldb_driver import lldb_name, run_lldb
from support.programs import SOURCE_ROOT, lldb_plugin, program
from support.skips import run_unittests

COMMANDS = [
    "start",
    "stop",
    "status",
    "report",
    "tree",
    "annotate",
    "timeline",
    "histogram",
    "dump",
    "load",
    "diff",
    "region",
    "clear",
    "config",
    "break",
    "list",
]
SETTINGS = {
    "backend": "auto",
    "frequency": "1000",
    "clock": "cpu",
    "stacks": "dwarf",
}


class LoadingTest(LldbCase):
    def test_loaded_twice(self) -> None:
        """A plug-in that is loaded twice counts each tick once."""
        again = f"plugin load {lldb_plugin()}"

        def measure(lldb: str) -> None:
            result = run_lldb(
                [again, "profile start", again, "run", again, "profile status"],
                program("spin7030"),
                ["0.2"],
                lldb=lldb,
            )
            self.assertEqual((result.status, result.stderr), (0, ""), result)
            self.assertEqual(result.stdout.count("Sampling begins"), 1, result)
            self.assertGreater(int(status_of(result)["samples"]), 50, result)
            self.assertLess(int(status_of(result)["samples"]), 280, result)  # not 400

        self.in_each(measure)

    def test_the_line_for_lldbinit(self) -> None:
        """Tests the line of lldb/README.md, with the directory of this build."""
        readme = (SOURCE_ROOT / "lldb/README.md").read_text(encoding="utf-8")
        command = re.search(r"`(plugin load )(\S+/liblldb_tally\.so)` into `~/(\.\w+)`", readme)
        self.assertTrue(command, "lldb/README.md has no such line")

        def measure(lldb: str) -> None:
            with tempfile.TemporaryDirectory(prefix="lldb-home-") as home:
                Path(home, command[3]).write_text(
                    f"{command[1]}{lldb_plugin()}\n", encoding="utf-8"
                )
                result = run_lldb(
                    ["help profile", "profile start", "run", "profile status"],
                    program("spin7030"),
                    ["0.2"],
                    lldb=lldb,
                    plugin=False,
                    home=home,
                    stop_on_error=True,
                )
            self.assertEqual((result.status, result.stderr), (0, ""), result)
            self.assertNotIn("plugin load", result.stdout)
            self.assertGreater(int(status_of(result)["samples"]), 50, result)

        self.in_each(measure)

    def test_missing_library(self) -> None:
        def measure(lldb: str) -> None:
            for library, said in (
                ("/nonexistent/libtally.so", "cannot load .*nonexistent"),
                ("libm.so.6", "do not match: libm.so.6 has no tally_"),
            ):
                result = run_lldb(["version"], lldb=lldb, environment={"TALLY_LIBRARY": library})
                self.assertRegex(result.stderr, f"Tally is not loaded: .*{said}", library)
                self.assertLessEqual(len(result.stderr.splitlines()), 2, result)
                self.assertGreaterEqual(result.status, 0, result)

        self.in_each(measure)

    def test_abbreviations_of_process(self) -> None:
        """`pro` still abbreviates `process`, although there is a `profile` command."""

        def measure(lldb: str) -> None:
            result = run_lldb(["pro status"], program("spin7030"), lldb=lldb)
            self.assertNotIn("ambiguous", result.output.lower(), result)

        self.in_each(measure)


class HelpTest(LldbCase):
    def test_each_command_has_help_with_its_options_and_an_example(self) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(
                ["help profile", *(f"help profile {each}" for each in COMMANDS)], lldb=lldb
            )
            self.assertEqual((result.status, result.stderr), (0, ""), result)
            overview = text_of(result, "help profile")
            for command in COMMANDS:
                self.assertRegex(overview, rf"(?m)^ *(?:profile )?{command} +\S")
                text = text_of(result, f"help profile {command}")
                self.assertRegex(text, rf"(?:Usage|Syntax): profile {command}\b")
                self.assertRegex(text, rf"Example: profile {command}\b")
            text = text_of(result, "help profile start")
            for name, fallback in SETTINGS.items():
                self.assertRegex(text, rf"--{name} \S+(.|\n)*?\(default {fallback}\)")

        self.in_each(measure)

    def test_help_lists_profile(self) -> None:
        def measure(lldb: str) -> None:
            if lldb_name(lldb) == "lldb-14":
                return  # LLDB 14 does not list multiword commands here
            result = run_lldb(["help"], lldb=lldb)
            self.assertRegex(result.stdout, r"(?m)^ +profile +-- +\S")

        self.in_each(measure)


class BatchTest(LldbCase):
    def test_a_refusal_ends_a_batch(self) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(
                ["profile start --frequency 0", "version"], lldb=lldb, stop_on_error=True
            )
            self.assertEqual(result.status, 1, result)
            self.assertRegex(result.stderr, r"\Aerror: --frequency: expected .*, found '0'\n\Z")
            self.assertNotIn("lldb version", result.stdout)

        self.in_each(measure)

    def test_times_of_a_run(self) -> None:
        """They are shown before the next command, and by a command of a stop-hook at the stop."""
        hooks: list[list[str]] = [[], ["target stop-hook add -o 'profile config stop-times'"]]
        for sampled in ["profile config stop-times on"], ["profile start"]:
            for hook in hooks:

                def measure(lldb: str) -> None:
                    result = run_lldb(
                        [
                            "profile config stop-times on",
                            *sampled,
                            *hook,
                            "breakpoint set -n before_sleep",
                            "run",
                            "breakpoint set -n usleep",
                            "platform shell sleep 0.3",
                            "continue",
                            "profile status",
                        ],
                        program("sleeper"),
                        lldb=lldb,
                    )
                    times = re.findall(
                        r"(?m)^\[(([0-9.]+) (m?s), ([0-9.]+) ms) CPU\]$", result.stdout
                    )
                    self.assertTrue(times, result)
                    shown, elapsed_text, unit, cpu_text = times[-1]
                    elapsed = float(elapsed_text) * (1 if unit == "ms" else 1000)
                    cpu = float(cpu_text)
                    self.assertTrue(199 < cpu < 300, result)
                    self.assertGreaterEqual(elapsed, cpu - 10, result)  # seconds have two decimals
                    if hook:
                        at = result.stdout.index(f"[{shown}")
                        self.assertLess(
                            at, result.stdout.rindex("stop reason = breakpoint 2"), result
                        )

                with self.subTest(sampled=sampled, hook=hook):
                    self.in_each(measure)

    def test_json_is_alone(self) -> None:
        """What is said about stops and targets goes to the error stream."""
        timeline, report = "profile timeline --json", "profile report --json"

        def measure(lldb: str) -> None:
            result = run_lldb(
                [
                    "profile config stop-times on",
                    "profile start",
                    "breakpoint set -n checkpoint",
                    "run",
                    timeline,
                    f"target create {program('exit_status')}",
                    report,
                ],
                program("spin7030"),
                ["0.1", "2"],
                lldb=lldb,
            )
            for command in timeline, report:
                self.assertIsInstance(json.loads(text_of(result, command)), dict, result)
            self.assertRegex(result.stderr, r"(?m)^\[.* CPU\]$")
            self.assertIn("(the profile is that of target #0", result.stderr, result)

        self.in_each(measure)

    def test_the_words_of_the_program(self) -> None:
        def measure(lldb: str) -> None:
            path = program("spin7030")
            with tempfile.TemporaryDirectory() as folder:
                dumps = f"{folder}/settings.callgrind", f"{folder}/words.callgrind"
                result = run_lldb(
                    [
                        "settings set target.run-args 0.1 0 7",
                        "profile start",
                        "run",
                        f"profile dump {dumps[0]}",
                        "run 0.1 0 8",
                        f"profile dump {dumps[1]}",
                    ],
                    path,
                    lldb=lldb,
                )
                for status, dump in (7, dumps[0]), (8, dumps[1]):
                    with open(dump, encoding="utf-8") as file:
                        self.assertIn(f"cmd: {path} 0.1 0 {status}\n", file.read(), result)

        self.in_each(measure)

    def test_a_batch_that_samples(self) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(
                ["profile start", "run", "profile report --limit 1"],
                program("spin7030"),
                ["0.15", "0", "7"],
                lldb=lldb,
                stop_on_error=True,
            )
            self.assertEqual((result.status, result.stderr), (0, ""), result)
            self.assertTrue(
                re.search(
                    r"% +\d+  seventy +\S*spin7030\.c:\d+",
                    text_of(result, "profile report --limit 1"),
                ),
                result,
            )

        self.in_each(measure)


if __name__ == "__main__":
    run_unittests()
