"""Compares `tally merge` of profiles of source-based coverage with llvm-profdata.

The corpus (see llvm_corpus_test.py) has raw profiles of Clang 13 to 22 and of Rust, and what the
llvm-profdata of the same version made of them. The llvm-profdata and llvm-cov that are installed
must show the same for Tally's profiles as for those of llvm-profdata.
"""
from __future__ import annotations

import lzma
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Callable, NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SOURCE_ROOT, command_line
from support.skips import run_unittests, skip_script

CORPUS = Path(os.environ.get("TALLY_CORPUS") or SOURCE_ROOT.parent / "shared" / "corpus") / "llvm"
BUILT_IN = "/build/llvm"  # where the programs were compiled
# The version of the indexed profile that Tally makes of raw profiles of each compiler.
WRITTEN = {"clang13": 7, "clang14": 7, "clang15": 7, "clang16": 7}
NEWER = 12


def tool_path(name: str, version: int) -> str | None:
    return shutil.which(f"{name}-{version}") or shutil.which(f"/usr/lib/llvm-{version}/bin/{name}")


VERSIONS = [each for each in range(13, 40) if tool_path("llvm-profdata", each)]


class Indexed(NamedTuple):
    """The parts of an indexed profile. Within a bucket the functions are sorted, as LLVM's order
    depends on its tables in memory."""

    version: int
    flags: int
    summary: bytes
    buckets: list[list[bytes]]
    table: bytes  # numbers and offsets of the buckets
    ids: bytes


def indexed_of(path: Path) -> Indexed:
    data = path.read_bytes()
    words = lambda at, count: struct.unpack_from(f"<{count}Q", data, at)
    version = words(8, 1)[0]
    flags, version = version >> 32, version & 0xFFFFFFFF
    header = 8 * (5 + (version >= 8) + (version >= 9) + (version >= 10) + (version >= 12))
    table = words(32, 1)[0]
    fields, shares = words(header, 2)
    at = header + 16 + 8 * fields + 24 * shares
    summary = data[header:at]
    count, keys = words(table, 2)
    buckets: list[list[bytes]] = []
    while sum(map(len, buckets)) < keys:
        (items,) = struct.unpack_from("<H", data, at)
        at += 2
        bucket = []
        for _ in range(items):
            size = 24 + sum(words(at + 8, 2))
            bucket.append(data[at : at + size])
            at += size
        buckets.append(sorted(bucket))
    offsets = words(table + 16, count)
    relative = struct.pack(f"<{count + 1}Q", count, *(max(x - header, 0) for x in offsets))
    ids = b""
    if version >= 9:
        start = words(48, 1)[0]
        ids = data[start : start + 8 + words(start, 1)[0]]
    return Indexed(version, flags, summary, buckets, relative, ids)


