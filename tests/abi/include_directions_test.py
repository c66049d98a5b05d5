"""Tests that the tree breaks no rule about includes, and that each kind of violation is
reported."""
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from abi.include_directions import HEADER_LAYERS, violations
from support.programs import SOURCE_ROOT
from support.skips import run_unittests

# File, its text, and part of the message. Each is created alone in an otherwise correct tree.
BAD = [
    ("lib/src/support/planted.cpp", '#include "model/planted.h"', "support includes model"),
    ("lib/src/model/planted.h", '#include "formats/two/planted.h"', "model includes formats"),
    ("lib/src/collect/planted.cpp", '#include "symbolize/planted.h"', "collect includes symbolize"),
    (
        "lib/src/formats/one/read.cpp",
        '#include "formats/two/planted.h"',
        "one includes formats/two",
    ),
    ("lib/src/formats/one/read.cpp", '#include "../two/planted.h"', "one includes formats/two"),
    ("lib/src/report/planted.cpp", "#include <tally.h>", "report includes capi"),
    ("lib/src/capi/planted.cpp", '#include "cli/planted.h"', "capi includes cli"),
    ("lib/src/model/planted.cpp", "#include <elfutils/libdw.h>", "elfutils"),
    ("lib/src/agent/planted.c", "#include <tally/export.h>", "agent includes support"),
    ("lib/src/model/planted.cpp", '#  include  "model/absent.h"', "not a file of lib"),
    ("lib/src/planted.cpp", "int x;", "MAY_INCLUDE"),
    ("lib/include/tally/planted.h", "int x;", "HEADER_LAYERS"),
    (
        "lib/include/tally/export.h",
        "#include <tally/version.h>\n#include <tally.h>",
        "support includes capi",
    ),
    (
        "tests/unit/model_planted_test.cpp",
        '#include "random_profile.h"\n#include "report/planted.h"',
        "model includes report",
    ),
    (
        "tests/unit/coverage_collect_planted_test.cpp",
        '#include "session/planted.h"',
        "coverage_collect includes session",
    ),
    ("lldb/planted.cpp", "#include <tally/mon.h>", "tally.hpp alone"),
    ("gdb/tally_gdb/planted.py", "from ctypes import c_int", "only tally_gdb/_abi.py"),
    ("gdb/tally_gdb/planted.py", "def f():\n    import ctypes.util", "only tally_gdb/_abi.py"),
    ("gdb/tally_gdb/_abi.py", "from . import commands", "below all others"),
]
GOOD = [
    ("lib/src/symbolize/planted.cpp", '#include <elfutils/libdw.h>\n#include "model/planted.h"'),
    (
        "lib/src/formats/registry.cpp",
        '#include "formats/two/planted.h"\n#include "model/planted.h"',
    ),
    ("lib/src/session/planted.cpp", '#include "symbolize/planted.h"\n#include "report/planted.h"'),
    (
        "lib/cli/planted.cpp",
        '#include "planted.h"\n#include "session/planted.h"\n#include <vector>',
    ),
    (
        "tests/unit/session_planted_test.cpp",
        '#include "session/planted.h"\n#include <tally/export.h>',
    ),
    ("tests/unit/random_planted.h", '#include "report/planted.h"'),
    (
        "lldb/planted.cpp",
        "#include <tally.h>\n#include <tally.hpp>\n#include <lldb/API/SBTarget.h>",
    ),
    ("gdb/tally_gdb/_abi.py", "import ctypes\nfrom . import _paths"),
    ("gdb/tally_gdb/planted.py", "import gdb\nfrom . import _abi\nfrom tally_gdb import _abi"),
]
# Files that the lines above include.
TARGETS = [
    "lib/src/model/planted.h",
    "lib/src/report/planted.h",
    "lib/src/symbolize/planted.h",
    "lib/src/session/planted.h",
    "lib/src/formats/two/planted.h",
    "lib/cli/planted.h",
    *(f"lib/include/{name}" for name in HEADER_LAYERS),
]


class IncludeDirectionsTest(unittest.TestCase):
    def test_the_tree_breaks_no_rule(self) -> None:
        found = violations(SOURCE_ROOT)
        self.assertFalse(found, "\n" + "\n".join(map(str, found)))

    def test_violations_are_reported(self) -> None:
        for file, text, message in BAD:
            with self.subTest(file=file, text=text):
                found = self.planted(file, text)
                self.assertEqual(len(found), 1, found)
                self.assertIn(message, found[0].message)
                self.assertEqual((found[0].file, found[0].line), (file, text.count("\n") + 1))

    def test_allowed_includes_are_not_reported(self) -> None:
        for file, text in GOOD:
            with self.subTest(file=file, text=text):
                self.assertEqual(self.planted(file, text), [])

    def test_a_violation_in_a_copy_of_the_tree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("lib", "gdb", "lldb"):
                if (SOURCE_ROOT / name).is_dir():
                    shutil.copytree(SOURCE_ROOT / name, root / name)
            source = root / "lib/src/support/result.cpp"
            text = source.read_text(encoding="utf-8")
            source.write_text(text + '\n#include "formats/formats.h"\n', encoding="utf-8")
            found = set(violations(root)) - set(violations(SOURCE_ROOT))
        self.assertEqual(
            [violation.message for violation in found], ["support includes formats (formats.h)"]
        )

    def planted(self, file: str, text: str) -> list:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in TARGETS:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).touch()
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text + "\n", encoding="utf-8")
            return violations(root)


if __name__ == "__main__":
    run_unittests()
