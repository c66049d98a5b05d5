"""`tally coverage`: which lines count as run, and what counts as one function."""
from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import tally_in
from support.programs import command_line
from support.skips import missing_tool, need_tools, run_unittests, skip_script

LOOP = """\
int count(int n) {
  int odd = 0, even = 0;
  for (int i = 0; i < n; i++)
    if (i % 2)
      odd++;
    else
      even++;
  return odd - even;
}
int main(void) {
  return count(9) + 1;
}
"""

FORKS = """\
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  if (fork() == 0)
    exit(0);
  wait(0);
  return 0;
}
"""

EXEC = """\
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  if (argc == 3)
    return 0;
  if (argc == 2)
    execl(argv[0], argv[0], "again", "once", (char *)0);
  else if (argc == 7)
    system("true");
  return 0;
}
"""

# Two variants of each constructor and three of each destructor, because the base is virtual.
VARIANTS = """\
#define BOTH(a, b) int a(int x) { return x > 2; } int b(int x) { return x > 2 ? 3 : 1; }
BOTH(one, two)
int three(int x) { return x > 5 ? 1 : 2; } int four(int x) { return x > 5 ? 1 : 2; }
template <class T> int instance(T x) { return x > 2 ? 1 : 2; }
struct Base { Base(); virtual ~Base(); int x; };
struct Derived : virtual Base { Derived(int); virtual ~Derived(); };
Base::Base() : x(1) {}
Base::~Base() { x = 0; }
Derived::Derived(int y) { if (y > 2) x = 2; }
Derived::~Derived() { x = 3; }
struct More : Derived { More(int y) : Derived(y) {} };
int main() {
  int s = one(1) + two(7) + three(1) + four(9) + instance(1) + instance(9L);
  Derived *d = new Derived(1);
  s += d->x;
  delete d;
  More more(5);
  return s + more.x == 0;
}
"""


class CountsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="counts-")))
        self.addCleanup(shutil.rmtree, self.folder)

    def compile_and_run(self, compiler: str, name: str, text: str, *options: str) -> Path:
        (self.folder / name).write_text(text, encoding="utf-8")
        for words in (
            [compiler, "--coverage", "-O0", *options, "-c", name, "-o", "x.o"],
            [compiler, "--coverage", "x.o", "-o", "x"],
            ["./x"],
        ):
            subprocess.run(words, cwd=self.folder, check=True, timeout=60)
        return self.folder / "x.gcda"

    def tally(self, *words: str, status: int = 0) -> subprocess.CompletedProcess:
        return tally_in(self, self.folder, *words, status=status)

    def report(self, form: str) -> str:
        self.tally("coverage", ".", "--report", f"{form}:out")
        return (self.folder / "out").read_text(encoding="utf-8")

    def make_contradict(self, data: Path) -> int:
        """Lowers one counter so that the count of some line is below 0, and returns that line."""
        whole = data.read_bytes()
        for at in range(16, len(whole) - 8, 4):
            count = struct.unpack_from("<q", whole, at)[0]
            if count not in (4, 5, 9):
                continue
            data.write_bytes(whole[:at] + struct.pack("<q", count - 50) + whole[at + 8 :])
            files = json.loads(
                subprocess.run(
                    [command_line(), "gcov", "x.gcda"],
                    cwd=self.folder,
                    capture_output=True,
                    text=True,
                    check=False,
                ).stdout
                or '{"files": []}'
            )["files"]
            for line in files[0]["lines"] if files else ():
                if line["count"] < 0:
                    return line["line_number"]
        return self.fail("no counter contradicts the others")

    def test_a_negative_count_ran(self) -> None:
        data = self.compile_and_run("gcc", "loop.c", LOOP)
        line = self.make_contradict(data)
        done = self.tally("coverage", ".", "--fail-under", "100")
        self.assertRegex(done.stdout, r"(?m)^loop\.c +100\.0% +9/9 ")
        self.assertEqual(
            re.sub(r"/\S*/", "", done.stderr).splitlines()[0],
            "warning: negative counts in 1 function, whose counts are not exact: count "
            "(loop.c:1); lines with a negative count are reported as run. Threads "
            "that count without -fprofile-update=atomic leave such counts, as do exec(), longjmp() "
            "and, with Clang, exceptions",
        )
        self.assertIn(f"DA:{line},1\n", self.report("lcov"))
        self.assertRegex(self.report("cobertura"), f'<line number="{line}" hits="1"')
        self.assertIn(f'<lineToCover lineNumber="{line}" covered="true"', self.report("sonarqube"))
        lines = json.loads(self.report("gcovr"))["files"][0]["lines"]
        self.assertEqual([each["count"] for each in lines if each["line_number"] == line], [1])
        self.assertNotIn(f"line={line}", self.report("github"))
        self.assertIn("negative counts", self.tally("coverage", ".", "--strict", status=1).stderr)

    def test_exec_writes_counters_within_a_function(self) -> None:
        self.compile_and_run("gcc", "exec.c", EXEC)
        subprocess.run(["./x", "first"], cwd=self.folder, check=False, timeout=60)
        done = self.tally("coverage", ".")
        self.assertEqual(
            re.sub(r"/\S*/", "", done.stderr),
            "warning: negative counts in 1 function, whose counts are not exact: main (exec.c:3); "
            "lines with a negative count are reported as run. exec() leaves such counts, because "
            "it writes the counters in the middle of a function\n",
        )

    def test_fork(self) -> None:
        """The child's counters start from zero, so that the call is counted once and its return
        twice. Every line's count equals gcov's."""
        self.compile_and_run("gcc", "forks.c", FORKS)
        done = self.tally("coverage", ".", "--strict", "--report", "lcov:out")
        self.assertEqual(done.stderr, "")
        text = subprocess.run(
            ["gcov", "--stdout", "x.gcda"],
            cwd=self.folder,
            check=True,
            text=True,
            capture_output=True,
        ).stdout
        by_gcov = re.findall(r"(?m)^ *(\d+):  *(\d+):", text)
        self.assertGreater(len(by_gcov), 4, text)
        self.assertEqual(
            re.findall(r"(?m)^DA:(\d+),(\d+)", (self.folder / "out").read_text("utf-8")),
            [(line, count) for count, line in by_gcov],
        )

    def test_lines_beyond_the_end(self) -> None:
        """Such lines count, and a warning names them."""
        self.compile_and_run("gcc", "loop.c", LOOP)
        (self.folder / "loop.c").write_text("".join(LOOP.splitlines(keepends=True)[:9]), "utf-8")
        self.assertRegex(
            self.tally("coverage", ".").stderr,
            r"loop\.c: warning: line 11 is counted, but the source ends with line 9: it "
            r"was changed after it was compiled, or the compiler names a wrong line\n",
        )
        self.assertEqual(self.tally("coverage", ".", "--no-markers").stderr, "")

    def test_functions_of_the_source(self) -> None:
        need_tools("g++")
        self.compile_and_run("g++", "variants.cpp", VARIANTS)
        text = self.report("lcov")
        # one() has no branches.
        self.assertIn("FNF:11\nFNH:11\n", text)
        self.assertIn("FNDA:3,_ZN7DerivedD2Ev\n", text)
        branches: dict[int, list[str]] = {}
        for line, count in re.findall(r"(?m)^BRDA:(\d+),0,\d+,(\S+)$", text):
            branches.setdefault(int(line), []).append(count)
        self.assertEqual(sorted(branches[3]), ["0", "0", "1", "1"])  # the branches of two functions
        self.assertEqual(
            (branches[2], branches[4], branches[9]), (["1", "0"], ["1", "1"], ["1", "1"])
        )

    def test_an_object_without_functions_needs_no_counters(self) -> None:
        self.compile_and_run("gcc", "main.c", "int main(void) { return 0; }\n")
        (self.folder / "data.c").write_text("int table[] = {1, 2};\n", encoding="utf-8")
        subprocess.run(
            ["gcc", "--coverage", "-c", "data.c", "-o", "data.o"],
            cwd=self.folder,
            check=True,
            timeout=60,
        )
        self.assertTrue((self.folder / "data.gcno").exists())
        self.assertEqual(self.tally("coverage", ".").stderr, "")

    def test_counters_of_no_function_of_the_notes(self) -> None:
        data = self.compile_and_run("gcc", "loop.c", LOOP)
        head = struct.pack("<II", 0x01000000, 12)
        data.write_bytes(
            re.sub(
                re.escape(head) + b"(....)",
                lambda found: head + bytes(byte ^ 0x55 for byte in found[1]),
                data.read_bytes(),
                flags=re.DOTALL,
            )
        )
        done = self.tally("gcov", "x.gcda", status=1)
        self.assertIn("the notes have none of the functions of the counters", done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["files"][0]["lines"]), 9)
        self.assertIn("1 of 1 object never ran", self.tally("coverage", ".", status=4).stderr)

    def test_older_layouts_of_clang(self) -> None:
        need_tools("clang")
        for version in ("402*", "407*", "408*", "B13*", "B22*"):
            with self.subTest(version):
                self.compile_and_run(
                    "clang", "loop.c", LOOP, "-Xclang", f"-coverage-version={version}"
                )
                if version == "402*":  # Clang until 10 writes names of functions into the counters
                    self.write_names(self.folder / "x.gcda", ("count", "main"))
                self.assertIn("DA:5,4\n", self.report("lcov"))
            (self.folder / "x.gcda").unlink()

    @staticmethod
    def write_names(data: Path, names: tuple[str, ...]) -> None:
        whole = data.read_bytes()
        for ident, name in enumerate(names):
            text = name.encode() + bytes(4 - len(name) % 4)
            at = whole.index(struct.pack("<III", 0x01000000, 2, ident))
            whole = (
                whole[: at + 4]
                + struct.pack("<I", 3 + len(text) // 4)
                + whole[at + 8 : at + 16]
                + struct.pack("<I", len(text) // 4)
                + text
                + whole[at + 16 :]
            )
        data.write_bytes(whole)


if __name__ == "__main__":
    if missing_tool("gcc"):
        skip_script("gcc is missing")
    run_unittests()
