"""Tests what alone.py compiles and reports, with scripts in place of the compilers."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.compile_database import with_includers
from support.skips import need_tools, run_unittests

ROOT = Path(__file__).resolve().parents[2]
GOOD = ROOT / "lib/src/support/strings.cpp"
BAD = ROOT / "lib/src/support/result.cpp"
C = ROOT / "lib/src/mon/gmon.c"

# Refuses one file, and any command without the flags of the compilation database.
COMPILER = f"""#!{sys.executable}
import sys
if sys.argv[0].endswith("++") != sys.argv[-1].endswith(".cpp"):
    sys.exit(3)
if sys.argv[-1] == {str(BAD)!r} or "-DX=1" not in sys.argv or "-fsyntax-only" not in sys.argv:
    sys.exit(sys.argv[-1] + ":3:1: error: unknown type name 'size_t'")
"""


class AloneTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "bin").mkdir()
        for name in ("clang", "clang++"):
            compiler = self.folder / "bin" / name
            compiler.write_text(COMPILER)
            compiler.chmod(0o755)

    def alone(self, *arguments: object, path: str | None = None) -> tuple[int, str, str]:
        """Runs alone.py for a unity build of both C++ files, and a C file. Returns its status,
        output and errors."""
        unity = self.folder / "a-unity0.cpp"
        unity.write_text(f"#include<{GOOD}>\n#include<{BAD}>\n")
        rows = [
            {"directory": str(self.folder), "command": "cc -DX=1 -c", "file": str(file)}
            for file in (unity, C)
        ]
        (self.folder / "compile_commands.json").write_text(json.dumps(rows))
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "alone.py")
        done = subprocess.run(
            [sys.executable, script, "--build", self.folder, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={
                **os.environ,
                "PATH": path or f"{self.folder}/bin{os.pathsep}{os.environ['PATH']}",
            },
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def test_each_file_of_a_unity_build_is_compiled(self) -> None:
        status, output, errors = self.alone()
        self.assertEqual((status, errors), (1, ""))
        self.assertEqual(
            output,
            f"{BAD}:3:1: error: unknown type name 'size_t'\n"
            "alone.py: 1 of 3 files do not compile alone\n",
        )

    def test_named_files(self) -> None:
        status, output, _ = self.alone(GOOD)
        self.assertEqual((status, output), (0, "alone.py: 0 of 1 files do not compile alone\n"))

    def test_c(self) -> None:
        status, output, _ = self.alone(C)
        self.assertEqual((status, output), (0, "alone.py: 0 of 1 files do not compile alone\n"))

    def test_a_compiler_without_a_message(self) -> None:
        for name in ("clang", "clang++"):
            (self.folder / "bin" / name).write_text("#!/bin/sh\nexit 4\n")
        status, output, _ = self.alone(GOOD)
        self.assertEqual(status, 1)
        self.assertEqual(output.splitlines()[0], f"{GOOD}: clang++: status 4")

    def test_changed_headers_with_what_includes_them(self) -> None:
        all_of_them = with_includers([ROOT / "lib/src/support/clock.h"])
        self.assertIn(ROOT / "lib/src/collect/interrupt_clock.cpp", all_of_them)
        # Through another header, and by a name that is relative to the including file.
        through = with_includers([ROOT / "lib/src/collect/interrupt.h"])
        self.assertIn(ROOT / "lib/src/session/sampling.cpp", through)
        self.assertEqual(with_includers([GOOD]), [GOOD])

    def test_a_missing_compiler(self) -> None:
        status, output, errors = self.alone(GOOD, path=str(self.folder))
        self.assertEqual((status, output), (2, ""))
        self.assertRegex(errors, r"\Aalone\.py: cannot run clang\+\+: No such file or directory\n")

    def test_refusals(self) -> None:
        need_tools("git")
        status, output, errors = self.alone("--since", "no-such-revision")
        self.assertEqual((status, output), (2, ""))
        last = errors.splitlines()[-1]  # Git may say something before it
        self.assertEqual(last, "alone.py: git does not know the revision 'no-such-revision'")


if __name__ == "__main__":
    run_unittests()
