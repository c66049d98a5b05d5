"""Tests `-profile-…`, as programs that drive GDB by MI use it."""
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Any

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase
from interface_test import COMMANDS
from support.gdb_driver import gdb_program
from support.programs import gdb_plugin, program
from support.shares import assert_share
from support.skips import run_unittests
from support.terminal import environment_with

FOLDED = "main;parse;lex 30\nmain;parse 20\nmain;write 'öut' \\\"x 49\nmain 1\n"


class Mi:
    """Parses MI output records, by the grammar of GDB's manual ("GDB/MI Output Syntax")."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def record(self) -> tuple[str, dict[str, Any]]:
        match = re.compile(r"\^([a-z]+)").match(self._text)
        assert match, self._text
        self._at = match.end()
        results: dict[str, Any] = {}
        while self._take(","):
            results.update([self._result()])
        assert self._at == len(self._text), (self._text, self._at)
        return match[1], results

    def _take(self, what: str) -> bool:
        if not self._text.startswith(what, self._at):
            return False
        self._at += len(what)
        return True

    def _result(self) -> tuple[str, Any]:
        match = re.compile(r"([A-Za-z_][\w-]*)=").match(self._text, self._at)
        assert match, self._text[self._at :]
        self._at = match.end()
        return match[1], self._value()

    def _value(self) -> Any:
        if self._take("{"):
            return dict(self._items(self._result, "}"))
        if self._take("["):
            return self._items(self._value, "]")
        match = re.compile(r'"((?:[^"\\]|\\.)*)"').match(self._text, self._at)
        assert match, self._text[self._at :]
        self._at = match.end()
        octal = re.sub(r"\\([0-7]{3})", lambda each: f"\\u00{int(each[1], 8):02x}", match[1])
        return json.loads(f'"{octal}"').encode("latin-1").decode()

    def _items(self, item: Any, end: str) -> list[Any]:
        out: list[Any] = []
        while not self._take(end):
            out.append(item())
            self._take(",")
        return out


def play(
    lines: list[str], program: str | None = None, args: list[str] | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """Returns the result record of each line. GDB answers a line that runs the program before the
    program stops, but executes the next line only after the stop."""
    argv = [
        gdb_program(),
        "-nx",
        "-nh",
        "-q",
        "-i=mi",
        "-iex",
        "set confirm off",
        "-iex",
        "set disable-randomization off",
        "-ex",
        f"source {gdb_plugin()}",
    ]
    with tempfile.TemporaryDirectory(prefix="gdb-home-") as home:
        ran = subprocess.run(
            argv + (["--args", program, *(args or [])] if program else []),
            input="".join(f"{line}\n" for line in [*lines, "-gdb-exit"]),
            capture_output=True,
            text=True,
            timeout=120,
            env=environment_with(home, None),
            check=False,
        )
    records = [Mi(line).record() for line in ran.stdout.splitlines() if line.startswith("^")]
    assert len(records) == len(lines) + 1, ran
    assert "Traceback" not in ran.stdout + ran.stderr and "\x1b" not in ran.stdout, ran
    return records[:-1]


def plain(value: Any) -> Any:
    """Converts values to MI's form: all are strings, and flags are 0 and 1."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return str(int(value)) if isinstance(value, bool) else str(value)


