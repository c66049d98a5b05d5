"""Converts the settings of `set style …` to escape sequences for the terminal."""

import os
import stat
from typing import Dict, Iterable, Iterator

import gdb

from . import _abi
from .console import FAULTS

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_INTENSITIES = {"bold": "1", "dim": "2"}


def _colour(value, first: int) -> str:
    if hasattr(value, "escape_sequence"):  # a gdb.Color
        return value.escape_sequence(first == 30)[2:-1]
    return str(first + _COLOURS.index(value)) if value in _COLOURS else ""


def _begin(role: str) -> str:
    codes = [
        _colour(gdb.parameter(f"style {role} foreground"), 30),
        _colour(gdb.parameter(f"style {role} background"), 40),
        _INTENSITIES.get(gdb.parameter(f"style {role} intensity"), ""),
    ]
    text = ";".join(code for code in codes if code)
    return f"\x1b[{text}m" if text else ""


def _pipes(paths: Iterable[str]) -> Iterator[int]:
    for path in paths:
        try:
            found = os.stat(path)
        except OSError:  # the descriptor is closed by now, or the process belongs to another user
            continue
        if stat.S_ISFIFO(found.st_mode):
            yield found.st_ino


def _is_piped() -> bool:
    """Returns whether a child process of GDB reads a pipe that GDB has open, as within `pipe
    COMMAND | SHELL`."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as children:
            read = set(_pipes(f"/proc/{child}/fd/0" for child in children.read().split()))
        held = _pipes(f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
        return not read.isdisjoint(held)
    except OSError:
        return False


def _is_shown() -> bool:
    """Returns whether the output goes to a terminal with styles. GDB's Python cannot ask where a
    command's output goes. Line editing, however, is on for the only console that is a terminal, and
    off in MI."""
    if not gdb.parameter("style enabled") or os.environ.get("TERM", "dumb") in ("", "dumb"):
        return False
    editing = gdb.execute("show editing", to_string=True) or ""
    return os.isatty(1) and editing.rstrip().endswith("on.") and not _is_piped()


def styles(to_console: bool) -> Dict[str, str]:
    """Returns the current escape sequence of each role of `set style` that tables use, or none if
    the text is to be plain. `to_console` is False if a script takes it."""
    try:
        if to_console and _is_shown():
            return {role: _begin(role) for role in _abi.STYLES}
    except FAULTS:
        pass
    return {}
