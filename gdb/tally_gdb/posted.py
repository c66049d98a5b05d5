"""Posts functions to GDB's event loop, and lets GDB exit while some have not been executed.

GDB 13 destroys the functions of gdb.post_event() that were never executed after it has ended
Python. That calls Python, and GDB crashes at its exit. Batch mode has no event loop between two
commands: a function that the ticker posts while the program ends is still there when GDB exits.
"""

import atexit
import threading
from typing import Callable

import gdb

from . import _abi

_lock = threading.Lock()
_waiting = 0  # the number of functions that were posted and not executed yet
_closed = False  # whether GDB exits


def post(function: Callable[[], None]) -> None:
    """Lets GDB's thread execute `function` in its event loop. Any thread may call this. A function
    that is posted while GDB exits is never executed."""

    def execute() -> None:
        global _waiting
        with _lock:
            _waiting -= 1
        function()

    global _waiting
    with _lock:
        if not _closed:
            gdb.post_event(execute)
            _waiting += 1


@atexit.register
def _close() -> None:
    """Ends Python's part of GDB's exit. If functions wait, GDB's global objects are not destroyed:
    all other work of its exit is done by now."""
    global _closed
    with _lock:
        _closed = True
    if _waiting:
        gdb.flush()
        _abi.skip_exit_handlers()
