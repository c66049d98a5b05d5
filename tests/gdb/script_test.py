"""Tests `tally_gdb.profile()` and the convenience variables, which are for users' own scripts."""
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, Play, play_gdb
from support.programs import program
from support.shares import assert_share
from support.skips import run_unittests
from support.tables import status_number

README = Path(__file__).resolve().parents[2] / "gdb/README.md"
# A profile all of whose numbers are known.
FOLDED = "main;parse;lex 30\nmain;parse 20\nmain;write 49\nmain 1\n"


class ScriptCase(GdbCase):
    def play_script(self, text: str, before: list[str], *debugged: Any, **options: Any) -> Play:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "own.py")
            Path(path).write_text(text, encoding="utf-8")
            played = play_gdb([*before, f"source {path}"], *debugged, **options)
            self.script = f"source {path}"
        return played


class SourceTest(ScriptCase):
    def test_by_a_script(self) -> None:
        """A script sources the plug-in: GDB keeps the outer script's `__file__` then."""
        played = self.play_script(
            f"""
import gdb
gdb.execute("source {os.environ['TALLY_GDB']}")
print(gdb.execute("profile status", to_string=True))
""",
            [],
            plugin=False,
        )
        self.assertEqual(played.stderr, "", played)
        self.assertIn("state idle", played.text(self.script))


class ProfileTest(ScriptCase):
    def test_values_of_a_run(self) -> None:
        """A script gets the same values that the commands print."""
        played = self.play_script(
            """
import json, gdb, tally_gdb
profile = tally_gdb.profile()
assert profile is tally_gdb.profile()
said = [profile.start(frequency=2000, stacks="fp")]
gdb.execute("run", to_string=True)
out = {"samples": profile.samples, "lost": profile.lost, "status": profile.status(),
       "lines": gdb.execute("profile status", to_string=True),
       "variable": int(gdb.parse_and_eval("$_profile_samples")),
       "json": json.loads(gdb.execute("profile report --json", to_string=True))}
for by in "function", "line", "object", "thread", "part":
    out[by] = [row._asdict() for row in profile.report(by=by, sort="inclusive")]
out["tree"] = profile.tree("seventy", callers=True, limit=5)
out["histogram"] = profile.histogram("seventy")
out["annotate"] = profile.annotate("seventy")
said += [profile.dump("/dev/null", "folded"), profile.stop(), profile.clear()]
print("OUT", json.dumps({**out, "said": said, "cleared": profile.samples}))
""",
            [],
            program("spin7030"),
            ["0.25"],
        )
        self.assertEqual(played.stderr, "", played)
        out = json.loads(re.search(r"^OUT (.*)$", played.text(self.script), re.M)[1])
        samples = out["samples"]
        self.assertGreater(samples, 100)
        self.assertEqual(out["variable"], samples)
        self.assertIn(f"\nsamples {samples}\n", out["lines"])
        self.assertIn(f"\nlost {out['lost']}\n", out["lines"])
        lines = dict(line.split(" ", 1) for line in out["lines"].splitlines())
        self.assertEqual(list(out["status"]), list(lines))
        for name, value in out["status"].items():
            with self.subTest(name):
                if isinstance(value, float):
                    self.assertAlmostEqual(value, status_number(lines, name), delta=0.5)
                elif name != "memory":
                    self.assertEqual(str(value), lines[name])
        self.assertIsInstance(out["status"]["running"], float)
        for by in "function", "line", "object", "thread", "part":
            self.assertEqual(sum(row["self"] for row in out[by]), samples, by)
        found = {
            (row["name"], row["file"], row["object"]): (row["self"][0], row["inclusive"][0])
            for row in out["json"]["functions"]
        }
        self.assertEqual(
            found,
            {
                (row["name"], row["file"], row["object"]): (row["self"], row["inclusive"])
                for row in out["function"]
            },
        )
        costs = [row["inclusive"] for row in out["function"]]
        self.assertEqual(costs, sorted(costs, reverse=True))
        (seventy,) = [row for row in out["function"] if row["name"] == "seventy"]
        assert_share(self, seventy["self"], samples, 0.7, 0.25)
        self.assertEqual(out["tree"]["tree"][0]["inclusive"], [seventy["inclusive"]])
        self.assertEqual(sum(each["ticks"] for each in out["histogram"]["bins"]), seventy["self"])
        self.assertEqual(out["annotate"]["totals"], [samples])
        self.assertRegex(out["said"][0], r"^Sampling begins with the next process: perf[^\n]*$")
        self.assertRegex(out["said"][1], f"^Wrote {samples} ticks to /dev/null")
        self.assertEqual((out["said"][2:], out["cleared"]), (["", ""], 0))

    def test_refusals_are_one_line_each(self) -> None:
        played = self.play_script(
            """
import gdb, tally_gdb
profile = tally_gdb.profile()
for name, call in {
    "nothing": profile.report,
    "word": lambda: profile.report(by="colour"),
    "none": lambda: profile.report(by=None),
    "frequency": lambda: profile.start(frequency=0),
    "file": lambda: profile.load("/nonexistent/it's \\\\ \\"here\\""),
    "stop": profile.stop,
}.items():
    try:
        print("NOT REFUSED", name, call())
    except tally_gdb.TallyError as error:
        print("REFUSED", name, repr(str(error)))
""",
            [],
        )
        self.assertEqual(played.stderr, "", played)
        text = played.text(self.script)
        for name, pattern in {
            "nothing": "nothing was collected",
            "word": "'colour'",
            "none": "'None'",
            "frequency": "--frequency.*from 1 to",
            "stop": "has not begun",
            "file": r"""/nonexistent/it\\'s \\\\ "here\"""",
        }.items():
            with self.subTest(name):
                self.assertRegex(text, f"(?m)^REFUSED {name} .*{pattern}")
        self.assertNotIn("NOT REFUSED", text)

    def test_a_loaded_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a b.folded")
            Path(path).write_text(FOLDED, encoding="utf-8")
            played = self.play_script(
                f"""
import tally_gdb
profile = tally_gdb.profile()
print(profile.load({path!r}).splitlines()[0])
print([(row.name, row.self, row.inclusive) for row in profile.report()])
def depth(nodes):
    return max((1 + depth(node["children"]) for node in nodes), default=0)
print(depth(profile.tree()["tree"]))
profile.clear()
try:
    profile.report()
except tally_gdb.TallyError as error:
    print("REFUSED", error)
""",
                [],
            )
        self.assertEqual(played.stderr, "", played)
        lines = played.text(self.script).splitlines()
        self.assertRegex(lines[0], "^Loaded 100 ticks")
        self.assertEqual(
            lines[1], "[('write', 49, 49), ('lex', 30, 30), ('parse', 20, 50), " "('main', 1, 100)]"
        )
        self.assertEqual(lines[2], "3")
        self.assertRegex(lines[3], "^REFUSED nothing was collected")

    def test_a_deep_tree_is_refused_not_a_crash(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "deep.folded")
            Path(path).write_text(
                ";".join(f"f{n}" for n in range(30000)) + " 5\n", encoding="utf-8"
            )
            played = self.play_script(
                f"""
import tally_gdb
profile = tally_gdb.profile()
profile.load({path!r})
try:
    profile.tree()
except tally_gdb.TallyError as error:
    print("REFUSED", error)
print(len(profile.tree(limit=3)["tree"]), len(profile.report()))
""",
                [],
            )
        self.assertEqual(played.stderr, "", played)
        self.assertRegex(played.text(self.script), r"^REFUSED .*--limit")
        self.assertRegex(played.text(self.script), r"(?m)^1 30000$")

    def test_the_example_of_the_readme_works(self) -> None:
        (example,) = [
            block
            for block in re.findall(
                r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S
            )
            if "tally_gdb" in block
        ]
        with tempfile.TemporaryDirectory() as folder:
            played = self.play_script(example, [], program("spin7030"), ["0.1"], cwd=folder)
            self.assertEqual(os.listdir(folder), ["out.svg"])
        self.assertEqual(played.stderr, "", played)
        self.assertRegex(played.text(self.script), r"(?m)^ *\d+\.\d% seventy spin7030\.c:\d+$")