class LoadedTest(GdbCase):
    """Tests of a loaded profile, all of whose numbers are known."""

    def test_tables_equal_the_json(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a profile.folded")
            with open(path, "w", encoding="utf-8") as file:
                file.write(FOLDED)
            files = {}
            script = os.path.join(folder, "json.py")
            asked = {
                "-profile-report": "report",
                "-profile-report --sort inclusive --limit 2": "report --sort inclusive --limit 2",
                "-profile-tree parse": "tree parse",
                "-profile-tree parse --callers": "tree parse --callers",
                f'-profile-diff "{path}"': f"diff '{path}'",
            }
            for number, line in enumerate(asked.values()):
                files[line] = os.path.join(folder, f"{number}.json")
            with open(script, "w", encoding="utf-8") as file:
                for line, out in files.items():
                    file.write(
                        f"open({out!r}, 'w').write(gdb.execute({f'profile {line} --json'!r}, "
                        "to_string=True))\n"
                    )
            records = play(
                [
                    f'-profile-load "{path}"',
                    *asked,
                    f'-interpreter-exec console "source {script}"',
                    "-profile-status",
                    "-profile-clear",
                    "-profile-report",
                ]
            )
            for (line, command), (kind, got) in zip(asked.items(), records[1:]):
                with self.subTest(line), open(files[command], encoding="utf-8") as file:
                    self.assertEqual((kind, got), ("done", plain(json.load(file))))
            self.assertEqual(records[0][0], "done")
            self.assertRegex(records[0][1]["message"][0], "^Loaded 100 ticks from ")
            report = records[1][1]
            self.assertEqual(
                [(row["name"], row["self"], row["inclusive"]) for row in report["functions"]],
                [
                    ("write 'öut' \\\"x", ["49"], ["49"]),
                    ("lex", ["30"], ["30"]),
                    ("parse", ["20"], ["50"]),
                    ("main", ["1"], ["100"]),
                ],
            )
            kind, status = records[-3]
            self.assertEqual((kind, status["state"], status["loaded"]), ("done", "idle", path))
            self.assertRegex(records[-2][1]["message"][0], "^Closed ")
            kind, refused = records[-1]
            self.assertEqual(kind, "error")
            self.assertRegex(refused["msg"], "^nothing was collected yet")

    def test_refusals_and_settings(self) -> None:
        records = play(
            [
                "-profile-report --by nothing",
                "-profile-config frequency",
                "-profile-config frequency 4000",
                "-profile-config frequency",
                "-profile-config depth",
                "-profile-dump",
                "-profile-start --frequency 0",
                "-profile-stop",
                "-profile-config",
            ]
        )
        self.assertEqual(
            [kind for kind, _ in records],
            ["error", "done", "done", "done", "error", "error", "error", "error", "done"],
        )
        self.assertIn(
            "function, line, module, object, namespace, directory, thread, part",
            records[0][1]["msg"],
        )
        self.assertEqual(
            [records[each][1] for each in (1, 2, 3)],
            [{"name": "frequency", "value": "1000"}, {}, {"name": "frequency", "value": "4000"}],
        )
        self.assertEqual(
            records[8][1],
            {
                "backend": "auto",
                "frequency": "4000",
                "clock": "cpu",
                "stacks": "dwarf",
                "stop-times": "off",
                "debuginfod": "off",
            },
        )
        for _, refused in (records[0], *records[4:8]):
            self.assertEqual(len(refused["msg"].splitlines()), 1, refused)

    def test_a_deep_tree_is_refused(self) -> None:
        """Python's recursion limit is reached before MI's, and before the end of GDB's stack."""
        with tempfile.TemporaryDirectory() as folder:
            for depth, refused in (150, False), (30000, True):
                path = os.path.join(folder, f"{depth}.folded")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(";".join(f"f{n}" for n in range(depth)) + " 5\n")
                with self.subTest(depth):
                    kind, tree = play([f"-profile-load {path}", "-profile-tree"])[1]
                    self.assertEqual(kind, "error" if refused else "done")
                    if refused:
                        self.assertRegex(tree["msg"], "--limit")

    def test_each_command_exists(self) -> None:
        asked = [f"-info-gdb-mi-command profile-{name}" for name in COMMANDS]
        for line, (kind, got) in zip(asked, play(asked)):
            with self.subTest(line):
                self.assertEqual((kind, got), ("done", {"command": {"exists": "true"}}))


class SampledTest(GdbCase):
    def test_commands_of_a_run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "o ut.folded")
            records = play(
                [
                    "-profile-start --stacks fp --frequency 4000",
                    "-exec-run",
                    "-profile-status",
                    "-profile-report",
                    "-profile-histogram seventy",
                    "-profile-annotate seventy",
                    f'-profile-dump "{out}"',
                    "-profile-stop",
                ],
                program("spin7030"),
                ["0.15"],
            )
            with open(out, encoding="utf-8") as file:
                dumped = sum(int(line.rpartition(" ")[2]) for line in file)
        self.assertEqual([kind for kind, _ in records], ["done", "running", *["done"] * 6], records)
        self.assertRegex(records[0][1]["message"][0], "^Sampling begins with the next process")
        status, report, histogram, source = (records[each][1] for each in (2, 3, 4, 5))
        samples = int(status["samples"])
        self.assertGreater(samples, 100)
        self.assertEqual(report["totals"], [str(samples)])
        self.assertEqual(dumped, samples)
        (seventy,) = [row for row in report["functions"] if row["name"] == "seventy"]
        assert_share(self, int(seventy["self"][0]), samples, 0.7, 0.25)
        self.assertEqual(
            sum(int(bin["ticks"]) for bin in histogram["bins"]), int(seventy["self"][0])
        )
        self.assertEqual(
            sum(
                int(line["self"][0])
                for file in source["files"]
                for line in file["lines"]
                if line["self"]
            ),
            int(seventy["self"][0]),
        )


if __name__ == "__main__":
    run_unittests()
