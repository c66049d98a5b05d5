"""Reads the transcripts of documents, and compares them with what their commands print.

A transcript is a fenced block whose first line begins with a prompt: `$ `, `(gdb) ` or `(lldb) `.
Each line that begins with a prompt is a command, and the lines after it are what the command prints.
`$ gdb …`, `$ gdb-multiarch …` and `$ lldb …` begin a session, which later blocks continue until the next one begins.

Of a command of Tally or of the shell, the document shows everything that it prints. Of another
command of a debugger it shows Tally's lines and any other lines, in their order. The lines are
compared by the rules of *.scenario files (../conformance/conformance_test.py): runs of blanks are
one blank, of an absolute path only the last name counts, and `…` matches any text; alone on a line
it matches any number of lines. In addition, numbers that depend on chance or on the machine match
any number: those in the columns of a table, addresses, process ids, times, and counts of ticks,
samples, rows that are not shown and Callgrind's `Ir`. Rows of a flat table whose shares are less
than five points apart may come in any order. All else is compared literally, source lines and rates
among it.
"""
from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from scenario_file import (
    ANY,
    ANY_ORDER,
    as_said,
    is_news,
    matches,
    plain_lines,
    without_remarks_on_a_busy_machine,
    without_remarks_on_user_code,
)

_BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"(\$|\(gdb\)|\(lldb\)) (.*)")
_CHANCE = (
    (re.compile(r"\b0x[0-9a-f]+"), "N"),
    (re.compile(r"\b([Pp]rocess) \d+"), r"\1 N"),
    (re.compile(r"\b\d+ of \d+ ticks \(\d+\.\d+%\)"), "N of N ticks (N%)"),
    (re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?= (?:ticks|samples|waits|Ir|page-faults)\b)"), "N"),
    # A busy machine takes seconds where an idle one takes milliseconds.
    # A quick processor runs to the next stop in "under 1 ms".
    (re.compile(r"(?<=^\[)\d+(?:\.\d+)? (?:µs|ms|s)(?=, )"), "…s"),
    (re.compile(r"(?<![\w.])\d+(?:\.\d+)? (?:µs|ms|s)\b"), "N …s"),
    (re.compile(r"(?<= before, )\d+(?= now;)"), "N"),
    (re.compile(r"^\(\d+(?= more;)"), "(N"),
    (re.compile(r"(?<=^\(lighter branches: )\d+(?=;)"), "N"),
    (re.compile(r"(?<=^cpu_seconds )\d+\.\d+"), "N"),
    (re.compile(r'(?<=\[")\d+(?="\])'), "N"),  # a table's counts in GDB/MI
)
# A measured number may happen to be 1, with the singular.
_ONE = re.compile(r"(?<![\w.])1 (tick|sample|wait)\b")
# The columns of tables that hold measured numbers.
_MEASURED = set("self% self incl% incl before% after% change before after address".split())
_CELL = re.compile(r"(~?)(?:[+-]?\d+(?:\.\d+)?|0x[0-9a-f]+)(%?)")
_CLOSE = 5.0  # points of a percentage
# LLDB's line about a signal or an end, which it may print later than the command that causes it.
# Whether a flame graph has such frames depends on chance.
_NARROW = re.compile(r"^Not in this format: \d+ frames? too narrow .*\n", re.MULTILINE)
_EVENT = re.compile(r"Process \d+ (?:exited|resuming|stopped)")

_DEBUGGERS = {"gdb": "gdb", "gdb-multiarch": "gdb", "lldb": "lldb"}  # programs, their prompts


