"""`tally coverage`: which objects it selects, what it prints, and its exit statuses."""
from __future__ import annotations

import gzip
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
from support.programs import command_line
from support.skips import bound_by_permissions, missing_tool, run_unittests, skip_script

MAIN = """\
#include "twice.h"
static int never(int x) {
  return x + 1;
}
int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < 10; ++i)
    sum += twice(i);
  if (argc > 3)
    return never(argc);
  return sum > 0 ? 0 : 1;
}
"""
HEADER = """\
static inline int twice(int x) {
  if (x > 100)
    return 0;
  return x + x;
}
"""
TRACE = """\
TN:one
SF:src/main.c
DA:6,1
DA:9,0
end_of_record
TN:two
SF:src/main.c
DA:6,1
DA:9,3
end_of_record
"""
TOTAL = "TOTAL"


class CoverageTest(unittest.TestCase):
    maxDiff = 3000
    made = Path()

    @classmethod
    def setUpClass(cls) -> None:
        cls.made = Path(os.path.realpath(tempfile.mkdtemp(prefix="coverage-")))
        cls.addClassCleanup(shutil.rmtree, cls.made)
        (cls.made / "src" / "include").mkdir(parents=True)
        (cls.made / "build").mkdir()
        (cls.made / "src" / "main.c").write_text(MAIN, encoding="utf-8")
        (cls.made / "src" / "include" / "twice.h").write_text(HEADER, encoding="utf-8")
        cls.compile(cls.made)

    @staticmethod
    def compile(folder: Path, *options: str) -> None:
        for words in (
            [
                "gcc",
                "--coverage",
                "-O0",
                "-I../src/include",
                *options,
                "-c",
                "../src/main.c",
                "-o",
                ".._src_main.c.o",
            ],
            ["gcc", "--coverage", ".._src_main.c.o", "-o", "main"],
            ["./main"],
        ):
            subprocess.run(words, cwd=folder / "build", check=True, timeout=60)

    def setUp(self) -> None:
        parent = Path(os.path.realpath(tempfile.mkdtemp(prefix="coverage-")))
        self.addCleanup(shutil.rmtree, parent)
        self.folder = parent / "project"
        shutil.copytree(self.made, self.folder)
        # Notes name the directory of their compilation, so this test compiles them again here.
        shutil.rmtree(self.folder / "build")
        (self.folder / "build").mkdir()
        self.compile(self.folder)
        self.data = self.folder / "build" / ".._src_main.c.gcda"
        self.notes = self.data.with_suffix(".gcno")

    def run_in(
        self, *words: str, status: int = 0, folder: str = ".", **environment: str
    ) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [command_line(), "coverage", *words],
            cwd=self.folder / folder,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
            env={**os.environ, **environment},
        )
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def table(self, *words: str, stderr: str = "", **more) -> list[str]:
        done = self.run_in(*words, **more)
        self.assertEqual(done.stderr, stderr)
        return done.stdout.splitlines()

    def rows(self, *words: str, **more) -> dict[str, str]:
        """Returns {file: lines in percent}."""
        rows = {}
        for line in self.table(*words, **more)[1:]:
            words_of = line.split()
            if not line.startswith("---"):
                rows[words_of[0]] = words_of[1]
        return rows

    def test_table(self) -> None:
        table = self.table()
        self.assertEqual(table[0].split()[:2], ["file", "lines"])
        self.assertRegex(table[1], r"^src/include/twice\.h +75\.0% +3/4 +100\.0% +50\.0% +3$")
        self.assertRegex(table[2], r"^src/main\.c +66\.7% +6/9 +50\.0% +75\.0% +2-3, 10$")
        self.assertRegex(table[-1], r"^TOTAL +69\.2% +9/13 +66\.7% +66\.7%$")

    def test_paths(self) -> None:
        """Accepts directories, files, and an object named twice; the root may be a link."""
        everything = self.table()
        for words in (
            ["build"],
            [".", "build", str(self.folder)],
            [str(self.data)],
            [str(self.notes), str(self.data)],
            ["build/../build"],
        ):
            self.assertEqual(self.table(*words), everything, words)
        (self.folder.parent / "link").symlink_to(self.folder)
        self.assertEqual(self.table("--root", "../link", "../link/build"), everything)
        self.assertEqual(self.table("..", "--root", "..", folder="build"), everything)

    def test_missing_inputs(self) -> None:
        self.assertIn("tally: nothing: cannot open", self.run_in("nothing", status=1).stderr)
        (self.folder / "empty").mkdir()
        done = self.run_in("empty", "--fail-under", "1", status=4)
        self.assertRegex(done.stderr, "^tally: empty: there are no counters ")
        self.data.unlink()
        done = self.run_in("--fail-under", "1", status=4)
        self.assertEqual(
            done.stderr,
            "tally: 1 of 1 object never ran\n"
            "tally: .: nothing was counted: was no program run?\n",
        )
        self.assertRegex(done.stdout.splitlines()[-1], r"TOTAL +0\.0%")

    def test_counters_without_notes(self) -> None:
        self.notes.unlink()
        done = self.run_in(status=4)
        self.assertIn(f"{self.notes.name}: warning: cannot open", done.stderr)
        self.assertIn("the object is left out", done.stderr)
        self.run_in("--strict", status=1)

    def test_counters_below_a_gcov_prefix(self) -> None:
        everything = self.table()
        self.data.unlink()
        elsewhere = self.folder / "elsewhere"
        subprocess.run(
            ["./main"],
            cwd=self.folder / "build",
            check=True,
            env={**os.environ, "GCOV_PREFIX": str(elsewhere)},
        )
        self.assertEqual(self.table("elsewhere"), everything)
        both = self.table(".", stderr="")
        self.assertEqual(both, everything)  # notes without counters here are not a second object
        shutil.rmtree(elsewhere)
        subprocess.run(
            ["./main"],
            cwd=self.folder / "build",
            check=True,
            env={**os.environ, "GCOV_PREFIX": str(elsewhere), "GCOV_PREFIX_STRIP": "2"},
        )
        self.assertEqual(self.table("elsewhere", "build"), everything)

    def test_truncated_counters(self) -> None:
        self.data.write_bytes(self.data.read_bytes()[:-20])
        other = self.folder / "build" / "other.gcno"
        shutil.copy(self.notes, other)
        done = self.run_in("--fail-under", "50", status=4)
        self.assertRegex(
            done.stderr, r"main\.c\.gcda:0x[0-9a-f]+: warning: .*: counted as not run\n"
        )
        self.assertIn("tally: 2 of 2 objects never ran", done.stderr)
        self.assertRegex(done.stdout.splitlines()[-1], r"^TOTAL +0\.0% +0/13")
        self.run_in("--strict", status=1)
        whole = self.data.read_bytes()
        for size in (0, 3, 12, 20):
            self.data.write_bytes(whole[:size])
            self.assertIn("counted as not run", self.run_in(status=4).stderr)
        other.write_bytes(self.notes.read_bytes()[:-7])
        done = self.run_in(status=4)
        self.assertRegex(done.stderr, r"other\.gcno:0x[0-9a-f]+: warning: .*left out")
        self.assertIn(
            "tally: 1 of 2 objects could not be used; 1 of 2 objects never ran", done.stderr
        )

    def test_counters_of_another_compilation(self) -> None:
        before = self.data.read_bytes()
        (self.folder / "src" / "main.c").write_text(MAIN.replace("< 10", "< 12"), encoding="utf-8")
        self.compile(self.folder)
        self.data.write_bytes(before)
        done = self.run_in(status=4)
        self.assertIn("main.c.gcda: warning: the stamp differs", done.stderr)
        self.run_in("--strict", status=1)
        self.assertRegex(done.stdout.splitlines()[-1], r"TOTAL +0\.0%")

    def test_filters(self) -> None:
        self.assertEqual(list(self.rows("--filter", "main")), ["src/main.c", TOTAL])
        self.assertEqual(
            list(self.rows("--filter", "main", "--filter", "twice")),
            ["src/include/twice.h", "src/main.c", TOTAL],
        )
        self.assertEqual(list(self.rows("--exclude", "^src/inc")), ["src/main.c", TOTAL])
        self.assertEqual(
            list(self.rows("--filter", "h$", "--exclude", "main")), ["src/include/twice.h", TOTAL]
        )
        done = self.run_in("--exclude", ".", status=4)
        self.assertRegex(done.stderr, r"^tally: \.: no line is left: 2 sources")
        done = self.run_in(folder="build", status=4)
        self.assertIn("--root or --filter includes them", done.stderr)
        # A filter includes files outside the root.
        self.assertIn(
            str(self.folder / "src/main.c"), self.table("--filter", "main.c$", folder="build")[1]
        )
        done = self.run_in("--filter", "a(b", status=2)
        self.assertRegex(
            done.stderr, r"^tally: --filter: 'a\(b' is not a pattern: .* character 4\n"
        )

    def test_thresholds(self) -> None:
        self.run_in("--fail-under", "69.2")
        done = self.run_in("--fail-under", "69.3", status=3)
        self.assertEqual(done.stderr, "tally: 9 of 13 lines ran: 69.23%, less than 69.3%\n")
        self.assertIn("TOTAL ", done.stdout)  # the table and the reports are written nevertheless
        self.run_in("--fail-under-branch", "66.6")
        self.run_in("--fail-under-branch", "67", status=3)
        for bad in ("-1", "101", "x", "nan", ""):
            self.assertIn("expected 0 to 100", self.run_in("--fail-under", bad, status=2).stderr)

    def test_json(self) -> None:
        def json_of(*words: str) -> dict:
            return json.loads(self.run_in("--json", *words).stdout)

        shown = json_of()
        self.assertEqual(shown["root"], str(self.folder))
        self.assertEqual((shown["totals"]["lines_run"], shown["totals"]["lines"]), (9, 13))
        header, main = (str(self.folder / "src" / name) for name in ("include/twice.h", "main.c"))
        self.assertEqual([file["file"] for file in shown["files"]], [header, main])
        exact = {"at_least": False, "exact": True}
        self.assertEqual(
            shown["functions"][1],
            {
                "name": "never",
                "file": main,
                "line": 2,
                "calls": {"count": 0, **exact},
                "lines": 2,
                "lines_run": 0,
            },
        )
        self.assertIn({"file": header, "line": 4, "count": {"count": 10, **exact}}, shown["lines"])
        # The order and the number of files; the totals are those of all.
        worst = json_of("--sort", "lines", "--limit", "1")
        self.assertEqual({line["file"] for line in worst["lines"]}, {main})
        self.assertEqual(worst["totals"], shown["totals"])
        self.run_in("--json", "--report", "lcov:-", status=2)
        self.run_in("--json", "--fail-under", "70", "--report", "json:all.json", status=3)
        self.assertEqual(json.loads((self.folder / "all.json").read_text("utf-8")), shown)

    def test_markers(self) -> None:
        source = self.folder / "src" / "main.c"
        source.write_text(
            MAIN.replace("return never(argc);", "return never(argc); // LCOV_EXCL_LINE").replace(
                "static int never(int x) {", "static int never(int x) { // GCOVR_EXCL_FUNCTION"
            ),
            encoding="utf-8",
        )
        self.assertEqual(self.rows()["src/main.c"], "100.0%")
        self.assertEqual(self.rows("--no-markers")["src/main.c"], "66.7%")

    def test_lines_that_match(self) -> None:
        """They are left out as marked lines are, in all reports, and with --no-markers, too."""
        before = self.rows()["src/main.c"]
        pattern = (
            "--exclude-lines",
            r"return never\(argc\);$",
            "--exclude-lines=^static int never",
        )
        done = self.run_in(*pattern, "--no-markers", "--report", "lcov:x.info")
        trace = (self.folder / "x.info").read_text(encoding="utf-8").partition("main.c\n")[2]
        self.assertNotRegex(trace, r"(?m)^DA:(2|10),|never")
        self.assertIn("DA:3,0\n", trace)  # only a marker of a function has its body
        source = self.folder / "src" / "main.c"
        source.write_text(
            MAIN.replace("argc);\n", "argc); // LCOV_EXCL_LINE\n").replace(
                "(int x) {", "(int x) { // LCOV_EXCL_LINE"
            ),
            encoding="utf-8",
        )
        self.assertEqual(self.run_in().stdout, done.stdout)
        self.assertNotEqual(self.rows()["src/main.c"], before)
        source.write_text(MAIN + "// " + "a" * 40 + "\n", encoding="utf-8")
        done = self.run_in("--exclude-lines", "(a+)+y|z.c$", status=1)
        self.assertIn("src/main.c: ", done.stderr)
        done = self.run_in("--exclude-lines", "(", status=2)
        self.assertIn("tally: --exclude-lines: '(' is not a pattern", done.stderr)

    def test_a_missing_source(self) -> None:
        before = self.rows()
        (self.folder / "src" / "main.c").unlink()
        done = self.run_in()
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertRegex(done.stderr, "src/main.c: warning: the source cannot be read")
        self.assertIn(before[TOTAL], done.stdout)

    def test_a_build_that_was_moved(self) -> None:
        moved = self.folder.parent / "moved"
        before = self.table()
        self.folder.rename(moved)
        self.folder = moved
        self.assertEqual(self.table(), before)
        self.assertIn(
            "the compilation's directory does not exist: its sources are looked up in",
            self.run_in("--verbose").stderr,
        )

    def test_a_folder_that_cannot_be_read(self) -> None:
        closed = self.folder / "build" / "closed"
        closed.mkdir(mode=0)
        self.addCleanup(closed.chmod, 0o700)
        done = subprocess.run(
            [*bound_by_permissions(), command_line(), "coverage"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertIn("closed: warning: cannot read the directory", done.stderr)
        self.assertIn("TOTAL ", done.stdout)

    def test_reports(self) -> None:
        done = self.run_in(
            "--report", "lcov:a.info", "--report", "callgrind:cg.out", "--report", "text:table.txt"
        )
        self.assertIn("TOTAL ", done.stdout)
        self.assertEqual((self.folder / "table.txt").read_text(encoding="utf-8"), done.stdout)
        self.assertIn("SF:", (self.folder / "a.info").read_text(encoding="utf-8"))
        self.assertIn("events: Executions", (self.folder / "cg.out").read_text(encoding="utf-8"))
        self.run_in("--report", "lcov")
        self.assertEqual(
            (self.folder / "coverage.info").read_bytes(), (self.folder / "a.info").read_bytes()
        )
        # A report on standard output replaces the table.
        self.assertEqual(
            self.run_in("--report", "lcov:-").stdout,
            (self.folder / "a.info").read_text(encoding="utf-8"),
        )
        self.assertIn(
            "there is no report 'pdf' (there are: text, ",
            self.run_in("--report", "pdf", status=2).stderr,
        )
        for words in (
            ["lcov:-", "gcovr:-"],
            ["lcov:a", "callgrind:a"],
            ["html:-"],
            ["lcov:a.info.gz"],
        ):
            options = [option for word in words for option in ("--report", word)]
            self.assertTrue(self.run_in(*options, status=2).stderr.startswith("tally: "))
        self.assertIn("does not name a file", self.run_in("--report", "lcov:", status=2).stderr)
        self.assertIn(
            "tally: no/such/a.info: cannot",
            self.run_in("--report", "lcov:no/such/a.info", status=1).stderr,
        )

    def test_pages_replace_only_pages(self) -> None:
        """Files that are not of a report are neither replaced nor removed, nor are links followed."""
        pages = self.folder / "pages"
        for _ in range(2):
            self.run_in("--report", f"html:{pages}")
            (pages / "index.html").unlink()  # as if the report had not been completed
        self.run_in("--report", f"html:{pages}")
        made = sorted((pages / "source").iterdir())
        old = pages / "source" / "old.html"
        old.write_bytes(made[0].read_bytes())  # has the mark, but the index does not list it
        own = pages / "source" / "manual.html"
        index = (pages / "index.html").read_text(encoding="utf-8")
        (pages / "index.html").write_text(index + "source/manual.html", encoding="utf-8")
        own.write_text("mine", encoding="utf-8")
        self.run_in("--report", f"html:{pages}")
        self.assertEqual(own.read_text(encoding="utf-8"), "mine")
        self.assertTrue(old.exists())
        (pages / "index.html").write_text(index + "source/old.html", encoding="utf-8")
        self.run_in("--report", f"html:{pages}")
        self.assertFalse(old.exists())
        # Directories of the user.
        for name in ("index.html", "source/a.html", "style.css"):
            theirs = self.folder / name.replace("/", "-") / name
            theirs.parent.mkdir(parents=True)
            theirs.write_text("mine", encoding="utf-8")
            folder = self.folder / name.replace("/", "-")
            self.assertIn(
                "is not part of a report of Tally",
                self.run_in("--report", f"html:{folder}", status=2).stderr,
            )
            self.assertEqual(theirs.read_text(encoding="utf-8"), "mine")
        theirs = self.folder / "index.html" / "index.html"
        theirs.write_bytes(gzip.compress(index.encode()))  # no page is packed
        self.run_in("--report", f"html:{theirs.parent}", status=2)
        linked = self.folder / "linked"
        linked.mkdir()
        (linked / "source").symlink_to(pages / "source")
        self.assertIn(
            "source: is a symbolic link", self.run_in("--report", f"html:{linked}", status=2).stderr
        )
        self.assertEqual(os.listdir(linked), ["source"])

    def test_a_source_of_empty_lines_is_not_shown(self) -> None:
        """A page would have a row for each, of some 60 bytes."""
        (self.folder / "empty.c").write_text("\n" * 2_000_001, encoding="utf-8")
        (self.folder / "empty.info").write_text("SF:empty.c\nDA:1,1\nend_of_record\n", "utf-8")
        done = self.run_in("empty.info", "--report", "html:empty")
        self.assertIn("has more than 2000000 lines", done.stderr)
        self.assertLess(
            sum(file.stat().st_size for file in (self.folder / "empty").rglob("*.html")), 1e6
        )

    def test_a_usual_name_is_not_followed(self) -> None:
        """Whoever wrote the directory knows the names of outputs that the user does not choose."""
        theirs = self.folder / "theirs"
        theirs.write_text("mine", encoding="utf-8")
        for name, made in (("badge", "coverage-badge.svg"), ("lcov", "coverage.info")):
            for plant in (lambda at: at.symlink_to(theirs), lambda at: os.mkfifo(at)):
                output = self.folder / made
                output.unlink(missing_ok=True)
                plant(output)
                self.run_in("--report", name)
                self.assertTrue(output.is_file() and not output.is_symlink())
        (self.folder / "coverage-html").symlink_to(self.folder)
        self.assertIn("is a symbolic link", self.run_in("--report", "html", status=2).stderr)
        chosen = self.folder / "chosen.info"
        chosen.symlink_to(theirs)
        self.assertEqual(theirs.read_text(encoding="utf-8"), "mine")
        self.run_in("--report", "lcov:chosen.info")
        self.assertNotEqual(theirs.read_text(encoding="utf-8"), "mine")

    def test_a_report_is_read_back(self) -> None:
        self.run_in("--report", "lcov:a.info")
        self.assertEqual(self.table("a.info"), self.table())
        both = self.run_in("a.info", "build", "--report", "lcov:-").stdout
        self.assertIn("DA:11,2\n", both)

    def test_what_prints_or_writes_tests_alone(self) -> None:
        for option in ("--report=lcov:x", "--fail-under=90", "--redundant", "--baseline=b"):
            done = self.run_in("all.info", "--tests-by-function", "t.json", option, status=2)
            self.assertIn("cannot be used with --tests-by-function", done.stderr)
        done = self.run_in("all.info", "--redundant", "--report", "lcov:-", status=2)
        self.assertIn("cannot be used with a report in lcov on standard output", done.stderr)

    def test_which_tests(self) -> None:
        (self.folder / "tests.info").write_text(TRACE, encoding="utf-8")

        def which(location: str, status: int = 0) -> subprocess.CompletedProcess:
            return self.run_in("tests.info", "--which-tests", location, status=status)

        self.assertEqual(which("src/main.c:6").stdout, "one\ntwo\n")
        self.assertEqual(which("src/main.c:9").stdout, "two\n")
        self.assertEqual(which(f"{self.folder}/src/main.c:9").stdout, "two\n")
        self.assertEqual(which("main.c:9").stdout, "two\n")
        self.assertIn("main.c:7:1: there is no code in this line", which("main.c:7", 1).stderr)
        self.assertIn("there are no counts of x.c", which("x.c:7", 1).stderr)
        for bad in ("main.c", "main.c:", "main.c:x", "main.c:0", ":3", "main.c:99999999999"):
            self.assertIn("expected FILE:LINE", which(bad, 2).stderr)
        self.assertEqual(which("./src/main.c:9").stdout, "two\n")
        # A path relative to the current directory selects the file, and so does the path's end.
        for folder, location in (
            ("src", "main.c:9"),
            ("build", "../src/main.c:9"),
            ("build", "src/main.c:9"),
            ("src/include", "main.c:9"),
        ):
            done = self.run_in(
                "../" * len(Path(folder).parts) + "tests.info",
                "--which-tests",
                location,
                folder=folder,
            )
            self.assertEqual(done.stdout, "two\n", (folder, location))
        self.run_in("tests.info", "--which-tests", "main.c:6", "--fail-under", "1", status=2)
        self.assertIn(
            "the counts are not separated by test",
            self.run_in("--which-tests", "src/main.c:6", status=1).stderr,
        )

    def test_an_object_behind_a_link_is_the_same(self) -> None:
        (self.folder / "links").mkdir()
        for path in (self.data, self.notes):
            (self.folder / "links" / path.name).symlink_to(path)
        self.assertEqual(
            self.run_in("--report", "lcov:-").stdout,
            self.run_in("build", "--report", "lcov:-").stdout,
        )

    def test_branches_of_exceptions_in_reports(self) -> None:
        (self.folder / "a.gcovr.json").write_text(
            '{"gcovr/format_version": "0.3", "files": [{"file": "src/main.c", "lines": [{'
            '"line_number": 6, "count": 1, "branches": ['
            '{"count": 0, "fallthrough": false, "throw": true},'
            '{"count": 1, "fallthrough": false, "throw": false}]}], "functions": []}]}',
            encoding="utf-8",
        )
        self.assertRegex(self.table("a.gcovr.json")[1], r"100\.0% +1/1 +- +100\.0%")
        self.assertRegex(self.table("a.gcovr.json", "--throw-branches")[1], r" 50\.0%")

    def test_a_source_that_is_not_a_file(self) -> None:
        os.mkfifo(self.folder / "pipe.c")
        (self.folder / "a.info").write_text("SF:pipe.c\nDA:1,1\nend_of_record\n", encoding="utf-8")
        self.assertIn("pipe.c: warning: the source cannot be read", self.run_in("a.info").stderr)

    def test_a_pattern_that_takes_too_long(self) -> None:
        folder = self.folder / ("a" * 40)
        folder.mkdir()
        (folder / "x.c").write_text("int x;\n", encoding="utf-8")
        (self.folder / "a.info").write_text(
            f"SF:{folder}/x.c\nDA:1,1\nend_of_record\n", encoding="utf-8"
        )
        done = self.run_in("a.info", "--filter", "^(a+)+y|x.c$", status=1)
        self.assertIn("cannot search for a pattern in this path", done.stderr)

    def test_no_process_is_started(self) -> None:
        if missing_tool("strace"):
            self.skipTest(missing_tool("strace"))
        log = self.folder / "strace.txt"
        # A leak checker does not work under a tracer.
        environment = {
            **os.environ,
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0",
        }
        subprocess.run(
            [
                "strace",
                "-f",
                "-e",
                "trace=execve,fork,vfork,clone,clone3",
                "-o",
                str(log),
                command_line(),
                "coverage",
                "--report",
                "lcov",
            ],
            cwd=self.folder,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
            env=environment,
        )
        calls = log.read_text(encoding="utf-8")
        self.assertEqual(calls.count("execve("), 1)
        for line in calls.splitlines():
            # strace may divide a call into two lines; the arguments are in the first one.
            if "clone" in line and "resumed>" not in line:
                self.assertIn("CLONE_THREAD", line)


if __name__ == "__main__":
    no = missing_tool("gcc")
    if no:
        skip_script(no)
    run_unittests()
