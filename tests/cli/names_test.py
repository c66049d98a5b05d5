"""Tests that code has names: code that a program makes while it runs, and that of stripped files."""
from __future__ import annotations

import glob
import os
import subprocess
import sys
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase
from support.programs import program
from support.skips import need_perf, need_tools, run_unittests

LIBRARY = """\
#include <time.h>
#define FUNCTION __attribute__((noinline))
FUNCTION void exported(volatile long *p) { for (int i = 0; i < 1000; i++) *p -= i; }
FUNCTION static void hidden(volatile long *p) { for (int i = 0; i < 1000; i++) *p += i; }
void work(void) {
  volatile long p = 0;
  struct timespec t;
  do {
    for (int i = 0; i < 100; i++) {
      hidden(&p);
      exported(&p);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  } while (t.tv_nsec < 200000000);
}
"""


class NamesCase(ProfileCase):
    def setUp(self) -> None:
        need_perf()
        super().setUp()

    def functions(self, *command: str) -> dict[str, dict[str, Any]]:
        path = self.path("out.pb.gz")
        self.tally("record", "-o", path, "--", *command)
        return {row["name"]: row for row in self.report(path)["functions"]}


class JitTest(NamesCase):
    def test_perf_map(self) -> None:
        rows = self.functions(program("perf_map"), "0.3")
        for path in glob.glob("/tmp/perf-*.map"):
            with open(path, "rb") as file:
                if file.read().endswith(b" 10 incom"):
                    os.unlink(path)
        self.assertEqual(rows["made now"]["object"], "[jit]")
        self.assertGreater(rows["made now"]["self"][0], 150)
        self.assertNotIn("replaced", rows)

    def test_code_that_replaces_other_code(self) -> None:
        """The two functions have the same address, each for half of the time."""
        rows = self.functions(program("perf_map"), "--dump", self.path(""), "0.4")
        for name in ("made_first", "made_later"):
            self.assertAlmostEqual(rows[name]["self"][0], 200, delta=40)
            self.assertEqual((rows[name]["object"], rows[name]["file"]), ("[jit]", "made.js"))


class StrippedTest(NamesCase):
    def run_tool(self, *words: str) -> str:
        done = subprocess.run(
            words, cwd=self.folder, check=True, timeout=60, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def test_symbols(self) -> None:
        need_tools("gcc", "objcopy", "strip", "nm", "xz")
        for name, text in (
            ("lib.c", LIBRARY),
            ("main.c", "void work(void);\nint main() { work(); }\n"),
        ):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        library = ["-O1", "-fno-inline", "-fno-toplevel-reorder", "-shared", "-fPIC", "lib.c"]
        self.run_tool("gcc", *library, "-o", "libx.so", "-Wl,--build-id")
        self.run_tool("gcc", "main.c", "-L.", "-lx", "-Wl,-rpath," + self.folder, "-o", "main")
        symbols = {
            words[0]: (words[1], int(words[2], 16))
            for words in map(str.split, self.run_tool("nm", "-P", "libx.so").splitlines())
            if len(words) > 2
        }
        self.run_tool("objcopy", "--only-keep-debug", "libx.so", "x.debug")
        self.run_tool("strip", "libx.so")

        rows = self.functions(self.path("main"))
        offset = symbols["hidden"][1] - symbols["exported"][1]
        self.assertGreater(rows["exported"]["self"][0], 20)
        self.assertGreater(rows[f"exported+{offset:#x}"]["self"][0], 20)

        # As Fedora's find-debuginfo does it: the symbols that .dynsym lacks.
        with open(self.path("keep"), "w", encoding="utf-8") as file:
            file.writelines(name + "\n" for name, (kind, _) in symbols.items() if kind == "t")
        self.run_tool("objcopy", "-S", "--keep-symbols=keep", "x.debug", "mini")
        self.run_tool("xz", "mini")
        self.run_tool("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "libx.so")
        rows = self.functions(self.path("main"))
        if "hidden" not in rows and f"exported+{offset:#x}" in rows:
            self.skipTest("Tally was built without liblzma")
        self.assertGreater(rows["exported"]["self"][0], 20)
        self.assertGreater(rows["hidden"]["self"][0], 20)


if __name__ == "__main__":
    run_unittests()
