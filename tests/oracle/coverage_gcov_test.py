"""Compares `tally coverage` with the compiler's gcov: the tracefile must equal gcov's output for
all objects, summed here by source and line."""
from __future__ import annotations

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.gcov_programs import SOURCES, compile_and_run, run
from support.programs import command_line
from support.skips import missing_tool, run_unittests, skip_script


SHARED = """\
static inline int shared(int x) {
  if (x > 3)
    return x; /* LCOV_EXCL_STOP */
  return 1;
}
"""


def summed_by_gcov(folder: Path) -> dict:
    """Returns {source: ({line: count}, {(line, name): count}, {line: [count of each branch]})}."""
    files: dict = {}
    for data in sorted(folder.rglob("*.gcda")):
        text = run(
            ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(data)], folder
        ).stdout
        for document in map(json.loads, text.splitlines()):
            for file in document["files"]:
                path = os.path.realpath(
                    os.path.join(document["current_working_directory"], file["file"])
                )
                if not path.startswith(str(folder) + "/"):
                    continue
                lines, functions, branches = files.setdefault(
                    path, (collections.Counter(), collections.Counter(), {})
                )
                instances = collections.defaultdict(list)
                for line in file["lines"]:
                    number = line["line_number"]
                    lines[number] += line["count"]
                    instances[number].append([b["count"] for b in line["branches"]])
                for number, rows in instances.items():
                    for row in rows:
                        add_by_position(branches.setdefault(number, []), row)
                for function in file["functions"]:
                    # Variants of a constructor or destructor are one function in the source.
                    name = re.sub(r"(?<=[CD])[0-5](?=Ev|Ei)", "2", function["name"])
                    functions[function["start_line"], name] += function["execution_count"]
    return files


def add_by_position(sums: list[int], more: list[int]) -> None:
    sums.extend([0] * (len(more) - len(sums)))
    for position, count in enumerate(more):
        sums[position] += count


def of_tracefile(text: str) -> dict:
    files: dict = {}
    for row in text.splitlines():
        key, _, value = row.partition(":")
        if key == "SF":
            lines, functions, branches = files.setdefault(value, ({}, {}, {}))
            starts = {}
        elif key == "DA":
            number, count = value.split(",")[:2]
            lines[int(number)] = int(count)
        elif key == "FN":
            first, name = value.split(",", 1)
            starts[name] = int(first)
        elif key == "FNDA":
            count, name = value.split(",", 1)
            functions[starts[name], name] = int(count)
        elif key == "BRDA":
            number, _, _, count = value.split(",")
            branches.setdefault(int(number), []).append(0 if count == "-" else int(count))
    return files


class CoverageTest(unittest.TestCase):
    maxDiff = 3000

    def setUp(self) -> None:
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="coverage-")))
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(SOURCES, self.folder / "src")
        (self.folder / "src" / "linked").symlink_to("inc")

    def coverage(self, *words: str, status: int = 0) -> subprocess.CompletedProcess:
        return run([command_line(), "coverage", *words], self.folder, status)

    def compare(self, *words: str) -> None:
        ours = of_tracefile(
            self.coverage(
                "--throw-branches",
                "--no-markers",
                "--filter",
                "^[^/]",
                "--report",
                "lcov:-",
                *words,
            ).stdout
        )
        theirs = summed_by_gcov(self.folder)
        self.assertEqual(sorted(ours), sorted(theirs))
        for path, (lines, functions, branches) in theirs.items():
            with self.subTest(path):
                self.assertEqual(ours[path][0], dict(lines))
                self.assertEqual(ours[path][1], dict(functions))
                self.assertEqual(ours[path][2], {k: v for k, v in branches.items() if v})

    def test_objects_add_up(self) -> None:
        for options in (["-O0"], ["-O2"]):
            for source in ("shapes.cpp", "unity.cpp", "instances.cpp"):
                name = source.split(".")[0] + options[0]
                folder = self.folder / "build" / name
                folder.mkdir(parents=True)
                run(
                    [
                        "g++",
                        "-std=c++20",
                        "--coverage",
                        *options,
                        "-c",
                        f"../../src/{source}",
                        "-o",
                        "x.o",
                    ],
                    folder,
                )
                run(["g++", "--coverage", "-pthread", "x.o", "-o", "x"], folder)
                run([str(folder / "x")], folder, None)
        self.compare()
        self.compare("-j", "1")

    def test_any_number_of_threads_gives_the_same(self) -> None:
        """Diagnostics must be the same, too: for objects whose build directory was moved, and for
        those that do not match or are truncated."""
        folder = self.folder / "build"
        folder.mkdir()
        (folder / "shared.h").write_text(SHARED, encoding="utf-8")
        for i in range(40):
            (folder / f"u{i}.c").write_text(
                f'#include "shared.h"\nint u{i}(int x) {{\n' f"  return shared(x) + {i};\n}}\n",
                encoding="utf-8",
            )
        run(["gcc", "--coverage", "-O0", "-c", *(f"u{i}.c" for i in range(40))], folder)
        for i in range(0, 40, 7):
            path = folder / f"u{i}.gcno"
            path.write_bytes(path.read_bytes()[:-6])
        moved = self.folder / "moved"
        folder.rename(moved)
        outputs = set()
        for threads in (1, 2, 7, 32):
            for _ in range(3):
                done = self.coverage(
                    "-j",
                    str(threads),
                    "--verbose",
                    "--filter",
                    "moved",
                    "--report",
                    "lcov:all.info",
                    status=4,
                )
                outputs.add(
                    (
                        done.stdout,
                        done.stderr,
                        (self.folder / "all.info").read_text(encoding="utf-8"),
                    )
                )
        self.assertEqual(len(outputs), 1)
        self.assertIn("LCOV_EXCL_STOP without a START", outputs.pop()[1])


if __name__ == "__main__":
    no = missing_tool("g++", "gcov")
    if no:
        skip_script(no)
    run_unittests()
