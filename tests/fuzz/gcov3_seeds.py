"""Writes the first inputs of the fuzzer: python3 tests/fuzz/gcov3_seeds.py FOLDER

A function with branches and one with calls, in both forms, each file alone and all three together
(see gcov3_fuzz.cpp), and unusual contents that a file may have.
"""
from __future__ import annotations

import struct
import sys
from pathlib import Path

# A block is a list of (destination, flags).
BRANCHES = [[(1, 5)], [(2, 5), (3, 0)], [(4, 0)], [(4, 5)], [(5, 5)], [(0, 1)]]
CALLS = [[(1, 5)], [(2, 4), (3, 0)], [(4, 3), (1, 0)], [(4, 5)], [(0, 1)]]


MINUS_ZERO = struct.pack("<I", 1 << 31)


def word(value: int) -> bytes:
    return struct.pack("<I", abs(value) | (value < 0) << 31)


def long_word(value: int) -> bytes:
    return struct.pack("<Q", abs(value) | (value < 0) << 63)


def padded(text: bytes, padding: bytes = b"\0") -> bytes:
    return text + b"\0" + padding * (3 - len(text) % 4)


def marked(mark: int, text: bytes) -> bytes:
    return word(mark) + padded(text) + word(mark)


def name(text: bytes, padding: bytes = b"\0") -> bytes:
    return word(-1) + word(len(text)) + padded(text, padding) + word(-1)


def graph(blocks: list[list[tuple[int, int]]]) -> bytes:
    out = word(len(blocks)) + word(sum(map(len, blocks)))
    for arcs in blocks:
        out += word(len(arcs)) + b"".join(word(to) + word(flags) for to, flags in arcs)
    return out + word(-1)


def block(functions: dict[bytes, tuple[int, list[int]]], more: bytes = b"") -> bytes:
    counters = [count for _, own in functions.values() for count in own]
    totals = word(len(counters)) + long_word(sum(counters)) + long_word(max([0, *counters]))
    out = word(-123) + word(len(functions)) + word(40 + len(more)) + totals * 2 + more
    for text, (checksum, own) in functions.items():
        out += name(text) + word(checksum) + word(len(own)) + b"".join(map(long_word, own))
    return out


def together(bbg: bytes, bb: bytes, da: bytes) -> bytes:
    return struct.pack("<HH", len(bbg), len(bb)) + bbg + bb + da


def seeds() -> dict[str, bytes]:
    bb = (
        marked(-2, b"_Z4partv")
        + word(0)
        + marked(-1, b"part.h")
        + word(2)
        + word(3)
        + word(0)
        + word(4)
        + word(0)
        + word(5)
        + word(0)
        + word(0)
        + marked(-2, b"main")
        + word(0)
        + marked(-1, b"a.c")
        + word(9)
        + word(8)
        + word(9)
        + word(0)
        + word(10)
        + word(0)
        + word(12)
        + word(0)
    )
    bbg = name(b"_Z4partv") + word(4711) + graph(BRANCHES) + name(b"main") + word(-5) + graph(CALLS)
    nameless = graph(BRANCHES) + graph(CALLS)
    da = block({b"_Z4partv": (4711, [3, 4]), b"main": (-5, [9, 2, 7])})
    counters = b"".join(map(long_word, [5, 3, 4, 9, 2, 7]))
    other = block({b"main": (-5, [1, 1, 1]), b"_Z4partv": (4712, [1, 1]), b"gone": (1, [1])})
    return {
        "lines": bb,
        "lines-file-first": marked(-1, b"a.c") + bb,
        "graph": bbg,
        "graph-nameless": nameless,
        "graph-hammer": b"gbbg" + bytes(8),
        "graph-flags": name(b"f", b"x") + word(0) + graph([[(1, 37)], [(0, 1)]]),
        "graph-no-exit-arc": name(b"f") + MINUS_ZERO + graph([[(1, 2)], []]),
        "data": da,
        "data-nameless": counters,
        "data-blocks": da + da,
        "data-long-header": block({b"f": (1, [-1])}, b"more"),
        "data-large": block({b"f": (1, [2**63 - 1 - 2**61])}),
        "data-minus-zero": block({b"f": (0, [])})[:-4] + MINUS_ZERO,
        "data-cut": da[:100],
        "all": together(bbg, bb, da),
        "all-nameless": together(nameless, bb, counters),
        "all-unlike": together(bbg, bb[:-40], da + other),
        "all-negative": together(bbg, bb, block({b"main": (-5, [1, 2, 7])})),
        "all-other-form": together(bbg, bb, counters),
        "empty-graph": together(b"", b"", da),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in seeds().items():
        (folder / file).write_bytes(content)
