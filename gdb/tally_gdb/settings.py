"""`set profile …`, `show coverage …` and the like: the session's settings as GDB parameters."""

from __future__ import annotations

import gdb

from .console import printable
from .session import GROUPS, Session, TallyError

_SUBJECTS = {
    "profile": "the defaults of the options of `profile start`, and what a stop shows",
    "coverage": "how coverage is read",
}
_MEANINGS = {
    "profile": "The value that `profile start` uses if its own option is not given.",
    "coverage": "The `coverage` commands use this value.",
}
_AT_ONCE = {  # not options of `profile start`
    "stop-times": "The next stop uses the new value.",
    "debuginfod": "The next look-up of names uses the new value.",
}


class _Setting(gdb.Parameter):
    def __init__(
        self, session: Session, group: str, name: str, values: str, fallback: str, summary: str
    ) -> None:
        self._session = session
        self._group = group
        self._name = name
        self.set_doc = f"Set {summary} ({values.replace('|', ', ')}; default {fallback})."
        self.show_doc = f"Show {summary}."
        self.__doc__ = _AT_ONCE.get(name, _MEANINGS[group])
        choices = values.split("|")
        if len(choices) > 1:
            super().__init__(f"{group} {name}", gdb.COMMAND_DATA, gdb.PARAM_ENUM, choices)
        else:
            super().__init__(f"{group} {name}", gdb.COMMAND_DATA, gdb.PARAM_STRING_NOESCAPE)
        self.refresh()

    def refresh(self) -> None:
        self.value = self._session.setting(self._name, self._group)

    def get_set_string(self) -> str:
        try:
            self._session.set(self._name, self.value, self._group)
        except TallyError as error:
            self.refresh()
            raise gdb.GdbError(printable(str(error)))
        if self._group == "profile" and self._name not in _AT_ONCE and self._session.sampled_pid:
            return "The next `profile start` uses the new value; sampling goes on as it began."
        return ""

    def get_show_string(self, value: str) -> str:
        value = self._session.setting(self._name, self._group)
        return f"{self._group} {self._name} is {value}."


class _Prefix(gdb.Command):
    def __init__(self, word: str, group: str, names: list[str]) -> None:
        self._word = word
        self._group = group
        self._names = names
        self.__doc__ = f"{word.capitalize()} {_SUBJECTS[group]}."
        super().__init__(f"{word} {group}", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument: str, from_tty: bool) -> None:
        if self._word == "show" and not argument.strip():
            for name in self._names:
                gdb.execute(f"show {self._group} {name}", from_tty)
        else:
            expected = ", ".join(self._names)
            raise gdb.GdbError(f"{self._word} {self._group}: expected one of {expected}")


def register(session: Session) -> list[_Setting]:
    out = []
    for group in GROUPS:
        table = session.settings(group)
        names = [str(name) for name in table["name"]]
        _Prefix("set", group, names)
        _Prefix("show", group, names)
        for row in zip(table["name"], table["values"], table["fallback"], table["summary"]):
            name, values, fallback, summary = (str(cell) for cell in row)
            out.append(_Setting(session, group, name, values, fallback, summary))
    return out
