"""Sets breakpoints, lists source and disassembles code at addresses that the session names."""

from typing import Sequence

import gdb

from .console import FAULTS


def set_breakpoint(words: Sequence[str]) -> str:
    """Sets a breakpoint at (file, line) or ("", address). GDB itself prints a message about it."""
    file, location = words
    if file:
        gdb.Breakpoint(source=file, line=location)
    else:
        gdb.Breakpoint(f"*{location}")
    return ""


def list_source(words: Sequence[str]) -> str:
    file, location = words
    gdb.execute(f'list "{file}":{location}')
    return ""


def disassembly_flavor() -> str:
    """Returns GDB's setting for x86. A GDB without support for x86 lacks the setting; "att" is then
    used."""
    try:
        return str(gdb.parameter("disassembly-flavor"))
    except FAULTS:
        return "att"


def instructions(ranges: Sequence[int]) -> str:
    """Returns a line "0xADDRESS\\ttext" for each instruction. `ranges` holds pairs of addresses,
    low and high, each a half-open range. The selected inferior must be the sampled one."""
    # The architecture is that of the newest frame of the selected thread.
    architecture = gdb.newest_frame().architecture()
    lines = []
    for low, high in zip(ranges[::2], ranges[1::2]):
        for each in architecture.disassemble(low, high - 1):
            text = " ".join(each["asm"].split())
            lines.append(f"{each['addr']:#x}\t{text}")
    return "\n".join(lines)
