"""Tests command names, help, completion and settings."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, play_gdb
from support.gdb_driver import run_gdb
from support.programs import program
from support.skips import run_unittests

COMMANDS = [
    "start",
    "stop",
    "status",
    "report",
    "tree",
    "annotate",
    "timeline",
    "histogram",
    "dump",
    "load",
    "diff",
    "region",
    "clear",
    "config",
    "break",
    "list",
]
START_OPTIONS = {"backend": "auto", "frequency": "1000", "clock": "cpu", "stacks": "dwarf"}
SETTINGS = {**START_OPTIONS, "stop-times": "off", "debuginfod": "off"}


class HelpTest(GdbCase):
    def test_each_command_has_help_with_its_options_and_an_example(self) -> None:
        play = play_gdb(["help profile", "profile", *(f"help profile {each}" for each in COMMANDS)])
        self.assertEqual((play.result.status, play.stderr), (0, ""), play)
        for overview in ("help profile", "profile"):
            for command in COMMANDS:
                self.assertRegex(
                    play.text(overview), rf"(?m)^profile {command} +\S|^profile {command} -- "
                )
        for command in COMMANDS:
            text = play.text(f"help profile {command}")
            self.assertIn(f"Usage: profile {command}", text)
            self.assertRegex(text, rf"Example: profile {command}\b")
        text = play.text("help profile start")
        for name, fallback in START_OPTIONS.items():
            self.assertRegex(text, rf"--{name} \S+(.|\n)*?\(default {fallback}\)")

    def test_examples_of_the_help_work(self) -> None:
        """Runs each example as written, in a meaningful order."""
        texts = play_gdb([f"help profile {each}" for each in COMMANDS])
        examples = {
            each: re.search(r"Example: (.*)", texts.text(f"help profile {each}"))[1]
            for each in COMMANDS
        }
        self.assertTrue(examples["dump"].endswith(" out.callgrind"), examples)
        examples["dump"] = examples["dump"].replace("out.callgrind", "/dev/null --format callgrind")
        order = ["config", "start"], ["status", "report", "dump"], ["diff", "clear", "stop"]
        play = play_gdb(
            [
                *(examples[each] for each in order[0]),
                "run",
                *(examples[each] for each in order[1]),
                "run",
                *(examples[each] for each in order[2]),
            ],
            program("spin7030"),
            ["0.1"],
        )
        self.assertEqual(play.stderr, "", play)

    def test_settings_have_help(self) -> None:
        play = play_gdb(
            ["help set profile", "help show profile"]
            + [f"help set profile {each}" for each in SETTINGS]
        )
        self.assertEqual(play.stderr, "", play)
        for name, fallback in SETTINGS.items():
            self.assertIn(f"set profile {name}", play.text("help set profile"))
            self.assertIn(f"default {fallback}", play.text(f"help set profile {name}"))


class SettingsTest(GdbCase):
    def test_set_and_show(self) -> None:
        play = play_gdb(
            [
                "show profile",
                "set profile frequency 4000",
                "profile config clock cpu",
                "profile config stacks none",
                "set profile backend perf",
                "show profile",
                "profile config frequency",
                "profile config stacks",
                "profile status",
                "profile start --stacks fp",
                "run",
                "profile status",
            ],
            program("spin7030"),
            ["0.1"],
        )
        self.assertEqual(play.stderr, "", play)
        self.assertEqual(
            play.text("show profile", 0),
            "".join(f"profile {name} is {value}.\n" for name, value in SETTINGS.items()),
        )
        self.assertEqual(
            play.text("show profile", 1).split("\n"),
            [
                "profile backend is perf.",
                "profile frequency is 4000.",
                "profile clock is cpu.",
                "profile stacks is none.",
                "profile stop-times is off.",
                "profile debuginfod is off.",
                "",
            ],
        )
        self.assertEqual(play.text("profile config frequency"), "frequency 4000\n")
        self.assertEqual(play.text("profile config stacks"), "stacks none\n")
        self.assertEqual(play.status(0)["requested_hz"], "4000")
        status = play.status()
        self.assertEqual((status.count("requested_hz"), status["backend"]), (4000, "perf"))
        self.assertRegex(status["stacks"], "^fp")

    def test_bad_values_leave_the_old_ones(self) -> None:
        play = play_gdb(
            [
                "set profile frequency 250",
                "set profile frequency abc",
                "show profile frequency",
                "set profile stacks deep",
                "show profile stacks",
                "set profile",
                "set profile bogus 1",
                "show profile bogus",
                "python print(gdb.parameter('profile frequency'))",
                "profile config frequency 300",
                "python print(gdb.parameter('profile frequency'))",
            ]
        )
        self.assertEqual(len(play.stderr.splitlines()), 5, play)
        self.assertRegex(play.stderr.splitlines()[1], "deep")
        self.assertEqual(play.text("show profile frequency"), "profile frequency is 250.\n")
        self.assertEqual(play.text("show profile stacks"), "profile stacks is dwarf.\n")
        self.assertEqual(
            play.all("python print(gdb.parameter('profile frequency'))"), ["250\n", "300\n"]
        )

    def test_a_change_while_sampling(self) -> None:
        """Sampling goes on with the old value, which only settings of `profile start` have."""
        settings = [
            "set profile frequency 250",
            "set profile stop-times on",
            "set coverage auto-mark off",
        ]
        play = play_gdb(
            ["break checkpoint", "profile start", "run", *settings],
            program("spin7030"),
            ["0.1", "1"],
        )
        self.assertEqual(play.stderr, "", play)
        remark = "The next `profile start` uses the new value; sampling goes on as it began.\n"
        self.assertEqual([play.text(each) for each in settings], [remark, "", ""])

    def test_abbreviations(self) -> None:
        play = play_gdb(["profile stat", "profile rep", "profile s"])
        self.assertIn("state idle", play.text("profile stat"))
        self.assertEqual(len(play.stderr.splitlines()), 2, play)
        self.assertRegex(play.stderr, 'Ambiguous profile command "s": start, status, stop')


class CompletionTest(GdbCase):
    def complete(self, *lines: str, cwd: str = "/") -> list[list[str]]:
        play = play_gdb([f"complete {line}" for line in lines], cwd=cwd)
        self.assertEqual(play.stderr, "", play)
        return [play.sections[number][1].splitlines() for number in range(len(lines))]

    def test_words_options_and_values(self) -> None:
        expected = {
            "profile st": ["profile start", "profile status", "profile stop"],
            "profile report --b": ["profile report --by"],
            "profile report --by ": [
                f"profile report --by {each}"
                for each in (
                    *("directory", "function", "line", "module", "namespace", "object"),
                    *("part", "process", "thread"),
                )
            ],
            "profile report --by f": ["profile report --by function"],
            "profile report --limit 5 --s": ["profile report --limit 5 --sort"],
            "profile report --by line --sort s": ["profile report --by line --sort self"],
            "profile start --stacks ": [
                f"profile start --stacks {each}" for each in ("dwarf", "fp", "none")
            ],
            "profile start --f": ["profile start --for", "profile start --frequency"],
            "profile start --frequency ": [],
            "profile dump --format fo": ["profile dump --format folded"],
            "profile dump x.cg --p": [
                f"profile dump x.cg --{each}" for each in ("part", "parts", "process")
            ],
            "profile diff prev": ["profile diff previous"],
            "profile tree --i": ["profile tree --ignore", "profile tree --inverted"],
            "profile config st": ["profile config stacks", "profile config stop-times"],
            "profile config stacks n": ["profile config stacks none"],
            "profile stop ": [],
            "profile bogus ": [],
            "set profile ": [f"set profile {each}" for each in sorted(SETTINGS)],
            "set profile st": ["set profile stacks", "set profile stop-times"],
            "set profile backend p": ["set profile backend perf"],
            "show profile f": ["show profile frequency"],
            "help profile st": ["help profile start", "help profile status", "help profile stop"],
        }
        for line, got in zip(expected, self.complete(*expected)):
            with self.subTest(line):
                self.assertEqual(got, expected[line])

    def test_functions_of_the_program(self) -> None:
        """Completes GDB's functions before anything was sampled, then those with samples."""
        lines = [
            "profile annotate split",
            "profile tree inlines::measure_sh",
            "profile tree --callers sort_n",
            "profile annotate 'even_steps(",
            "profile annotate inlines_sh",
            "profile annotate --asm nowhere",
            "profile region split",
            "profile report split",
        ]
        asked = [f"complete {line}" for line in lines]
        play = play_gdb(
            [*asked, "profile start --frequency 4000", "run", "profile report --limit 1", *asked],
            program("inlines"),
            ["0.15"],
        )
        self.assertEqual(play.stderr, "", play)
        for number in range(2):
            got = [
                [
                    each.removeprefix(f"{line.rpartition(' ')[0]} ")
                    for each in play.text(f"complete {line}", number).splitlines()
                ]
                for line in lines
            ]
            self.assertEqual(
                got[:3], [["split_hot_cold"], ["inlines::measure_shapes"], ["sort_numbers"]]
            )
            self.assertRegex(got[3][0], r"^'even_steps\(\w.*\)'?$")
            self.assertEqual(got[4], ["inlines_shapes.cpp"])
            self.assertEqual(got[5], [])
            self.assertTrue(any("split_hot_cold" in each for each in got[6]), got)
            self.assertEqual(got[7], [])

    def test_file_names(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "results-old"))
            for name in ("out-1.cg", "out-2.cg", "report.folded"):
                with open(os.path.join(folder, name), "w", encoding="utf-8"):
                    pass
            got = self.complete(
                "profile dump ./out-",
                "profile dump res",
                "profile dump ./results-",
                f"profile dump {folder}/rep",
                "profile diff rep",
                "profile dump ./absent/",
                cwd=folder,
            )
        self.assertEqual(
            got,
            [
                ["profile dump ./out-1.cg", "profile dump ./out-2.cg"],
                ["profile dump results-old/"],
                ["profile dump ./results-old/"],
                [f"profile dump {folder}/report.folded"],
                ["profile diff report.folded"],
                [],
            ],
        )


class PaginationTest(GdbCase):
    def test_batch_with_pagination_on(self) -> None:
        """Long tables neither wait for a key nor are truncated."""
        result = run_gdb(
            [
                "set height 5",
                "profile start --frequency 4000",
                "run",
                "profile report --limit 0",
                "print 6 * 7",
            ],
            program("many_functions"),
            ["0.25"],
            pagination=True,
            timeout_s=60,
        )
        self.assertNotIn("--Type", result.stdout)
        self.assertGreater(len(re.findall(r"many_\d{4} ", result.stdout)), 200, result)
        self.assertIn("$1 = 42", result.stdout)


if __name__ == "__main__":
    run_unittests()
