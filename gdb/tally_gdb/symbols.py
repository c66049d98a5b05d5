"""Functions and source files that GDB knows, for completion."""

from typing import List, Tuple

import gdb

from .console import FAULTS

# In a program with 200,000 functions GDB finds so many in half a second.
_MOST = 2000
_CUT = " *** List may be truncated, max-completions reached. ***"


def _completed(option: str, prefix: str) -> List[str]:
    """What GDB offers behind `break -function PREFIX`. Where it stops early, `prefix` is among
    them: the others are not all that there are, and nothing follows from what they share."""
    command = f"break {option} "
    try:
        told = gdb.execute(f"with max-completions {_MOST} -- complete {command}{prefix}",
                           to_string=True) or ""
    except FAULTS:
        return []
    lines = [line[len(command):] for line in told.splitlines() if line.startswith(command)]
    return [prefix if line.endswith(_CUT) else line for line in lines]


def like(prefix: str) -> Tuple[List[str], List[str]]:
    """Functions of which a component of the name begins so, and source files."""
    if not prefix.isprintable():  # a line break would begin another command
        return [], []
    return _completed("-function", prefix), _completed("-source", prefix)
