"""Symbolizes what compilers write that are not installed here, and what installed ones write rarely.
Most of it is in assembly language here."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.skips import need_tools, run_unittests
from symbolize_test import ask_us

# rustc 1.63 writes the functions of an enumeration as members of its type. `weight` has an inlined
# copy of `mix`.
MEMBERS_OF_AN_ENUMERATION = """
    .text
    .globl _start
_start: nop
    .globl weight
    .type weight, @function
weight: nop
.Lmix: nop
.Lmix_end: ret
.Lend: .size weight, . - weight

    .section .debug_abbrev, "", @progbits
    .uleb128 1, 0x11
    .byte 1
    .uleb128 0x13, 0x05, 0x11, 0x01, 0x12, 0x06, 0, 0  # language, low_pc, high_pc
    .uleb128 2, 0x04
    .byte 1
    .uleb128 0x03, 0x08, 0x01, 0x13, 0, 0  # name, sibling
    .uleb128 3, 0x2e
    .byte 1
    .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0  # name, low_pc, high_pc
    .uleb128 4, 0x1d
    .byte 0
    .uleb128 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0x58, 0x0b, 0x59, 0x0b, 0, 0
    .uleb128 5, 0x2e
    .byte 0
    .uleb128 0x03, 0x08, 0x20, 0x0b, 0, 0  # name, inline
    .uleb128 6, 0x28
    .byte 0
    .uleb128 0x03, 0x08, 0x1c, 0x0b, 0, 0  # name, const_value
    .byte 0

    .section .debug_info, "", @progbits
.Lunit: .long .Lunit_end - .Lversion
.Lversion: .value 4
    .long .debug_abbrev
    .byte 8
    .uleb128 1
    .value 0x1c  # Rust
    .quad _start
    .long .Lend - _start
.Lorigin: .uleb128 5
    .string "mix"
    .byte 3
    .uleb128 2
    .string "Color"
    .long .Lbehind - .Lunit
    .uleb128 6
    .string "Red"
    .byte 0
    .uleb128 3
    .string "weight"
    .quad weight
    .long .Lend - weight
    .uleb128 4
    .long .Lorigin - .Lunit
    .quad .Lmix
    .long .Lmix_end - .Lmix
    .byte 1, 7
    .byte 0  # end of weight
    .byte 0  # end of Color
.Lbehind: .byte 0
.Lunit_end:
"""

# GCC writes a sequence of lines also for a function without instructions. The linker places `gone`
# where `here` begins, although its lines come later.
A_FUNCTION_WITHOUT_CODE = """
    .file 1 "some.c"
    .section .text.hot.here, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    .loc 1 1
    nop
    .loc 1 2
    ret
    .size _start, . - _start
    .section .text.unlikely.gone, "ax", @progbits
    .type gone, @function
gone:
    .loc 1 5 1 view -0
    .size gone, . - gone
"""

SHARED = (
    "struct a_shared_type { int a_shared_member, another_shared_member; };\n"
    "int a_shared_function(struct a_shared_type *a_shared_argument) {\n"
    "  return a_shared_argument->a_shared_member * a_shared_argument->another_shared_member; }\n"
)
OWN = "int main(int many, char **words) { return many + PROGRAM; }\n"

THUMB = "int one(int a) { return a + 1; }\nint two(int a) { return one(a) * a; }\n"


class ProducersTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="producers-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name: str, text: str = "") -> str:
        path = os.path.join(self.folder, name)
        Path(path).write_text(text, encoding="utf-8")
        return path

    def run_tool(self, *command: str) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def assembled(self, text: str, *options: str) -> str:
        need_tools("gcc", "addr2line", "nm", "readelf")
        if os.uname().machine != "x86_64":
            self.skipTest("the assembly language is that of x86-64")
        out = self.path("program")
        source = self.path("program.s", text)
        self.run_tool("gcc", "-nostdlib", "-static", *options, "-o", out, source)
        return out

    def symbols(self, path: str, nm: str = "nm") -> dict[str, int]:
        lines = (line.split() for line in self.run_tool(nm, path).splitlines())
        return {words[2]: int(words[0], 16) for words in lines if len(words) == 3}

    def names(self, path: str, *addresses: int) -> list[list[str]]:
        return [[frame[0] for frame in block] for block in ask_us(path, addresses)]

    def test_members_of_an_enumeration(self) -> None:
        path = self.assembled(MEMBERS_OF_AN_ENUMERATION)
        weight = self.symbols(path)["weight"]
        self.assertEqual(self.names(path, weight, weight + 1), [["weight"], ["mix", "weight"]])

    def test_a_function_without_code(self) -> None:
        path = self.assembled(A_FUNCTION_WITHOUT_CODE, "-Wa,-gdwarf-5")
        sequences = self.run_tool("readelf", "--debug-dump=rawline", path)
        self.assertEqual(sequences.count("End of Sequence"), 2, sequences)
        symbols = self.symbols(path)
        start = symbols["_start"]
        self.assertEqual(symbols["gone"], start)
        ours = [f"{block[0][1]}:{block[0][2]}" for block in ask_us(path, [start, start + 1])]
        self.assertEqual([place.rsplit("/", 1)[-1] for place in ours], ["some.c:1", "some.c:2"])
        theirs = self.run_tool("addr2line", "-e", path, hex(start)).strip()
        self.assertEqual(theirs.rsplit("/", 1)[-1], "some.c:1")

    def test_without_the_common_part(self) -> None:
        """Names of functions are in the file that dwz made for both programs, which is hidden."""
        need_tools("gcc", "dwz", "nm", "objcopy")
        programs = [self.path("first"), self.path("second")]
        source = self.path("shared.c", SHARED + OWN)
        for i, program in enumerate(programs):
            self.run_tool(
                "gcc", "-g", "-O1", "-Wl,--build-id", f"-DPROGRAM={i}", "-o", program, source
            )
        common = os.path.join(self.folder, "common")
        self.run_tool("dwz", "-m", common, *programs)
        function = self.symbols(programs[0])["a_shared_function"]
        (((name, file, line),),) = ask_us(programs[0], [function])
        self.assertIn(b"a_shared_function", Path(common).read_bytes())
        hidden = common + "-hidden"
        os.rename(common, hidden)
        no_symbol = os.path.join(self.folder, "no-symbol")
        self.run_tool("objcopy", "-N", "a_shared_function", programs[0], no_symbol)
        cache = os.path.join(self.folder, "cache")
        (((unknown, *_),),) = ask_us(no_symbol, [function], cache)
        self.assertNotEqual(unknown, name)
        self.assertEqual(ask_us(programs[0], [function]), [[(name, file, line)]])
        self.assertEqual(name, "a_shared_function")
        os.rename(hidden, common)
        self.assertEqual(ask_us(no_symbol, [function], cache), [[(name, file, line)]])

    def test_thumb(self) -> None:
        need_tools("arm-none-eabi-gcc", "arm-none-eabi-nm")
        out = self.path("thumb")
        options = ("-mcpu=cortex-m3", "-mthumb", "-O1", "-nostdlib", "-Wl,-e,one")
        self.run_tool("arm-none-eabi-gcc", *options, "-o", out, self.path("t.c", THUMB))
        symbols = self.symbols(out, "arm-none-eabi-nm")
        one, two = symbols["one"], symbols["two"]
        self.assertEqual(self.names(out, one, one + 2, two), [["one"], ["one"], ["two"]])


if __name__ == "__main__":
    run_unittests()
