"""Tests --coverage=source: the arguments that it adds, and runs of real Mesons with Clang."""
from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.clang_coverage import clang_version, da_lines, llvm_cov_lines
from support.meson_builds import MixIn, for_each_meson, rows, write_project
from support.skips import missing_tool, need_tools, run_unittests

from tally_meson import arguments, source_based, words
from tally_meson.refusal import Refusal

INSTRUMENTED = ["-fprofile-instr-generate", "-fcoverage-mapping"]


class Arguments(unittest.TestCase):
    def test_the_flag_does_not_take_the_name_of_a_test(self) -> None:
        parser = argparse.ArgumentParser()
        arguments.add_arguments(parser)
        parser.add_argument("tests", nargs="*")
        for typed, source in (("--coverage one", False), ("--coverage=source one", True)):
            options = parser.parse_args(typed.split())
            flags = arguments.Flags.of(options)
            self.assertEqual((flags.coverage, flags.source), (True, source), typed)
            self.assertEqual(options.tests, ["one"], typed)
            split = words.split(typed.split())
            assert split is not None
            self.assertEqual((split.coverage, split.meson), (typed.split()[:1], ["one"]))
        with self.assertRaisesRegex(Refusal, "^--coverage: expected source, found 'sauce'$"):
            arguments.parser_of("test").parse_args(["--coverage=sauce"])

    def test_versions(self) -> None:
        for said, version in (
            ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n", 14),
            ("Ubuntu clang version 18.1.3 (1ubuntu1)", 18),
            ("clang version 23.0.0git (https://github.com/llvm/llvm-project)", 23),
            ("Apple clang version 15.0.0 (clang-1500.3.9.4)", 0),
            ("gcc (Debian 12.2.0-14) 12.2.0", None),
            ("", None),
        ):
            self.assertEqual(source_based.clang_version(said), version, said)
        self.assertEqual(source_based.rust_llvm_version("rustc 1.63.0\nLLVM version: 14.0.6\n"), 14)

    def test_arguments_by_version(self) -> None:
        for version, given, wanted in (
            (14, "", INSTRUMENTED),
            (17, "", INSTRUMENTED),
            (18, "", [*INSTRUMENTED, "-fcoverage-mcdc"]),
            (0, "", INSTRUMENTED),
            # The two exclude each other.
            (19, "-mllvm -runtime-counter-relocation", INSTRUMENTED),
        ):
            self.assertEqual(list(source_based.compile_arguments(version, given.split())), wanted)

    def test_what_is_added_is_taken_away(self) -> None:
        """The user's own arguments survive, in their order."""
        more = (*INSTRUMENTED, "-fcoverage-mcdc")
        owns: tuple[list[str], ...] = (
            [],
            ["-O1", '-DX="a, b"', "-mllvm", "-runtime-counter-relocation"],
            "-mllvm -x -DY -fprofile-update=atomic".split(),
        )
        for own in owns:
            added = source_based.added(own, more)
            self.assertEqual(added, [*own, *more])
            self.assertEqual(source_based.added(added, more), added)
            self.assertEqual(source_based.removed(added), own)
        self.assertEqual(source_based.removed(["-fprofile-instr-generate=a.profraw"]), [])

    def test_instrumented(self) -> None:
        for given, wanted in (
            ("-O1 -fprofile-instr-generate -DX", True),
            ("-fprofile-instr-generate=x.profraw", True),
            ("-Cinstrument-coverage", True),
            ("-C instrument-coverage", True),
            ("--coverage -fprofile-instr-use=x", False),
        ):
            self.assertEqual(source_based.is_instrumented(given.split()), wanted, given)


