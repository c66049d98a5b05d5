"""Checks the sizes of classes.

    python3 tests/abi/class_sizes_test.py [ClassSizesTest.test_classes_in_c]...
"""
from __future__ import annotations

import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Iterator

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from abi import class_sizes
from support.skips import need_tools, run_unittests

ROOT = Path(__file__).resolve().parents[2]

CPP_SAMPLE = """#include <vector>
namespace {
// A comment of something else.

class Small { // its methods, a word on its own line
public:
  Small() = default;
  int value() const { return value_; }
  void set(int value);
  struct Inner {
    int a = 0, b[2];
    static constexpr int limit = 3;
  };
private:
  static int shared_;
  int value_ = 0;
  std::vector<Inner> inner_;
};
void Small::set(int value) { value_ = value; }

// A record with many
// data members.
template <class T> struct Record {
  T first;
  unsigned bits : 3;
};
}
struct Small { int other; }; // a homonym
"""

PYTHON_SAMPLE = '''class One:
    """Has methods
    and data   members."""

    count: int = 0
    shared = 1

    def __init__(self) -> None:
        self.a, self.b = 1, 2
        self.a += 1

    def other(self, that) -> None:
        that.c = 1
        for self.d in that:
            pass
'''


def sources(*endings: str) -> Iterator[Path]:
    for folder in ("lib", "lldb", "gdb", "meson-module", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            # The corpus of the fuzzers has any bytes.
            if path.is_file() and path.suffix in endings and "corpus" not in path.parts:
                yield path


class CounterTest(unittest.TestCase):
    """Checks the counter itself, on texts with known numbers."""

    def setUp(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def file(self, name: str, text: str) -> Path:
        path = Path(self._folder.name, name)
        path.write_text(text, encoding="utf-8")
        return path

    def test_cpp(self) -> None:
        need_tools("ctags")
        found = class_sizes.c_classes([self.file("sample.h", CPP_SAMPLE)])
        self.assertEqual(
            [(each.name, each.members, each.methods, each.comment) for each in found],
            [
                ("Small", ["value_", "inner_"], ["Small", "value", "set"], ""),
                ("Inner", ["a", "b"], [], ""),
                ("Record", ["first", "bits"], [], "A record with many data members."),
                ("Small", ["other"], [], ""),
            ],
        )

    def test_c(self) -> None:
        need_tools("ctags")
        text = (
            "/* Has data\n * members. */\nstruct wire {\n  int a, b;\n  union { int c; } d;\n};\n"
        )
        found = class_sizes.c_classes([self.file("sample.c", text)])
        self.assertEqual(found[0].members, ["a", "b", "d"])
        self.assertEqual(found[0].comment, "Has data members.")

    def test_python(self) -> None:
        (one,) = class_sizes.python_classes([self.file("sample.py", PYTHON_SAMPLE)])
        self.assertEqual(one.members, ["count", "a", "b", "d"])
        self.assertEqual(one.methods, ["__init__", "other"])
        self.assertEqual(one.comment, "Has methods and data members.")

    def test_limits(self) -> None:
        need_tools("ctags")

        def violations(members: int, methods: int, comment: str = "") -> list[str]:
            lines = [f"  int m{i};" for i in range(members)]
            lines += [f"  void f{i}();" for i in range(methods)]
            text = "\n".join([comment, "struct S {", *lines, "};", ""])
            (found,) = class_sizes.c_classes([self.file("sample.h", text)])
            return list(found.violations())

        self.assertEqual(violations(15, 30), [])
        (members,) = violations(16, 30)
        self.assertIn(":2: S has 16 data members", members)
        (methods,) = violations(15, 31)
        self.assertIn(":2: S has 31 methods", methods)
        self.assertEqual(violations(16, 31, "// Why its data members and methods are many."), [])
        (methods,) = violations(16, 31, "// Why its data members are many.")
        self.assertIn("31 methods", methods)


class ClassSizesTest(unittest.TestCase):
    def check(self, violations: list[str]) -> None:
        self.assertEqual(violations, [], "\n" + "\n".join(violations))

    def test_classes_in_c(self) -> None:
        need_tools("ctags")
        paths = [
            path
            for path in sources(".h", ".c", ".cpp")
            if path.relative_to(ROOT).parts[0] in ("lib", "lldb")
        ]
        found = class_sizes.c_classes(paths)
        self.assertGreater(len(found), 400)  # the tags were understood
        self.check([text for each in found for text in each.violations()])

    def test_classes_in_python(self) -> None:
        paths = [
            path
            for path in sources(".py")
            if path.relative_to(ROOT).parts[0] in ("gdb", "meson-module")
        ]
        found = class_sizes.python_classes(paths)
        self.assertGreater(len(found), 20)
        self.check([text for each in found for text in each.violations()])


if __name__ == "__main__":
    run_unittests()
