"""`tally coverage --baseline`: what fails, what an update writes, and how Git merges the file."""
from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict, Optional, Tuple

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line
from support.skips import missing_tool, run_unittests

Share = Tuple[int, int]
HEAD = "tally-coverage-baseline 1\n"
BASE = "baseline.txt"


def text_of(files: Dict[str, Share]) -> str:
    return HEAD + "".join(
        f"file {path}\nlines {ran} of {lines}: {path}\nend {path}\n"
        for path, (ran, lines) in sorted(files.items())
    )


class BaselineTest(unittest.TestCase):
    maxDiff = 3000

    def setUp(self) -> None:
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="baseline-")))
        self.addCleanup(shutil.rmtree, self.folder)
        self.base = self.folder / BASE

    def put(self, files: Dict[str, Share], branches: Optional[Dict[str, Share]] = None) -> None:
        """Writes a tracefile and the sources that it names. The first lines are those that ran."""
        text = ""
        for path, (ran, lines) in files.items():
            source = self.folder / path
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text("x\n" * lines, encoding="utf-8")
            text += f"SF:{source}\n"
            taken, all_branches = (branches or {}).get(path, (0, 0))
            for i in range(all_branches):
                text += f"BRDA:{i + 1},0,0,{int(i < taken)}\n"
            text += "".join(f"DA:{i + 1},{int(i < ran)}\n" for i in range(lines))
            text += "end_of_record\n"
        (self.folder / "all.info").write_text(text, encoding="utf-8")

    def run_in(self, status: int, *words: str) -> str:
        """Returns what is printed on standard error."""
        done = subprocess.run(
            [command_line(), "coverage", "all.info", "--baseline", BASE, *words],
            cwd=self.folder,
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        if status != 2:
            self.assertIn("TOTAL", done.stdout)
        return done.stderr

    def test_a_ratchet(self) -> None:
        self.put({"src/a.c": (30, 36), "b.c": (1, 1)})
        self.assertEqual(
            self.run_in(1),
            f"tally: {BASE}: there is no such file: --update-baseline makes it (tally-meson: "
            "--coverage-update)\n",
        )
        self.assertFalse(self.base.exists())
        self.assertEqual(self.run_in(0, "--update-baseline"), f"tally: wrote {BASE}: 2 files\n")
        self.assertEqual(self.run_in(0), "")
        self.put({"src/a.c": (35, 36), "b.c": (1, 1)})
        self.assertEqual(self.run_in(0), "")
        self.assertEqual(self.run_in(0, "--update-baseline"), f"tally: updated {BASE}: 1 raised\n")
        kept = self.base.read_bytes()
        self.put({"src/a.c": (33, 36), "b.c": (1, 1), "c.c": (1, 1)})
        fallen = (
            "tally: src/a.c: 33 of 36 lines ran, 35 of 36 in the baseline: not run now: 34-36\n"
            "tally: src/: 33 of 36 lines ran, 35 of 36 in the baseline\n"
            "tally: in total: 35 of 38 lines ran, 36 of 37 in the baseline\n"
        )
        self.assertEqual(self.run_in(3), fallen)
        self.assertEqual(
            self.run_in(3, "--update-baseline"), fallen + f"tally: {BASE} is not updated\n"
        )
        self.assertEqual(self.base.read_bytes(), kept)
        # A new file comes, another one is gone, and the third has fewer lines.
        (self.folder / "b.c").unlink()
        self.put({"src/a.c": (17, 18), "c.c": (1, 1)})
        self.assertEqual(
            self.run_in(0, "--update-baseline"),
            f"tally: updated {BASE}: 1 changed, 1 new, 1 removed\n",
        )
        self.assertEqual(self.run_in(0, "--update-baseline"), f"tally: {BASE} is up to date\n")
        self.assertEqual(
            [line for line in self.base.read_text().splitlines()[1:] if line[0] != "#"],
            text_of({"c.c": (1, 1), "src/a.c": (17, 18)}).splitlines()[1:],
        )
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.txt*")), [BASE])

    def test_branches(self) -> None:
        self.put({"a.c": (5, 5)}, {"a.c": (3, 4)})
        self.run_in(0, "--update-baseline")
        self.put({"a.c": (5, 5)}, {"a.c": (2, 4)})
        self.assertEqual(
            self.run_in(3),
            "tally: a.c: 2 of 4 branches were taken, 3 of 4 in the baseline: lines with branches "
            "not taken now: 3, 4\n"
            "tally: in total: 2 of 4 branches were taken, 3 of 4 in the baseline\n",
        )
        self.put({"a.c": (5, 5)})
        self.assertEqual(
            self.run_in(0),
            f"tally: {BASE}: its branches are not compared, because there are none now\n",
        )

    def test_new_files(self) -> None:
        self.put({"a.c": (9, 10)})
        self.run_in(0, "--update-baseline", "--fail-under-new", "100")
        self.put({"a.c": (9, 10), "new.c": (7, 10)})
        self.assertIn("in total: 16 of 20 lines ran, 9 of 10", self.run_in(3))
        self.assertEqual(self.run_in(0, "--fail-under-new", "70"), "")
        self.assertEqual(
            self.run_in(3, "--fail-under-new=70.5", "--update-baseline"),
            "tally: new.c: 7 of 10 lines ran of a new file: 70.00%, less than 70.5%: not run now: "
            f"8-10\ntally: {BASE} is not updated\n",
        )

    def test_a_partial_run(self) -> None:
        self.put({"a.c": (9, 10), "b.c": (9, 10), "c.c": (1, 1)})
        self.run_in(0, "--update-baseline")
        (self.folder / "c.c").unlink()
        self.put({"a.c": (10, 10)})
        partial = (
            "tally: this run is partial: 1 of 3 files of the baseline has no counts now: b.c\n"
        )
        self.assertEqual(self.run_in(0), partial)
        self.assertEqual(
            self.run_in(0, "--update-baseline"),
            partial + f"tally: {BASE}: nothing is removed, because not all was counted\n"
            f"tally: updated {BASE}: 1 raised\n",
        )
        self.assertIn("lines 9 of 10: b.c\n", self.base.read_text())
        self.assertIn("file c.c\n", self.base.read_text())

    def test_nothing_in_common(self) -> None:
        """A baseline of other paths guards nothing."""
        self.put({"src/a.c": (0, 36)})
        kept = text_of({"lib/src/a.c": (36, 36)})
        self.base.write_text(kept, encoding="utf-8")
        for words in ((), ("--update-baseline",)):
            self.assertIn("none of its 1 file was counted", self.run_in(4, *words))
        self.assertEqual(self.base.read_text(encoding="utf-8"), kept)

    def test_thresholds_precede_updates(self) -> None:
        self.put({"src/a.c": (30, 36)})
        failing = ("--update-baseline", "--fail-under", "90")
        self.assertIn(f"{BASE} is not written, because a threshold", self.run_in(3, *failing))
        self.assertFalse(self.base.exists())
        self.run_in(0, "--update-baseline")
        kept = self.base.read_bytes()
        self.put({"src/a.c": (31, 36)})
        self.assertIn(f"{BASE} is not updated, because a threshold", self.run_in(3, *failing))
        self.assertEqual(self.base.read_bytes(), kept)

    def test_filters(self) -> None:
        """What the patterns leave out is neither compared nor changed."""
        self.put({"a.c": (9, 10), "sub/b.c": (9, 10)})
        self.run_in(0, "--update-baseline")
        self.put({"a.c": (10, 10), "sub/b.c": (1, 10)})
        self.assertEqual(
            self.run_in(0, "--exclude=^sub/", "--update-baseline"),
            f"tally: updated {BASE}: 1 raised\n",
        )
        self.assertIn("lines 9 of 10: sub/b.c\n", self.base.read_text())
        self.assertIn("tally: sub/b.c: 1 of 10", self.run_in(3, "--filter", "^sub/"))

    def test_many_losses(self) -> None:
        self.put({f"f{i}.c": (2, 2) for i in range(30)})
        self.run_in(0, "--update-baseline")
        self.put({f"f{i}.c": (1, 2) for i in range(30)})
        lines = self.run_in(3).splitlines()
        self.assertEqual(len(lines), 21)
        self.assertEqual(lines[-1], "tally: and 11 more are below the baseline")

    def test_bad_baselines(self) -> None:
        self.put({"a.c": (1, 1)})
        for text, error in (
            ("", "1:1: is empty: expected 'tally-coverage-baseline 1'"),
            (HEAD + "file a.c\nlines 2 of 1: a.c\n", "3:7: 2 is more than 1"),
            (HEAD + "end a.c", "2:1: truncated: the last line has no line break"),
        ):
            self.base.write_text(text, encoding="utf-8")
            for words in ((), ("--update-baseline",)):
                self.assertEqual(self.run_in(1, *words), f"tally: {BASE}:{error}\n")
            self.assertEqual(self.base.read_text(encoding="utf-8"), text)

    def test_bad_command_lines(self) -> None:
        self.put({"a.c": (1, 1)})
        for words, error in (
            (["--diff=HEAD"], "--baseline: cannot be used with --diff"),
            (["--which-tests=a.c:1"], "--baseline: cannot be used with --which-tests"),
            (["--fail-under-new=101"], "--fail-under-new: expected 0 to 100"),
            (["--baseline=-"], "--baseline: "),
            (["--baseline=x.gz"], "--baseline: "),
        ):
            self.assertIn(error, self.run_in(2, *words))
        done = subprocess.run(
            [command_line(), "coverage", "--update-baseline"],
            cwd=self.folder,
            text=True,
            capture_output=True,
            check=False,
        )
        self.assertEqual(
            (done.returncode, done.stderr.splitlines()[0]),
            (2, "tally: --update-baseline: requires --baseline"),
        )

    # Merges.

    def git(self, *words: str, status: int = 0) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words],
            cwd=self.folder,
            text=True,
            capture_output=True,
            check=False,
            env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"},
        )
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def merged(
        self, before: Dict[str, Share], one: Dict[str, Share], two: Dict[str, Share], status: int
    ) -> str:
        """Merges two branches, and returns the baseline."""
        shutil.rmtree(self.folder / ".git", ignore_errors=True)
        self.git("init", "-q", "-b", "main")
        for branch, start, files in (
            ("base", "", before),
            ("one", "base", one),
            ("two", "base", two),
        ):
            self.git("checkout", "-q", "-b", branch, *([start] if start else []))
            self.base.write_text(text_of(files), encoding="utf-8")
            self.git("add", "-A")
            self.git("commit", "-q", "--allow-empty", "-m", branch)
        self.git("merge", "-q", "--no-edit", "one", status=status)
        return self.base.read_text(encoding="utf-8")

    @unittest.skipIf(missing_tool("git"), "git is not installed")
    def test_branches_of_git_merge(self) -> None:
        (self.folder / ".gitignore").write_text("all.info\n*.c\n", encoding="utf-8")
        before = {"a.c": (1, 9), "b.c": (1, 9), "c.c": (1, 9)}
        for one, two in (
            ({**before, "a.c": (2, 9)}, {**before, "b.c": (2, 9)}),  # neighbours
            ({**before, "a.c": (2, 8)}, {**before, "aa.c": (1, 9)}),  # after a changed one
            ({**before, "b.c": (2, 9)}, {**before, "aa.c": (1, 9)}),  # before a changed one
            ({**before, "a.c": (2, 9)}, {"a.c": (1, 9), "c.c": (1, 9)}),  # b.c is gone
            ({**before, "a0.c": (1, 9)}, {**before, "b0.c": (1, 9)}),  # not neighbours
        ):
            both = {**before, **{p: v for p, v in one.items() if before.get(p) != v}}
            both.update({p: v for p, v in two.items() if before.get(p) != v})
            both = {p: v for p, v in both.items() if p not in before or p in one and p in two}
            with self.subTest(one=one, two=two):
                self.assertEqual(self.merged(before, one, two, 0), text_of(both))

    @unittest.skipIf(missing_tool("git"), "git is not installed")
    def test_a_union_of_two_branches(self) -> None:
        before = {"a.c": (1, 9), "c.c": (1, 9)}
        one = {"a.c": (3, 9), "b.c": (2, 9), "c.c": (1, 9)}
        two = {"a.c": (2, 9), "b0.c": (2, 9), "c.c": (1, 9)}
        (self.folder / ".gitignore").write_text("all.info\n*.c\n", encoding="utf-8")
        self.merged(before, one, two, 1)
        self.put({"a.c": (2, 9), "b.c": (2, 9), "b0.c": (2, 9), "c.c": (1, 9)})
        self.assertIn("a merge left a conflict here", self.run_in(1))
        (self.folder / ".gitattributes").write_text(f"{BASE} merge=union\n", encoding="utf-8")
        self.merged(before, one, two, 0)
        self.assertEqual(self.run_in(0), "")
        self.run_in(0, "--update-baseline")
        for path in ("a.c", "b.c", "b0.c"):
            files = {"a.c": (2, 9), "b.c": (2, 9), "b0.c": (2, 9), "c.c": (1, 9), path: (1, 9)}
            self.put(files)
            self.assertIn(f"tally: {path}: 1 of 9 lines ran, 2 of 9", self.run_in(3))

    @unittest.skipIf(missing_tool("git"), "git is not installed")
    def test_any_union_is_read(self) -> None:
        """The union of any two sides is read, and requires no more than the lower of both."""
        chosen = random.Random(1)
        names = [f"{name}.c" for name in "abcdefgh"]

        def changed(files: Dict[str, Share]) -> Dict[str, Share]:
            out = dict(files)
            for path in names:
                what = chosen.random()
                if what < 0.2:
                    out.pop(path, None)
                elif what < 0.6:
                    out[path] = (chosen.randint(0, 3), 3)
            return out

        for _ in range(60):
            before = changed(changed({}))
            sides = [changed(before), changed(before)]
            for name, files in (("base", before), ("one", sides[0]), ("two", sides[1])):
                (self.folder / name).write_text(text_of(files), encoding="utf-8")
            self.base.write_text(
                self.git("merge-file", "-p", "--union", "one", "base", "two"), encoding="utf-8"
            )
            both = {}
            for path in {*sides[0], *sides[1]}:
                values = [side[path] for side in sides if path in side]
                # What only one side changes has its value.
                both[path] = min([each for each in values if each != before.get(path)] or values)
            if both:
                self.put(both)
                with self.subTest(before=before, sides=sides):
                    self.run_in(0, "--fail-under-new=0")


if __name__ == "__main__":
    run_unittests()
