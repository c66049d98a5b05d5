"""Sets $_profile_samples and $_profile_lost. GDB's Python cannot define a variable whose value is
computed on access, so they are set at each stop, after each command, and before each prompt."""

from typing import Dict

import gdb

from .console import FAULTS
from .session import Session, TallyError

_NAMES = {"_profile_samples": "samples", "_profile_lost": "lost"}


class Variables:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._set: Dict[str, int] = {}

    def connect(self) -> None:
        for event in (gdb.events.stop, gdb.events.exited, gdb.events.before_prompt):
            event.connect(self.refresh)
        self.refresh()

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
