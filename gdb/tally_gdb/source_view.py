"""Sets breakpoints, lists source and disassembles code at addresses that the session names."""

from typing import List, Sequence, Tuple

import gdb

from .console import FAULTS


def set_breakpoint(file: str, at: int) -> None:
    """Sets a breakpoint at (file, line) or ("", address). GDB itself prints a message about it."""
    if file:
        gdb.Breakpoint(source=file, line=str(at))
    else:
        gdb.Breakpoint(f"*{at:#x}")


def list_source(file: str, line: int) -> None:
    gdb.execute(f'list "{file}":{line}')


def disassembly_flavor() -> str:
    """Returns GDB's setting for x86. A GDB without support for x86 lacks the setting; "att" is then
    used."""
    try:
        return str(gdb.parameter("disassembly-flavor"))
    except FAULTS:
        return "att"


def instructions(ranges: Sequence[Tuple[int, int]]) -> List[Tuple[int, str]]:
    """Returns the address and text of each instruction. The selected inferior must be the sampled
    one."""
    # The architecture is that of the newest frame of the selected thread.
    architecture = gdb.newest_frame().architecture()
    lines = []
    for low, high in ranges:
        for each in architecture.disassemble(low, high - 1):
            lines.append((each["addr"], " ".join(each["asm"].split())))
    return lines
