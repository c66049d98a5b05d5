"""Tests `tally-meson test --affected`: which tests a change makes run, and why."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import MODULE, MixIn, for_each_meson, write_project
from support.skips import need_tools, run_unittests

sys.path.insert(0, str(MODULE))
from tally_meson.source_text import changes, lines_of

PROJECT = {
    ".gitignore": "build\n",
    "meson.build": """\
project('chosen', 'c')
lib = static_library('lib', 'one.c', 'two.c')
test('one', executable('t1', 't1.c', link_with: lib))
test('two', executable('t2', 't2.c', link_with: lib))
test('none', executable('t3', 't3.c'))
test('silent', executable('t4', 't4.c'), suite: 'silent')
""",
    "lib.h": "#define STEP 1\nint one(int);\nint two(int);\n",
    "one.c": """\
#include "lib.h"
int one(int n)
{
  /* counts */
  if (n == 7)
    return 7;
  return n + STEP;
}
int other(int n)
{
  return n;
}
""",
    "two.c": '#include "lib.h"\nint two(int n)\n{\n  return n - 1;\n}\n',
    "t1.c": '#include "lib.h"\nint main(void)\n{\n  return one(-1);\n}\n',
    "t2.c": '#include "lib.h"\nint main(void)\n{\n  return two(1);\n}\n',
    "t3.c": "int main(void)\n{\n  return 0;\n}\n",
    "t4.c": "#include <unistd.h>\nint main(void)\n{\n  _exit(0);\n}\n",
    "notes.md": "words\n",
}


class Text(unittest.TestCase):
    def test_lines_keep_their_numbers(self) -> None:
        text = 'a  =/* x\n y */ b; // "c\nR"z(1\n//2)z" \'"\' 1\'000 "//" \\\n d\n'
        self.assertEqual(
            lines_of(text),
            ["a =", "b ;", 'R"z(1', '//2)z" \'"\' 1\'000 "//" \\', "d", ""],
        )

    def test_changes(self) -> None:
        old = lines_of("int f()\n{\n  a;\n  b;\n}\n")
        self.assertEqual(changes(old, lines_of("int f() {\n\n  a; // c\n  b;\n}\n"))[0].first, 1)
        self.assertEqual(changes(old, lines_of("int f()\n{\n /**/ a;\n\n\n  b;\n}\n")), [])
        (change,) = changes(old, lines_of("int f()\n{\n  a;\n  c;\n  b;\n}\n"))
        self.assertEqual((change.first, change.old, change.new), (4, [], ["c ;"]))
        self.assertFalse(change.is_structural())
        for new in ("{\n  a;\n#if 1\n  b;\n}", "{\n  a;\n}\nint g()\n{\n  b;\n}"):
            self.assertTrue(
                any(
                    each.is_structural()
                    for each in changes(old, lines_of("int f()\n" + new + "\n"))
                )
            )

    def test_white_space_that_matters(self) -> None:
        for one, other in (
            ("#define F(x)", "#define F (x)"),
            ("a++ + b", "a + ++b"),
            ("#define A \\\n\nint x;", "#define A \\\nint x;"),
            ('s = R"(a\nb)";', 's = R"(a\n\nb)";'),
            ("int \xc3\xa0;", "int \xc3\x85;"),  # the bytes of names in UTF-8
        ):
            self.assertNotEqual(changes(lines_of(one), lines_of(other)), [], one)
        self.assertEqual(changes(lines_of("#  define A(x) x"), lines_of("#define A(x)  x")), [])

    def test_structure(self) -> None:
        for one, other, expected in (
            ("#define M(x) \\\n  (x)", "#define M(x) \\\n  (x + 1)", True),
            ("f() {\na;\n}", "f() {\na;\n} int g() {\n}", True),
            ("f() {\na;\n}", 'f() {\na("{"); } int g() { b("}");\n}', True),
            ("f() {\nif (a) {\n}\n}", "f() {\nif (b) {\n}\n}", False),
            ("f() { if (a) {\n} else if (b) {\n}}", "f() { if (a) {\n} else if (c) {\n}}", False),
        ):
            (change,) = changes(lines_of(one), lines_of(other))
            self.assertEqual(change.is_structural(), expected, other)


class Kinds(MixIn):
    """Projects in which more than what a test reached decides."""

    def record(self, files: dict[str, str]) -> None:
        need_tools("git")
        write_project(self.project, {".gitignore": "build\n", **files})
        self.addCleanup(shutil.rmtree, self.project)
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
            self.must("git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words)
        self.must("meson", "setup", "build")
        self.must("tally-meson", "test", "-C", "build", "--coverage-per-test")

    def chosen_after(self, name: str, old: str, new: str) -> list[str]:
        path = self.project / name
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new), encoding="utf-8")
        affected = ("tally-meson", "test", "-C", "build", "--affected", "HEAD", "--affected-list")
        chosen = self.expect(0, *affected).stdout.split()
        path.write_text(text, encoding="utf-8")
        return chosen

    def test_a_header_that_a_generator_reads(self) -> None:
        self.record(
            {
                "meson.build": """\
