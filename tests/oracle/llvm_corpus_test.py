"""Compares `tally coverage` of Clang's source-based coverage with llvm-cov.

The corpus holds programs of Clang 13 to 22 and of Rust, their profiles, and what llvm-cov printed.
TALLY_CORPUS names the corpus; without it, the directory shared/corpus beside the sources is used.
The oracle is LLVM 22's llvm-cov, for all versions.
"""
from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SOURCE_ROOT, command_line
from support.skips import run_unittests, skip_script

CORPUS = Path(os.environ.get("TALLY_CORPUS") or SOURCE_ROOT.parent / "shared" / "corpus") / "llvm"
BUILT_IN = "/build/llvm"  # where the programs were compiled


class File(NamedTuple):
    lines: dict[int, int]
    functions: Counter[tuple[int, str, int]]  # line, name, count
    branches: Counter[tuple[int, int]]  # line, count


def files_of(tracefile: str) -> dict[str, File]:
    out: dict[str, File] = {}
    starts: dict[str, list[int]] = {}
    for text in tracefile.splitlines():
        word, _, rest = text.partition(":")
        if word == "SF":
            now = out.setdefault(rest, File({}, Counter(), Counter()))
            starts = {}
        elif word == "FN":
            fields = rest.split(",")
            # Between the first line and the name, the last line may be.
            name = ",".join(fields[2:] if len(fields) > 2 and fields[1].isdigit() else fields[1:])
            starts.setdefault(name, []).append(int(fields[0]))
        elif word == "FNDA":
            count, _, name = rest.partition(",")
            now.functions[starts[name].pop(0), name, int(count)] += 1
        elif word == "DA":
            line, count = rest.split(",")[:2]
            now.lines[int(line)] = int(count)
        elif word == "BRDA":
            fields = rest.split(",")
            now.branches[int(fields[0]), 0 if fields[3] == "-" else int(fields[3])] += 1
    return out


class LlvmCorpusTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def unpacked(self, case: Path) -> Path:
        """Copies a program's folder, and unpacks its objects."""
        to = self.folder / case.relative_to(CORPUS)
        to.mkdir(parents=True)
        for path in case.iterdir():
            if path.suffix == ".xz":
                if path.name != "export.json.xz":
                    (to / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
            else:
                shutil.copy(path, to)
        return to

    def run_coverage(
        self, folder: Path, paths: list[str], names: list[str], report: str, search: bool = False
    ) -> str:
        """Returns what Tally prints. The sources with these names exist, but are empty. With
        `search`, Tally looks for the objects."""
        sources = self.folder / "sources"
        for name in names:
            path = sources / os.path.relpath(os.path.normpath(name), BUILT_IN)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        objects = [] if search else (folder / "objects").read_text().split()
        done = subprocess.run(
            [
                *(command_line(), "coverage", *paths, "--report", report, "--no-markers"),
                *("--root", str(sources), "--substitute", f"{BUILT_IN}={sources}"),
                *(word for name in objects for word in ("--object", str(folder / name))),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def measured(
        self, folder: Path, paths: list[str], expected: dict[str, File], search: bool = False
    ) -> dict[str, File]:
        shown = self.run_coverage(folder, paths, list(expected), "lcov:-", search)
        return {
            os.path.join(BUILT_IN, os.path.relpath(name, self.folder / "sources")): file
            for name, file in files_of(shown).items()
        }

    def exported(self, case: Path) -> dict[str, File]:
        """Reads what llvm-cov exports as JSON."""
        exported = self.folder / "export.json"
        exported.write_bytes(lzma.decompress((case / "export.json.xz").read_bytes()))
        done = subprocess.run(
            [command_line(), "convert", str(exported), "-o", "-", "--to", "lcov"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return {os.path.normpath(name): file for name, file in files_of(done.stdout).items()}

    def compare(self, case: Path, paths: list[str]) -> None:
        """Compares the coverage of profiles; without `paths`, that of llvm-cov's own JSON."""
        folder = self.unpacked(case)
        oracle = folder / "llvm22.lcov"
        if not oracle.exists():
            oracle = folder / "export.lcov"
        expected: dict[str, File] = {}
        for name, file in files_of(oracle.read_text()).items():
            expected[os.path.normpath(name)] = file
        found = self.measured(folder, paths, expected) if paths else self.exported(case)
        self.assertEqual(
            sorted(found), sorted(name for name, file in expected.items() if file.lines)
        )
        impossible = 0
        for name, file in found.items():
            lines = dict(expected[name].lines)
            if name.endswith(".inc"):  # llvm-cov also counts the line behind the last one
                del lines[max(lines)]
            self.assertEqual(file.lines, lines, name)
            self.assertEqual(file.functions, expected[name].functions, name)
            # llvm-cov's tracefiles, but not its totals, also list outcomes that cannot happen.
            self.assertFalse(file.branches - expected[name].branches, name)
            more = expected[name].branches - file.branches
            self.assertEqual({count for _, count in more} - {0}, set(), name)
            impossible += sum(more.values())
        if case.parent.name != "clang22" or not paths:
            self.assertEqual(impossible, 0)
        else:
            self.assertLessEqual(impossible, 8)

    def test_each_executable_has_its_own_counts(self) -> None:
        """llvm-cov shows both executables with the sum."""
        for case in sorted(CORPUS.glob("clang*/mains")):
            with self.subTest(case.parent.name):
                folder = self.unpacked(case)
                expected = files_of((folder / "export.lcov").read_text())
                found = self.measured(folder, ["."], expected, search=True)
                # With Clang 13, the profiles of these executables have no build ids.
                first, second = (3, 3) if case.parent.name == "clang13" else (1, 2)
                sources = [f"{BUILT_IN}/mains/{name}.c" for name in ("m1", "m2", "lib")]
                counts = [sorted(found[source].functions.elements()) for source in sources]
                self.assertEqual(counts[0], [(2, "main", first)])
                self.assertEqual(counts[1], [(4, "main", second)])
                self.assertEqual(counts[2], sorted(expected[sources[2]].functions.elements()))

    def test_mcdc(self) -> None:
        """Compares totals by file with those of llvm-cov, which leaves out the two decisions in the
        bodies of macros, with ten conditions that are not covered."""
        for case in sorted(CORPUS.glob("clang*/mcdc")):
            exported = lzma.decompress((case / "export.json.xz").read_bytes())
            for file in json.loads(exported)["data"][0]["files"]:
                expected = file["summary"].get("mcdc")
                if not expected or case.parent.name < "clang19":
                    continue
                with self.subTest(case.parent.name):
                    folder = self.unpacked(case)
                    shown = self.run_coverage(
                        folder, ["1.profraw", "2.profraw"], [file["filename"]], "markdown:-"
                    )
                    row = re.search(r"\| MC/DC \| (\d+) \| (\d+) \|", shown)
                    self.assertTrue(row, shown)
                    self.assertEqual(int(row[1]), expected["covered"])
                    self.assertEqual(int(row[2]), expected["count"] + 10)
                    # The JSON does not tell the three conditions that are constant.
                    (folder / "export.json").write_bytes(exported)
                    shown = self.run_coverage(
                        folder, ["export.json"], [file["filename"]], "markdown:-"
                    )
                    row = re.search(r"\| MC/DC \| (\d+) \| (\d+) \|", shown)
                    self.assertTrue(row, shown)
                    self.assertEqual(int(row[1]), expected["covered"])
                    self.assertEqual(int(row[2]), expected["count"] + 13)

    def test_regions_and_instantiations(self) -> None:
        compared = 0
        for case in sorted(path.parent for path in CORPUS.glob("*/*/objects")):
            if case.name in ("mains", "stale"):
                continue
            exported = json.loads(lzma.decompress((case / "export.json.xz").read_bytes()))
            data = exported["data"][0]
            with self.subTest(str(case.relative_to(CORPUS))):
                names = [file["filename"] for file in data["files"]]
                folder = self.unpacked(case)
                shown = self.run_coverage(folder, ["all.profdata"], names, "markdown:-")
                for word in ("regions", "instantiations"):
                    row = re.search(rf"\| {word} \| (\d+) \| (\d+) \|", shown)
                    self.assertTrue(row, shown)
                    expected = data["totals"][word]
                    self.assertEqual(
                        (int(row[1]), int(row[2])), (expected["covered"], expected["count"]), word
                    )
                compared += 1
        self.assertGreater(compared, 50)

    def test_the_profile_of_another_executable(self) -> None:
        folder = self.unpacked(CORPUS / "clang22" / "stale")
        done = subprocess.run(
            [command_line(), "coverage", "1.profraw", "--object", "stale", "--filter", "."],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )
        self.assertRegex(
            done.stderr,
            "1.profraw: warning: the object with the build id [0-9a-f]{40} is missing: name it by",
        )


def add_tests() -> None:
    for case in sorted(path.parent for path in CORPUS.rglob("objects")):
        name = "_".join(case.relative_to(CORPUS).parts).replace("-", "_")
        profiles = sorted(path.name for path in case.glob("*.profraw"))

        def indexed(self: LlvmCorpusTest, case: Path = case) -> None:
            self.compare(case, ["all.profdata"])

        def raw(self: LlvmCorpusTest, case: Path = case, profiles: list[str] = profiles) -> None:
            self.compare(case, profiles)

        def exported(self: LlvmCorpusTest, case: Path = case) -> None:
            self.compare(case, [])

        setattr(LlvmCorpusTest, f"test_indexed_{name}", indexed)
        setattr(LlvmCorpusTest, f"test_exported_{name}", exported)
        # In `mains`, the executables get their own counts, and not the sum. In `stale`, the profile is
        # that of another executable, which its build id says.
        if case.name not in ("mains", "stale"):
            setattr(LlvmCorpusTest, f"test_raw_{name}", raw)


if __name__ == "__main__":
    if not CORPUS.is_dir():
        skip_script(f"there is no corpus in {CORPUS} (TALLY_CORPUS can name another)")
    add_tests()
    run_unittests()
