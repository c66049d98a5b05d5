"""Ends sampling after the running time that `profile start --for` names."""

import threading
from typing import Callable, Optional

from .interrupter import start_quietly
from .posted import post
from .session import Session

_SHORTEST = 0.01  # seconds until the next attempt, if the last one came too early
_LONGEST = 3600.0  # Python cannot wait for a century


class Limit:
    """A timer that runs while the sampled process does."""

    def __init__(self, session: Session, reached: Callable[[], None]) -> None:
        self._session = session
        self._reached = reached  # GDB's thread calls it when the time may be over
        self._timer: Optional[threading.Timer] = None

    def resumed(self) -> None:
        """Starts the timer again, if sampling has a limit."""
        self.stopped()
        left = self._session.limit_seconds()
        if left is not None:
            self._timer = threading.Timer(min(max(left, _SHORTEST), _LONGEST), post, [self._due])
            self._timer.daemon = True
            start_quietly(self._timer)

    def stopped(self) -> None:
        """Ends the timer. Its thread does not exist afterwards."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            timer.join()

    def _due(self) -> None:
        self._reached()
        self.resumed()
