"""Clang's source-based coverage by test, and of a build directory, compared with llvm-cov."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.clang_coverage import da_lines, llvm_cov_lines
from support.programs import command_line
from support.skips import need_tools, run_unittests

MAIN = """\
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
int plug(int);
static int square(int x) {
  return x > 2 ? x * x : x;
}
int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 1; i < argc; ++i)
    sum += square(atoi(argv[i]));
  if (argc == 1)
    abort();
  if (argc == 3 && fork() == 0)
    exit(plug(sum) == 0);
  while (wait(0) > 0)
    ;
  return plug(sum) == 0;
}
"""
PLUG = "int plug(int x) {\n  if (x > 100)\n    return 2;\n  return 1;\n}\n"
FLAGS = ["-fprofile-instr-generate", "-fcoverage-mapping", "-g0"]
RUNS: list[tuple[str, list[str]]] = [
    ("one", ["1"]),
    ("two", ["2", "3"]),
    ("two", ["30", "3"]),
    ("killed", []),
]


class SourceCoverageTest(unittest.TestCase):
    """`main` runs four times, in three tests, of which one leaves no profile."""

    folder: Path
    tree: Path  # of the tests' profiles
    objects: list[str]

    @classmethod
    def setUpClass(cls) -> None:
        need_tools("clang")
        cls.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="source-")))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name, text in (("main.c", MAIN), ("plug.c", PLUG), ("idle.c", "int main(void) {}\n")):
            (cls.folder / name).write_text(text, encoding="utf-8")
        (cls.folder / "build").mkdir()
        commands: tuple[list[str], ...] = (
            ["-shared", "-fPIC", "plug.c", "-o", "build/libplug.so"],
            ["main.c", "build/libplug.so", "-o", "build/main"],
            ["idle.c", "-o", "build/idle"],
        )
        for words in commands:
            subprocess.run(["clang", *FLAGS, *words], cwd=cls.folder, check=True, timeout=60)
        cls.objects = [str(cls.folder / "build" / name) for name in ("main", "libplug.so")]
        cls.tree = cls.folder / "tree"
        for number, (_, arguments) in enumerate(RUNS, 1):
            done = subprocess.run(
                ("build/main", *arguments),
                cwd=cls.folder,
                timeout=60,
                env={**os.environ, "LLVM_PROFILE_FILE": f"{cls.tree}/{number}/%p-%m.profraw"},
            )
            assert done.returncode == (0 if arguments else -6), done
        tests = [{"n": number, "name": name} for number, (name, _) in enumerate(RUNS, 1)]
        (cls.tree / "tests.json").write_text(json.dumps(tests), encoding="utf-8")

    def tally(self, *words: str, status: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [command_line(), "coverage", *words],
            cwd=self.folder,
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def by_test(self, *words: str) -> dict[str, dict[tuple[str, int], int]]:
        """Returns the counts of lines of each test, by file and line."""
        objects = [f"--object={path}" for path in self.objects]
        done = self.tally("--per-test", "tree", *objects, "--report", "lcov:-", *words)
        out: dict[str, dict[tuple[str, int], int]] = {}
        for record in done.stdout.split("TN:")[1:]:
            test, _, text = record.partition("\n")
            out.setdefault(test, {}).update(da_lines(text))
        return out

    def profiles(self, name: str) -> list[Path]:
        return [
            path
            for number, (test, _) in enumerate(RUNS, 1)
            if test == name
            for path in (self.tree / str(number)).glob("*.profraw")
        ]

    def test_each_test_is_as_if_it_ran_alone(self) -> None:
        wanted = {
            name: llvm_cov_lines(self, self.profiles(name), self.objects) for name in ("one", "two")
        }
        counted = self.by_test()
        self.assertEqual(set(counted), {"one", "two", "killed"})
        for name, lines in wanted.items():
            self.assertEqual(counted[name], lines, name)
        self.assertEqual(counted["killed"], {})
        self.assertGreater(counted["two"][f"{self.folder}/main.c", 14], 0)

    def test_the_sum(self) -> None:
        """The whole is what one profile of all has. Packed and unpacked profiles are equal; a
        profile that belongs to no test counts, too."""
        objects = [f"--object={path}" for path in self.objects]
        profiles = self.profiles("one") + self.profiles("two")
        whole = self.tally(*map(str, profiles), *objects, "--report", "gcovr:-").stdout
        per_test = ["--per-test", "tree", *objects]
        self.assertEqual(self.tally(*per_test, "--report", "gcovr:-").stdout, whole)
        table = self.tally(*per_test).stdout
        reached = sum(count > 0 for count in self.by_test()["one"].values())
        self.assertGreater(reached, 10)
        self.assertRegex(table, rf"(?m)^one +{reached} +0$")
        self.assertRegex(table, r"(?m)^killed +no data$")
        packed = self.folder / "packed"
        shutil.copytree(self.tree, packed)
        self.addCleanup(shutil.rmtree, packed)
        for number in (1, 2, 4):
            self.tally("--harvest", str(packed / str(number)))
            self.assertFalse((packed / str(number)).exists() and number != 4)
        self.assertEqual(self.tally("packed", "--per-test", "packed", *objects).stdout, table)
        shutil.copy(profiles[0], self.folder / "more.profraw")
        self.addCleanup((self.folder / "more.profraw").unlink)
        more = self.tally("more.profraw", *per_test).stdout
        self.assertRegex(more, r"(?m)^\(no test\) +[1-9]\d* +0$")

    def test_a_damaged_profile(self) -> None:
        """It is left out, and one line says so."""
        path = self.tree / "4" / "bad.profraw"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(self.profiles("one")[0].read_bytes()[:150])
        self.addCleanup(path.unlink)
        objects = [f"--object={path}" for path in self.objects]
        done = self.tally("--per-test", "tree", *objects)
        self.assertRegex(done.stderr, r"\A/bad.profraw of killed:.*: the profile is left out\n\Z")
        self.tally("--per-test", "tree", *objects, "--strict", status=1)

    def test_a_profile_without_a_program(self) -> None:
        """It does not prevent that other counters count."""
        build = self.folder / "gcov"
        build.mkdir()
        self.addCleanup(shutil.rmtree, build)
        for words in (["clang", "--coverage", "../idle.c", "-o", "idle"], ["./idle"]):
            subprocess.run(words, cwd=build, check=True, timeout=60)
        shutil.copy(self.profiles("one")[0], build)
        done = self.tally("gcov")
        self.assertIn("idle.c", done.stdout)
        self.assertIn("no program or library with a mapping of coverage belongs to", done.stderr)
        self.tally("gcov", "--strict", status=4)

    def test_programs_of_a_build(self) -> None:
        """Those that Meson names count, also one that did not run; copies do not."""
        build = self.folder / "build"
        info = build / "meson-info"
        info.mkdir()
        self.addCleanup(shutil.rmtree, info)
        (build / "compile_commands.json").write_text("[]", encoding="utf-8")
        targets = [
            {"type": "executable", "filename": [f"{build}/main"]},
            {"type": "shared library", "filename": [f"{build}/libplug.so"]},
            {"type": "executable", "filename": [f"{build}/idle", f"{build}/not-built"]},
            {"type": "custom", "filename": [f"{build}/compile_commands.json"]},
        ]
        path = info / "intro-targets.json"
        path.write_text(json.dumps(targets), encoding="utf-8")
        profiles = [str(each) for each in self.profiles("one")]
        words = ["--build", "build", *profiles]
        table = self.tally(*words).stdout
        for name in ("idle.c", "main.c", "plug.c"):
            self.assertIn(name, table)
        self.assertNotIn("idle.c", self.tally(*words, "--exclude-objects", "^idle$").stdout)
        path.write_text('[{"type": 1}]', encoding="utf-8")
        done = self.tally(*words, status=1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("intro-targets.json: expected the type", done.stderr)
        # The build counts in another way now: profiles that lie around are not its own.
        (build / "lost.profraw").write_bytes(Path(profiles[0]).read_bytes())
        self.addCleanup((build / "lost.profraw").unlink)
        path.write_text(json.dumps(targets), encoding="utf-8")
        self.assertIn("main.c", self.tally("--build", "build").stdout)
        commands = [{"directory": str(build), "file": "a.c", "command": "cc --coverage -o a.o"}]
        (build / "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
        done = self.tally("--build", "build", status=4)
        self.assertIn("there are no counters", done.stderr)
        # Without Meson's data they are found by their build ids.
        path.unlink()
        table = self.tally(*words).stdout
        self.assertIn("plug.c", table)
        self.assertNotIn("idle.c", table)


if __name__ == "__main__":
    run_unittests()
