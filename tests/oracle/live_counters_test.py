"""Compares the counters that `tally coverage` reads from a process (--pid) or from a core file
(--core) with the files that the process writes when it exits. The bytes must be equal.

Each program stops itself in a function that exit() calls, and libgcov writes the files afterwards.
"""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.gcov_programs import SOURCES, compiler_of, run
from support.programs import command_line
from support.skips import missing_tool, need_tools, run_unittests

# It is compiled without --coverage, so that the stop itself counts nothing. Handlers of exit() run
# before the destructors, among which is that of libgcov. This handler is registered first, so that it
# runs last, after those of static objects.
STOP = """
#include <signal.h>
#include <stdlib.h>
static void stop(void) { raise(SIGSTOP); }
__attribute__((constructor(101))) static void init(void) { atexit(stop); }
"""
MAIN = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names) {
  for (int i = 1; i < count; ++i) {
    void *plugin = dlopen(names[i], RTLD_NOW);
    int (*work)(int) = plugin ? (int (*)(int))dlsym(plugin, "work") : 0;
    if (!work)
      return 1;
    printf("%d\\n", work(i));
  }
  return 0;
}
"""
WORK = """
int helper(int n) { return n > 1 ? n * helper(n - 1) : 1; }
int work(int n) {
  int sum = 0;
  for (int i = 0; i < 10 * n; ++i)
    sum += i % 3 ? helper(i % 5) : -i;
  return sum;
}
"""


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


class LiveCountersTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("gcc", "g++")
        self.folder = Path(tempfile.mkdtemp(prefix="live-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def build_stop(self, *options: str) -> None:
        self.write("stop.c", STOP)
        run(["gcc", *options, "-c", "stop.c"], self.folder)

    def compare(self, *words: str, by_core: bool = False) -> int:
        """Runs the program, reads its counters where it stops, and lets it end. Compares all files
        that it writes. Returns how many there are. With `by_core`, they are read from a core file that
        GDB writes at the stop."""
        with subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.DEVNULL, start_new_session=True
        ) as process:
            try:
                deadline = time.monotonic() + 60
                while state_of(process.pid) != "T":
                    self.assertIsNone(process.poll(), "the program ended without its stop")
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.01)
                source = ["--pid", str(process.pid)]
                if by_core:
                    run(["gcore", "-o", "core", str(process.pid)], self.folder)
                    source = ["--core", f"core.{process.pid}"]
                read = run([command_line(), "coverage", *source, "--counters", "read"], self.folder)
                process.send_signal(signal.SIGCONT)
                process.wait(60)
            finally:
                process.kill()
        written = sorted(self.folder.glob("*.gcda"))
        self.assertTrue(written)
        for path in written:
            copy = Path(f"{self.folder}/read{path}")
            self.assertTrue(copy.is_file(), f"{path.name} was not read: {read.stderr}")
            self.assertEqual(copy.read_bytes(), path.read_bytes(), path.name)
        self.assertEqual(len(list(self.folder.rglob("read/**/*.gcda"))), len(written))
        if "uncertain" in read.stderr:
            return len(written)
        # The table is that of the files.
        table = run([command_line(), "coverage", "."], self.folder).stdout
        self.assertEqual(read.stdout, table)
        return len(written)

    def build(self, source: str, options: list[str], link: list[str]) -> None:
        shutil.copytree(SOURCES, self.folder, dirs_exist_ok=True)
        (self.folder / "linked").symlink_to("inc")
        compiler = compiler_of(source)
        run([*compiler, "--coverage", *options, "-c", source, "-o", "x.o"], self.folder)
        machine = [word for word in options if word == "-m32"]
        self.build_stop(*machine)
        run(
            [*compiler, "--coverage", "-pthread", *machine, "x.o", "stop.o", "-o", "x", *link],
            self.folder,
        )

    def test_each_program(self) -> None:
        for source in ("shapes.cpp", "jumps.c", "threads.cpp", "unity.cpp", "instances.cpp"):
            for level in ("-O0", "-O2"):
                with self.subTest(source=source, level=level):
                    self.setUp()
                    self.build(source, [level, "-fprofile-update=atomic"], [])
                    self.compare("./x")

    def test_ways_to_link(self) -> None:
        for link in (["-static"], ["-no-pie"], ["-s"], ["-s", "-static"], ["-s", "-no-pie"]):
            with self.subTest(link=link):
                self.setUp()
                self.build("shapes.cpp", ["-O1"], link)
                self.compare("./x")

    def test_clang(self) -> None:
        """From -O1 on, only the symbols and the notes show which counters are whose."""
        need_tools("clang-14")
        for level in ("-O0", "-O1", "-O2"):
            with self.subTest(level=level):
                self.setUp()
                shutil.copytree(SOURCES, self.folder, dirs_exist_ok=True)
                (self.folder / "linked").symlink_to("inc")
                self.write("plug.c", WORK)
                self.write(
                    "host.c", MAIN.replace("int main", "int never(int n) { return n; }\nint main")
                )
                self.build_stop()
                for source in ("shapes.cpp", "instances.cpp", "jumps.c"):
                    with self.subTest(source=source):
                        for path in self.folder.glob("*.gcda"):
                            path.unlink()
                        clang = "clang-14" if source.endswith(".c") else "clang++-14"
                        run([clang, "--coverage", level, "-c", source, "-o", "x.o"], self.folder)
                        run(
                            [clang, "--coverage", "-pthread", "x.o", "stop.o", "-o", "x"],
                            self.folder,
                        )
                        self.compare("./x")
                for name in ("x.gcda", "x.gcno"):
                    (self.folder / name).unlink()
                shutil.rmtree(self.folder / "read")
                run(["clang-14", "--coverage", level, "-c", "host.c"], self.folder)
                run(["clang-14", "--coverage", "host.o", "stop.o", "-o", "host"], self.folder)
                plug = ["clang-14", "--coverage", level, "-fPIC"]
                run([*plug, "-c", "plug.c"], self.folder)
                run([*plug, "-shared", "plug.o", "-o", "plug.so"], self.folder)
                self.assertEqual(self.compare("./host", "./plug.so"), 2)

    def test_core_files(self) -> None:
        need_tools("gcore")
        links: list[list[str]] = [[], ["-static"], ["-s", "-no-pie"]]
        for link in links:
            with self.subTest(link=link):
                self.setUp()
                self.build("threads.cpp", ["-O1", "-fprofile-update=atomic"], link)
                self.compare("./x", by_core=True)
        self.setUp()
        self.build_shared_objects()
        self.assertEqual(self.compare("./main", "./one.so", "./two.so", by_core=True), 3)

    def test_a_core_file_without_counters(self) -> None:
        need_tools("gcore")
        self.build("jumps.c", ["-O0"], [])
        with subprocess.Popen(["./x"], cwd=self.folder, stdout=subprocess.DEVNULL) as process:
            try:
                while state_of(process.pid) != "T":
                    time.sleep(0.01)
                # Without anonymous memory, which is what .bss and the changed part of .data are.
                Path(f"/proc/{process.pid}/coredump_filter").write_text("0x32", encoding="ascii")
                run(["gcore", "-o", "core", str(process.pid)], self.folder)
            finally:
                process.kill()
        self.assertIn("the core file holds no data of x", self.refused("--core", *self.cores()))

    def cores(self) -> list[str]:
        return [str(path) for path in self.folder.glob("core.*")]

    def test_counters_for_optimization(self) -> None:
        self.build("shapes.cpp", ["-O1", "-fprofile-generate", "-fprofile-update=atomic"], [])
        self.compare("./x")

    def test_32_bits(self) -> None:
        self.write("probe.c", "#include <stdio.h>\nint main(void) { return 0; }\n")
        if run(["gcc", "-m32", "probe.c", "-o", "probe"], self.folder, None).returncode != 0:
            self.skipTest("gcc cannot compile for 32 bits (Debian: gcc-multilib)")
        try:
            run(["./probe"], self.folder)
        except OSError as fault:
            self.skipTest(f"this kernel cannot run a program of 32 bits: {fault}")
        self.build("jumps.c", ["-m32", "-O0"], [])
        self.compare("./x")

    def test_other_versions(self) -> None:
        tried = 0
        for version in ("11", "13", "14", "15"):
            if missing_tool(f"gcc-{version}"):
                continue
            with self.subTest(version=version):
                tried += 1
                self.setUp()
                shutil.copytree(SOURCES, self.folder, dirs_exist_ok=True)
                self.build_stop()
                gcc = f"gcc-{version}"
                run([gcc, "--coverage", "-O0", "-c", "jumps.c", "-o", "x.o"], self.folder)
                run([gcc, "--coverage", "x.o", "stop.o", "-o", "x"], self.folder)
                self.compare("./x")
        if not tried:
            self.skipTest("there is no other GCC (Debian: gcc-11)")

    def refused(self, *words: str) -> str:
        done = run([command_line(), "coverage", *words], self.folder, None)
        self.assertNotIn(done.returncode, (0, -signal.SIGSEGV, -signal.SIGABRT), done.stdout)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_refusals(self) -> None:
        self.assertIn("there is no process 2147483647", self.refused("--pid", "2147483647"))
        self.assertIn("--counters: requires --pid or --core", self.refused("--counters", "out"))
        self.assertIn("cannot be used with --pid", self.refused("--pid", "1", "build"))
        self.assertIn("cannot be used with --core", self.refused("--core", "x", "--pid", "1"))
        self.assertIn("is not a core file", self.refused("--core", sys.executable))
        self.assertIn("is not an ELF file", self.refused("--core", __file__))
        with subprocess.Popen(["sleep", "60"]) as process:
            text = self.refused("--pid", str(process.pid))
            process.kill()
        self.assertIn("was compiled with --coverage", text)

    def test_notes_of_another_compilation(self) -> None:
        self.write("main.c", MAIN)
        self.write("work.c", WORK.replace("int work", "int main"))
        self.build_stop()
        run(["gcc", "--coverage", "-O0", "-c", "work.c"], self.folder)
        run(["gcc", "--coverage", "work.o", "stop.o", "-o", "x"], self.folder)
        self.write("work.c", WORK.replace("int work", "int x; int main"))
        run(["gcc", "--coverage", "-O0", "-c", "work.c"], self.folder)
        with subprocess.Popen(["./x"], cwd=self.folder) as process:
            while state_of(process.pid) != "T":
                time.sleep(0.01)
            text = run(
                [command_line(), "coverage", "--pid", str(process.pid)], self.folder, None
            ).stderr
            process.kill()
        self.assertIn("notes, which are of another compilation", text)

    def build_shared_objects(self) -> None:
        self.write("main.c", MAIN)
        self.write("work.c", WORK)
        self.build_stop()
        run(["gcc", "--coverage", "-O0", "main.c", "stop.o", "-o", "main"], self.folder)
        for name in ("one", "two"):
            shutil.copy(self.folder / "work.c", self.folder / f"{name}.c")
            run(
                ["gcc", "--coverage", "-O0", "-fPIC", "-shared", f"{name}.c", "-o", f"{name}.so"],
                self.folder,
            )

    def test_shared_objects(self) -> None:
        self.build_shared_objects()
        self.assertEqual(self.compare("./main", "./one.so", "./two.so"), 3)


if __name__ == "__main__":
    run_unittests()
