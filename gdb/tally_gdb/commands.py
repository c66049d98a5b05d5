"""`profile`, `coverage` and their subcommands. The library supplies their names, help and completions."""

from __future__ import annotations

import re
import sys

import gdb

from .console import FAULTS, printable
from .front import Front
from .session import GROUPS, Session, TallyError


def _is_typed() -> bool:
    """Returns whether GDB itself called the caller of this function. Otherwise a script called it
    with gdb.execute(), and may capture the output."""
    return sys._getframe(1).f_back is None


# The last word of a line. It either begins with a quote that is still open, or has no blanks.
_LAST_WORD = re.compile(r"""(?:^|\s)(?:(['"])(?P<quoted>((?!\1).)*)|(?P<plain>\S*))$""")


class _Console:
    def __init__(self, front: Front, group: str) -> None:
        self._front = front
        self.group = group

    def run(self, line: str, to_console: bool) -> None:
        try:
            text = self._front.runner().run(line, to_console, self.group)
        except TallyError as error:
            raise gdb.GdbError(printable(str(error)))
        if text:
            gdb.write(printable(text))

    def complete(self, line: str, text: str, word: str | None) -> list[str]:
        """Returns what may replace `word`, the last word of `text` as GDB separates words. GDB also
        separates them at '-', '/' and ':', so `word` may begin later than the last word that Tally
        sees; the completions then lose the same prefix. `word` is None when GDB only asks where
        words end."""
        last = _LAST_WORD.search(text)
        if word is None or last is None:
            return []
        cut = len(last["quoted"] or last["plain"] or "") - len(word)
        session = self._front.session
        try:
            found = session.complete(line, self.group)
            prefix = session.symbol_to_complete(line) if self.group == "profile" else ""
            if prefix:
                from . import symbols

                found = session.complete_symbol(line, *symbols.like(prefix))
            return [printable(each[max(cut, 0) :]) for each in found]
        except (*FAULTS, TallyError):
            return []


class _Prefix(gdb.Command):
    def __init__(self, console: _Console, session: Session) -> None:
        self._console = console
        self._help = printable(session.help(console.group))
        self.__doc__ = self._help.partition("\n\n")[0]  # GDB appends a list of the commands
        super().__init__(console.group, gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument: str, from_tty: bool) -> None:
        if argument.strip():
            self._console.run(argument, _is_typed())
        else:
            gdb.write(self._help)


class _SubCommand(gdb.Command):
    def __init__(self, console: _Console, name: str, usage: str, text: str) -> None:
        self.__doc__ = printable(text)
        self._takes_locations = "LOCATION" in usage
        self._console = console
        self._name = name
        super().__init__(f"{console.group} {name}", gdb.COMMAND_DATA)

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        self._console.run(f"{self._name} {argument}", _is_typed())

    def complete(self, text: str, word: str | None) -> int | list[str]:
        if self._takes_locations:
            return gdb.COMPLETE_LOCATION
        return self._console.complete(f"{self._name} {text}", text, word)


def register(front: Front) -> None:
    session = front.session
    for group in GROUPS:
        console = _Console(front, group)
        _Prefix(console, session)
        table = session.commands(group)
        for name, usage, text in zip(table["name"], table["usage"], table["help"]):
            _SubCommand(console, str(name), str(usage), str(text))
