"""Tests the plug-in's file: its dependencies, its exports, and the functions it needs of LLDB."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from case import LldbCase
from support.programs import lldb_plugin
from support.skips import need_tools, run_unittests


def output_of(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def lldb_names(path: str, *options: str) -> set[str]:
    """Returns the mangled names of namespace lldb in a file's dynamic symbol table, without
    versions."""
    lines = output_of("nm", "-D", "--format=posix", *options, path).splitlines()
    names = {line.split()[0].split("@")[0] for line in lines if line}
    return {name for name in names if re.match(r"_ZNK?4lldb", name)}


class BinaryTest(LldbCase):
    samples_by_perf = False

    def setUp(self) -> None:
        need_tools("nm", "readelf", "ldd")
        super().setUp()

    def test_binds_at_load_and_links_no_lldb(self) -> None:
        output = output_of("readelf", "-dW", lldb_plugin())
        self.assertIn("BIND_NOW", output)
        self.assertNotRegex(output, r"NEEDED.*(lldb|LLVM|clang|tally)")

    def test_exports_one_function(self) -> None:
        output = output_of("nm", "-DC", "--defined-only", lldb_plugin()).splitlines()
        self.assertEqual(
            [line.split(" ", 2)[2] for line in output], ["lldb::PluginInitialize(lldb::SBDebugger)"]
        )

    def test_each_lldb_exports_the_needed_symbols(self) -> None:
        needed = lldb_names(lldb_plugin(), "--undefined-only")
        self.assertGreater(len(needed), 50)

        def measure(lldb: str) -> None:
            library = re.search(r"liblldb\S* => (\S+)", output_of("ldd", lldb))
            self.assertTrue(library, f"{lldb} has no liblldb")
            missing = needed - lldb_names(library[1], "--defined-only")
            self.assertFalse(missing, f"{library[1]} lacks {sorted(missing)}")

        self.in_each(measure)


if __name__ == "__main__":
    run_unittests()