class Options(unittest.TestCase):
    """What the introspection of a build directory says."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="meson-")
        self.addCleanup(folder.cleanup)
        self.options: list[dict] = []
        self.sources: list[dict] = []
        self.said = {"clang": "clang version 14.0.6", "clang-19": "clang version 19.1.7"}
        said = mock.patch.object(
            source_based, "_said", lambda command, *_: self.said.get(command[0], "gcc 12")
        )
        said.start()
        self.addCleanup(said.stop)
        files = {
            "intro-buildoptions.json": self.options,
            "intro-targets.json": [
                {
                    "name": "x",
                    "id": "x",
                    "type": "executable",
                    "filename": [],
                    "target_sources": self.sources,
                }
            ],
        }
        self.build = types.SimpleNamespace(
            path=folder.name, introspection=lambda name: json.loads(json.dumps(files[name]))
        )

    def has(self, language: str, compiler: str, *given: str, machine: str = "host") -> None:
        for name in (f"{language}_args", f"{language}_link_args"):
            value = list(given) if name.endswith(f"{language}_args") else []
            self.options.append({"name": name, "value": value})
        self.sources.append(
            {
                "language": language,
                "machine": machine,
                "compiler": [compiler],
                "parameters": list(given),
            }
        )

    def missing(self) -> dict[str, list[str]]:
        return source_based.missing(self.build)  # type: ignore[arg-type]

    def test_each_language(self) -> None:
        self.has("c", "clang", "-DX")
        self.has("cpp", "clang-19")
        self.assertEqual(
            self.missing(),
            {
                "c_args": ["-DX", *INSTRUMENTED],
                "c_link_args": INSTRUMENTED[:1],
                "cpp_args": [*INSTRUMENTED, "-fcoverage-mcdc"],
                "cpp_link_args": INSTRUMENTED[:1],
            },
        )
        self.assertFalse(source_based.is_on(self.build))  # type: ignore[arg-type]

    def test_other_compilers(self) -> None:
        self.has("c", "gcc")
        with self.assertRaisesRegex(
            Refusal,
            "^source-based coverage needs Clang, but the C compiler is gcc: set up a build "
            "directory with CC=clang$",
        ):
            self.missing()
        self.has("cpp", "g++")
        with self.assertRaisesRegex(Refusal, "g[+][+]: .* CC=clang CXX=clang[+][+]$"):
            self.missing()

    def test_no_language(self) -> None:
        self.has("fortran", "gfortran")
        with self.assertRaisesRegex(Refusal, "no target of this build is C, "):
            self.missing()

    def test_a_project_that_instruments_itself(self) -> None:
        """By arguments that are not in the options."""
        self.has("c", "clang", *INSTRUMENTED)
        self.options[0]["value"] = []
        self.assertEqual(self.missing(), {})
        self.assertTrue(source_based.is_on(self.build))  # type: ignore[arg-type]
        # After the options have changed, only these tell the truth.
        for name in ("build.ninja", "meson-private/coredata.dat"):
            path = Path(self.build.path, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text("", encoding="utf-8")
            os.utime(path, (1, 1 if name == "build.ninja" else 2))
        self.assertFalse(source_based.is_on(self.build))  # type: ignore[arg-type]
        self.assertEqual(self.missing()["c_args"], INSTRUMENTED)

    def test_rust(self) -> None:
        """Its profiles must be those of the same LLVM."""
        self.has("rust", "rustc")
        self.said["rustc"] = "rustc 1.63.0\nLLVM version: 14.0.6"
        self.assertEqual(self.missing(), {"rust_args": ["-Cinstrument-coverage"]})
        self.has("c", "clang")
        self.assertIn("rust_args", self.missing())
        self.said["rustc"] = "rustc 1.95.0\nLLVM version: 22.1.2"
        with mock.patch.object(source_based, "say") as say:
            self.assertNotIn("rust_args", self.missing())
        say.assert_called_once()


PROJECT = {
    "meson.build": """\
project('demo', 'c', 'cpp', default_options: ['cpp_std=c++17'])
shapes = static_library('shapes', 'src/shapes.cpp')
plug = shared_library('plug', 'src/plug.c')
prog = executable('prog', 'src/main.cpp', link_with: [shapes, plug])
# Two programs with functions of the same names and shapes.
generator = executable('generator', 'src/generator.c', native: true)
made = custom_target('made', output: 'made.c', command: [generator, '@OUTPUT@'])
test('made', executable('small', made), suite: 'good')
test('other', executable('other', 'src/other.c'), suite: 'good')
foreach name : ['area', 'forks', 'largest']
  test(name, prog, args: name, suite: 'good')
