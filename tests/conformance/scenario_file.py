"""Reads *.scenario files, and compares debuggers' output with them by conformance_test.py's
rules."""
from __future__ import annotations

import difflib
import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Sequence

ANY = "…"
ANY_ORDER = "~ "
_WILD = re.compile(rf"({ANY}|\bN\b)")
_NUMBER = r"[+-]?(?:0x[0-9a-f]+|\d+(?:\.\d+)?|N)"
# The directories of an absolute path or of one that begins with a dot.
_FOLDERS = re.compile(r"""(?<![^\s'"(=,:])\.{0,2}/(?:[^\s/'"]+/)*(?=[^\s/'"])""")
# The beginnings of Tally's messages among the lines of the debugger and the program.
_NEWS = re.compile(r"Sampling |profile: |Nothing was sampled|The next run ")
# A line that the program prints. It comes at any time once the program runs without the debugger.
_PROGRAM = re.compile(r"cpu_seconds \d")
# LLDB's lines about an event that it reports late.
_EVENT = re.compile(r"Process \d+ (?:detached|exited|launched|resuming|stopped)")
_USER_ONLY = re.compile(
    r"^(?:tally: user code only: .*|\(user code only: .*\))$\n?"
    r"| in user code only| \(user code only: .*\)$",
    re.MULTILINE,
)


# On a busy machine, some samples are read too late, and the debugger's stops take long.
_BUSY = re.compile(
    r"^\((?:\d+ (?:samples? (?:was|were) lost"
    r"|rounds? stands? for \d+ ticks .*|of \d+ rounds stopped the threads late.*)"
    r"|up to .* of CPU time at the beginning are not sampled: .*)\)$\n?",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Step:
    command: str
    expected: tuple[str, ...]

    @property
    def is_profile(self) -> bool:
        return self.command.split()[0] in ("profile", "coverage")


@dataclass(frozen=True)
class Scenario:
    name: str
    head: dict[str, list[str]]  # the words behind program, under, attached, core and needs
    steps: tuple[Step, ...]


def read_scenario(path: Path) -> Scenario:
    head: dict[str, list[str]] = {}
    commands: list[tuple[str, list[str]]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("> "):
            commands.append((line[2:], []))
        elif not line.strip() or (line.startswith("#") and not commands):
            continue
        elif commands:
            commands[-1][1].append(" ".join(line.split()))
        elif line.split()[0] in ("program", "under", "attached", "core", "needs"):
            word, *rest = line.split()
            head[word] = rest
        else:
            raise ValueError(f"{path.name}:{number}: {line!r} is invalid before the commands")
    return Scenario(
        path.name, head, tuple(Step(command, tuple(lines)) for command, lines in commands)
    )


def without_remarks_on_user_code(printed: str) -> str:
    """Removes Tally's remarks that perf may sample user code only."""
    return _USER_ONLY.sub("", printed)


def without_remarks_on_a_busy_machine(printed: str) -> str:
    """Removes the remarks of a table that samples were lost, or a beginning was missed, or rounds of
    stops were slow."""
    return _BUSY.sub("", printed)


def plain_lines(printed: str) -> list[str]:
    """Returns the lines of the output in the form in which a scenario has them."""
    lines = [
        " ".join(_FOLDERS.sub("", line.removeprefix("error: ")).split())
        for line in printed.splitlines()
    ]
    return [line for line in lines if line]


def is_news(line: str) -> bool:
    """Returns whether a line that is not printed by a `profile` command is one of Tally's."""
    return _NEWS.match(line) is not None


def tallys_lines(step: Step, printed: str) -> list[str]:
    """Returns Tally's lines of the output."""
    return [
        line
        for line in plain_lines(printed)
        if not _EVENT.match(line)
        and not _PROGRAM.match(line)
        and (step.is_profile or is_news(line))
    ]


def _pattern(line: str) -> str:
    if line == ANY:
        return r"(?:.*\n)*"
    pieces = [
        {ANY: ".*", "N": _NUMBER}.get(piece) or re.escape(piece) for piece in _WILD.split(line)
    ]
    return "".join(pieces) + r"\n"


def _any_order(lines: Sequence[str]) -> str:
    """Returns a pattern for as many lines as given, in any order, in which each pattern occurs."""
    patterns = [_pattern(line) for line in lines]
    among = "".join(rf"(?=(?:.*\n){{0,{len(lines) - 1}}}{pattern})" for pattern in patterns)
    return f"{among}(?:{'|'.join(patterns)}){{{len(lines)}}}"


def _slots(expected: Sequence[str]) -> Iterator[list[str]]:
    """Yields groups of lines: consecutive lines that may come in any order form one group, and
    every other line forms a group of its own."""
    for loose, group in itertools.groupby(expected, lambda line: line.startswith(ANY_ORDER)):
        if loose:
            yield list(group)
        else:
            yield from ([line] for line in group)


def matches(expected: Sequence[str], lines: Sequence[str]) -> bool:
    pattern = "".join(
        _any_order([line.removeprefix(ANY_ORDER) for line in slot])
        if slot[0].startswith(ANY_ORDER)
        else _pattern(slot[0])
        for slot in _slots(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def as_said(expected: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Returns `lines`, with each line that matches replaced by the scenario's line, so that a diff
    shows only the others."""
    if matches(expected, lines):
        return list(expected)
    slots = list(_slots(expected))
    seen: list[str] = []
    found: list[str] = []  # lines of the current slot that have matched
    strange: list[str] = []
    here = 0

    def pass_to(there: int) -> None:
        nonlocal found, strange
        missing = [line for slot in slots[here:there] for line in slot if line not in found]
        seen.extend(line for line in slots[here] if line in found)
        seen.extend([ANY] if set(missing) == {ANY} else strange)
        found, strange = [], []

    for line in lines:
        for which in range(here, len(slots)):
            said = next(
                (
                    said
                    for said in slots[which]
                    if said != ANY
                    and matches([said], [line])
                    and not (which == here and said in found)
                ),
                None,
            )
            if said:
                if which != here:
                    pass_to(which)
                here = which
                found.append(said)
                break
        else:
            strange.append(line)
    if slots:
        pass_to(len(slots))
    return seen if seen != list(expected) else list(lines)


def difference(scenario: Scenario, printed: Sequence[str], debugger: str, late_news: bool) -> str:
    """Returns a diff from the scenario to what each step printed; "" if they match.

    With `late_news`, Tally's messages about a command that is not Tally's may come first in the
    output of the next command that is.
    """
    said: list[str] = []
    seen: list[str] = []
    late: tuple[str, ...] = ()
    for step, text in zip(scenario.steps, printed, strict=True):
        lines = tallys_lines(step, text)
        expected = late + step.expected
        late = ()
        if late_news and not step.is_profile and not lines:
            late, expected = expected, ()
        said += [f"> {step.command}", *expected]
        seen += [f"> {step.command}", *as_said(expected, lines)]
    said += late  # no later command could have printed it
    return "\n".join(difflib.unified_diff(said, seen, scenario.name, debugger, n=100, lineterm=""))
