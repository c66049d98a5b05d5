"""Waits for what a program does while a debugger runs it, and not for a time."""
from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

LONGEST_S = 100.0  # after which a test fails, because something hangs


def _stat(pid: int) -> list[str]:
    """Returns the fields of /proc/PID/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def cpu_of(pid: int) -> float:
    """Returns the CPU time of a process in seconds, to a hundredth."""
    fields = _stat(pid)
    if fields[0] == "Z":
        raise AssertionError(f"process {pid} has ended")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime, stime


def wait_for_cpu(pid: int, seconds: float) -> None:
    """Waits until the process has used this much more CPU time than when this is called."""
    most = cpu_of(pid) + seconds
    deadline = time.monotonic() + LONGEST_S
    while (used := cpu_of(pid)) < most:
        if time.monotonic() > deadline:
            raise AssertionError(f"process {pid} used {used} s of CPU time, and not {most} s")
        time.sleep(0.02)


def wait_for_name(parent: int, name: str) -> int:
    """Waits until a child of `parent` executes the program of this name. Returns its pid."""
    deadline = time.monotonic() + LONGEST_S
    child = re.compile(rf"(\d+) \({re.escape(name[:15])}\) \S {parent} ")
    while time.monotonic() < deadline:
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # it has ended
                if found := child.match(path.read_text(encoding="utf-8", errors="replace")):
                    return int(found[1])
        time.sleep(0.02)
    raise AssertionError(f"no child of process {parent} executes {name}")


def wait_for_state(pid: int, states: str) -> None:
    """Waits until the process is in one of the states of proc(5), such as S for asleep."""
    deadline = time.monotonic() + LONGEST_S
    while _stat(pid)[0] not in states:
        if time.monotonic() > deadline:
            raise AssertionError(f"process {pid} is not in a state of {states}")
        time.sleep(0.02)
