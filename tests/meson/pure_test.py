"""Tests the helper's logic without Meson."""
from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import MODULE
from support.programs import command_line
from support.skips import run_unittests

from tally_meson import (
    arguments,
    flag_table,
    benchmark_report,
    gcovr_config,
    meson_on_path,
    per_test,
    planning,
    settings,
    words,
    wrapped_test,
)
from tally_meson.build_dir import BuildDir
from tally_meson.collector import Collector, expected_version
from tally_meson.measurement import Ran
from tally_meson.refusal import Refusal


def flags(*typed: str) -> arguments.Flags:
    parser = argparse.ArgumentParser()
    arguments.add_arguments(parser)
    return arguments.Flags.of(parser.parse_args(typed))


class Arguments(unittest.TestCase):
    def test_flags(self) -> None:
        self.assertEqual(flags(), arguments.Flags())
        parsed = flags(
            "--coverage",
            "--coverage-filter",
            "a",
            "--coverage-filter=b",
            "--coverage-fail-under",
            "80",
            "--coverage-diff",
            "--coverage-keep",
        )
        self.assertEqual(
            parsed,
            arguments.Flags(
                coverage=True, filter=("a", "b"), fail_under="80", diff="HEAD", keep=True
            ),
        )
        self.assertEqual(parsed.first_given(), "--coverage-fail-under")
        self.assertIsNone(flags("--coverage").first_given())
        for flag in flag_table.FLAGS:
            if flag.name in flag_table.SWITCHES:
                continue
            value = [] if flag.kind == "switch" else ["1"]
            self.assertEqual(flags(flag.name, *value).first_given(), flag.name)

    def test_every_flag_has_a_field_and_the_collector_its_options(self) -> None:
        self.assertEqual(len(flag_table.FLAGS) + 1, len(arguments.Flags._fields))  # and redundant
        done = subprocess.run(
            [command_line(), "coverage", "--help"], stdout=subprocess.PIPE, text=True, check=True
        )
        for option in (
            "report",
            "fail-under",
            "fail-under-branch",
            "baseline",
            "fail-under-new",
            "update-baseline",
            "filter",
            "exclude",
            "diff",
            "per-test",
            "harvest",
            "build",
            "root",
            "substitute",
            "limit",
            "sort",
            "exclude-objects",
            "exclude-lines",
            "full",
            "missing-once",
        ):
            self.assertRegex(done.stdout, rf"(?m)^  --{option}\b")
        formats = re.findall(
            "[a-z]+", done.stdout.partition("FORMAT is one of")[2].partition(".")[0]
        )
        self.assertEqual(sorted(settings._DEFAULT_FILES), sorted(formats))

    def test_split(self) -> None:
        def split(line: str) -> words.Words:
            parsed = words.split(line.split())
            assert parsed is not None
            return parsed

        parsed = split("--suite a -C b --coverage --coverage-filter x one --coverage-keep two -v")
        self.assertEqual(
            (parsed.build, parsed.coverage, parsed.meson),
            (
                "b",
                ["--coverage", "--coverage-filter", "x", "--coverage-keep"],
                ["--suite", "a", "one", "two", "-v"],
            ),
        )
        for line in ("-Cb one", "one -C b", "-C=b one"):
            parsed = split(line)
            self.assertEqual((parsed.build, parsed.meson), ("b", ["one"]), line)
        self.assertEqual(split("one").build, ".")
        # A method is no name of a test, whether or not there is an "=".
        parsed = split("--coverage-update prefer-atomic one --affected REV two --affected-list")
        self.assertEqual(
            (parsed.coverage, parsed.meson),
            (
                ["--coverage-update=prefer-atomic", "--affected", "REV", "--affected-list"],
                ["one", "two"],
            ),
        )
        self.assertEqual(split("--coverage-update one").meson, ["one"])
        # A single word that contains a flag belongs to Meson.
        self.assertEqual(split("--test-args=--coverage").coverage, [])
        # Abbreviations are accepted, as argparse does.
        self.assertTrue(split("--no-re").no_rebuild)
        self.assertFalse(split("--no-suite x").no_rebuild)
        self.assertTrue(split("--lis").list_only)
        self.assertFalse(split("--logbase x").list_only)
        self.assertTrue(split("--bench").benchmark)
        self.assertTrue(split("--wrap=env").wrapper)
        self.assertEqual(split("--coverage-filt x y").coverage, ["--coverage-filt", "x"])
        self.assertEqual(split("--cov one").meson, ["one"])
        # The revision may be omitted.
        self.assertEqual(split("--coverage-diff -v").coverage, ["--coverage-diff"])
        self.assertEqual(split("--coverage-diff=main one").meson, ["one"])
        self.assertIsNone(words.split(["-C"]))
        self.assertIsNone(words.split(["-C", "--list"]))