project('generated', 'c')
made = custom_target('made', input: 'defs.h', output: 'made.c',
  command: [find_program('make.sh'), '@INPUT@', '@OUTPUT@'])
test('reads', executable('t1', 't1.c', made))
test('other', executable('t2', 't2.c'))
test('apart', executable('t3', 't3.c'))
""",
                "make.sh": "#!/bin/sh\nsed -n 's/.*VALUE: /int value = /p' $1 > $2\n",
                "defs.h": "// VALUE: 1;\n#define ONE 1\n",
                "t1.c": "extern int value;\nint main(void)\n{\n  return value - 1;\n}\n",
                "t2.c": '#include "defs.h"\nint main(void)\n{\n  return ONE - 1;\n}\n',
                "t3.c": "int main(void)\n{\n  return 0;\n}\n",
            }
        )
        self.assertEqual(self.chosen_after("defs.h", "VALUE: 1", "VALUE: 2"), ["other", "reads"])
        self.assertEqual(self.chosen_after("defs.h", "ONE 1", "ONE 2"), ["other", "reads"])

    def test_processes_that_lose_counts(self) -> None:
        """With a strict standard, exec is no builtin, before which GCC writes the counters."""
        self.record(
            {
                "meson.build": """\
project('execs', 'c', default_options: ['c_std=c99'])
test('execs', executable('t1', 't1.c'))
test('plain', executable('t2', 't2.c'))
test('gnu', executable('t3', 't1.c', override_options: ['c_std=gnu99']))
""",
                "t1.c": "#define _GNU_SOURCE\n#include <sys/wait.h>\n#include <unistd.h>\n"
                "static int code(void)\n{\n  return 0;\n}\nint main(void)\n{\n  int s = 0;\n"
                "  if (fork() == 0)\n"
                '    execl("/bin/sh", "sh", "-c", code() ? "exit 1" : "exit 0", (char *)0);\n'
                "  wait(&s);\n  return s != 0;\n}\n",
                "t2.c": "int main(void)\n{\n  return 0;\n}\n",
            }
        )
        self.assertEqual(self.chosen_after("t1.c", "return 0", "return 1"), ["execs", "gnu"])
        self.assertEqual(self.chosen_after("t2.c", "return 0", "return 1"), ["execs", "plain"])
        lost = (
            r"tally: execs: counts are lost at execl: GCC writes them before only with a GNU "
            r"standard, such as c_std=gnu99\n$"
        )
        done = self.expect(0, "tally-meson", "test", "-C", "build", "--redundant")
        self.assertRegex(done.stderr, lost)
        self.assertTrue(
            done.stdout.endswith(
                "\nEach test that is judged reaches a line that no other test reaches.\n"
                "Not judged, because counts are lost: execs\n"
            ),
            done.stdout,
        )
        self.assertRegex(self.expect(0, "tally-meson", "test", "-C", "build").stderr, lost)

    def test_files_that_tests_name(self) -> None:
        """Such a test runs whatever changes in the file, even a comment."""
        self.record(
            {
                "meson.build": """\
