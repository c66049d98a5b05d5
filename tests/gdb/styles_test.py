"""Tests colours: GDB's own styles are used exactly where GDB itself would use them."""
import os
import pty
import re
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase
from support.gdb_driver import GdbTerminal, gdb_program
from support.programs import gdb_plugin
from support.skips import run_unittests
from support.terminal import environment_with, read_to_end

FOLDED = "main;parse;lex 30\nmain;parse 20\nmain;write 48\nmain;rare 1\nmain 1\n"
OTHER = "main;parse;lex 90\nmain 10\n"
TABLES = (
    "report",
    "report --by object",
    "report --sort inclusive --limit 2",
    "tree",
    "tree --limit 2",
    "tree lex --callers",
    "annotate main",
    "diff {other}",
    "status",
)
SGR = re.compile(r"\x1b\[([0-9;]*)m")


def plain(text: str) -> str:
    return SGR.sub("", text)


class StylesTest(GdbCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.profile = self.written("x.folded", FOLDED)
        self.other = self.written("y.folded", OTHER)

    def written(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        Path(path).write_text(text, encoding="utf-8")
        return path

    def terminal(self, term: str = "xterm") -> GdbTerminal:
        gdb = GdbTerminal(environment={"TERM": term})
        gdb.command("set style enabled on")
        gdb.command(f"profile load {self.profile}")
        return gdb

    def raw(self, gdb: GdbTerminal, command: str) -> str:
        """Returns the output of the command, with its escape sequences."""
        before = len(gdb.raw)
        gdb.command("echo [[[\\n")
        gdb.command(command)
        gdb.command("echo ]]]\\n")
        shown = gdb.raw[before:]
        begin = shown.index("\n", shown.index(command)) + 1
        text = shown[begin : shown.index("echo ]]]")]
        text = re.sub(r"\x1b\[\?2004[hl]|\x1b\[K", "", text).rpartition("\n")[0] + "\n"
        return text.replace("\r", "")

    def test_escapes_move_nothing(self) -> None:
        """With the escape sequences removed, a table is the same as one printed without styles."""
        with self.terminal() as gdb:
            commands = [f"profile {each.format(other=self.other)}" for each in TABLES]
            coloured = [self.raw(gdb, each) for each in commands]
            gdb.command("set style enabled off")
            for command, with_colours in zip(commands, coloured):
                with self.subTest(command):
                    without = self.raw(gdb, command)
                    self.assertNotIn("\x1b", without)
                    self.assertIn("\x1b", with_colours)
                    self.assertRegex(with_colours, r"\x1b\[m")
                    if "status" not in command:  # times differ
                        self.assertEqual(plain(with_colours), without)

    def test_style_changes_apply_at_the_next_command(self) -> None:
        with self.terminal() as gdb:
            self.assertIn("\x1b[33mwrite\x1b[m", self.raw(gdb, "profile report"))
            gdb.command("set style function foreground red")
            gdb.command("set style function background blue")
            gdb.command("set style function intensity bold")
            text = self.raw(gdb, "profile report")
            self.assertIn("\x1b[31;44;1mwrite\x1b[m", text)
            self.assertIn("\x1b[31m48.00%\x1b[m", text)  # hot rows are highlighted, light ones not
            self.assertRegex(text, r"(?m)^\d+ +1\.00% ")
            for kind in "foreground", "background":
                gdb.command(f"set style function {kind} none")
            gdb.command("set style function intensity normal")
            self.assertIn("  write\n", self.raw(gdb, "profile report"))

    def test_styles_only_where_gdb_prints_them(self) -> None:
        out = os.path.join(self.folder, "out")
        script = self.written(
            "own.py",
            "text = gdb.execute('profile report', to_string=True)\n"
            f"open({out!r}, 'w').write(text)\n",
        )
        with self.terminal() as gdb:
            self.assertIn("\x1b", self.raw(gdb, "profile report"))
            for command in (f"pipe profile report | cat > {out}", f"source {script}"):
                with self.subTest(command):
                    gdb.command(command)
                    text = Path(out).read_text(encoding="utf-8")
                    self.assertIn("48.00%", text)
                    self.assertNotIn("\x1b", text)
                    os.remove(out)
            for redirect in "off", "on":
                with self.subTest(logging_redirect=redirect):
                    for command in (
                        f"set logging file {out}",
                        f"set logging redirect {redirect}",
                        "set logging enabled on",
                        "profile report",
                        "set logging enabled off",
                    ):
                        gdb.command(command)
                    text = Path(out).read_text(encoding="utf-8")
                    self.assertIn("48.00%", text)
                    self.assertNotIn("\x1b", text)
                    os.remove(out)
            self.assertIn("\x1b", self.raw(gdb, "profile report"))
        with self.terminal("dumb") as gdb:
            self.assertNotIn("\x1b", self.raw(gdb, "profile report"))

    def on_a_terminal(self, *options: str) -> str:
        """Returns all that GDB writes to a terminal from which it reads commands, with these
        options."""
        master, slave = pty.openpty()
        argv = [
            gdb_program(),
            "-nx",
            "-nh",
            "-q",
            *options,
            "-iex",
            "set confirm off",
            "-ex",
            f"source {gdb_plugin()}",
            "-ex",
            f"profile load {self.profile}",
            "-ex",
            "profile report",
            "-ex",
            "quit",
        ]
        with subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env=environment_with(self.folder, {"TERM": "xterm"}),
        ) as process:
            os.close(slave)
            shown = read_to_end(master)
            process.wait(60)
        os.close(master)
        return shown.decode()

    def test_mi_and_batch(self) -> None:
        self.assertIn("\x1b[33mwrite", self.on_a_terminal())
        for options in ("-i=mi",), ("-batch",):
            with self.subTest(options):
                text = self.on_a_terminal(*options)
                self.assertIn("48.00%", text)
                self.assertNotRegex(text, r"\x1b\[\d+m|\\033|\\e")


class NewerGdbTest(unittest.TestCase):
    def test_colours_as_objects(self) -> None:
        """GDB 17 represents colours as gdb.Color, which may be one of 2^24."""

        class Color:
            def __init__(self, number: str) -> None:
                self._number = number

            def escape_sequence(self, is_foreground: bool) -> str:
                return f"\x1b[{38 if is_foreground else 48};5;{self._number}m"

        values = {"foreground": Color("208"), "background": Color("17"), "intensity": "dim"}
        fake = types.ModuleType("gdb")
        fake.error = RuntimeError  # type: ignore[attr-defined]
        fake.parameter = lambda name: values[name.split()[-1]]  # type: ignore[attr-defined]
        with mock.patch.dict(sys.modules, {"gdb": fake}), mock.patch.object(
            sys, "path", [os.path.dirname(gdb_plugin()), *sys.path]
        ):
            from tally_gdb import styles

            self.assertEqual(styles._begin("function"), "\x1b[38;5;208;48;5;17;2m")


if __name__ == "__main__":
    run_unittests()