def tally(*words: str | Path) -> str:
    done = subprocess.run(
        [command_line(), *map(str, words)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"{words}: {done.stderr}")
    return done.stdout


def output(*words: str | Path) -> str:
    """Returns what a tool of LLVM prints."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{words}: {done.stderr}")
    return done.stdout


Check = Callable[["LlvmMergeTest", Path], None]


class LlvmMergeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def objects(self, case: Path) -> list[str]:
        out = []
        for name in (case / "objects").read_text().split():
            path = self.folder / name
            packed = case / (name + ".xz")
            path.write_bytes(
                lzma.decompress(packed.read_bytes())
                if packed.exists()
                else (case / name).read_bytes()
            )
            out.append(str(path))
        return out

    def merged(self, case: Path, name: str = "merged.profdata") -> Path:
        out = self.folder / name
        names = [word for path in self.objects(case) for word in ("--object", path)]
        tally("merge", *sorted(case.glob("*.profraw")), *names, "-o", out)
        return out

    def coverage(self, case: Path, *profiles: Path) -> str:
        """Returns the tracefile that Tally writes. The sources exist, but are empty."""
        sources = self.folder / "sources"
        for line in (case / "export.lcov").read_text().splitlines():
            if line.startswith("SF:"):
                path = sources / os.path.relpath(os.path.normpath(line[3:]), BUILT_IN)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        objects = [word for path in self.objects(case) for word in ("--object", path)]
        options = ["--report", "lcov:-", "--no-markers", "--root", str(sources)]
        options += ["--substitute", f"{BUILT_IN}={sources}"]
        return tally("coverage", *profiles, *options, *objects)

    def compare(self, case: Path) -> None:
        mine, theirs = indexed_of(self.merged(case)), indexed_of(case / "all.profdata")
        self.assertEqual(mine.version, WRITTEN.get(case.parent.name, NEWER))
        self.assertEqual(mine.flags, theirs.flags)
        self.assertEqual(mine.summary, theirs.summary)
        if mine.version >= 9:
            self.assertEqual(mine.ids, theirs.ids)
        if case.name == "value":  # Tally drops the values
            self.assertEqual(len(mine.buckets), len(theirs.buckets))
        else:
            self.assertEqual(mine.buckets, theirs.buckets)
            self.assertEqual(mine.table, theirs.table)

    def coverage_stays(self, case: Path) -> None:
        merged = self.merged(case)
        raw = self.coverage(case, *sorted(case.glob("*.profraw")))
        self.assertIn("DA:", raw)
        self.assertEqual(self.coverage(case, merged), raw)

    def tools_agree(self, case: Path) -> None:
        """The tools of the compiler's version, and the newest, show the same for both profiles."""
        own = int(case.parent.name[len("clang") :])
        readers = [each for each in VERSIONS if each >= own]
        if not readers:
            self.skipTest(f"not installed: llvm-profdata of version {own} or later")
        mine = self.merged(case)
        theirs = case / "all.profdata"
        writer = tool_path("llvm-profdata", own)
        if writer and case.name != "corr":
            theirs = self.folder / "theirs.profdata"
            output(writer, "merge", *sorted(case.glob("*.profraw")), "-o", theirs)
        for version in sorted({readers[0], readers[-1]}):
            with self.subTest(version):
                self.reader_agrees(version, case, mine, theirs)

    def reader_agrees(self, version: int, case: Path, mine: Path, theirs: Path) -> None:
        profdata, cov = (tool_path(name, version) for name in ("llvm-profdata", "llvm-cov"))
        assert profdata
        options = ["--detailed-summary", "--all-functions", "--counts"]
        shown = [output(profdata, "show", *options, each) for each in (mine, theirs)]
        self.assertIn("Detailed summary:", shown[0])
        self.assertIn("Block counts:", shown[0])
        # The order of functions is that of the table: see Indexed.
        first, second = (sorted(each.splitlines()) for each in shown)
        self.assertEqual(first, second)
        if case.name != "value":  # Tally drops the values
            texts = []
            for each in (mine, theirs):
                output(profdata, "merge", "-text", each, "-o", self.folder / "text")
                texts.append((self.folder / "text").read_text())
            self.assertGreater(texts[0].count("# Num Counters:"), 1)
            self.assertEqual(*texts)
        if cov:
            objects = self.objects(case)
            more = [word for path in objects[1:] for word in ("-object", path)]
            exported = [
                output(cov, "export", "-format=lcov", objects[0], *more, "-instr-profile", each)
                for each in (mine, theirs)
            ]
            self.assertIn("DA:", exported[0])
            self.assertEqual(*exported)

    def test_profiles_of_all_versions_together(self) -> None:
        """The newest installed llvm-profdata reads a sum of raw and indexed profiles of all
        compilers, and counts in it what Tally counts in the parts."""
        cases = [CORPUS / f"clang{each}" / "c" for each in (13, 14, 15, 16, 19)]
        parts, indexed = [], []
        for case in cases:
            parts += [case / "all.profdata", *sorted(case.glob("*.profraw"))]
            indexed += [case / "all.profdata", self.merged(case, case.parent.name)]
        out = self.folder / "all.profdata"
        tally("merge", *parts, "-o", out)
        self.assertEqual(indexed_of(out).version, 12)
        # A raw profile belongs to the object that its build id names, and an indexed one to all.
        self.assertEqual(self.coverage(cases[0], out), self.coverage(cases[0], *indexed))
        profdata = tool_path("llvm-profdata", 19)
        if not profdata:
            self.skipTest("not installed: llvm-profdata-19")
        again = self.folder / "again.profdata"
        output(profdata, "merge", out, "-o", again)
        self.assertEqual(indexed_of(again), indexed_of(out))


def add_tests() -> None:
    for case in sorted(path.parent for path in CORPUS.rglob("objects")):
        name = "_".join(case.relative_to(CORPUS).parts).replace("-", "_")
        checks = {"merge": LlvmMergeTest.compare}
        # Raw profiles of `mains` and `stale` belong to the executables that their build ids name.
        if case.name not in ("mains", "stale"):
            checks["coverage"] = LlvmMergeTest.coverage_stays
        if case.parent.name.startswith("clang"):
            checks["tools"] = LlvmMergeTest.tools_agree
        for what, check in checks.items():

            def test(self: LlvmMergeTest, case: Path = case, check: Check = check) -> None:
                check(self, case)

            setattr(LlvmMergeTest, f"test_{what}_{name}", test)


if __name__ == "__main__":
    if not CORPUS.is_dir():
        skip_script(f"there is no corpus in {CORPUS} (TALLY_CORPUS can name another)")
    add_tests()
    run_unittests()
