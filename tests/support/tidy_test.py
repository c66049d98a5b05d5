"""Tests what tidy.py checks and what it refuses. A program that a test writes is its clang-tidy."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.skips import need_tools, run_unittests

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "lib/src/support/strings.cpp"
OTHER = ROOT / "lib/src/support/result.cpp"

# Reports a finding in each file that it is to check.
FAKE = """#!{python}
import re, sys
for line, text in enumerate(open(sys.argv[-1]), 1):
    for file in re.findall('#include "(.*)"', text):
        print(f"{{file}}:{{line}}:1: {level}: checked [some-check]")
"""


class TidyTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def install(self, level: str) -> None:
        """Puts a clang-tidy on PATH that has a finding in each file."""
        tool = self.folder / "bin/clang-tidy-14"
        tool.parent.mkdir()
        tool.write_text(FAKE.format(python=sys.executable, level=level))
        tool.chmod(0o755)

    def configure(self, *sources: Path, **changes: object) -> None:
        """Writes the compilation database."""
        row: dict[str, object] = {"directory": str(self.folder), "command": "c++ -DX=1 -c"}
        row.update(changes)
        rows = [dict(row, file=str(source)) for source in sources]
        (self.folder / "compile_commands.json").write_text(json.dumps(rows))

    def tidy(self, *arguments: object, path: str | None = None) -> tuple[int, str, str]:
        """Runs tidy.py in the root of the project. Returns its status, output and errors."""
        if path is None:
            path = os.pathsep.join((str(self.folder / "bin"), os.environ["PATH"]))
        tidy = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tidy.py")
        done = subprocess.run(
            [sys.executable, tidy, "--build", self.folder, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "PATH": path},
            cwd=ROOT,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def assert_refused(self, message: str, *arguments: object, path: str | None = None) -> None:
        status, out, err = self.tidy(*arguments, path=path)
        self.assertRegex(err, rf"\Atidy\.py: {message}\n\Z")
        self.assertEqual((status, out), (2, ""))

    def test_a_file_must_be_a_source(self) -> None:
        self.configure(SOURCE)
        self.assert_refused("absent.cpp: there is no such file", "absent.cpp")
        self.assert_refused("lib/src: there is no such file", SOURCE, "lib/src")
        for name in ("tests/unit/temporary.h", "lib/README.md", "gdb/tally.py"):
            self.assert_refused(f"{name}: is not a C or C\\+\\+ file of lib or lldb", name)
        elsewhere = self.folder / "a.cpp"
        elsewhere.write_text("")
        self.assert_refused(".*/a.cpp: is not a C or C\\+\\+ file of lib or lldb", elsewhere)

    def test_the_compilation_database_must_be_one_of_meson(self) -> None:
        name = r"\S*/compile_commands\.json"
        self.assert_refused(f"{name}: No such file or directory: configure the build directory.*")
        database = self.folder / "compile_commands.json"
        for content in (b"", b"[{", b"\xff", b"[" * 100_000):
            database.write_bytes(content)
            self.assert_refused(f"{name}: .*")
        for text in ("1", "{}", "[1]", "[[]]", '[{"file": "a.c"}]'):
            database.write_text(text)
            self.assert_refused(f"{name}: is not a compilation database of Meson")
        for key, value in (("directory", 1), ("command", None), ("output", [])):
            self.configure(SOURCE, **{key: value})
            self.assert_refused(f"{name}: is not a compilation database of Meson")
        self.configure(SOURCE, command="c++ '")
        self.assert_refused(f"{name}: cannot parse the command of {SOURCE}: .*")
        self.configure(ROOT / "tests/absent.cpp")
        self.assert_refused(f"{name} names no source of lib or lldb")
        self.configure(ROOT / "lib/absent.cpp")
        self.assert_refused(f"{ROOT}/lib/absent.cpp: No such file .*: configure .* again")
        self.configure(self.folder / "x-unity0.cpp")
        self.assert_refused(r"\S*/x-unity0\.cpp: No such file or directory: configure .*")

    def test_clang_tidy_must_be_installed(self) -> None:
        self.configure(SOURCE)
        self.assert_refused("not installed: clang-tidy-14", SOURCE, path=str(self.folder))

    def test_checks_what_is_named_or_all(self) -> None:
        self.install("warning")
        (self.folder / "x-unity0.cpp").write_text(f"#include<{SOURCE}>\n#include<{OTHER}>\n")
        self.configure(self.folder / "x-unity0.cpp")
        found = {each: f"lib/src/support/{each.name}" for each in (SOURCE, OTHER)}
        status, out, err = self.tidy()
        self.assertEqual((status, err), (1, ""), out)
        self.assertEqual(
            out.splitlines(),
            [
                f"{found[OTHER]}:2:1: warning: checked [some-check]",
                f"{found[SOURCE]}:1:1: warning: checked [some-check]",
                "tidy.py: 2 findings in 2 files",
            ],
        )
        for file in (SOURCE, found[SOURCE]):
            status, out, err = self.tidy(file)
            self.assertEqual((status, err), (1, ""), out)
            self.assertIn("tidy.py: 1 findings in 1 files", out)
            self.assertNotIn(found[OTHER], out)

    def test_checks_files_alone_that_do_not_compile_together(self) -> None:
        self.install("error")
        self.configure(SOURCE, OTHER)
        status, out, _ = self.tidy()
        self.assertEqual(status, 1, out)
        self.assertEqual(out.count(":1:1: error: checked"), 2, out)

    def test_an_unknown_revision_is_refused(self) -> None:
        need_tools("git")
        self.configure(SOURCE)
        status, out, err = self.tidy("--since", "no-such-revision")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("tidy.py: git does not know the revision 'no-such-revision'", err)


if __name__ == "__main__":
    run_unittests()
