"""Tests what alone.py compiles and reports. A program that a test writes is its compiler."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.skips import run_unittests

ROOT = Path(__file__).resolve().parents[2]
GOOD = ROOT / "lib/src/support/strings.cpp"
BAD = ROOT / "lib/src/support/result.cpp"

# Refuses one file, and any command without the flags of the compilation database.
COMPILER = f"""#!{sys.executable}
import sys
if sys.argv[-1] == {str(BAD)!r} or "-DX=1" not in sys.argv or "-fsyntax-only" not in sys.argv:
    sys.exit(sys.argv[-1] + ":3:1: error: unknown type name 'size_t'")
"""


class AloneTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        compiler = self.folder / "bin/clang++"
        compiler.parent.mkdir()
        compiler.write_text(COMPILER)
        compiler.chmod(0o755)

    def alone(self, *arguments: object) -> tuple[int, str, str]:
        """Runs alone.py for a unity build of both files. Returns its status, output and errors."""
        unity = self.folder / "a-unity0.cpp"
        unity.write_text(f"#include<{GOOD}>\n#include<{BAD}>\n")
        row = {"directory": str(self.folder), "command": "c++ -DX=1 -c", "file": str(unity)}
        (self.folder / "compile_commands.json").write_text(json.dumps([row]))
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "alone.py")
        done = subprocess.run(
            [sys.executable, script, "--build", self.folder, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "PATH": f"{self.folder}/bin{os.pathsep}{os.environ['PATH']}"},
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def test_each_file_of_a_unity_build_is_compiled(self) -> None:
        status, output, errors = self.alone()
        self.assertEqual((status, errors), (1, ""))
        self.assertEqual(
            output,
            f"{BAD}:3:1: error: unknown type name 'size_t'\n"
            "alone.py: 1 of 2 files do not compile alone\n",
        )

    def test_named_files(self) -> None:
        status, output, _ = self.alone(GOOD)
        self.assertEqual((status, output), (0, "alone.py: 0 of 1 files do not compile alone\n"))

    def test_refusals(self) -> None:
        status, output, errors = self.alone("--since", "no-such-revision")
        self.assertEqual((status, output), (2, ""))
        last = errors.splitlines()[-1]  # Git may say something before it
        self.assertEqual(last, "alone.py: git does not know the revision 'no-such-revision'")


if __name__ == "__main__":
    run_unittests()
