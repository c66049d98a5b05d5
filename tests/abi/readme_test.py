"""Tests lib/README.md: compiles and runs its examples exactly as they stand there, with its commands,
and compares what they print with the output that it shows. Its table names each header."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SANITIZED, SOURCE_ROOT, library
from support.skips import need_tools, run_unittests

README = SOURCE_ROOT / "lib/README.md"
INCLUDE = SOURCE_ROOT / "lib/include"


def blocks(text: str) -> list:
    """Returns (language, text) of each fenced block, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def play(text: str, folder: Path, environment: dict) -> list:
    """Does what a reader of the file does: saves each program under the name in its first line, runs
    each block of commands, and compares its output with the next block of text. Returns the
    languages of the blocks that were used."""
    played = []
    printed = ""
    for language, block in blocks(text):
        if language in ("c", "cpp"):
            name = re.match(r"/[/*] (\w+\.\w+): ", block)
            if not name:
                raise AssertionError(f"a program without a name: {block[:60]}")
            (folder / name[1]).write_text(block, encoding="utf-8")
            compiler = ["cc", "-std=c11"] if language == "c" else ["c++", "-std=c++20"]
            warnings = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", name[1]]
            run([*compiler, *warnings], folder, environment)
        elif language == "sh":
            printed = run(["sh", "-e", "-c", block], folder, environment)
        elif language == "text":
            if printed != block:
                raise AssertionError(f"printed:\n{printed}\nshown:\n{block}")
        else:
            continue
        played.append(language)
    return played


def run(argv: list, folder: Path, environment: dict) -> str:
    done = subprocess.run(
        argv,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(argv)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


class ReadmeTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("cc", "c++", "pkg-config", "gprof")
        folder = tempfile.TemporaryDirectory(prefix="readme-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_examples(self) -> None:
        if SANITIZED:
            self.skipTest("a program without sanitizers cannot use a library with them")
        build = os.environ.get("TALLY_BUILD_ROOT")
        if not build:
            self.skipTest("TALLY_BUILD_ROOT is not set: run this test by `meson test`")
        environment = {
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "LD_LIBRARY_PATH": os.pathsep.join(
                [os.path.dirname(library()), f"{os.path.dirname(library())}/src/mon"]
            ),
            "PKG_CONFIG_PATH": f"{build}/meson-uninstalled",  # the library in the build directory
        }
        played = play(README.read_text(encoding="utf-8"), self.folder, environment)
        self.assertEqual(
            played, ["sh", "c", "sh", "text", "cpp", "sh", "text", "c", "sh", "text", "sh"]
        )
        made = {path.name for path in self.folder.iterdir()}
        self.assertLessEqual({"app.callgrind", "gmon.out"}, made)

    def test_what_is_found(self) -> None:
        right = "```sh\necho one\n```\n```text\none\n```\n```meson\nfoo()\n```\n"
        self.assertEqual(play(right, self.folder, dict(os.environ)), ["sh", "text"])
        for wrong, message in (
            (right.replace("\none", "\ntwo"), "printed:\none\n"),
            (right.replace("echo one", "false; echo one"), "status 1"),
            ("```c\nint x;\n```\n", "without a name"),
            ("```c\n/* x.c: wrong */\nint x = y;\n```\n", "x.c"),
        ):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(AssertionError, message):
                play(wrong, self.folder, dict(os.environ))

    def test_the_table_of_headers(self) -> None:
        text = README.read_text(encoding="utf-8")
        rows = re.findall(r"^\| (`tally.*?) \|", text, flags=re.MULTILINE)
        named = [name for row in rows for name in re.findall(r"`([\w./]+\.h(?:pp)?)`", row)]
        there = [path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h*")]
        self.assertEqual(sorted(named), sorted(there))


if __name__ == "__main__":
    run_unittests()
