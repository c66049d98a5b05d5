"""Tests `tally setup`: the files that it writes, and that --undo restores them byte for byte.

tests/gdb/loading_test.py and tests/lldb/loading_test.py start the debuggers with such files.
"""
from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line
from support.skips import bound_by_permissions, run_unittests

PLUGINS = {"gdb": "tally.py", "lldb": "liblldb_tally.so"}
COMMANDS = {"gdb": "source ", "lldb": "plugin load "}
INIT_FILES = {"gdb": ".gdbinit", "lldb": ".lldbinit"}


class SetupCase(unittest.TestCase):
    """Has an empty home directory, and a directory with a plug-in of each debugger."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="setup-")
        self.addCleanup(folder.cleanup)
        # The program prints paths without symbolic links.
        self.folder = Path(folder.name).resolve()
        self.home = self.folder / "home"
        self.home.mkdir()
        self.environment = {
            name: value for name, value in os.environ.items() if name != "XDG_CONFIG_HOME"
        }
        self.environment["HOME"] = str(self.home)
        self.use_plugins(self.folder / "plugins")

    def use_plugins(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True, parents=True)
        for debugger, name in PLUGINS.items():
            (folder / name).touch()
            self.environment[f"TALLY_{debugger.upper()}"] = str(folder / name)
        (folder / "tally_gdb").mkdir(exist_ok=True)
        (folder / "tally_gdb" / "_paths.py").touch()

    def plugin(self, debugger: str) -> str:
        return self.environment[f"TALLY_{debugger.upper()}"]

    def run_setup(self, *words: str, wrapper: list[str] | None = None, tally: str = ""):
        return subprocess.run(
            [*(wrapper or []), tally or command_line(), "setup", *words],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def says(self, *words: str) -> str:
        """Runs a command that succeeds, and returns what it prints."""
        done = self.run_setup(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refuses(self, text: str, *words: str, status: int = 1, **more) -> None:
        before = self.files()
        done = self.run_setup(*words, **more)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done)
        lines = done.stderr.splitlines()
        self.assertRegex(lines[0], f"^tally: {text}")
        # A line that refers to --help follows an error of the command line.
        self.assertEqual(len(lines), 2 if text.startswith(("setup: ", "--")) else 1, done)
        self.assertEqual(self.files(), before)

    def files(self) -> list[str]:
        return sorted(str(path) for path in self.folder.rglob("*"))


class Files(SetupCase):
    def test_a_file_is_created_and_removed(self) -> None:
        for debugger, name in INIT_FILES.items():
            with self.subTest(debugger):
                path = self.home / name
                line = COMMANDS[debugger] + self.plugin(debugger)
                said = self.says(debugger)
                self.assertTrue(said.startswith(f"Created {path}:\n  {line}\n"), said)
                self.assertIn(f"tally setup {debugger} --undo\n", said)
                text = path.read_text(encoding="utf-8")
                self.assertEqual(text.splitlines()[1:], [line])
                self.assertTrue(text.startswith("# ") and text.endswith("\n"), text)
                self.assertEqual(
                    self.says(debugger),
                    f"{path} already has the line:\n  {line}\nNothing was changed.\n",
                )
                self.assertEqual(path.read_text(encoding="utf-8"), text)
                self.assertEqual(
                    self.says(debugger, "--undo"),
                    f"Removed {path}, which held only:\n  {line}\n",
                )
                self.assertEqual(list(self.home.iterdir()), [])
                self.assertIn("Nothing was changed.\n", self.says(debugger, "--undo"))
                self.assertEqual(list(self.home.iterdir()), [])

    def test_a_created_file_stays_if_it_has_other_lines(self) -> None:
        self.says("gdb")
        path = self.home / ".gdbinit"
        with path.open("a", encoding="utf-8") as file:
            file.write("set height 0\n")
        self.assertTrue(self.says("gdb", "--undo").startswith(f"Removed from {path}:\n"))
        self.assertEqual(path.read_bytes(), b"set height 0\n")

    def test_the_rest_is_kept_byte_for_byte(self) -> None:
        for debugger, name in INIT_FILES.items():
            path = self.home / name
            for text in (
                b"",
                b"\n",
                b"set height 0\n",
                b"set height 0",
                b"a\r\nb\r\n",
                b"a\r\nb",
                b"a\nb\r",
                b"a\r\n",
                b"\r\n",
                b"\r",
                b"\xff\x00\xfe\n\n\n",
                b"# The next line loads Tally\n",
            ):
                with self.subTest(debugger, text=text):
                    path.write_bytes(text)
                    path.chmod(0o640)
                    said = self.says(debugger)
                    self.assertTrue(said.startswith(f"Added to {path}:\n"), said)
                    added = path.read_bytes()
                    self.assertTrue(added.startswith(text))
                    # Lines end as they do in the rest. The last line of the rest gets an end.
                    lines = added[len(text) :].splitlines(keepends=True)
                    ended = text.endswith(b"\n") or not text
                    self.assertEqual(len(lines), 2 if ended else 3, lines)
                    ends = {line[len(line.rstrip(b"\r\n")) :] for line in lines}
                    end = b"\r\n" if b"\r\n" in text else b"\n"
                    self.assertEqual(ends, {end})
                    self.says(debugger)
                    self.assertEqual(path.read_bytes(), added)
                    self.says(debugger, "--undo")
                    self.assertEqual(path.read_bytes(), text if ended else text + end)
                    self.assertEqual(path.stat().st_mode & 0o7777, 0o640)
                    self.assertEqual([path], list(self.home.iterdir()))
                    path.unlink()

    def test_lines_added_later_are_kept(self) -> None:
        path = self.home / ".gdbinit"
        for text in (b"a\n", b"a", b"a\r\nb\r\n"):
            for later in (b"c\n", b"c", b"\r\n"):
                path.write_bytes(text)
                self.says("gdb")
                added = path.read_bytes()
                path.write_bytes(added + later)
                self.says("gdb", "--undo")
                between = b"" if text.endswith(b"\n") else b"\n"
                self.assertEqual(path.read_bytes(), text + between + later)

    def test_a_line_that_continues(self) -> None:
        """A backslash at the end of the last line does not continue it with the mark."""
        path = self.home / ".gdbinit"
        path.write_bytes(b"echo hi \\\n")
        self.says("gdb")
        self.assertIn(b"echo hi \\\n\n#", path.read_bytes())

    def test_hard_links_are_kept(self) -> None:
        path, other = self.home / ".gdbinit", self.home / "managed"
        path.write_bytes(b"a\n")
        os.link(path, other)
        done = self.run_setup("gdb")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has several hard links, and is left as it is", done.stderr)
        self.assertTrue(path.samefile(other))

    def test_another_path_is_replaced(self) -> None:
        path = self.home / ".gdbinit"
        path.write_bytes(b"a\r\nb")
        self.says("gdb")
        before, old = path.read_bytes(), self.plugin("gdb")
        with path.open("ab") as file:
            file.write(b"c\r\n")
        self.use_plugins(self.folder / "other plugins")
        self.assertEqual(
            self.says("gdb"),
            f"Replaced in {path}:\n  source {old}\nby:\n  source {self.plugin('gdb')}\n",
        )
        self.assertEqual(
            path.read_bytes(),
            before.replace(old.encode(), self.plugin("gdb").encode()) + b"c\r\n",
        )
        self.says("gdb", "--undo")
        self.assertEqual(path.read_bytes(), b"a\r\nb\r\nc\r\n")

    def test_without_a_plugin_it_is_undone(self) -> None:
        self.says("gdb")
        self.environment["TALLY_GDB"] += ".removed"
        self.says("gdb", "--undo")
        self.assertEqual(list(self.home.iterdir()), [])

    def test_only_the_mark_is_left(self) -> None:
        path = self.home / ".gdbinit"
        path.write_bytes(b"a\n")
        self.says("gdb")
        lines = path.read_bytes().splitlines(keepends=True)
        for rest in (b"", b"set height 0\n", b"set height 0"):
            path.write_bytes(lines[0] + lines[1] + rest)
            said = self.says("gdb", "--undo")
            self.assertIn("a comment", said)
            self.assertEqual(path.read_bytes(), b"a\n" + rest)

    def test_a_link_is_followed(self) -> None:
        real = self.folder / "dotfiles" / "gdbinit"
        real.parent.mkdir()
        real.write_bytes(b"a\n")
        path = self.home / ".gdbinit"
        path.symlink_to(Path("..", "dotfiles", "gdbinit"))
        self.says("gdb")
        self.assertTrue(path.is_symlink())
        self.assertIn(b"tally.py", real.read_bytes())
        self.says("gdb", "--undo")
        self.assertTrue(path.is_symlink())
        self.assertEqual(real.read_bytes(), b"a\n")

    def test_a_created_file_that_was_moved_is_emptied(self) -> None:
        self.says("gdb")
        path, real = self.home / ".gdbinit", self.folder / "gdbinit"
        path.rename(real)
        path.symlink_to(real)
        self.says("gdb", "--undo")
        self.assertTrue(path.is_symlink())
        self.assertEqual(real.read_bytes(), b"")

    def test_owner_and_group_are_kept(self) -> None:
        path = self.home / ".gdbinit"
        path.write_bytes(b"a\n")
        try:
            os.chown(path, 12345, 23456)
        except PermissionError:
            self.skipTest("only root may give files away")
        path.chmod(0o600)
        self.says("gdb")
        info = path.stat()
        self.assertEqual((info.st_uid, info.st_gid, info.st_mode & 0o777), (12345, 23456, 0o600))


class WhichFile(SetupCase):
    def written(self, debugger: str) -> str:
        said = self.says(debugger)
        path = re.match(r"(?:Created|Added to) (.*):\n", said)[1]
        self.says(debugger, "--undo")
        return str(Path(path).relative_to(self.folder))

    def put(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

    def test_gdb(self) -> None:
        self.assertEqual(self.written("gdb"), "home/.gdbinit")
        self.put("home/.gdbinit")
        self.assertEqual(self.written("gdb"), "home/.gdbinit")
        self.put("home/.config/gdb/gdbinit")
        self.assertEqual(self.written("gdb"), "home/.config/gdb/gdbinit")
        self.environment["XDG_CONFIG_HOME"] = str(self.folder / "xdg")
        self.assertEqual(self.written("gdb"), "home/.gdbinit")
        self.put("xdg/gdb/gdbinit")
        self.assertEqual(self.written("gdb"), "xdg/gdb/gdbinit")
        self.environment["XDG_CONFIG_HOME"] = ""
        self.assertEqual(self.written("gdb"), "home/.config/gdb/gdbinit")

    def test_lldb(self) -> None:
        self.environment["XDG_CONFIG_HOME"] = "relative"  # LLDB does not read it
        self.assertEqual(self.written("lldb"), "home/.lldbinit")
        self.put("home/.lldbinit")
        self.assertEqual(self.written("lldb"), "home/.lldbinit")
        self.put("home/.lldbinit-lldb")
        self.assertEqual(self.written("lldb"), "home/.lldbinit-lldb")

    def test_undo_also_looks_into_the_other_file(self) -> None:
        self.says("gdb")
        config = self.put("home/.config/gdb/gdbinit")
        self.says("gdb")
        self.assertIn(b"tally.py", config.read_bytes())
        self.assertEqual(self.says("gdb", "--undo").count("Removed"), 2)
        self.assertEqual(config.read_bytes(), b"")
        self.assertFalse((self.home / ".gdbinit").exists())


class OwnLines(SetupCase):
    def test_a_line_that_loads_the_plugin_is_enough(self) -> None:
        os.symlink(self.folder / "plugins", self.home / "tally")
        lines = {
            "gdb": ["source {}", "  source -v   {} ", "source ~/tally/tally.py"],
            "lldb": ["plugin load {}", ' plugin  load "{}"', "plugin load '{}'\r"],
        }
        for debugger, each in lines.items():
            for line in each:
                with self.subTest(line):
                    text = f"a\n{line.format(self.plugin(debugger))}\nb"
                    path = self.home / INIT_FILES[debugger]
                    path.write_text(text, encoding="utf-8", newline="")
                    said = self.says(debugger)
                    self.assertTrue(said.startswith(f"{path}:2 already loads /"), said)
                    self.assertTrue(said.endswith("\nNothing was changed.\n"), said)
                    self.assertEqual(len(said.splitlines()), 2)
                    self.says(debugger, "--undo")
                    self.assertEqual(path.read_bytes(), text.encode())

    def test_another_plugin(self) -> None:
        own = self.folder / "own" / "tally.py"
        own.parent.mkdir()
        own.touch()
        path = self.home / ".gdbinit"
        path.write_text(f"source {own}\n", encoding="utf-8")
        self.assertEqual(
            self.says("gdb"),
            f"{path}:1 already loads {own}.\n"
            f"To load {self.plugin('gdb')} instead, remove that line first.\n"
            "Nothing was changed.\n",
        )
        self.assertEqual(path.read_text(encoding="utf-8"), f"source {own}\n")

    def test_a_plugin_that_does_not_exist(self) -> None:
        path = self.home / ".gdbinit"
        path.write_text("\nsource /nowhere/tally.py\n", encoding="utf-8")
        done = self.run_setup("gdb")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(
            done.stderr,
            f"tally: {path}:2: warning: /nowhere/tally.py does not exist; remove this line\n",
        )
        self.assertTrue(done.stdout.startswith(f"Added to {path}:\n"))

    def test_lines_that_load_something_else(self) -> None:
        for debugger, text in (
            ("gdb", "# source /x/tally.py\nsourcery tally.py\nsource /x/mytally.py\n"),
            ("lldb", "plugin load /x/other.so\nplugin list\nplugin load a liblldb_tally.so\n"),
        ):
            path = self.home / INIT_FILES[debugger]
            path.write_text(text, encoding="utf-8")
            self.assertTrue(self.says(debugger).startswith("Added to "))


class Refusals(SetupCase):
    def test_command_lines(self) -> None:
        self.refuses(r"setup: expected gdb\|lldb$", status=2)
        self.refuses("setup: expected one of gdb, lldb, found 'vim'$", "vim", status=2)
        self.refuses("setup: unexpected 'lldb'$", "gdb", "lldb", status=2)
        self.refuses("--undo: takes no value$", "gdb", "--undo=1", status=2)

    def test_no_home(self) -> None:
        for value in (None, "", "relative"):
            self.environment.pop("HOME", None)
            if value is not None:
                self.environment["HOME"] = value
            for words in (["gdb"], ["lldb"], ["gdb", "--undo"]):
                self.refuses("HOME: ", *words, status=2)
        self.environment.update(HOME=str(self.home), XDG_CONFIG_HOME="~/x")
        self.refuses("XDG_CONFIG_HOME: expected an absolute path, found '~/x'$", "gdb", status=2)

    def test_files_that_are_not_regular(self) -> None:
        path = self.home / ".gdbinit"
        path.mkdir()
        self.refuses(f"{path}: is not a regular file", "gdb")
        self.assertIn("Nothing was changed.", self.says("gdb", "--undo"))
        path.rmdir()
        os.mkfifo(path)
        self.refuses(f"{path}: is not a regular file", "gdb")
        self.assertIn("Nothing was changed.", self.says("gdb", "--undo"))
        path.unlink()
        path.write_bytes(gzip.compress(b"a\n"))
        self.refuses(f"{path}: is compressed", "gdb")
        path.unlink()
        path.symlink_to("/dev/null")
        self.refuses(f"{path}: is not a regular file", "gdb")
        path.unlink()
        path.symlink_to("nowhere")
        self.refuses(f"{path}: is a symbolic link to a file that does not exist$", "gdb")

    def test_permissions(self) -> None:
        bound = bound_by_permissions()
        path = self.home / ".gdbinit"
        path.write_bytes(b"a\n")
        for mode in (0o200, 0o400, 0):
            path.chmod(mode)
            self.refuses(f"{path}: cannot .*Permission denied", "gdb", wrapper=bound)
        path.unlink()
        self.home.chmod(0o500)
        self.addCleanup(self.home.chmod, 0o700)
        self.refuses(f"{path}: cannot create: Permission denied", "gdb", wrapper=bound)
        self.home.chmod(0)
        self.refuses(f"{path}: cannot open: Permission denied", "gdb", wrapper=bound)

    def test_paths_that_a_debugger_cannot_be_told(self) -> None:
        for folder, debuggers in (
            ("a\nb", PLUGINS),
            ("a\tb", PLUGINS),
            ("a ~root", ["gdb"]),
            ("a`b", ["lldb"]),
        ):
            self.use_plugins(self.folder / folder)
            for debugger in debuggers:
                done = self.run_setup(debugger)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn("the path contains ", done.stderr)
        self.assertEqual(list(self.home.iterdir()), [])

    def test_no_plugin(self) -> None:
        for debugger, name in PLUGINS.items():
            self.environment[f"TALLY_{debugger.upper()}"] = f"/nowhere/{name}"
            self.refuses(
                f"/nowhere/{name}: {debugger.upper()}'s plug-in cannot be read .*"
                rf"{debugger}-tally.* TALLY_{debugger.upper()} ",
                debugger,
            )


class Installed(SetupCase):
    def test_the_plugin_is_found_from_the_program(self) -> None:
        """The installation is at any place: the paths are relative to the program."""
        tally = self.folder / "prefix" / "bin" / "tally"
        tally.parent.mkdir(parents=True)
        shutil.copy2(command_line(), tally)
        link = self.folder / "tally"
        link.symlink_to(tally)
        for debugger, name in PLUGINS.items():
            del self.environment[f"TALLY_{debugger.upper()}"]
            done = self.run_setup(debugger, tally=str(link))
            self.assertEqual(done.returncode, 1)
            path = Path(re.match(rf"tally: (/.*/{re.escape(name)}): ", done.stderr)[1])
            self.assertIn(self.folder / "prefix", path.parents)
            path.parent.mkdir(parents=True)
            path.touch()
            done = self.run_setup(debugger, tally=str(link))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(f"  {COMMANDS[debugger]}{path}\n", done.stdout)


if __name__ == "__main__":
    run_unittests()
