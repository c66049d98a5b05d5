"""Tests `profile region`: what is counted, and how passes are recognized, however they end."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, Play, play_gdb
from support.programs import SOURCE_ROOT, program
from support.shares import assert_ticks
from support.skips import run_unittests

SECONDS = 0.08
FREQUENCY = 2000
SOURCE = (SOURCE_ROOT / "tests/programs/regions.cpp").read_text().splitlines()


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE, 1) if text in line)


def play_region(
    *locations: str,
    calls: str,
    start: str = "",
    passes: int = 3,
    seconds: float = SECONDS,
    **options: object,
) -> Play:
    first = [f"profile start {start}"] if start else []
    return play_gdb(
        [
            f"set profile frequency {FREQUENCY}",
            *first,
            f"profile region {' '.join(locations)}",
            "run",
            "profile status",
            "profile region --json",
            "profile tree --json --limit 0",
        ],
        program("regions"),
        [str(seconds), str(passes), calls],
        **options,
    )


_ALTERNATES = """
#include <dlfcn.h>
#include <stdio.h>
void opened(void) {}
int main(int argc, char **argv) {
  for (int i = 0; i < 8; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/lib%c.so", argv[1], i % 2 ? 'b' : 'a');
    void *const library = dlopen(path, RTLD_NOW);
    int (*const g)(int) = library ? (int (*)(int))dlsym(library, "g") : 0;
    opened();
    printf("call %d gives %d\\n", i, g ? g(i) : -1);
    if (library)
      dlclose(library);
  }
  return 0;
}
"""


class RegionTest(GdbCase):
    def assert_region(self, play: Play, function: str, passes: int, seconds: float) -> None:
        """Asserts that all samples are below the function, and that they account for its time."""
        self.assertEqual(play.stderr, "", play)
        status = play.status()
        self.assertEqual(status.count("passes"), passes, play)
        self.assertEqual(status.count("inside"), 0, play)
        self.assertNotIn("unfinished", status.values, play)
        samples = status.count("samples")
        self.assertGreater(status.count("outside"), samples, play)
        # Ticks outside of the region were delivered, too.
        self.assertGreater(status.count("delivered_hz"), 0.4 * FREQUENCY, play)
        inside = sum(_samples_below(play, function))
        self.assertGreaterEqual(inside, 0.99 * samples, play)
        assert_ticks(self, samples, 1000 * seconds, play, FREQUENCY)

    def test_one_of_three_phases(self) -> None:
        self.assert_region(play_region("second_phase", calls="none"), "second_phase", 1, SECONDS)

    def test_recursion_is_one_pass(self) -> None:
        self.assert_region(play_region("recurse", calls="recurse"), "recurse", 1, SECONDS)

    def test_exceptions(self) -> None:
        self.assert_region(play_region("thrower", calls="thrower"), "thrower", 4, 2 * SECONDS)

    def test_longjmp(self) -> None:
        self.assert_region(play_region("jumper", calls="jumper"), "jumper", 3, SECONDS)

    def test_a_loop_that_begins_where_stops_are_measured(self) -> None:
        play = play_gdb(
            ["profile region countdown", "run", "profile status"], program("passes"), ["1", "1"]
        )
        status = play.status().values
        self.assertEqual(status["passes"], "1")
        self.assertLess(int(status["region_stops"].split()[0]), 20, play)

    def test_another_library_at_the_same_address(self) -> None:
        """No breakpoint of the first library is left in the code of the second one."""
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            for name, body in (
                ("a", "mov %edi, %eax\n mov $3, %ebx\n add %ebx, %ebx\n add %ebx, %eax"),
                ("b", "mov $0x04040404, %ecx\n lea (%rdi,%rcx), %eax\n nop\n nop"),
            ):
                (folder / f"{name}.c").write_text(
                    '__asm__(".globl g\\n.type g, @function\\ng: push %rbx\\n '
                    + body.replace("\n", "\\n")
                    + '\\n pop %rbx\\n ret\\n.size g, . - g\\n");\n'
                )
                compiled = ["gcc", "-shared", "-o", f"lib{name}.so", f"{name}.c"]
                subprocess.run(compiled, cwd=folder, check=True)
            (folder / "main.c").write_text(_ALTERNATES)
            subprocess.run(["gcc", "-g", "-o", "main", "main.c"], cwd=folder, check=True)
            alone = subprocess.run(
                [str(folder / "main"), text], stdout=subprocess.PIPE, text=True, check=True
            )
            play = play_gdb(
                ["break opened", "run", "profile region g", "delete", "continue", "profile status"],
                str(folder / "main"),
                [text],
            )
            for line in alone.stdout.splitlines():
                self.assertIn(line, play.result.stdout)
            self.assertRegex(play.result.stdout, "exited normally")

    def test_threads(self) -> None:
        play = play_region("worker", calls="worker")
        self.assert_region(play, "worker", 2, 2 * SECONDS)
        self.assertEqual(play.status().count("threads"), 2)

    def test_passes_are_markers_of_firefox_profiler(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.firefox.json")
            play = play_gdb(
                [
                    "profile region worker",
                    "run",
                    "profile status",
                    f"profile dump {path}",
                ],
                program("regions"),
                [str(SECONDS), "3", "worker"],
            )
            self.assertEqual(play.stderr, "", play)
            with open(path, encoding="utf-8") as file:
                threads = json.load(file)["threads"]
        spans: Dict[int, float] = {}
        for thread in threads:
            marks = thread["markers"]
            for i, data in enumerate(marks["data"]):
                if data["type"] == "Region":
                    self.assertEqual(thread["stringArray"][marks["name"][i]], "worker")
                    spans[thread["tid"]] = marks["endTime"][i] - marks["startTime"][i]
        self.assertEqual(play.status().count("passes"), len(spans), play)
        self.assertEqual(len(spans), 2)  # one in each thread
        for milliseconds in spans.values():
            self.assertGreaterEqual(milliseconds, 1000 * SECONDS)

    def test_every_pass_is_counted(self) -> None:
        play = play_region("short_call", calls="short", passes=500, seconds=0.02)
        self.assertEqual(play.status().count("passes"), 500, play)

    def test_time_in_stops_is_not_counted(self) -> None:
        """Makes 1000 calls of a few nanoseconds each; the debugger stops twice for each."""
        play = play_region("short_call", calls="short", passes=1000, seconds=0.05)
        self.assertEqual(play.status().count("passes"), 1000, play)
        counts = play.status()
        # Nearly all ticks come in the stops, whose time depends on the machine.
        outside = counts.count("outside")
        self.assertGreater(outside, 100, play)
        self.assertLessEqual(counts.count("samples"), max(10, 0.02 * outside), play)
        # The times are below their errors.
        told = json.loads(play.text("profile region --json"))
        self.assertLess(told["pass_min_s"], 2 * told["errors"]["pass_s"])
        self.assertGreater(told["errors"]["pass_median_s"], 0)
        self.assertGreaterEqual(told["errors"]["pass_s"], told["errors"]["pass_median_s"])
        self.assertEqual(sum(each["passes"] for each in told["histogram"]), 1000)

    def test_an_inlined_copy_in_a_loop_stops_once(self) -> None:
        play = play_gdb(
            ["profile region maybe_pasted", "run", "profile status"],
            program("regions"),
            ["0.02", "300", "short"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertEqual(play.status().count("passes"), 1, play)
        self.assertRegex(play.status()["inlined"], "^1 ")

    def test_other_calls_of_the_caller_do_not_stop(self) -> None:
        """A dispatcher's other calls return to the address at which the pass has ended."""
        play = play_gdb(["profile region once", "run", "profile status"], program("dispatcher"))
        self.assertEqual(play.stderr, "", play)
        self.assertEqual(play.status().count("passes"), 1, play)
        self.assertLess(int(play.status()["region_stops"].split()[0]), 100, play)

    def test_an_exec_ends_the_region(self) -> None:
        play = play_gdb(
            [
                "break main",
                "run",
                "profile region main",
                "continue",
                "delete",
                "continue",
                "profile status",
            ],
            program("execer"),
            ["0.1"],
        )
        self.assertIn("region", play.status().values, play)
        self.assertEqual(play.status().count("inside"), 0, play)

    def test_the_region_continues_after_an_exec(self) -> None:
        """GDB reads the new program's symbols before it knows the address at which it is loaded."""
        play = play_gdb(
            ["profile region after_exec", "run", "profile status"], program("execer"), ["0.1"]
        )
        self.assertEqual(play.stderr, "", play)
        self.assertIn("exited normally]", play.text("run"))
        self.assertEqual(play.status().count("passes"), 1, play)

    def test_an_address_of_the_file(self) -> None:
        symbols = subprocess.run(
            ["nm", program("regions")], check=True, stdout=subprocess.PIPE, encoding="utf-8"
        ).stdout
        address = next(line.split()[0] for line in symbols.splitlines() if line.endswith(" jumper"))
        play = play_region(f"*0x{address}", calls="jumper", seconds=0.02)
        self.assertEqual(play.status().count("passes"), 3, play)
        play = play_gdb(
            ["profile region *0x10", "break main", "run", "profile region *0x10"],
            program("regions"),
            ["0.1"],
        )
        self.assert_refused(play, *2 * [r"there is no function or location '\*0x10'"])

    def test_two_locations(self) -> None:
        play = play_region(
            f"regions.cpp:{line_of('// the second')}",
            f"regions.cpp:{line_of('third_phase(seconds);')}",
            calls="none",
        )
        self.assert_region(play, "second_phase", 1, SECONDS)

    def test_every_way_of_sampling(self) -> None:
        # A round of the debugger's stops takes up to 10 ms on a busy machine.
        for backend, seconds in (("agent", 0.1), ("interrupt", 0.4)):
            with self.subTest(backend):
                play = play_region(
                    "second_phase",
                    calls="recurse",
                    start=f"--backend {backend} --frequency 1000",
                    seconds=seconds,
                )
                self.assertEqual(play.stderr, "", play)
                status = play.status()
                self.assertEqual(status.count("passes"), 1, play)
                self.assertGreater(status.count("outside"), status.count("samples"), play)
                # The debugger cannot unwind from everything that the program calls.
                others = sum(
                    sum(_samples_below(play, each))
                    for each in ("first_phase", "third_phase", "recurse", "between", "worker")
                )
                self.assertLessEqual(others, 0.01 * status.count("samples"), play)
                self.assertGreater(sum(_samples_below(play, "second_phase")), 20, play)

    def test_user_breakpoints_are_unaffected(self) -> None:
        play = play_gdb(
            [
                "profile region recurse",
                "break second_phase",
                "break recurse",
                "run",
                "bt 1",
                "continue",
                "delete",
                "finish",
                "info breakpoints",
                "continue",
                "profile status",
            ],
            program("regions"),
            ["0.03", "3", "recurse"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertIn("second_phase", play.text("bt 1"))
        self.assertIn("Breakpoint 2, recurse", play.text("continue"))
        self.assertIn("Value returned", play.text("finish"))
        self.assertRegex(play.text("info breakpoints"), r"^No breakpoints[\w, ]*\.$")
        self.assertEqual(play.status().count("passes"), 1, play)

    def test_time_at_the_prompt_is_in_no_pass(self) -> None:
        play = play_gdb(
            [
                "profile region second_phase",
                "break third_phase",
                "tbreak second_phase",
                "run",
                "shell sleep 1.5",
                "continue",
                "profile status",
            ],
            program("regions"),
            [str(SECONDS), "3", "none"],
        )
        took = _seconds(play.status()["pass_max"])
        # The phases before and after the pass run, too.
        self.assertLess(took, play.status().number("running"), play)
        self.assertGreaterEqual(took, SECONDS * 0.9, play)

    def test_each_run_has_its_own_passes(self) -> None:
        play = play_gdb(
            ["profile region jumper", "run", "run", "profile status"],
            program("regions"),
            ["0.03", "3", "jumper"],
        )
        self.assertEqual(play.status().count("passes"), 3, play)
        self.assertEqual(play.stderr, "", play)

    def test_the_end_of_the_process(self) -> None:
        play = play_gdb(
            [
                "break third_phase",
                "profile region second_phase",
                "run",
                "profile stop",
                "maint info breakpoints",
                "profile status",
                "profile start",
                "continue",
                "profile status",
            ],
            program("regions"),
            ["0.03", "3", "none"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertNotIn("second_phase", play.text("maint info breakpoints"))
        self.assertEqual(play.status(0).count("passes"), 1, play)
        self.assertNotIn("region", play.status(1).values, play)

    def test_in_the_middle_of_a_profile(self) -> None:
        play = play_gdb(
            [
                "profile start",
                "break second_phase",
                "break third_phase",
                "run",
                "delete 1",
                "profile region recurse",
                "continue",
                "delete",
                "continue",
                "profile status",
                "profile report",
                "profile diff previous",
            ],
            program("regions"),
            ["0.05", "3", "recurse"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertEqual(play.status().count("passes"), 1, play)
        self.assertRegex(play.text("profile report"), r"\(region recurse: 1 pass, min \d")

    def test_a_crash_in_the_region(self) -> None:
        play = play_gdb(
            [
                "profile region recurse",
                "break recurse if depth == 0",
                "run",
                "kill",
                "profile status",
            ],
            program("regions"),
            ["0.03"],
        )
        self.assertEqual(play.status().count("passes"), 0, play)
        self.assertRegex(play.status()["unfinished"], "^1 ")

    def test_refusals(self) -> None:
        play = play_gdb(
            [
                "profile region",
                "profile region nowhere",
                "profile region first_phase nowhere",
                "profile region a b c",
                "profile status",
            ],
            program("regions"),
        )
        self.assert_refused(
            play,
            "^profile region: there is no region",
            "^profile region: .*nowhere",
            "^profile region: .*nowhere",
            "^profile region: unexpected 'c'",
        )
        self.assertEqual(play.status()["state"], "idle")

    def test_invalid_locations_are_refused(self) -> None:
        play = play_gdb(
            ["profile region pasted", "profile region regions.cpp:30", "profile region main main"],
            program("regions"),
        )
        self.assert_refused(
            play,
            "all copies of pasted are inlined",
            "a single location must be a function",
            "end at different locations",
        )

    def test_a_message_of_gdb_is_shown_as_it_is(self) -> None:
        """It may look like the number of another reason."""
        function = (
            r'python exec("class Fail(gdb.Function):\n def invoke(self):\n  '
            r"raise gdb.GdbError('2 sheep')\nFail('fail')"
            r'")'
        )
        play = play_gdb(
            [function, "profile region *$fail()", "profile region *$fail() main"],
            program("regions"),
        )
        self.assert_refused(play, "^profile region: 2 sheep$", "^profile region: 2 sheep$")


def _samples_below(play: Play, function: str) -> list[int]:
    """Returns the inclusive samples of the function's outermost calls in the tree."""
    text = play.text("profile tree --json --limit 0")
    out = []

    def walk(node: dict) -> None:
        if node["name"] == function:
            out.append(node["inclusive"][0])
            return
        for child in node["children"]:
            walk(child)

    for root in json.loads(text)["tree"]:
        walk(root)
    return out


def _seconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+) (\w+)", text).groups()
    return float(number) * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}[unit]


if __name__ == "__main__":
    run_unittests()