endforeach
test('aborts', prog, args: 'aborts', suite: 'bad')
test('own', prog, args: 'largest', env: ['LLVM_PROFILE_FILE=own.profraw'], suite: 'own')
""",
    "src/shapes.hpp": """\
#pragma once
#include <cstddef>
template <class T> T largest(const T *values, std::size_t count) {
  T out = values[0];
  for (std::size_t i = 1; i < count; ++i)
    if (values[i] > out && values[i] < T(100))
      out = values[i];
  return out;
}
double area(double width, double height);
""",
    "src/shapes.cpp": """\
#include "shapes.hpp"
double area(double width, double height) {
  if (width < 0 || height < 0)
    return 0;
  return width * height;
}
int unused(int x) {
  return x + 1;
}
""",
    "src/plug.c": """\
int plug(int x) {
  if (x > 3)
    return x;
  return -x;
}
""",
    "src/main.cpp": """\
#include "shapes.hpp"
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
extern "C" int plug(int);
static int forks() {
  for (int i = 0; i < 3; ++i)
    if (fork() == 0)
      std::exit(plug(i + 2) == 0);
  while (wait(nullptr) > 0)
    ;
  return 0;
}
int main(int, char **argv) {
  const char *what = argv[1];
  if (std::strcmp(what, "area") == 0)
    return area(2, 3) != 6;
  if (std::strcmp(what, "largest") == 0) {
    const int a[] = {1, 3, 2};
    const double b[] = {1, 3, 2};
    return largest(a, 3) != 3 || largest(b, 3) != 3;
  }
  if (std::strcmp(what, "aborts") == 0) {
    plug(1);
    std::abort();
  }
  return forks();
}
""",
    "src/other.c": "int zero(int x) {\n  return x;\n}\nint main(void) {\n  return zero(0);\n}\n",
    "src/generator.c": """\
