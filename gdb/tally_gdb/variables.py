"""Sets $_profile_samples and $_profile_lost. GDB's Python cannot define a variable whose value is
computed on access, so they are set at each stop, after each command, and before each prompt."""

from __future__ import annotations

from collections.abc import Callable

import gdb

from .console import FAULTS
from .session import Session, TallyError

_NAMES = {"_profile_samples": "samples", "_profile_lost": "lost"}


class Variables:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._set: dict[str, int] = {}

    def connect(self) -> dict[str, Callable]:
        """Returns the handlers of events."""
        handlers = {name: self.refresh for name in ("stop", "exited", "before_prompt")}
        for name, handler in handlers.items():
            getattr(gdb.events, name).connect(handler)
        return handlers

    def refresh(self, *_event) -> None:
        """Sets the variables. It never raises, because it runs between the user's commands."""
        try:
            status = self._session.status() if self._session.is_open else {}
            for variable, name in _NAMES.items():
                value = int(status.get(name, 0))
                if self._set.get(variable) != value:
                    gdb.set_convenience_variable(variable, value)
                    self._set[variable] = value
        except (*FAULTS, TallyError, KeyboardInterrupt):
            pass
