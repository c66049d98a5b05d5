"""`tally` on streams of counters: those of freestanding GCC, and what Zephyr prints."""
from __future__ import annotations

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
from support.profiles import tally_in
from support.programs import command_line
from support.skips import missing_tool, run_unittests, skip_script

SOURCE = """\
int pick(int x) {
  if (x > 1)
    return VALUE;
  return 3;
}
int main(int argc, char **argv) { return pick(argc) == 3 ? 0 : 1; }
"""


def binary(files: dict[str, bytes]) -> bytes:
    """Returns what __gcov_filename_to_gcfn() and __gcov_info_to_gcda() write."""
    out = b""
    for name, counters in files.items():
        text = name.encode() + b"\0"
        out += b"nfcg" + b"*33B" + struct.pack("<I", len(text)) + text + counters
    return out


def printed(files: dict[str, bytes]) -> bytes:
    """Returns a log of Zephyr's."""
    out = "*** Booting ***\n" * 1000 + "\r\nGCOV_COVERAGE_DUMP_START"
    for name, counters in files.items():
        out += f"\r\n*{name}<{counters.hex()}"
    return (out + "\r\nGCOV_COVERAGE_DUMP_END\r\nPROJECT EXECUTION SUCCESSFUL\r\n").encode()


class CounterStreamTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="stream-")))
        self.addCleanup(shutil.rmtree, self.folder)
        self.counters: dict[str, bytes] = {}
        for name in ("one", "two"):  # two objects of the same name
            build = self.folder / name / "build"
            build.mkdir(parents=True)
            (build / "a.c").write_text(SOURCE, encoding="utf-8")
            flags = ["--coverage", "-DVALUE=" + str(len(self.counters))]
            for words in (["gcc", *flags, "-c", "a.c"], ["gcc", *flags, "a.o", "-o", "a"], ["./a"]):
                subprocess.run(words, cwd=build, check=True, timeout=60)
            data = build / "a.gcda"
            self.counters[name] = data.read_bytes()
            data.unlink()

    def run_tally(self, *words: str, status: int = 0) -> subprocess.CompletedProcess:
        return tally_in(self, self.folder, *words, status=status)

    def rows(self, *words: str) -> dict[str, str]:
        """Returns {file: lines}."""
        done = self.run_tally("coverage", *words)
        table = [line.split() for line in done.stdout.splitlines()[1:] if line[:3] != "---"]
        return {words_of[0]: words_of[2] for words_of in table}

    def write(self, name: str, content: bytes) -> str:
        (self.folder / name).write_bytes(content)
        return name

    def test_coverage(self) -> None:
        # The recorded paths are those of another machine, and only the stamps tell the objects apart.
        there = {f"/there/{name}.d/a.gcda": data for name, data in self.counters.items()}
        for make in (binary, printed):
            stream = self.write("stream", make({"/there/x.d/a.gcda": self.counters["two"]}))
            self.assertEqual(
                self.rows(".", stream),
                {"one/build/a.c": "0/5", "two/build/a.c": "4/5", "TOTAL": "4/10"},
            )
            stream = self.write("stream", make(there))
            self.assertEqual(self.rows(".", stream)["TOTAL"], "8/10")

    def test_the_objects_of_a_build(self) -> None:
        build = self.folder / "two" / "build"
        command = {"directory": str(build), "file": "a.c", "output": "a.o"}
        (build / "compile_commands.json").write_text(json.dumps([command]), encoding="utf-8")
        there = {f"/there/{name}/a.gcda": data for name, data in self.counters.items()}
        stream = self.write("stream", binary(there))
        rows = self.rows(".", stream, "--build", str(build))
        self.assertEqual(rows, {"two/build/a.c": "4/5", "TOTAL": "4/5"})

    def test_notes_beside_the_stream(self) -> None:
        path = self.write("one/build/log", printed({"/there/a.gcda": self.counters["one"]}))
        self.assertEqual(self.rows(path)["TOTAL"], "4/5")

    def test_files_are_paired_by_stamp(self) -> None:
        (self.folder / "gcda").mkdir()
        self.write("gcda/a.gcda", self.counters["two"])
        self.write("gcda/renamed.gcda", self.counters["one"])
        self.assertEqual(self.rows(".")["TOTAL"], "8/10")

    def test_names_that_are_no_counters(self) -> None:
        """A stream names the files that are written: no other file of the user's is replaced."""
        mine = self.folder / "out" / "src" / "main.c"
        mine.parent.mkdir(parents=True)
        for name, said in (
            ("src/main.c", "does not end in .gcda"),
            ("src/main.gcda", "it is not replaced"),
        ):
            mine = self.folder / "out" / name
            mine.write_text("mine", encoding="utf-8")
            stream = self.write("stream", binary({name: self.counters["one"]}))
            done = self.run_tally("convert", stream, "-o", "out/", status=1)
            self.assertIn(said, done.stderr)
            self.assertEqual(mine.read_text(encoding="utf-8"), "mine")
        mine.write_bytes(self.counters["two"])
        self.run_tally("convert", stream, "-o", "out/")
        self.assertEqual(mine.read_bytes(), self.counters["one"])

    def test_a_name_that_is_too_long_for_a_file(self) -> None:
        """No part of it is looked for: that would take minutes."""
        name = "/a" * 500000
        stream = self.write("stream", binary({name + "/a.gcda": self.counters["one"]}))
        self.assertIn("no line", self.run_tally("coverage", stream, status=4).stderr)
        report = self.write("a.info", f"SF:{name[1:]}.c\nDA:1,1\nend_of_record\n".encode())
        self.assertIn("1/1", self.run_tally("coverage", report).stdout)

    def test_pipes(self) -> None:
        """A report may come through a pipe, also a named one, but a stream may not."""
        stream = self.write("stream", binary({"/there/a.gcda": self.counters["one"]}))
        report = self.write("a.info", b"TN:\nSF:one/build/a.c\nDA:1,1\nend_of_record\n")
        for name, status, words in ((report, 0, "100.0%"), (stream, 1, "not from a pipe")):
            for path in ("-", "/dev/stdin"):
                done = subprocess.run(
                    [command_line(), "coverage", path],
                    cwd=self.folder,
                    input=(self.folder / name).read_bytes(),
                    capture_output=True,
                    timeout=60,
                    check=False,
                )
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(words, (done.stdout + done.stderr).decode())

    def test_sums(self) -> None:
        """The counters of all streams and of the file add up."""
        name = str(self.folder / "one" / "build" / "a.gcda")
        streams = [
            self.write("first", binary({name: self.counters["one"]})),
            self.write("second", printed({name: self.counters["one"]}) * 2),
        ]
        self.write("one/build/a.gcda", self.counters["one"])
        done = self.run_tally("coverage", "one", *streams, "--report", "lcov:-")
        self.assertIn("FNDA:4,pick\n", done.stdout)
        self.run_tally("merge", *streams, "-o", "sum.gcda")
        for _ in range(2):
            self.run_tally("merge", "one/build/a.gcda", "sum.gcda", "-o", "one/build/a.gcda")
        # 1 + 3 + 3
        done = self.run_tally("coverage", "one", "--report", "lcov:-")
        self.assertIn("FNDA:7,pick\n", done.stdout)

    def test_counters_of_another_compilation(self) -> None:
        name = str(self.folder / "one" / "build" / "a.gcda")
        stream = self.write("stream", binary({name: self.counters["one"]}))
        self.write("one/build/a.gcda", self.counters["two"])
        done = self.run_tally("coverage", "one", stream)
        self.assertIn("a.gcda: warning: is of another compilation than the counters", done.stderr)
        self.assertRegex(done.stdout, r"a\.c +80\.0% +4/5")

    def test_files(self) -> None:
        files = {"/d/../e/a.gcda": self.counters["one"], "../../b.gcda": self.counters["two"]}
        stream = self.write("stream", printed(files))
        self.run_tally("validate", stream)
        self.run_tally("convert", stream, "-o", "out/")
        self.assertEqual((self.folder / "out/e/a.gcda").read_bytes(), self.counters["one"])
        self.assertEqual((self.folder / "out/b.gcda").read_bytes(), self.counters["two"])
        self.assertFalse((self.folder / "b.gcda").exists())
        self.assertFalse((self.folder.parent / "b.gcda").exists())
        (self.folder / "linked").mkdir()
        (self.folder / "linked" / "e").symlink_to(self.folder / "one")
        done = self.run_tally("convert", stream, "-o", "linked/", status=2)
        self.assertIn("linked/e: is a symbolic link: name the directory", done.stderr)
        self.assertFalse((self.folder / "one" / "a.gcda").exists())
        done = self.run_tally("convert", stream, "-o", "x.gcda", status=1)
        self.assertIn("name a directory, with / at its end", done.stderr)
        self.assertIn("only read", self.run_tally("zero", stream, status=1).stderr)
        stream = self.write("stream", binary({"a": self.counters["one"]}))
        done = self.run_tally("rewrite", stream, "-o", "x", status=1)
        self.assertEqual(
            done.stderr, "tally: stream: the format gcfn is only read: write gcov-data\n"
        )


if __name__ == "__main__":
    if missing_tool("gcc"):
        skip_script("gcc is not installed")
    run_unittests()
