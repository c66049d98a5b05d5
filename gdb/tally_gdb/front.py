"""Loads the rest of the front end when it is needed: for the first command or MI command, for a
script, or for the first event about a process.

Its modules take most of the time that loading takes, and most sessions of a GDB that loads Tally by
itself never need them. What is loaded at once registers the commands and the settings, and is
therefore sparing with imports: it does not import `typing`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import gdb

from .session import Session, TallyError
from .variables import Variables

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from .runner import Runner

# Before the first of these events, Watcher does nothing at any event.
_EVENTS = ("cont", "stop", "exited", "inferior_call")


class Front:
    def __init__(self, session: Session, parameters: Sequence) -> None:
        self.session = session
        self._parameters = parameters
        self._variables = Variables(session)
        self._runner: Runner | None = None
        self._waiting: dict[str, Callable] = {}
        self._handlers: dict[str, list[Callable]] = {}  # empty until the rest is loaded

    def connect(self) -> None:
        self._variables.refresh()
        for name in _EVENTS:
            self._waiting[name] = self._waiter(name)
            getattr(gdb.events, name).connect(self._waiting[name])

    def _waiter(self, name: str) -> Callable:
        # GDB does not pass the event that it is delivering to handlers connected meanwhile. A handler
        # of the user may have loaded the rest before, by a command, while the same event is delivered.
        def on_first_event(event) -> None:
            try:
                handlers = self._load()[name]
            except TallyError:  # the next command reports it
                return
            for handler in handlers:
                handler(event)

        return on_first_event

    def runner(self) -> Runner:
        if self._runner is None:
            self._load()
        assert self._runner is not None
        return self._runner

    def _load(self) -> dict[str, list[Callable]]:
        """Loads the rest, once. Returns the handlers of each event in the order of their calls."""
        if self._handlers:
            return self._handlers
        try:
            from .inferior import Watcher
            from .runner import Runner
        except ImportError:
            raise TallyError("Tally's files have changed since GDB started: restart GDB") from None
        for name, waiter in self._waiting.items():
            getattr(gdb.events, name).disconnect(waiter)
        self._waiting = {}
        watcher = Watcher(self.session)
        self._runner = Runner(self.session, watcher, self._parameters, self._variables)
        # The handlers of Watcher update the session that Variables reads.
        for each in (watcher.connect(), self._variables.connect()):
            for name, handler in each.items():
                self._handlers.setdefault(name, []).append(handler)
        return self._handlers
