"""Tests import('tally') in a meson.build."""
from __future__ import annotations

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import PROJECT, MixIn, for_each_meson, rows, write_project
from support.skips import run_unittests

GUARDED = """
tally = import('tally', required: false)
if tally.found()
  message('enabled: @0@'.format(tally.enabled()))
  tally.configure({})
  tally.report_target('reached')
endif
helper = find_program('tally-meson')
run_target('helped', command: [helper, 'report', '-C', meson.global_build_root()])
"""
SETTINGS = (
    "exclude: 'main', include_subprojects: 'sub', fail_under: 90, " "reports: ['lcov:own/x.info']"
)


class Module(MixIn):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.project.mkdir()
        cls.must("tally-meson", "enable")

    def setUp(self) -> None:
        super().setUp()
        self.write(SETTINGS)
        self.addCleanup(shutil.rmtree, self.project)

    def write(self, settings: str) -> None:
        write_project(self.project, PROJECT)
        with open(self.project / "meson.build", "a", encoding="utf-8") as file:
            file.write(GUARDED.replace("{}", settings))

    def stored(self) -> dict:
        path = self.project / "build" / "meson-private" / "tally-coverage.json"
        return json.loads(path.read_text(encoding="utf-8"))

    def test_all_commands_follow_the_settings(self) -> None:
        self.assertIn("enabled: true", self.must("meson", "setup", "build", "-Db_coverage=true"))
        wanted = {"src/demo.c": "5/6", "subprojects/sub/sub.c": "2/2", "TOTAL": "7/8"}
        for words in (["meson", "test", "--coverage"], ["tally-meson", "test"]):
            for zone in ("UTC", "America/New_York"):
                done = self.expect(3, *words, "-C", "build", "--suite", "good", TZ=zone)
                self.assertEqual(rows(done.stdout), wanted)
        for target in ("reached", "helped"):
            done = self.run_in("ninja", "-C", "build", target)
            self.assertEqual(rows(done.stdout), wanted)
            self.assertEqual(done.returncode, 1)  # ninja's status; its command exited with 3
        self.assertTrue((self.project / "build" / "own" / "x.info").is_file())
        # A flag overrides a single value; lists are joined.
        done = self.expect(
            0,
            "meson",
            "test",
            "-C",
            "build",
            "--coverage",
            "--suite",
            "good",
            "--coverage-fail-under=10",
            "--coverage-exclude=sub",
        )
        self.assertEqual(set(rows(done.stdout)), {"src/demo.c", "TOTAL"})
        # Removed settings no longer apply, although the module does not run any more.
        write_project(self.project, PROJECT)
        done = self.expect(0, "meson", "test", "-C", "build", "--coverage", "--suite", "good")
        self.assertEqual(set(rows(done.stdout)), {"src/demo.c", "src/main.c", "TOTAL"})

    def test_changed_settings(self) -> None:
        """Changed settings apply to the run that reconfigures, also for per-test coverage."""
        self.must("meson", "setup", "build", "-Db_coverage=true")
        self.write("per_test: true, fail_under: '12.5'")
        for words in (["meson", "test", "--coverage"], ["tally-meson", "test"]):
            done = self.expect(0, *words, "-C", "build", "--suite", "good")
            self.assertRegex(done.stdout, r"(?m)one +8 +1$")

    def test_an_unknown_subproject(self) -> None:
        """Subprojects that are not used now, or that come from a wrap file, are known."""
        (self.project / "subprojects" / "wrapped.wrap").write_text(
            "[wrap-file]\n", encoding="utf-8"
        )
        (self.project / "subprojects" / "unused").mkdir()
        self.write("include_subprojects: ['sub', 'wrapped', 'unused', 'nonsense']")
        self.must("meson", "setup", "build", "-Db_coverage=true")
        self.must("ninja", "-C", "build")
        line = r"include_subprojects: there is no subproject 'nonsense' \(there are: sub\)"
        for words in (
            ["meson", "test", "--coverage"],
            ["tally-meson", "test"],
            ["tally-meson", "report"],
        ):
            self.refused(2, line, *words, "-C", "build")
        # The corrected setting applies at once.
        self.write("include_subprojects: ['sub', 'wrapped', 'unused']")
        done = self.expect(0, "meson", "test", "-C", "build", "--coverage", "--suite", "good")
        self.assertIn("subprojects/sub/sub.c", rows(done.stdout))

    def test_a_subproject_sets_nothing(self) -> None:
        with open(
            self.project / "subprojects" / "sub" / "meson.build", "a", encoding="utf-8"
        ) as file:
            file.write("import('tally').configure(fail_under: 1)\n")
        self.must("meson", "setup", "build")
        self.assertEqual(
            self.stored(),
            {
                "exclude": ["main"],
                "fail_under": "90",
                "include_subprojects": ["sub"],
                "reports": ["lcov:own/x.info"],
            },
        )

    def test_mistakes(self) -> None:
        for settings, text in (
            ("nonsense: 1", 'tally.configure: unknown keyword argument "nonsense" (there are:'),
            ("fail_under: 101", 'keyword argument "fail_under" must be a number from 0 to 100'),
            ("fail_under: true", '"fail_under" must be a number from 0 to 100'),
            ("exclude: [1]", '"exclude" must be a string or a list of strings'),
            ("per_test: 'yes'", '"per_test" must be a boolean'),
            ("reports: ['lcov', 'x:y']", '"reports" must be FMT or FMT:FILE, where FMT is one of'),
            ("per_test: true)\n  tally.configure(", "was already called in this project"),
            (")\n  tally.report_target(1", "tally.report_target: expected one argument"),
            (")\n  tally.report_target('a', command: 'x'", "tally"),
            (")\n  tally.enabled(1", "tally"),
        ):
            self.write(settings)
            done = self.run_in("meson", "setup", "build")
            self.assertEqual(done.returncode, 1, settings)
            error = next(line for line in done.stdout.splitlines() if "ERROR" in line)
            self.assertIn(text if text != "tally" else "ERROR", error)
            self.assertNotIn("Traceback", done.stdout + done.stderr)

    def disable(self) -> None:
        self.must("tally-meson", "disable")
        self.addCleanup(self.must, "tally-meson", "enable")

    WHY = r"the project was configured without import\('tally'\), so its settings are not known"

    def test_without_the_hook(self) -> None:
        """tally-meson provides the module to Meson, so that the settings apply without a hook,
        too."""
        self.disable()
        self.must("meson", "setup", "build", "-Db_coverage=true")
        ninja = self.project / "build" / "build.ninja"
        rule = [
            line
            for line in ninja.read_text(encoding="utf-8").splitlines()
            if "--internal regenerate" in line
        ]
        door = ["tally-meson", "test", "-C", "build", "--suite", "good"]
        for words in ([*door, "--no-rebuild"], ["tally-meson", "report", "-C", "build"]):
            self.refused(2, self.WHY + r"[:,] .*tally-meson .*", *words)
        wanted = {"src/demo.c": "5/6", "subprojects/sub/sub.c": "2/2", "TOTAL": "7/8"}
        done = self.expect(3, *door)
        self.assertEqual(rows(done.stdout), wanted)
        self.assertRegex(
            done.stderr,
            rf"\Atally: {self.WHY}: it is configured again\n"
            r"tally: 7 of 8 lines ran: 87.50%, less than 90%\n\Z",
        )
        # build.ninja names Meson itself, and nothing that tally-meson provided.
        self.assertEqual(
            [
                line
                for line in ninja.read_text(encoding="utf-8").splitlines()
                if "--internal regenerate" in line
            ],
            rule,
        )
        # It is configured again only once, for all commands.
        for words in (door, [*door, "--no-rebuild"], ["tally-meson", "report", "-C", "build"]):
            done = self.expect(3, *words)
            self.assertEqual(rows(done.stdout), wanted)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(rows(self.run_in("ninja", "-C", "build", "reached").stdout), wanted)

    def test_changes_without_the_hook(self) -> None:
        """ninja reconfigures without the module, whoever starts ninja."""
        self.disable()
        self.must("meson", "setup", "build", "-Db_coverage=true")
        door = ["tally-meson", "test", "-C", "build", "--suite", "good"]
        self.expect(3, *door)
        for settings, status in (("fail_under: 10", 0), ("fail_under: 99", 3)):
            self.write(settings)
            done = self.expect(status, *door)
            self.assertRegex(done.stderr, rf"\Atally: {self.WHY}: it is configured again\n")
        self.write("nonsense: 1")
        done = self.expect(125, *door)
        self.assertIn(
            'tally.configure: unknown keyword argument "nonsense"', done.stdout + done.stderr
        )
        self.assertRegex(done.stderr, r"(?m)^tally: .*/build could not be configured\n\Z")

    def test_a_baseline(self) -> None:
        """It is relative to the source root, for each command."""
        self.write("baseline: 'base.txt', fail_under_new: 50, exclude: 'main'")
        self.must("meson", "setup", "build", "-Db_coverage=true")
        door = ["tally-meson", "test", "-C", "build"]
        self.expect(1, *door, "--suite", "good")
        self.expect(0, *door, "--suite", "good", "--coverage-update")
        base = self.project / "base.txt"
        self.assertIn("\nlines 5 of 6, branches 3 of 4: src/demo.c\n", base.read_text("utf-8"))
        base.write_text("tally-coverage-baseline 1\nlines 6 of 6: src/demo.c\n", encoding="utf-8")
        for words in ([*door, "--suite", "good"], ["tally-meson", "report", "-C", "build"]):
            done = self.expect(3, *words)
            self.assertIn("src/demo.c: 5 of 6 lines ran, 6 of 6 in the baseline", done.stderr)

    def test_a_hook_that_came_later(self) -> None:
        """Projects that were configured before the hook existed are configured again."""
        self.disable()
        self.must("meson", "setup", "build", "-Db_coverage=true")
        self.must("tally-meson", "enable")
        done = self.expect(3, "meson", "test", "-C", "build", "--coverage", "--suite", "good")
        self.assertIn("it is configured again", done.stderr)
        self.assertIn("subprojects/sub/sub.c", rows(done.stdout))

    def test_a_module_that_is_not_imported(self) -> None:
        """import('tally') is in a comment, in a branch that is not executed, or in a subproject."""
        self.disable()
        write_project(self.project, PROJECT)
        with open(self.project / "meson.build", "a", encoding="utf-8") as file:
            file.write("# import('tally')\n")
        with open(
            self.project / "subprojects" / "sub" / "meson.build", "a", encoding="utf-8"
        ) as file:
            file.write("tally = import('tally', required: false)\n")
        self.must("meson", "setup", "build", "-Db_coverage=true")
        door = ["tally-meson", "test", "-C", "build", "--suite", "good"]
        self.assertEqual(self.expect(0, *door).stderr, "")
        with open(self.project / "meson.build", "a", encoding="utf-8") as file:
            file.write("if false\n  import('tally')\nendif\n")
        self.assertIn("it is configured again", self.expect(0, *door).stderr)
        self.assertEqual(self.expect(0, *door).stderr, "")


globals().update(for_each_meson(Module))

if __name__ == "__main__":
    run_unittests()
