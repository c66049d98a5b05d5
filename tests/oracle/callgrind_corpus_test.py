"""Tests every file of the Callgrind corpus: its report, the file that `rewrite` makes of it, and
how a second reader sees it.

TALLY_CORPUS names the corpus; without it, the directory shared/corpus beside the sources is used.
"""
import functools
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.callgrind_rows import CallgrindRows, Function
from support.profiles import ProfileCase, by_key, run_tally
from support.programs import SOURCE_ROOT
from support.skips import large, run_unittests, skip_script

CORPUS = (
    Path(os.environ.get("TALLY_CORPUS") or SOURCE_ROOT.parent / "shared" / "corpus") / "callgrind"
)

# Errors with which the second reader, which is not lenient, rejects a file.
UNREADABLE = {
    "undefid.callgrind": r"\('fn', '1'\)",
    "nomangle.callgrind": r"\('f[ln]', '\d+'\)",
}
UNDEFINED = ("undefid.callgrind", "nomangle.callgrind")


def stem(path: Path) -> str:
    return re.sub(r"\.(gz|zst)$", "", path.name)


def expected_of(path: Path) -> dict | None:
    plain = CORPUS / "expected" / (stem(path) + ".json")
    packed = plain.with_name(plain.name + ".gz")
    if plain.exists():
        return json.loads(plain.read_bytes())
    return json.loads(gzip.decompress(packed.read_bytes())) if packed.exists() else None


def files() -> list[Path]:
    return sorted(path for path in CORPUS.iterdir() if path.is_file() and path.name != "README.md")


def sound() -> list[Path]:
    return [path for path in files() if expected_of(path) is not None]


def unpackable() -> list[Path]:
    """Returns the valid files that can be decompressed on this machine."""
    return [path for path in sound() if path.suffix != ".zst" or shutil.which("zstd")]


@functools.lru_cache(maxsize=2)
def unpacked(path: Path) -> bytes:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout
    return path.read_bytes()


def second_reader(data: bytes) -> CallgrindRows:
    return CallgrindRows(data.decode("utf-8", "surrogateescape").split("\n"))


