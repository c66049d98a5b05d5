"""`profile` and its sub-commands; names, help and completion come from the library."""

from typing import List

import gdb

from .console import printable
from .inferior import Watcher
from .session import Session, TallyError


class _Runner:
    def __init__(self, session: Session, watcher: Watcher, parameters) -> None:
        self._session = session
        self._watcher = watcher
        self._parameters = parameters

    def run(self, line: str) -> None:
        performer = self._watcher.performer()
        try:
            self._watcher.sync()
            self._session.set_width(gdb.parameter("width") or 0)
            text = self._session.command(line, performer)
            self._watcher.tell_running()
        except TallyError as error:
            raise gdb.GdbError(printable(str(error)))
        finally:
            performer.end()
        for parameter in self._parameters:
            parameter.refresh()
        if text:
            gdb.write(printable(text))

    def complete(self, line: str, text: str, word: str) -> List[str]:
        """GDB replaces `word`, which begins later than the last blank where a '-' or '/' stands."""
        last = "" if text[-1:].isspace() or not text else text.split()[-1]
        cut = len(last) - len(word)
        try:
            return [printable(found[cut:]) for found in self._session.complete(line)]
        except TallyError:
            return []


class _Prefix(gdb.Command):
    def __init__(self, runner: _Runner, session: Session) -> None:
        self._runner = runner
        self._help = printable(session.help())
        self.__doc__ = self._help.partition("\n\n")[0]  # GDB lists the commands by itself
        super().__init__("profile", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument: str, from_tty: bool) -> None:
        if argument.strip():
            self._runner.run(argument)
        else:
            gdb.write(self._help)


class _SubCommand(gdb.Command):
    def __init__(self, runner: _Runner, name: str, text: str) -> None:
        self.__doc__ = printable(text)
        self._runner = runner
        self._name = name
        super().__init__(f"profile {name}", gdb.COMMAND_DATA)

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        self._runner.run(f"{self._name} {argument}")

    def complete(self, text: str, word: str) -> List[str]:
        return self._runner.complete(f"{self._name} {text}", text, word)


def register(session: Session, watcher: Watcher, parameters) -> None:
    runner = _Runner(session, watcher, parameters)
    _Prefix(runner, session)
    table = session.commands()
    for name, text in zip(table["name"], table["help"]):
        _SubCommand(runner, str(name), str(text))
