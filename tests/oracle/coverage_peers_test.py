"""Converts coverage that lcov and gcovr captured by `tally`, and reads it by these tools again."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line
from support.skips import need_tools, run_unittests

HEADER = """
template <class T> T twice(T value) {
  if (value > 2)
    return value + value;
  return 2 * value;
}
"""
PROGRAM = """
#include <stdexcept>
#include <string>
#include "twice.h"

struct Shape {
  virtual ~Shape() = default;
  virtual int area(int a, int b) const { return a * b; }
};

static int risky(int n) {
  if (n > 3 && n % 2)
    throw std::runtime_error("odd");
  return n;
}

static int never(int n) {
  return n > 3 ? 1 : 2;
}

int main(int argc, char **) {
  int sum = 0;
  for (int i = 0; i < 6; ++i)
    try {
      sum += risky(i);
    } catch (const std::exception &e) {
      sum += std::string(e.what()).size() > 100 ? 1 : 0;
    }
  Shape shape;
  sum += shape.area(argc, 2) + twice(sum) + static_cast<int>(twice(2.5));
  return argc > 9 ? never(sum) : 0;
}
"""
KINDS = ("lines", "functions", "branches")
# lcov 2 renamed its settings, and warns about the old names.
LCOV_BRANCHES = ("--rc", "lcov_branch_coverage=1")


def run(words: list[str], folder: Path) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(
            f"{words}: status {done.returncode}\n{done.stdout[-1000:]}\n" f"{done.stderr[-2000:]}"
        )
    return done.stdout + done.stderr


def tally(folder: Path, *words: str) -> str:
    return run([command_line(), *words], folder)


def numbers_of_lcov(folder: Path, file: str) -> dict[str, tuple[int, int]]:
    """Returns the numbers of `lcov --summary`: for each kind (executed, total)."""
    text = run(["lcov", "--summary", file, *LCOV_BRANCHES], folder)
    return {
        kind: (int(ran), int(all_))
        for kind, ran, all_ in re.findall(r"^ *(\w+)\.+: .*\((\d+) of (\d+) ", text, re.MULTILINE)
    }


def numbers_of_file(path: Path) -> dict[str, tuple[int, int]]:
    """Returns the numbers of the records themselves. Records of several tests are not summed."""
    rows: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == "DA":
            rows["lines"].append(int(value.split(",")[1]))
        elif key == "FNDA":
            rows["functions"].append(int(value.split(",")[0]))
        elif key == "BRDA":
            taken = value.split(",")[3]
            rows["branches"].append(0 if taken == "-" else int(taken))
    return {
        kind: (sum(count > 0 for count in counts), len(counts)) for kind, counts in rows.items()
    }


def numbers_of_genhtml(text: str) -> dict[str, tuple[int, int]]:
    return {
        kind: (int(ran), int(all_))
        for kind, ran, all_ in re.findall(r"^ *(\w+)\.+: .*\((\d+) of (\d+) ", text, re.MULTILINE)
    }


def numbers_of_gcovr(folder: Path, *words: str) -> dict[str, tuple[int, int]]:
    text = run(["gcovr", "-r", ".", "--filter", ".*", "-s", *words], folder)
    return {
        kind: (int(ran), int(all_))
        for kind, ran, all_ in re.findall(
            r"^(\w+): [\d.]+% \((\d+) out of (\d+)\)", text, re.MULTILINE
        )
    }


def counted(path: Path) -> dict:
    """Returns gcovr's tracefile without the lines that gcovr does not count."""
    document = json.loads(path.read_text())
    for file in document["files"]:
        file["lines"] = [
            line
            for line in file["lines"]
            if not line.get("gcovr/noncode") and not line.get("gcovr/excluded")
        ]
    return document


