"""Replays the transcripts of all documents: types their commands into a shell, GDB or LLDB, and
compares what is printed. transcripts.py describes transcripts, and what is compared.

    python3 tests/documents/transcripts_test.py [TranscriptsTest.test_readme]...

All commands of a document run in one temporary directory and, those of the shell, in one shell. It
contains the programs of tests/programs, the files of words/, and tests/programs/firmware/. `tally`
and `tally-meson` are on PATH. The paths of an installation below /usr/local stand for those of the build.
"""
from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance"), str(HERE.parent)]
from players import commands_in_gdb, commands_in_lldb
from support.lldb_driver import lldb_programs, need_lldb
from support.programs import SOURCE_ROOT, command_line, gdb_plugin, lldb_plugin
from support.skips import large, need_perf, need_tools, run_unittests
from transcripts import Command, Session, difference, documents, read_commands, sessions

TIMEOUT_S = 120.0
# A document that uses one of these is skipped if it is not installed.
TOOLS = (
    *("arm-none-eabi-gcc", "gdb", "gdb-multiarch", "gdbserver", "gcc", "gprof", "meson", "ninja"),
    *("qemu-system-arm", "sed", "valgrind"),
)
INSTALLED = {
    "/usr/local/share/tally/gdb/tally.py": gdb_plugin,
    "/usr/local/lib/x86_64-linux-gnu/tally/liblldb_tally.so": lldb_plugin,
}


class Shell:
    """A shell that executes one command after another."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            ["sh"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()

    def run(self, command: str) -> str:
        """Returns what the command prints on both streams. It must exit with status 0."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(
            f"{{ {command}\n}} </dev/null 2>&1; printf '\\n@%d@\\n' $?\n".encode()
        )
        self.process.stdin.flush()
        printed = b""
        deadline = time.monotonic() + TIMEOUT_S
        while not (end := re.search(rb"\n@(\d+)@\n$", printed)):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError(f"{command}: did not end in {TIMEOUT_S} s\n{printed.decode()}")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise AssertionError(f"{command}: ended the shell\n{printed.decode()}")
            printed += data
        text = printed[: end.start()].decode("utf-8", "replace")
        if end[1] != b"0":
            raise AssertionError(f"{command}: status {end[1].decode()}\n{text}")
        return text


def prepare(folder: Path) -> tuple[Path, dict[str, str]]:
    """Returns the directory in which the commands of a document run, and their environment."""
    work, tools = folder / "work", folder / "bin"
    shutil.copytree(HERE / "words", work)
    firmware = Path("tests/programs/firmware")
    shutil.copytree(SOURCE_ROOT / firmware, work / firmware)
    tools.mkdir()
    (tools / "tally").symlink_to(command_line())
    (tools / "tally-meson").symlink_to(SOURCE_ROOT / "meson-module/tally-meson")
    for path in Path(os.environ["TALLY_PROGRAMS"]).iterdir():
        if path.is_file() and os.access(path, os.X_OK) and not path.suffix:
            (work / path.name).symlink_to(path.resolve())
    environment = {
        **os.environ,
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
    }
    environment.pop("DEBUGINFOD_URLS", None)
    return work, environment


def play_debugger(session: Session, folder: str) -> list[str]:
    """Returns what each command of the session printed."""
    commands = [command.text for command in session.commands]
    own = any(path in command for command in commands for path in INSTALLED)
    for path, built in INSTALLED.items():
        commands = [
            command.replace(path, built()) if path in command else command for command in commands
        ]
    program = session.program
    if session.debugger == "gdb":
        played = commands_in_gdb(
            commands,
            program,
            session.args,
            wrapper=session.wrapper,
            cwd=folder,
            plugin=not own,
            gdb=None if session.started == "gdb" else session.started,
        )
    else:
        played = commands_in_lldb(
            commands,
            program,
            session.args,
            lldb=lldb_programs()[0],
            wrapper=session.wrapper,
            cwd=folder,
            plugin=not own,
        )
    return list(played.printed)


def differences(text: str) -> list[str]:
    """Replays a document, and returns a diff for each command that prints something else."""
    found = []

    def compare(command: Command, printed: str) -> None:
        if differs := difference(command, printed):
            found.append(f"line {command.line}:\n{differs}\n--- all that was printed\n{printed}")

    with tempfile.TemporaryDirectory(prefix="documents-") as name:
        shell = Shell(*prepare(Path(name)))
        try:
            for session in sessions(read_commands(text)):
                if not session.debugger:
                    compare(session.start, shell.run(session.start.text))
                    continue
                printed = play_debugger(session, shell.run("pwd").strip())
                for command, output in zip(session.commands, printed):
                    compare(command, output)
        finally:
            shell.close()
    return found