project('named', 'c')
exe = executable('t', 't.c', 'read.c')
other = executable('other', 'other.c')
copy = custom_target('copy', input: 'other.c', output: 'copy', command: ['cp', '@INPUT@', '@OUTPUT@'])
source = meson.current_source_dir() / 'read.c'
test('argument', exe, args: files('read.c'))
test('option', exe, args: '--input=' + source)
test('letter', exe, args: '-f' + source)
test('environment', exe, env: ['INPUTS=/tmp:' + source])
test('folder', exe, args: 'read.c', workdir: meson.current_source_dir())
test('depends', exe, args: 'd', depends: copy)
test('apart', exe, args: 'x')
test('other', other, args: source + '.old')
""",
                "read.c": "// words\nint unused(int n)\n{\n  return n;\n}\n",
                "t.c": "int main(void)\n{\n  return 0;\n}\n",
                "other.c": "int main(void)\n{\n  return 0 * 1;\n}\n",
            }
        )
        for old, new in (("words", "other words"), ("return n", "return -n")):
            self.assertEqual(
                self.chosen_after("read.c", old, new),
                ["argument", "environment", "folder", "letter", "option"],
            )
        self.assertEqual(self.chosen_after("other.c", "0 * 1", "1 * 0"), ["depends", "other"])

    def test_assembler(self) -> None:
        self.record(
            {
                "meson.build": """\
project('assembler', 'c')
test('both', executable('t1', 't1.c', 'one.S', 'two.s'))
test('none', executable('t2', 't2.c'))
""",
                "one.S": "#define NAME one\n.globl NAME\nNAME:\n  ret\n",
                "two.s": ".globl two\ntwo:\n  ret\n",
                "t1.c": "int main(void)\n{\n  return 0;\n}\n",
                "t2.c": "int main(void)\n{\n  return 0;\n}\n",
            }
        )
        for name in ("one.S", "two.s"):
            self.assertEqual(self.chosen_after(name, "ret", "nop\n  ret"), ["both"])

    def test_functions_that_are_evaluated_early(self) -> None:
        self.record(
            {
                "meson.build": """\
project('early', 'cpp', default_options: ['cpp_std=c++17'])
test('uses', executable('t1', 't1.cpp'))
test('skips', executable('t2', 't2.cpp'))
""",
                "early.h": """\
#define LIB_CONSTEXPR constexpr
LIB_CONSTEXPR
/* adds
 * one */
