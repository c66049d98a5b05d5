"""Compares `tally gcov`, for every expected output of the coverage corpus, with what the compiler's
own gcov printed.

TALLY_CORPUS names the corpus; without it, the directory shared/corpus beside the sources is used.
"""
from __future__ import annotations

import collections
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.clang_notes import read_functions
from support.gcc_14 import data_as_gcc_14, notes_as_gcc_14
from support.gcov_counts import branches_of_json, branches_of_text, counts_of_json, counts_of_text
from support.programs import SOURCE_ROOT, command_line
from support.skips import run_unittests, skip_script

CORPUS = Path(os.environ.get("TALLY_CORPUS") or SOURCE_ROOT.parent / "shared" / "corpus") / "gcov"
LONG_LISTS = 3  # the number of differences to print


def tally_gcov(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [command_line(), "gcov", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )


def unpacked(path: Path) -> str:
    return lzma.decompress(path.read_bytes()).decode("utf-8", "replace")


def without_patch_level(document: dict) -> dict:
    """Removes the patch level of GCC's version, which a notes file does not hold."""
    return {**document, "gcc_version": re.sub(r"^(\d+\.\d+)\.\d+$", r"\1", document["gcc_version"])}


class GccTest(unittest.TestCase):
    maxDiff = 4000

    def run_of(self, oracle: Path) -> dict:
        """Returns what `tally gcov` prints in the directory in which gcov ran."""
        folder, name = oracle.parents[1], oracle.name.removesuffix(".json.xz")
        words = ["-b"] if name.endswith(".b") else []
        name = name.removesuffix(".b")
        with tempfile.TemporaryDirectory(prefix="gcov-") as elsewhere:
            stem = name.removesuffix(".noda")
            if stem != name:
                shutil.copy(folder / f"{stem}.gcno", elsewhere)
                folder = Path(elsewhere)
            done = tally_gcov(folder, *words, stem + (".gcda" if stem == name else ".gcno"))
        self.assertEqual(done.returncode, 0, done.stderr)
        # setjmp() and longjmp() cause this warning. There are no others, and none without counters.
        found = re.sub(r"(?m)^\S+\.gcno: warning: negative counts in [^\n]*\n", "", done.stderr)
        self.assertEqual((found, name != stem and done.stderr != ""), ("", False))
        return json.loads(done.stdout)

    def compare(self, family: str, least: int) -> None:
        oracles = sorted(CORPUS.glob(f"{family}/*/oracle/*.json.xz"))
        self.assertGreaterEqual(len(oracles), least)
        for oracle in oracles:
            with self.subTest(str(oracle.relative_to(CORPUS))):
                seen = without_patch_level(self.run_of(oracle))
                wanted = without_patch_level(json.loads(unpacked(oracle)))
                # Not assertEqual of the whole documents: it would take minutes to print a
                # difference.
                for s, w in zip(seen["files"], wanted["files"]):
                    for rows in ("functions", "lines"):
                        wrong = [(a, b) for a, b in zip(s[rows], w[rows]) if a != b]
                        self.assertEqual(wrong[:LONG_LISTS], [])
                        self.assertEqual(len(s[rows]), len(w[rows]))
                self.assertTrue(seen == wanted, "not the same document")

    def test_gcc_12(self) -> None:
        self.compare("gcc12", 90)

    def test_gcc_11(self) -> None:
        self.compare("gcc11", 45)


class Gcc14Test(unittest.TestCase):
    """There are no files of GCC 14. The tests use GCC 12's with the version word of GCC 14, and
    with made-up conditions. The fields that both versions print must stay the same."""

    maxDiff = 4000

    def test_format_2(self) -> None:
        oracles = sorted(CORPUS.glob("gcc12/*/oracle/*.b.json.xz"))
        oracles = [each for each in oracles if ".noda." not in each.name]
        self.assertGreaterEqual(len(oracles), 20)
        conditions = calls = 0
        for oracle in oracles:
            with self.subTest(str(oracle.relative_to(CORPUS))), tempfile.TemporaryDirectory(
                prefix="gcov-"
            ) as elsewhere:
                folder, stem = oracle.parents[1], oracle.name.removesuffix(".b.json.xz")
                notes, idents = notes_as_gcc_14((folder / f"{stem}.gcno").read_bytes(), True)
                data = data_as_gcc_14((folder / f"{stem}.gcda").read_bytes(), idents, (0b01, 0b11))
                (Path(elsewhere) / f"{stem}.gcno").write_bytes(notes)
                (Path(elsewhere) / f"{stem}.gcda").write_bytes(data)
                done = tally_gcov(Path(elsewhere), "-b", "-g", f"{stem}.gcda")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("conditions", done.stderr)
                seen = json.loads(done.stdout)
                self.assertEqual((seen["format_version"], seen["gcc_version"]), ("2", "14.1"))
                for file in seen["files"]:
                    for line in file["lines"]:
                        conditions += self.check_conditions(line.pop("conditions"))
                        calls += self.check_blocks(line)
                seen = {**seen, "format_version": "1", "gcc_version": ""}
                wanted = {**json.loads(unpacked(oracle)), "gcc_version": ""}
                self.assertTrue(seen == wanted, "not the same document")
        self.assertGreater(conditions, 500)
        self.assertGreater(calls, 100)

    def check_conditions(self, conditions: list[dict]) -> int:
        for each in conditions:
            self.assertIn(
                each,
                (
                    {"count": 4, "covered": 3, "not_covered_true": [1], "not_covered_false": []},
                    {
                        "count": 4,
                        "covered": 0,
                        "not_covered_true": [0, 1],  # no arc has a counter
                        "not_covered_false": [0, 1],
                    },
                ),
            )
        return len(conditions)

    def check_blocks(self, line: dict) -> int:
        """Checks and removes the fields of format 2, so that those of format 1 remain. Returns the
        number of calls."""
        blocks, calls = line.pop("block_ids"), line.pop("calls")
        for branch in line["branches"]:
            self.assertIn(branch.pop("source_block_id"), blocks)
            self.assertGreater(branch.pop("destination_block_id"), 0)
        for call in calls:
            self.assertIn(call["source_block_id"], blocks)
            self.assertEqual(call["destination_block_id"], 1)
        return len(calls)


class ClangTest(unittest.TestCase):
    """If longjmp() leaves a function, or makes it return twice, Clang's counters contradict each
    other, because Clang has no arcs for that, as GCC has. Then no count is right: llvm-cov shows
    negative counts as unsigned numbers; Tally keeps and reports them. Lines of such functions are
    not compared."""

    def test_clang_14(self) -> None:
        oracles = sorted(CORPUS.glob("clang14/*/oracle/*.bc.gcov.xz"))
        self.assertGreaterEqual(len(oracles), 45)
        compared, left_out, branches, repeated = 0, 0, 0, 0
        for oracle in oracles:
            folder, stem = oracle.parents[1], oracle.name.removesuffix(".bc.gcov.xz")
            with self.subTest(str(oracle.relative_to(CORPUS))):
                done = tally_gcov(folder, "-b", f"{stem}.gcda")
                self.assertEqual(done.returncode, 0, done.stderr)
                contradicting = [
                    each
                    for each in read_functions(folder / f"{stem}.gcno", folder / f"{stem}.gcda")
                    if each.contradicts_itself()
                ]
                self.assertEqual("negative counts" in done.stderr, bool(contradicting))
                doubtful = {line for each in contradicting for line in each.lines}
                seen, wanted = counts_of_json(json.loads(done.stdout)), counts_of_text(
                    unpacked(oracle)
                )
                self.assertEqual(set(seen), set(wanted))
                wrong = [
                    (key, seen[key], wanted[key])
                    for key in sorted(wanted)
                    if seen[key] != wanted[key] and key[1] not in doubtful
                ]
                self.assertEqual(wrong[:LONG_LISTS], [])
                of_seen, of_wanted = branches_of_json(json.loads(done.stdout)), branches_of_text(
                    unpacked(oracle)
                )
                self.assertEqual(set(of_seen), set(of_wanted))
                for key, counts in of_wanted.items():
                    branches += len(of_seen[key])
                    if key[1] in doubtful:
                        continue
                    # llvm-cov repeats branches as often as their block names the line.
                    repeated += len(of_seen[key]) != len(counts)
                    self.assertEqual(set(of_seen[key]), set(counts), key)
                    self.assertLessEqual(
                        collections.Counter(of_seen[key]), collections.Counter(counts), key
                    )
                left_out += len(doubtful)
                compared += len(wanted) - len(doubtful)
        print(
            f"clang 14: {compared} lines are equal, {left_out} in contradicting functions; "
            f"{branches} branches, in {repeated} lines repeated by llvm-cov"
        )
        self.assertGreater(compared, 12000)
        self.assertLess(left_out, 1500)
        self.assertGreater(branches, 8000)
        self.assertLess(repeated, 20)


if __name__ == "__main__":
    if not CORPUS.is_dir():
        skip_script(f"there is no corpus in {CORPUS} (TALLY_CORPUS can name another)")
    run_unittests()