@dataclass(frozen=True)
class Command:
    line: int  # its number in the document
    prompt: str  # "$", "(gdb)" or "(lldb)"
    text: str
    shown: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Returns whether the document must show all that the command prints."""
        return self.prompt == "$" or self.text.split()[0] in (
            "interpreter-exec",
            "print",
            "profile",
        )


@dataclass(frozen=True)
class Session:
    """A command of the shell; or one that starts a debugger, with the commands typed there."""

    start: Command
    debugger: str  # "gdb", "lldb" or ""
    started: str  # the name of its program
    wrapper: tuple[str, ...]  # the words before the debugger
    program: str | None
    args: tuple[str, ...]
    commands: tuple[Command, ...]


def read_commands(text: str) -> list[Command]:
    commands: list[Command] = []
    for block in _BLOCK.finditer(text):
        lines = block[1].splitlines()
        if not lines or not _PROMPT.match(lines[0]):
            continue
        first = text.count("\n", 0, block.start(1)) + 1
        for number, line in enumerate(lines, first):
            if prompt := _PROMPT.match(line):
                commands.append(Command(number, prompt[1], prompt[2], ()))
            else:
                last = commands.pop()
                commands.append(Command(last.line, last.prompt, last.text, (*last.shown, line)))
    return commands


def _started(command: Command) -> Session:
    words = command.text.split() if command.prompt == "$" else []
    started = next((word for word in words[:3] if word in _DEBUGGERS), "")
    if not started:
        return Session(command, "", "", (), None, (), ())
    where = words.index(started)
    program = [word for word in words[where + 1 :] if word not in ("-q", "--args", "--")]
    return Session(
        command,
        _DEBUGGERS[started],
        started,
        tuple(words[:where]),
        program[0] if program else None,
        tuple(program[1:]),
        (),
    )


def sessions(commands: list[Command]) -> list[Session]:
    found: list[Session] = []
    for command in commands:
        if command.prompt == "$":
            found.append(_started(command))
            continue
        debugger = command.prompt.strip("()")
        which = max(
            (number for number, session in enumerate(found) if session.debugger), default=None
        )
        if which is None or found[which].debugger != debugger:
            raise ValueError(f"line {command.line}: no session of {debugger} begins before it")
        last = found[which]
        found[which] = Session(
            last.start,
            last.debugger,
            last.started,
            last.wrapper,
            last.program,
            last.args,
            (*last.commands, command),
        )
    return found


def _share(row: list[str]) -> float | None:
    """Returns the percentage of a row of a flat table."""
    if len(row) > 1 and re.fullmatch(r"\d+\.\d+%", row[1]):
        return float(row[1][:-1])
    return None


def _row(cells: list[str], header: list[str], loose: bool) -> str:
    """Returns a row of a table with N for each measured number."""
    for number, name in enumerate(header[: len(cells)]):
        if name == "#":
            if loose:
                cells[number] = "N"
        elif name in _MEASURED and (cell := _CELL.fullmatch(cells[number])):
            cells[number] = f"{cell[1]}N{cell[2]}"
        else:
            break
    return (ANY_ORDER if loose else "") + " ".join(cells)


def expected_lines(shown: tuple[str, ...]) -> list[str]:
    """Returns lines of a document as a *.scenario file would have them."""
    lines = plain_lines("\n".join(shown))
    shares = [_share(line.split()) for line in lines]
    header: list[str] = []
    expected = []
    for number, line in enumerate(lines):
        words = line.split()
        if len(words) > 1 and (words[0] == "#" or words[0] in _MEASURED) and words[1] in _MEASURED:
            header = words
            expected.append(line)
            continue
        share = shares[number]
        loose = (
            share is not None
            and header[:1] == ["#"]
            and any(
                other is not None and abs(share - other) < _CLOSE
                for other in (
                    *shares[max(number - 1, 0) : number],
                    *shares[number + 1 : number + 2],
                )
            )
        )
        row = _ONE.sub(r"1 \1s", _row(words, header, loose))
        for pattern, to in _CHANCE:
            row = pattern.sub(to, row)
        expected.append(row)
    return expected


def without_remarks(printed: str) -> str:
    """Removes what depends on the kernel, or on how busy the machine is."""
    return without_remarks_on_a_busy_machine(without_remarks_on_user_code(printed))


def difference(command: Command, printed: str) -> str:
    """Returns a diff from what the document shows to what the command printed; "" if they match."""
    expected = expected_lines(command.shown)
    lines = [
        _ONE.sub(r"1 \1s", line) for line in plain_lines(_NARROW.sub("", without_remarks(printed)))
    ]
    if command.is_complete:
        if command.prompt == "(lldb)":
            lines = [line for line in lines if not _EVENT.match(line)]
        if matches(expected, lines):
            return ""
    else:
        among = [ANY]
        for line in expected:
            among += [line, ANY]
        news = [line for line in expected if is_news(line)]
        if matches(among, lines) and matches(news, [line for line in lines if is_news(line)]):
            return ""
    said = [f"{command.prompt} {command.text}", *expected]
    seen = [f"{command.prompt} {command.text}", *as_said(expected, lines)]
    return "\n".join(difflib.unified_diff(said, seen, "shown", "printed", n=100, lineterm=""))


def documents(root: Path) -> list[Path]:
    """Returns the documents of the repository that contain transcripts."""
    return [path for path in all_documents(root) if read_commands(path.read_text(encoding="utf-8"))]


def all_documents(root: Path) -> list[Path]:
    folders = ("gdb", "lib", "lldb", "meson-module", "tests")
    found = [
        *root.glob("*.md"),
        *(path for name in folders for path in (root / name).rglob("*.md")),
    ]
    return sorted(found)
