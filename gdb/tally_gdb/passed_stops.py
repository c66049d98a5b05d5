"""Reports to the session the user's breakpoints that GDB may pass without a stop for the user."""

from typing import Iterator, List, Optional

import gdb

from .console import FAULTS
from .session import Session, TallyError

_TYPES = {
    getattr(gdb, name) for name in ("BP_BREAKPOINT", "BP_HARDWARE_BREAKPOINT") if hasattr(gdb, name)
}


def _may_be_passed(breakpoint: gdb.Breakpoint) -> bool:
    return (
        breakpoint.number > 0
        and breakpoint.type in _TYPES
        and breakpoint.enabled
        and bool(
            breakpoint.condition
            or breakpoint.ignore_count
            or breakpoint.thread is not None
            or breakpoint.commands
            or getattr(breakpoint, "stop", None)
        )
    )


def _addresses(inferior: int) -> Iterator[int]:
    """Yields the addresses, in the inferior with the number `inferior`, of the breakpoints that GDB
    may pass by itself.
    Yields nothing before GDB 13, because Python cannot list the locations of a breakpoint there."""
    for breakpoint in gdb.breakpoints() or ():
        try:
            if _may_be_passed(breakpoint):
                for location in getattr(breakpoint, "locations", None) or ():
                    groups = location.thread_groups
                    if (
                        location.enabled
                        and location.address
                        and (groups is None or inferior in groups)
                    ):
                        yield location.address
        except FAULTS:  # the breakpoint has just been deleted
            pass


class PassedStops:
    """Keeps the session's set of passed breakpoints current. GDB sends no event when it resumes
    after such a breakpoint, but it sends one for each change of a breakpoint."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._inferior = 0  # number of the inferior that runs and is sampled; 0 if none
        self._reported: Optional[List[int]] = None

    def connect(self) -> None:
        for name in (
            "breakpoint_created",
            "breakpoint_modified",
            "breakpoint_deleted",
            "new_objfile",
        ):
            getattr(gdb.events, name).connect(self._on_change)

    def _on_change(self, _event) -> None:
        if self._inferior:
            self._report()

    def _report(self) -> None:
        try:
            addresses = sorted(_addresses(self._inferior))
            if addresses != self._reported:
                self._session.set_passed_stops(addresses)
                self._reported = addresses
        except (*FAULTS, TallyError):
            pass  # the ticks that the kernel spends on these breakpoints are then counted

    def resumed(self, inferior: int) -> None:
        self._inferior = inferior
        self._report()

    def stopped(self) -> None:
        self._inferior = 0

    def process_replaced(self) -> None:
        """Forgets the addresses, which have another meaning after an exec."""
        self._reported = None
        try:
            self._session.set_passed_stops([])
        except TallyError:
            pass
