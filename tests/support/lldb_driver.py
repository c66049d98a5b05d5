"""Drives real LLDBs, in batch mode or as a user at a terminal.

    for lldb in lldb_programs():
        result = run_lldb(["profile start", "run", "profile status"], program("spin7030"), ["1"],
                          lldb=lldb)
        with LldbTerminal(program("sleeper"), lldb=lldb) as terminal:
            terminal.command("profile start")
"""
from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import re
import tempfile
import time
import unittest
from pathlib import Path
from typing import Callable, Mapping, Sequence

from support import programs
from support.terminal import DEFAULT_TIMEOUT_S, DebuggerResult, Terminal, run_batch

LldbResult = DebuggerResult

_SETTINGS = (
    "settings set use-color false",
    "settings set auto-confirm true",
    # Some containers do not permit disabling ASLR.
    "settings set target.disable-aslr false",
    # Without the debug information of libc, where it is installed, LLDB takes half of the time.
    "settings set symbols.enable-external-lookup false",
)
# LLDB 14 to 19 of Debian import Python modules that their packages do not contain.
_DEBIANS_OWN = re.compile(
    r"""Traceback \(most recent call last\):\n  File "<string>", line 1, in <module>\n"""
    r"""(?:ModuleNotFoundError: No module named 'lldb(?:\.embedded_interpreter)?'|"""
    r"""NameError: name 'run_one_line' is not defined)\n"""
)


def without_debians_own(text: str) -> str:
    """Removes what Debian's LLDBs print at each start."""
    return _DEBIANS_OWN.sub("", text)


def lldb_programs() -> list[str]:
    """Returns the LLDBs to test: the blank-separated paths in TALLY_TEST_LLDBS if it is set,
    otherwise each `lldb-NN` on PATH."""
    named = os.environ.get("TALLY_TEST_LLDBS")
    if named is not None:
        return named.split()
    found: dict[str, str] = {}
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for path in Path(folder or ".").glob("lldb-*"):
            if re.fullmatch(r"lldb-\d+", path.name) and os.access(path, os.X_OK):
                found.setdefault(path.name, str(path))
    return [found[name] for name in sorted(found)]


def lldb_name(lldb: str) -> str:
    """Returns the name for failure messages, such as lldb-19."""
    versions = re.findall(r"(?:lldb|llvm)-(\d+)", lldb)
    return f"lldb-{versions[-1]}" if versions else lldb


def need_lldb() -> None:
    """Skips the calling unittest case if there is no LLDB or no plug-in."""
    if not lldb_programs():
        raise unittest.SkipTest("not installed: lldb")
    if not os.environ.get("TALLY_LLDB"):
        raise unittest.SkipTest("the plug-in for LLDB is not built")


def in_each_lldb(case: unittest.TestCase, measure: Callable[[str], None]) -> None:
    """Calls `measure` with each LLDB, and reports each result as a sub-test. The calls run in
    threads, as many at once as there are processors. `measure` must not create sub-tests itself."""
    lldbs = lldb_programs()
    processors = len(os.sched_getaffinity(0))
    with concurrent.futures.ThreadPoolExecutor(min(len(lldbs), processors)) as pool:
        for lldb, measured in [(lldb, pool.submit(measure, lldb)) for lldb in lldbs]:
            with case.subTest(lldb_name(lldb)):
                measured.result()


def _argv(
    lldb: str,
    wrapper: Sequence[str],
    options: Sequence[str],
    program: str | None,
    args: Sequence[str],
    plugin: bool,
    commands: Sequence[str],
) -> list[str]:
    argv = [*wrapper, lldb, *options]
    for setting in _SETTINGS:
        argv += ["-O", setting]
    if plugin:
        argv += ["-o", f"plugin load {programs.lldb_plugin()}"]
    for command in commands:
        argv += ["-o", command]
    return argv + (["--", program, *args] if program else [])


def run_lldb(
    commands: Sequence[str],
    program: str | None = None,
    args: Sequence[str] = (),
    *,
    lldb: str,
    plugin: bool = True,
    wrapper: Sequence[str] = (),
    stop_on_error: bool = False,
    one_stream: bool = False,
    environment: Mapping[str, str | None] | None = None,
    cwd: str | None = None,
    before_exec: Callable[[], None] | None = None,
    home: str | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> LldbResult:
    """Runs LLDB in batch mode. Standard output shows each command as `(lldb) COMMAND`.

    With `stop_on_error` each command is passed by -o, and the first that fails ends LLDB with
    status 1. Otherwise all commands are sourced from a file, also after errors. `home` is a home
    directory whose .lldbinit is read. `wrapper` and the rest are as for run_gdb().
    """
    own = ["--no-lldbinit"]
    if home is not None:
        own, environment = [], {**(environment or {}), "HOME": home}
    with tempfile.TemporaryDirectory(prefix="lldb-commands-") as folder:
        if not stop_on_error:
            script = os.path.join(folder, "commands")
            Path(script).write_text(
                "".join(f"{command}\n" for command in commands), encoding="utf-8"
            )
            commands = [f"command source -e false -s false {script}"]
        argv = _argv(lldb, wrapper, ["-b", *own], program, args, plugin, commands)
        result = run_batch(
            "lldb",
            argv,
            one_stream=one_stream,
            environment=environment,
            cwd=cwd,
            before_exec=before_exec,
            timeout_s=timeout_s,
        )
    return dataclasses.replace(
        result,
        stdout=without_debians_own(result.stdout),
        stderr=without_debians_own(result.stderr),
    )


class LldbTerminal(Terminal):
    """LLDB with its own terminal."""

    def __init__(
        self,
        program: str | None = None,
        args: Sequence[str] = (),
        *,
        lldb: str,
        plugin: bool = True,
        wrapper: Sequence[str] = (),
        environment: Mapping[str, str | None] | None = None,
        before_exec: Callable[[], None] | None = None,
        rows: int = 50,
        columns: int = 200,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        # --source-quietly, because the prompt may appear before the rest of a command's echo.
        argv = _argv(
            lldb, wrapper, ["--no-lldbinit", "--source-quietly"], program, args, plugin, []
        )
        super().__init__(
            "lldb",
            argv,
            "(lldb)",
            environment=environment,
            before_exec=before_exec,
            rows=rows,
            columns=columns,
            timeout_s=timeout_s,
        )

    def __enter__(self) -> "LldbTerminal":
        return self

    def expect_prompt(self, timeout_s: float | None = None) -> str:
        """Waits for the prompt. LLDB prints it before it reads keys, and the terminal would echo
        what is typed in between, in addition to LLDB. So this also waits, at most 5 s, until the
        terminal's echo is off."""
        shown = super().expect_prompt(timeout_s)
        deadline = time.monotonic() + 5
        while self.echoes() and time.monotonic() < deadline:
            time.sleep(0.005)
        return shown
