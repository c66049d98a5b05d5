"""Tests that Tally works in editors, as EDITORS.md says: through MI as VS Code's C/C++ extension uses
it, and through GDB's own server of the Debug Adapter Protocol."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from typing import Any

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase
from support.dap_driver import GdbDap
from support.gdb_driver import gdb_program
from support.programs import SOURCE_ROOT, gdb_plugin, program
from support.skips import run_unittests
from support.tables import parse_report, parse_status
from support.terminal import environment_with

REPORT = "profile report --limit 0"
INSTALLED = "/usr/local/share/tally/gdb/tally.py"


def shown(language: str) -> str:
    """Returns the first block of this language in EDITORS.md, with the path of the tested plug-in."""
    text = (SOURCE_ROOT / "gdb/EDITORS.md").read_text(encoding="utf-8")
    block = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block and INSTALLED in block[1], f"EDITORS.md has no block {language} with {INSTALLED}"
    return block[1].replace(INSTALLED, gdb_plugin())


def configuration(kind: str) -> dict[str, Any]:
    """Returns the configuration of this type in the launch.json that EDITORS.md shows."""
    configurations: list[dict[str, Any]] = json.loads(shown("json"))["configurations"]
    return next(each for each in configurations if each["type"] == kind)


class CppdbgTest(GdbCase):
    """VS Code's C/C++ extension wraps the setup commands and each line after -exec in
    -interpreter-exec."""

    def test_launch_and_console(self) -> None:
        typed = [each["text"] for each in configuration("cppdbg")["setupCommands"]]
        lines = [f'-interpreter-exec console "{line}"' for line in typed]
        lines += [
            f"-file-exec-and-symbols {program('spin7030')}",
            "-exec-arguments 0.8 1",
            "-break-insert checkpoint",
            "-exec-run",
            f'-interpreter-exec console "{REPORT}"',
            "-gdb-exit",
        ]
        with tempfile.TemporaryDirectory(prefix="gdb-home-") as home:
            ran = subprocess.run(
                [gdb_program(), "-nx", "-q", "--interpreter=mi"]
                + ["-iex", "set disable-randomization off"],
                input="".join(f"{line}\n" for line in lines),
                capture_output=True,
                text=True,
                timeout=120,
                env=environment_with(home, None),
                check=False,
            )
        self.assertNotIn("^error", ran.stdout)
        console = re.findall(r'^~"(.*)"$', ran.stdout, re.MULTILINE)
        printed = "".join(json.loads(f'"{each}"') for each in console)
        self.assertIn("Sampling begins with the next process", printed)
        try:
            report = parse_report(printed)
        except ValueError as error:
            raise AssertionError(f"{error}\n{ran}") from None
        self.assertGreater(report.row("seventy").self_ticks, 20, printed)


class DapTest(GdbCase):
    def setUp(self) -> None:
        super().setUp()
        ran = subprocess.run(
            [gdb_program(), "-nx", "-q", "--interpreter=dap"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if "unrecognized" in ran.stderr:
            raise unittest.SkipTest("this GDB has no --interpreter=dap (GDB 14 and later do)")

    def test_the_command_of_the_document(self) -> None:
        with GdbDap() as dap:
            self.assertEqual(
                dap.options, ["--interpreter=dap", "-iex", f"source {gdb_plugin()}"], "EDITORS.md"
            )
        self.assertEqual(
            shown("sh"), f'gdb --interpreter=dap -iex "source {gdb_plugin()}"\n', "EDITORS.md"
        )

    def test_the_console(self) -> None:
        """Lines as a user types them: before the launch, at a stop, and after the end."""
        with GdbDap() as dap:
            dap.start(
                program("spin7030"),
                ["0.8", "2"],
                functions=["checkpoint"],
                typed=["profile start"],
            )
            self.assertIn("Sampling begins with the next process", dap.transcript)
            dap.wait_event("stopped")
            self.assertEqual(parse_status(dap.evaluate("profile status"))["state"], "sampling")
            at_stop = parse_report(dap.evaluate(REPORT))
            self.assertGreater(at_stop.row("seventy").self_ticks, 20, dap.transcript)
            self.assertIn("there is no command 'nonsense'", dap.refusal("profile nonsense"))
            dap.proceed()
            dap.wait_event("stopped")
            dap.proceed()
            dap.wait_event("terminated")
            at_end = parse_report(dap.evaluate(REPORT))
            self.assertGreater(
                at_end.row("seventy").self_ticks,
                at_stop.row("seventy").self_ticks + 20,
                dap.transcript,
            )


if __name__ == "__main__":
    run_unittests()