class TranscriptsTest(unittest.TestCase):
    def replay(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        typed = {
            word for command in read_commands(text) for word in re.split(r"[\s'=]+", command.text)
        }
        need_tools(*[tool for tool in TOOLS if tool in typed])
        if "lldb" in typed:
            need_lldb()
        need_perf()

        found = differences(text)
        if found:
            self.fail(f"{path.relative_to(SOURCE_ROOT)}, " + "\n\n".join(found))


def _add(path: Path) -> None:
    def test(self: TranscriptsTest) -> None:
        self.replay(path)

    if "qemu-system-arm" in path.read_text(encoding="utf-8"):
        test = large(test)
    name = re.sub(r"\W+", "_", str(path.relative_to(SOURCE_ROOT).with_suffix(""))).lower()
    setattr(TranscriptsTest, f"test_{name}", test)


for _path in documents(SOURCE_ROOT):
    _add(_path)


class RulesTest(unittest.TestCase):
    """The comparison itself, without any debugger."""

    def test_each_word_counts(self) -> None:
        """If a word of any transcript is changed, its comparison fails."""
        names = {path.relative_to(SOURCE_ROOT).as_posix() for path in documents(SOURCE_ROOT)}
        self.assertLessEqual({"README.md", "gdb/README.md", "lldb/README.md"}, names)
        for path in documents(SOURCE_ROOT):
            for command in read_commands(path.read_text(encoding="utf-8")):
                printed = "\n".join(command.shown).replace("…", "something")
                where = f"{path.relative_to(SOURCE_ROOT)}:{command.line}"
                self.assertEqual(difference(command, printed), "", where)
                for number, line in enumerate(command.shown):
                    for word in re.finditer(r"[^\W\d_]{2,}", line):
                        changed = list(command.shown)
                        changed[number] = f"{line[:word.end()]}x{line[word.end():]}"
                        self.assertNotEqual(
                            difference(replace(command, shown=tuple(changed)), printed),
                            "",
                            f"{where}: {changed[number]}",
                        )

    def test_numbers(self) -> None:
        table = (
            "12 ticks in total",
            "#   self%  self   incl%  incl  function  place",
            "1  75.00%     9  75.00%     9  seventy   spin7030.c:14",
            "2  25.00%     3  25.00%     3  thirty    spin7030.c:16",
            "(4 more; --limit 0 shows all)",
        )
        command = Command(1, "(gdb)", "profile report", table)
        printed = "\n".join(table)
        for old, new, same in (
            ("75.00%", "68.13%", True),
            ("     9  75.00%     9", " 0 1.00% 0", True),
            ("12 ticks", "1000 ticks", True),
            ("(4 more", "(11 more", True),
            ("c:14", "c:15", False),
            ("seventy   spin7030.c:14", "thirty spin7030.c:16", False),
            ("\n2 ", "\n3 ", False),
            ("(4 more; --limit 0 shows all)", "", False),
        ):
            with self.subTest(old=old, new=new):
                self.assertIn(old, printed)
                found = difference(command, printed.replace(old, new))
                self.assertEqual(found == "", same, found)

    def test_one_sample(self) -> None:
        command = Command(1, "$", "tally record", ("8 samples in 0.02 s, 0 lost",))
        self.assertEqual(difference(command, "1 sample in 0.02 s, 0 lost"), "")
        self.assertNotEqual(difference(command, "1 example in 0.02 s, 0 lost"), "")

    def test_rows_with_equal_shares(self) -> None:
        rows = ("#  self%  self  part", "1 33.40% 334 1 a", "2 33.30% 333 2 b", "3 9.00% 90 3 c")
        command = Command(1, "$", "tally report", rows)
        swapped = "\n".join([rows[0], "1 33.40% 334 2 b", "2 33.30% 333 1 a", rows[3]])
        self.assertEqual(difference(command, swapped), "")
        wrong = "\n".join([rows[0], rows[1], "2 9.00% 90 3 c", "3 33.30% 333 2 b"])
        self.assertNotEqual(difference(command, wrong), "")

    def test_other_commands_of_a_debugger(self) -> None:
        command = Command(1, "(gdb)", "run", ("Breakpoint 1, f () at a.c:3",))
        told = "Starting program\nBreakpoint 1, f () at ../src/a.c:3\n3\n"
        self.assertEqual(difference(command, told), "")
        self.assertNotEqual(difference(command, told.replace("a.c", "b.c")), "")
        self.assertNotEqual(difference(command, told + "Nothing was sampled\n"), "")

    def test_sessions(self) -> None:
        text = (
            "```\n$ echo a\na\n$ gdb -q --args ./p 1\n(gdb) run\n```\n"
            "```\n$ echo b\n```\n```c\nint x;\n```\n```\n(gdb) profile stop\n```\n"
        )
        found = sessions(read_commands(text))
        self.assertEqual([session.start.text for session in found][::2], ["echo a", "echo b"])
        self.assertEqual((found[1].program, found[1].args), ("./p", ("1",)))
        self.assertEqual([command.text for command in found[1].commands], ["run", "profile stop"])
        self.assertEqual([command.line for command in found[1].commands], [5, 14])
        with self.assertRaisesRegex(ValueError, "line 2: no session of lldb"):
            sessions(read_commands("```\n(lldb) run\n```\n"))

    def test_the_shell(self) -> None:
        with tempfile.TemporaryDirectory(prefix="documents-") as folder:
            shell = Shell(Path(folder), dict(os.environ))
            self.addCleanup(shell.close)
            self.assertEqual(shell.run("mkdir sub && cd sub"), "")
            self.assertEqual(shell.run("pwd; echo to >&2"), f"{os.path.realpath(folder)}/sub\nto\n")
            with self.assertRaisesRegex(AssertionError, "status 3"):
                shell.run("(exit 3)")


if __name__ == "__main__":
    run_unittests()
