"""`tally coverage` and `tally zero` of a build folder; what changed; tests told apart."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line
from support.skips import missing_tool, need_tools, run_unittests, skip_script

MAIN = """\
int one(int x) {
  return x + 1;
}
int two(int x) {
  return x + 2;
}
int main(int argc, char **argv) {
  (void)argv;
  if (argc == 2)
    return one(-1);
  if (argc == 3)
    return two(-2);
  return 0;
}
"""
ALL_LINES = 10


class BuildFolderTest(unittest.TestCase):
    """`main` calls one() with an argument and two() with two; `stale` is of no build any more."""

    def setUp(self) -> None:
        self.project = Path(os.path.realpath(tempfile.mkdtemp(prefix="build-")))
        self.addCleanup(shutil.rmtree, self.project)
        self.build = self.project / "build"
        self.build.mkdir()
        (self.project / "main.c").write_text(MAIN, encoding="utf-8")
        (self.project / "stale.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
        for name in ("main", "stale"):
            self.command("gcc", "--coverage", "-O0", "-c", f"../{name}.c", "-o", f"{name}.c.o")
            self.command("gcc", "--coverage", f"{name}.c.o", "-o", name)
            self.command(f"./{name}")
        self.describe({"output": "main.c.o"})

    def describe(self, entry: dict) -> None:
        entries = [{"directory": str(self.build), "file": "../main.c", **entry}]
        (self.build / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")

    def command(self, *words: str, **environment: str) -> None:
        subprocess.run(words, cwd=self.build, check=True, timeout=60,
                       env={**os.environ, **environment})

    def tally(self, *words: str, status: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run([command_line(), *words], cwd=self.project, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def rows(self, *words: str) -> dict[str, list[str]]:
        """{first cell: the others}, of all tables."""
        lines = self.tally("coverage", "--build", "build", *words).stdout.splitlines()
        cells = (line.partition("  ") for line in lines if line)
        return {name: others.split() for name, _, others in cells}

    def test_objects_of_earlier_builds_do_not_count(self) -> None:
        here = str(self.build)
        for entry in ({"output": "main.c.o"}, {"output": f"{here}/main.c.o"},
                      {"command": r"cc 'x y' -DX=\" -c ../main.c -o main.c.o"},
                      {"arguments": ["cc", "-o", "main.c.o", "-c", "../main.c"]}):
            self.describe(entry)
            rows = self.rows()
            self.assertIn("main.c", rows, entry)
            self.assertNotIn("stale.c", rows, entry)
        self.assertIn("stale.c", self.tally("coverage", "build").stdout)

    def test_databases_that_are_none(self) -> None:
        database = self.build / "compile_commands.json"
        for text, said in (("[{]", "compile_commands.json:0x2: is no JSON"), ("{}", "no array"),
                           ("[1]", "no object"), ("[{}]", "there are no counters")):
            database.write_text(text, encoding="utf-8")
            done = self.tally("coverage", "--build", "build", status=4 if text == "[{}]" else 1)
            self.assertIn(said, done.stderr)
        database.unlink()
        for command in ("coverage", "zero"):
            self.assertIn("cannot open", self.tally(command, "--build", "build", status=1).stderr)

    def test_zero(self) -> None:
        elsewhere = self.build / "notes-less.gcda"
        elsewhere.write_bytes((self.build / "main.c.gcda").read_bytes())
        self.tally("zero", "--build", "build")
        self.assertEqual(sorted(path.name for path in self.build.glob("*.gcda")),
                         ["notes-less.gcda", "stale.c.gcda"])
        done = self.tally("coverage", "--build", "build", "--fail-under", "1", status=4)
        self.assertIn("nothing was counted", done.stderr)
        self.command("./main", "1")
        self.assertEqual(self.rows()["main.c"][1], f"5/{ALL_LINES}")
        self.tally("zero", status=2)

    def test_lines_that_changed(self) -> None:
        need_tools("git")
        git = ["git", "-C", str(self.project), "-c", "user.name=T", "-c", "user.email=t@t"]
        for words in (["init", "-q"], ["add", "main.c", "stale.c"], ["commit", "-qm", "first"]):
            subprocess.run(git + words, check=True, timeout=60)
        done = self.tally("coverage", "--build", "build", "--diff", "HEAD", "--fail-under", "100")
        self.assertIn("no line that could run has changed since HEAD", done.stderr)
        source = self.project / "main.c"
        source.write_text(MAIN.replace("x + 2", "x + 1 + 1").replace("return 0", "return 1 - 1"),
                          encoding="utf-8")
        done = self.tally("coverage", "--build", "build", "--diff", "HEAD", "--fail-under", "80",
                          status=3)
        self.assertRegex(done.stdout, r"(?m)^TOTAL +50\.0% +1/2 ")
        self.assertIn("1 of 2 lines ran", done.stderr)
        self.assertIn("git diff failed",
                      self.tally("coverage", "--diff", "no-such", "build", status=1).stderr)
        self.tally("coverage", "--diff=--output=x", "build", status=2)
        self.assertFalse((self.project / "x").exists())

    def run_tests(self) -> Path:
        """By two tests, one of them twice, and one that leaves no counters."""
        self.tally("zero", "--build", "build")
        tree = self.project / "tree"
        tree.mkdir()
        runs = [("first", ["1"]), ("second", ["1", "2"]), ("second", ["1", "2"]), ("killed", None)]
        for number, (_, arguments) in enumerate(runs, 1):
            if arguments is not None:
                self.command("./main", *arguments, GCOV_PREFIX=str(tree / str(number)))
                self.tally("coverage", "--harvest", str(tree / str(number)))
            self.assertFalse((tree / str(number)).exists())
        tests = [{"n": number, "name": name} for number, (name, _) in enumerate(runs, 1)]
        (tree / "tests.json").write_text(json.dumps(tests), encoding="utf-8")
        return tree

    def test_tests_told_apart(self) -> None:
        tree = self.run_tests()
        rows = self.rows("--per-test", str(tree), "--report", "lcov:all.info")
        self.assertEqual(rows["main.c"][1], f"9/{ALL_LINES}")
        self.assertEqual(rows["first"], ["5", "3"])
        self.assertEqual(rows["second"], ["6", "4"])
        self.assertEqual(rows["killed"], ["no", "data"])
        for line, names in ((2, "first\n"), (5, "second\n"), (7, "first\nsecond\n")):
            told = self.tally("coverage", "--which-tests", f"main.c:{line}", "all.info").stdout
            self.assertEqual(told, names)
        text = (self.project / "all.info").read_text(encoding="utf-8")
        self.assertEqual(text.count("TN:"), 3, text)
        # Together they are what one run after the other would have counted.
        self.tally("zero", "--build", "build")
        for arguments in (["1"], ["1", "2"], ["1", "2"]):
            self.command("./main", *arguments)
        together = self.tally("coverage", "--build", "build", "--report", "lcov:together.info")
        self.assertIn(f"9/{ALL_LINES}", together.stdout)
        self.tally("convert", "all.info", "-o", "sum.callgrind")
        self.tally("convert", "together.info", "-o", "together.callgrind")
        self.assertEqual((self.project / "sum.callgrind").read_text(encoding="utf-8").splitlines()[2:],
                         (self.project / "together.callgrind").read_text(
                             encoding="utf-8").splitlines()[2:])

    def test_nothing_to_harvest(self) -> None:
        self.tally("coverage", "--harvest", str(self.project / "none"))
        self.assertTrue((self.project / "none.counters").exists())
        self.assertIn("is no folder", self.tally("coverage", "--harvest", "main.c", status=1).stderr)

    def test_what_no_test_told(self) -> None:
        tree = self.run_tests()
        self.command("./main")  # by nobody: in the build folder
        rows = self.rows("--per-test", str(tree))
        self.assertEqual(rows["main.c"][1], f"{ALL_LINES}/{ALL_LINES}")
        self.assertEqual(rows["(no test)"], ["4", "1"])

    def test_counters_that_are_damaged(self) -> None:
        tree = self.run_tests()
        packed = tree / "1.counters"
        whole = packed.read_bytes()
        for bytes_of, said in ((b"", "no file of packed counters"), (whole[:30], "truncated"),
                               (whole[:-1], "truncated"),
                               (whole[:-9] + bytes(9), "cannot be inflated")):
            packed.write_bytes(bytes_of)
            done = self.tally("coverage", "--build", "build", "--per-test", "tree",
                              status=4 if "inflated" in said else 1)
            self.assertIn("1.counters:0x", done.stderr)
            self.assertIn(said, done.stderr)
        (tree / "tests.json").write_text('[{"n": 1}]', encoding="utf-8")
        self.assertIn("expected a test's n and name",
                      self.tally("coverage", "--per-test", "tree", "build", status=1).stderr)


if __name__ == "__main__":
    if missing_tool("gcc"):
        skip_script("gcc is missing")
    run_unittests()
