"""Profiles Valgrind at test time, and compares Tally's reports with callgrind_annotate's, for the
original and for the rewritten file."""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.callgrind_annotate import Annotation, parse_annotation
from support.callgrind_rows import CallgrindRows, Function, read_callgrind
from support.profiles import ProfileCase
from support.programs import program
from support.skips import missing_tool, run_unittests, skip_script

# Valgrind's options, and whether the program has a thread.
RUNS: dict[str, tuple[list[str], bool]] = {
    "default": ([], False),
    "instr": (["--dump-instr=yes"], False),
    "jumps": (["--dump-instr=yes", "--collect-jumps=yes"], False),
    "simulation": (["--cache-sim=yes", "--branch-sim=yes"], False),
    "separate_threads": (["--separate-threads=yes"], True),
    "combined": (["--combine-dumps=yes", "--dump-before=even"], False),
    "full_names": (["--compress-strings=no"], False),
    "full_positions": (["--compress-pos=no", "--dump-instr=yes"], False),
}


def annotate(path: str, *, inclusive: bool = False) -> tuple[Annotation, str]:
    """Returns the table of callgrind_annotate, and its standard error."""
    with tempfile.TemporaryDirectory() as elsewhere:  # no sources: names are not shortened
        done = subprocess.run(
            [
                "callgrind_annotate",
                f"--inclusive={'yes' if inclusive else 'no'}",
                "--threshold=100",
                "--auto=no",
                "--show-percs=no",
                os.path.abspath(path),
            ],
            cwd=elsewhere,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            env={**os.environ, "LC_ALL": "C"},
            timeout=120,
            check=True,
        )
    return parse_annotation(done.stdout), re.sub(r"line \d+", "line N", done.stderr)


def costs_of(annotation: Annotation) -> dict:
    return {key: costs for key, costs in annotation.costs().items() if any(costs)}


def in_cycles(rows: CallgrindRows) -> set[Function]:
    """Returns the functions that call themselves, directly or indirectly."""
    callees: dict[Function, set[Function]] = {}
    for caller, callee in rows.arcs_by_function():
        callees.setdefault(caller, set()).add(callee)

    def reached(function: Function) -> set[Function]:
        seen: set[Function] = set()
        left = list(callees.get(function, ()))
        while left:
            each = left.pop()
            if each not in seen:
                seen.add(each)
                left += callees.get(each, ())
        return seen

    return {function for function in rows.functions() if function in reached(function)}


