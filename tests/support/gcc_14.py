"""Rewrites notes and counters of GCC 12 as those of GCC 14: it changes the version; the layout is
the same. On request it also adds conditions: each function of three blocks or more gets one
condition of two terms, on its block 2."""
from __future__ import annotations

import struct
from typing import Iterator

VERSION = b"*14B"  # "B41*", little-endian
FUNCTION, BLOCKS, CONDITIONS = 0x01000000, 0x01410000, 0x01470000
ARC_COUNTERS, CONDITION_COUNTERS = 0x01A10000, 0x01B10000


def _word(data: bytes, at: int) -> int:
    return struct.unpack_from("<I", data, at)[0]


def _records(data: bytes, at: int) -> Iterator[tuple[int, bytes, bytes]]:
    """Yields tag, payload and the whole record; at the end tag 0 with the remaining bytes."""
    while at + 8 <= len(data) and _word(data, at) != 0:
        length = struct.unpack_from("<i", data, at + 4)[0]
        end = at + 8 + max(length, 0)
        yield _word(data, at), data[at + 8 : end], data[at:end]
        at = end
    yield 0, b"", data[at:]


def notes_as_gcc_14(notes: bytes, conditions: bool = False) -> tuple[bytes, set[int]]:
    """Returns the notes and the idents of the functions that got a condition."""
    assert notes[4:8] == b"*22B", notes[4:8]
    begin = 16 + 4 + _word(notes, 16) + 4  # the working directory, and a flag
    out = notes[:4] + VERSION + notes[8:begin]
    with_conditions = set()
    ident = 0
    for tag, payload, record in _records(notes, begin):
        out += record
        if tag == FUNCTION:
            ident = _word(payload, 0)
        elif tag == BLOCKS and conditions and _word(payload, 0) >= 3:
            with_conditions.add(ident)
            out += struct.pack("<IIII", CONDITIONS, 8, 2, 2)
    return out, with_conditions


def data_as_gcc_14(data: bytes, with_conditions: set[int], values: tuple[int, int]) -> bytes:
    """Returns the counters. `values` holds for every condition the masks of the terms that decided
    it: when it was true, and when it was false."""
    assert data[4:8] == b"*22B", data[4:8]
    out = data[:4] + VERSION + data[8:16]
    ident = None
    for tag, payload, record in _records(data, 16):
        out += record
        if tag == FUNCTION:
            ident = _word(payload, 0) if payload else None
        elif tag == ARC_COUNTERS and ident in with_conditions:
            out += struct.pack("<IIQQ", CONDITION_COUNTERS, 16, *values)
    return out
