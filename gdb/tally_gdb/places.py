"""From what the session knows of code to what GDB shows of it."""

from typing import Sequence

import gdb

from .console import FAULTS


def set_breakpoint(words: Sequence[str]) -> str:
    """GDB tells the user about it."""
    file, place = words
    if file:
        gdb.Breakpoint(source=file, line=place)
    else:
        gdb.Breakpoint(f"*{place}")
    return ""


def list_source(words: Sequence[str]) -> str:
    file, place = words
    gdb.execute(f'list "{file}":{place}')
    return ""


def disassembly_flavor() -> str:
    """Of x86; a GDB that is for other machines only has no such setting."""
    try:
        return str(gdb.parameter("disassembly-flavor"))
    except FAULTS:
        return "att"


def instructions(ranges: Sequence[int]) -> str:
    """"0xADDRESS\\ttext" a line, of ranges that are pairs of addresses."""
    # Of a thread's newest frame: that of another architecture would be another inferior's.
    architecture = gdb.newest_frame().architecture()
    lines = []
    for low, high in zip(ranges[::2], ranges[1::2]):
        for each in architecture.disassemble(low, high - 1):
            text = " ".join(each["asm"].split())
            lines.append(f"{each['addr']:#x}\t{text}")
    return "\n".join(lines)
