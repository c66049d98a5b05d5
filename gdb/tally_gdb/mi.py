"""`-profile-…` and `-coverage-…`: an MI command for each subcommand."""

from __future__ import annotations

import gdb

from .console import printable
from .front import Front
from .session import GROUPS, TallyError


def _result(value):
    """Converts a value to MI's strings, lists and tuples. A bool becomes 1 or 0."""
    if isinstance(value, dict):
        return {name: _result(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_result(each) for each in value]
    return int(value) if isinstance(value, bool) else printable(str(value))


class _Command(gdb.MICommand):
    def __init__(self, front: Front, group: str, name: str, has_json: bool) -> None:
        self._front = front
        self._group = group
        self._name = name
        self._has_json = has_json
        super().__init__(f"-{group}-{name}")

    def invoke(self, argv: list[str]):
        try:
            return _result(self._run([word for word in argv if word != "--json"]))
        except TallyError as error:
            raise gdb.GdbError(printable(str(error)))
        except RecursionError:
            from .runner import TOO_DEEP

            raise gdb.GdbError(TOO_DEEP)

    def _run(self, words: list[str]):
        from .runner import quoted

        runner, session = self._front.runner(), self._front.session
        line = f"{self._name} {quoted(words)}"
        if self._name == "status" and self._group == "profile":
            runner.run(line, to_console=False)
            return session.status()
        if self._has_json:
            return runner.run_json(line, self._group)
        text = runner.run(line, to_console=False, group=self._group)
        if self._name == "config" and len(words) == 1:
            return {"name": words[0], "value": session.setting(words[0], self._group)}
        if self._name == "config" and not words:
            names = session.settings(self._group)["name"]
            return {name: session.setting(str(name), self._group) for name in names}
        return {"message": text.splitlines()} if text else {}


def register(front: Front) -> None:
    for group in GROUPS:
        table = front.session.commands(group)
        for name, usage in zip(table["name"], table["usage"]):
            _Command(front, group, str(name), "[--json]" in str(usage))
