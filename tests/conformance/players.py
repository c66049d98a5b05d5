"""Plays the steps of a scenario in GDB or in one LLDB, and returns what each step printed."""
from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Iterator, Sequence

from scenario_file import Scenario
from support.gdb_driver import run_gdb
from support.lldb_driver import lldb_name, run_lldb
from support.programs import program
from support.running import wait_for_state
from support.terminal import DebuggerResult

# A scenario's command as a pattern, and the commands of GDB and of LLDB for it. {pid}, {core} and
# {program} are replaced from the scenario's head.
_VERBS = (
    (r"(run|continue|next|step|finish|kill|detach)", r"\1", r"\1"),
    (r"break (\S+)", r"break \1", r"breakpoint set -n \1"),
    (r"break (\S+) if (.+)", r"break \1 if \2", r"breakpoint set -n \1 -c '\2'"),
    (r"watch (\S+)", r"watch \1", r"watchpoint set variable \1"),
    (r"delete breakpoints", "delete", "breakpoint delete -f"),
    (
        r"pass (SIG\S+)",
        r"handle \1 nostop noprint pass",
        r"process handle -s false -n false -p true \1",
    ),
    (r"call (\S.*)", r"call \1", r"expression -- \1"),
    (
        r"flavor (att|intel)",
        r"set disassembly-flavor \1",
        r"settings set target.x86-disassembly-flavor \1",
    ),
    (r"wait (\S+)", r"shell sleep \1", r"platform shell sleep \1"),
    (r"attach", "attach {pid}", "process attach -p {pid}"),
    (r"core", "core-file {core}", "target create -c {core} {program}"),
    (r"((?:profile|coverage)(?: .*)?)", r"\1", r"\1"),
)


@dataclass(frozen=True)
class Played:
    printed: tuple[str, ...]  # one text per step
    result: DebuggerResult


@dataclass(frozen=True)
class _Stage:
    """The programs and files that a scenario's head asks for."""

    program: str | None
    args: list[str]
    wrapper: list[str]
    names: dict[str, str]
    folder: str

    def command(self, step: str, which: int) -> str:
        for verb in _VERBS:
            if match := re.fullmatch(verb[0], step):
                said = match.expand(verb[which])
                return said.format(**self.names) if verb[which] != r"\1" else said
        raise ValueError(f"no translation of the command {step!r}")


@contextlib.contextmanager
def _stage(scenario: Scenario) -> Iterator[_Stage]:
    words = scenario.head.get("program", [])
    names = {"program": program(words[0]) if words else ""}
    wrapper = scenario.head.get("under", [])
    process = None
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        if core := scenario.head.get("core"):
            names["core"] = os.path.join(folder, "core")
            names["program"] = program(core[0])
            made = run_gdb(
                ["break checkpoint", "run", f"generate-core-file {names['core']}"],
                program(core[0]),
                core[1:],
                plugin=False,
            )
            assert os.path.exists(names["core"]), made
        if attached := scenario.head.get("attached"):
            process = subprocess.Popen(
                [program(attached[0]), *attached[1:]], stdout=subprocess.DEVNULL
            )
            names["pid"] = str(process.pid)
            wait_for_state(process.pid, "S")
        try:
            yield _Stage(
                names["program"] if words else None,
                words[1:],
                [program(wrapper[0]), *wrapper[1:]] if wrapper else [],
                names,
                folder,
            )
        finally:
            if process:
                process.kill()
                process.wait()


def play_in_gdb(scenario: Scenario) -> Played:
    with _stage(scenario) as stage:
        return commands_in_gdb(
            [stage.command(step.command, 1) for step in scenario.steps],
            stage.program,
            stage.args,
            wrapper=stage.wrapper,
            cwd=stage.folder,
        )


def commands_in_gdb(
    commands: Sequence[str],
    program: str | None,
    args: Sequence[str],
    *,
    wrapper: Sequence[str],
    cwd: str,
    plugin: bool = True,
    gdb: str | None = None,
) -> Played:
    """Plays GDB's own commands."""
    marked: list[str] = []
    for number, command in enumerate(commands):
        marked += [f"echo \\n@{number}@\\n", command]
    result = run_gdb(
        marked, program, args, wrapper=wrapper, cwd=cwd, plugin=plugin, one_stream=True, gdb=gdb
    )
    pieces = re.split(r"\n@\d+@\n", result.stdout)
    if len(pieces) != len(commands) + 1:
        raise AssertionError(f"GDB did not reach all commands\n{result}")
    return Played(tuple(pieces[1:]), result)


def play_in_lldb(scenario: Scenario, lldb: str) -> Played:
    with _stage(scenario) as stage:
        return commands_in_lldb(
            [stage.command(step.command, 2) for step in scenario.steps],
            stage.program,
            stage.args,
            lldb=lldb,
            wrapper=stage.wrapper,
            cwd=stage.folder,
        )


def commands_in_lldb(
    commands: Sequence[str],
    program: str | None,
    args: Sequence[str],
    *,
    lldb: str,
    wrapper: Sequence[str],
    cwd: str,
    plugin: bool = True,
) -> Played:
    """Plays LLDB's own commands."""
    settings = [
        "settings set term-width 1000",
        "settings set target.output-path /dev/null",  # printed at arbitrary times
        "settings set plugin.jit-loader.gdb.enable on",  # as in GDB
        "settings set target.process.stop-on-exec false",  # as in GDB
    ]
    result = run_lldb(
        [*settings, *commands],
        program,
        args,
        lldb=lldb,
        wrapper=wrapper,
        cwd=cwd,
        plugin=plugin,
        one_stream=True,
    )
    rest, printed = result.stdout, []
    for command in commands:
        before, found, rest = rest.partition(f"\n(lldb) {command}\n")
        if not found:
            raise AssertionError(f"{lldb_name(lldb)} did not reach {command!r}\n{result}")
        printed.append(before)
        rest = "\n" + rest
    return Played((*printed[1:], rest), result)
