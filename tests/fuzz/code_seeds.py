"""Writes the seeds of the fuzz targets that read code and its symbols, what samplers share with
programs, and what users type:

    python3 tests/fuzz/code_seeds.py tests/fuzz/corpus

The ELF files are made by the compilers that are installed; all else is the same everywhere.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
namespace n {
struct S {
  int v;
  __attribute__((noinline)) int f(int a) { return a * v; }
};
static inline int twice(int a) { return a * 2; }
template <class T> __attribute__((noinline)) T g(T a) { return twice(a) + 1; }
}
extern "C" int start(int a) {
  n::S s{a};
  int b = 0;
  for (int i = 0; i < a; ++i)
    b += n::g(s.f(i));
  return n::twice(b);
}
"""
SMALL = (
    "-nostdlib -shared -fPIC -Wl,-z,noseparate-code -Wl,-z,max-page-size=16 -Wl,--build-id=sha1 "
    "-Wl,-z,norelro"
).split()
# Name -> compiler and options.
ELF_FILES = {
    "gcc_dwarf5": ["g++", "-O2", "-g", "-gdwarf-5"],
    "gcc_dwarf4_types": ["g++", "-O0", "-g", "-gdwarf-4", "-fdebug-types-section"],
    "gcc_dwarf2": ["g++", "-O2", "-g", "-gdwarf-2", "-gstrict-dwarf"],
    "gcc_32": ["g++", "-m32", "-O2", "-g"],
    "gcc_split": ["g++", "-O2", "-g", "-gsplit-dwarf"],
    "gcc_compressed": ["g++", "-O2", "-g", "-gz"],
    "gcc_stripped": ["g++", "-O2", "-s"],
    "clang_dwarf5": ["clang++", "-O2", "-g"],
}


def elf_files() -> dict[str, bytes]:
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.cpp").write_text(PROGRAM)
        for name, words in ELF_FILES.items():
            if not shutil.which(words[0]):
                continue
            done = subprocess.run(
                [*words, *SMALL, "t.cpp", "-o", name], cwd=folder, stderr=subprocess.PIPE
            )
            if done.returncode == 0:
                out[name] = Path(folder, name).read_bytes()
        out["split.dwo"] = next(Path(folder).glob("*.dwo")).read_bytes()
    return out


def core_file() -> bytes:
    """A core file of x86-64 with one thread, one mapped file and 64 bytes of its stack."""

    def note(kind: int, body: bytes) -> bytes:
        return struct.pack("<III8s", 5, len(body), kind, b"CORE") + body.ljust(
            -(-len(body) // 4) * 4, b"\0"
        )

    registers = [0] * 27
    registers[16], registers[19] = 0x401010, 0x7FFF0000  # rip, rsp
    status = struct.pack("<iiihxxQQiiii", 11, 0, 0, 11, 0, 0, 77, 1, 77, 77) + bytes(64)
    status += struct.pack("<27Q", *registers) + struct.pack("<ii", 0, 0)
    files = struct.pack("<QQQQQ", 1, 4096, 0x401000, 0x402000, 1) + b"/bin/program\0"
    notes = note(1, status) + note(0x46494C45, files)
    headers = 64 + 2 * 56
    stack = struct.pack("<8Q", 0x401020, *range(7))
    out = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0,
    )  # fmt: skip
    out += struct.pack("<IIQQQQQQ", 4, 0, headers, 0, 0, len(notes), 0, 4)
    out += struct.pack("<IIQQQQQQ", 1, 6, headers + len(notes), 0x7FFF0000, 0, 64, 64, 1)
    return out + notes + stack