class CorpusTest(ProfileCase):
    def test_corpus_exists(self) -> None:
        self.assertGreater(len(sound()), 30)
        self.assertGreater(len(files()) - len(sound()), 5)

    def test_reports_equal_the_expected_ones(self) -> None:
        for path in sound():
            with self.subTest(path.name):
                expected, seen = expected_of(path), self.report(str(path))
                self.assertEqual(
                    (seen["events"], seen["totals"]), (expected["events"], expected["totals"])
                )
                self.assertEqual(by_key(seen), by_key(expected))
                order = [row["self"][0] for row in seen["functions"]]
                self.assertEqual(order, sorted(order, reverse=True))

    def test_refuses_what_is_damaged(self) -> None:
        for path in files():
            if expected_of(path) is not None:
                continue
            with self.subTest(path.name):
                done = run_tally("report", str(path), "--json")
                self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
                if path.stat().st_size == 0:
                    self.assertEqual(done.returncode, 4)
                    self.assertIn("is empty", done.stderr)
                else:
                    self.assertEqual(done.returncode, 1)
                    self.assertRegex(done.stderr, rf"^tally: {re.escape(str(path))}:\d+:\d+: \w")
                # `validate` reports the same error on its standard output.
                done = run_tally("validate", str(path))
                self.assertEqual((done.returncode, done.stderr), (1, ""))
                self.assertRegex(done.stdout, rf"(?m)^{re.escape(str(path))}(:\d+:\d+)?: error: ")

    def test_adds_up_to_the_stated_totals(self) -> None:
        for path in unpackable():
            data = unpacked(path)
            stated: dict[int, list[int]] = {}
            number = 1
            for key, text in re.findall(rb"(?m)^(part|totals): *([0-9 ]+)", data):
                if key == b"part":
                    number = int(text)
                    continue
                sums = stated.setdefault(number, [])
                for i, word in enumerate(text.split()):
                    sums[i : i + 1] = [int(word) + (sums[i] if i < len(sums) else 0)]
            if not stated:
                continue
            with self.subTest(path.name):
                report = self.report(str(path), "--by", "part")
                self.assertEqual(
                    self.by_part(report, len(report["events"])),
                    {
                        part: sums + [0] * (len(report["events"]) - len(sums))
                        for part, sums in stated.items()
                    },
                )
                functions = self.report(str(path))
                self.assertEqual(
                    [
                        sum(column)
                        for column in zip(*(row["self"] for row in functions["functions"]))
                    ],
                    functions["totals"],
                )

    def by_part(self, report: dict, width: int) -> dict:
        sums: dict[int, list[int]] = {}
        for row in report["parts"]:
            before = sums.get(row["part"], [0] * width)
            sums[row["part"]] = [a + b for a, b in zip(before, row["self"])]
        return sums

    def test_rewriting_keeps_the_report(self) -> None:
        """Rewriting keeps the report, a second rewrite gives the same bytes, and `validate` reports
        nothing."""
        for path in sound():
            with self.subTest(path.name):
                once = self.rewritten(str(path), "once.callgrind")
                before, after = self.report(str(path)), self.report(once)
                self.assertEqual(
                    (after["events"], after["totals"]), (before["events"], before["totals"])
                )
                self.assertEqual(by_key(after), by_key(before))
                self.assertEqual(
                    self.report(once, "--by", "part"), self.report(str(path), "--by", "part")
                )
                twice = self.rewritten(once, "twice.callgrind")
                with open(once, "rb") as first, open(twice, "rb") as second:
                    self.assertTrue(first.read() == second.read(), "not the same bytes")
                undefined = stem(path) in UNDEFINED
                found = self.tally("validate", once, status=1 if undefined else 0).stdout
                if undefined:
                    for line in found.splitlines():
                        self.assertRegex(
                            line,
                            r": error: (object|file|function) id \(\d+\) is "
                            r"not defined( \(\d+ times\))?$",
                        )
                else:
                    self.assertEqual(found, "")

    def test_written_with_full_names_and_positions(self) -> None:
        for path in sound():
            if path.suffix == ".zst" or stem(path) in UNDEFINED:  # long, or without names
                continue
            with self.subTest(path.name):
                full = self.rewritten(
                    str(path), "full.callgrind", "--full-names", "--full-positions"
                )
                self.assertEqual(by_key(self.report(full)), by_key(self.report(str(path))))
                with open(full, "rb") as file:
                    short = re.search(rb"(?m)^(c?fn|fl|fi|c?ob)=\(\d.*|^[-+*].*", file.read())
                self.assertIsNone(short)

    def test_size(self) -> None:
        """The rewritten file is at most 5 % larger than Valgrind's."""
        seen = 0
        for path in unpackable():
            if b"\ncreator: callgrind-" not in unpacked(path)[:2000].replace(b"\r", b""):
                continue
            seen += 1
            with self.subTest(path.name):
                size = os.path.getsize(self.rewritten(str(path), "once.callgrind"))
                # Names composed of ids are written in full, because other readers cannot expand
                # them: 15 %.
                nested = path.name.startswith("compress_mangled")
                self.assertLessEqual(size, (1.15 if nested else 1.05) * len(unpacked(path)))
        self.assertGreater(seen, 15)

    def test_second_reader(self) -> None:
        for path in unpackable():
            if path.suffix != ".zst":
                self.compare_readers(path)

    @large
    def test_second_reader_of_long_files(self) -> None:
        for path in unpackable():
            if path.suffix == ".zst":
                self.compare_readers(path)

    def compare_readers(self, path: Path) -> None:
        with self.subTest(path.name):
            try:
                rows = second_reader(unpacked(path))
            except ValueError as error:
                self.assertIn(stem(path), UNREADABLE, str(error))
                self.assertRegex(str(error), UNREADABLE[stem(path)])
                return
            self.assertNotIn(stem(path), UNREADABLE)
            self.compare_rows(path, rows)

    def compare_rows(self, path: Path, rows: CallgrindRows) -> None:
        report = self.report(str(path))
        self.assertEqual(rows.totals(), tuple(report["totals"]))
        # JSON replaces bytes that are not UTF-8.
        shown = {
            tuple(
                text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                for text in (each.name, each.file, each.object)
            ): each
            for each in rows.functions()
        }
        self.assertEqual(set(by_key(report)), set(shown))
        own = rows.self_by_function()
        calls: dict[Function, int] = {}
        for (_, callee), arc in rows.arcs_by_function().items():
            calls[callee] = calls.get(callee, 0) + arc.calls
        zero = (0,) * len(rows.events)
        for key, (self_costs, _, count) in by_key(report).items():
            self.assertEqual(
                (tuple(self_costs), count),
                (own.get(shown[key], zero), calls.get(shown[key], 0)),
                key,
            )
        # Compare row by row with the file that Tally writes.
        with open(self.rewritten(str(path), "rows.callgrind"), "rb") as file:
            again = second_reader(file.read())
        self.assertEqual(again.events, rows.events)
        compared: list[tuple[dict, dict]] = [
            (again.self_costs, rows.self_costs),
            (again.arcs, rows.arcs),
        ]
        for seen, wanted in compared:
            if seen == wanted:
                continue
            # A row of zeros may be left out. Not assertEqual, which would print all of a million rows if one differs.
            wrong = [
                key for key in {**seen, **wanted} if seen.get(key, zero) != wanted.get(key, zero)
            ]
            self.assertEqual(wrong[:3], [])


if __name__ == "__main__":
    if not CORPUS.is_dir():
        skip_script(f"there is no corpus in {CORPUS} (TALLY_CORPUS can name another)")
    run_unittests()
