"""`handle SIGNAL …`, and back."""

import re
import signal
from typing import Dict, Sequence

import gdb


def signal_name(number: int) -> str:
    """GDB's; real-time signals have a number only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _told(name: str) -> str:
    """"stop print pass", as the user has it."""
    text = gdb.execute(f"info signals {name}", to_string=True) or ""
    found = re.search(rf"^{name}\s+(Yes|No)\s+(Yes|No)\s+(Yes|No)\s", text, re.MULTILINE)
    if not found:
        raise gdb.error(f"this GDB does not know {name}")
    return " ".join(("" if told == "Yes" else "no") + word
                    for told, word in zip(found.groups(), ("stop", "print", "pass")))


def is_passed(name: str) -> bool:
    return not _told(name).endswith("nopass")


class Signals:
    """Those that were changed, with what they were."""

    def __init__(self) -> None:
        self._before: Dict[str, str] = {}

    def hide(self, numbers: Sequence[int], deliver: bool) -> None:
        """They neither stop nor print; the program gets them or not."""
        for number in numbers:
            name = signal_name(number)
            self._before.setdefault(name, _told(name))
            word = "pass" if deliver else "nopass"
            gdb.execute(f"handle {name} nostop noprint {word}", to_string=True)

    def restore(self) -> None:
        for name, words in self._before.items():
            gdb.execute(f"handle {name} {words}", to_string=True)
        self._before.clear()
