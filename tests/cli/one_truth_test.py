"""Tests that a branch and a function of the source are one, whatever compiled it how often."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import run_tally
from support.skips import need_tools, run_unittests

COMPILERS = {
    "gcc": ("g++", "--coverage"),
    "clang": ("clang++", "--coverage"),
    "source-based": ("clang++", "-fprofile-instr-generate", "-fcoverage-mapping"),
}
SIGN = """template <class N> int sign(N n)
{
  if (n < 0)
    return -1;
  return 1;
}
"""
# By name: the files, the lines with branches with the number of their branches and of those taken,
# and the number of functions, of which the instances of a template are one.
SOURCES: dict[str, tuple[dict[str, str], dict[str, tuple[int, int]], int]] = {
    "instances in one object": (
        {"a.cpp": SIGN + "int main() { return sign<long>(-4) + sign<int>(4); }\n"},
        {"a.cpp:3": (2, 2)},
        2,
    ),
    "instances in two objects": (
        {
            "sign.h": SIGN,
            "a.cpp": '#include "sign.h"\nint other();\n'
            "int main() { return sign<long>(-4) + other(); }\n",
            "b.cpp": '#include "sign.h"\nint other() { return sign<int>(1); }\n',
        },
        {"sign.h:3": (2, 2)},
        3,
    ),
    "instances with lambda functions": (
        {
            "a.cpp": "template <class F> int call(F f)\n{\n  return f();\n}\n"
            "int main()\n{\n  call([] {\n    return 1;\n  });\n"
            "  return call([] {\n    return 2;\n  });\n}\n"
        },
        {},
        4,
    ),
    "a function of a header that units compile differently": (
        {
            "pick.h": "static inline int pick(int n)\n{\n  if (n > 3)\n    return 1;\n#ifdef WIDE\n"
            "  if (n > 100)\n    return 2;\n#endif\n  return 0;\n}\n",
            "a.c": '#define WIDE\n#include "pick.h"\nint a(int n) { return pick(n); }\n',
            "b.c": '#include "pick.h"\nint a(int);\nint main() { return a(5) + a(1) + pick(7); }\n',
        },
        {"pick.h:3": (2, 2), "pick.h:6": (2, 1)},
        3,
    ),
    "two functions in one line": (
        {
            "a.cpp": "int f(int n) { if (n) return 7; return 5; } "
            "int g(int n) { if (n) return 9; return 2; }\n"
            "int main() { return f(0) + g(1); }\n"
        },
        {"a.cpp:1": (4, 2)},
        3,
    ),
    "a file that is included in a function": (
        {
            "part.h": "/* two lines, both ended */\nhelper();\n",
            "a.cpp": 'static void helper() {}\nvoid unused() {\n#include "part.h"\n}\n'
            "int main() { helper(); }\n",
        },
        {},
        3,
    ),
}


class OneTruthTest(unittest.TestCase):
    def test_each_compiler_tells_the_same(self) -> None:
        need_tools("g++", "clang++")
        for name, (files, branches, functions) in SOURCES.items():
            for compiler, command in COMPILERS.items():
                with self.subTest(name, compiler=compiler), tempfile.TemporaryDirectory() as text:
                    folder = Path(text)
                    for path, content in files.items():
                        (folder / path).write_text(content)
                    self.build_and_run(folder, command)
                    self.check(folder, branches, functions)

    def build_and_run(self, folder: Path, command: tuple[str, ...]) -> None:
        units = [path.name for path in sorted(folder.iterdir()) if path.suffix != ".h"]
        for unit in units:
            of_c = ("-xc",) if unit.endswith(".c") else ()
            subprocess.run([*command, "-O0", *of_c, "-c", unit], cwd=folder, check=True)
        objects = [Path(unit).stem + ".o" for unit in units]
        subprocess.run([*command, "-o", "a", *objects], cwd=folder, check=True)
        subprocess.run(["./a"], cwd=folder, stdout=subprocess.DEVNULL, check=False)

    def check(self, folder: Path, branches: dict[str, tuple[int, int]], functions: int) -> None:
        report = folder / "out.info"
        done = run_tally(
            "coverage", "--root", str(folder), "--report", f"lcov:{report}", str(folder)
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("warning", done.stderr)
        found: dict[str, list[int]] = {}
        path, names = "", 0
        for line in report.read_text().splitlines():
            kind, _, text = line.partition(":")
            if kind == "SF":
                path = os.path.basename(text)
            elif kind == "BRDA":
                taken = found.setdefault(f"{path}:{text.split(',')[0]}", [0, 0])
                taken[0] += 1
                taken[1] += not re.search(r",[-0]$", text)
            elif kind == "FNF":
                names += int(text)
            elif kind == "DA":
                last = len((folder / path).read_text().splitlines())
                self.assertLessEqual(int(text.split(",")[0]), last, path)
        self.assertEqual({place: tuple(taken) for place, taken in found.items()}, branches)
        self.assertEqual(names, functions, report.read_text())


if __name__ == "__main__":
    run_unittests()
