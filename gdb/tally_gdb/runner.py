"""Runs a `profile` command, for the command line, for MI and for scripts."""

import json
from typing import Dict, Iterable, Sequence

import gdb

from .inferior import Watcher
from .source_view import disassembly_flavor
from .session import Session, TallyError
from .styles import styles
from .variables import Variables


TOO_DEEP = "the tree is too deep for Python: use --limit to leave out light branches"


def quoted(words: Iterable[object]) -> str:
    """Returns one line, quoted so that the session splits it into the same words."""
    return " ".join("'" + str(word).replace("'", "'\\''") + "'" for word in words)


class Runner:
    def __init__(
        self, session: Session, watcher: Watcher, parameters: Sequence, variables: Variables
    ) -> None:
        self.session = session
        self._watcher = watcher
        self._parameters = parameters
        self._variables = variables

    def run(self, line: str, to_console: bool, group: str = "profile") -> str:
        """Runs `line`, the words after the name of the group, and returns the text to print.
        `to_console` is False if a script takes the text. Raises TallyError."""
        performer = self._watcher.performer(shows_progress=to_console)
        try:
            self._watcher.sync()
            self.session.set_display(
                gdb.parameter("width") or 0, disassembly_flavor(), styles(to_console)
            )
            text = self.session.command(line, performer, group)
            self._watcher.report_running()
        finally:
            performer.end()
            self._variables.refresh()
        for parameter in self._parameters:
            parameter.refresh()
        return text

    def report(self, by: str, sort: str) -> Dict:
        """Returns Session.report() of what the last command has shown."""
        return self.session.report(self._watcher.performer(shows_progress=False), by, sort)

    def run_json(self, line: str, group: str = "profile") -> Dict:
        """Runs a command that has the option --json, and returns the parsed JSON."""
        text = self.run(f"{line} --json", to_console=False, group=group)
        try:
            return json.loads(text)
        except RecursionError:
            raise TallyError(TOO_DEEP) from None
