"""Tests the ways in which GDB loads the plug-in by itself: by `tally setup`, and by the file that
the Meson option gdb_autoload installs."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.gdb_driver import GdbTerminal, run_gdb
from support.programs import SOURCE_ROOT, command_line, gdb_plugin, program
from support.skips import need_perf, need_tools, run_unittests

COMMANDS = ["profile status", "show profile frequency", "output $_profile_samples"]


class LoadingCase(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("gdb")
        folder = tempfile.TemporaryDirectory(prefix="loading-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.home = self.folder / "home"
        self.home.mkdir()

    def assert_loaded(self, **options) -> None:
        result = run_gdb(COMMANDS, plugin=False, **options)
        self.assertEqual(result.stderr, "", result)
        self.assertTrue(result.stdout.startswith("state idle\n"), result)
        self.assertTrue(result.stdout.endswith("\nprofile frequency is 1000.\n0"), result)

    def assert_not_loaded(self, **options) -> None:
        result = run_gdb(["profile status"], plugin=False, **options)
        self.assertEqual(result.stdout, "", result)
        self.assertRegex(result.stderr, r'\AUndefined command: "profile"\.')


class Setup(LoadingCase):
    def tally(self, *words: str, plugin: str = "") -> str:
        return subprocess.run(
            [command_line(), "setup", "gdb", *words],
            env={
                **{name: value for name, value in os.environ.items() if name != "XDG_CONFIG_HOME"},
                "HOME": str(self.home),
                "TALLY_GDB": plugin or gdb_plugin(),
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    def test_gdb_has_the_commands_until_undo(self) -> None:
        self.assert_not_loaded(home=str(self.home))
        self.tally()
        self.assert_loaded(home=str(self.home))
        self.tally()
        self.assert_loaded(home=str(self.home))
        self.tally("--undo")
        self.assert_not_loaded(home=str(self.home))

    def test_it_is_the_file_that_gdb_reads(self) -> None:
        """The file in ~/.config wins, and .gdbinit is not read then."""
        config = self.home / ".config" / "gdb" / "gdbinit"
        config.parent.mkdir(parents=True)
        for path in (self.home / ".gdbinit", config):
            path.write_text(f"echo {path.name}\\n", encoding="utf-8")
            before = run_gdb([], plugin=False, home=str(self.home))
            self.assertEqual(before.output, f"{path.name}\n")
            self.assertIn(f"Added to {path}:\n", self.tally())
            result = run_gdb(COMMANDS[:1], plugin=False, home=str(self.home))
            self.assertTrue(result.stdout.startswith(f"{path.name}\nstate idle\n"), result)
            self.tally("--undo")

    def test_the_ends_of_lines(self) -> None:
        path = self.home / ".gdbinit"
        for text in ("set height 0", "set height 0\r\n", "set height 0\r\nset width 0"):
            path.write_text(text, encoding="utf-8", newline="")
            self.tally()
            self.assert_loaded(home=str(self.home))
            self.tally("--undo")
            ended = text if text.endswith("\n") else text + ("\r\n" if "\r" in text else "\n")
            self.assertEqual(path.read_bytes(), ended.encode())

    def test_paths(self) -> None:
        for name in ("a b", "it's", 'a"b"c', "a\\b", "a$HOME", "~root", "a #b", "a`b", "a -v"):
            with self.subTest(name):
                folder = self.folder / name
                folder.symlink_to(Path(gdb_plugin()).parent, target_is_directory=True)
                self.tally(plugin=str(folder / "tally.py"))
                self.assertIn(name, (self.home / ".gdbinit").read_text(encoding="utf-8"))
                self.assert_loaded(home=str(self.home))
                self.tally("--undo")
                self.assertEqual(list(self.home.iterdir()), [])

    def test_a_removed_plugin_does_not_harm_the_other_lines(self) -> None:
        removed = self.folder / "tally.py"
        removed.touch()
        self.tally(plugin=str(removed))
        with (self.home / ".gdbinit").open("a", encoding="utf-8") as file:
            file.write("echo later\\n")
        removed.unlink()
        result = run_gdb([], plugin=False, home=str(self.home))
        self.assertEqual((result.status, result.stdout), (0, "later\n"), result)
        self.assertIn(f"{removed}: No such file", result.stderr)


class Autoload(LoadingCase):
    """The file is put where each GDB of this machine would load it, for one process only."""

    def setUp(self) -> None:
        super().setUp()
        template = (SOURCE_ROOT / "gdb" / "autoload.py.in").read_text(encoding="utf-8")
        self.text = template.replace("@plugin@", gdb_plugin())
        self.assertNotEqual(self.text, template)

    def mounted(self, folder: Path, target: str) -> list:
        """Returns words to put before a command that sees `folder` as `target`."""
        words = ["unshare", "-m"] + ([] if os.geteuid() == 0 else ["-r"])
        words += ["sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', str(folder), target]
        need_tools("unshare", "mount")
        done = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"cannot mount: {done.stderr.strip()}")
        return words

    def test_the_directory_of_init_files(self) -> None:
        configuration = run_gdb(["show configuration"], plugin=False).stdout
        found = re.search(r"--with-system-gdbinit-dir=(\S+)", configuration)
        if not found or not os.path.isdir(found[1]):
            self.skipTest("this GDB has no directory of init files")
        folder = self.folder / "gdbinit.d"
        folder.mkdir()
        wrapper = self.mounted(folder, found[1])
        self.assert_not_loaded(home=str(self.home), wrapper=wrapper)
        (folder / "tally.py").write_text(self.text, encoding="utf-8")
        self.assert_loaded(home=str(self.home), wrapper=wrapper)

    def data_directory(self) -> str:
        said = run_gdb(["show data-directory"], plugin=False).stdout
        return re.search(r'"(.*)"', said)[1]

    def test_the_data_directory(self) -> None:
        """GDB imports the file while Python starts, even with -nx."""
        target = os.path.join(self.data_directory(), "python", "gdb", "command")
        folder = self.folder / "command"
        shutil.copytree(target, folder)
        wrapper = self.mounted(folder, target)
        self.assert_not_loaded(wrapper=wrapper)
        (folder / "tally.py").write_text(self.text, encoding="utf-8")
        self.assert_loaded(wrapper=wrapper)

    def test_another_data_directory(self) -> None:
        """GDB imports its Python package a second time."""
        folder = self.folder / "data"
        shutil.copytree(self.data_directory(), folder)
        options = [f"-data-directory={folder}"]
        self.assert_not_loaded(options=options)
        (folder / "python/gdb/command/tally.py").write_text(self.text, encoding="utf-8")
        self.assert_loaded(options=options)
        result = run_gdb(COMMANDS, plugin=True, options=options)
        self.assertEqual(result.stderr, "", result)

    def test_a_removed_plugin_is_silent(self) -> None:
        """The file may be a package's configuration file, which outlives the package."""
        folder = self.folder / "data"
        shutil.copytree(self.data_directory(), folder)
        (folder / "python/gdb/command/tally.py").write_text(
            self.text.replace(gdb_plugin(), "/nowhere/tally.py"), encoding="utf-8"
        )
        self.assert_not_loaded(options=[f"-data-directory={folder}"])