class Benchmarks(unittest.TestCase):
    def test_the_status_of_several(self) -> None:
        """What is known to be too slow counts more than what cannot be decided."""
        with tempfile.TemporaryDirectory() as folder:
            tally = Path(folder) / "tally"
            tally.write_text('#!/bin/sh\nexit "$2"\n', encoding="utf-8")
            tally.chmod(0o755)
            for statuses, expected in (
                ("0 0", 0),
                ("0 4", 4),
                ("4 3 0", 3),
                ("3 4", 3),
                ("3 1", 1),
                ("4 139", 1),
            ):
                with mock.patch("builtins.print"):
                    found = benchmark_report.compare(
                        str(tally),
                        [benchmark_report.Pair("name", each, "now") for each in statuses.split()],
                        gate=[],
                        has_stacks=False,
                        folder=folder,
                        notes=[],
                    )
                self.assertEqual(found, expected, statuses)


class Folder(unittest.TestCase):
    """A build directory with the files that the helper reads."""

    inside = "build"

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="meson-")
        self.addCleanup(folder.cleanup)
        self.source = Path(os.path.realpath(folder.name)) / "my source"
        self.path = self.source / self.inside
        for name, content in (
            (
                "meson-info/meson-info.json",
                {"meson_version": {"full": "1.2.3"}, "directories": {"source": str(self.source)}},
            ),
            ("meson-info/intro-projectinfo.json", {"subproject_dir": "deps"}),
            ("meson-info/intro-buildoptions.json", [{"name": "b_coverage", "value": True}]),
            ("meson-info/intro-targets.json", []),
            ("meson-private/x", {}),
            ("meson-logs/x", {}),
        ):
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(json.dumps(content), encoding="utf-8")
        self.build = BuildDir(str(self.path))

    def plan(self, *words: str) -> planning.Plan:
        return planning.plan(self.build, flags(*words), "/typed/here")

    def store(self, **keywords: object) -> None:
        settings.store(settings.path_in(str(self.path)), settings.checked(keywords))

    def put(self, name: str, text: str) -> None:
        (self.source / name).parent.mkdir(exist_ok=True)
        (self.source / name).write_text(text, encoding="utf-8")


