"""Compiles and runs programs at test time, and compares `tally gcov` with the compiler's gcov."""
from __future__ import annotations

import functools
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.gcov_counts import (
    branches_of_json,
    branches_of_text,
    by_plain_names,
    counts_of_json,
    counts_of_text,
)
from support.gcov_programs import SOURCES, compile_and_run, run
from support.programs import command_line
from support.skips import missing_tool, need_tools, run_unittests, skip_script

ATOMIC = "-fprofile-update=atomic"

# For each source the options of its builds.
BUILDS = {
    "shapes.cpp": (["-O0"], ["-O2"]),
    "jumps.c": (["-O0"], ["-O2"]),
    "threads.cpp": (["-O0", ATOMIC], ["-O2", ATOMIC]),
    "unity.cpp": (["-O0"], ["-O2"]),
    "instances.cpp": (["-O0"],),
}


def documents(text: str) -> list[dict]:
    return [{**json.loads(line), "gcc_version": ""} for line in text.splitlines()]


def function_records(data: bytes) -> list[tuple[int, int, int]]:
    """Returns for each function of a .gcda the offsets of its record, of its arc counters, and of
    the record after these."""
    found, at = [], 16
    while at + 8 <= len(data):
        tag, length = struct.unpack_from("<Ii", data, at)
        if tag == 0:
            break
        behind = at + 8 + max(length, 0)
        if tag == 0x01000000 and length:
            found.append(
                (at, behind, behind + 8 + max(struct.unpack_from("<Ii", data, behind)[1], 0))
            )
        at = behind
    return found


def gcov(folder: Path, *words: str) -> list[dict]:
    # For counters of another compilation gcov prints all the same, and exits with status 5.
    return documents(run(["gcov", "--json-format", "--stdout", *words], folder, None).stdout)


def tally(folder: Path, *words: str, status: int | None = 0) -> subprocess.CompletedProcess:
    return run([command_line(), "gcov", *words], folder, status)


