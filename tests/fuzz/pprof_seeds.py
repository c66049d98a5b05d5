"""Writes the first inputs of the fuzzer: python3 tests/fuzz/pprof_seeds.py FOLDER

Files as several programs write them, and one file for each way in which a file may be invalid.
"""
from __future__ import annotations

import gzip
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from support.pprof_bytes import Pprof, field, message, packed


def plain() -> Pprof:
    return (
        Pprof()
        .type("samples", "count")
        .mapping(1, 0x1000, 0x2000, "/bin/x")
        .function(1, "main", "m.c", 3)
        .function(2, "leaf", "m.c", 9)
        .location(1, 1, 0x1010, [(1, 5)])
        .location(2, 1, 0x1020, [(2, 10), (1, 6)])
    )


def cpu() -> Pprof:
    pprof = plain().type("cpu", "nanoseconds").type("cpu", "nanoseconds", number=11)
    pprof.top += field(12, 10_000_000)
    return pprof.sample([2, 1], [3, 30_000_000], {"thread": "w", "tid": 8, "pid": 7})


def ours() -> Pprof:
    pprof = cpu().sample([1], [1, 10_000_000], {"part": 2, "trigger": "end"})
    texts = [
        pprof.text(text)
        for text in ("command: ./x y", "part 1: 10 ns to 20 ns", "part 2: 20 ns to 50 ns, end")
    ]
    pprof.top += field(13, packed(texts)) + field(10, 40) + field(9, 1_700_000_000)
    return pprof


def heap() -> Pprof:
    pprof = plain().type("space", "bytes").type("space", "bytes", number=11)
    pprof.top += field(12, 524288) + field(14, pprof.text("samples")) + field(7, 1)
    return pprof.sample([2], [1, 64], {"bytes": 64}).sample([1], [2, -64], {"key": "value"})


def simpleperf() -> dict[str, bytes]:
    """Returns reports of Android's simpleperf, whose records are messages, too."""

    def record(number: int, content: bytes) -> bytes:
        data = field(number, content)
        return len(data).to_bytes(4, "little") + data

    head = b"SIMPLEPERF\1\0"
    meta = record(5, message((1, "cpu-clock"), (1, "page-faults"), (2, "com.example")))
    chain = message((1, 0x1000), (2, 0), (3, 1)), message((1, 0x2000), (2, 1), (3, -1))
    samples = b"".join(
        record(
            1, message((1, at), (2, 8), *((3, each) for each in chain), (4, 250_000), (5, event))
        )
        for at, event in ((5_000, 0), (4_000, 1))
    )
    files = record(3, message((1, 0), (2, "/lib/libc.so"), (3, "main"), (3, "work"), (4, "_m")))
    files += record(3, message((1, 1), (2, "[kernel.kallsyms]")))
    rest = record(4, message((1, 8), (2, 7), (3, "worker"))) + record(6, message((1, 1)))
    rest += record(2, message((1, 3), (2, 1)))
    whole = head + meta + samples + files + rest
    return {
        "simpleperf": whole + bytes(4),
        "simpleperf_cut": whole,
        "simpleperf_no_files": head + meta + samples + bytes(4),
    }


def seeds() -> dict[str, bytes]:
    one = plain().sample([2, 1], [5])
    many = {"plain": one, "cpu": cpu(), "ours": ours(), "heap": heap()}
    out = {name: pprof.bytes() for name, pprof in many.items()}
    out["packed_file"] = gzip.compress(out["cpu"], mtime=0)
    out["strings_first"] = out["plain"][len(one.top) :] + one.top
    out["not_packed"] = plain().add(2, (1, 2), (1, 1), (2, 5)).bytes()
    out["large_ids"] = (
        Pprof()
        .type("a", "b")
        .function(2**63, "f")
        .location(2**64 - 1, 0, 1, [(2**63, 2**31)])
        .sample([2**64 - 1], [1])
        .bytes()
    )
    out["same_address"] = (
        plain()
        .location(3, 1, 0, [(1, 5)])
        .location(4, 1, 0, [(2, 5)])
        .location(5, 1, 0x1010, [(2, 5)])
        .location(6, 1, 0x1010)
        .sample([3, 4, 5, 6, 1], [5])
        .bytes()
    )
    out["unknown_fields"] = field(77, "text") + one.bytes() + field(78, 9) + b"\xf9\x04" + bytes(8)
    out["no_names"] = (
        Pprof()
        .type("", "")
        .type("", "")
        .location(1, 0, 0x10)
        .location(2, 0, 0)
        .sample([1, 2], [1, 2])
        .sample([], [3, 4])
        .bytes()
    )
    out["line_below_0"] = plain().location(3, 0, 1, [(1, -1)]).sample([3], [1]).bytes()
    out["not_utf8"] = one.top + b"2\0" + field(6, b"\xff\xfe\xc0\x80") * 8
    out["largest_values"] = (plain().sample([1], [2**63 - 1]).sample([1], [1])).bytes()
    out["twice_the_part"] = (ours().sample([1], [0, 0], {"part": 2**32, "tid": 2**40})).bytes()
    faults = {
        "id_twice": plain().location(1, 0, 1),
        "id_0": plain().function(0, "f"),
        "no_mapping": plain().location(3, 9, 1),
        "no_function": plain().location(3, 0, 1, [(9, 1)]),
        "no_location": plain().sample([9], [1]),
        "no_value": plain().sample([1], []),
        "mapping_backwards": plain().mapping(2, 9, 1, ""),
        "wrong_wire_type": plain().add(2, (1, "x")).add(2, (3, 1)),
        "line_without_function": plain().add(4, (1, 9), (4, message((2, 1)))),
    }
    out |= {name: pprof.sample([1], [1]).bytes() for name, pprof in faults.items()}
    out["bad_string"] = one.bytes() + field(14, 99)
    out["first_string"] = field(6, "x") + one.bytes()
    out["cut_number"] = one.bytes() + b"\xff"
    out["long_number"] = one.bytes() + b"\xff" * 11
    out["cut_field"] = one.bytes() + b"\x12\x7f"
    out["huge_length"] = one.bytes() + b"\x12" + b"\xff" * 9 + b"\x01"
    out["length_of_32_bits_and_more"] = one.bytes() + b"\x12\x80\x80\x80\x80\x10"
    out["group"] = one.bytes() + b"\x0b"
    out["field_0"] = one.bytes() + b"\0"
    out |= simpleperf()
    out["no_types"] = Pprof().sample([], []).bytes()
    out["no_samples"] = plain().bytes()
    return out


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds().items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