class ValgrindTest(ProfileCase):
    folder_of_runs = ""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder_of_runs = tempfile.mkdtemp(prefix="valgrind-")
        cls.addClassCleanup(shutil.rmtree, cls.folder_of_runs)

    @classmethod
    @functools.lru_cache(maxsize=None)
    def files(cls, name: str) -> list[str]:
        options, threads = RUNS[name]
        out = os.path.join(cls.folder_of_runs, f"{name}.callgrind")
        done = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={out}",
                *options,
                program("calls"),
                *(["thread"] if threads else []),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"{name}: status {done.returncode}\n{done.stderr}")
        return sorted(glob.glob(out + ("-*" if threads else "")))

    def each_file(self) -> list[tuple[str, str]]:
        found = []
        for name in RUNS:
            files = self.files(name)
            self.assertEqual(len(files), 2 if RUNS[name][1] else 1, name)
            found += [(name, path) for path in files]
        return found

    def test_validate_reports_nothing(self) -> None:
        for name, path in self.each_file():
            with self.subTest(name):
                done = self.tally("validate", path)
                self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_an_empty_base_file_points_at_the_threads(self) -> None:
        base = self.files("separate_threads")[0].removesuffix("-01")
        self.assertEqual(os.path.getsize(base), 0)
        done = self.tally("report", base, status=4)
        self.assertEqual(
            done.stderr,
            f"tally: {base}: is empty; the threads are in separate "
            f"files: {os.path.basename(base)}-01, …\n",
        )

    def test_equals_annotate(self) -> None:
        for name, path in self.each_file():
            with self.subTest(name):
                self.compare(path, several_parts=name == "combined")

    def compare(self, path: str, *, several_parts: bool) -> None:
        rows = read_callgrind(path)
        report, lines = self.report(path), self.report(path, "--by", "line")
        events, totals = tuple(report["events"]), tuple(report["totals"])
        self.assertEqual((rows.events, rows.totals()), (events, totals))
        self.assertEqual(totals, tuple(map(sum, zip(*rows.stated_totals))))
        self.assertEqual(
            totals, tuple(map(sum, zip(*(row["self"] for row in report["functions"]))))
        )
        self.assertGreater(len(rows.stated_totals), 1 if several_parts else 0)

        plain, errors = annotate(path)
        # callgrind_annotate does not support several parts, and reports errors.
        self.assertEqual(errors != "", several_parts, errors)
        self.assertEqual(plain.events, events)
        # callgrind_annotate identifies functions by the file of the lines: sum Tally's lines so,
        # too.
        own: dict[tuple[str, str], tuple[int, ...]] = {}
        for row in lines["lines"]:
            key = row["file"], row["function"]
            own[key] = tuple(map(sum, zip(own.get(key, (0,) * len(events)), row["self"])))
        own = {key: cost for key, cost in own.items() if any(cost)}
        self.assertEqual(
            own, {key: cost for key, cost in rows.annotate_self().items() if any(cost)}
        )
        # Valgrind writes a call that continues from one part into the next with calls=0, and
        # callgrind_annotate counts the cost of such a call as self cost.
        if several_parts:
            return
        self.assertEqual(plain.totals, rows.stated_summaries[0])
        self.assertEqual(costs_of(plain), own)

        # Without recursion the inclusive cost of a function is the sum of the calls to it. Compare
        # only functions that are called: callgrind_annotate knows no objects, and takes the file of
        # inlined lines for the caller's.
        recursive = {each.name for each in in_cycles(rows)}
        self.assertTrue({"fibonacci'2", "even'2", "odd'2"} <= recursive, recursive)
        called = {(callee.file, callee.name) for _, callee in rows.arcs_by_function()}
        shown = costs_of(annotate(path, inclusive=True)[0])
        inclusive: dict[tuple[str, str], tuple[int, ...]] = {}
        names: dict[tuple[str, str], int] = {}
        for row in report["functions"]:
            key = row["file"], row["name"]
            inclusive[key] = tuple(row["inclusive"])
            names[key] = names.get(key, 0) + 1
        compared = set()
        for key in called:
            if key[1] in recursive or names[key] > 1:
                continue
            compared.add(key[1])
            self.assertEqual(inclusive[key], shown.get(key, (0,) * len(events)), key)
        self.assertTrue({"work", "back", "called_back", "helper"} <= compared, compared)
        # Valgrind may count a little cost in calls (and in its summary) that belongs to no line.
        most: tuple[int, ...] = tuple(map(max, totals, rows.stated_summaries[0]))
        for key, costs in inclusive.items():
            for cost, total in zip(costs, most):
                self.assertLessEqual(cost, total, key)

    def test_callgrind_annotate_reads_rewritten_files(self) -> None:
        for name, path in self.each_file():
            out = self.rewritten(path, "anew.callgrind")
            for inclusive in (False, True):
                with self.subTest(name, inclusive=inclusive):
                    before, before_errors = annotate(path, inclusive=inclusive)
                    after, after_errors = annotate(out, inclusive=inclusive)
                    self.assertEqual(after_errors, before_errors)
                    self.assertEqual((after.events, after.totals), (before.events, before.totals))
                    self.assertEqual(costs_of(after), costs_of(before))

    def test_size(self) -> None:
        for name, path in self.each_file():
            with self.subTest(name):
                out = self.rewritten(path, "anew.callgrind")
                self.assertLessEqual(os.path.getsize(out), 1.05 * os.path.getsize(path))

    def test_the_sum_of_threads(self) -> None:
        out = self.path("all.callgrind")
        files = self.files("separate_threads")
        self.tally("merge", *files, "-o", out)
        reports = [self.report(path) for path in files]
        self.assertEqual(
            self.report(out)["totals"],
            [sum(each) for each in zip(*(report["totals"] for report in reports))],
        )
        self.assertEqual(self.tally("validate", out).stdout, "")


if __name__ == "__main__":
    if why := missing_tool("valgrind", "callgrind_annotate"):
        skip_script(why)
    run_unittests()