class Settings(Folder):
    def test_defaults(self) -> None:
        plan = self.plan()
        self.assertEqual(plan.exclude, ("^deps/", "^build/"))
        self.assertEqual((plan.filter, plan.fail_under, plan.reports), ((), None, ()))
        self.assertEqual(self.plan("--coverage-filter", "x").exclude, ())

    def test_included_subprojects(self) -> None:
        """A subproject may also be named by the directory that its wrap file states."""
        self.put("deps/one.wrap", "[wrap-git]\ndirectory = one-1.0\n")
        self.store(include_subprojects=["one", "two"])
        pattern = self.plan().exclude[0]
        self.assertEqual(pattern, r"^deps/(?!(?:one\-1\.0|two)/)")
        for path, excluded in (
            ("deps/one-1.0/a.c", False),
            ("deps/two/a.c", False),
            ("deps/twofold/a.c", True),
            ("deps/three/a.c", True),
            ("src/deps/a.c", False),
        ):
            self.assertEqual(bool(re.search(pattern, path)), excluded, path)

    def test_reports(self) -> None:
        logs = self.path / "meson-logs"
        self.store(reports=["lcov:own.info", "sonarqube"])
        self.assertEqual(
            self.plan(
                "--coverage-report",
                "html",
                "--coverage-report=lcov:x.info",
                "--coverage-report=text:/a",
                "--coverage-report=github:-",
                "--coverage-report=nonsense",
            ).reports,
            (
                f"html:{logs}/coverage",
                "lcov:/typed/here/x.info",
                "text:/a",
                "github:-",
                "nonsense",
                f"lcov:{self.path}/own.info",
                f"sonarqube:{logs}/coverage.sonarqube.xml",
            ),
        )
        files = settings._DEFAULT_FILES
        self.assertEqual(len(set(files.values())), len(files))

    def test_precedence_of_settings(self) -> None:
        self.put("gcovr.cfg", "fail-under-line = 10\nfail-under-branch=11\nexclude = g\n")
        self.store(fail_under=20, exclude="c", exclude_lines="own")
        plan = self.plan("--coverage-exclude", "f", "--coverage-exclude-lines", "typed")
        self.assertEqual(plan.exclude_lines, ("typed", "own"))
        self.assertEqual((plan.fail_under, plan.fail_under_branch), ("20", "11"))
        self.assertEqual(plan.exclude[:3], ("f", "c", "^(?:g)"))
        self.assertEqual(self.plan("--coverage-fail-under=0").fail_under, "0")

    def test_baselines(self) -> None:
        self.assertIsNone(self.plan().baseline)
        self.assertEqual(
            self.plan("--coverage-baseline=b", "--coverage-update").baseline,
            planning.Baseline("/typed/here/b", None, True),
        )
        for name in ("--coverage-new=1", "--coverage-update"):
            with self.assertRaisesRegex(
                Refusal, f"{name[:12]}.*: requires --coverage-baseline, or"
            ):
                self.plan(name)
        self.store(baseline="tests/b", fail_under_new="79.5")
        own = f"{self.source}/tests/b"
        self.assertEqual(self.plan().baseline, planning.Baseline(own, "79.5", False))
        self.assertEqual(self.plan("--coverage-new=0").baseline, planning.Baseline(own, "0", False))
        # The baseline of the project does not get in the way of a look at what has changed.
        self.assertIsNone(self.plan("--coverage-diff").baseline)
        with self.assertRaisesRegex(Refusal, "--coverage-update: cannot be used with"):
            self.plan("--coverage-diff", "--coverage-update")

    def test_stored_settings_apply_to_the_last_configuration(self) -> None:
        self.store(fail_under=20)
        log = self.path / "meson-logs" / "meson-log.txt"
        log.write_text("Build started at 2000-01-01T00:00:00.500000\n", encoding="utf-8")
        self.assertEqual(self.plan().fail_under, "20")
        later = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 60))
        begun = f"Build started at {later}.500000\n"
        log.write_text(begun + "Build targets in project: 1\n", encoding="utf-8")
        (self.path / "build.ninja").touch()
        os.utime(self.path / "build.ninja", (time.time(), time.time() + 62))
        for zone in ("UTC", "America/New_York", "Asia/Kathmandu"):  # may differ from the log's zone
            with unittest.mock.patch.dict(os.environ, TZ=zone):
                time.tzset()
                self.assertIsNone(self.plan().fail_under)
        time.tzset()
        log.write_text(begun + "meson.build:1:0: ERROR: no\n", encoding="utf-8")
        self.assertEqual(self.plan().fail_under, "20")
        log.write_text("something else\n", encoding="utf-8")
        self.assertEqual(self.plan().fail_under, "20")
        for text in ("{", "[]", '{"nonsense": 1}'):
            Path(settings.path_in(str(self.path))).write_text(text, encoding="utf-8")
            with self.assertRaisesRegex(Refusal, "configure again"):
                self.plan()

    def test_detection_of_the_module_import(self) -> None:
        files = [
            self.source / name
            for name in ("meson.build", "a/meson.build", "other", "deps/x/meson.build")
        ]
        self.put(
            "build/meson-info/intro-buildsystem_files.json",
            json.dumps([str(path) for path in files]),
        )
        for text, asks in (
            ("x = import('tally', required: false)", True),
            ("x = 1\n y = import( 'tally' )\n", True),
            ("import(\n  'tally')", True),
            ("# import('tally')", False),
            ("x = 1 # import('tally')", False),
            ("import('tallying')", False),
            ("reimport('tally')", False),
            ("", False),
        ):
            self.put("a/meson.build", text)
            self.assertEqual(settings.are_missing(self.build), asks, text)
        (self.source / "deps" / "x").mkdir(parents=True)
        for name in ("other", "deps/x/meson.build"):
            self.put(name, "import('tally')")
        self.assertFalse(settings.are_missing(self.build))
        self.put("meson.build", "import('tally')")
        self.assertTrue(settings.are_missing(self.build))
        settings.mark(str(self.path))
        self.assertFalse(settings.are_missing(self.build))

    def test_names_of_tests(self) -> None:
        """Maps the names that each Meson displays to the names that it accepts."""

        def names(version: str, *tests: tuple) -> dict:
            self.build.meson_version = version
            for kind, these in (("tests", tests), ("benchmarks", ())):
                self.put(
                    f"build/meson-info/intro-{kind}.json",
                    json.dumps(
                        [{"name": name, "cmd": [name], "suite": suite} for name, suite in these]
                    ),
                )
            return self.build.names_for_meson()

        typed = names(
            "1.0.1",
            ("one", ["p"]),
            ("two", ["p:fast", "p:slow"]),
            ("same", ["p"]),
            ("same", ["q:s"]),
            ("a[1]", ["p"]),
        )
        for shown, name in (
            ("one", "one"),
            ("p / one", "one"),
            ("p:fast+slow / two", "two"),
            ("p:one", "one"),
            ("fast+slow - p:two", "two"),
            ("p / same", "p:same"),
            ("s - q:same", "q:same"),
            ("a[1]", "a[1]"),
        ):
            self.assertEqual(typed[shown], name, shown)
        self.assertEqual(names("1.12.99", ("a[1]", ["p"]))["p:a[1]"], "a[[]1]")

    def test_checked(self) -> None:
        for value in (0, 100, "100.0", "79.5", "5."):
            self.assertEqual(settings.checked({"fail_under": value}), {"fail_under": str(value)})
        bad: list[dict[str, object]] = [
            {"fail_under": -1},
            {"fail_under": "x"},
            {"fail_under": True},
            {"fail_under": 1.5j},
            {"fail_under": "100.1"},
            {"exclude": 1},
            {"reports": ["a", 1]},
            {"reports": "nonsense"},
            {"reports": ["lcov", ""]},
            {"reports": "lcov:"},
            {"per_test": 1},
            {"baseline": ""},
            {"baseline": ["a"]},
            {"fail_under_new": "x"},
            {"affected_ignore": "("},
            {"nonsense": 1},
        ]
        for keywords in bad:
            with self.assertRaises(TypeError, msg=keywords):
                settings.checked(keywords)
        self.assertEqual(settings.checked({"reports": "github:-"}), {"reports": ["github:-"]})

    def test_every_keyword_has_a_type(self) -> None:
        self.assertEqual(sorted(settings.Settings.__annotations__), sorted(settings.KEYWORDS))


