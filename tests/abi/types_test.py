"""The types of all Python code, checked by mypy.

    python3 tests/abi/types_test.py [TypesTest.test_plug_in]...

tests/support/stubs/ declares the parts of GDB's and Meson's modules that Tally uses.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.skips import need_version, run_unittests

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "tests/support/stubs"
# Modules of programs that may not be installed: LLDB's, Meson's, and those that an installation or
# a later Python has.
BASIC = ["--check-untyped-defs", "--warn-unused-ignores", "--ignore-missing-imports"]


class TypesTest(unittest.TestCase):
    cache: str

    @classmethod
    def setUpClass(cls) -> None:
        need_version("mypy", "1.0.")  # its findings differ between versions
        cls.cache = tempfile.mkdtemp(prefix="mypy-")
        cls.addClassCleanup(shutil.rmtree, cls.cache)

    def check(self, *arguments: object, path: list[Path], folder: Path = ROOT) -> None:
        """Runs mypy. `path` holds the directories in which it looks for modules."""
        done = subprocess.run(
            ["mypy", "--cache-dir", self.cache, "--no-error-summary", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, path))},
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_plug_in(self) -> None:
        """GDB may embed any Python from 3.7 on."""
        self.check(*BASIC, "--python-version=3.7", "gdb/tally.py", "gdb/tally_gdb", path=[STUBS])

    def test_module(self) -> None:
        self.check("--strict", "meson-module/tally_meson", path=[])

    def test_what_meson_imports(self) -> None:
        """meson-module/tally.py is a module of Meson's package, and imports relative to it."""
        with tempfile.TemporaryDirectory(prefix="types-") as name:
            shutil.copytree(STUBS / "mesonbuild", Path(name, "mesonbuild"))
            module = Path(name, "mesonbuild/modules/tally.py")
            module.symlink_to(ROOT / "meson-module/tally.py")
            self.check(*BASIC, module, path=[ROOT / "meson-module"], folder=Path(name))

    def test_tests(self) -> None:
        """Each directory of tests holds programs, whose names need not differ from those in other
        directories. Optional values need no check, because a test fails in any case if it gets None
        where it expects a value."""
        tests = ROOT / "tests"
        found = {file.parent for file in tests.rglob("*.py") if "corpus" not in file.parts}
        self.assertGreater(len(found), 10)
        for folder in sorted(found):
            with self.subTest(folder=str(folder.relative_to(ROOT))):
                path = [
                    tests,
                    ROOT / "meson-module",
                    ROOT / "gdb",
                    STUBS,
                    *(tests / name for name in ("bench", "conformance")),
                    folder,
                ]
                files = sorted(folder.glob("*.py"))
                self.check(*BASIC, "--no-strict-optional", *files, path=path)


if __name__ == "__main__":
    run_unittests()