inline
int early(int n)
{
  return n + 1;
}
""",
                "t1.cpp": '#include "early.h"\nint main()\n{\n  static_assert(early(1) == 2);\n'
                "  int (*f)(int) = early;\n  return f == nullptr;\n}\n",
                "t2.cpp": "int main()\n{\n  return 77;\n}\n",
            }
        )
        # What a skipped test would have reached is not known.
        self.assertEqual(self.chosen_after("early.h", "n + 1", "n + 2"), ["skips", "uses"])


class Affected(MixIn):
    made: Path  # the project after a run that made a record, which each test copies

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        need_tools("git")
        write_project(cls.project, PROJECT)
        cls.git("init", "-q")
        cls.git("add", ".")
        cls.git("commit", "-qm", "one")
        cls.must("meson", "setup", "build")
        cls.must("tally-meson", "test", "-C", "build", "--coverage-per-test")
        cls.made = cls.project.rename(cls.home / "made")

    def setUp(self) -> None:
        super().setUp()
        # With the times of the files, by which Ninja and Meson see that they are up to date.
        subprocess.run(["cp", "-a", str(self.made), str(self.project)], check=True)
        self.addCleanup(shutil.rmtree, self.project)

    @classmethod
    def git(cls, *words: str) -> str:
        return cls.must(
            "git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=no", *words
        )

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.project / name
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def listed(self, revision: str = "HEAD") -> subprocess.CompletedProcess:
        return self.expect(
            0, "tally-meson", "test", "-C", "build", "--affected", revision, "--affected-list"
        )

    def chosen(self, revision: str = "HEAD") -> list[str]:
        """Returns the names without that of the test that leaves no data, which always runs."""
        names = self.listed(revision).stdout.split()
        self.assertIn("silent", names)
        return [name for name in names if name != "silent"]

    def test_functions(self) -> None:
        self.assertEqual(self.chosen(), [])
        self.edit("one.c", "return 7", "return 8")  # a line that no test reached
        done = self.listed()
        self.assertEqual(done.stdout, "one\nsilent\n")
        self.assertEqual(
            done.stderr,
            "tally: 2 of 4 tests are affected by changes since HEAD\n"
            "  one: one.c:6 changed in a function that it reached\n"
            "  silent: it had no data last time\n",
        )
        self.git("commit", "-qam", "two")
        self.assertEqual(self.chosen(), ["one"])  # since the record
        self.assertEqual(self.chosen("HEAD~"), ["one"])
        self.edit("one.c", "return n;", "return n + 0;")  # a function that no test reached
        self.edit("t3.c", "return 0", "return 0 + 0")
        self.assertEqual(self.chosen(), ["none", "one"])

    def test_the_line_of_the_brace_is_outside(self) -> None:
        """The declaration may be in it, too."""
        self.edit("two.c", "{\n", "{ n += 0;\n")
        self.assertEqual(self.chosen(), ["one", "two"])

    def test_comments_touch_nothing(self) -> None:
        self.edit("one.c", "/* counts */", "/* counts\n  more */")
        self.edit("two.c", "return n - 1;", "return  n-1; // one less")
        self.assertEqual(self.chosen(), [])

    def test_what_is_outside_of_functions(self) -> None:
        self.edit("lib.h", "STEP 1", "STEP 2")
        self.assertEqual(self.chosen(), ["one", "two"])
        self.git("checkout", "-q", "lib.h")
        self.edit("two.c", "int two(int n)", "int two(int m)")  # a signature
        self.assertEqual(self.chosen(), ["one", "two"])  # both link the library

    def test_everything(self) -> None:
        for name, text, why in (
            ("notes.md", "more\n", "notes.md is not a source of this build"),
            ("data.txt", "new\n", "data.txt is not a source of this build"),
            ("meson.build", PROJECT["meson.build"] + "\n", "meson.build defines the build"),
            ("unused.h", "int x;\n", "unused.h is not a source of this build"),
        ):
            path = self.project / name
            path.write_text(text, encoding="utf-8")
            done = self.listed()
            self.assertEqual(done.stdout.split(), ["none", "one", "silent", "two"])
            self.assertEqual(done.stderr, f"tally: all 4 tests are affected: {why}\n")
            path.unlink()
            self.git("checkout", "-q", ".")
        self.must("meson", "configure", "build", "-Doptimization=1")
        self.must("ninja", "-C", "build")
        self.assertIn("configured differently", self.listed().stderr)
        os.remove(self.project / "build" / "meson-private" / "tally-tests.json")
        self.assertIn("there is no record", self.listed().stderr)
        self.refused(
            2,
            "--affected: absent is not a revision of .*",
            "tally-meson",
            "test",
            "-C",
            "build",
            "--affected",
            "absent",
        )

    def test_names(self) -> None:
        """Tests that are named run in any case, and beside all that are affected."""
        affected = ("tally-meson", "test", "-C", "build", "--affected", "HEAD")
        ran = r"\d/(\d) .*%s +OK"
        self.assertRegex(self.expect(0, *affected, "one", "--verbose").stdout, ran % "one")
        self.assertNotRegex(self.expect(0, *affected, "--suite", "one").stdout, ran % "one")
        self.edit("two.c", "int two(int n)", "int  two(int m)")
        self.edit("two.c", "return n", "return m")
        done = self.expect(0, *affected, "none")
        self.assertRegex(done.stdout, ran % "two")
        self.assertRegex(done.stdout, ran % "none")
        (self.project / "notes.md").write_text("other words\n", encoding="utf-8")
        done = self.expect(0, *affected, "none")
        self.assertRegex(done.stdout, "4/4 ")

    def test_links(self) -> None:
        """An untracked link and a file that is gone do not make all tests run."""
        (self.project / "link").symlink_to("build")
        (self.project / "notes.md").unlink()
        self.must("tally-meson", "test", "-C", "build", "--coverage-per-test")
        self.assertEqual(self.chosen(), [])

    def test_hidden_files(self) -> None:
        self.git("update-index", "--skip-worktree", "lib.h")
        self.must("tally-meson", "test", "-C", "build", "--coverage-per-test")
        self.edit("lib.h", "STEP 1", "STEP 2")
        self.assertIn("lib.h has changed, which git does not compare", self.listed().stderr)

    def test_no_record(self) -> None:
        os.remove(self.project / "build" / "meson-private" / "tally-tests.json")
        self.must("tally-meson", "test", "-C", "build", "--coverage-per-test", "one")
        self.assertIn(
            "the last run with --coverage-per-test made no record: 3 of 4 tests did not run",
            self.listed().stderr,
        )

    def test_the_hook(self) -> None:
        self.must("tally-meson", "enable")
        self.addCleanup(self.must, "tally-meson", "disable")
        self.edit("two.c", "return n - 1", "return n + 1")
        affected = ("meson", "test", "-C", "build", "--affected", "HEAD")
        done = self.expect(0, *affected, "--affected-list")
        self.assertEqual(done.stdout, "silent\ntwo\n")
        done = self.run_in(*affected)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\d/2 .*two +FAIL")
        self.refused(
            2, "--affected cannot be combined with --coverage: .*", *affected, "--coverage"
        )

    def test_redundant(self) -> None:
        text = (self.project / "meson.build").read_text(encoding="utf-8")
        (self.project / "meson.build").write_text(
            text + "test('again', executable('t5', 't1.c', link_with: lib))\n", encoding="utf-8"
        )
        done = self.expect(0, "tally-meson", "test", "-C", "build", "--redundant")
        self.assertTrue(
            done.stdout.endswith(
                "\nThese tests reach no line that others do not reach. Those with a * can go together.\n"
                "Reaching a line is not checking it.\n"
                "* again\n  one\n"
            ),
            done.stdout,
        )

    def test_runs(self) -> None:
        done = self.expect(0, "tally-meson", "test", "-C", "build", "--affected", "HEAD")
        self.assertEqual(done.stderr, "tally: 1 of 4 tests are affected by changes since HEAD\n")
        self.edit("two.c", "return n - 1", "return n + 1")
        done = self.run_in("tally-meson", "test", "-C", "build", "--affected", "HEAD")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\d/2 .*two +FAIL")
        # A test that failed runs again, whatever has changed.
        self.run_in("tally-meson", "test", "-C", "build", "--coverage-per-test")
        self.assertEqual(self.chosen(), ["two"])
        # A run of some tests leaves the record as it is.
        self.run_in("tally-meson", "test", "-C", "build", "--coverage-per-test", "one")
        self.assertEqual(self.chosen(), ["two"])
        self.refused(
            2,
            "--affected cannot be combined with --coverage-per-test: .*",
            "tally-meson",
            "test",
            "-C",
            "build",
            "--affected=HEAD",
            "--coverage-per-test",
        )


class MoreThanTests(MixIn):
    """What a change affects by other ways than the functions that the tests reach."""

    def setUp(self) -> None:
        super().setUp()
        need_tools("git")
        write_project(
            self.project,
            {
                ".gitignore": "build\nlocal.h\nlog\n",
                "meson.build": """\
