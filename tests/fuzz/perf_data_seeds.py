#!/usr/bin/env python3
"""Writes the seeds of perf_data_fuzz.cpp: perf_data_seeds.py FOLDER. They are small hand-made files
of both byte orders, in the layout of a file and in the one that perf writes to a pipe."""
from __future__ import annotations

import struct
import sys
from pathlib import Path

CONTEXT_KERNEL, CONTEXT_USER = 2**64 - 128, 2**64 - 512
IP, TID, TIME, CHAIN, ID, PERIOD, REGS, STACK = 1, 2, 4, 0x20, 0x40, 0x100, 0x1000, 0x2000


class Perf:
    def __init__(self, order: str, sample_type: int) -> None:
        self.order, self.type = order, sample_type
        self.records = b""

    def pack(self, form: str, *values: int) -> bytes:
        return struct.pack(self.order + form, *values)

    def attr(self, config: int) -> bytes:
        flags = bytearray(8)
        for bit in (10, 18):  # freq, sample_id_all
            flags[bit // 8] |= 1 << (bit % 8 if self.order == "<" else 7 - bit % 8)
        return (
            self.pack("IIQQQQ", 1, 112, config, 1000, self.type, 4)
            + bytes(flags)
            + self.pack("IIQQQQIiQII", 0, 0, 0, 0, 0, 0xFF0FFF, 64, 0, 0, 0, 0)
        )

    def record(self, kind: int, misc: int, body: bytes) -> None:
        self.records += self.pack("IHH", kind, misc, 8 + len(body)) + body

    def text(self, text: str) -> bytes:
        return text.encode() + bytes(8 - len(text) % 8)

    def trailer(self, pid: int, time: int) -> bytes:
        return self.pack("iiQQ", pid, pid, time, 9)[: 24 if self.type & ID else 16]

    def comm(self, pid: int, name: str, time: int, misc: int = 0) -> None:
        self.record(3, misc, self.pack("ii", pid, pid) + self.text(name) + self.trailer(pid, time))

    def mmap(self, pid: int, at: int, size: int, path: str, time: int) -> None:
        self.record(
            10,
            2,
            self.pack("iiQQQIIQQII", pid, pid, at, size, 0, 8, 1, 7, 0, 5, 2)
            + self.text(path)
            + self.trailer(pid, time),
        )

    def fork(self, pid: int, parent: int, time: int) -> None:
        self.record(
            7, 0, self.pack("iiiiQ", pid, parent, pid, parent, time) + self.trailer(pid, time)
        )

    def sample(self, pid: int, time: int, pcs: list[int], misc: int = 2) -> None:
        body = self.pack("QiiQ", pcs[0], pid, pid, time)
        if self.type & ID:
            body += self.pack("Q", 9)
        body += self.pack("Q", 1_000_000)
        if self.type & CHAIN:
            body += self.pack(f"Q{len(pcs)}Q", len(pcs), *pcs)
        if self.type & REGS:
            body += self.pack("Q20Q", 2, *([0x1100] * 20))
            body += self.pack("Q", 64) + bytes(64) + self.pack("Q", 48)
        self.record(9, misc, body)

    def fill(self) -> "Perf":
        self.comm(5, "prog", 0)
        self.mmap(5, 0x1000, 0x1000, "/bin/prog", 10)
        self.sample(5, 30, [CONTEXT_USER, 0x1100, 0x1201])
        self.fork(6, 5, 20)
        self.record(68, 0, b"")
        self.comm(6, "child", 40, 0x2000)
        self.mmap(6, 0x4000, 0x1000, "[vdso]", 41)
        self.sample(6, 50, [CONTEXT_KERNEL, 2**63, CONTEXT_USER, 0x4100], 1)
        self.record(2, 0, self.pack("QQ", 9, 3) + self.trailer(5, 60))
        self.record(71, 0, self.pack("QQQQ", 8, 0, 0, 0))
        self.records += bytes(8)
        self.record(68, 0, b"")
        return self

    def string(self, text: str) -> bytes:
        return self.pack("I", len(text) + 1) + text.encode() + b"\0"

    def features(self) -> dict[int, bytes]:
        build_id = self.pack("i", -1) + bytes(range(20)) + b"\x14\0\0\0" + self.text("/bin/prog")
        return {
            2: self.pack("IHH", 67, 0x8000, 8 + len(build_id)) + build_id,
            11: self.pack("I", 2) + self.string("perf") + self.string("record"),
            12: self.pack("II", 1, 112)
            + self.attr(0)
            + self.pack("I", 1)
            + self.string("cpu-clock:ppp")
            + self.pack("Q", 9),
        }

    def file(self, finished: bool = True) -> bytes:
        magic = b"PERFILE2" if self.order == "<" else b"2ELIFREP"
        attr = self.attr(0) + self.pack("QQ", 104, 8)
        begin = 112 + len(attr)
        features = self.features() if finished else {}
        out = magic + self.pack(
            "8Q", 104, len(attr), 112, len(attr), begin, len(self.records) if finished else 0, 0, 0
        )
        out += self.pack("4Q", sum(1 << number for number in features), 0, 0, 0)
        out += self.pack("Q", 9) + attr + self.records
        at = len(out) + 16 * len(features)
        for content in features.values():
            out += self.pack("QQ", at, len(content))
            at += len(content)
        return out + b"".join(features.values())

    def piped(self) -> bytes:
        magic = b"PERFILE2" if self.order == "<" else b"2ELIFREP"
        behind, self.records = self.records, b""
        self.record(64, 0, self.attr(0) + self.pack("Q", 9))
        for number, content in self.features().items():
            self.record(80, 0, self.pack("Q", number) + content)
        self.record(78, 0, self.pack("QQ", 2, 9) + self.text("cycles:pp"))
        return magic + self.pack("Q", 16) + self.records + behind


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    base = IP | TID | TIME | PERIOD
    for name, order in (("little", "<"), ("big", ">")):
        for kind, sample_type in (("chain", base | CHAIN | ID), ("stack", base | REGS | STACK)):
            perf = Perf(order, sample_type).fill()
            (folder / f"{kind}-{name}").write_bytes(perf.file())
            (folder / f"{kind}-{name}-unfinished").write_bytes(perf.file(False)[:-10])
            (folder / f"{kind}-{name}-piped").write_bytes(perf.piped())
    perf = Perf("<", base | CHAIN).fill()
    (folder / "cut").write_bytes(perf.file()[:700])
    # A record of compressed records: one zstd frame of a single raw block.
    raw = perf.records
    frame = bytes.fromhex("28b52ffd") + b"\x00\x58" + struct.pack("<I", len(raw) << 3 | 1)[:3] + raw
    packed = Perf("<", base | CHAIN)
    packed.record(81, 0, frame[:200])
    packed.record(83, 0, struct.pack("<Q", len(frame) - 200) + frame[200:])
    (folder / "packed").write_bytes(packed.file())
    (folder / "version-1").write_bytes(b"PERFFILE" + bytes(96))


if __name__ == "__main__":
    main()
