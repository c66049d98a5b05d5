"""Tests what `meson setup` reports about parts that cannot be built, and what options install."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SOURCE_ROOT
from support.skips import need_tools, run_unittests

LACKING = r"LLDB's headers were not found"


class LldbHeadersTest(unittest.TestCase):
    """LLDB's headers are missing."""

    def setUp(self) -> None:
        need_tools("meson")
        if Path("/usr/include/lldb/API/LLDB.h").exists():
            self.skipTest("every compiler finds LLDB's headers here")
        folder = tempfile.TemporaryDirectory(prefix="setup-")
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name, "build")

    def set_up(self, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [
                "meson",
                "setup",
                self.build,
                SOURCE_ROOT,
                "-Dtests=disabled",
                f"-Dlldb_headers={self.build}/none",
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def test_the_plug_in_is_off_and_the_summary_says_why(self) -> None:
        done = self.set_up()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, rf"(?m)^ *LLDB plug-in *: no: {LACKING}$")
        rules = (self.build / "build.ninja").read_text(encoding="utf-8")
        # The manual page may name the path of an installed plug-in.
        self.assertFalse("build lldb/liblldb_tally" in rules, "the plug-in is built")
        self.assertIn("build lib/libtally.so", rules)

    def test_setup_fails_if_lldb_is_enabled(self) -> None:
        done = self.set_up("-Dlldb=enabled")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, rf"ERROR: .*\blldb\b.*: {LACKING} .*-Dlldb_headers=DIR")


class AutoloadTest(unittest.TestCase):
    """The option gdb_autoload installs a file that loads the installed plug-in."""

    def test_the_installed_file(self) -> None:
        need_tools("meson")
        folder = tempfile.TemporaryDirectory(prefix="setup-")
        self.addCleanup(folder.cleanup)
        build = Path(folder.name, "build")
        target = Path("/etc/gdb/gdbinit.d")
        subprocess.run(
            [
                *("meson", "setup", build, SOURCE_ROOT, "--prefix=/opt/a b"),
                *("-Dtests=disabled", "-Dlldb=disabled", f"-Dgdb_autoload={target}"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=True,
        )
        done = subprocess.run(
            ["meson", "introspect", "--installed", build],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        sources = {to: source for source, to in json.loads(done.stdout).items()}
        self.assertIn("/opt/a b/share/tally/gdb/tally.py", sources)
        text = Path(sources[str(target / "tally.py")]).read_text(encoding="utf-8")
        self.assertIn('_load("/opt/a b/share/tally/gdb/tally.py")\n', text)
        compile(text, "tally.py", "exec")


if __name__ == "__main__":
    run_unittests()
