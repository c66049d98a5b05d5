"""Tests that libtally.so exports the functions of tally.h and namespace tally, and nothing else."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from abi.c_header import parse_header
from support.programs import SOURCE_ROOT, library
from support.skips import need_tools, run_unittests

HEADER = SOURCE_ROOT / "lib/include/tally.h"
# Names in namespace tally, with the tables and thunks of its types. Instances of std:: templates
# with Tally's types do not match.
CPP_NAME = re.compile(r"(?:(?:vtable|VTT|typeinfo|typeinfo name|guard variable) for "
                      r"|(?:non-virtual|virtual) thunk to |construction vtable for )*tally::")


def exported(path: str) -> set:
    """Returns the demangled names, without versions."""
    names = subprocess.run(["nm", "-D", "--defined-only", "--no-demangle", "--format=posix", path],
                           capture_output=True, text=True, check=True).stdout
    mangled = [line.split()[0].split("@")[0] for line in names.splitlines()
               if line and line.split()[1] != "A"]
    demangled = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True,
                               text=True, check=True).stdout
    return set(demangled.splitlines())


def differences(names: set, declared: set) -> list:
    foreign = sorted(name for name in names if name not in declared and not is_ours(name))
    return [f"exported, but must not be: {name}" for name in foreign] + \
        [f"in tally.h, but not exported: {name}" for name in sorted(declared - names)]


def is_ours(name: str) -> bool:
    # The demangled name of a template's instance begins with its result type.
    return bool(CPP_NAME.match(name)) or \
        ("<" in name and bool(re.search(r"^[\w:<>, *&]+ tally::", name)))


class ExportsTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("nm", "c++filt")

    def test_the_library(self) -> None:
        if os.environ.get("TALLY_SANITIZE", "none") != "none":
            self.skipTest("sanitizers export their own symbols")
        if not os.environ.get("TALLY_LIBRARY"):
            self.skipTest("there is no libtally.so yet")
        declared = set(parse_header(HEADER.read_text(encoding="utf-8")).functions)
        found = differences(exported(library()), declared)
        shown = [line[:160] for line in found[:20]] + [f"{len(found)} in all"]
        self.assertFalse(found, "\n" + "\n".join(shown))

    def test_what_is_found(self) -> None:
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
            }
            namespace tallying { int x; }
            std::vector<tally::Thing> f() { return {}; }
        """
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "libtoy.so")
            subprocess.run(["g++", "-shared", "-fPIC", "-O2", "-x", "c++", "-", "-o", path],
                           input=code, text=True, check=True)
            found = differences(exported(path), {"tally_abi", "tally_absent"})
        self.assertEqual(found, ["exported, but must not be: f()",
                                 "exported, but must not be: tally_undeclared",
                                 "exported, but must not be: tallying::x",
                                 "in tally.h, but not exported: tally_absent"])


if __name__ == "__main__":
    run_unittests()
