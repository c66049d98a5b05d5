"""Tests `meson test --coverage` after `tally-meson enable`."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import (
    BOTH,
    BuiltProject,
    GOOD,
    MixIn,
    NO_ROOM,
    PROJECT,
    for_each_meson,
    on_small_disk,
    rows,
    without_times,
    write_project,
)
from support.skips import run_unittests


class Hook(BuiltProject):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.must("tally-meson", "enable")

    def measured(self, status: int, *words: str, **more: str) -> subprocess.CompletedProcess:
        return self.expect(status, "meson", "test", "-C", "build", "--coverage", *words, **more)

    def test_table(self) -> None:
        done = self.measured(0, *GOOD)
        self.assertEqual((rows(done.stdout), done.stderr), (BOTH, ""))
        self.assertEqual(rows(self.measured(0, "one").stdout)["src/demo.c"], "3/6")
        done = self.expect(0, "meson", "test", "--coverage", *GOOD, folder="build")
        self.assertEqual(rows(done.stdout), BOTH)

    def test_both_commands_print_the_same(self) -> None:
        flags = [
            *GOOD,
            "--coverage-filter",
            "demo",
            "--coverage-fail-under=99",
            "--coverage-report",
            "lcov:both.info",
        ]
        outputs = []
        for words in (["meson", "test", "--coverage"], ["tally-meson", "test"]):
            done = self.expect(3, *words, "-C", "build", *flags)
            text = without_times(done.stdout)
            report = (self.project / "both.info").read_text(encoding="utf-8")
            outputs.append((text[text.index("Full log") :], done.stderr, report))
        self.assertEqual(*outputs)

    def test_without_a_flag_nothing_differs(self) -> None:
        def outputs() -> list:
            out = []
            lines: list[list[str]] = [
                [],
                ["--list"],
                ["one"],
                ["--suite", "bad"],
                ["--nonsense"],
                ["nobody"],
            ]
            for words in lines:
                done = self.run_in(
                    "meson",
                    "test",
                    "-C",
                    "build",
                    "--num-processes",
                    "1",
                    *words,
                    PYTHONHASHSEED="0",
                    MALLOC_PERTURB_="7",
                )  # Meson prints sets
                # The usage differs, because it lists the hook's flags.
                errors = done.stderr if words != ["--nonsense"] else ""
                out.append((words, done.returncode, without_times(done.stdout), errors))
            return out

        path = self.project / "meson.build"
        path.write_text(PROJECT["meson.build"].split("test('hangs'")[0], encoding="utf-8")
        self.addCleanup(path.write_text, PROJECT["meson.build"], encoding="utf-8")
        self.run_in("ninja", "-C", "build")
        with_hook = outputs()
        self.must("tally-meson", "disable")
        try:
            plain = outputs()
        finally:
            self.must("tally-meson", "enable")
        self.assertEqual(with_hook, plain)

    def test_a_forgotten_flag(self) -> None:
        for flag in (
            "--coverage-fail-under=1",
            "--coverage-per-test",
            "--coverage-diff",
            "--coverage-exclude=x",
            "--coverage-no-reconfigure",
            "--coverage-limit=1",
        ):
            self.refused(
                2,
                rf"{flag.split('=')[0]} is given without --coverage",
                "meson",
                "test",
                "-C",
                "build",
                flag,
            )

    def test_statuses(self) -> None:
        self.measured(3, *GOOD, "--coverage-fail-under", "99")
        self.measured(4, "script")
        # Meson 1.0 alone returns the number of failures.
        done = self.measured(1, "--suite", "bad", "--coverage-fail-under", "99")
        self.assertEqual(rows(done.stdout)["src/main.c"], "3/8")
        self.refused(
            2,
            r"--coverage-filter: .*",
            "meson",
            "test",
            "-C",
            "build",
            "--coverage",
            "--coverage-filter",
            "(",
        )

    def test_nothing_to_run(self) -> None:
        done = self.measured(4, "--suite", "nobody")
        self.assertEqual(done.stderr, "tally: no test was run: nothing was counted\n")

    def test_list(self) -> None:
        done = self.measured(0, "--list")
        self.assertEqual(rows(done.stdout), {})

    def test_killed_tests(self) -> None:
        done = self.run_in("meson", "test", "-C", "build", "--coverage", "one", "aborts", "hangs")
        self.assertNotIn(done.returncode, (0, 3, 4))
        messages = sorted(done.stderr.splitlines())
        self.assertEqual(len(messages), 2, done.stderr)
        self.assertRegex(messages[0], r"aborts: no data: it was killed by signal 6$")
        self.assertRegex(messages[1], r"hangs: no data: it was stopped after its timeout$")

    def test_each_test_by_itself(self) -> None:
        """Separates also tests that share a command, and runs under a wrapper."""
        done = self.run_in(
            "meson",
            "test",
            "-C",
            "build",
            "--coverage",
            "--coverage-per-test",
            "--repeat",
            "2",
            "--wrapper",
            "env X=1",
            *GOOD,
            "--coverage-report",
            "lcov:each.info",
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(rows(done.stdout), BOTH)
        self.assertRegex(done.stdout, r"(?m)one +8 +1$")
        self.assertRegex(done.stdout, r"(?m)two +9 +2$")
        text = (self.project / "each.info").read_text(encoding="utf-8")
        self.assertRegex(text, r"(?m)^TN:one$")
        done = self.run_in(
            "meson",
            "test",
            "-C",
            "build",
            "--coverage",
            "--coverage-per-test",
            "fails",
            "fails too",
            "aborts",
            "hangs",
        )
        self.assertEqual(done.stderr, "")
        for pattern in (
            r"fails +3 +0$",
            r"fails too +3 +0$",
            "aborts +no data$",
            "hangs +no data$",
        ):
            self.assertRegex(done.stdout, "(?m)" + pattern)
        self.assert_no_trees()

    def test_no_room_for_counters(self) -> None:
        """The failure at the end is reported in one line, after any earlier messages."""
        path = self.project / "meson.build"
        path.write_text(PROJECT["meson.build"] + NO_ROOM, encoding="utf-8")
        self.addCleanup(path.write_text, PROJECT["meson.build"], encoding="utf-8")
        small = self.project / "small"
        done = self.expect(
            1,
            *on_small_disk(self, small, "80m"),
            "meson",
            "test",
            "-C",
            "build",
            "--coverage",
            "--coverage-per-test",
            *GOOD,
            "--suite",
            "fills",
            XDG_RUNTIME_DIR=str(small),
        )
        self.assertRegex(done.stdout, r"(?m)^Ok: +3 *$")
        self.assertRegex(done.stderr, r"(?m)^tally: .*/tests\.json: No space left on device\n\Z")

    def test_interrupted(self) -> None:
        for flag in ("--coverage-keep", "--coverage-per-test"):
            self.measured(0, *GOOD)  # counters that --coverage-keep must keep
            out = self.interrupted("meson", "test", "-C", "build", "--coverage", flag)
            self.assertEqual(rows(out), BOTH)
        self.assertRegex(out, r"(?m)long +no data$")
        self.assertEqual(rows(self.measured(0, *GOOD).stdout), BOTH)

    def test_tap_protocol(self) -> None:
        path = self.project / "meson.build"
        path.write_text(
            PROJECT["meson.build"] + "test('tap', find_program('sh'), args: ['-c', "
            "'echo ok 1; echo 1..1; exec \"$0\" 1', prog], protocol: 'tap', "
            "suite: 'protocol')\n",
            encoding="utf-8",
        )
        self.addCleanup(path.write_text, PROJECT["meson.build"], encoding="utf-8")
        lines: list[list[str]] = [[], ["--coverage-per-test"]]
        for words in lines:
            done = self.measured(0, "--suite", "protocol", *words)
            self.assertEqual(rows(done.stdout)["src/demo.c"], "3/6")


class HookAfterChanges(MixIn):
    def setUp(self) -> None:
        super().setUp()
        write_project(self.project, PROJECT)
        self.addCleanup(shutil.rmtree, self.project)
        self.must("tally-meson", "enable")

    def measured(self, status: int, *words: str, **more: str) -> subprocess.CompletedProcess:
        return self.expect(
            status, "meson", "test", "-C", "build", "--coverage", *GOOD, *words, **more
        )

    def test_coverage_off(self) -> None:
        self.must("meson", "setup", "build")
        for flag in ("--no-rebuild", "--coverage-no-reconfigure"):
            self.refused(
                2,
                rf"the option b_coverage is off, and {flag} is given: .*",
                "meson",
                "test",
                "-C",
                "build",
                "--coverage",
                flag,
            )
        done = self.measured(0)
        self.assertEqual(rows(done.stdout), BOTH)
        self.refused(
            2,
            "--coverage-off cannot be combined with --coverage: it measures nothing",
            "meson",
            "test",
            "-C",
            "build",
            "--coverage",
            "--coverage-off",
        )
        done = self.expect(0, "meson", "test", "-C", "build", *GOOD, "--coverage-off")
        self.assertEqual(rows(done.stdout), {})
        self.assertIn("the option b_coverage is switched off", done.stderr)
        self.assertNotIn(
            "--coverage",
            (self.project / "build" / "compile_commands.json").read_text(encoding="utf-8"),
        )

    def test_a_build_that_fails(self) -> None:
        self.must("meson", "setup", "build", "-Db_coverage=true")
        (self.project / "src" / "demo.c").write_text("no C\n", encoding="utf-8")
        self.assertEqual(rows(self.measured(125).stdout), {})

    def test_a_configuration_that_fails(self) -> None:
        self.must("meson", "setup", "build", "-Db_coverage=true")
        with open(self.project / "meson.build", "a", encoding="utf-8") as file:
            file.write("nonsense(\n")
        done = self.measured(125)
        self.assertEqual(rows(done.stdout), {})
        self.assertRegex(done.stderr, r"(?m)^tally: Could not configure '.*/build'\n\Z")

    def test_a_generator_that_counts(self) -> None:
        """The counted program runs during the build, and is a test as well."""
        path = self.project / "meson.build"
        path.write_text(
            PROJECT["meson.build"]
            + "custom_target('ran', output: 'ran.txt', command: [prog, '2'], "
            "capture: true, build_by_default: true)\n"
            "test('needs', prog, args: '1', suite: 'needs', depends: "
            "custom_target('ran2', output: 'ran2.txt', command: [prog, '2'], "
            "capture: true))\n",
            encoding="utf-8",
        )
        self.must("meson", "setup", "build", "-Db_coverage=true")
        done = self.expect(0, "meson", "test", "-C", "build", "--coverage", "needs")
        self.assertEqual(rows(done.stdout)["src/demo.c"], "3/6")


globals().update(for_each_meson(Hook, HookAfterChanges))

if __name__ == "__main__":
    run_unittests()
