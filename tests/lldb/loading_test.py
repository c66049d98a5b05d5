"""Tests that LLDB loads the plug-in by itself after `tally setup`."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from case import LldbCase, text_of
from support.lldb_driver import run_lldb
from support.programs import command_line, lldb_plugin
from support.skips import run_unittests


class LoadingTest(LldbCase):
    samples_by_perf = False

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="loading-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.home = self.folder / "home"
        self.home.mkdir()

    def tally(self, *words: str, plugin: str = "") -> str:
        return subprocess.run(
            [command_line(), "setup", "lldb", *words],
            env={**os.environ, "HOME": str(self.home), "TALLY_LLDB": plugin or lldb_plugin()},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    def assert_loaded(self, is_loaded: bool = True) -> None:
        def measure(lldb: str) -> None:
            result = run_lldb(["profile status"], lldb=lldb, plugin=False, home=str(self.home))
            if is_loaded:
                self.assertEqual(result.stderr, "", result)
                self.assertIn("state idle\n", text_of(result, "profile status"))
            else:
                self.assertIn("'profile' is not a valid command", result.stderr, result)

        self.in_each(measure)

    def test_lldb_has_the_commands_until_undo(self) -> None:
        self.assert_loaded(False)
        self.tally()
        self.tally()
        self.assert_loaded()
        self.tally("--undo")
        self.assert_loaded(False)

    def test_it_is_the_file_that_lldb_reads(self) -> None:
        """The file with the program's name wins, and .lldbinit is not read then."""
        for name in (".lldbinit", ".lldbinit-lldb"):
            path = self.home / name
            path.write_text("settings set stop-line-count-after 4\n", encoding="utf-8")
            self.assertIn(f"Added to {path}:\n", self.tally())
            self.assert_loaded()
            self.tally("--undo")
            self.assert_loaded(False)

    def test_the_ends_of_lines(self) -> None:
        setting = "settings set stop-line-count-after 4"
        for text in (setting, f"{setting}\r\n", f"{setting}\r\n{setting}"):
            (self.home / ".lldbinit").write_text(text, encoding="utf-8", newline="")
            self.tally()
            self.assert_loaded()
            self.tally("--undo")

    def test_paths(self) -> None:
        for name in ("a b", "it's", 'a"b"c', "a\\b", "a \\b", "a$HOME", "a #b", "a ~root"):
            with self.subTest(name):
                folder = self.folder / name
                folder.symlink_to(Path(lldb_plugin()).parent, target_is_directory=True)
                self.tally(plugin=str(folder / Path(lldb_plugin()).name))
                self.assert_loaded()
                self.tally("--undo")
                self.assertEqual(list(self.home.iterdir()), [])


if __name__ == "__main__":
    run_unittests()
