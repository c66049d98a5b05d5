# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Writes the manual page tally-meson(1) to standard output: `python3 manual.py TEMPLATE VERSION`.

The template is written in man(7). What stands in it between two at signs is replaced by what the
help of `tally-meson` says. This runs while Tally is built, and is not installed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import typing as T

sys.dont_write_bytecode = True  # the sources may be read-only
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tally_meson import arguments, command  # noqa: E402  (sys.path is set above)

# As in lib/src/support/roff_text.h, which gives the reasons.
_ESCAPES = {
    "\\": r"\(rs",
    "-": r"\-",
    "'": r"\(aq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    '"': r"\(dq",
    "\u2026": r"\&...",
}


def roff(text: str) -> str:
    """Returns the source of lines that show the text as it is, in ASCII."""
    out = "".join(
        _ESCAPES.get(character)
        or (character if ord(character) < 128 else rf"\[u{ord(character):04X}]")
        for character in text
    )
    return re.sub(r"^\.", r"\\&.", out, flags=re.MULTILINE)


def bold(text: str) -> str:
    return rf"\fB{roff(text)}\fR"


def prose(text: str) -> str:
    """What stands between backticks becomes bold."""
    pieces = " ".join(text.split()).split("`")
    return "".join(bold(piece) if at % 2 else roff(piece) for at, piece in enumerate(pieces))


def syntax(text: str) -> str:
    """Capitals stand for what the user chooses, small letters are typed as they are."""
    return "".join(
        rf"\fI{roff(name)}\fR" if name else bold(typed) if typed else roff(other)
        for name, typed, other in re.findall(r"([A-Z_]+)|([a-z-]+)|(.)", text)
    )


def option(action: argparse.Action) -> str:
    values = str(action.metavar or "")
    if action.nargs == "?":
        values = f"[={values}]"
    elif values:
        values = " " + values
    term = ", ".join(bold(name) for name in action.option_strings) + syntax(values)
    return f".TP\n{term}\n{prose(action.help or '')}\n"


def sections() -> T.Dict[str, str]:
    out = {
        "synopsis": "\n.PP\n".join(syntax(f"tally-meson {form}") for form in command.SYNOPSIS),
        "example": roff(command.EXAMPLE),
        "statuses": "".join(
            f".TP\n.B {status}\n{prose(meaning)}\n"
            for status, meaning in command.EXIT_STATUS.items()
        ),
    }
    for name, summary in command.COMMANDS.items():
        options = [action for action in arguments.parser_of(name)._actions if action.dest != "help"]
        out[name] = f".SS tally\\-meson {name}\n{prose(summary[0].upper() + summary[1:])}.\n"
        out[f"{name}-options"] = "".join(map(option, options))
        out[f"{name}-names"] = ",\n".join(bold(action.option_strings[0]) for action in options)
    return out


def main() -> None:
    template, version = sys.argv[1:]
    values = {"version": roff(version), **sections()}

    def replaced(mark: T.Match[str]) -> str:
        value = values[mark[1]]
        # A section stands in a line of its own, and ends with the end of a line.
        return value if value.endswith("\n") else value + mark[2]

    with open(template, encoding="utf-8") as file:
        sys.stdout.write(re.sub(r"@([\w-]+)@(\n?)", replaced, file.read()))


if __name__ == "__main__":
    main()
