"""The formatting of the sources, checked with the tools that developers use."""
import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Iterator

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.skips import need_tools, run_unittests

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["lib", "gdb", "lldb", "meson-module", "tests"]


def sources(*endings: str) -> Iterator[str]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in endings and path.is_file():
                yield str(path)


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

    # As for clang-format.
    def test_black(self) -> None:
        need_tools("black")
        version = subprocess.run(["black", "--version"], capture_output=True, text=True).stdout
        if "black, 23.1" not in version:
            self.skipTest("black is not the version of Debian 12, 23.1")
        self.check("black", "--check", "-q", "-l", "100", "-t", "py37", *FOLDERS)

    def test_shellcheck(self) -> None:
        need_tools("shellcheck")
        scripts = list(sources(".sh", ".bash"))
        if (ROOT / ".ci/run").exists():  # a release leaves it out
            scripts.append(".ci/run")
        self.check("shellcheck", *scripts)


if __name__ == "__main__":
    run_unittests()
