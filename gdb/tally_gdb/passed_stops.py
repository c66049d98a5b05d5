"""The user's breakpoints that GDB may pass by itself, told to the session."""

from typing import List, Optional

import gdb

from .console import FAULTS
from .session import Session, TallyError


def _may_be_passed(breakpoint: gdb.Breakpoint) -> bool:
    return breakpoint.enabled and bool(
        breakpoint.condition or breakpoint.ignore_count or breakpoint.thread is not None
        or breakpoint.commands or getattr(breakpoint, "stop", None))


def _addresses() -> List[int]:
    """Before GDB 13 a breakpoint does not tell its locations."""
    return sorted(location.address for breakpoint in gdb.breakpoints() or ()
                  if _may_be_passed(breakpoint)
                  for location in getattr(breakpoint, "locations", None) or ()
                  if location.enabled and location.address)


class PassedStops:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._is_stale = True
        self._told: Optional[List[int]] = None

    def connect(self) -> None:
        for name in ("breakpoint_created", "breakpoint_modified", "breakpoint_deleted",
                     "new_objfile"):
            getattr(gdb.events, name).connect(self._on_change)

    def _on_change(self, _event) -> None:
        self._is_stale = True

    def resumed(self) -> None:
        """At each resume of the sampled process, a user's or not; cheap where nothing changed."""
        if not self._is_stale:
            return
        self._is_stale = False
        try:
            addresses = _addresses()
            if addresses != self._told:
                self._session.set_passed_stops(addresses)
                self._told = addresses
        except (*FAULTS, TallyError):
            pass

    def process_replaced(self) -> None:
        """The session has forgotten the addresses, or reads the code of another process there."""
        self._is_stale = True
        self._told = None
