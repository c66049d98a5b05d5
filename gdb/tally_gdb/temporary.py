"""Temporary breakpoints on functions, which the session names by the addresses of their entries."""

from __future__ import annotations

from collections.abc import Sequence

import gdb

from .console import FAULTS

# What GCC and Clang make of a prologue on x86 if there is a frame pointer: `push %rbp` and
# `mov %rsp,%rbp`, after an optional `endbr64` or `endbr32`.
_ENDBR = (b"\xf3\x0f\x1e\xfa", b"\xf3\x0f\x1e\xfb")
_SET_FRAME = (b"\x55\x48\x89\xe5", b"\x55\x48\x8b\xec", b"\x55\x89\xe5", b"\x55\x8b\xec")


def _behind_prologue(entry: int, is_x86: bool) -> int:
    """Returns the address where GDB's own `break` would stop. GDB has no function for it, and takes
    5 ms for each breakpoint that is set by the name of a function."""
    behind = entry
    if is_x86:
        # Without a frame pointer GDB stops at the entry, where the arguments are in registers.
        code = bytes(gdb.selected_inferior().read_memory(entry, 8))
        start = 4 if code.startswith(_ENDBR) else 0
        pushed = next((each for each in _SET_FRAME if code.startswith(each, start)), b"")
        if not pushed:
            return entry
        behind = entry + start + len(pushed)
    line = gdb.find_pc_line(behind if is_x86 else entry)
    block = gdb.block_for_pc(entry)
    while block is not None and block.function is None:
        block = block.superblock
    if line.last is None or block is None or not line.last + 1 < block.end:
        return behind
    return behind if line.pc == behind else line.last + 1


class Temporary:
    """The temporary breakpoints of the processes. GDB cannot resume a later process while a breakpoint
    is at an address that this process does not have, so that they must be deleted with their
    own one."""

    def __init__(self) -> None:
        # By the number of the inferior and the address of the entry.
        self._numbers: dict[tuple[int, int], int] = {}

    def begin(self, entries: Sequence[int]) -> int:
        """Sets breakpoints. Returns the number of those that are set."""
        there = {each.number for each in gdb.breakpoints() or ()}
        self._numbers = {at: number for at, number in self._numbers.items() if number in there}
        inferior = gdb.selected_inferior().num
        is_x86 = gdb.newest_frame().architecture().name().startswith("i386")
        done = 0
        for entry in entries:
            if (inferior, entry) not in self._numbers:
                try:
                    address = _behind_prologue(entry, is_x86)
                    gdb.execute(f"tbreak *{address:#x}", to_string=True)
                except FAULTS:
                    continue
                self._numbers[inferior, entry] = int(gdb.convenience_variable("bpnum"))
            done += 1
        return done

    def process_gone(self, inferior: int) -> None:
        """Deletes those that were not hit, if they belong to the inferior of this number."""
        gone = [at for at in self._numbers if at[0] == inferior]
        if not gone:
            return
        there = {each.number for each in gdb.breakpoints() or ()}
        numbers = [self._numbers.pop(at) for at in gone]
        left = [str(number) for number in numbers if number in there]
        if left:
            try:
                gdb.execute(f"delete {' '.join(left)}", to_string=True)
            except FAULTS:
                pass
