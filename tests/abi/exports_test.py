"""Tests that libtally.so exports the functions of tally.h and what the C++ headers declare for export,
and nothing else."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from abi.c_header import parse_header
from support.programs import SANITIZED, SOURCE_ROOT, library
from support.skips import need_tools, run_unittests

INCLUDE = SOURCE_ROOT / "lib/include"
# The first two components of a name in namespace tally, or of a table or thunk of such a type.
# Instances of std:: templates with Tally's types do not match.
CPP_NAME = re.compile(
    r"(?:(?:vtable|VTT|typeinfo|typeinfo name|guard variable) for "
    r"|(?:non-virtual|virtual) thunk to |construction vtable for )*"
    r"tally::(\w+)(?:\[abi:\w+\])?(?:::([~\w]+))?"
)
# GCC exports a few weak instances of std:: functions that return pointers or references to our
# types, most with little optimization; a version script cannot tell their names from ours.
STD_INSTANCE = re.compile(r"tally::[\w:<>, ]+[*&]+ std::")
# The demangled name of a template's instance begins with its result type.
CPP_TEMPLATE = re.compile(r"[\w:<>, *&]+ tally::(\w+)(?:<.*)?()")


def exported(path: str) -> set:
    """Returns the demangled names, without versions."""
    names = subprocess.run(
        ["nm", "-D", "--defined-only", "--no-demangle", "--format=posix", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    mangled = [
        line.split()[0].split("@")[0]
        for line in names.splitlines()
        if line and line.split()[1] != "A"
    ]
    demangled = subprocess.run(
        ["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True
    ).stdout
    return set(demangled.splitlines())


def cpp_names(header: str) -> set:
    """Returns what a C++ header declares with TALLY_API: functions, classes, and functions of
    other classes as "Class::function"."""
    names = set()
    enclosing = ""
    text = re.sub(r"//[^\n]*", "", header)
    for match in re.finditer(r"^inline constexpr Id (\w+) = ", text, re.MULTILINE):
        names.add(match[1])  # templates of constants
    for match in re.finditer(
        r"^( *)(?:class|struct) (TALLY_API )?(\w+)[^;{]*\{" r"|^( *)TALLY_API ([^;{]*?)(\w+)\(",
        text,
        re.MULTILINE,
    ):
        if match[3]:
            enclosing = match[3] if not match[1] else enclosing
            if match[2]:
                names.add(match[3])
        else:
            names.add(f"{enclosing}::{match[6]}" if match[4] else match[6])
    return names


def differences(names: set, declared: set, cpp: set) -> list:
    foreign = sorted(name for name in names if name not in declared and not is_ours(name, cpp))
    return [f"exported, but must not be: {name}" for name in foreign] + [
        f"in tally.h, but not exported: {name}" for name in sorted(declared - names)
    ]


def is_ours(name: str, cpp: set) -> bool:
    if STD_INSTANCE.match(name):
        return True
    match = CPP_NAME.match(name)
    if match is None and "<" in name:
        match = CPP_TEMPLATE.match(name)
    return bool(match) and (match[1] in cpp or f"{match[1]}::{match[2]}" in cpp)


class ExportsTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("nm", "c++filt")

    def test_library_exports_what_it_declares(self) -> None:
        if SANITIZED:
            self.skipTest("sanitizers export their own symbols")
        if not os.environ.get("TALLY_LIBRARY"):
            self.skipTest("there is no libtally.so yet")
        declared = set(parse_header((INCLUDE / "tally.h").read_text(encoding="utf-8")).functions)
        cpp = set().union(
            *(
                cpp_names(path.read_text(encoding="utf-8"))
                for path in (INCLUDE / "tally").glob("*.h")
            )
        )
        found = differences(exported(library()), declared, cpp)
        shown = [line[:160] for line in found[:20]] + [f"{len(found)} in all"]
        self.assertFalse(found, "\n" + "\n".join(shown))

    def test_detected_faults(self) -> None:
        need_tools("g++")
        code = """
            #include <vector>
            extern "C" int tally_abi() { return 1; }
            extern "C" int tally_undeclared() { return 1; }
            namespace tally {
            struct Thing { virtual ~Thing(); };
            Thing::~Thing() {}
            template <class T> T twice(T x) { return x + x; }
            template int twice<int>(int);
            struct Facts { int first() const; int second() const; };
            int Facts::first() const { return 1; }
            int Facts::second() const { return 2; }
            int internal() { return 3; }
            }
            namespace tallying { int x; }
            std::vector<tally::Thing> f() { return {}; }
        """
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "libtoy.so")
            subprocess.run(
                ["g++", "-shared", "-fPIC", "-O2", "-x", "c++", "-", "-o", path],
                input=code,
                text=True,
                check=True,
            )
            cpp = cpp_names(
                """
                struct TALLY_API Thing { virtual ~Thing(); };
                template <class T>
                TALLY_API T twice(T x);
                struct Facts {
                  TALLY_API int first() const;
                };
                """.replace(
                    "\n" + 16 * " ", "\n"
                )
            )
            self.assertEqual(cpp, {"Thing", "twice", "Facts::first"})
            found = differences(exported(path), {"tally_abi", "tally_absent"}, cpp)
        self.assertEqual(
            found,
            [
                "exported, but must not be: f()",
                "exported, but must not be: tally::Facts::second() const",
                "exported, but must not be: tally::internal()",
                "exported, but must not be: tally_undeclared",
                "exported, but must not be: tallying::x",
                "in tally.h, but not exported: tally_absent",
            ],
        )


if __name__ == "__main__":
    run_unittests()
