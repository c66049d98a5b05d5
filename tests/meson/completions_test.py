"""Tests the completions for bash, which run the programs to get the words."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import MODULE
from support.programs import SOURCE_ROOT, command_line
from support.skips import need_tools, run_unittests

from tally_meson import arguments

FILE = SOURCE_ROOT / "lib" / "cli" / "completions.bash"
ENVIRONMENT = {
    **os.environ,
    "PYTHONDONTWRITEBYTECODE": "1",
    "PATH": os.pathsep.join(
        [str(Path(command_line()).parent), str(MODULE), "/usr/local/bin", "/usr/bin", "/bin"]
    ),
}


def completed(*words: str) -> list[str]:
    """Returns what Tab offers after these words; the last one is being typed."""
    done = subprocess.run(
        [
            "bash",
            "--norc",
            "-c",
            'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tally "$1"; '
            'for word in "${COMPREPLY[@]}"; do echo "$word"; done',
            str(FILE),
            *words,
        ],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == "", done.stderr
    return done.stdout.splitlines()


def help_of(*words: str) -> str:
    return subprocess.run(
        [*words, "--help"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    ).stdout


class Completions(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        need_tools("bash", "awk", "meson")

    def test_commands(self) -> None:
        commands = re.findall(
            r"^  ([a-z]+) ", help_of("tally").partition("Commands:")[2], re.MULTILINE
        )
        self.assertIn("coverage", commands)
        self.assertEqual(
            [word for word in completed("tally", "") if word[0] != "-"], sorted(commands)
        )
        self.assertEqual(completed("tally", "co"), ["convert", "coverage"])
        self.assertEqual(
            [word for word in completed("tally-meson", "") if word[0] != "-"],
            ["disable", "doctor", "enable", "report", "test"],
        )

    def test_options(self) -> None:
        for command in filter(str.isalpha, completed("tally", "")):
            options = set(
                re.findall(r"^  (?:-\w, )?(--[a-z-]+)", help_of("tally", command), re.MULTILINE)
            )
            # Short options are offered, too.
            offered = set(completed("tally", command, "-"))
            self.assertLessEqual({"-h", *options}, offered, command)
            self.assertEqual(set(completed("tally", command, "--")), options, command)
        self.assertEqual(completed("tally", "coverage", "--fail-under-b"), ["--fail-under-branch"])

    def test_options_of_tally_meson(self) -> None:
        offered = completed("tally-meson", "test", "--")
        for flag in arguments.FLAGS:
            self.assertIn(flag.name, offered)
        self.assertIn("--no-rebuild", offered)  # Meson's own
        self.assertNotIn("--coverage-keep", completed("tally-meson", "report", "--"))
        self.assertEqual(completed("tally-meson", "enable", "--"), ["--help", "--site", "--user"])
        self.assertEqual(completed("tally-meson", "doctor", "--"), ["--help"])

    def test_values(self) -> None:
        wanted = ["inclusive", "self"]
        self.assertEqual(completed("tally", "report", "--sort", ""), wanted)
        self.assertEqual(completed("tally", "report", "--sort", "=", ""), wanted)
        self.assertEqual(completed("tally", "report", "--sort", "="), wanted)
        self.assertEqual(completed("tally", "report", "--sort", "=", "s"), ["self"])

    def test_values_of_orders(self) -> None:
        wanted = ["branches", "file", "functions", "lines", "missed"]
        self.assertEqual(completed("tally", "coverage", "--sort", ""), wanted)
        for command in ("test", "report"):
            self.assertEqual(completed("tally-meson", command, "--coverage-sort", ""), wanted)

    def test_no_completion(self) -> None:
        """Without a completion, bash offers files."""
        self.assertEqual(completed("tally", "report", ""), [])
        self.assertEqual(completed("tally", "report", "--limit", ""), [])
        self.assertEqual(completed("tally", "record", "--", "./program", "--f"), [])
        self.assertEqual(completed("/nowhere/tally", ""), [])

    def test_loaded_for_both(self) -> None:
        done = subprocess.run(
            ["bash", "--norc", "-c", 'source "$0"; complete -p tally tally-meson', str(FILE)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        self.assertEqual(
            [line.split()[-1] for line in done.stdout.splitlines()], ["tally", "tally-meson"]
        )


if __name__ == "__main__":
    run_unittests()
