"""Tests the completions for bash, zsh and fish, which run the programs to get the words."""
from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Callable

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import MODULE
from support.programs import SOURCE_ROOT, command_line
from support.skips import need_tools, run_unittests

from tally_meson import flag_table

FOLDER = SOURCE_ROOT / "lib" / "cli"
ENVIRONMENT = {
    **os.environ,
    "PATH": os.pathsep.join(
        [str(Path(command_line()).parent), str(MODULE), "/usr/local/bin", "/usr/bin", "/bin"]
    ),
}


def output_of(words: list[str], **environment: str) -> str:
    done = subprocess.run(
        words,
        env={**ENVIRONMENT, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == "", done.stderr
    return done.stdout


def help_of(*words: str) -> str:
    return output_of([*words, "--help"])


class Completed(unittest.TestCase):
    """What each shell must offer."""

    shell = ""

    @classmethod
    def setUpClass(cls) -> None:
        need_tools(cls.shell, "awk", "meson")

    def completed(self, *words: str) -> list[str]:
        """Returns what Tab offers after these words, sorted; the last one is being typed."""
        raise NotImplementedError

    def test_commands(self) -> None:
        commands = re.findall(
            r"^  ([a-z]+) ", help_of("tally").partition("Commands:")[2], re.MULTILINE
        )
        self.assertIn("coverage", commands)
        self.assertEqual(
            [word for word in self.completed("tally", "") if word[0] != "-"], sorted(commands)
        )
        self.assertEqual(self.completed("tally", "co"), ["convert", "coverage"])
        self.assertEqual(
            [word for word in self.completed("tally-meson", "") if word[0] != "-"],
            ["disable", "doctor", "enable", "report", "test"],
        )
        self.assertEqual(self.completed("tally", "-"), ["--help", "--version", "-h"])

    def test_options(self) -> None:
        for command in re.findall(
            r"^  ([a-z]+) ", help_of("tally").partition("Commands:")[2], re.MULTILINE
        ):
            options = {
                option
                for names in re.findall(
                    r"^  (-[^ ,]+(?:, -[^ ,]+)*)", help_of("tally", command), re.M
                )
                for option in names.split(", ")
                if option.startswith("--")
            }
            # Short options are offered, too.
            offered = set(self.completed("tally", command, "-"))
            self.assertLessEqual({"-h", *options}, offered, command)
            self.assertEqual(set(self.completed("tally", command, "--")), options, command)
        self.assertEqual(self.completed("tally", "setup", ""), ["gdb", "lldb"])
        self.assertEqual(
            self.completed("tally", "coverage", "--fail-under-b"), ["--fail-under-branch"]
        )

    def test_options_of_tally_meson(self) -> None:
        offered = self.completed("tally-meson", "test", "--")
        for flag in flag_table.FLAGS:
            self.assertIn(flag.name, offered)
        self.assertIn("--no-rebuild", offered)  # Meson's own
        self.assertNotIn("--coverage-keep", self.completed("tally-meson", "report", "--"))
        self.assertEqual(
            self.completed("tally-meson", "enable", "--"), ["--help", "--site", "--user"]
        )
        self.assertEqual(self.completed("tally-meson", "doctor", "--"), ["--help"])

    def test_values(self) -> None:
        self.assertEqual(self.completed("tally", "report", "--sort", ""), ["inclusive", "self"])
        self.assertEqual(self.completed("tally", "report", "--sort", "s"), ["self"])

    def test_formats(self) -> None:
        reports = self.completed("tally", "coverage", "--report", "")
        self.assertLessEqual({"html", "lcov", "text", "sonarqube"}, set(reports))
        self.assertEqual(self.completed("tally", "coverage", "--report", "co"), ["cobertura"])
        self.assertEqual(self.completed("tally", "convert", "--to", "fo"), ["folded"])
        self.assertIn("speedscope", self.completed("tally", "convert", "--to", ""))
        self.assertEqual(self.completed("tally", "report", "--from", "perf-s"), ["perf-script"])
        self.assertEqual(self.completed("tally-meson", "test", "--coverage-report", ""), reports)

    def test_values_of_orders(self) -> None:
        wanted = ["branches", "file", "functions", "lines", "missed"]
        self.assertEqual(self.completed("tally", "coverage", "--sort", ""), wanted)
        for command in ("test", "report"):
            self.assertEqual(self.completed("tally-meson", command, "--coverage-sort", ""), wanted)


class Bash(Completed):
    shell = "bash"

    def completed(self, *words: str) -> list[str]:
        return output_of(
            [
                "bash",
                "--norc",
                "-c",
                'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tally "$1"; '
                'for word in "${COMPREPLY[@]}"; do echo "$word"; done',
                str(FOLDER / "completions.bash"),
                *words,
            ]
        ).splitlines()

    def test_values_after_an_equals_sign(self) -> None:
        """bash splits the words there."""
        wanted = ["inclusive", "self"]
        self.assertEqual(self.completed("tally", "report", "--sort", "=", ""), wanted)
        self.assertEqual(self.completed("tally", "report", "--sort", "="), wanted)
        self.assertEqual(self.completed("tally", "report", "--sort", "=", "s"), ["self"])

    def test_no_completion(self) -> None:
        """Without a completion, bash offers files."""
        self.assertEqual(self.completed("tally", "report", ""), [])
        self.assertEqual(self.completed("tally", "report", "--limit", ""), [])
        self.assertEqual(self.completed("tally", "record", "--", "./program", "--f"), [])
        self.assertEqual(self.completed("/nowhere/tally", ""), [])

    def test_a_relative_path_is_not_run(self) -> None:
        """Whoever wrote the directory may have put a program there: that of PATH is asked."""
        with tempfile.TemporaryDirectory() as folder:
            planted = Path(folder) / "tally"
            planted.write_text(f"#!/bin/sh\ntouch {folder}/ran\n", encoding="utf-8")
            planted.chmod(0o755)
            found = self.completed(os.path.relpath(planted), "")
            self.assertEqual(os.listdir(folder), ["tally"])
            self.assertIn("report", found)

    def test_loaded_for_both(self) -> None:
        done = output_of(
            [
                "bash",
                "--norc",
                "-c",
                'source "$0"; complete -p tally tally-meson',
                str(FOLDER / "completions.bash"),
            ]
        )
        self.assertEqual([line.split()[-1] for line in done.splitlines()], ["tally", "tally-meson"])


class WithFiles(Completed):
    """A shell whose completions offer the names of files themselves."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="completions-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.work = self.folder / "work"
        self.work.mkdir()
        (self.work / "a.folded").touch()

    def test_files(self) -> None:
        self.assertEqual(self.completed("tally", "report", ""), ["a.folded"])
        self.assertEqual(self.completed("tally", "report", "--limit", ""), ["a.folded"])
        self.assertEqual(self.completed("tally", "record", "--", "cat", "a"), ["a.folded"])
        self.assertEqual(self.completed("/nowhere/tally", "a"), ["a.folded"])


class Fish(WithFiles):
    shell = "fish"

    def described(self, *words: str) -> dict[str, str]:
        """Returns the offered words with their descriptions. Loads the file under both names."""
        loaded = []
        for name in ("tally", "tally-meson"):
            loaded.append(self.folder / f"{name}.fish")
            loaded[-1].write_bytes((FOLDER / "completions.fish").read_bytes())
        text = output_of(
            [
                "fish",
                "--no-config",
                "-c",
                f"source {loaded[0]}; source {loaded[1]}; cd {self.work}; "
                f"complete -C '{' '.join(words)}'",
            ],
            HOME=str(self.folder),
        )
        lines = text.splitlines()
        self.assertEqual(len(lines), len(set(lines)), "a word is offered twice")
        return {word: about for word, _, about in (line.partition("\t") for line in lines)}

    def completed(self, *words: str) -> list[str]:
        return sorted(self.described(*words))

    def test_values_after_an_equals_sign(self) -> None:
        self.assertEqual(
            self.completed("tally", "report", "--sort="), ["--sort=inclusive", "--sort=self"]
        )

    def test_descriptions(self) -> None:
        self.assertEqual(
            self.described("tally", "rec"),
            {"record": "sample a program or a process, and write its profile"},
        )
        self.assertEqual(
            self.described("tally", "coverage", "--fail-under-b"),
            {
                "--fail-under-branch": "exit with status 3 if a smaller part of the branches "
                "was taken"
            },
        )
        self.assertEqual(
            self.described("tally", "report", "--mem"),
            {
                "--memory-limit": "the most memory that reading a file may take, such as 4G "
                "(default: 1G, or 64 times the file's size)"
            },
        )
        self.assertEqual(
            self.described("tally-meson", "report", "--coverage-ex"),
            {
                "--coverage-exclude": "Leave out files whose path matches RE. May be repeated.",
                "--coverage-exclude-lines": "Leave out the lines whose text in the source matches "
                "RE. May be repeated.",
            },
        )


# Makes zsh write the words that it would offer to the file $OFFERED, and at last a line that says
# so. Calls of compadd with -O, -A or -D offer nothing.
ZSH_SETUP = r"""
fpath=($SITE_FUNCTIONS $fpath)
autoload -Uz compinit && compinit -u -D
LISTMAX=100000
compadd() {
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    local -a words_offered
    builtin compadd -A words_offered "$@"
    print -rl -- $words_offered >>$OFFERED
  fi
  builtin compadd "$@"
}
write_end() {
  print -r -- "(end)" >>$OFFERED
  comppostfuncs=(write_end) # each is called only once
}
comppostfuncs=(write_end)
bindkey '^I' complete-word
PS1='ready> '
"""


class Zsh(WithFiles):
    """Drives zsh on a terminal, because its completion works nowhere else."""

    shell = "zsh"

    def setUp(self) -> None:
        super().setUp()
        functions = self.folder / "functions"
        functions.mkdir()
        (functions / "_tally").write_bytes((FOLDER / "completions.zsh").read_bytes())
        (self.folder / "setup").write_text(ZSH_SETUP, encoding="utf-8")
        self.offered = self.folder / "offered"
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(self.work)
            environment = {
                **ENVIRONMENT,
                "HOME": str(self.folder),
                "OFFERED": str(self.offered),
                "SITE_FUNCTIONS": str(functions),
                "TERM": "dumb",
            }
            try:
                os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
            finally:
                os._exit(127)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.close, self.terminal)
        self.shown = b""
        os.write(self.terminal, b"source ../setup\n")
        self.read_until(lambda: b"ready> " in self.shown)

    def read_until(self, done: Callable[[], bool]) -> None:
        """Reads what zsh prints until the function returns true."""
        end = time.monotonic() + 20
        while not done():
            self.assertLess(time.monotonic(), end, self.shown)
            if select.select([self.terminal], [], [], 0.02)[0]:
                self.shown += os.read(self.terminal, 65536)

    def completed(self, *words: str) -> list[str]:
        self.offered.write_text("", encoding="utf-8")
        os.write(self.terminal, " ".join(words).encode() + b"\t")
        self.read_until(lambda: "(end)\n" in self.offered.read_text(encoding="utf-8"))
        os.write(self.terminal, b"\x15")  # Ctrl-U discards the line
        offered = self.offered.read_text(encoding="utf-8").splitlines()
        return sorted({word for word in offered if word not in ("", "(end)")})

    def test_values_after_an_equals_sign(self) -> None:
        self.assertEqual(self.completed("tally", "report", "--sort="), ["inclusive", "self"])
        self.assertEqual(self.completed("tally", "report", "--sort=s"), ["self"])

    def test_nothing_is_evaluated(self) -> None:
        """What was typed was not entered: the completion must not run it."""
        for words in (("tally", "$(touch run)", "--li"), ("$(touch run)tally", "report", "--li")):
            with self.subTest(words):
                self.completed(*words)
                self.assertFalse((self.work / "run").exists())

    def test_an_argument_after_an_option_without_a_value(self) -> None:
        self.assertEqual(self.completed("tally", "setup", "--undo", ""), ["gdb", "lldb"])

    def test_both_programs(self) -> None:
        first = (FOLDER / "completions.zsh").read_text(encoding="utf-8").splitlines()[0]
        self.assertEqual(first, "#compdef tally tally-meson")


del Completed, WithFiles  # unittest would run them by themselves

if __name__ == "__main__":
    run_unittests()