class Program(unittest.TestCase):
    maxDiff = 2000

    def setUp(self) -> None:
        need_tools("g++")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # gcovr and lcov write the path with symbolic links resolved.
        self.folder = Path(folder.name).resolve()
        (self.folder / "twice.h").write_text(HEADER)
        (self.folder / "program.cpp").write_text(PROGRAM)
        run(["g++", "--coverage", "-O0", "program.cpp", "-o", "program"], self.folder)
        run([str(self.folder / "program")], self.folder)

    def capture_by_lcov(self) -> str:
        need_tools("lcov")
        run(
            ["lcov", "-q", "-c", "-d", ".", "-o", "theirs.info", "-t", "first", *LCOV_BRANCHES],
            self.folder,
        )
        return "theirs.info"

    def capture_by_gcovr(self) -> tuple[str, str]:
        """Returns gcovr's tracefile, and the version of its format."""
        need_tools("gcovr")
        run(["gcovr", "-r", ".", "--json", "theirs.gcovr.json"], self.folder)
        theirs = json.loads((self.folder / "theirs.gcovr.json").read_text())
        return "theirs.gcovr.json", str(theirs["gcovr/format_version"])

    def test_lcov_reads_what_it_wrote(self) -> None:
        theirs = self.capture_by_lcov()
        self.assertNotIn("error", tally(self.folder, "validate", theirs))
        tally(self.folder, "convert", theirs, "-o", "ours.info")
        expected = numbers_of_lcov(self.folder, theirs)
        self.assertEqual(set(expected), set(KINDS))
        self.assertGreater(expected["branches"][1], 0)
        self.assertEqual(numbers_of_lcov(self.folder, "ours.info"), expected)
        self.assertEqual(numbers_of_file(self.folder / "ours.info"), expected)
        # Rewriting it changes nothing.
        tally(self.folder, "rewrite", "ours.info", "-o", "again.info")
        self.assertEqual(
            (self.folder / "again.info").read_bytes(), (self.folder / "ours.info").read_bytes()
        )

    def test_lcov_adds_ours_and_theirs(self) -> None:
        theirs = self.capture_by_lcov()
        tally(self.folder, "convert", theirs, "-o", "ours.info")
        run(
            ["lcov", "-q", "-a", theirs, "-a", "ours.info", "-o", "sum.info", *LCOV_BRANCHES],
            self.folder,
        )
        tally(self.folder, "merge", theirs, "ours.info", "-o", "our_sum.info")
        tally(self.folder, "convert", "sum.info", "-o", "their_sum.info")
        self.assertEqual(
            (self.folder / "our_sum.info").read_text(), (self.folder / "their_sum.info").read_text()
        )

    def test_genhtml_finds_the_sources(self) -> None:
        need_tools("genhtml")
        theirs = self.capture_by_lcov()
        tally(self.folder, "convert", theirs, "-o", "ours.info")
        # Leave out the compiler's own headers, whose sources may not be installed.
        run(
            [
                "lcov",
                "-q",
                "-e",
                "ours.info",
                str(self.folder / "*"),
                "-o",
                "some.info",
                *LCOV_BRANCHES,
            ],
            self.folder,
        )
        tally(self.folder, "rewrite", "some.info", "-o", "ours.info")
        text = run(["genhtml", "--branch-coverage", "ours.info", "-o", "html"], self.folder)
        self.assertEqual(numbers_of_genhtml(text), numbers_of_lcov(self.folder, "ours.info"))
        self.assertTrue(list((self.folder / "html").rglob("program.cpp.gcov.html")))

    def test_gcovr_reads_what_it_wrote(self) -> None:
        theirs, version = self.capture_by_gcovr()
        self.assertNotIn("error", tally(self.folder, "validate", theirs))
        tally(self.folder, "convert", theirs, "-o", "ours.gcovr.json", "--gcovr-version", version)
        expected = numbers_of_gcovr(self.folder, "-a", theirs)
        self.assertGreater(expected["branches"][1], 0)
        self.assertEqual(numbers_of_gcovr(self.folder, "-a", "ours.gcovr.json"), expected)
        # Compare both as gcovr writes them, without the lines that it does not count.
        for name in ("theirs", "ours"):
            run(
                ["gcovr", "-r", ".", "-a", f"{name}.gcovr.json", "--json", f"{name}.json"],
                self.folder,
            )
        self.assertEqual(counted(self.folder / "ours.json"), counted(self.folder / "theirs.json"))
        table = run(["gcovr", "-r", ".", "-a", "ours.gcovr.json", "--txt"], self.folder)
        self.assertRegex(table, r"program\.cpp +\d+ +\d+ +\d+%")

    def test_gcovr_reads_what_lcov_wrote(self) -> None:
        _, version = self.capture_by_gcovr()
        theirs = self.capture_by_lcov()
        tally(
            self.folder, "convert", theirs, "-o", "from_lcov.gcovr.json", "--gcovr-version", version
        )
        self.assertEqual(
            numbers_of_gcovr(self.folder, "-a", "from_lcov.gcovr.json"),
            numbers_of_lcov(self.folder, theirs),
        )
        # Convert it back.
        tally(self.folder, "convert", "from_lcov.gcovr.json", "-o", "back.info")
        self.assertEqual(
            numbers_of_lcov(self.folder, "back.info"), numbers_of_lcov(self.folder, theirs)
        )

    def test_gcovr_opens_its_pages(self) -> None:
        theirs, version = self.capture_by_gcovr()
        tally(self.folder, "convert", theirs, "-o", "ours.gcovr.json", "--gcovr-version", version)
        run(
            ["gcovr", "-r", ".", "-a", "ours.gcovr.json", "--html-details", "page.html"],
            self.folder,
        )
        self.assertTrue((self.folder / "page.html").exists())


if __name__ == "__main__":
    run_unittests()