class BuildOutside(Folder):
    inside = "../elsewhere"

    def test_defaults(self) -> None:
        self.assertEqual(self.plan().exclude, ("^deps/",))


class Gcovr(Folder):
    def test_patterns(self) -> None:
        root = "/a/b+c"
        for pattern, wanted in (
            ("src/", "^(?:src/)"),
            (".*/x|y", "^(?:.*/x|y)"),
            ("/a/b+c/src", "^(?:src)"),
            (r"/a/b\+c/src", "^(?:src)"),
            ("/usr/", "^(?:/usr/)"),
        ):
            self.assertEqual(gcovr_config.searched(pattern, root), wanted)

    def test_cfg(self) -> None:
        self.put(
            "gcovr.cfg",
            "# comment\nroot = .\nfilter =  src/  # one\nfilter = lib/\n"
            "exclude = src/a#b\nfail-under-line = 12.5\nbad line\n",
        )
        read = gcovr_config.read(str(self.source))
        self.assertEqual(
            read, gcovr_config.Entries(["^(?:src/)", "^(?:lib/)"], ["^(?:src/a#b)"], "12.5", None)
        )

    def test_toml(self) -> None:
        self.put("gcovr.toml", 'filter = ["src/", "lib/"]\nfail-under-branch = 7\n')
        read = gcovr_config.read(str(self.source))
        if sys.version_info >= (3, 11):
            self.assertEqual(read.filter, ["^(?:src/)", "^(?:lib/)"])
            self.assertEqual(read.fail_under_branch, "7")

    def test_pyproject(self) -> None:
        nothing = gcovr_config.Entries([], [], None, None)
        self.put("pyproject.toml", '[tool.other]\nfilter = "x"\n')
        with mock.patch.dict(sys.modules, {"tomllib": None}), mock.patch.object(
            gcovr_config, "say"
        ) as said:
            self.assertEqual(gcovr_config.read(str(self.source)), nothing)
            said.assert_not_called()
            self.put(
                "pyproject.toml",
                '[tool.other]\nx = 1\n[tool.gcovr] # ours\nexclude = "x"\n'
                "fail-under-line = 12.5\n",
            )
            self.assertEqual(gcovr_config.read(str(self.source)), nothing)
            said.assert_called_once_with(
                f"{self.source}/pyproject.toml is not read: this Python " "has no tomllib"
            )
        if sys.version_info >= (3, 11):
            self.assertEqual(
                gcovr_config.read(str(self.source)),
                gcovr_config.Entries([], ["^(?:x)"], "12.5", None),
            )
            for bad in ("tool = 1\n", "[tool]\ngcovr = 2\n", "[tool.gcovr\n"):
                self.put("pyproject.toml", bad)
                with self.assertRaisesRegex(Refusal, "pyproject.toml: "):
                    gcovr_config.read(str(self.source))
        # gcovr's own file has priority.
        self.put("gcovr.cfg", "exclude = y\n")
        self.assertEqual(gcovr_config.read(str(self.source)).exclude, ["^(?:y)"])


