"""`tally` on LLVM's raw and indexed profiles: merge, convert, validate, rewrite and zero."""
from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase
from support.programs import command_line
from support.skips import run_unittests

FUNCTION_HASH = 42
RECORD = 48  # its bytes


def raw_profile(counts: dict[str, int], values: bool = False) -> bytes:
    """Returns a raw profile of LLVM 14 with functions of one counter each. With `values`, the first
    one has value data."""
    records = b""
    for i, name in enumerate(counts):
        name_hash = hashlib.md5(name.encode()).digest()[:8]
        sites = 1 if values and i == 0 else 0
        # The pointer to the counters is relative to the record.
        fields = (FUNCTION_HASH, (8 - RECORD) * i, 0, 0, 1, sites, 0)
        records += struct.pack("<8sQqQQIHH", name_hash, *fields)
    names = "\x01".join(counts).encode()
    names = bytes([len(names), 0]) + names
    header = (0xFF6C70726F667281, 8, 0, len(counts), 0, len(counts), 0, len(names), 0, 0, 1)
    body = (
        struct.pack("<11Q", *header) + records + struct.pack(f"<{len(counts)}Q", *counts.values())
    )
    body += names
    body += bytes(-len(body) % 8)
    if values:
        body += struct.pack("<II32x", 40, 1)
    return body


def counts_of(profile: bytes) -> dict[str, int]:
    """Returns the counters of an indexed profile of version 7."""
    magic, version, _, _, table, fields, shares = struct.unpack_from("<8s6Q", profile)
    assert magic == b"\xfflprofi\x81" and version == 7
    at = 56 + 8 * fields + 24 * shares
    keys = struct.unpack_from("<Q", profile, table + 8)[0]
    out: dict[str, int] = {}
    while len(out) < keys:
        items = struct.unpack_from("<H", profile, at)[0]
        at += 2
        for _ in range(items):
            key, data = struct.unpack_from("<QQ", profile, at + 8)
            name = profile[at + 24 : at + 24 + key].decode()
            function, counters, count = struct.unpack_from("<QQQ", profile, at + 24 + key)
            assert (function, counters) == (FUNCTION_HASH, 1)
            out[name] = count
            at += 24 + key + data
    return out


class LlvmProfilesTest(ProfileCase):
    def setUp(self) -> None:
        super().setUp()
        self.put("a.profraw", raw_profile({"main": 1, "f": 5}))
        self.put("b.profraw", raw_profile({"main": 2, "g": 7}))

    def put(self, name: str, content: bytes) -> None:
        Path(self.path(name)).write_bytes(content)

    def content(self, name: str) -> bytes:
        return Path(self.path(name)).read_bytes()

    def run_in(self, words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [command_line(), *words.split()],
            cwd=self.folder,
            text=True,
            capture_output=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def test_merge(self) -> None:
        done = self.run_in("merge a.profraw b.profraw -o sum.profdata")
        self.assertEqual(done.stdout + done.stderr, "")
        self.assertEqual(counts_of(self.content("sum.profdata")), {"main": 3, "f": 5, "g": 7})
        self.run_in("merge b.profraw sum.profdata a.profraw -o twice.profdata")
        self.assertEqual(counts_of(self.content("twice.profdata")), {"main": 6, "f": 10, "g": 14})
        self.run_in("merge a.profraw a.profraw b.profraw b.profraw -o other.profdata")
        self.assertEqual(self.content("other.profdata"), self.content("twice.profdata"))
        self.assertEqual(self.run_in("validate a.profraw sum.profdata").stdout, "")

    def test_convert(self) -> None:
        self.run_in("convert a.profraw -o a.profdata")
        self.run_in("merge a.profraw -o merged.profdata")
        self.assertEqual(self.content("a.profdata"), self.content("merged.profdata"))
        self.assertEqual(counts_of(self.content("a.profdata")), {"main": 1, "f": 5})
        self.run_in("convert a.profraw a.profdata --to llvm-indexed -o x")
        self.assertEqual(counts_of(self.content("x")), {"main": 2, "f": 10})
        done = self.run_in("convert a.profdata -o x.info", 1)
        self.assertIn("a.profdata: has the format llvm-indexed, which holds coverage", done.stderr)
        done = self.run_in("convert a.profdata -o x.profraw", 1)
        self.assertFalse(os.path.exists(self.path("x.profraw")))

    def test_rewrite_and_zero(self) -> None:
        self.run_in("convert a.profraw -o a.profdata")
        self.run_in("rewrite a.profdata -o b.profdata")
        self.assertEqual(self.content("b.profdata"), self.content("a.profdata"))
        self.run_in("zero b.profdata")
        self.assertEqual(counts_of(self.content("b.profdata")), {"main": 0, "f": 0})
        before = self.content("a.profraw")
        for command in ("rewrite a.profraw -o b.profdata", "zero a.profraw"):
            done = self.run_in(command, 1)
            self.assertRegex(done.stderr, r"^tally: a\.profraw: raw profiles are .*\n$")
        self.assertEqual(self.content("a.profraw"), before)
        self.assertEqual(counts_of(self.content("b.profdata")), {"main": 0, "f": 0})

    def test_values_are_left_out(self) -> None:
        self.put("v.profraw", raw_profile({"main": 1}, values=True))
        done = self.run_in("merge v.profraw a.profraw -o sum.profdata")
        self.assertEqual(done.stderr, "tally: not in llvm-indexed: value data\n")
        self.assertEqual(counts_of(self.content("sum.profdata")), {"main": 2, "f": 5})

    def test_damaged_profiles(self) -> None:
        self.put("sum.profdata", b"old")
        self.put("cut.profraw", self.content("a.profraw")[:150])
        done = self.run_in("validate a.profraw cut.profraw", 1)
        self.assertEqual(done.stdout, "cut.profraw:0x58: error: is truncated\n")
        done = self.run_in("merge a.profraw cut.profraw -o sum.profdata", 1)
        self.assertEqual(done.stderr, "tally: cut.profraw:0x58: is truncated\n")
        self.assertEqual(self.content("sum.profdata"), b"old")
        self.assertEqual(
            sorted(os.listdir(self.folder)),
            ["a.profraw", "b.profraw", "cut.profraw", "sum.profdata"],
        )
        self.put("a.folded", b"main;f 3\n")
        done = self.run_in("merge a.profraw a.folded -o sum.profdata", 1)
        self.assertIn("only files of one format are merged", done.stderr)

    def test_counters_without_names(self) -> None:
        """-profile-correlate=binary leaves the records and names in the program."""
        header = (0xFF6C70726F667281, 8, 0, 0, 0, 1, 0, 0, 0, 0, 1)
        self.put("c.profraw", struct.pack("<12Q", *header, 3))
        self.assertEqual(self.run_in("validate c.profraw").stdout, "")
        for words, message in (
            (
                "",
                "has counters without names, which are in the program "
                "(-profile-correlate=binary): name it by --object",
            ),
            (
                " --object " + sys.executable,
                "has counters without names, and no object has their names",
            ),
        ):
            done = self.run_in("merge c.profraw -o out.profdata" + words, 1)
            self.assertEqual(done.stderr, f"tally: c.profraw: {message}\n")


if __name__ == "__main__":
    run_unittests()
