"""Tests `coverage …` in each LLDB on a program with Clang's source-based coverage."""
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from case import LldbCase, text_of
from support.clang_coverage import clangs_with_profiles, da_lines
from support.gcov_programs import run
from support.lldb_driver import run_lldb
from support.programs import SOURCE_ROOT
from support.skips import run_unittests

SOURCE = SOURCE_ROOT / "tests" / "programs" / "regions_counted.c"
SINCE = "coverage report --by function --limit 0 --since mark --json"


class SourceBasedTest(LldbCase):
    samples_by_perf = False

    def setUp(self) -> None:
        super().setUp()
        if not clangs_with_profiles():
            self.skipTest("no Clang with its profile runtime is installed")
        self.built = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.built)
        flags = ["-fprofile-instr-generate", "-fcoverage-mapping", "-g"]
        run([clangs_with_profiles()[0], *flags, str(SOURCE), "-o", "x"], self.built)

    def test_mark_and_dump(self) -> None:
        dump = f"coverage dump {self.built}/live.info"
        commands = ["breakpoint set -n checkpoint", "run", "coverage mark", "continue", SINCE]
        commands += ["breakpoint set -n spin", "coverage annotate add --json", dump, "kill"]

        def measure(lldb: str) -> None:
            result = run_lldb(
                commands,
                str(self.built / "x"),
                lldb=lldb,
                environment={"LLVM_PROFILE_FILE": "/dev/null"},
            )
            self.assertEqual(result.stderr, "", result)
            calls = {
                each["name"]: each["calls"]["count"]
                for each in json.loads(text_of(result, SINCE))["functions"]
            }
            self.assertEqual(calls, {"checkpoint": 1, "spin": 1})
            shown = json.loads(text_of(result, "coverage annotate add --json"))
            counts = [each["count"] for each in shown["lines"] if each["count"]]
            self.assertEqual(counts[0], {"count": 50, "at_least": False, "exact": True})
            lines = da_lines((self.built / "live.info").read_text(encoding="utf-8"))
            self.assertEqual(lines[str(SOURCE), 6], 50)

        self.in_each(measure)


if __name__ == "__main__":
    run_unittests()
