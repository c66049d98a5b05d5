"""`set profile …` and `show profile …`: the session's settings as GDB parameters."""

from __future__ import annotations

import gdb

from .console import printable
from .session import Session, TallyError


class _Setting(gdb.Parameter):
    def __init__(
        self, session: Session, name: str, values: str, fallback: str, summary: str
    ) -> None:
        self._session = session
        self._name = name
        self.set_doc = f"Set {summary} ({values.replace('|', ', ')}; default {fallback})."
        self.show_doc = f"Show {summary}."
        self.__doc__ = "The value that `profile start` uses if its own option is not given."
        choices = values.split("|")
        if len(choices) > 1:
            super().__init__(f"profile {name}", gdb.COMMAND_DATA, gdb.PARAM_ENUM, choices)
        else:
            super().__init__(f"profile {name}", gdb.COMMAND_DATA, gdb.PARAM_STRING_NOESCAPE)
        self.refresh()

    def refresh(self) -> None:
        self.value = self._session.setting(self._name)

    def get_set_string(self) -> str:
        try:
            self._session.set(self._name, self.value)
        except TallyError as error:
            self.refresh()
            raise gdb.GdbError(printable(str(error)))
        return ""

    def get_show_string(self, value: str) -> str:
        return f"profile {self._name} is {self._session.setting(self._name)}."


class _Prefix(gdb.Command):
    def __init__(self, word: str) -> None:
        self._word = word
        self.__doc__ = f"{word.capitalize()} the defaults of the options of `profile start`."
        super().__init__(f"{word} profile", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument: str, from_tty: bool) -> None:
        if self._word == "show" and not argument.strip():
            for name in _names:
                gdb.execute(f"show profile {name}", from_tty)
        else:
            raise gdb.GdbError(f"{self._word} profile: expected one of {', '.join(_names)}")


_names: list[str] = []


def register(session: Session) -> list[_Setting]:
    _Prefix("set")
    _Prefix("show")
    table = session.settings()
    out = []
    for row in zip(table["name"], table["values"], table["fallback"], table["summary"]):
        name, values, fallback, summary = (str(cell) for cell in row)
        _names.append(name)
        out.append(_Setting(session, name, values, fallback, summary))
    return out
