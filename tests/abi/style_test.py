"""The formatting of the sources, checked with the tools that developers use.

    python3 tests/abi/style_test.py [StyleTest.test_black]...
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Iterator

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.skips import need_tools, need_version, run_unittests

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["lib", "gdb", "lldb", "meson-module", "tests"]
TOP = [".ci"]  # a release leaves it out


def files_of(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file():
                yield path


def sources(*endings: str) -> list[str]:
    return [str(path) for path in files_of(*FOLDERS) if path.suffix in endings]


def scripts(interpreter: str) -> list[str]:
    """Returns the files without an ending that this interpreter runs."""
    out = []
    for path in files_of(*FOLDERS, *TOP):
        if not path.suffix and "corpus" not in path.parts:
            with open(path, "rb") as file:
                first = file.readline(200)
            if first.startswith(b"#!") and interpreter.encode() in first:
                out.append(str(path))
    return out


class StyleTest(unittest.TestCase):
    def check(self, *command: str) -> None:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout[-4000:])

    # Its output differs between versions: that of Debian 12 decides.
    def test_clang_format(self) -> None:
        need_tools("clang-format-14")
        self.check("clang-format-14", "--dry-run", "-Werror", *sources(".h", ".c", ".cpp"))

    def test_tables_are_seeded(self) -> None:
        """Whoever writes a file chooses the numbers and names in it, and must not know where a
        table keeps them. The kernel chooses most of those that collect/ and session/ have as keys.
        """
        unseeded = re.compile(
            r"\bstd::unordered_(multi)?(map|set)<(std::string(_view)?|u?int\d+_t|size_t|\w+Id)\b"
        )
        for path in sources(".h", ".cpp"):
            layer = Path(path).relative_to(ROOT).parts
            if layer[0] != "lib" or layer[2] in ("collect", "session"):
                continue
            for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
                self.assertNotRegex(line, unseeded, f"{path}:{number}: use SeededMap, SeededSet")

    def test_black(self) -> None:
        need_version("black", "23.1.")  # as above
        files = sources(".py", ".pyi") + scripts("python")
        self.assertIn(str(ROOT / "meson-module/tally-meson"), files)
        self.check("black", "--check", "--diff", "-q", "-l", "100", "-t", "py37", *files)

    def test_shellcheck(self) -> None:
        need_tools("shellcheck")
        self.check("shellcheck", *sources(".sh", ".bash"), *scripts("sh"))


if __name__ == "__main__":
    run_unittests()
