"""Tests `coverage …` in GDB on a program that is compiled with --coverage at test time."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from scenario import Play, play_gdb
from support.gcov_programs import run
from support.programs import command_line, program
from support.skips import need_tools, run_unittests

SOURCE = """\
#include <stdio.h>
static int square(int x) { return x * x; }
static int never(int x) { return x - 1; }
static int handle(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += square(i);
  if (sum > 1000000)
    return never(sum);
  return sum;
}
void checkpoint(int number) { (void)number; }
int main(int argc, char **argv) {
  int sum = handle(3);
  checkpoint(1);
  sum += handle(4);
  checkpoint(2);
  for (int i = 0; i < 5; ++i)
    sum += handle(2);
  checkpoint(3);
  printf("%d\\n", sum);
  return 0;
}
"""
GOTO = """\
void stop(void) {}
static int interpret(const char *code) {
  static void *const labels[] = {&&end, &&add, &&twice};
  int sum = 0;
  goto *labels[(int)*code++];
add:
  ++sum;
  goto *labels[(int)*code++];
twice:
  sum *= 2;
  goto *labels[(int)*code++];
end:
  stop();
  return sum;
}
int main(void) { return interpret("\\1\\1\\2\\1\\2") != 10; }
"""
HOST = """\
#include <dlfcn.h>
void stop(int number) { (void)number; }
int main(int argc, char **argv) {
  for (int i = 0; i < 3; ++i) {
    void *plug = dlopen(argv[1], RTLD_NOW);
    ((int (*)(int))dlsym(plug, "work"))(i);
    stop(1);
    dlclose(plug);
    stop(2);
  }
  return 0;
}
"""
# large() is called once, and is inlined there.
INLINED = """\
volatile int limit = 100;
__attribute__((noinline)) static int leaf(int x) { return x * limit; }
static int large(int x) {
  for (int i = 0; i < x; ++i) {
    x += leaf(x); x -= leaf(i); x ^= leaf(i + x); x += leaf(x + 3); x += leaf(7 * x);
    if (x & 1) x += leaf(x); else x -= leaf(i);
  }
  return x;
}
void checkpoint(int x) { if (x > limit) limit = large(x); }
int main(void) { checkpoint(1); return 0; }
"""
# Two files have one name. Two have static functions of one name, which the first inlines.
SAME_NAMES = {
    "one/same.c": """\
int more(int x);
static int helper(int x) {
  for (int i = 0; i < x; ++i) {
    x += more(x); x -= more(i); x ^= more(i + x); x += more(x + 3); x += more(7 * x);
    if (x & 1) x += more(x); else x -= more(i);
  }
  return x;
}
__attribute__((noinline)) int never(int x) { return helper(x) + 1; }
""",
    "two/same.c": "int work(int x) { return x - 1; }\n",
    "other.c": """\
static __attribute__((noinline)) int helper(int x) { return x - 1; }
int more(int x) { return helper(x) + helper(x + 1); }
""",
    "main.c": """\
