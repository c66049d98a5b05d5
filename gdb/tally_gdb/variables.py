"""Sets $_profile_samples, $_profile_lost, $_profile_elapsed and $_profile_cpu. GDB's Python cannot
define a variable whose value is computed on access, so they are set at each stop, after each
command, and before each prompt."""

from __future__ import annotations

from collections.abc import Callable

import gdb

from .console import FAULTS
from .session import Session, TallyError

_NAMES = {"_profile_samples": "samples", "_profile_lost": "lost"}
_TIMES = ("_profile_elapsed", "_profile_cpu")  # of the last run, in seconds; void if unknown


class Variables:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._set: dict[str, float | None] = {}

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
                self._assign(variable, int(status.get(name, 0)))
            run = self._session.last_run() if self._session.is_open else None
            if run is not None:
                for variable, seconds in zip(_TIMES, run):
                    self._assign(variable, seconds)
        except (*FAULTS, TallyError, KeyboardInterrupt):
            pass

    def _assign(self, variable: str, value: float | None) -> None:
        if variable not in self._set or self._set[variable] != value:
            number = gdb.Value(value) if isinstance(value, float) else value
            gdb.set_convenience_variable(variable, number)
            self._set[variable] = value
