"""Tests that libtally.so exports the functions of tally.h, and nothing else."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from abi.c_header import parse_header
from support.programs import SANITIZED, SOURCE_ROOT, library
from support.skips import need_tools, run_unittests

HEADER = SOURCE_ROOT / "lib/include/tally.h"


def exported(path: str) -> set:
    """Returns the names, without versions."""
    names = subprocess.run(
        ["nm", "-D", "--defined-only", "--format=posix", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {
        line.split()[0].split("@")[0]
        for line in names.splitlines()
        if line and line.split()[1] != "A"
    }


class ExportsTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("nm")

    def test_library_exports_what_it_declares(self) -> None:
        if SANITIZED:
            self.skipTest("sanitizers export their own symbols")
        if not os.environ.get("TALLY_LIBRARY"):
            self.skipTest("there is no libtally.so yet")
        declared = set(parse_header(HEADER.read_text(encoding="utf-8")).functions)
        self.assertEqual(exported(library()), declared)

    def test_what_is_found(self) -> None:
        need_tools("g++")
        code = 'extern "C" int tally_abi() { return 1; }\nint other() { return 1; }\n'
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "libtoy.so")
            subprocess.run(
                ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", path],
                input=code,
                text=True,
                check=True,
            )
            self.assertEqual(exported(path), {"tally_abi", "_Z5otherv"})


if __name__ == "__main__":
    run_unittests()
