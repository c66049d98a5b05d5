"""`tally` on a terminal: when it prints colours, and when it does not."""
import os
import pty
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line
from support.skips import run_unittests
from support.terminal import read_to_end

FOLDED = "main;parse;lex 30\nmain;parse 20\nmain;write 49\nmain 1\n"


def shown(words: list[str], **changes: str) -> str:
    """Returns the text that a terminal receives."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment.update({"TERM": "xterm", **changes})
    master, slave = pty.openpty()
    with subprocess.Popen(
        [command_line(), *words],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        env=environment,
    ) as process:
        os.close(slave)
        out = read_to_end(master)
    os.close(master)
    assert process.returncode == 0, out
    return out.decode().replace("\r", "")


class ColoursTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "x.folded")
        Path(self.path).write_text(FOLDED, encoding="utf-8")
        other = os.path.join(folder.name, "y.folded")
        Path(other).write_text(FOLDED.replace("49", "4"), encoding="utf-8")
        self.commands = [
            ["report", self.path],
            ["report", self.path, "--limit", "1"],
            ["tree", self.path],
            ["tree", self.path, "lex", "--callers"],
            ["diff", self.path, other],
            ["annotate", self.path, "parse"],
        ]

    def test_on_a_terminal(self) -> None:
        for words in self.commands:
            with self.subTest(words):
                text = shown(words)
                self.assertRegex(text, "\x1b\\[\\d+m")
                # The escape sequences take no column.
                self.assertEqual(re.sub("\x1b\\[[0-9;]*m", "", text), shown(words, NO_COLOR="1"))

    def test_no_colours_without_a_terminal_that_has_them(self) -> None:
        for words in self.commands:
            with self.subTest(words):
                for changes in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
                    self.assertNotIn("\x1b", shown(words, **changes))
                self.assertIn("\x1b", shown(words, NO_COLOR=""))  # as no-color.org specifies
                self.assertNotIn("\x1b", shown([words[0], *words[1:], "--json"]))
                piped = subprocess.run(
                    [command_line(), *words],
                    capture_output=True,
                    text=True,
                    check=True,
                    env={**os.environ, "TERM": "xterm"},
                ).stdout
                self.assertNotIn("\x1b", piped)


if __name__ == "__main__":
    run_unittests()