#include <stdio.h>
int main(int argc, char **argv) {
  FILE *out = fopen(argv[argc - 1], "w");
  fputs("int zero(int x) {\\n  return x;\\n}\\nint main(void) {\\n  return zero(0);\\n}\\n", out);
  return fclose(out);
}
""",
}
GOOD = {
    "src/generator.c": "0/5",
    "src/main.cpp": "20/23",
    "src/other.c": "6/6",
    "src/plug.c": "5/5",
    "src/shapes.cpp": "4/8",
    "src/shapes.hpp": "7/7",
    "TOTAL": "42/54",
}
OWN = {"c_args": ['-DX="a, b"', "-O0"], "cpp_args": ["-DY"]}  # the user's arguments


class Source(MixIn):
    """A project with a shared library, a static one, templates, forks and a crash."""

    @classmethod
    def setUpClass(cls) -> None:
        need_tools("clang", "clang++")
        super().setUpClass()
        write_project(cls.project, PROJECT)
        values = [f"-D{name}={value}" for name, value in OWN.items()]
        cls.must("meson", "setup", "build", *values, CC="clang", CXX="clang++")

    def measured(self, status: int, *given: str, **more: str) -> str:
        done = self.expect(status, "tally-meson", "test", "-C", "build", *given, **more)
        self.messages = done.stderr
        return str(done.stdout)

    def option(self, name: str) -> list[str]:
        text = (self.project / "build/meson-info/intro-buildoptions.json").read_text("utf-8")
        return next(each["value"] for each in json.loads(text) if each["name"] == name)

    def test_table(self) -> None:
        """Counts are those of this run, also if old profiles are there; and those of llvm-cov."""
        for _ in range(2):
            out = self.measured(
                0, "--coverage=source", "--suite", "good", "--coverage-report", "lcov:all.info"
            )
            self.assertEqual(rows(out), GOOD)
        profiles = [*self.project.glob("build/meson-private/coverage-profiles/*.profraw")]
        self.assertEqual(len(profiles), 8)  # five programs, three with the shared library
        text = (self.project / "all.info").read_text(encoding="utf-8")
        names = ("prog", "libplug.so", "other", "generator")
        wanted = llvm_cov_lines(
            self, profiles, [str(self.project / "build" / name) for name in names]
        )
        counted = da_lines(text)
        for path in ("src/main.cpp", "src/plug.c", "src/shapes.cpp", "src/shapes.hpp"):
            of = str(self.project / path)
            self.assertEqual(
                {line: count for (name, line), count in counted.items() if name == of},
                {line: count for (name, line), count in wanted.items() if name == of},
                path,
            )
        again = self.measured(0, "--coverage", "--coverage-keep", "--suite", "good")
        self.assertEqual(rows(again), GOOD)

    def test_options(self) -> None:
        """The arguments are added once, and taken away by --coverage-off; the user's stay."""
        mcdc = ["-fcoverage-mcdc"] if clang_version() >= 18 else []
        self.measured(0, "--coverage-off", "other")
        self.measured(0, "--coverage=source", "other")
        self.assertRegex(
            self.messages,
            r"\Atally: arguments for source-based coverage are added to c_args, c_link_args, "
            r"cpp_args, cpp_link_args, and everything is compiled again; [^\n]*\n\Z",
        )
        for name, own in OWN.items():
            self.assertEqual(self.option(name), [*own, *INSTRUMENTED, *mcdc])
        self.assertEqual(self.option("c_link_args"), INSTRUMENTED[:1])
        self.assertFalse(self.option("b_coverage"))
        self.measured(0, "--coverage=source", "other")
        self.assertEqual(self.messages, "")
        self.measured(0, "--coverage-off", "other")
        self.assertRegex(self.messages, r"\Atally: the arguments for source-based coverage are ")
        for name, own in OWN.items():
            self.assertEqual(self.option(name), own)
        self.assertEqual(self.option("c_link_args"), [])
        self.refused(
            2,
            r"the build has no source-based coverage, and --no-rebuild is given: type \S*meson "
            r".*'-Dcpp_args=-DY -fprofile-instr-generate .*",
            *("tally-meson", "test", "-C", "build", "--coverage=source", "--no-rebuild"),
        )

    def test_both_ways_to_count(self) -> None:
        """Neither counts what the other has left; where a build has both, profiles count."""
        good = ["--suite", "good"]
        self.measured(0, "--coverage=source", *good)
        self.measured(0, "--coverage-off", *good)
        gcov = rows(self.measured(0, "--coverage", *good))
        self.assertRegex(
            self.messages,
            r"\Atally: the option b_coverage is off: [^\n]*\ntally: 1 of 6 objects never ran\n\Z",
        )
        self.assertEqual(set(gcov), set(GOOD))
        self.assertNotEqual(gcov, GOOD)
        self.assertEqual(rows(self.measured(0, "--coverage=source", *good)), GOOD)
        self.assertEqual(rows(self.measured(0, "--coverage", *good)), GOOD)
        self.assertTrue(self.option("b_coverage"))
        self.measured(0, "--coverage-off", *good)
        self.assertRegex(self.messages, "b_coverage is switched off and the arguments for source-")
        self.assertFalse(self.option("b_coverage"))

    def test_each_test_by_itself(self) -> None:
        out = self.measured(
            0, "--coverage=source", "--coverage-per-test", "--coverage-no-native", "--suite", "good"
        )
        self.assertEqual(
            rows(out),
            {name: n for name, n in GOOD.items() if "generator" not in name} | {"TOTAL": "42/49"},
        )
        for test, counts in (("area", "8 +5"), ("forks", "20 +16"), ("largest", "15 +11")):
            self.assertRegex(out, rf"(?m)^\S*{test} +{counts}$")
        self.assertRegex(out, r"(?m)^\S*made +0 +0$")
        self.assertRegex(out, r"(?m)^\S*other +6 +6$")

    def test_tests_without_data(self) -> None:
        """One aborts, and one has a profile of its own."""
        out = self.run_in(
            *("tally-meson", "test", "-C", "build", "--coverage=source", "other", "aborts", "own")
        )
        self.assertNotIn(out.returncode, (0, 4))
        messages = sorted(line for line in out.stderr.splitlines() if "no data" in line)
        self.assertEqual(len(messages), 2, out.stderr)
        self.assertRegex(messages[0], "aborts: no data: it was killed by signal 6$")
        self.assertRegex(messages[1], "own: no data: it sets LLVM_PROFILE_FILE itself$")
        self.assertTrue((self.project / "build" / "own.profraw").exists())
        self.assertEqual(rows(out.stdout)["src/main.cpp"], "0/23")
        each = self.run_in(
            *("tally-meson", "test", "-C", "build", "--coverage", "--coverage-per-test"),
            *("other", "aborts", "own"),
        )
        self.assertRegex(each.stdout, r"(?m)aborts +no data$")
        self.assertRegex(each.stdout, r"(?m)own +no data$")

    def test_counters_that_survive_a_crash(self) -> None:
        """An argument of the project makes them a file that is mapped into memory."""
        path = self.project / "meson.build"
        project, _, targets = PROJECT["meson.build"].partition("\n")
        path.write_text(
            f"{project}\nforeach native : [false, true]\n"
            "  add_project_arguments('-mllvm', '-runtime-counter-relocation', native: native,\n"
            f"    language: ['c', 'cpp'])\nendforeach\n{targets}",
            encoding="utf-8",
        )
        self.addCleanup(path.write_text, PROJECT["meson.build"], encoding="utf-8")
        self.must("meson", "setup", "crash", CC="clang", CXX="clang++")
        for more in ("aborts", "--coverage-per-test"):
            done = self.run_in(
                *("tally-meson", "test", "-C", "crash", "--coverage=source", "aborts", more)
            )
            self.assertNotIn(done.returncode, (0, 4))
            self.assertNotIn("no data", done.stdout + done.stderr)
            self.assertEqual(rows(done.stdout)["src/plug.c"], "4/5")
        # Clang 18 and 19 cannot combine it with MC/DC.
        info = self.project / "crash" / "meson-info" / "intro-buildoptions.json"
        self.assertNotIn("-fcoverage-mcdc", info.read_text(encoding="utf-8"))

    def test_the_hook(self) -> None:
        """Both front ends print the same."""
        self.must("tally-meson", "enable")
        self.addCleanup(self.must, "tally-meson", "disable")
        each = ["--coverage-per-test", "--suite", "good"]
        self.measured(0, "--coverage=source", "other")
        plain = self.measured(0, "--coverage", "--suite", "good").split("Full log")[1]
        by_test = self.measured(0, "--coverage", *each).split("Full log")[1]
        hooked = ["meson", "test", "-C", "build"]
        for flag in ("--coverage=source", "--coverage"):
            done = self.expect(0, *hooked, flag, "--suite", "good")
            self.assertEqual(rows(done.stdout), rows(plain))
            done = self.expect(0, *hooked, flag, *each)
            self.assertEqual(
                re.findall(r"^(\S+ +\d+ +\d+)$", done.stdout, re.MULTILINE),
                re.findall(r"^(\S+ +\d+ +\d+)$", by_test, re.MULTILINE),
            )
        # A test that names a profile of its own writes it.
        profile = self.project / "build" / "own.profraw"
        profile.unlink(missing_ok=True)
        done = self.expect(0, *hooked, "--coverage", "--coverage-per-test", "own", "other")
        self.assertRegex(done.stdout, r"(?m)own +no data$")
        self.assertTrue(profile.exists())
        done = self.expect(0, *hooked, "--coverage-off", "other")
        self.assertIn("are taken out of c_args", done.stderr)
        self.assertEqual(self.option("c_args"), OWN["c_args"])

    def test_gcc(self) -> None:
        if missing_tool("gcc"):
            self.skipTest("not installed: gcc")
        self.must("meson", "setup", "gcc", CC="gcc", CXX="g++")
        done = self.expect(2, "tally-meson", "test", "-C", "gcc", "--coverage=source")
        self.assertRegex(
            done.stderr, r"\Atally: source-based coverage needs Clang, but [^\n]* CXX=clang\+\+\n\Z"
        )
        self.assertEqual(done.stdout, "")


globals().update(for_each_meson(Source))

if __name__ == "__main__":
    run_unittests()
