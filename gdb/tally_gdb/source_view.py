"""Sets breakpoints, lists source and disassembles code at addresses that the session names."""

import signal
from typing import List, Sequence, Tuple

import gdb

from .console import FAULTS

_AT_ONCE = 16  # instructions, which a slow target needs some tenths of a second for


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
        while low < high:
            some = _disassembled(architecture, low, high)
            lines += [(each["addr"], " ".join(each["asm"].split())) for each in some]
            low = some[-1]["addr"] + some[-1]["length"]
    return lines


def _disassembled(architecture: gdb.Architecture, low: int, high: int) -> List[dict]:
    """Returns the next instructions. GDB 13 aborts if a Ctrl-C comes while it disassembles. So Ctrl-C
    waits until some are disassembled, and is looked for by a read of memory."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        gdb.selected_inferior().read_memory(low, 1)
        return architecture.disassemble(low, high - 1, _AT_ONCE)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
