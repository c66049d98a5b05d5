"""Reads *.scenario, and holds what a debugger printed to one; conformance_test.py tells how."""
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
# An absolute or dotted path, but for its last name.
_FOLDERS = re.compile(r"""(?<![^\s'"(=,:])\.{0,2}/(?:[^\s/'"]+/)*(?=[^\s/'"])""")
# How Tally's own news begin, between the lines of the debugger and the program.
_NEWS = re.compile(r"Sampling |profile: |Nothing was sampled|The next run ")
# LLDB's, of an event that it comes to hear of late.
_EVENT = re.compile(r"Process \d+ (?:detached|exited|launched|resuming|stopped)")


@dataclass(frozen=True)
class Step:
    command: str
    expected: tuple[str, ...]

    @property
    def is_profile(self) -> bool:
        return self.command.split()[0] == "profile"


@dataclass(frozen=True)
class Scenario:
    name: str
    head: dict[str, list[str]]  # program, under, attached, core, needs: their words
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
            raise ValueError(f"{path.name}:{number}: {line!r} stands before the first command")
    return Scenario(path.name, head,
                    tuple(Step(command, tuple(lines)) for command, lines in commands))


def tallys_lines(step: Step, printed: str) -> list[str]:
    """What of that is Tally's, as a scenario writes it."""
    lines = [" ".join(_FOLDERS.sub("", line.removeprefix("error: ")).split())
             for line in printed.splitlines()]
    return [line for line in lines if line and not _EVENT.match(line)
            and (step.is_profile or _NEWS.match(line))]


def _pattern(line: str) -> str:
    if line == ANY:
        return r"(?:.*\n)*"
    pieces = [{ANY: ".*", "N": _NUMBER}.get(piece) or re.escape(piece)
              for piece in _WILD.split(line)]
    return "".join(pieces) + r"\n"


def _any_order(lines: Sequence[str]) -> str:
    """As many lines, and among them each of these."""
    patterns = [_pattern(line) for line in lines]
    among = "".join(rf"(?=(?:.*\n){{0,{len(lines) - 1}}}{pattern})" for pattern in patterns)
    return f"{among}(?:{'|'.join(patterns)}){{{len(lines)}}}"


def _slots(expected: Sequence[str]) -> Iterator[list[str]]:
    """Lines that come in any order stand in one; every other in one of its own."""
    for loose, group in itertools.groupby(expected, lambda line: line.startswith(ANY_ORDER)):
        if loose:
            yield list(group)
        else:
            yield from ([line] for line in group)


def matches(expected: Sequence[str], lines: Sequence[str]) -> bool:
    pattern = "".join(_any_order([line.removeprefix(ANY_ORDER) for line in slot])
                      if slot[0].startswith(ANY_ORDER) else _pattern(slot[0])
                      for slot in _slots(expected))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _as_said(expected: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Those lines, in the words of the scenario as far as they are expected: then a difference
    shows the others."""
    if matches(expected, lines):
        return list(expected)
    slots = list(_slots(expected))
    seen: list[str] = []
    found: list[str] = []  # of the slot that we are at
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
            said = next((said for said in slots[which] if said != ANY and matches([said], [line])
                         and not (which == here and said in found)), None)
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


def difference(scenario: Scenario, printed: Sequence[str], debugger: str,
               late_news: bool) -> str:
    """Of what each step printed to what the scenario says; "" when there is none.

    `late_news`: what follows from a command that is not Tally's may as well be told at the head
    of the next that is.
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
        seen += [f"> {step.command}", *_as_said(expected, lines)]
    said += late  # there was no command that could have told it
    return "\n".join(difflib.unified_diff(said, seen, scenario.name, debugger, n=100, lineterm=""))
