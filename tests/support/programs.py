"""Paths of the things under test, from the environment variables that tests/meson.build sets."""
from __future__ import annotations

import os
from pathlib import Path

SOURCE_ROOT = Path(__file__).resolve().parents[2]
SANITIZED = os.environ.get("TALLY_SANITIZE", "none") != "none"  # the build, by any sanitizer


def _from_environment(name: str) -> Path:
    value = os.environ.get(name)
    if not value:
        raise RuntimeError(f"{name} is not set: run this test by `meson test`")
    return Path(value)


def program(name: str) -> str:
    """Returns the path of a program of tests/programs."""
    path = _from_environment("TALLY_PROGRAMS") / name
    if not path.exists():
        raise RuntimeError(f"missing program {path}")
    return str(path)


def gdb_plugin() -> str:
    """Returns the path of tally.py, which GDB sources."""
    return str(_from_environment("TALLY_GDB"))


def lldb_plugin() -> str:
    """Returns the path of liblldb_tally.so, which LLDB loads."""
    return str(_from_environment("TALLY_LLDB"))


def library() -> str:
    """Returns the path of libtally.so."""
    return str(_from_environment("TALLY_LIBRARY"))


def command_line() -> str:
    """Returns the path of the `tally` program."""
    return str(_from_environment("TALLY_CLI"))


def manual_pages() -> list[Path]:
    """Returns the paths of the manual pages that are built."""
    return [Path(path) for path in str(_from_environment("TALLY_PAGES")).split(os.pathsep)]