class Builds(Folder):
    def test_meson_that_configured_the_build(self) -> None:
        meson = self.source / "of a kind" / "meson.py"
        meson.parent.mkdir()
        meson.touch()
        ninja = self.path / "build.ninja"
        for command in (
            f"'{sys.executable}' '{meson}' --internal regenerate a b",
            f'"{sys.executable}" "{meson}" "--internal" "regenerate" a',
        ):
            ninja.write_text(
                f"rule x\n command = y\nrule REGENERATE_BUILD\n command = {command}\n",
                encoding="utf-8",
            )
            self.assertEqual(self.build.meson(), [sys.executable, str(meson)])
        ninja.unlink()
        with self.assertRaisesRegex(Refusal, "only the ninja backend"):
            self.build.meson()

    def test_a_setup_that_failed(self) -> None:
        path = self.path / "meson-info" / "meson-info.json"
        info = json.loads(path.read_text(encoding="utf-8"))
        info.update(error=True, error_list=["meson.build:2:0: ERROR: no\nmore"])
        path.write_text(json.dumps(info), encoding="utf-8")
        (self.path / "build.ninja").touch()
        BuildDir(str(self.path))  # the configuration before it is still of use
        (self.path / "build.ninja").unlink()
        with self.assertRaisesRegex(
            Refusal, "is not configured: meson setup failed: meson.build:2:0: ERROR: no$"
        ) as raised:
            BuildDir(str(self.path))
        self.assertEqual(raised.exception.status, 125)

    def test_no_build_directory(self) -> None:
        with self.assertRaisesRegex(
            Refusal, "is not a build directory of Meson: name one with " "-C"
        ):
            BuildDir(str(self.source))

    def test_a_collector_built_in_the_build_directory(self) -> None:
        """Tally is a subproject. A collector on PATH is preferred."""
        targets = [{"id": "x", "name": "tally", "type": "executable", "filename": [command_line()]}]
        self.put("build/meson-info/intro-targets.json", json.dumps(targets))
        nowhere = mock.patch.dict(os.environ, {"PATH": str(self.source)})
        with nowhere:
            self.assertEqual(Collector(self.build).path, command_line())
            with self.assertRaisesRegex(Refusal, "is not on PATH"):
                Collector()
        with mock.patch.dict(os.environ, {"PATH": os.path.dirname(command_line())}):
            self.assertEqual(Collector(self.build).path, command_line())

    def test_a_stale_build_directory(self) -> None:
        (self.path / "meson-info" / "intro-targets.json").unlink()
        with self.assertRaisesRegex(Refusal, "intro-targets.json cannot be read: configure again"):
            self.build.built_here("tally")

    def test_the_folder_is_an_absolute_path(self) -> None:
        trees = per_test._folder(self.build)
        os.rmdir(trees)
        self.assertTrue(os.path.isabs(trees))


