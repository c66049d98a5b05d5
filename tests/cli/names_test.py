"""Tests that code has names: code that a program makes while it runs, and that of stripped files."""
from __future__ import annotations

import contextlib
import glob
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest.mock
from typing import Any, Callable

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.debug_server import DebugServer, send, start_debuginfod
from support.profiles import ProfileCase
from support.programs import SOURCE_ROOT, command_line, program
from support.skips import need_perf, need_tools, run_unittests

LIBRARY = """\
#include <time.h>
#define FUNCTION __attribute__((noinline))
FUNCTION void exported(volatile long *p) { for (int i = 0; i < 1000; i++) *p -= i; }
FUNCTION static void hidden(volatile long *p) { for (int i = 0; i < 1000; i++) *p += i; }
void work(void) {
  volatile long p = 0;
  struct timespec t;
  do {
    for (int i = 0; i < 100; i++) {
      hidden(&p);
      exported(&p);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  } while (t.tv_nsec < 200000000);
}
"""


class NamesCase(ProfileCase):
    def setUp(self) -> None:
        need_perf()
        super().setUp()

    def put(self, name: str, text: str) -> None:
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run_tool(self, *words: str) -> str:
        done = subprocess.run(
            words, cwd=self.folder, check=True, timeout=60, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def functions(self, *command: str, event: str = "") -> dict[str, dict[str, Any]]:
        path = self.path("out.pb.gz")
        words = ("--event", event) if event else ()
        self.tally("record", *words, "-o", path, "--", *command)
        return {row["name"]: row for row in self.report(path)["functions"]}


# GCC moves what work() does if p is not null into work.part.0().
SPLIT = """\
static volatile unsigned long x;
__attribute__((noinline, noclone)) void spin(long n) { for (long i = 0; i < n; ++i) x += i; }
void work(int *p, long n) {
  if (p)
    for (long k = 0; k < 3; ++k) {
      spin(n);
      x ^= *p;
      spin(n / 2);
      x += n % 17;
      spin(n / 4);
      x ^= n * 3;
    }
}
int main(int c, char **v) {
  int a = c;
  for (int i = 0; i < 5; ++i) {
    work(c > 1 ? 0 : &a, 10000000);
    work(c > 2 ? 0 : &a, 5000000);
  }
  return 0;
}
"""


class SplitFunctionTest(NamesCase):
    def test_a_piece_is_no_recursive_call(self) -> None:
        need_tools("gcc", "nm")
        self.put("split.c", SPLIT)
        self.run_tool("gcc", "-O2", "-g", "-o", "split", "split.c")
        self.assertIn(" work.part.0\n", self.run_tool("nm", "split"))
        rows = self.functions(self.path("split"))
        tree = self.tally("tree", self.path("out.pb.gz")).stdout
        self.assertNotIn("work (recursive)", tree)
        self.assertRegex(tree, r"\n.*  main  .*\n.*    work  .*\n.*      spin  ")
        self.assertGreaterEqual(rows["work"]["inclusive"][0], rows["spin"]["inclusive"][0])


# The code that calls main(), and spin(), have no call frame information, as the C library musl.
BARE_START = """\
__asm__(".globl _start\\n_start: jmp start_up\\n.skip 128\\nstart_up: mov $1, %rbp\\n"
        "and $-16, %rsp\\ncall main\\nmov %eax, %edi\\nmov $60, %eax\\nsyscall\\n"
        ".type spin, @function\\nspin: mov $400000000, %rcx\\n"
        "1: dec %rcx\\njnz 1b\\nret\\n.size spin, . - spin");
void spin(void);
static volatile unsigned long x;
__attribute__((noinline)) void work(void) {
  spin();
  x += 1;
}
int main(void) {
  work();
  x += 1;
  return 0;
}
"""


class BareStartTest(NamesCase):
    @unittest.skipUnless(platform.machine() == "x86_64", "the start is in assembler of x86-64")
    def test_a_stack_that_begins_before_main_is_complete(self) -> None:
        need_tools("gcc")
        self.put("bare.c", BARE_START)
        self.run_tool("gcc", "-O1", "-g", "-static", "-nostdlib", "-o", "bare", "bare.c")
        rows = self.functions(self.path("bare"))
        # A tick in start_up itself, before it calls main(), is not known to have no caller.
        truncated = rows.get("[truncated: no unwind data]", {"inclusive": [0]})
        self.assertLessEqual(truncated["inclusive"], rows["start_up"]["self"])
        self.assertNotIn("[callers guessed]", rows)
        for name in ("start_up", "work"):
            self.assertGreaterEqual(rows[name]["inclusive"], rows["spin"]["inclusive"])
        self.assertGreater(rows["spin"]["self"][0], 20)


class JitCase(NamesCase):
    def tearDown(self) -> None:
        """Removes the maps of perf_map, which no other test runs. Those of other programs come and
        go."""
        for path in glob.glob("/tmp/perf-*.map"):
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                # Another program's map may be a sparse file of many gigabytes.
                file.seek(max(0, os.stat(path).st_size - 100))
                if file.read().endswith(b" 10 incom"):
                    os.unlink(path)
        super().tearDown()


class JitTest(JitCase):
    def test_perf_map(self) -> None:
        rows = self.functions(program("perf_map"), "0.3")
        self.assertEqual(rows["made now"]["object"], "[jit]")
        self.assertGreater(rows["made now"]["self"][0], 150)
        self.assertNotIn("replaced", rows)

    def test_code_that_replaces_other_code(self) -> None:
        """The two functions have the same address, each for half of the time."""
        rows = self.functions(program("perf_map"), "--dump", self.path(""), "0.4")
        for name in ("made_first", "made_later"):
            self.assertAlmostEqual(rows[name]["self"][0], 200, delta=40)
            self.assertEqual((rows[name]["object"], rows[name]["file"]), ("[jit]", "made.js"))


# Each call of second() fetches the page of the stubs again, so that the stub has a page fault. How
# often a tick meets a stub depends on the processor.
STUBS = """\
#include <stdint.h>
#include <sys/mman.h>
void first(long), second(long);
extern char __executable_start;
__attribute__((aligned(4096))) int main(void) {
  for (long i = 0; i < 100; i++) {
    madvise(&__executable_start, (uintptr_t)main - (uintptr_t)&__executable_start, MADV_DONTNEED);
    second(i);
  }
  first(1);
}
"""


@unittest.skipUnless(platform.machine() == "x86_64", "stubs are named on x86-64 only")
class GoneTest(JitCase):
    """The names are looked up after the program has ended."""

    def namespaces(self, *flags: str) -> list[str]:
        """Returns words to put before a command that runs in namespaces of its own."""
        words = ["unshare", *flags, *([] if os.geteuid() == 0 else ["-r"])]
        need_tools("unshare")
        done = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"no namespaces: {done.stderr.strip()}")
        return words

    def test_a_file_that_is_removed(self) -> None:
        shutil.copy(program("spin7030"), self.path("gone"))
        rows = self.functions("sh", "-c", '"$0" 0.3; rm "$0"', self.path("gone"))
        self.assertGreater(rows["seventy"]["self"][0], 50)
        self.assertTrue(rows["seventy"]["object"].endswith("/gone"), rows["seventy"])

    def test_a_file_system_that_is_unmounted(self) -> None:
        script = 'mount -t tmpfs none "$1" && cp "$0" "$1"/gone && exec "$1"/gone 0.3'
        words = [*self.namespaces("-m"), "sh", "-c", script, program("spin7030"), self.folder]
        rows = self.functions(*words)
        self.assertGreater(rows["seventy"]["self"][0], 50)

    def test_perf_map_of_a_namespace(self) -> None:
        rows = self.functions(*self.namespaces("-fp"), program("perf_map"), "0.3")
        self.assertEqual(rows["made now"]["object"], "[jit]")

    def test_perf_map_of_another_tmp(self) -> None:
        script = 'mount -t tmpfs none /tmp && exec "$0" 0.3'
        rows = self.functions(*self.namespaces("-m"), "sh", "-c", script, program("perf_map"))
        self.assertEqual(rows["made now"]["object"], "[jit]")

    def test_perf_map_of_another_root(self) -> None:
        script = (
            'mount -t tmpfs none "$1" && mkdir "$1"/tmp && cp "$0" "$1" && chroot "$1" /made 0.3'
        )
        source = SOURCE_ROOT / "tests" / "programs" / "perf_map.c"
        os.mkdir(self.path("root"))
        self.run_tool("gcc", "-static", str(source), "-o", "made")
        words = [*self.namespaces("-m"), "sh", "-c", script, self.path("made"), self.path("root")]
        rows = self.functions(*words)
        self.assertEqual(rows["made now"]["object"], "[jit]")


