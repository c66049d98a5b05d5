"""Makes the fuzzer's corpus of gcov files from two small programs: notes and counters of GCC and,
if it is installed, of Clang, in several layouts.

    python3 tests/fuzz/make_gcov_corpus.py tests/fuzz/corpus/gcov
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.gcc_14 import data_as_gcc_14, notes_as_gcc_14

SOURCES = Path(__file__).resolve().parents[1] / "programs" / "coverage"

# Name -> compiler, source, options.
BUILDS = {
    "gcc_loop_o0": ("gcc", "corpus_loop.c", ["-O0"]),
    "gcc_loop_o2": ("gcc", "corpus_loop.c", ["-O2"]),
    "gcc_throw_o0": ("g++", "corpus_throw.cpp", ["-O0"]),
    "gcc_throw_o2": ("g++", "corpus_throw.cpp", ["-O2"]),
    "clang_loop": ("clang", "corpus_loop.c", ["-O0"]),
    "clang_throw": ("clang++", "corpus_throw.cpp", ["-O0"]),
    "clang_402": ("clang", "corpus_loop.c", ["-Xclang", "-coverage-version=402*"]),
    "clang_407": ("clang", "corpus_loop.c", ["-Xclang", "-coverage-version=407*"]),
    "clang_b13": ("clang", "corpus_loop.c", ["-Xclang", "-coverage-version=B13*"]),
    "clang_b22": ("clang", "corpus_loop.c", ["-Xclang", "-coverage-version=B22*"]),
}


def files_of(compiler: str, source: str, options: list[str]) -> tuple[bytes, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(SOURCES / source, folder)
        subprocess.run(
            [compiler, "--coverage", *options, "-c", source, "-o", "x.o"], cwd=folder, check=True
        )
        subprocess.run([compiler, "--coverage", "x.o", "-o", "x"], cwd=folder, check=True)
        subprocess.run([os.path.join(folder, "x")], cwd=folder, check=False)
        notes = (Path(folder) / "x.gcno").read_bytes()
        data = (Path(folder) / "x.gcda").read_bytes()
    # Replace the working directory by a string of the same length.
    return notes.replace(folder.encode(), b"/f".ljust(len(folder), b"/")), data


def write(out: Path, name: str, notes: bytes, data: bytes) -> None:
    (out / name).write_bytes(bytes([min(255, len(notes) // 8)]) + notes + data)


def swapped(data: bytes) -> bytes:
    """Swaps the byte order of a file that consists of whole words without strings."""
    count = len(data) // 4
    return struct.pack(f">{count}I", *struct.unpack_from(f"<{count}I", data)) + data[4 * count :]


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, (compiler, source, options) in BUILDS.items():
        if shutil.which(compiler) is None:
            continue
        notes, data = files_of(compiler, source, options)
        write(out, name, notes, data)
        if name == "gcc_loop_o0":
            write(out, "gcc_big_endian_data", notes, swapped(data))
            write(out, "gcc_cut_data", notes, data[:-7])
            notes, idents = notes_as_gcc_14(notes, True)
            write(out, "gcc_14_conditions", notes, data_as_gcc_14(data, idents, (0b01, 0b11)))


main()