class CompilerTest(unittest.TestCase):
    maxDiff = 3000
    built = Path()

    @classmethod
    def setUpClass(cls) -> None:
        cls.built = Path(tempfile.mkdtemp(prefix="gcov-"))
        cls.addClassCleanup(shutil.rmtree, cls.built)

    @classmethod
    @functools.lru_cache(maxsize=None)
    def folder(cls, source: str, options: tuple[str, ...]) -> Path:
        """Returns the directory in which the source was compiled and run. Tests must not change
        it."""
        folder = cls.built / "-".join([source.replace(".", "_"), *(o.lstrip("-") for o in options)])
        shutil.copytree(SOURCES, folder)
        (folder / "linked").symlink_to("inc")
        compile_and_run(folder, source, list(options))
        return folder

    def compare(self, folder: Path, *words: str) -> list[dict]:
        seen = documents(tally(folder, *words).stdout)
        wanted = gcov(folder, *words)
        for s, w in zip(seen, wanted):
            self.assertEqual(
                [file["file"] for file in s["files"]], [file["file"] for file in w["files"]]
            )
            for of_s, of_w in zip(s["files"], w["files"]):
                for rows in ("functions", "lines"):
                    wrong = [(a, b) for a, b in zip(of_s[rows], of_w[rows]) if a != b]
                    self.assertEqual(wrong[:3], [], of_s["file"])
        self.assertTrue(seen == wanted, "not the same documents")
        return seen

    def test_equals_gcov(self) -> None:
        for source, variants in BUILDS.items():
            for options in variants:
                folder = self.folder(source, tuple(options))
                with tempfile.TemporaryDirectory(prefix="gcov-") as name:
                    not_run = Path(name) / "copy"
                    # Copy all sources, because gcov's names depend on which directories exist.
                    shutil.copytree(folder, not_run, symlinks=True)
                    (not_run / "x.gcda").unlink()
                    flags: list[list[str]] = [[], ["-b"]]
                    for branches in flags:
                        with self.subTest(source=source, options=options, branches=branches):
                            ran = self.compare(folder, *branches, "x.gcda")
                            none = self.compare(not_run, *branches, "x.gcno")
                            self.assertTrue(
                                any(
                                    line["count"]
                                    for document in ran
                                    for file in document["files"]
                                    for line in file["lines"]
                                )
                            )
                            self.assertFalse(
                                any(
                                    line["count"]
                                    for document in none
                                    for file in document["files"]
                                    for line in file["lines"]
                                )
                            )

    def test_several_files(self) -> None:
        """There is a document for each file, in the order of the command line. A file that is named
        twice is printed twice."""
        one = self.folder("jumps.c", ("-O0",))
        with tempfile.TemporaryDirectory(prefix="gcov-") as name:
            for stem, source in (("a", one), ("b", self.folder("unity.cpp", ("-O0",)))):
                for ending in ("gcno", "gcda"):
                    shutil.copy(source / f"x.{ending}", Path(name) / f"{stem}.{ending}")
            done = documents(tally(Path(name), "b.gcda", "a.gcda", "b.gcda").stdout)
        self.assertEqual([each["data_file"] for each in done], ["b.gcda", "a.gcda", "b.gcda"])
        self.assertEqual(done[0], done[2])
        self.assertEqual(done[1]["files"], documents(tally(one, "x.gcda").stdout)[0]["files"])

    def test_two_objects(self) -> None:
        with tempfile.TemporaryDirectory(prefix="gcov-") as name:
            folder = Path(name) / "copy"
            shutil.copytree(SOURCES, folder)
            for stem in ("a", "b"):
                run(
                    ["g++", "--coverage", "-O0", "-c", f"shared_{stem}.cpp", "-o", f"{stem}.o"],
                    folder,
                )
            run(["g++", "--coverage", "a.o", "b.o", "-o", "x"], folder)
            run([str(folder / "x")], folder, status=None)
            both = self.compare(folder, "-b", "a.gcda", "b.gcda")
            self.assertEqual([each["data_file"] for each in both], ["a.gcda", "b.gcda"])
            for document in both:
                counts = {
                    f["demangled_name"]: f["execution_count"]
                    for file in document["files"]
                    for f in file["functions"]
                }
                shared = counts["int in_one_line<3>(int)"]
                self.assertEqual(shared, 2 if document is both[0] else 0)

    def test_runs_add_up(self) -> None:
        with tempfile.TemporaryDirectory(prefix="gcov-") as name:
            folder = Path(name) / "copy"
            shutil.copytree(SOURCES, folder)
            compile_and_run(folder, "jumps.c", ["-O1"])
            before = documents(tally(folder, "x.gcda").stdout)
            run([str(folder / "x"), "1", "2", "3"], folder, status=None)
            after = self.compare(folder, "-b", "x.gcda")
            counts = [
                {
                    (f["name"]): f["execution_count"]
                    for file in each[0]["files"]
                    for f in file["functions"]
                }
                for each in (before, after)
            ]
            self.assertEqual(counts[1]["main"], 2 * counts[0]["main"])

    def test_counters_of_another_compilation(self) -> None:
        with tempfile.TemporaryDirectory(prefix="gcov-") as name:
            folder = Path(name) / "copy"
            shutil.copytree(SOURCES, folder)
            compile_and_run(folder, "jumps.c", ["-O0"])
            kept = (folder / "x.gcda").read_bytes()
            source = folder / "jumps.c"
            source.write_text(
                source.read_text(encoding="utf-8") + "int added(int n) { return n ? 1 : 2; }\n",
                encoding="utf-8",
            )
            run(["gcc", "--coverage", "-O0", "-c", "jumps.c", "-o", "x.o"], folder)
            (folder / "x.gcda").write_bytes(kept)
            done = tally(folder, "-b", "x.gcda", status=1)
            self.assertRegex(done.stderr, r"^x\.gcda: warning: the stamp differs[^\n]*\n$")
            self.assertEqual(documents(done.stdout), gcov(folder, "-b", "x.gcda"))
            functions = [
                f for file in documents(done.stdout)[0]["files"] for f in file["functions"]
            ]
            self.assertIn("added", [f["name"] for f in functions])
            self.assertEqual({f["execution_count"] for f in functions}, {0})

    def test_functions_that_do_not_match(self) -> None:
        """For each function, changes its ident, a checksum or the number of counters, or empties or
        removes its record."""
        built = self.folder("jumps.c", ("-O0",))
        whole = (built / "x.gcda").read_bytes()
        with tempfile.TemporaryDirectory(prefix="gcov-") as name:
            folder = Path(name) / "copy"
            shutil.copytree(built, folder, symlinks=True)
            for at, counters, end in function_records(whole):
                head, tag = struct.pack("<II", 0x01000000, 0), whole[counters : counters + 4]
                flipped = bytes([whole[at + 8] ^ 1])
                for what, data in {
                    "ident": whole[: at + 8] + flipped + whole[at + 9 :],
                    "lines": whole[: at + 12] + b"\1\2\3\4" + whole[at + 16 :],
                    "graph": whole[: at + 16] + b"\1\2\3\4" + whole[at + 20 :],
                    "number": whole[:counters] + tag + struct.pack("<i", -800) + whole[end:],
                    "empty": whole[:at] + head + whole[end:],
                    "gone": whole[:at] + whole[end:],
                }.items():
                    (folder / "x.gcda").write_bytes(data)
                    with self.subTest(what, at=at):
                        done = tally(folder, "-b", "x.gcda", status=None)
                        self.assertEqual(documents(done.stdout), gcov(folder, "-b", "x.gcda"))
                        ran = any(
                            f["execution_count"]
                            for file in documents(done.stdout)[0]["files"]
                            for f in file["functions"]
                        )
                        self.assertEqual(done.returncode, 0 if ran else 1)

    def test_truncated(self) -> None:
        built = self.folder("jumps.c", ("-O0",))
        with tempfile.TemporaryDirectory(prefix="gcov-") as name:
            folder = Path(name)
            shutil.copy(built / "x.gcno", folder)
            whole = (built / "x.gcda").read_bytes()
            for size in (0, 3, 10, 15, 17, 30, len(whole) // 2 | 1, len(whole) - 5):
                with self.subTest(size=size):
                    (folder / "x.gcda").write_bytes(whole[:size])
                    done = tally(folder, "x.gcda", status=1)
                    self.assertEqual(done.stdout, "")
                    self.assertRegex(done.stderr, r"^tally: x\.gcda(:0x[0-9a-f]+)?: [^\n]+\n$")

    def test_without_notes(self) -> None:
        built = self.folder("jumps.c", ("-O0",))
        with tempfile.TemporaryDirectory(prefix="gcov-") as name:
            shutil.copy(built / "x.gcda", name)
            done = run([command_line(), "gcov", "x.gcda"], Path(name), status=None)
            self.assertEqual((done.returncode != 0, done.stdout), (True, ""))
            self.assertIn("x.gcno", done.stderr)


class ClangTest(unittest.TestCase):
    """Clang has no tool that prints JSON, so that lines are compared with the text of llvm-cov."""

    def build(self, folder: Path, source: str, options: list[str]) -> None:
        shutil.copytree(SOURCES, folder)
        (folder / "linked").symlink_to("inc")
        compiler = ["clang++", "-std=c++20"] if source.endswith(".cpp") else ["clang"]
        run([*compiler, "--coverage", *options, "-c", source, "-o", "x.o"], folder)
        run([*compiler, "--coverage", "x.o", "-o", "x"], folder)
        run([str(folder / "x")], folder, status=None)

    def test_equals_llvm_cov(self) -> None:
        need_tools("clang", "clang++", "llvm-cov")
        for source in ("jumps.c", "unity.cpp", "instances.cpp"):
            for options in (
                ["-O0"],
                ["-O2"],
                ["-Xclang", "-coverage-version=402*"],
                ["-Xclang", "-coverage-version=407*"],
            ):
                with self.subTest(source=source, options=options), tempfile.TemporaryDirectory(
                    prefix="gcov-"
                ) as name:
                    folder = Path(name) / "copy"
                    self.build(folder, source, options)
                    run(["llvm-cov", "gcov", "-b", "-c", "x.gcda"], folder)
                    text = "".join(
                        each.read_text(encoding="utf-8", errors="replace")
                        for each in sorted(folder.glob("*.gcov"))
                    )
                    seen = json.loads(tally(folder, "-b", "x.gcda").stdout)
                    self.assertEqual(
                        by_plain_names(counts_of_json(seen)), by_plain_names(counts_of_text(text))
                    )
                    of_seen, of_text = branches_of_json(seen), branches_of_text(text)
                    self.assertTrue(of_text)
                    self.assertEqual(
                        {os.path.normpath(file): line for file, line in of_seen},
                        {os.path.normpath(file): line for file, line in of_text},
                    )
                    # llvm-cov repeats branches as often as their block names the line.
                    self.assertLessEqual(
                        sum(map(len, of_seen.values())), sum(map(len, of_text.values()))
                    )

    def test_any_claimed_version(self) -> None:
        """llvm-cov 14 rejects what Clang 14 writes as version B22*; its counts are those of
        B13*."""
        need_tools("clang")
        seen = []
        for version in ("B13*", "B22*"):
            with tempfile.TemporaryDirectory(prefix="gcov-") as name:
                folder = Path(name) / "copy"
                self.build(folder, "jumps.c", ["-Xclang", f"-coverage-version={version}"])
                done = tally(folder, "-b", "x.gcda")
                self.assertEqual(done.stderr, "")
                seen.append(documents(done.stdout)[0]["files"])
        self.assertEqual(seen[0], seen[1])
        self.assertTrue(any(line["count"] for file in seen[0] for line in file["lines"]))


def why_not() -> str | None:
    reason = missing_tool("gcc", "g++", "gcov")
    if reason:
        return reason
    version = subprocess.run(
        ["gcov", "--version"], capture_output=True, text=True, check=False
    ).stdout
    with tempfile.TemporaryDirectory(prefix="gcov-") as name:
        folder = Path(name)
        (folder / "x.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
        run(["gcc", "--coverage", "x.c", "-c", "-o", "x.o"], folder)
        printed = run(["gcov", "--json-format", "--stdout", "x.gcno"], folder, status=None).stdout
    if '"format_version": "1"' not in printed:
        return f"gcov prints another format: {version.splitlines()[:1]}"
    return None


if __name__ == "__main__":
    no = why_not()
    if no:
        skip_script(no)
    run_unittests()