project('more', 'c')
gen = executable('gen', 'gen.c', native: true)
made = custom_target('made', output: 'made c.h', command: [gen, '@OUTPUT@'])
test('made', executable('t1', 't1.c', made))
test('local', executable('t2', 't2.c'))
t3 = executable('t3', 't3.c')
test('env 1', t3, env: ['A=1'])
test('env 2', t3, env: ['A=2'])
test('edits', find_program('edits.sh'), suite: 'edits')
""",
                "gen.c": """\
#include <stdio.h>
int main(int argc, char **argv)
{
  FILE *file = fopen(argv[argc - 1], "w");
  fprintf(file, "#define VALUE %d\\n", 0);
  return fclose(file);
}
""",
                "t1.c": '#include "made c.h"\nint main(void)\n{\n  return VALUE;\n}\n',
                "local.h": "#define LOCAL 0\n",
                "t2.c": '#include "local.h"\nint main(void)\n{\n  return LOCAL;\n}\n',
                "t3.c": """\
#include <stdlib.h>
static int first(void)
{
  return 0;
}
int main(void)
{
  return *getenv("A") == '1' ? first() : 0;
}
""",
                "edits.sh": """\
#!/bin/sh
cd "$(dirname "$0")" || exit 1
test ! -e log || echo "int edited;" >> t1.c
""",
            },
        )
        (self.project / "edits.sh").chmod(0o755)
        self.addCleanup(shutil.rmtree, self.project)
        git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=no")
        self.must(*git, "init", "-q")
        self.must(*git, "add", ".")
        self.must(*git, "commit", "-qm", "one")
        self.must("meson", "setup", "build")

    def record(self, *words: str) -> None:
        self.must("tally-meson", "test", "-C", "build", "--coverage-per-test", *words)

    def listed(self) -> subprocess.CompletedProcess:
        return self.expect(
            0, "tally-meson", "test", "-C", "build", "--affected", "HEAD", "--affected-list"
        )

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.project / name
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def test_other_ways(self) -> None:
        self.record()
        self.assertEqual(self.listed().stdout, "edits\n")
        # No test runs the generator, but its output is compiled into one.
        self.edit("gen.c", '%d\\n", 0', '%d\\n", 1')
        self.assertEqual(self.listed().stdout, "edits\nmade\n")
        self.edit("gen.c", '%d\\n", 1', '%d\\n", 0')
        # The wrapper cannot tell tests with the same command apart.
        self.edit("t3.c", "return 0", "return 1")
        self.assertEqual(self.listed().stdout, "edits\nenv 1\nenv 2\n")
        self.edit("t3.c", "return 1", "return 0")
        self.edit("local.h", "LOCAL 0", "LOCAL 1")
        self.assertRegex(self.listed().stderr, "all 5 .*/local.h has changed, which git does not")
        self.edit("local.h", "LOCAL 1", "LOCAL 0")
        (self.project / "edits.sh").chmod(0o644)
        self.assertIn("the mode of edits.sh has changed", self.listed().stderr)

    def test_runs_that_make_no_record(self) -> None:
        (self.project / "log").touch()
        self.record()  # a source changes while the tests run
        self.assertIn("made no record: the sources changed", self.listed().stderr)
        (self.project / "log").unlink()
        self.record("--test-args=x")
        self.assertIn("made no record: the sources changed", self.listed().stderr)
        self.edit("t1.c", "return VALUE", "return 0 + VALUE")
        self.record("--no-rebuild")
        self.assertIn("made no record: the sources changed", self.listed().stderr)
        self.record()
        self.record("--no-rebuild")
        self.assertEqual(self.listed().stdout, "edits\n")


globals().update(for_each_meson(Affected, Kinds, MoreThanTests))

if __name__ == "__main__":
    run_unittests()
