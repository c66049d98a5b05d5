"""`tally coverage` and `tally zero` on a build directory; changed lines; counts by test."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import tally_in
from support.programs import SANITIZED, command_line
from support.skips import missing_tool, need_tools, run_unittests, skip_script

MAIN = """\
int one(int x) {
  return x + 1;
}
int two(int x) {
  return x + 2;
}
int main(int argc, char **argv) {
  (void)argv;
  if (argc == 2)
    return one(-1);
  if (argc == 3)
    return two(-2);
  return 0;
}
"""
ALL_LINES = 10


class BuildFolderTest(unittest.TestCase):
    """`main` calls one() with one argument and two() with two; no build contains `stale`."""

    def setUp(self) -> None:
        self.project = Path(os.path.realpath(tempfile.mkdtemp(prefix="build-")))
        self.addCleanup(shutil.rmtree, self.project)
        self.build = self.project / "build"
        self.build.mkdir()
        (self.project / "main.c").write_text(MAIN, encoding="utf-8")
        (self.project / "stale.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
        for name in ("main", "stale"):
            self.command("gcc", "--coverage", "-O0", "-c", f"../{name}.c", "-o", f"{name}.c.o")
            self.command("gcc", "--coverage", f"{name}.c.o", "-o", name)
            self.command(f"./{name}")
        self.describe({"output": "main.c.o"})

    def describe(self, entry: dict) -> None:
        entries = [{"directory": str(self.build), "file": "../main.c", **entry}]
        (self.build / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")

    def command(self, *words: str, **environment: str) -> None:
        subprocess.run(
            words, cwd=self.build, check=True, timeout=60, env={**os.environ, **environment}
        )

    def tally(
        self, *words: str, status: int = 0, **environment: str
    ) -> subprocess.CompletedProcess:
        return tally_in(self, self.project, *words, status=status, environment=environment)

    def rows(self, *words: str) -> dict[str, list[str]]:
        """Returns {first cell: the others} of all tables."""
        lines = self.tally("coverage", "--build", "build", *words).stdout.splitlines()
        cells = (line.partition("  ") for line in lines if line)
        return {name: others.split() for name, _, others in cells}

    def test_objects_of_earlier_builds_are_ignored(self) -> None:
        here = str(self.build)
        entries: list[dict[str, object]] = [
            {"output": "main.c.o"},
            {"output": f"{here}/main.c.o"},
            {"command": r"cc 'x y' -DX=\" -c ../main.c -o main.c.o"},
            {"arguments": ["cc", "-o", "main.c.o", "-c", "../main.c"]},
            {"command": "cc -omain.c.o -c ../main.c"},
        ]
        for entry in entries:
            self.describe(entry)
            rows = self.rows()
            self.assertIn("main.c", rows, entry)
            self.assertNotIn("stale.c", rows, entry)
        self.assertIn("stale.c", self.tally("coverage", "build").stdout)

    def test_counters_in_other_folders_are_ignored(self) -> None:
        copy = self.build / "copy"
        copy.mkdir()
        shutil.copy(self.build / "main.c.gcda", copy)
        alone = self.rows("--report", "lcov:all.info")
        self.assertIn("DA:7,1\n", (self.project / "all.info").read_text(encoding="utf-8"))
        shutil.rmtree(copy)
        self.assertEqual(self.rows(), alone)

    def test_recorded_paths(self) -> None:
        """Sources are found although the compiler's options recorded other paths."""
        source = self.project / "main.c"
        source.write_text(
            MAIN.replace("return x + 2;", "return x + 2;  // LCOV_EXCL_LINE"), encoding="utf-8"
        )

        def compiled(*options: str, compiler: str = "gcc") -> None:
            words = [compiler, "--coverage", "-O0", *options, "-c", str(source), "-o", "main.c.o"]
            self.command(*words)
            (self.build / "main.c.gcda").unlink(missing_ok=True)
            self.command(compiler, "--coverage", "main.c.o", "-o", "main")
            self.command("./main")
            self.describe({"arguments": words})

        compiled()
        wanted = self.rows()
        self.assertEqual(wanted["main.c"][1], f"4/{ALL_LINES - 1}")
        for end, new in (("", "."), ("/", ""), ("", "/usr/src/demo")):
            compiled(f"-ffile-prefix-map={self.project}{end}={new}")
            self.assertEqual(self.rows(), wanted, new)
            (self.build / "compile_commands.json").unlink()
            done = self.tally(
                "coverage", "build/main.c.gcno", status=4 if new.startswith("/") else 0
            )
            self.assertRegex(
                done.stderr, r"\A[^\n]*/main\.c: warning: the source does not exist: ", new
            )
        if missing_tool("clang") is None:  # it records build/./main.c here
            compiled(f"-ffile-prefix-map={self.project}=.", compiler="clang")
            done = self.tally("coverage", "build/main.c.gcno")
            self.assertRegex(done.stdout, r"(?m)^main\.c ")
            self.assertEqual(done.stderr, "")
            compiled(f"-ffile-prefix-map={self.project}=/usr/src/demo")
        # The recorded root does not exist here.
        done = self.tally("coverage", "build/main.c.gcno", status=4)
        self.assertRegex(
            done.stderr,
            r"\A/usr/src/demo/main.c: warning: the source does not "
            r"exist: left out \(--substitute FROM=TO [^\n]*\)\n",
        )
        for words in (
            ["--substitute", "/usr/src/demo=."],
            ["--substitute", "/usr/src/dem=/", "--substitute=/usr/src/demo/=."],
        ):
            done = self.tally("coverage", "build/main.c.gcno", *words)
            self.assertRegex(done.stdout, rf"(?m)^main\.c .* 4/{ALL_LINES - 1} ")
        self.assertEqual(done.stderr, "")
        compiled(f"-ffile-prefix-map={self.project}=.")
        out = self.project.parent / (self.project.name + "-out")
        self.build.rename(out)
        self.addCleanup(shutil.rmtree, out)
        done = self.tally("coverage", str(out / "main.c.gcno"), "--root", ".")
        self.assertRegex(done.stdout, rf"(?m)^main\.c .* 4/{ALL_LINES - 1} ")
        for word in ("=x", "x=", "x"):
            done = self.tally("coverage", "--substitute", word, status=2)
            self.assertEqual(
                done.stderr, f"tally: --substitute: expected FROM=TO, found '{word}'\n"
            )

    def test_a_removed_source_is_not_another_of_its_name(self) -> None:
        """The build generated build/parser.c and removed it; parser.c is a different file."""
        (self.project / "parser.c").write_text(MAIN, encoding="utf-8")
        made = self.build / "parser.c"
        made.write_text(MAIN, encoding="utf-8")
        self.command("gcc", "--coverage", "-O0", "parser.c", "-o", "parser")
        self.command("./parser")
        made.unlink()
        self.assertIn(
            "/build/parser.c: warning: the source does not exist: ",
            self.tally("coverage", "build").stderr,
        )
        (self.project / "parser.c").unlink()
        done = self.tally("coverage", "build")
        self.assertRegex(done.stdout, r"(?m)^build/parser\.c ")
        self.assertIn("build/parser.c: warning: the source cannot be read", done.stderr)

    def test_sources_do_not_depend_on_the_folder_of_the_report(self) -> None:
        text = "SF:src/a.c\nDA:1,1\nend_of_record\n"
        for folder in ("out/src", "below/src"):
            (self.project / folder).mkdir(parents=True)
            (self.project / folder / "a.c").write_text("int a;\n", encoding="utf-8")
        (self.project / "out/x.info").write_text(text, encoding="utf-8")
        (self.project / "x.info").write_text(text, encoding="utf-8")
        shown = {
            path: self.tally("coverage", path, "--root", "below").stdout
            for path in ("x.info", "out/x.info")
        }
        self.assertRegex(shown["x.info"], r"(?m)^src/a\.c +100")
        self.assertEqual(shown["x.info"], shown["out/x.info"])
        # Under the default root, too, a file below the root takes precedence.
        shutil.copytree(self.project / "below/src", self.project / "src")
        self.assertRegex(self.tally("coverage", "out/x.info").stdout, r"(?m)^src/a\.c +100")

    def test_which_tests_through_a_link(self) -> None:
        (self.project / "x.info").write_text(
            f"TN:one\nSF:{self.project}/main.c\nDA:2,1\nend_of_record\n", encoding="utf-8"
        )
        (self.project / "link.c").symlink_to("main.c")
        done = self.tally("coverage", "x.info", "--which-tests", "link.c:2")
        self.assertEqual(done.stdout, "one\n")

    def test_deep_folders_take_no_memory(self) -> None:
        (self.project / "x.info").write_text(
            f"SF:/{'a/' * 20000}f.c\nDA:1,1\nend_of_record\n"
            f"SF:/{'a/' * 19999}b/f.c\nDA:1,1\nend_of_record\n",
            encoding="utf-8",
        )
        if SANITIZED:
            self.skipTest("a sanitizer reserves more memory than the limit")
        # The paths of all directories together have 400 MB of text, more than the limit.
        limited = ["sh", "-c", 'ulimit -v 300000; exec "$@"', "sh"]
        done = subprocess.run(
            [*limited, command_line(), "coverage", "x.info", "--root", "/"],
            cwd=self.project,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_paths_recorded_in_reports(self) -> None:
        (self.project / "x.info").write_text(
            "SF:/ci/p/main.c\nDA:2,1\nend_of_record\n", encoding="utf-8"
        )
        done = self.tally("coverage", "x.info", status=4)
        self.assertIn("/ci/p/main.c: warning: the source does not exist", done.stderr)
        done = self.tally("coverage", "x.info", "--substitute", f"/ci/p={self.project}")
        self.assertRegex(done.stdout, r"(?m)^main\.c +100")

    def test_missing_sources_are_reported_once(self) -> None:
        (self.project / "a.info").write_text(
            "SF:main.c\nDA:1,1\nend_of_record\nSF:/gone/a.y\nDA:2,1\nend_of_record\n", "utf-8"
        )
        words = ("coverage", "a.info", "--missing-once", "said")
        warning = "/gone/a.y: warning: the source does not exist"
        self.assertIn(warning, self.tally(*words).stderr)
        self.assertEqual(self.tally(*words).stderr, "")
        self.assertIn(warning, self.tally(*words, "--verbose").stderr)
        text = (self.project / "a.info").read_text("utf-8")
        (self.project / "a.info").write_text(text.replace("/a.y", "/b.y"), "utf-8")
        self.assertIn("/gone/b.y: warning", self.tally(*words).stderr)
        self.assertEqual(self.tally(*words).stderr, "")

    def test_reports_of_another_checkout(self) -> None:
        """A report whose sources all lie elsewhere is named, and no threshold is checked."""
        for name, count in (("here", 1), ("there", 0)):
            folder = self.project / name
            folder.mkdir()
            (folder / "f.c").write_text("int f;\nint g;\n", encoding="utf-8")
            (self.project / f"{name}.info").write_text(
                f"SF:{folder}/f.c\nDA:1,{count}\nDA:2,{1 - count}\nend_of_record\n", "utf-8"
            )
        (self.project / "ci.info").write_text(
            "SF:/ci/a/f.c\nDA:1,1\nend_of_record\nSF:/ci/a/g.c\nDA:1,1\nend_of_record\n", "utf-8"
        )
        both = ("coverage", "here.info", "there.info", "--root", "here")
        hint = (
            "counts nothing (--substitute FROM=TO names the directory of sources that were "
            "recorded in another checkout)\n"
        )
        done = self.tally(*both)
        self.assertRegex(done.stdout, r"(?m)^f\.c +50\.0%")
        self.assertEqual(
            done.stderr,
            f"{self.project}/there/f.c: warning: the source lies outside of {self.project}/here: "
            f"there.info {hint}",
        )
        done = self.tally("coverage", "here.info", "ci.info", "--root", "here")
        self.assertEqual(
            done.stderr,
            "/ci/a/f.c: warning: the source does not exist, the first of 2 outside of the root: "
            f"ci.info {hint}",
        )
        for option in ("--fail-under=10", "--baseline=b.txt"):
            done = self.tally(*both, option, status=4)
            self.assertIn("no threshold is checked: the sources of 1 of 2 reports are", done.stderr)
        self.tally(*both, "--strict", status=1)
        for more in (["--substitute", "there=here"], ["--filter", "f.c"]):
            more[1] = more[1].replace("there", f"{self.project}/there")
            self.assertEqual(self.tally(*both, *more, "--fail-under", "50").stderr, "")

    def test_omitted_objects(self) -> None:
        entries = [
            {"directory": str(self.build), "output": f"{name}.c.o"} for name in ("main", "stale")
        ]
        (self.build / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
        both = self.rows()
        self.assertIn("stale.c", both)
        alone = self.rows("--exclude-objects", "^stale")
        self.assertEqual([name for name in alone if name[0] != "-"], ["file", "main.c", "TOTAL"])
        done = self.tally("coverage", "build", "--exclude-objects", "^build/stale")
        self.assertNotIn("stale.c", done.stdout)
        done = self.tally("coverage", "--exclude-objects", "(", status=2)
        self.assertIn("tally: --exclude-objects: '(' is not a pattern", done.stderr)

    def test_order_and_limit(self) -> None:
        rows = [
            line.split()[0]
            for line in self.tally(
                "coverage", "build", "--sort", "missed", "--limit", "1"
            ).stdout.splitlines()
        ]
        self.assertEqual(rows[1], "main.c")
        self.assertEqual(rows[-1], "(1")
        done = self.tally("coverage", "build", "--sort", "size", status=2)
        self.assertIn(
            "expected one of file, lines, functions, branches, missed, found 'size'", done.stderr
        )

    def test_empty_values(self) -> None:
        """An empty value is an error and never consumes the next word."""
        for option in ("--filter", "--exclude", "--report", "--fail-under", "--diff", "--build"):
            done = self.tally("coverage", "build", f"{option}=", "--fail-under", "100", status=2)
            self.assertEqual(
                done.stderr,
                f"tally: {option}: expected a value, found ''\nTry 'tally coverage --help'.\n",
            )
        for option in ("--filter", "--exclude", "--report"):
            done = self.tally("coverage", "build", option, "", status=2)
            self.assertIn("expected a value, found ''", done.stderr)

    def test_invalid_databases(self) -> None:
        database = self.build / "compile_commands.json"
        for text, said in (
            ("[{]", "compile_commands.json:0x2: is not JSON"),
            ("{}", "it is not an array"),
            ("[1]", "entry is not an object"),
            ("[{}]", "there are no counters"),
        ):
            database.write_text(text, encoding="utf-8")
            done = self.tally("coverage", "--build", "build", status=4 if text == "[{}]" else 1)
            self.assertIn(said, done.stderr)
        database.unlink()
        for command in ("coverage", "zero"):
            self.assertIn("cannot open", self.tally(command, "--build", "build", status=1).stderr)

    def test_coverage_that_was_switched_off(self) -> None:
        """The counters that an earlier build left beside the objects still exist."""
        for options, warned in (
            ("", True),
            ("--coverage", False),
            ("-fprofile-arcs", False),
            ("@flags", False),
        ):
            self.describe({"command": f"cc {options} -c ../main.c -o main.c.o"})
            done = self.tally("coverage", "--build", "build")
            self.assertEqual(
                done.stderr,
                "build/compile_commands.json: warning: no command in "
                "it has --coverage: the counts may be those of an earlier build\n"
                if warned
                else "",
                options,
            )

    def test_zero(self) -> None:
        elsewhere = self.build / "notes-less.gcda"
        elsewhere.write_bytes((self.build / "main.c.gcda").read_bytes())
        self.tally("zero", "--build", "build")
        self.assertEqual(
            sorted(path.name for path in self.build.glob("*.gcda")),
            ["notes-less.gcda", "stale.c.gcda"],
        )
        done = self.tally("coverage", "--build", "build", "--fail-under", "1", status=4)
        self.assertIn("nothing was counted", done.stderr)
        self.command("./main", "1")
        self.assertEqual(self.rows()["main.c"][1], f"5/{ALL_LINES}")
        self.tally("zero", status=2)

    def test_zero_follows_no_link_that_it_finds(self) -> None:
        counters = self.build / "main.c.gcda"
        before = counters.read_bytes()
        folder = self.project / "links"
        folder.mkdir()
        (folder / "a.gcda").symlink_to(counters)
        done = self.tally("zero", "links", status=4)
        self.assertIn(
            "links/a.gcda: warning: is a symbolic link, and is left as it is", done.stderr
        )
        self.assertEqual(counters.read_bytes(), before)

    def test_zero_stays_in_the_build(self) -> None:
        out = self.project / "out"
        out.mkdir()
        for ending in ("gcno", "gcda"):
            shutil.copy(self.build / f"main.c.{ending}", out / f"other.c.{ending}")
        self.describe({"output": "../out/other.c.o"})
        self.tally("zero", "--build", "build")
        self.assertTrue((out / "other.c.gcda").exists())

    def commit(self, *files: str) -> list[str]:
        """Makes a repository of the project with these files. Returns the words that begin a command
        of git there."""
        need_tools("git")
        git = ["git", "-C", str(self.project), "-c", "user.name=T", "-c", "user.email=t@t"]
        for words in (["init", "-q"], ["add", *files], ["commit", "-qm", "first"]):
            subprocess.run(git + words, check=True, timeout=60)
        return git

    def test_lines_that_changed(self) -> None:
        git = self.commit("main.c", "stale.c")
        diff = ["coverage", "--build", "build", "--diff", "HEAD"]
        done = self.tally(*diff, "--fail-under", "100", "--report", "lcov:none.info")
        self.assertIn("no line that could run has changed since HEAD", done.stderr)
        self.assertTrue((self.project / "none.info").exists())
        source = self.project / "main.c"
        source.write_text(
            MAIN.replace("x + 2", "x + 1 + 1").replace("return 0", "return 1 - 1"), encoding="utf-8"
        )
        done = self.tally(*diff, "--fail-under", "80", status=3)
        self.assertRegex(done.stdout, r"(?m)^TOTAL +50\.0% +1/2 ")
        self.assertIn("1 of 2 lines ran", done.stderr)
        # The result does not depend on the user's git settings for differences.
        (self.project / ".gitattributes").write_text("*.c -diff\n", encoding="utf-8")
        subprocess.run(git + ["config", "diff.interHunkContext", "9"], check=True, timeout=60)
        subprocess.run(git + ["config", "diff.noprefix", "true"], check=True, timeout=60)
        contexts: list[dict[str, Any]] = [{}, {"GIT_DIFF_OPTS": "-u3"}]
        for context in contexts:
            self.assertEqual(self.tally(*diff, **context).stdout, done.stdout, context)
        for revision, status, said in (
            ("no-such", 1, "^tally: --diff: git: .*no-such"),
            ("", 2, "expected a revision"),
            ("--output=x", 2, "expected a revision"),
        ):
            words = [f"--diff={revision}"] if revision else ["--diff", ""]
            failed = self.tally("coverage", *words, "build", status=status)
            self.assertRegex(failed.stderr, said)
            self.assertEqual(failed.stderr.count("\n"), 1, failed.stderr)
        self.assertFalse((self.project / "x").exists())

    def test_programs_of_the_repository(self) -> None:
        """Comparing with a revision starts no program that the repository's configuration names."""
        git = self.commit("main.c", "stale.c")
        inner = self.project / "inner"
        inner.mkdir()
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run([*git, "-C", str(inner), *words], check=True, timeout=60)
        (inner / "a.c").write_text("int a;\n", encoding="utf-8")
        subprocess.run([*git, "-C", str(inner), "add", "."], check=True, timeout=60)
        subprocess.run([*git, "-C", str(inner), "commit", "-qm", "a"], check=True, timeout=60)
        subprocess.run([*git, "add", "inner"], check=True, timeout=60, capture_output=True)
        subprocess.run([*git, "commit", "-qm", "inner"], check=True, timeout=60)
        (inner / ".gitattributes").write_text("*.c filter=mine\n", encoding="utf-8")
        (self.project / ".gitattributes").write_text("*.c filter=mine\n", encoding="utf-8")
        ran = self.project / "ran"
        hook = self.project / ".git" / "hooks" / "post-index-change"
        hook.parent.mkdir(exist_ok=True)

        def set_in(folder: Path, key: str, value: str) -> None:
            subprocess.run([*git, "-C", str(folder), "config", key, value], check=True, timeout=60)

        def touch() -> None:
            ran.unlink(missing_ok=True)
            for file in (self.project / "main.c", inner / "a.c"):
                os.utime(file, ns=(time.time_ns(), time.time_ns()))

        diff = ["coverage", "--build", "build", "--diff", "HEAD", "--report", "lcov:none.info"]
        for folder, key, value in (
            (self.project, "hook", f"touch {ran}"),
            (self.project, "core.fsmonitor", f"touch {ran}"),
            (self.project, "filter.mine.clean", f"touch {ran}; cat"),
            (self.project, "filter.mine.process", f"touch {ran}; cat"),
            (inner, "filter.mine.clean", f"touch {ran}; cat"),
        ):
            with self.subTest(key, folder=folder.name):
                if key == "hook":
                    hook.write_text(f"#!/bin/sh\n{value}\n", encoding="utf-8")
                    hook.chmod(0o755)
                else:
                    set_in(folder, key, value)
                touch()
                self.assertIn("no line that could run", self.tally(*diff).stderr)
                self.assertFalse(ran.exists())
                touch()  # what is above may have refreshed the index, so that git has nothing to do
                looks = ["status"] if key == "hook" else ["diff", "HEAD"]
                subprocess.run([*git, *looks], check=False, timeout=60, capture_output=True)
                self.assertTrue(ran.exists(), "git itself starts it")
                if key == "hook":
                    hook.unlink()
                else:
                    set_in(folder, key, "")
        set_in(self.project, "filter.a=b.clean", f"touch {ran}")
        self.assertIn("cannot be turned off", self.tally(*diff, status=1).stderr)

    def test_a_last_line_without_its_end(self) -> None:
        """Git marks such a line by one that belongs to neither side."""
        source, text = self.project / "main.c", MAIN.replace(";\n}\n", "; }\n").rstrip("\n")
        source.write_text(text, encoding="utf-8")
        self.command("gcc", "--coverage", "-O0", "../main.c", "-o", "main")
        self.command("./main")
        self.commit("main.c")
        source.write_text(text + " ", encoding="utf-8")
        done = self.tally("coverage", "build", "--diff", "HEAD")
        self.assertRegex(done.stdout, r"(?m)^TOTAL +100\.0% +1/1 ")

    def test_equal_names_in_two_folders(self) -> None:
        """Two builds were made in the same folder, and moved. What a relative name means depends on
        the folder of its notes."""
        made = self.project / "made"
        for name in ("a", "b"):
            made.mkdir()
            (made / "x.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
            subprocess.run(
                ["gcc", "--coverage", "x.c", "-o", "x"], cwd=made, check=True, timeout=60
            )
            subprocess.run(["./x"], cwd=made, check=True, timeout=60)
            made.rename(self.project / name)
        shown = self.tally("coverage", "a", "b").stdout
        self.assertEqual(re.findall(r"(?m)^[ab]/x\.c", shown), ["a/x.c", "b/x.c"], shown)

    def run_tests(self) -> Path:
        """Returns a directory with the counters of two tests, one of which ran twice, and with a
        third test that left no counters."""
        self.tally("zero", "--build", "build")
        tree = self.project / "tree"
        tree.mkdir()
        runs = [("first", ["1"]), ("second", ["1", "2"]), ("second", ["1", "2"]), ("killed", None)]
        for number, (_, arguments) in enumerate(runs, 1):
            if arguments is not None:
                self.command("./main", *arguments, GCOV_PREFIX=str(tree / str(number)))
                self.tally("coverage", "--harvest", str(tree / str(number)))
            self.assertFalse((tree / str(number)).exists())
        tests = [{"n": number, "name": name} for number, (name, _) in enumerate(runs, 1)]
        (tree / "tests.json").write_text(json.dumps(tests), encoding="utf-8")
        return tree

    def test_coverage_of_each_test(self) -> None:
        tree = self.run_tests()
        rows = self.rows("--per-test", str(tree), "--report", "lcov:all.info")
        self.assertEqual(rows["main.c"][1], f"9/{ALL_LINES}")
        self.assertEqual(rows["first"], ["5", "3"])
        self.assertEqual(rows["second"], ["6", "4"])
        self.assertEqual(rows["killed"], ["no", "data"])
        for line, names in ((2, "first\n"), (5, "second\n"), (7, "first\nsecond\n")):
            tests = self.tally("coverage", "--which-tests", f"main.c:{line}", "all.info").stdout
            self.assertEqual(tests, names)
        text = (self.project / "all.info").read_text(encoding="utf-8")
        self.assertEqual(text.count("TN:"), 3, text)
        # Together they equal the counts of the runs made one after the other.
        self.tally("zero", "--build", "build")
        for arguments in (["1"], ["1", "2"], ["1", "2"]):
            self.command("./main", *arguments)
        together = self.tally("coverage", "--build", "build", "--report", "lcov:together.info")
        self.assertIn(f"9/{ALL_LINES}", together.stdout)
        self.tally("convert", "all.info", "-o", "sum.callgrind")
        self.tally("convert", "together.info", "-o", "together.callgrind")
        self.assertEqual(
            (self.project / "sum.callgrind").read_text(encoding="utf-8").splitlines()[2:],
            (self.project / "together.callgrind").read_text(encoding="utf-8").splitlines()[2:],
        )

    def test_harvest(self) -> None:
        harvest = ["coverage", "--harvest"]
        self.tally(*harvest, str(self.project / "none"))
        self.assertIn("is not a directory", self.tally(*harvest, "main.c", status=1).stderr)
        for name in (".", "build/..", ""):
            self.assertIn(
                "is not the directory of a test", self.tally(*harvest, name, status=2).stderr
            )
        # Counters that arrive later are added; files other than counters stay.
        tree = self.project / "tree"
        (tree / "1").mkdir(parents=True)
        (tree / "1" / "notes.txt").write_text("mine", encoding="utf-8")
        for arguments in (["1"], ["1", "2"]):
            self.command("./main", *arguments, GCOV_PREFIX=str(tree / "1"))
            self.tally(*harvest, str(tree / "1"))
        self.assertEqual([path.name for path in (tree / "1").rglob("*")], ["notes.txt"])
        self.assertEqual(sorted(path.name for path in tree.iterdir()), ["1", "1.counters"])
        self.tally("zero", "--build", "build")
        (tree / "tests.json").write_text('[{"n": 1, "name": "both"}]', encoding="utf-8")
        self.assertEqual(self.rows("--per-test", "tree")["both"], ["9", "9"])

    def test_tests_that_compiled_a_header_in_other_ways(self) -> None:
        """The lines of it that no test reached are in lcov's file as well."""
        (self.project / "h.h").write_text(
            "#ifdef A\nstatic inline int a(void) {\n  return 1;\n}\n#else\n"
            "static inline int b(void) {\n  return 2;\n}\n#endif\n",
            encoding="utf-8",
        )
        entries = []
        for name in "ab":
            (self.project / f"{name}.c").write_text(
                f'#include "h.h"\nint main(void) {{ return {name}() == 0; }}\n', encoding="utf-8"
            )
            self.command(
                "gcc",
                "--coverage",
                "-O0",
                f"-D{name.upper()}",
                "-c",
                f"../{name}.c",
                "-o",
                f"{name}.o",
            )
            self.command("gcc", "--coverage", f"{name}.o", "-o", name)
            entries.append({"directory": str(self.build), "output": f"{name}.o"})
        (self.build / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
        tree = self.project / "tree"
        tree.mkdir()
        self.command("./a", GCOV_PREFIX=str(tree / "1"))
        self.tally("coverage", "--harvest", str(tree / "1"))
        (tree / "tests.json").write_text('[{"n": 1, "name": "a"}]', encoding="utf-8")
        rows = self.rows("--per-test", "tree", "--report", "lcov:all.info")
        self.assertEqual((rows["h.h"][1], rows["TOTAL"][1]), ("2/4", "3/6"))
        again = self.tally("coverage", "all.info").stdout
        self.assertRegex(again, r"(?m)^TOTAL +50\.0% +3/6 ")

    def test_counters_of_no_test(self) -> None:
        tree = self.run_tests()
        self.command("./main")  # belongs to no test: it writes into the build directory
        rows = self.rows("--per-test", str(tree))
        self.assertEqual(rows["main.c"][1], f"{ALL_LINES}/{ALL_LINES}")
        self.assertEqual(rows["(no test)"], ["4", "1"])

    def test_counters_that_are_damaged(self) -> None:
        tree = self.run_tests()
        packed = tree / "1.counters"
        whole = packed.read_bytes()
        for bytes_of, said in (
            (b"", "not a file of packed counters"),
            (whole[:30], "truncated"),
            (whole[:-1], "truncated"),
            (whole[:-9] + bytes(9), "cannot be decompressed"),
        ):
            packed.write_bytes(bytes_of)
            done = self.tally(
                "coverage",
                "--build",
                "build",
                "--per-test",
                "tree",
                status=0 if "decompressed" in said else 1,
            )
            self.assertIn("1.counters:0x", done.stderr)
            self.assertIn(said, done.stderr)
        # The other tests still count.
        self.assertRegex(done.stdout, r"(?m)^first +no data")
        self.assertRegex(done.stdout, r"(?m)^second +6 +6")
        for tests, said in ([{"n": 1}], "expected a test's n and name"), (
            [{"n": 2, "name": "a"}, {"n": 2, "name": "b"}],
            "n 2 occurs twice",
        ):
            (tree / "tests.json").write_text(json.dumps(tests), encoding="utf-8")
            self.assertIn(
                said, self.tally("coverage", "--per-test", "tree", "build", status=1).stderr
            )

    def test_a_directory_of_tests_from_a_stranger(self) -> None:
        """What a link leads to is neither removed nor written, and nesting does not end Tally."""
        kept = self.project / "kept"
        kept.mkdir()
        (kept / "keep.gcda").write_bytes(b"counters")
        for name, harvested, said in (
            ("1", "1", "is a symbolic link"),
            ("2.counters", "2", "is a symbolic link: remove it"),
            ("3.counters", "3", "is not a file of packed counters"),
        ):
            tree = self.project / f"tree{harvested}"
            tree.mkdir()
            if name != "1":
                (tree / harvested).mkdir()
                (tree / harvested / "own.gcda").write_bytes(b"own")
            if name == "3.counters":
                (tree / name).write_text("a user's file", encoding="utf-8")
            else:
                (tree / name).symlink_to(kept if name == "1" else kept / "keep.gcda")
            done = self.tally("coverage", "--harvest", str(tree / harvested), status=1)
            self.assertIn(said, done.stderr)
            self.assertEqual((kept / "keep.gcda").read_bytes(), b"counters")
            if name != "1":
                self.assertEqual((tree / harvested / "own.gcda").read_bytes(), b"own")
        (kept / "tests.json").write_text("[" * 200_000 + "]" * 200_000, encoding="utf-8")
        done = self.tally("coverage", "--per-test", str(kept), "kept", status=1)
        self.assertIn("expected a test's n and name in element 0", done.stderr)

    def test_counters_of_one_test_that_cannot_be_used(self) -> None:
        """Truncated counters, or those of another compilation, leave the other tests' counts."""

        def with_second(change: Callable[[bytes], bytes]) -> subprocess.CompletedProcess:
            tree = self.run_tests()
            self.command("./main", "1", "2", GCOV_PREFIX=str(tree / "5"))
            data = next((tree / "5").rglob("main.c.gcda"))
            data.write_bytes(change(data.read_bytes()))
            self.tally("coverage", "--harvest", str(tree / "5"))
            (tree / "tests.json").write_text(
                '[{"n": 1, "name": "first"}, {"n": 5, "name": "spoiled"}]', encoding="utf-8"
            )
            done = self.tally("coverage", "--build", "build", "--per-test", "tree")
            shutil.rmtree(tree)
            return done

        for change, said in (
            (lambda data: data[:40], "truncated"),
            (lambda data: data[:8] + bytes(4) + data[12:], "stamp|compilation"),
        ):
            done = with_second(change)
            self.assertRegex(done.stderr, said)
            self.assertRegex(done.stdout, r"(?m)^main\.c +50\.0% +5/10 ")
            self.assertRegex(done.stdout, r"(?m)^spoiled +no data")


if __name__ == "__main__":
    if missing_tool("gcc"):
        skip_script("gcc is missing")
    run_unittests()