def symbol_cache() -> bytes:
    """One unit with a function that is inlined into another, and a symbol. The layout is that of
    lib/src/symbolize/cache.cpp; the fuzz target writes the checksums."""
    texts, body = b"\0\0\0\0", b""

    def text(value: str) -> int:
        nonlocal texts
        at = len(texts)
        texts += struct.pack("<I", len(value)) + value.encode()
        return at

    def rows(form: str, *values: tuple[int, ...]) -> tuple[int, int]:
        nonlocal body
        body = body.ljust(-(-len(body) // 8) * 8, b"\0")
        at = len(body)
        body += b"".join(struct.pack(form, *each) for each in values)
        return at, len(values)

    file = text("a.c")
    parts = [
        rows("<II", (0, 0), (16, 1), (32, 0xFFFFFFFF)),
        rows("<III", (0, file, 3), (16, file, 9), (32, 0xFFFFFFFF, 0)),
        rows("<IIII", (0, 0xFFFFFFFF, 0, 0), (1, 0, file, 4)),
        rows("<IIII", (text("_Z1fv"), text("f()"), file, 2), (text("g"), 0, file, 8)),
    ]
    directory = rows("<10Q", (11, 0x1000, *(at for at, _ in parts), *(n for _, n in parts)))
    ranges = rows("<QQQ", (0x1000, 0x1020, 11))
    symbols = rows("<QQII", (0x1000, 0x1020, text("_Z1fv"), 0))
    build_id, path = text("0123"), text("/bin/program")
    texts_at = len(body)
    body += texts
    header = struct.pack(
        "<8sIIQQQqQQQQQQQQIIII",
        b"tallysym", 0x01020304, 2, 0, len(body), 4096, 17, texts_at, len(texts), *directory,
        *ranges, *symbols, build_id, path, 1, 1,
    )  # fmt: skip
    return header + bytes(8 * -(-len(body) // 4096)) + body


def agent_memory() -> dict[str, bytes]:
    def record(kind: int, *words: int, weight: int = 1) -> bytes:
        head = struct.pack("<IIiIQ", 24 + 8 * len(words), kind, 7, weight, 1000)
        data = head + struct.pack(f"<{len(words)}Q", *words)
        return struct.pack("<BBH", 0, 3, len(data) // 8) + data

    drain = b"\3"
    chains = record(1, 0x1010, 0x1021) + record(1, 0x5010, weight=3)
    copy = record(2, *[0] * 7, 0x7000, *[0] * 8, 0x1010, 0x1021, 0, 0)
    head = struct.pack("<BBQ", 2, 1, 1 << 62)
    header = b"".join(struct.pack("<BHQ", 1, word, 2**64 - 1) for word in range(16))
    return {
        "chains": b"\1" + chains + drain,
        "leaves": b"\0" + chains + drain,
        "copy": b"\2" + copy + drain,
        "head": b"\1" + chains + drain + head + drain + chains + drain,
        "weight": b"\1" + record(1, 0x1010, weight=2**31 - 1) + drain + chains + drain,
        "header": b"\2" + header + copy + drain,
    }


def perf_rings() -> dict[str, bytes]:
    def record(kind: int, misc: int, body: bytes) -> bytes:
        body = body.ljust(-(-len(body) // 8) * 8, b"\0")
        return struct.pack("<IHH", kind, misc, 8 + len(body)) + body

    def sample(extra: bytes = b"", time: int = 10) -> bytes:
        return record(9, 2, struct.pack("<QQiiQII", 1, 0x1010, 100, 100, time, 0, 0) + extra)

    trailer = struct.pack("<iiQIIQ", 100, 100, 20, 0, 0, 1)
    others = record(
        10,
        2,
        struct.pack("<iiQQQIIQQII", 100, 100, 0x9000, 0x1000, 0, 8, 1, 5, 1, 5, 2)
        + b"/lib/x.so\0\0\0\0\0\0\0"
        + trailer,
    ) + record(3, 0, struct.pack("<ii", 100, 100) + b"name\0\0\0\0" + trailer)
    others += record(7, 0, struct.pack("<iiiiQ", 101, 100, 101, 100, 15) + trailer)
    others += record(4, 0, struct.pack("<iiiiQ", 101, 100, 101, 100, 16) + trailer)
    others += record(2, 0, struct.pack("<QQ", 1, 5) + trailer)  # fmt: skip
    chain = struct.pack("<QQQQ", 3, 2**64 - 512, 0x1010, 0x1021)
    stack = struct.pack("<Q20Q", 2, *range(20)) + struct.pack("<Q4QQ", 32, 1, 0x1021, 3, 4, 32)

    def rings(how: int, first: bytes, second: bytes) -> bytes:
        size = max(len(first), len(second))  # the target halves the bytes
        return bytes([how, 0, 250]) + first.ljust(size, b"\0") + second

    return {
        "leaves": rings(0, sample(), others + sample(time=30)),
        "chains": rings(5, sample(chain) + sample(chain, 12), others),
        "stacks": rings(2, sample(stack), others),
    }


def jit_files() -> dict[str, bytes]:
    def record(kind: int, body: bytes) -> bytes:
        return struct.pack("<IIQ", kind, 16 + len(body), 1000) + body

    head = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 1, 1, 0)
    lines = record(2, struct.pack("<QQQii", 0x1000, 1, 0x1000, 7, 0) + b"a.js\0")
    code = record(0, struct.pack("<IIQQQQ", 1, 1, 0x1000, 0x1000, 4, 1) + b"f\0" + b"\x90" * 4)
    move = record(1, struct.pack("<IIQQQQQ", 1, 1, 0x1000, 0x1000, 0x2000, 4, 1))
    return {
        "dump": head + lines + code + move + record(3, b""),
        "map": b"1000 10 f\n0x1010 20 LazyCompile:*g a.js:3\n1008 4 h h\n",
    }


NAMES = {
    "itanium": b"_ZN1nIiE1fIJiS_EEEDTcl3foofp_EET_S1_PFvPKcE",
    "lambda": b"_ZZN1a1bEvENKUlT_E_clIiEEDaS0_",
    "rust_v0": b"_RNvMs_NtCs4fqI2P2rA04_5crate3modINtB4_1SpE1f",
    "rust_legacy": b"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
    "d": b"_D3std5stdio4File5closeMFNeZv",
    "plt": b"_Z1fi@plt",
}
LINES = {
    "start": b"start --backend perf -F 500 --event clock,cs",
    "report": b"report --by line --sort total --limit 3 'ns::f(int)' --thread 1 > x",
    "dump": b'dump "out file.callgrind" --to callgrind --focus ^f --ignore g\\ h',
    "config": b"config frequency 200",
    "coverage": b"report --by function --limit 5 --json",
    "open": b"annotate 'operator<<(std::ostream&",
}


def operations() -> dict[str, bytes]:
    def op(atom: int, *operands: int, offset: int | None = None) -> bytes:
        has = (1 << len(operands)) - 1 | (4 if offset is not None else 0)
        words = [*operands, *([] if offset is None else [offset])]
        return bytes([atom, has]) + b"".join(struct.pack("<Q", each) for each in words)

    plt = (
        op(0x77, 8) + op(0x80, 0) + op(0x3F) + op(0x1A) + op(0x3B) + op(0x2A) + op(0x33) + op(0x24)
    )
    loop = op(0x31, offset=0) + op(0x2F, 2**64 - 4, offset=1)
    return {
        "plt": plt + op(0x22),
        "loop": loop,
        "memory": op(0x77, 16) + op(0x06) + op(0x94, 4) + op(0x23, 1) + op(0x9C),
    }


def main() -> None:
    files: dict[str, dict[str, bytes]] = {
        "elf": elf_files(),
        "core": {"one_thread": core_file()},
        "symbol_cache": {"one_unit": symbol_cache()},
        "agent_memory": agent_memory(),
        "perf_ring": perf_rings(),
        "jit": jit_files(),
        "demangle": NAMES,
        "command_line": LINES,
        "expression": operations(),
    }
    for target, seeds in files.items():
        folder = Path(sys.argv[1], target)
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (folder / name).write_bytes(data)


main()
