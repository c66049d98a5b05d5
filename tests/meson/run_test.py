"""Tests `tally-meson test`, which needs no hook, in a finished build that the tests share."""
from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import (
    BOTH,
    BuiltProject,
    GOOD,
    MODULE,
    NO_ROOM,
    PROJECT,
    for_each_meson,
    on_small_disk,
    rows,
)
from support.programs import SOURCE_ROOT, command_line
from support.skips import run_unittests


class Run(BuiltProject):
    def measured(self, status: int, *words: str, **more: str) -> subprocess.CompletedProcess:
        return self.expect(status, "tally-meson", "test", "-C", "build", *words, **more)

    def is_refused(self, pattern: str, *words: str, **more: str) -> None:
        self.refused(2, pattern, "tally-meson", "test", "-C", "build", *words, **more)

    def counts(self, *words: str) -> list[str]:
        """Returns the count of each line of src/demo.c."""
        self.measured(0, *words, "--coverage-report", "lcov:all.info", "--coverage-filter", "demo")
        text = (self.project / "all.info").read_text(encoding="utf-8")
        return re.findall(r"^DA:\d+,(\d+)", text, re.MULTILINE)

    def test_table(self) -> None:
        """The table holds neither the subproject nor generated sources."""
        done = self.measured(0, *GOOD)
        self.assertEqual((rows(done.stdout), done.stderr), (BOTH, ""))
        only = rows(self.measured(0, "one").stdout)
        self.assertEqual(only["src/demo.c"], "3/6")

    def test_ways_to_name_the_build(self) -> None:
        ways: list[tuple[list[str], str]] = [
            (["-Cbuild"], "."),
            ([], "build"),
            (["-C", "."], "build"),
        ]
        for words, folder in ways:
            done = self.expect(0, "tally-meson", "test", "--coverage", *words, *GOOD, folder=folder)
            self.assertEqual(rows(done.stdout), BOTH)

    def test_counts_are_those_of_this_run(self) -> None:
        once = self.counts(*GOOD)
        self.assertEqual(once, ["2", "2", "1", "1", "1", "0"])
        self.assertEqual(self.counts(*GOOD), once)
        self.assertEqual(self.counts("--coverage-keep", *GOOD), [str(2 * int(n)) for n in once])
        self.assertEqual(self.counts("--repeat=3", *GOOD), [str(3 * int(n)) for n in once])

    def test_other_counters_stay(self) -> None:
        stray = self.project / "build" / "stray.gcda"
        stray.write_bytes(b"not ours")
        self.addCleanup(stray.unlink)
        self.assertEqual(rows(self.measured(0, *GOOD).stdout), BOTH)
        self.assertEqual(stray.read_bytes(), b"not ours")

    def test_thresholds(self) -> None:
        done = self.measured(3, *GOOD, "--coverage-fail-under", "99")
        self.assertEqual(done.stderr, "tally: 10 of 14 lines ran: 71.42%, less than 99%\n")
        self.measured(3, *GOOD, "--coverage-fail-under-branch=99")
        self.measured(0, *GOOD, "--coverage-fail-under", "71", "--coverage-fail-under-branch=10")

    def test_a_failing_test_wins(self) -> None:
        """The status is 1. That of `meson test` alone depends on Meson's version, and may be the
        number of failures, here that of a wrong command line or of a threshold."""
        alone = self.run_in("meson", "test", "-C", "build", "--suite", "bad").returncode
        self.assertIn(alone, (1, 2))
        done = self.measured(1, "--suite", "bad", "--coverage-fail-under", "99")
        self.measured(1, "--suite", "bad", "--repeat=2")
        self.measured(1, "fails", "fails too", "aborts", "--coverage-fail-under", "0")
        self.assertEqual(rows(done.stdout)["src/main.c"], "3/8")

    def test_killed_tests(self) -> None:
        done = self.run_in("tally-meson", "test", "-C", "build", "one", "aborts", "hangs")
        self.assertNotIn(done.returncode, (0, 3, 4))
        self.assertEqual(rows(done.stdout)["src/demo.c"], "3/6")
        messages = sorted(done.stderr.splitlines())
        self.assertEqual(len(messages), 2, done.stderr)
        self.assertRegex(messages[0], r"^tally: .*aborts: no data: it was killed by signal 6$")
        self.assertRegex(
            messages[1], r"^tally: .*hangs: no data: it was stopped after its timeout$"
        )

    def test_nothing_counted(self) -> None:
        done = self.measured(4, "script")
        self.assertIn("nothing was counted", done.stderr)
        done = self.measured(4, *GOOD, "--coverage-filter", "no such file")
        self.assertRegex(
            done.stderr,
            r"no line is left: \d+ sources match no filter or are excluded$",
        )

    def test_filters(self) -> None:
        """A filter includes what it matches again; an exclude takes precedence."""
        done = rows(
            self.measured(
                0,
                *GOOD,
                "--coverage-filter",
                "sub",
                "--coverage-filter=made",
                "--coverage-filter",
                r"demo\.c$",
            ).stdout
        )
        self.assertEqual(
            set(done), {"subprojects/sub/sub.c", "build/made.c", "src/demo.c", "TOTAL"}
        )
        done = rows(
            self.measured(0, *GOOD, "--coverage-filter=.", "--coverage-exclude", "^(src|/)").stdout
        )
        self.assertEqual(set(done), {"subprojects/sub/sub.c", "build/made.c", "TOTAL"})

    def test_rows_of_the_table(self) -> None:
        """Tests order, limit, and substituted sources, which are relative to the current
        directory."""
        done = self.measured(0, *GOOD, "--coverage-exclude-lines=return 1;")
        self.assertEqual(rows(done.stdout)["src/demo.c"], "4/5")
        done = self.measured(0, *GOOD, "--coverage-sort=missed", "--coverage-limit", "1")
        self.assertEqual(rows(done.stdout), {"src/main.c": "5/8", "TOTAL": "10/14"})
        done = self.expect(
            0,
            "tally-meson",
            "test",
            "-C",
            "../build",
            "--no-rebuild",
            *GOOD,
            f"--coverage-substitute={self.project}/src=new",
            folder="src",
        )
        self.assertEqual(
            rows(done.stdout),
            {"src/new/" + name[4:] if name != "TOTAL" else name: n for name, n in BOTH.items()},
        )
        self.is_refused(
            r"--coverage-sort: expected one of file, lines, .*, found 'size'",
            "--coverage-sort=size",
        )
        self.is_refused(r"--coverage-limit: .*", "--coverage-limit=-1")
        self.is_refused(
            r"--coverage-substitute: expected FROM=TO, found 'x'", "--coverage-substitute", "x"
        )

    def test_a_setup_with_a_wrapper(self) -> None:
        path = self.project / "meson.build"
        path.write_text(
            PROJECT["meson.build"] + "add_test_setup('wrapped', exe_wrapper: ['env', "
            "'X=1'])\nadd_test_setup('plain', env: ['X=1'])\n",
            encoding="utf-8",
        )
        self.addCleanup(path.write_text, PROJECT["meson.build"], encoding="utf-8")
        self.assertEqual(rows(self.measured(0, *GOOD, "--setup=wrapped").stdout), BOTH)
        done = self.measured(2, *GOOD, "--setup", "wrapped", "--coverage-per-test")
        self.assertRegex(
            done.stderr,
            r"\Atally: --coverage-per-test cannot be combined with a "
            r"test setup that has an exe_wrapper: [^\n]*\n\Z",
        )
        done = self.measured(0, *GOOD, "--setup=plain", "--coverage-per-test")
        self.assertEqual((rows(done.stdout), done.stderr), (BOTH, ""))

    def test_reports(self) -> None:
        """FILE is relative to the current directory; without FILE, reports go below meson-logs."""
        self.expect(
            0,
            "tally-meson",
            "test",
            "-C",
            "../build",
            *GOOD,
            "--coverage-report",
            "cobertura:new/here.xml",
            "--coverage-report=html",
            "--coverage-report",
            "lcov",
            folder="src",
        )
        for path in (
            "src/new/here.xml",
            "build/meson-logs/coverage/index.html",
            "build/meson-logs/coverage.info",
        ):
            self.assertTrue((self.project / path).is_file(), path)
        shutil.rmtree(self.project / "src" / "new")

    def test_a_baseline(self) -> None:
        base = self.project / "src" / "base.txt"
        self.addCleanup(base.unlink, missing_ok=True)
        words = ["--coverage-baseline", "src/base.txt"]
        done = self.measured(1, *GOOD, *words)
        self.assertIn("src/base.txt: there is no such file: --update-baseline makes", done.stderr)
        self.assertIn("TOTAL", done.stdout)
        self.measured(0, *GOOD, *words, "--coverage-update")
        self.assertEqual(
            re.findall(r"^lines (\d+ of \d+).*: (.*)", base.read_text(encoding="utf-8"), re.M),
            [("5 of 6", "src/demo.c"), ("5 of 8", "src/main.c")],
        )
        self.assertEqual(self.measured(0, *GOOD, *words, "--coverage-new=100").stderr, "")
        done = self.measured(3, "one", *words)
        self.assertIn("src/demo.c: 3 of 6 lines ran, 5 of 6 in the baseline: not", done.stderr)
        base.write_text("nonsense\n", encoding="utf-8")
        self.assertIn("src/base.txt:1:1: ", self.measured(1, *GOOD, *words).stderr)
        self.is_refused("--coverage-new: requires --coverage-baseline, .*", "--coverage-new=1")
        self.is_refused("--coverage-new: expected 0 to 100.*", *words, "--coverage-new=101")
        self.is_refused("--coverage-baseline: .*", "--coverage-baseline=", *GOOD)

    def test_recipes(self) -> None:
        """What the README tells GitLab and GitHub to read is there, and GitLab finds the total."""
        text = (SOURCE_ROOT / "meson-module" / "README.md").read_text(encoding="utf-8")
        recipes = text.partition("\n## Recipes\n")[2].partition("\n## ")[0]
        base = self.project / "baseline.txt"
        self.addCleanup(base.unlink, missing_ok=True)
        formats = sorted(set(re.findall(r"--coverage-report (\w+)", recipes)))
        self.assertEqual(formats, ["badge", "cobertura", "gcovr", "github", "markdown"])
        words = [f"--coverage-report={name}" for name in (*formats, "shields")]
        done = self.measured(
            0, *GOOD, *words, "--coverage-baseline=baseline.txt", "--coverage-update"
        )
        for path in set(re.findall(r"build/meson-logs/[\w.]+\w", recipes)):
            self.assertTrue((self.project / path).is_file(), path)
        found = re.search(r"coverage: '/(.*)/'", recipes)
        assert found is not None
        # As GitLab does: the first number of the last match.
        match = list(re.finditer(found[1], done.stdout, re.MULTILINE))[-1][0]
        self.assertEqual(re.findall(r"\d+(?:\.\d+)?", match)[0], "71.4")
        logs = self.project / "build" / "meson-logs"
        self.assertIn("<title>coverage: 71.4%<", (logs / "coverage.svg").read_text("utf-8"))
        self.assertEqual(
            json.loads((logs / "coverage.shields.json").read_text("utf-8"))["message"], "71.4%"
        )

    def test_a_full_disk(self) -> None:
        """Each report that cannot be written is one line of errors; the table is printed anyway."""
        small = self.project / "small"
        left = self.project / "left.txt"
        self.addCleanup(left.unlink, missing_ok=True)
        words = on_small_disk(self, small, "64k", "cat /dev/zero > filler 2>&- || true")
        done = self.expect(
            1,
            *words,
            "sh",
            "-c",
            '"$@"; s=$?; find small -type f > left.txt; ' "exit $s",
            "sh",
            "tally-meson",
            "test",
            "-C",
            "build",
            *GOOD,
            "--coverage-report=lcov:small/x.info",
            "--coverage-report=html:small/x",
        )
        self.assertEqual(rows(done.stdout), BOTH)
        self.assertRegex(
            done.stderr,
            rf"\Atally: {small}/x.info: cannot write: No space left[^\n]*"
            rf"\ntally: {small}/x/[^\n]*: cannot write: No space left[^\n]*\n\Z",
        )
        # No partial report remains.
        self.assertEqual(left.read_text(encoding="utf-8"), "small/filler\n")

    def test_no_room_for_counters(self) -> None:
        """Tests end as they would without coverage."""
        path = self.project / "meson.build"
        path.write_text(PROJECT["meson.build"] + NO_ROOM, encoding="utf-8")
        self.addCleanup(path.write_text, PROJECT["meson.build"], encoding="utf-8")
        small = self.project / "small"
        done = self.expect(
            4,
            *on_small_disk(self, small, "80m"),
            "tally-meson",
            "test",
            "-C",
            "build",
            *GOOD,
            "--suite",
            "fills",
            "--coverage-per-test",
            XDG_RUNTIME_DIR=str(small),
        )
        for name in ("fills", "one", "two"):
            self.assertRegex(done.stdout, rf"(?m){name} +no data$")
        self.assertIn("nothing was counted", done.stderr)

    def test_gcovr_file(self) -> None:
        config = self.project / "gcovr.cfg"
        config.write_text(
            "exclude = src/main  # not searched: matched\nexclude = main\n"
            "fail-under-line = 90\nhtml = yes\n",
            encoding="utf-8",
        )
        self.addCleanup(config.unlink)
        done = self.measured(3, *GOOD)
        self.assertEqual(rows(done.stdout), {"src/demo.c": "5/6", "TOTAL": "5/6"})
        self.measured(0, *GOOD, "--coverage-fail-under=80")

    def test_bad_command_lines(self) -> None:
        """Each is reported in one line, before anything is done."""
        self.is_refused(
            r"--coverage-report: there is no report 'nonsense' .*", "--coverage-report=nonsense"
        )
        self.is_refused(r"--coverage-filter: .*", "--coverage-filter", "(")
        self.is_refused(
            r"--coverage-fail-under: expected 0 to 100, found '101'", "--coverage-fail-under=101"
        )
        self.is_refused(r"unrecognized arguments: --coverage-nonsense", "--coverage-nonsense")
        self.is_refused(
            r"--coverage-keep cannot be combined with --coverage-per-test: .*",
            "--coverage-keep",
            "--coverage-per-test",
        )
        self.is_refused(
            r"--coverage-per-test cannot be combined with --wrapper: .*",
            "--coverage-per-test",
            "--wrapper",
            "env",
        )
        self.is_refused(
            r"--coverage-diff: .*/project: git: not a git repository.*",
            "--coverage-diff",
            GIT_CEILING_DIRECTORIES=str(self.home),
        )
        self.is_refused(r"--coverage-fail-under: .*", "--coverage-fail-under=")
        self.refused(
            2,
            r"/ is not a build directory of Meson: name one with -C",
            "tally-meson",
            "test",
            "-C",
            "/",
        )
        self.refused(2, r"-C: expected a build directory", "tally-meson", "test", "-C")

    def test_unsuitable_collectors(self) -> None:
        other = self.home / "other"
        other.mkdir()
        self.addCleanup(shutil.rmtree, other)
        path = f"{self.venv}/bin:{MODULE}"
        self.is_refused("the collector, tally, is not on PATH", PATH=f"{path}:/usr/bin:/bin")
        (other / "tally").write_text("#!/bin/sh\necho tally 9.9\n", encoding="utf-8")
        (other / "tally").chmod(0o755)
        self.is_refused(
            rf"the collector {other}/tally has version 9\.9, but tally-meson in .* "
            r"has version .*",
            PATH=f"{other}:{path}:/usr/bin:/bin",
        )

    def test_options_of_meson_are_passed_on(self) -> None:
        listed = self.expect(0, "tally-meson", "test", "-C", "build", "--list")
        plain = self.expect(0, "meson", "test", "-C", "build", "--list")
        self.assertEqual(listed.stdout, plain.stdout)
        done = self.measured(0, "one", "--test-args=--coverage 2")
        self.assertEqual(rows(done.stdout)["src/demo.c"], "4/6")
        done = self.measured(0, *GOOD, "--wrapper", "env X=1")
        self.assertEqual(rows(done.stdout), BOTH)

    def test_each_test_by_itself(self) -> None:
        done = self.measured(
            0, *GOOD, "--repeat", "2", "--coverage-per-test", "--coverage-report", "lcov:each.info"
        )
        self.assertEqual(rows(done.stdout), BOTH)
        self.assertRegex(done.stdout, r"(?m)^\S*.*one +8 +1$")
        self.assertRegex(done.stdout, r"(?m)^\S*.*two +9 +2$")
        reached = subprocess.run(
            [command_line(), "coverage", "each.info", "--which-tests", "src/demo.c:3"],
            cwd=self.project,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        self.assertEqual(reached, "one\n")
        # `meson test` accepts these names; they include the project if they must.
        done = self.run_in(
            "tally-meson",
            "test",
            "-C",
            "build",
            "--coverage-per-test",
            "--coverage-report",
            "lcov:each.info",
            "fails",
            "fails too",
        )
        names = self.must(
            "tally", "coverage", "../each.info", "--which-tests", "main.c:6", folder="src"
        ).splitlines()
        self.assertEqual(names, ["fails", "fails too"])
        listed = self.must("meson", "test", "-C", "build", "--list", *names)
        self.assertEqual(len(re.findall("fails", listed)), 2, listed)

    def test_killed_tests_by_themselves(self) -> None:
        done = self.run_in(
            "tally-meson", "test", "-C", "build", "one", "aborts", "hangs", "--coverage-per-test"
        )
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, r"(?m)aborts +no data")
        self.assertRegex(done.stdout, r"(?m)hangs +no data")
        self.assertEqual(rows(done.stdout)["src/demo.c"], "3/6")
        self.assert_no_trees()

    def test_killed_outright(self) -> None:
        """The signal has no handler, as when the system is out of memory."""
        path = self.project / "meson.build"
        path.write_text(
            PROJECT["meson.build"] + "test('dies', find_program('sh'), args: ['-c', "
            "'kill -9 $$'], suite: 'dies')\n",
            encoding="utf-8",
        )
        self.addCleanup(path.write_text, PROJECT["meson.build"], encoding="utf-8")
        done = self.run_in(
            "tally-meson", "test", "-C", "build", *GOOD, "--suite", "dies", "--coverage-per-test"
        )
        self.assertRegex(done.stdout, r"dies +FAIL .*killed by signal 9 SIGKILL")
        self.assertEqual(rows(done.stdout), BOTH)
        log = (self.project / "build" / "meson-logs" / "testlog.txt").read_text(encoding="utf-8")
        self.assertNotIn("Traceback", log)

    def test_the_same_command_under_two_names(self) -> None:
        done = self.run_in(
            "tally-meson", "test", "-C", "build", "--suite", "bad", "--coverage-per-test"
        )
        self.assertRegex(
            done.stderr,
            r"(?m)^tally: several tests run the same command: "
            r".*fails, .*fails too: only their order distinguishes them; .*$",
        )

    def test_interrupted(self) -> None:
        """Counts up to the interruption are reported; the build directory remains usable."""
        out = self.interrupted("tally-meson", "test", "-C", "build")
        self.assertEqual(rows(out), BOTH)
        self.assertEqual(rows(self.measured(0, *GOOD).stdout), BOTH)

    def test_terminated(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                out = self.interrupted(
                    "tally-meson", "test", "-C", "build", "--coverage-per-test", number=number
                )
                self.assertEqual(rows(out), BOTH)

    def test_two_at_once(self) -> None:
        """The second run waits, because both would count into the same files."""
        words = ["tally-meson", "test", "-C", "build", "--no-rebuild", *GOOD]
        runs = [
            subprocess.Popen(
                words,
                cwd=self.project,
                env=self.environment(),
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(2)
        ]
        for run in runs:
            out, _ = run.communicate(timeout=60)
            self.assertEqual((run.returncode, rows(out)), (0, BOTH))


globals().update(for_each_meson(Run))

if __name__ == "__main__":
    run_unittests()