int never(int), work(int), more(int);
__attribute__((noinline)) void stop(void) { __asm__(""); }
int main(int argc, char **argv) {
  int sum = work(argc) + more(argc);
  if (argc > 9)
    sum += never(argc);
  stop();
  return sum & 1;
}
""",
}


class CoverageTest(unittest.TestCase):
    built = Path()

    @classmethod
    def setUpClass(cls) -> None:
        need_tools("gdb", "gcc")
        cls.built = Path(os.path.realpath(tempfile.mkdtemp(prefix="coverage-")))
        cls.addClassCleanup(shutil.rmtree, cls.built)
        (cls.built / "x.c").write_text(SOURCE, encoding="utf-8")
        cls.compile("x", "-O0")

    def setUp(self) -> None:
        for path in self.built.glob("*.gcda"):  # the next exit would add to it
            path.unlink()

    @classmethod
    def compile(cls, name: str, options: str, source: str = "x.c") -> None:
        command = ["gcc", "--coverage", "-g", *options.split(), "-c", source, "-o", f"{name}.o"]
        run(command, cls.built)
        run(["gcc", "--coverage", "-Wl,--build-id", f"{name}.o", "-o", name], cls.built)

    def play(self, *commands: str) -> Play:
        return play_gdb(list(commands), str(self.built / "x"))

    def calls(self, play: Play, command: str) -> dict[str, int]:
        """Returns the exact numbers of calls that a table of functions shows. A function that was
        entered before has lines that ran, and no call."""
        rows = json.loads(play.text(command))["functions"]
        for row in rows:
            self.assertEqual((row["calls"]["exact"], row["calls"]["at_least"]), (True, False), row)
        return {row["name"]: row["calls"]["count"] for row in rows}

    def test_what_ran_since_the_previous_stop(self) -> None:
        since = "coverage report --by function --since stop --json"
        whole = "coverage report --by function --json"
        play = self.play(
            "break checkpoint", "run", "continue", since, "continue", since + " --limit 0", whole
        )
        self.assertEqual(play.stderr, "", play)
        self.assertEqual(
            self.calls(play, since), {"square": 4, "handle": 1, "checkpoint": 1, "main": 0}
        )
        self.assertEqual(
            self.calls(play, since + " --limit 0"),
            {"square": 10, "handle": 5, "checkpoint": 1, "main": 0},
        )
        self.assertEqual(
            self.calls(play, whole), {"square": 17, "handle": 7, "checkpoint": 3, "main": 1}
        )

    def test_a_stop_that_cannot_be_marked(self) -> None:
        """The stacks are not known at the second stop, as in non-stop mode while a thread runs."""
        since = "coverage report --by function --since stop --json"
        stacks = "tally_gdb.performer.GdbPerformer.stacks"
        play = self.play(
            "break checkpoint",
            "run",
            "python import tally_gdb.performer",
            f"python kept, {stacks} = {stacks}, lambda self: 1 / 0",
            "continue",
            f"python {stacks} = kept",
            since,
            "continue",
            since,
        )
        self.assertEqual(
            play.stderr.splitlines(),
            ["coverage report: no stop was marked until now: auto-mark is on"]
            + ["coverage report: only one stop was marked until now"],
            play,
        )

    def test_what_ran_since_a_mark(self) -> None:
        since = "coverage report --by function --since mark --json"
        play = self.play(
            "break checkpoint", "run", "coverage mark", "continue", "continue", since, "kill"
        )
        self.assertEqual(play.stderr, "", play)
        self.assertRegex(play.text("coverage mark"), r"^Marked \d+ bytes of counters\.$")
        self.assertEqual(
            self.calls(play, since), {"square": 14, "handle": 6, "checkpoint": 2, "main": 0}
        )

    def test_lines(self) -> None:
        play = self.play(
            "break checkpoint",
            "run",
            "coverage report",
            "coverage annotate handle",
            "coverage report --by line --limit 2",
            "coverage status",
        )
        self.assertEqual(play.stderr, "", play)
        table = play.text("coverage report")
        self.assertRegex(table, r"(?m)^x\.c +\d+\.\d% .*3, 9")
        text = play.text("coverage annotate handle")
        self.assertRegex(text, r"(?m)^ +4 +6 +  for \(int i = 0; i < n; \+\+i\)$")
        self.assertRegex(text, r"(?m)^ +3 +7 +    sum \+= square\(i\);$")
        self.assertRegex(text, r"(?m)^ +0 +9 +    return never\(sum\);$")
        self.assertRegex(play.text("coverage report --by line --limit 2"), r"(?m)^1 +4 +x\.c:6$")
        self.assertRegex(play.text("coverage status"), r"(?m)^objects +1$")

    def test_the_files_are_those_of_the_exit(self) -> None:
        """GDB stops the program where libgcov is about to write its files."""
        dump = f"coverage dump {self.built}/dump/"
        play = self.play("break __gcov_exit", "run", dump, "continue")
        self.assertEqual(play.stderr, "", play)
        self.assertIn("Wrote the counters of 1 object ", play.text(dump))
        written = self.built / "x.gcda"
        copy = Path(f"{self.built}/dump{written}")
        self.assertEqual(copy.read_bytes(), written.read_bytes())
        counted = run([command_line(), "coverage", "."], self.built).stdout
        self.assertIn("x.c", counted)

    def test_computed_gotos_are_not_calls(self) -> None:
        """GCC adds fake arcs from the entry to the targets of computed gotos, which gcov counts."""
        (self.built / "goto.c").write_text(GOTO, encoding="utf-8")
        run(["gcc", "--coverage", "-g", "goto.c", "-o", "goto"], self.built)
        report = "coverage report --by function --json"
        play = play_gdb(["break stop", "run", report, "kill"], str(self.built / "goto"))
        rows = json.loads(play.text(report))["functions"]
        self.assertEqual({row["name"]: row["calls"]["count"] for row in rows}["interpret"], 1, rows)

    def test_modules_that_come_and_go(self) -> None:
        """A mark stays of use, and a module that is loaded again counts from 0."""
        (self.built / "host.c").write_text(HOST, encoding="utf-8")
        (self.built / "plug.c").write_text("int work(int n) { return 2 * n; }\n", encoding="utf-8")
        run(["gcc", "--coverage", "-g", "-shared", "-fPIC", "plug.c", "-o", "plug.so"], self.built)
        run(["gcc", "--coverage", "-g", "host.c", "-o", "host"], self.built)
        since = "coverage report --by function --since mark"
        play = play_gdb(
            ["break stop", "run", "coverage mark", "continue", since, "continue", since + " --json"]
            + ["kill"],
            str(self.built / "host"),
            [str(self.built / "plug.so")],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertIn("plug.so was unloaded: what it counted", play.text(since))
        self.assertNotIn(" work ", play.text(since))
        rows = json.loads(play.text(since + " --json"))["functions"]
        self.assertEqual({row["name"]: row["calls"]["count"] for row in rows}["work"], 1, rows)

    def test_source_based(self) -> None:
        """llvm-profdata makes the same file of the raw profile from memory as of that of the exit."""
        need_tools("clang-14", "llvm-profdata-14")
        options = ["-fprofile-instr-generate", "-fcoverage-mapping", "-g"]
        run(["clang-14", *options, "x.c", "-o", "source"], self.built)
        dump = f"coverage dump {self.built}/memory.profraw"
        play = play_gdb(
            [f"set environment LLVM_PROFILE_FILE {self.built}/exit.profraw", "break checkpoint"]
            + ["run", "tbreak exit", "delete 1", "continue", dump, "continue"],
            str(self.built / "source"),
        )
        self.assertIn("Wrote the counters to", play.text(dump))
        for name in ("memory", "exit"):
            run(["llvm-profdata-14", "merge", f"{name}.profraw", "-o", f"{name}.out"], self.built)
        self.assertEqual(*((self.built / f"{x}.out").read_bytes() for x in ("memory", "exit")))

    def test_remote(self) -> None:
        """The counters are those of the exit for a program that runs under gdbserver, too."""
        need_tools("gdbserver")
        since = "coverage report --by function --since mark --json"
        dump = f"coverage dump {self.built}/remote/"
        play = self.play(
            f"target remote | gdbserver --once - {self.built}/x",
            "break checkpoint",
            "continue",
            "coverage mark",
            "continue",
            since,
            "break __gcov_exit",
            "delete 1",
            "continue",
            dump,
            "continue",
        )
        self.assertEqual(
            self.calls(play, since), {"square": 4, "handle": 1, "checkpoint": 1, "main": 0}
        )
        self.assertIn("Wrote the counters of 1 object ", play.text(dump))
        written = self.built / "x.gcda"
        copy = Path(f"{self.built}/remote{written}")
        self.assertEqual(copy.read_bytes(), written.read_bytes())

    def test_another_build_of_the_program(self) -> None:
        """A core file is not read with the executable of another build."""
        other = self.built / "other"
        other.mkdir(exist_ok=True)
        core = self.built / "core.x"
        self.play("break checkpoint", "run", f"generate-core-file {core}", "kill")
        (other / "x.c").write_text(SOURCE + "int more;\n", encoding="utf-8")
        run(["gcc", "--coverage", "-O0", "-g", "-Wl,--build-id", "x.c", "-o", "x"], other)
        done = run([command_line(), "coverage", "--core", str(core), str(other / "x")], other, None)
        self.assertIn("is of another build", done.stderr)
        self.assertEqual(done.stdout, "")
        play = play_gdb([f"core-file {core}", "coverage report"], str(other / "x"))
        self.assertIn("is of another build", play.stderr)

    def test_reports(self) -> None:
        for name, text in (
            ("out.info", "DA:7,3"),
            ("out.gcovr.json", '"line_number"'),
            ("out.callgrind", "fn="),
        ):
            with self.subTest(name):
                path = self.built / name
                play = self.play("break checkpoint", "run", f"coverage dump {path}")
                self.assertEqual(play.stderr, "", play)
                self.assertIn(text, path.read_text(encoding="utf-8"))

    def test_break_on_functions_that_have_not_run(self) -> None:
        play = self.play(
            "break main",
            "run",
            "delete",
            "coverage break",
            "info breakpoints",
            "coverage break x.c",
            *["continue"] * 3,
            "coverage break x",
            "info breakpoints",
            "kill",
            "info breakpoints",
        )
        self.assertEqual(play.stderr, "", play)
        said = "Set {} temporary breakpoints on functions that have not run."
        self.assertEqual(play.text("coverage break").strip(), said.format(4))
        places, rest, after = play.all("info breakpoints")
        self.assertEqual(
            re.findall(r"(?m)^\d+ +breakpoint +del +y +0x[0-9a-f]+ in (\w+) at", places),
            ["square", "never", "handle", "checkpoint"],
        )
        # Those that are there are not set again.
        self.assertEqual(play.text("coverage break x.c").strip(), said.format(4))
        stops = [
            re.search(r"(?m)^Temporary breakpoint \d+, (\w+ \(.*\)) at", text)[1]
            for text in play.all("continue")
        ]
        self.assertEqual(stops, ["handle (n=3)", "square (x=0)", "checkpoint (number=1)"])
        self.assertEqual(
            play.text("coverage break x").strip(),
            "Set 1 temporary breakpoint on a function that has not run.",
        )
        self.assertEqual(len(rest.splitlines()), 2, rest)
        self.assertRegex(after, r"No breakpoints[\w, ]*\.")

    def test_a_line_that_is_about_to_run(self) -> None:
        """At the first instruction of its line, a line of a block of its own has not begun."""
        line = next(i for i, text in enumerate(SOURCE.splitlines(), 1) if "square(i)" in text)
        play = self.play(f"break {line}", "run", *["coverage annotate x.c", "continue"] * 2)
        self.assertEqual(play.stderr, "", play)
        shown = [
            re.search(rf"(?m)^=> +(\S+) +{line} ", text)[1]
            for text in play.all("coverage annotate x.c")
        ]
        self.assertEqual(shown, ["0", "1"], play)

    def test_break_where_gdb_does(self) -> None:
        """Each breakpoint is where GDB itself sets one on the function."""
        for options in (
            "-O0",
            "-O2 -fno-inline",
            "-O2 -fno-inline -fno-omit-frame-pointer",
            "-O0 -fcf-protection",
        ):
            with self.subTest(options):
                self.compile("y", options)
                ours, theirs = "coverage break", "break square\nbreak never\nbreak handle"
                play = play_gdb(
                    ["break main", "run", "delete", ours, "info breakpoints", "delete"]
                    + [*theirs.splitlines(), "break checkpoint", "info breakpoints"],
                    str(self.built / "y"),
                )
                self.assertEqual(play.stderr, "", play)
                first, second = (
                    sorted(re.findall(r"0x[0-9a-f]+", text))
                    for text in play.all("info breakpoints")
                )
                self.assertEqual(first, second)
                self.assertEqual(len(first), 4)

    def test_another_inferior_than_the_sampled_one(self) -> None:
        """Its stacks do not belong to the counters of the sampled one."""
        play = self.play(
            "break checkpoint",
            "run",
            "profile start --backend interrupt",
            f"add-inferior -exec {self.built / 'x'}",
            "inferior 2",
            "coverage report",
            "inferior 1",
            "coverage report --by function --json",
        )
        self.assertEqual(
            play.stderr,
            "coverage report: the stacks of the threads are not known: another inferior is "
            "selected\n",
            play,
        )
        self.assertIn("square", play.text("coverage report --by function --json"))

    def test_breakpoints_of_two_inferiors(self) -> None:
        """Both processes have the same addresses. Each keeps its breakpoints until its end."""
        play = self.play(
            "set disable-randomization on",
            "break main",
            "run",
            "coverage break",
            f"add-inferior -exec {self.built / 'x'}",
            "inferior 2",
            "run",
            "coverage break",
            "info breakpoints",
            "kill",
            "info breakpoints",
            "inferior 1",
            "kill",
            "info breakpoints",
        )
        self.assertEqual(play.stderr, "", play)
        counts = [text.count(" del ") for text in play.all("info breakpoints")]
        self.assertEqual(counts, [8, 4, 0], play)

    def test_breakpoints_do_not_stay(self) -> None:
        """GDB cannot resume a process with breakpoints at addresses of another one."""
        play = self.play(
            "set disable-randomization off",
            "break checkpoint",
            "run",
            "coverage break",
            "run",
            "info breakpoints",
        )
        self.assertNotIn("Cannot insert breakpoint", play.stderr)
        self.assertNotIn(" del ", play.text("info breakpoints"))

    def test_break_says_what_is_left(self) -> None:
        play = self.play(
            "break checkpoint",
            "run",
            "coverage break other.c",
            "call never(1)",
            "coverage break",
            "coverage break x.c",
        )
        self.assertEqual(
            play.stderr,
            "other.c: there is no file or module of this name that has counters\n",
        )
        self.assertEqual(play.text("coverage break").strip(), "All functions have run.")
        self.assertEqual(play.text("coverage break x.c").strip(), "All functions of x.c have run.")

    def test_break_without_code(self) -> None:
        """GCC inlines a function after it has got its counters, and keeps no other copy."""
        (self.built / "z.c").write_text(INLINED, encoding="utf-8")
        self.compile("z", "-O2", "z.c")
        play = play_gdb(["break main", "run", "coverage break"], str(self.built / "z"))
        self.assertEqual(play.stderr, "", play)
        self.assertEqual(
            play.text("coverage break").strip(),
            "Set 2 temporary breakpoints on functions that have not run. "
            "1 more has no code where one could be.",
        )

    def build_same_names(self, options: str) -> str:
        objects = []
        for name, text in SAME_NAMES.items():
            (self.built / name).parent.mkdir(exist_ok=True)
            (self.built / name).write_text(text, encoding="utf-8")
            objects.append(name.replace("/", "-") + ".o")
            run(["gcc", "--coverage", "-g", options, "-c", name, "-o", objects[-1]], self.built)
        run(["gcc", "--coverage", *objects, "-o", "same"], self.built)
        return str(self.built / "same")

    def test_break_leaves_out_a_function_of_another_file(self) -> None:
        built = self.build_same_names("-O2")
        play = play_gdb(["break stop", "run", "coverage break", "info breakpoints"], built)
        self.assertEqual(play.stderr, "", play)
        self.assertEqual(
            play.text("coverage break").strip(),
            "Set 1 temporary breakpoint on a function that has not run. "
            "1 more has no code where one could be.",
        )
        self.assertIn("in never at", play.text("info breakpoints"))

    def test_stopped_lines_of_files_with_one_name(self) -> None:
        built = self.build_same_names("-O0")
        first, second = "coverage annotate one/same.c", "coverage annotate two/same.c"
        play = play_gdb(["break work", "run", first, second], built)
        self.assertEqual(play.stderr, "", play)
        self.assertNotIn("=>", play.text(first))
        self.assertIn("=>", play.text(second))

    def test_list(self) -> None:
        play = self.play("break square", "run", "up", "coverage list", "break puts", "continue")
        self.assertEqual(play.stderr, "", play)
        self.assertRegex(play.text("coverage list"), r"(?m)^2\s+static int square")

    def test_refusals(self) -> None:
        play = self.play(
            "coverage report",
            "break checkpoint",
            "run",
            "coverage report --since mark",
            "coverage report --since stop",
            "coverage annotate nothing",
            "coverage dump x.unknown",
            "coverage nothing",
            "kill",
            "coverage report",
        )
        lines = play.stderr.splitlines()
        expected = (
            "coverage report: no process: run the program, or open a core file",
            "coverage report: no mark in this process: coverage mark",
            "coverage report: only one stop was marked until now",
            "nothing: there is no function or file of this name that has counters",
            "x.unknown: the file name does not imply a format",
            "there is no command 'nothing'",
            "coverage report: no process: run the program, or open a core file",
        )
        self.assertEqual(len(lines), len(expected), lines)
        for line, pattern in zip(lines, expected):
            self.assertIn(pattern, line)
        play = play_gdb(
            ["break checkpoint", "run", "coverage report"], program("spin7030"), ["1", "1"]
        )
        self.assertIn("nothing in this process was compiled with --coverage", play.stderr)

    def test_many_stops_leave_nothing(self) -> None:
        """Each step makes a mark. No descriptor stays open."""
        count = "python import os; print(len(os.listdir('/proc/self/fd')))"
        steps = ["step"] * 25  # the first ones open the files of the modules
        play = self.play("break main", "run", "coverage report", *steps, count, *steps, count)
        self.assertEqual(play.stderr, "", play)
        first, last = (int(text) for text in play.all(count))
        self.assertEqual(first, last)

    def test_settings(self) -> None:
        elsewhere = self.built / "elsewhere"
        elsewhere.mkdir()
        subprocess.run(["mv", str(self.built / "x.gcno"), str(elsewhere)], check=True)
        self.addCleanup(os.rename, elsewhere / "x.gcno", self.built / "x.gcno")
        play = self.play(
            "break checkpoint",
            "run",
            "coverage report",
            f"set coverage notes {elsewhere}",
            "show coverage notes",
            "coverage report --by file",
            "coverage config",
        )
        self.assertIn("x.gcno", play.stderr)
        self.assertEqual(len(play.stderr.splitlines()), 1, play)
        self.assertRegex(play.text("coverage report --by file"), r"(?m)^x\.c +\d")
        self.assertIn(str(elsewhere), play.text("coverage config"))


if __name__ == "__main__":
    run_unittests()
