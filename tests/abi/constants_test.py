"""Tests that lib/src/capi/constants.cpp compares every enumerator of tally.h with its counterpart in
C++, because the library converts them by casts."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from abi.c_header import parse_header
from support.programs import SOURCE_ROOT
from support.skips import run_unittests

HEADER = SOURCE_ROOT / "lib/include/tally.h"
COMPARED = SOURCE_ROOT / "lib/src/capi/constants.cpp"
# Constants that exist in C alone.
C_ONLY = re.compile(
    r"TALLY_(ABI|LIMIT_\w+|COLUMN_\w+|REPORT_(KERNEL|NO_INLINES)|WRITE_FULL_\w+|EVENT_RAN"
    r"|REGION_\w+|LOAD_\w+)$"
)


def not_compared(header: str, source: str) -> list:
    source = re.sub(r"//[^\n]*", "", source)
    return [
        name
        for name in parse_header(header).constants
        if not C_ONLY.match(name) and not re.search(rf"\b{name} == (int\(|\w+::)", source)
    ]


class ConstantsTest(unittest.TestCase):
    def test_the_enumerators(self) -> None:
        header = HEADER.read_text(encoding="utf-8")
        source = COMPARED.read_text(encoding="utf-8")
        self.assertEqual(not_compared(header, source), [])

    def test_what_is_found(self) -> None:
        header = "enum tally_kind { TALLY_KIND_A = 0, TALLY_KIND_AB = 1, TALLY_KIND_C = 2 };"
        source = (
            "static_assert(TALLY_KIND_AB == int(Kind::ab)); // TALLY_KIND_A == int(Kind::a)\n"
            "static_assert(TALLY_KIND_C == 2);"
        )
        self.assertEqual(not_compared(header, source), ["TALLY_KIND_A", "TALLY_KIND_C"])


if __name__ == "__main__":
    run_unittests()
