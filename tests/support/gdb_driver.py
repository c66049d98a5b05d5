"""Drives a real GDB, in batch mode or as a user at a terminal.

    result = run_gdb(["profile start", "run", "profile status"], program("spin7030"), ["1"])
    assert result.status == 0, result

    with GdbTerminal(program("sleeper")) as gdb:
        gdb.command("profile start")
        gdb.send("run")
        gdb.expect("asleep")
        gdb.interrupt()
        gdb.expect_prompt()
"""
from __future__ import annotations

import os
import unittest
from typing import Callable, Mapping, Sequence

from support import programs
from support.terminal import DEFAULT_TIMEOUT_S, DebuggerResult, Terminal, run_batch

GdbResult = DebuggerResult


def gdb_program() -> str:
    return os.environ.get("TALLY_TEST_GDB", "gdb")


def _argv(
    wrapper: Sequence[str],
    batch: bool,
    pagination: bool,
    program: str | None,
    args: Sequence[str],
    plugin: bool,
    commands: Sequence[str],
    own: Sequence[str] = ("-nx", "-nh"),
    gdb: str | None = None,
) -> list[str]:
    settings = [
        "set confirm off",
        "set width 0",
        "set style enabled off",
        # Some containers do not permit disabling ASLR, and GDB then warns.
        "set disable-randomization off",
        # Without the debug information of libc, where it is installed, GDB takes half of the time.
        "set debug-file-directory /nonexistent",
    ]
    if not pagination:
        settings += ["set pagination off", "set height 0"]
    argv = [*wrapper, gdb or gdb_program(), *own, "-q"] + (["-batch"] if batch else [])
    for setting in settings:
        argv += ["-iex", setting]
    if plugin:
        argv += ["-ex", f"source {programs.gdb_plugin()}"]
    for command in commands:
        argv += ["-ex", command]
    return argv + (["--args", program, *args] if program else [])


def run_gdb(
    commands: Sequence[str],
    program: str | None = None,
    args: Sequence[str] = (),
    *,
    plugin: bool = True,
    wrapper: Sequence[str] = (),
    pagination: bool = False,
    one_stream: bool = False,
    environment: Mapping[str, str | None] | None = None,
    cwd: str | None = None,
    before_exec: Callable[[], None] | None = None,
    home: str | None = None,
    options: Sequence[str] = (),
    gdb: str | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> GdbResult:
    """Runs GDB in batch mode. Each command is passed by -ex; the status is that of the last one.

    `wrapper` is put before gdb (seccomp_run eperm); `before_exec` runs in the child (setrlimit).
    A value of None in `environment` removes the variable. `home` is a home directory whose init
    file is read, after the system's; `options` are further options of GDB.
    """
    own = ["-nx", "-nh"]
    if home is not None:
        own, environment = [], {**(environment or {}), "HOME": home}
    argv = _argv(wrapper, True, pagination, program, args, plugin, commands, [*own, *options], gdb)
    try:
        result = run_batch(
            "gdb",
            argv,
            one_stream=one_stream,
            environment=environment,
            cwd=cwd,
            before_exec=before_exec,
            timeout_s=timeout_s,
        )
    except AssertionError as error:
        _skip_without_calls(str(error))
        raise
    _skip_without_calls(result.stdout + result.stderr)
    return result


def _skip_without_calls(printed: str) -> None:
    """Skips the calling unittest case if GDB could not call a function of the program. GDB 13 never
    can on processors with AMX: it writes registers back in a size that the kernel refuses."""
    if "Couldn't write extended state status" in printed:
        raise unittest.SkipTest("this GDB cannot call functions of programs on this processor")


def need_calls() -> None:
    """Skips the calling unittest case if GDB cannot call functions: it hangs if the
    condition of a breakpoint fails to."""
    commands = ["break main", "run", "print (int) getpid()"]
    run_gdb(commands, programs.program("spin7030"), ["0"], plugin=False)


class GdbTerminal(Terminal):
    """GDB with its own terminal."""

    def __init__(
        self,
        program: str | None = None,
        args: Sequence[str] = (),
        *,
        plugin: bool = True,
        wrapper: Sequence[str] = (),
        pagination: bool = False,
        environment: Mapping[str, str | None] | None = None,
        before_exec: Callable[[], None] | None = None,
        rows: int = 50,
        columns: int = 200,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        super().__init__(
            "gdb",
            _argv(wrapper, False, pagination, program, args, plugin, []),
            "(gdb)",
            environment=environment,
            before_exec=before_exec,
            rows=rows,
            columns=columns,
            timeout_s=timeout_s,
        )

    def __enter__(self) -> "GdbTerminal":
        return self
