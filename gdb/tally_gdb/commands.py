"""`profile` and its sub-commands; names, help and completion come from the library."""

import re
import sys
from typing import List, Optional, Union

import gdb

from . import symbols
from .console import FAULTS, printable
from .runner import Runner
from .session import Session, TallyError


def _is_typed() -> bool:
    """Whether GDB called our caller; else a script did by gdb.execute(), and may take the text."""
    return sys._getframe(1).f_back is None


# A quote that is still open begins it, or it has no blanks.
_LAST_WORD = re.compile(r"""(?:^|\s)(?:(['"])(?P<quoted>((?!\1).)*)|(?P<plain>\S*))$""")


class _Console:
    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def run(self, line: str, to_console: bool) -> None:
        try:
            text = self._runner.run(line, to_console)
        except TallyError as error:
            raise gdb.GdbError(printable(str(error)))
        if text:
            gdb.write(printable(text))

    def complete(self, line: str, text: str, word: Optional[str]) -> List[str]:
        """GDB replaces `word`, which begins later than the last word of `text` where a '-', '/' or
        ':' stands. None: it only asks how words end."""
        last = _LAST_WORD.search(text)
        if word is None or last is None:
            return []
        cut = len(last["quoted"] or last["plain"] or "") - len(word)
        session = self._runner.session
        try:
            found = session.complete(line)
            if prefix := session.symbol_to_complete(line):
                found = session.complete_symbol(line, *symbols.like(prefix))
            return [printable(each[max(cut, 0):]) for each in found]
        except (*FAULTS, TallyError):
            return []


class _Prefix(gdb.Command):
    def __init__(self, console: _Console, session: Session) -> None:
        self._console = console
        self._help = printable(session.help())
        self.__doc__ = self._help.partition("\n\n")[0]  # GDB lists the commands by itself
        super().__init__("profile", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument: str, from_tty: bool) -> None:
        if argument.strip():
            self._console.run(argument, _is_typed())
        else:
            gdb.write(self._help)


class _SubCommand(gdb.Command):
    def __init__(self, console: _Console, name: str, usage: str, text: str) -> None:
        self.__doc__ = printable(text)
        self._takes_places = "LOCATION" in usage
        self._console = console
        self._name = name
        super().__init__(f"profile {name}", gdb.COMMAND_DATA)

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        self._console.run(f"{self._name} {argument}", _is_typed())

    def complete(self, text: str, word: Optional[str]) -> Union[int, List[str]]:
        if self._takes_places:
            return gdb.COMPLETE_LOCATION
        return self._console.complete(f"{self._name} {text}", text, word)


def register(runner: Runner) -> None:
    console, session = _Console(runner), runner.session
    _Prefix(console, session)
    table = session.commands()
    for name, usage, text in zip(table["name"], table["usage"], table["help"]):
        _SubCommand(console, str(name), str(usage), str(text))
