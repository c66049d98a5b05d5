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


class _Late(gdb.Function):
    """The condition of the catchpoint of a late signal. It is false once, for GDB's own signal."""

    def __init__(self) -> None:
        self.is_expected = False
        super().__init__("_tally_late")

    def invoke(self, sender: gdb.Value) -> int:
        try:
            is_late = self.is_expected and int(sender) == os.getpid()
        except FAULTS:
            is_late = False
        self.is_expected = self.is_expected and not is_late
        return int(not is_late)


class Sigint:
    """Stops a process of this machine as Ctrl-C does. If the process stops for another reason just
    before the signal comes, a catchpoint passes over the signal when the process resumes."""

    def __init__(self) -> None:
        self._is_sent = False
        self._late = _Late()
        self._catchpoint = 0  # its number; 0 if there is none

    def send(self, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGINT)
            self._is_sent = True
        except OSError:
            pass

    def stopped(self, by_sigint: bool, by_catchpoint: int, is_alive: bool) -> None:
        """Follows each stop, and the end of the process. `by_catchpoint` is the number of the
        catchpoint that stopped the process, or 0."""
        number, self._catchpoint = self._catchpoint, 0
        by_sigint = by_sigint or (number != 0 and by_catchpoint == number)
        is_pending, self._is_sent = self._is_sent and is_alive and not by_sigint, False
        self._late.is_expected = is_pending
        if number:
            try:
                gdb.execute(f"delete {number}", to_string=True)
            except FAULTS:
                pass  # the user has already deleted it
        if is_pending:
            sender = "$_siginfo._sifields._kill.si_pid"
            try:
                self._catchpoint = catch_signal("SIGINT", f"$_tally_late({sender})")
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
