"""Tests `tally-meson test` in builds that the tests set up, change and break."""
from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import (
    BOTH,
    GOOD,
    MixIn,
    PROJECT,
    for_each_meson,
    rows,
    write_project,
)
from support.skips import run_unittests


class RunAfterChanges(MixIn):
    """Each test gets a build directory that it may change."""

    def setUp(self) -> None:
        super().setUp()
        write_project(self.project, PROJECT)
        self.addCleanup(shutil.rmtree, self.project)

    def measured(self, status: int, *words: str, **more: str) -> subprocess.CompletedProcess:
        return self.expect(status, "tally-meson", "test", "-C", "build", *GOOD, *words, **more)

    def test_missing_sources_are_reported_once(self) -> None:
        """Generators name sources that the build does not keep."""
        with (self.project / "src" / "demo.c").open("a", encoding="utf-8") as file:
            file.write('#line 5 "/gone/demo.y"\nint gone(void) { return 1; }\n')
        self.must("meson", "setup", "build", "-Db_coverage=true")
        self.assertRegex(self.measured(0).stderr, r"^/gone/demo.y: warning: [^\n]*\n$")
        self.assertEqual(self.measured(0).stderr, "")

    def test_coverage_off(self) -> None:
        self.must("meson", "setup", "build")
        options = self.project / "build" / "meson-info" / "intro-buildoptions.json"
        before = options.read_bytes()
        for flag in ("--no-rebuild", "--coverage-no-reconfigure"):
            self.refused(
                2,
                rf"the option b_coverage is off, and {flag} is given: .*"
                r"configure \S+ -Db_coverage=true",
                "tally-meson",
                "test",
                "-C",
                "build",
                flag,
            )
        self.assertEqual(options.read_bytes(), before)
        done = self.measured(0)
        self.assertEqual(
            done.stderr,
            "tally: the option b_coverage is off: it is switched on, and "
            "everything is compiled again; it stays on until a run with "
            "--coverage-off\n",
        )
        self.assertEqual(rows(done.stdout), BOTH)
        self.assertEqual(rows(self.must("tally-meson", "report", "-C", "build")), BOTH)
        # Switch coverage off again. The counters on disk are then those of another build.
        for words, text in (
            (["--coverage-keep"], "--coverage-off cannot be combined with --coverage-keep: .*"),
            (["--coverage"], "--coverage-off cannot be combined with --coverage: .*"),
        ):
            self.refused(2, text, "tally-meson", "test", "-C", "build", "--coverage-off", *words)
        done = self.measured(0, "--coverage-off")
        self.assertEqual(
            (rows(done.stdout), done.stderr),
            (
                {},
                "tally: the option b_coverage is switched off, and everything is compiled again\n",
            ),
        )
        self.assertNotIn(
            "--coverage",
            (self.project / "build" / "compile_commands.json").read_text(encoding="utf-8"),
        )
        self.assertEqual(
            self.measured(0, "--coverage-off").stderr,
            "tally: the option b_coverage is already off\n",
        )
        self.refused(
            2,
            "the option b_coverage is off: the counters on disk come from an earlier "
            r"build; type tally-meson test -C \S+ to count again",
            "tally-meson",
            "report",
            "-C",
            "build",
        )

    def test_one_run_at_a_time(self) -> None:
        """A run waits before the rebuild, which would change the programs that another run
        counts."""
        self.must("meson", "setup", "build", "-Db_coverage=true")
        self.measured(0)
        path = self.project / "src" / "demo.c"
        path.write_text(PROJECT["src/demo.c"] + "int more(void) { return 1; }\n", encoding="utf-8")
        program = self.project / "build" / "prog"
        before = program.stat().st_mtime_ns
        with open(
            self.project / "build" / "meson-private" / "tally-coverage.lock", "w", encoding="utf-8"
        ) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with subprocess.Popen(
                ["tally-meson", "test", "-C", "build", *GOOD],
                cwd=self.project,
                env=self.environment(),
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as run:
                assert run.stderr is not None
                self.assertRegex(run.stderr.readline(), "another run measures in .*: waiting")
                self.assertEqual(program.stat().st_mtime_ns, before)
                fcntl.flock(lock, fcntl.LOCK_UN)
                out, _ = run.communicate(timeout=60)
        self.assertEqual(rows(out)["src/demo.c"], "5/7")
        self.assertNotEqual(program.stat().st_mtime_ns, before)

    def test_programs_of_the_build_machine(self) -> None:
        with open(self.project / "meson.build", "a", encoding="utf-8") as file:
            file.write("executable('gen', 'gen.c', native: true)\nsubdir('tools')\n")
        write_project(
            self.project,
            {
                "gen.c": "int main(void) {\n  return 0;\n}\n",
                "tools/t.c": "int t(void) { return 0; }\n",
                "tools/meson.build": "static_library('t', 't.c', native: true)\n",
            },
        )
        self.must("meson", "setup", "build", "-Db_coverage=true")
        self.must("ninja", "-C", "build")
        self.assertLessEqual({"gen.c", "tools/t.c"}, set(rows(self.measured(0).stdout)))
        self.assertEqual(rows(self.measured(0, "--coverage-no-native").stdout), BOTH)

    def test_a_build_that_fails(self) -> None:
        self.must("meson", "setup", "build", "-Db_coverage=true")
        self.measured(0)
        path = self.project / "src" / "demo.c"
        path.write_text("no C\n", encoding="utf-8")
        done = self.measured(125)
        self.assertEqual(rows(done.stdout), {})
        # Counters that the earlier build left are not used.
        path.write_text(PROJECT["src/demo.c"] + "int more(void) { return 1; }\n", encoding="utf-8")
        self.assertEqual(rows(self.measured(0).stdout)["src/demo.c"], "5/7")
        with open(self.project / "meson.build", "a", encoding="utf-8") as file:
            file.write("nonsense(\n")
        self.assertEqual(rows(self.measured(125).stdout), {})

    def test_a_unity_build(self) -> None:
        self.must("meson", "setup", "build", "-Db_coverage=true", "-Dunity=on")
        self.assertEqual(rows(self.measured(0).stdout), BOTH)

    def test_clang(self) -> None:
        if shutil.which("clang") is None:
            self.skipTest("not installed: clang")
        self.must("meson", "setup", "build", "-Db_coverage=true", CC="clang")
        self.assertRegex(rows(self.measured(0).stdout)["src/demo.c"], r"^(5/6|6/7)$")

    def test_what_changed(self) -> None:
        for words in (
            ["init", "-q"],
            ["add", "."],
            ["-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "-m", "c"],
        ):
            self.must("git", *words)
        path = self.project / "src" / "demo.c"
        path.write_text(
            path.read_text(encoding="utf-8")
            .replace("return 3", "return 4")
            .replace("return 2", "return 2 + 0"),
            encoding="utf-8",
        )
        self.must("meson", "setup", "build", "-Db_coverage=true")
        for words in (
            ["--coverage-diff", "--coverage-fail-under=51"],
            ["--coverage-fail-under=51", "--coverage-diff=HEAD"],
        ):
            done = self.measured(3, *words)
            self.assertEqual(rows(done.stdout), {"src/demo.c": "1/2", "TOTAL": "1/2"})
        for name in ("nonsense", ""):
            self.refused(
                2,
                rf"--coverage-diff: git finds no '{name}' in .*",
                "tally-meson",
                "test",
                "-C",
                "build",
                f"--coverage-diff={name}",
            )
        # The collector's own option reports the same.
        shutil.rmtree(self.project / ".git")
        done = self.expect(
            1,
            "tally",
            "coverage",
            "--build",
            "build",
            "--diff=HEAD",
            GIT_CEILING_DIRECTORIES=str(self.home),
        )
        self.assertRegex(
            done.stderr, r"\Atally: --diff: .*/project: git: not a git repository[^\n]*\n\Z"
        )

    def test_no_compiler(self) -> None:
        shutil.rmtree(self.project)
        write_project(self.project, {"meson.build": "project('empty')\n"})
        self.must("meson", "setup", "build")
        self.refused(
            2,
            "this build has no option b_coverage: none of its compilers supports it",
            "tally-meson",
            "test",
            "-C",
            "build",
        )

    def test_a_test_that_deletes_its_counters(self) -> None:
        with open(self.project / "meson.build", "a", encoding="utf-8") as file:
            file.write(
                "test('deletes', find_program('sh'), "
                "args: ['-c', 'find . -name \"*.gcda\" -delete'], priority: -1, "
                "is_parallel: false)\n"
            )
        self.must("meson", "setup", "build", "-Db_coverage=true")
        done = self.expect(4, "tally-meson", "test", "-C", "build", "one", "two", "deletes")
        self.assertIn("nothing was counted", done.stderr)


globals().update(for_each_meson(RunAfterChanges))

if __name__ == "__main__":
    run_unittests()
