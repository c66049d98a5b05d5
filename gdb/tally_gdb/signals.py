"""Changes how GDB handles signals (`handle SIGNAL …`), and restores the previous settings."""

import re
import signal
from typing import Dict, Sequence

import gdb


def signal_name(number: int) -> str:
    """Returns GDB's name for the signal. The name of a real-time signal is "SIG" and its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _handling(name: str) -> str:
    """Returns the current setting as arguments of `handle`, for example "stop print pass"."""
    text = gdb.execute(f"info signals {name}", to_string=True) or ""
    found = re.search(rf"^{name}\s+(Yes|No)\s+(Yes|No)\s+(Yes|No)\s", text, re.MULTILINE)
    if not found:
        raise gdb.error(f"this GDB does not know {name}")
    return " ".join(
        ("" if setting == "Yes" else "no") + word
        for setting, word in zip(found.groups(), ("stop", "print", "pass"))
    )


def is_passed(name: str) -> bool:
    return not _handling(name).endswith("nopass")


class Signals:
    """Changes the handling of signals, and keeps their previous settings."""

    def __init__(self) -> None:
        self._before: Dict[str, str] = {}

    def hide(self, numbers: Sequence[int], deliver: bool) -> None:
        """Makes GDB neither stop nor print for these signals. The program gets them if `deliver` is
        set."""
        for number in numbers:
            name = signal_name(number)
            self._before.setdefault(name, _handling(name))
            word = "pass" if deliver else "nopass"
            gdb.execute(f"handle {name} nostop noprint {word}", to_string=True)

    def restore(self) -> None:
        for name, words in self._before.items():
            gdb.execute(f"handle {name} {words}", to_string=True)
        self._before.clear()
