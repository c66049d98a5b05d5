"""Completes the names of functions and source files that GDB knows."""

from typing import List, Tuple

import gdb

from .console import FAULTS

# In a program with 200,000 functions, GDB finds this many completions in half a second.
_MOST = 2000
_CUT = " *** List may be truncated, max-completions reached. ***"


def _completed(option: str, prefix: str) -> List[str]:
    """Returns GDB's completions of `break OPTION PREFIX`. If GDB reaches its limit, `prefix` itself
    is one of them. The list is then incomplete, and must not be extended to its common prefix."""
    command = f"break {option} "
    try:
        output = (
            gdb.execute(
                f"with max-completions {_MOST} -- complete {command}{prefix}", to_string=True
            )
            or ""
        )
    except FAULTS:
        return []
    lines = [line[len(command) :] for line in output.splitlines() if line.startswith(command)]
    return [prefix if line.endswith(_CUT) else line for line in lines]


def like(prefix: str) -> Tuple[List[str], List[str]]:
    """Returns the functions whose name has a component that begins with `prefix`, and the source
    files whose name begins with `prefix`."""
    if not prefix.isprintable():  # a newline would begin another command
        return [], []
    return _completed("-function", prefix), _completed("-source", prefix)