class VariablesTest(GdbCase):
    def test_variables_are_current(self) -> None:
        """The variables are current at a stop without a command in between, also in the condition
        of a breakpoint."""
        played = play_gdb(
            [
                "print $_profile_samples",
                "profile start",
                "break checkpoint",
                "print $_profile_samples + $_profile_lost",
                "run",
                "print $_profile_samples > 0 ? 11 : 12",
                "profile status",
                "print $_profile_samples",
                "continue",
                "print $_profile_samples",
                "profile status",
                "profile clear",
                "print $_profile_samples",
            ],
            program("spin7030"),
            ["0.2", "1"],
        )
        values = [
            int(text.split("= ")[1])
            for command, text in played.sections
            if command.startswith("print")
        ]
        self.assertEqual(values[:2], [0, 0], played)
        counts = [int(played.status(which)["samples"]) for which in (0, 1)]
        self.assertEqual(values[3:], [counts[0], counts[1], 0], played)
        self.assertEqual(values[2], 11 if counts[0] else 12)
        self.assertGreater(counts[1], 50)

    def test_times_of_a_run(self) -> None:
        """The time since the resume, without that at the prompt, and the CPU time of the program."""
        played = play_gdb(
            [
                "print $_profile_cpu",
                "set profile stop-times on",
                "break before_sleep",
                "run",
                "shell sleep 0.3",
                "finish",
                'printf "%f %f\\n", $_profile_elapsed, $_profile_cpu',
                "set profile stop-times off",
                "break usleep",
                "continue",
                "kill",
                "print $_profile_elapsed > 0",
            ],
            program("sleeper"),
        )
        self.assertEqual(played.text("print $_profile_cpu").strip(), "$1 = void", played)
        shown = re.search(r"^\[([0-9.]+) (m?s), ([0-9.]+) ms CPU\]$", played.text("finish"), re.M)
        assert shown, played
        elapsed, cpu = (float(text) * 1e3 for text in played.sections[6][1].split())
        # One decimal of milliseconds, or two of seconds.
        unit, rounded = (1, 0.06) if shown[2] == "ms" else (1000, 6)
        self.assertAlmostEqual(float(shown[1]) * unit, elapsed, delta=rounded, msg=played)
        self.assertAlmostEqual(float(shown[3]), cpu, delta=0.06, msg=played)
        self.assertTrue(199 < cpu < 300, played)  # the function measures its own CPU time
        self.assertGreaterEqual(elapsed, cpu - 1, played)
        self.assertNotIn("CPU]", played.text("continue"))
        self.assertIn("= 1", played.sections[-1][1])


if __name__ == "__main__":
    run_unittests()