class Late(LoadingCase):
    """Most modules are loaded when they are needed, so that GDB starts quickly."""

    MODULES = (
        "python import sys; print(*sorted({'typing', 'json', 'threading', 'tally_gdb.inferior'}"
        " & set(sys.modules)))"
    )
    LOADED = "json tally_gdb.inferior threading typing"

    def modules_after(self, *commands: str, plugin: bool = True) -> str:
        result = run_gdb(
            [*commands, "echo \\n", self.MODULES], program("spin7030"), ["0.1"], plugin=plugin
        )
        self.assertEqual(result.stderr, "", result)
        return result.stdout.splitlines()[-1]

    def test_what_loads_them(self) -> None:
        own = self.modules_after(plugin=False)  # GDB 16 itself loads threading
        for command in (
            "file " + program("spin7030"),
            "help profile",
            "help profile start",
            "set profile frequency 500",
            "show profile frequency",
            "complete profile st",
            "break main",
        ):
            self.assertEqual(self.modules_after(command), own, command)
        for command in ("profile status", "run", "python import tally_gdb; tally_gdb.profile()"):
            self.assertEqual(self.modules_after(command), self.LOADED, command)

    def test_the_first_event_is_not_lost(self) -> None:
        """GDB reports the resume only once, before the first command."""
        need_perf()
        with GdbTerminal(program("spin7030"), ["60"], plugin=False) as gdb:
            gdb.command("tbreak main")
            gdb.command("run")
            gdb.command(f"source {gdb_plugin()}")
            gdb.command("continue &")
            self.assertRegex(gdb.command("profile start"), r"^Sampling process \d+")
            time.sleep(0.5)  # it lasts half a second at least
            self.assertRegex(gdb.command("profile status"), r"\nrunning 0\.[3-9]|\nrunning [1-9]")


class Library(LoadingCase):
    def test_without_its_library_the_plugin_says_so_once(self) -> None:
        result = run_gdb(["profile status"], environment={"TALLY_LIBRARY": "/nowhere/libtally.so"})
        lines = result.stderr.splitlines()
        self.assertRegex(lines[0], "^Tally is not loaded: cannot load libtally: /nowhere/libtally")
        self.assertRegex(lines[1], '^Undefined command: "profile"')
        self.assertEqual(len(lines), 2, result)


if __name__ == "__main__":
    run_unittests()
