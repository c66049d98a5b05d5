"""Changes how GDB handles signals (`handle SIGNAL …`), and restores the previous settings."""

import os
import re
import signal
from typing import Dict, Sequence

import gdb

from .console import FAULTS


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


def catch_signal(name: str, condition: str) -> int:
    """Sets a catchpoint, and returns its number. $bpnum stays the user's."""
    before = gdb.convenience_variable("bpnum")
    gdb.execute(f"catch signal {name}", to_string=True)
    number = int(gdb.convenience_variable("bpnum"))
    gdb.execute(f"condition {number} {condition}", to_string=True)
    gdb.set_convenience_variable("bpnum", before)
    return number


class Sigint:
    """Stops a process of this machine as Ctrl-C does. If the process stops for another reason just
    before the signal comes, a catchpoint passes over the signal when the process resumes."""

    def __init__(self) -> None:
        self._is_sent = False
        self._catchpoint = 0  # its number; 0 if there is none

    def send(self, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGINT)
            self._is_sent = True
        except OSError:
            pass

    def stopped(self, by_sigint: bool, is_alive: bool) -> None:
        """Follows each stop, and the end of the process."""
        is_pending, self._is_sent = self._is_sent and is_alive and not by_sigint, False
        number, self._catchpoint = self._catchpoint, 0
        if number:
            try:
                gdb.execute(f"delete {number}", to_string=True)
            except FAULTS:
                pass  # the user has already deleted it
        if is_pending:
            sender = "$_siginfo._sifields._kill.si_pid"
            try:
                self._catchpoint = catch_signal("SIGINT", f"{sender} != {os.getpid()}")
            except FAULTS:
                pass  # the signal stops the process again


class Signals:
    """Changes the handling of signals, and keeps their previous settings."""

    def __init__(self) -> None:
        self.sigint = Sigint()
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