class Tests(Folder):
    def test_results_of_ended_tests(self) -> None:
        for result, status, why in (
            ("OK", 0, ""),
            ("FAIL", 1, ""),
            ("FAIL", 255, ""),
            ("FAIL", -9, "it was killed by signal 9"),
            ("FAIL", 139, "it was killed by signal 11"),
            ("EXPECTEDFAIL", -6, "it was killed by signal 6"),
            ("TIMEOUT", -15, "it was stopped after its timeout"),
            ("INTERRUPT", -2, "it was interrupted"),
        ):
            test = Ran("x", result, status)
            self.assertEqual(test.why_no_data(), why, test)

    def test_numbers_of_tests(self) -> None:
        """Tests get numbers by command; equal commands get them in the order of their starts."""

        class Collector:
            path = command_line()

        trees = per_test.Trees(Collector(), self.build)  # type: ignore[arg-type]
        self.addCleanup(trees.remove)
        for command in (
            ["w", "b"],
            ["w", "a", "--gtest_output=xml:a.xml"],
            ["w", "b", "more"],
            ["w", "b"],
        ):
            wrapped_test.claimed(trees.folder, command)
        missing = wrapped_test.assign_claims(
            trees,
            [
                (Ran("second b", "OK", 0), ["w", "b"], 3.0),
                (Ran("first b", "OK", 0), ["w", "b"], 1.0),
                (Ran("a", "OK", 0), ["w", "a"], 2.0),
                (Ran("first c", "FAIL", 1), ["w", "c"], 0.5),
                (Ran("more", "OK", 0), ["w", "b", "more"], 5.0),
                (Ran("not run", "SKIP", 0), [], 0.0),
                (Ran("never claimed", "FAIL", 1), ["w", "d"], 4.0),
            ],
        )
        self.assertEqual(missing, ["first b", "second b"])
        trees.complete()
        with open(os.path.join(trees.folder, "tests.json"), encoding="utf-8") as file:
            rows = {row["n"]: row["name"] for row in json.load(file)}
        self.assertEqual(
            rows, {1: "first b", 2: "a", 3: "more", 4: "second b", 5: "first c", 6: "never claimed"}
        )
        self.assertEqual(os.listdir(trees.folder), ["tests.json"])


class Files(unittest.TestCase):
    def test_interpreters(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "meson")
            python = "/usr/bin/python3"
            for text, wanted in (
                (f"#! {python}\n", [python]),
                (f"#!{python} -I -S\n", [python, "-I", "-S"]),
                (f"#!/usr/bin/env {python}\n", [python]),
                (f"#!/usr/bin/env -S {python} -I\n", [python, "-I"]),
                (f"#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n", [python]),
                ("#!/bin/bash\n", []),
                ("\x7fELF", []),
                ("", []),
            ):
                with open(script, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertEqual(meson_on_path.interpreter(script), wanted, text)

    def test_a_failed_benchmark_outweighs_an_undecided_one(self) -> None:
        """The collector is replaced by a program that exits with the status in the older file."""
        with tempfile.TemporaryDirectory() as folder:
            collector = Path(folder) / "collector"
            collector.write_text('#!/bin/sh\nexit "$(cat "$2")"\n', encoding="utf-8")
            collector.chmod(0o755)
            for statuses, wanted in (([4, 3], 3), ([3, 0], 3), ([0, 4], 4), ([3, 1], 1), ([0], 0)):
                pairs = []
                for number, status in enumerate(statuses):
                    before = Path(folder) / f"{number}.before"
                    before.write_text(str(status), encoding="utf-8")
                    pairs.append(benchmark_report.Pair(str(number), str(before), f"{before}.now"))
                self.assertEqual(
                    benchmark_report.compare(
                        str(collector), pairs, gate=(), has_stacks=False, folder=folder, notes=()
                    ),
                    wanted,
                    statuses,
                )

    def test_version_is_the_collectors(self) -> None:
        done = subprocess.run(
            [command_line(), "--version"], stdout=subprocess.PIPE, text=True, check=True
        )
        self.assertEqual(done.stdout.split()[-1], expected_version())

    def test_small_files(self) -> None:
        for path in MODULE.rglob("*.py"):
            lines = path.read_text(encoding="utf-8").splitlines()
            self.assertLess(len(lines), 300, path)
            self.assertTrue(lines[0].startswith("# SPDX-License-Identifier: MIT"), path)


if __name__ == "__main__":
    run_unittests()