class StubsTest(NamesCase):
    def test_stubs_of_the_linkage_table(self) -> None:
        """They are behind a header in .plt, and without one in .plt.sec."""
        self.put("stubs.c", STUBS)
        self.put("callees.c", "void first(long i) { (void)i; } void second(long i) { (void)i; }")
        for option in ("-fcf-protection=none", "-Wl,-z,ibtplt"):
            with self.subTest(option=option):
                self.run_tool("gcc", "-shared", "-fPIC", "callees.c", "-o", "libcallees.so")
                self.run_tool(
                    *("gcc", "-O2", "stubs.c", self.path("libcallees.so"), "-o", "stubs"),
                    *("-Wl,-z,lazy", option),
                )
                rows = self.functions(self.path("stubs"), event="page-faults")
                self.assertGreaterEqual(rows["second@plt"]["self"][0], 100)
                self.assertNotIn("first@plt", rows)


class StrippedTest(NamesCase):
    def test_symbols(self) -> None:
        need_tools("gcc", "objcopy", "strip", "nm", "xz")
        for name, text in (
            ("lib.c", LIBRARY),
            ("main.c", "void work(void);\nint main() { work(); }\n"),
        ):
            self.put(name, text)
        library = ["-O1", "-fno-inline", "-fno-toplevel-reorder", "-shared", "-fPIC", "lib.c"]
        self.run_tool("gcc", *library, "-o", "libx.so", "-Wl,--build-id")
        self.run_tool("gcc", "main.c", "-L.", "-lx", "-Wl,-rpath," + self.folder, "-o", "main")
        symbols = {
            words[0]: (words[1], int(words[2], 16))
            for words in map(str.split, self.run_tool("nm", "-P", "libx.so").splitlines())
            if len(words) > 2
        }
        self.run_tool("objcopy", "--only-keep-debug", "libx.so", "x.debug")
        self.run_tool("strip", "libx.so")

        rows = self.functions(self.path("main"))
        unnamed = f"libx.so+{symbols['hidden'][1]:#x}"
        self.assertGreater(rows["exported"]["self"][0], 20)
        self.assertGreater(rows[unnamed]["self"][0], 20)

        # As Fedora's find-debuginfo does it: the symbols that .dynsym lacks.
        with open(self.path("keep"), "w", encoding="utf-8") as file:
            file.writelines(name + "\n" for name, (kind, _) in symbols.items() if kind == "t")
        self.run_tool("objcopy", "-S", "--keep-symbols=keep", "x.debug", "mini")
        self.run_tool("xz", "mini")
        self.run_tool("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "libx.so")
        rows = self.functions(self.path("main"))
        if "hidden" not in rows and unnamed in rows:
            self.skipTest("Tally was built without liblzma")
        self.assertGreater(rows["exported"]["self"][0], 20)
        self.assertGreater(rows["hidden"]["self"][0], 20)


PROGRAM = """\
#include <time.h>
void work(void);
static inline __attribute__((always_inline)) void inlined(volatile long *p) {
  for (int i = 0; i < 1000; i++) *p -= i;
}
static __attribute__((noinline)) void own(volatile long *p) { inlined(p); }
int main(void) {
  volatile long p = 0;
  struct timespec t;
  do {
    for (int i = 0; i < 100; i++) own(&p);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  } while (t.tv_nsec < 50000000);
  work();
}
"""


class DebuginfodTest(ProfileCase):
    """A stripped program and its stripped library. Their debug files are in the folder `debug`,
    where no debug link leads to."""

    built: str  # the directory of all tests
    ids: dict[str, str]  # by file, that of the most samples first

    @classmethod
    def setUpClass(cls) -> None:
        need_tools("gcc", "objcopy", "strip", "perf", "readelf")
        built = tempfile.TemporaryDirectory(prefix="debuginfod-")
        cls.addClassCleanup(built.cleanup)
        cls.built = built.name
        os.mkdir(os.path.join(cls.built, "debug"))
        for name, text in ("libx.so", LIBRARY), ("main", PROGRAM):
            with open(os.path.join(cls.built, name + ".c"), "w", encoding="utf-8") as file:
                file.write(text)
        compiler = ["gcc", "-g", "-O1", "-Wl,--build-id"]
        cls.run_tool(*compiler, "-shared", "-fPIC", "libx.so.c", "-o", "libx.so")
        cls.run_tool(*compiler, "main.c", "-L.", "-lx", "-Wl,-rpath," + cls.built, "-o", "main")
        cls.ids = {}
        for name in "libx.so", "main":
            debug = f"debug/{name}.debug"
            cls.run_tool("objcopy", "--only-keep-debug", name, debug)
            cls.run_tool("strip", name)
            cls.run_tool("objcopy", f"--add-gnu-debuglink={debug}", name)
            cls.ids[name] = cls.build_id(name)
        record = ["perf", "record", "-q", "-e", "cpu-clock:u", "-o", "perf.data"]
        done = subprocess.run(
            [*record, os.path.join(cls.built, "main")],
            cwd=cls.built,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            raise unittest.SkipTest(f"perf record: {done.stderr.strip()[:200]}")

    def setUp(self) -> None:
        super().setUp()
        self.cache = self.path("cache")
        self.folder = self.built
        self.files = {}
        for name, build_id in self.ids.items():
            with open(self.path(f"debug/{name}.debug"), "rb") as content:
                self.files[build_id] = content.read()
        settings = {"DEBUGINFOD_CACHE_PATH": self.cache, "TALLY_CACHE_DIR": ""}
        patch = unittest.mock.patch.dict(os.environ, {**settings, "DEBUGINFOD_URLS": ""})
        patch.start()
        self.addCleanup(patch.stop)
        self.unnamed = self.shown("report")
        self.assertNotIn("hidden", self.unnamed)

    @classmethod
    def run_tool(cls, *words: str) -> str:
        done = subprocess.run(
            words, cwd=cls.built, check=True, timeout=60, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    @classmethod
    def build_id(cls, file: str) -> str:
        return cls.run_tool("readelf", "-n", file).split("Build ID: ")[1].split()[0]

    def install(self, folder: str) -> None:
        """Puts debug files where the debug links lead to, and asks no server any more."""
        os.environ["DEBUGINFOD_URLS"] = ""
        shutil.copytree(folder, self.path(".debug"))
        self.addCleanup(shutil.rmtree, self.path(".debug"))

    def shown(self, command: str, *words: str) -> str:
        return self.tally(command, self.path("perf.data"), *words).stdout

    def serve(self, answer: Callable) -> DebugServer:
        server = DebugServer(self, answer)
        os.environ["DEBUGINFOD_URLS"] = server.url
        return server

    def warnings(self, **environment: str) -> list[str]:
        """Returns the warnings of a report that shows the names of the stripped files."""
        # libdebuginfod 0.188 does not close a stream if a transfer is refused when it begins.
        with open(self.path("suppressions"), "w", encoding="ascii") as file:
            file.write("leak:_IO_file_doallocate\n")
        environment[
            "LSAN_OPTIONS"
        ] = f"suppressions={self.path('suppressions')}:print_suppressions=0"
        with unittest.mock.patch.dict(os.environ, environment):
            done = self.tally("report", self.path("perf.data"))
        if "libdebuginfod" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.stdout, self.unnamed)
        return done.stderr.splitlines()

    def answer(self, handler: Any, build_id: str) -> None:
        if build_id in self.files:
            send(handler, self.files[build_id])
        else:
            handler.send_error(404)

    def need_client(self) -> None:
        """Skips the test if Tally was built without libdebuginfod."""
        server = self.serve(lambda handler, _: handler.send_error(404))
        self.shown("report")
        if not server.asked:
            self.skipTest("Tally was built without libdebuginfod")
        shutil.rmtree(self.cache)  # it remembers what is missing

    def test_tables_are_those_of_installed_debug_files(self) -> None:
        need_tools("debuginfod")
        self.need_client()
        os.environ["DEBUGINFOD_URLS"] = start_debuginfod(self, self.path("debug"), self.ids["main"])
        commands = [
            ["report"],
            ["report", "--by", "line"],
            ["tree"],
            ["annotate", "hidden"],
            ["annotate", "hidden", "--asm"],
        ]
        fetched = [self.shown(*each) for each in commands]
        self.assertEqual(self.shown("report", "--no-debuginfod"), self.unnamed)
        self.install(self.path("debug"))
        self.assertEqual(fetched, [self.shown(*each) for each in commands])
        for name in "hidden", "own", "inlined":
            self.assertIn(name, fetched[0])

    def test_hot_modules_are_asked_for_first_and_once(self) -> None:
        self.need_client()
        server = self.serve(self.answer)
        table = self.shown("report")
        self.assertIn("hidden", table)
        self.assertEqual(server.asked[:2], [self.ids["libx.so"], self.ids["main"]])
        self.assertEqual(len(server.asked), len(set(server.asked)))
        server.asked.clear()
        self.assertEqual(self.shown("report"), table)
        self.assertEqual(server.asked, [])

    def test_common_part_of_debug_files(self) -> None:
        need_tools("dwz")
        self.need_client()
        with tempfile.TemporaryDirectory() as folder:
            parts = {name: os.path.join(folder, f"{name}.debug") for name in self.ids}
            for name, part in parts.items():
                shutil.copy(self.path(f"debug/{name}.debug"), part)
            common = os.path.join(folder, "common")
            self.run_tool("dwz", "-m", common, "-M", "common", *parts.values())
            for name, build_id in self.ids.items():
                with open(parts[name], "rb") as file:
                    self.files[build_id] = file.read()
            self.serve(self.answer)
            partial = self.tally("report", self.path("perf.data"))
            self.assertIn("some names are missing", partial.stderr)
            shutil.rmtree(self.cache)
            with open(common, "rb") as file:
                self.files[self.build_id(common)] = file.read()
            done = self.tally("report", self.path("perf.data"), "--by", "line")
            self.assertEqual(done.stderr, "")
            self.install(folder)
            self.assertEqual(self.shown("report", "--by", "line"), done.stdout)

    def test_answers_that_are_refused(self) -> None:
        self.need_client()

        def fault(answer: Callable, expected: str, **environment: str) -> None:
            def answer_one(handler: Any, build_id: str) -> None:
                if build_id in self.files:
                    answer(handler, self.files[build_id][:1000])
                else:
                    handler.send_error(404)

            with self.subTest(expected):
                server = self.serve(answer_one)
                found = self.warnings(**environment)
                for name, line in zip(self.ids, found):
                    self.assertTrue(line.startswith(f"{self.path(name)}: warning: "), line)
                    self.assertIn(expected, line)
                self.assertEqual(len(found), 2)
                # The next run asks again.
                before = len(server.asked)
                self.assertEqual(self.warnings(**environment), found)
                self.assertGreater(len(server.asked), before)

        def long_file(length: int) -> Callable:
            """Returns an answer that goes on until the client leaves."""

            def answer(handler: Any, begin: bytes) -> None:
                send(handler, begin, length)
                handler.rfile.read()

            return answer

        limit = "DEBUGINFOD_MAXSIZE"
        fault(lambda handler, _: send(handler, b"<html>"), "of another file, which is not used")
        fault(send, "sent a damaged file, which is not used")
        fault(lambda handler, begin: send(handler, begin, 1000000), "broke off the transfer")
        fault(long_file(3 << 30), "more than 2147483648 bytes")
        fault(long_file(1000000), "more than 999999 bytes", **{limit: "999999"})
        fault(long_file(1 << 50), "256 MiB would stay free", **{limit: str(1 << 60)})

    def test_file_of_another_program(self) -> None:
        self.need_client()
        names = dict(zip(self.ids.values(), reversed(list(self.ids.values()))))
        self.serve(
            lambda handler, build_id: send(handler, self.files[names[build_id]])
            if build_id in names
            else handler.send_error(404)
        )
        found = self.warnings()
        self.assertEqual([each.split(": ")[0] for each in found], list(map(self.path, self.ids)))
        for each in found:
            self.assertIn("of another file, which is not used", each)

    def test_server_that_hangs_or_is_not_there(self) -> None:
        self.need_client()
        server = self.serve(lambda *_: server.ended.wait())
        found = self.warnings(DEBUGINFOD_TIMEOUT="1")
        self.assertIn("less than 100 KiB in 1 s, so it is not asked again", "".join(found))
        self.assertEqual((len(found), server.asked), (1, [self.ids["libx.so"]]))
        found = self.warnings(DEBUGINFOD_URLS="http://127.0.0.1:1")
        self.assertIn("(Connection refused), so it is not asked again", "".join(found))
        self.assertEqual(len(found), 1)

    def test_interrupt_ends_fetching_and_not_the_report(self) -> None:
        self.need_client()
        asked = threading.Event()

        def answer(*_: object) -> None:
            asked.set()
            server.ended.wait()

        server = self.serve(answer)
        with subprocess.Popen(
            [command_line(), "report", self.path("perf.data")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as report:
            self.assertTrue(asked.wait(30))
            report.send_signal(signal.SIGINT)
            out, errors = report.communicate(timeout=30)
        self.assertEqual((report.returncode, out), (0, self.unnamed))
        self.assertEqual(errors, "tally: interrupted: no further debug files are fetched\n")
        self.serve(self.answer)
        self.assertIn("hidden", self.shown("report"))  # the miss is not remembered


if __name__ == "__main__":
    run_unittests()
