#!/usr/bin/env python3
"""Compares the symbolizer with llvm-symbolizer (or addr2line) on programs compiled here.

Needs TALLY_SYMBOLIZE_BENCH, the program of tests/bench that symbolizes addresses. For each way to
compile a program, random addresses of its .text must give the same functions, files and lines,
with inlined frames. Differences that lib/src/symbolize/README.md explains are counted by reason;
others may be at most 0.5 %.
"""
import collections
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BENCH = os.environ.get("TALLY_SYMBOLIZE_BENCH", "")
LLVM = shutil.which("llvm-symbolizer") or shutil.which("llvm-symbolizer-14")
ADDR2LINE = shutil.which("addr2line")
ADDRESSES = 1200
MOST_UNEXPLAINED = 0.005

MAIN = r"""
#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>
#include "shared.h"
#ifdef REGEX  // the deepest of inlined calls, and most of the time of compiling
#include <regex>
static bool matches(const char *text) { return std::regex_match(text, std::regex("(a|b)*c[0-9]+")); }
#else
static bool matches(const char *text) { return std::string(text).find("c9") == 0; }
#endif
extern "C" int plain_c(int n);
namespace outer {
namespace {
struct Hidden { int value; __attribute__((noinline)) int twice(int n); };
int Hidden::twice(int n) { return n > 3 ? value * 2 + plain_c(n) : value; }
}
static int local_sum(const std::vector<int> &all) {
  return std::accumulate(all.begin(), all.end(), 0, [](int a, int b) { return a * 3 + b; });
}
template <class T> struct Tree {
  std::map<T, std::vector<T>> nodes;
  void add(const T &key, const T &value) { nodes[key].push_back(value); }
  size_t depth(const T &key) const {
    auto found = nodes.find(key);
    size_t best = 0;
    if (found != nodes.end())
      for (const T &next : found->second) best = std::max(best, depth(next) + 1);
    return best;
  }
};
int work(int n, const char *text) {
  std::vector<int> all;
  for (int i = 0; i < n; ++i) all.push_back(shared_square(i) ^ n);
  std::sort(all.begin(), all.end(), [n](int a, int b) { return (a ^ n) < (b ^ n); });
  Tree<std::string> tree;
  for (int i : all) tree.add(std::to_string(i % 7), std::to_string(i));
  if (!matches(text)) {
    if (n > 1000) throw std::runtime_error(text);
    n += Hidden{n}.twice(n);
  }
  return local_sum(all) + n + (int)tree.depth("1");
}
}
int main(int argc, char **argv) {
  try { return outer::work(argc * 10, argv[0]) & 1; }
  catch (const std::exception &e) { return e.what()[0]; }
}
"""
SHARED = r"""
#pragma once
struct Ring { int at = 0; virtual ~Ring(); virtual int next(int n) { return at += n; } };
inline int shared_square(int n) { Ring ring; return ring.next(n) * n; }
int other(int n);
"""
OTHER = r"""
#include "shared.h"
#include <set>
#include <string>
#include <sstream>
Ring::~Ring() { at = 0; }
struct Loud : Ring {
  std::set<std::string> words;
  Loud(int n) { words.insert(std::to_string(n)); }
  int next(int n) override { std::ostringstream out; out << n; words.insert(out.str()); return (int)words.size(); }
};
int other(int n) {
  struct Local { int n; __attribute__((noinline)) int get() { return n > 2 ? shared_square(n) : 1; } };
  Loud loud(n);
  for (int i = 0; i < n; ++i) loud.next(i);
  return Local{n}.get() + loud.next(0);
}
"""
PLAIN = r"""
#include <stdlib.h>
int other_c(int n);
static inline int step(int n) { return n % 3 ? n / 2 : n * 3 + 1; }
static int __attribute__((noinline)) walk(int n) { int s = 0; while (n > 1 && s < 100) { n = step(n); s++; } return s; }
__attribute__((cold, noinline)) static void gone(int n) { if (n) abort(); }
int plain_c(int n) { if (__builtin_expect(n < 0, 0)) gone(n); return walk(n) + walk(n + 1); }
"""


# Shares types with the other programs, as dwz requires.
SMALL = r"""
#include "shared.h"
extern "C" int plain_c(int n);
int main(int argc, char **) { return other(argc) + plain_c(argc); }
"""


class Elf:
    """Reads sections and function symbols of a 64-bit ELF file, and nothing else."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        shoff = struct.unpack_from("<Q", data, 40)[0]
        size, count, names = struct.unpack_from("<HHH", data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * size) for i in range(count)]
        table = headers[names][4]
        self.sections = {}
        self.offsets = {}
        self.symbols = collections.defaultdict(set)
        for header in headers:
            name = data[table + header[0] : data.index(b"\0", table + header[0])].decode()
            self.sections[name] = (header[3], header[5])
            self.offsets[name] = (header[4], header[5])
            if header[1] == 2:  # SHT_SYMTAB
                strings = headers[header[6]][4]
                for at in range(header[4], header[4] + header[5], 24):
                    name_at, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", data, at)
                    start = strings + name_at
                    self.symbols[value].add(data[start : data.index(b"\0", start)].decode())
        self.by_name = collections.defaultdict(set)
        for value, all_names in self.symbols.items():
            for name in all_names:
                self.by_name[name].add(value)


def blocks(text):
    """Yields lists of (function, file, line) from llvm-symbolizer's output, one for each
    address."""
    for block in text.strip("\n").split("\n\n"):
        lines = block.split("\n")
        yield [(lines[i],) + location(lines[i + 1]) for i in range(0, len(lines) - 1, 2)]


def location(text):
    text = re.sub(r" \(discriminator \d+\)$", "", text)
    path, line = text.rsplit(":", 1) if text.count(":") == 1 else text.rsplit(":", 2)[:2]
    return path, 0 if line == "?" else int(line)


def ask_oracle(path, addresses):
    stdin = "".join(f"{a:#x}\n" for a in addresses)
    if LLVM:
        out = subprocess.run(
            [LLVM, "--inlines", "--no-demangle", "--obj=" + path],
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return list(blocks(out))
    out = subprocess.run(
        [ADDR2LINE, "-a", "-i", "-f", "-e", path],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return list(blocks(re.sub(r"^0x[0-9a-f]+\n", "\n", out, flags=re.M)))


def ask_us(path, addresses, cache=None, options=()):
    stdin = "".join(f"{a:#x}\n" for a in addresses)
    environment = dict(os.environ, TALLY_CACHE_DIR=cache or "")
    done = subprocess.run(
        [BENCH, "--no-demangle", *options, path],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return list(blocks(done.stdout))


CLONE = re.compile(r"(\.(isra|constprop|part|cold|lto_priv|localalias|llvm|hot|warm)(\.\d+)*)+$")


def same_name(ours, theirs, elf):
    """Returns "" if the names are equal, the reason if they differ but mean the same, or None."""
    if ours == theirs:
        return ""
    base = CLONE.sub("", theirs)
    if CLONE.sub("", ours) == base:
        return "clone's suffix"
    twin = lambda name: re.sub(r"(C|D)[0-5](?=E)", r"\1_", name)
    if twin(CLONE.sub("", ours)) == twin(base):
        return "constructor's variant"
    if elf.by_name[ours] & elf.by_name[theirs]:
        return "alias at one address"
    if ours == "??" or theirs == "??":
        return None
    if ours.endswith("::" + theirs):
        return "scope is shown"
    # If DWARF has no linkage name, the oracle takes the outermost name from the symbol table.
    last = ours
    while last.endswith(">") and "operator" not in last:
        depth = 0
        for i in range(len(last) - 1, -1, -1):
            depth += (last[i] == ">") - (last[i] == "<")
            if depth == 0:
                break
        last = last[:i]
    last = last.split("::")[-1].lstrip("~")
    if theirs.startswith("_Z") and (
        "operator" in ours or f"{len(last)}{last}" in theirs or "lambda" in ours
    ):
        return "name of the symbol table"
    if CLONE.sub("", base).endswith(ours):
        return "name of the symbol table"
    return None


@unittest.skipUnless(BENCH, "TALLY_SYMBOLIZE_BENCH does not name the program under test")
@unittest.skipUnless(LLVM or ADDR2LINE, "neither llvm-symbolizer nor addr2line is installed")
class Oracle(unittest.TestCase):
    folder: str
    objects: dict  # of what is compiled already, by compiler, options and source

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="tally-symbolize-")
        cls.objects = {}
        for name, text in {
            "main.cpp": MAIN,
            "other.cpp": OTHER,
            "plain.c": PLAIN,
            "small.cpp": SMALL,
            "shared.h": SHARED,
        }.items():
            with open(os.path.join(cls.folder, name), "w") as file:
                file.write(text)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def compiled(self, path, source, flags, compiler):
        """Returns the object file, which programs that differ only in how they are linked share."""
        if source != "main.cpp":
            flags = [flag for flag in flags if flag != "-DREGEX"]
        key = (compiler, source, *flags)
        if key not in self.objects:
            language = ["-x", "c"] if source.endswith(".c") else ["-std=c++17"]
            result = os.path.join(path, source.split(".")[0] + ".o")
            done = subprocess.run(
                [compiler, *language, *flags, "-c", f"../{source}", "-o", result],
                cwd=path,
                capture_output=True,
                text=True,
            )
            if done.returncode:
                self.skipTest(f"{compiler} cannot compile with {flags}: {done.stderr[:200]}")
            self.objects[key] = result
        return self.objects[key]

    def build(self, name, flags, compiler="g++", link=(), main="main.cpp"):
        if not shutil.which(compiler):
            self.skipTest(f"{compiler} is not installed")
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        with ThreadPoolExecutor(2) as threads:
            objects = list(
                threads.map(
                    lambda source: self.compiled(path, source, flags, compiler),
                    (main, "other.cpp", "plain.c"),
                )
            )
        program = os.path.join(path, "program")
        done = subprocess.run(
            [compiler, *flags, *link, "-Wl,--build-id", *objects, "-o", program],
            cwd=path,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            self.skipTest(f"{compiler} cannot link with {flags}: {done.stderr[:200]}")
        return program

    def addresses(self, elf):
        low, size = elf.sections[".text"]
        chance = random.Random(size)
        return [low + chance.randrange(size) for _ in range(ADDRESSES)]

    def compare(self, ours, theirs, elf, addresses, what):
        self.assertEqual(len(ours), len(addresses))
        self.assertEqual(len(theirs), len(addresses))
        reasons: collections.Counter = collections.Counter()
        unexplained = []
        for address, mine, other in zip(addresses, ours, theirs):
            found = {self.reason(a, b, elf) for a, b in zip(mine, other)}
            if len(mine) != len(other):
                found.add(None)
            if None in found:
                unexplained.append((hex(address), mine, other))
            for reason in found - {"", None}:
                reasons[reason] += 1
        named = sum(1 for block in ours if block[0][0] != "??")
        print(
            f"{what}: {len(addresses)} addresses, {named} with a function, "
            f"{len(unexplained)} unexplained, {dict(reasons)}",
            flush=True,
        )
        self.assertLessEqual(
            len(unexplained),
            MOST_UNEXPLAINED * len(addresses),
            "\n".join(
                "\n  ours ".join([a, "\n  them ".join(map(str, (m, o)))])
                for a, m, o in unexplained[:5]
            ),
        )
        if os.environ.get("TALLY_ORACLE_VERBOSE"):
            for address, mine, other in unexplained:
                print(address, *mine, "--", *other, sep="\n  ")

    @staticmethod
    def reason(mine, other, elf):
        if mine[2] != other[2]:
            return None
        if mine[1:] == ("??", 0) and "/" not in other[1] and other[2] == 0:
            # Without a line, LLVM shows the name of the object file's source (STT_FILE).
            return None if same_name(mine[0], other[0], elf) is None else "file of the symbol table"
        if mine[1] != other[1] and os.path.normpath(mine[1]) != os.path.normpath(other[1]):
            return None
        return same_name(mine[0], other[0], elf)

    def check(self, program, reference=None, what="", options=()):
        elf = Elf(reference or program)
        addresses = self.addresses(elf)
        ours = ask_us(program, addresses, options=options)
        self.compare(ours, ask_oracle(reference or program, addresses), elf, addresses, what)
        # With a cache: a run that writes it, a run with more addresses, and a run that only reads
        # it.
        cache = program + ".cache"
        half = addresses[: len(addresses) // 2]
        self.assertEqual(ask_us(program, half, cache, options), ours[: len(half)])
        self.assertTrue(os.listdir(cache))
        self.assertEqual(ask_us(program, addresses, cache, options), ours)
        self.assertEqual(ask_us(program, addresses, cache, options), ours)

    def variant(self, name, flags, **more):
        self.check(self.build(name, flags, **more), what=name)

    # The deepest inlined calls are compiled for one version of DWARF by each compiler: the depth
    # does not depend on the version.
    def test_gcc(self):
        for version, pie, more in ((4, "-no-pie", ""), (5, "-pie", "-fPIE -DREGEX")):
            with self.subTest(version=version, pie=pie):
                self.variant(
                    f"gcc{version}{pie}", ["-O2", "-g", f"-gdwarf-{version}", pie, *more.split()]
                )

    def test_clang(self):
        for version, pie, more in ((4, "-pie", "-fPIE -DREGEX"), (5, "-no-pie", "")):
            with self.subTest(version=version, pie=pie):
                self.variant(
                    f"clang{version}{pie}",
                    ["-O2", "-g", f"-gdwarf-{version}", *more.split(), pie],
                    compiler="clang++",
                )

    def test_static(self):
        self.variant("static", ["-O2", "-g"], link=["-static"])

    def test_dropped_functions(self):
        self.variant("sections", ["-O2", "-g", "-ffunction-sections"], link=["-Wl,--gc-sections"])

    def test_functions_dropped_by_gold(self):
        self.variant(
            "gold",
            ["-O2", "-g", "-ffunction-sections"],
            link=["-Wl,--gc-sections", "-fuse-ld=gold"],
        )

    def test_link_time_optimization(self):
        self.variant("lto", ["-O2", "-g", "-flto", "-DREGEX"])

    def test_compressed_sections(self):
        for kind in ("zlib", "zlib-gnu"):
            with self.subTest(kind=kind):
                self.variant("compressed-" + kind, ["-O2", "-g"], link=["-gz=" + kind])

    def test_64_bit_dwarf(self):
        self.variant("dwarf64", ["-O2", "-g", "-gdwarf64"])

    def test_minimal_debug_information(self):
        self.variant("g1", ["-O2", "-g1"])

    def test_without_optimization(self):
        self.variant("O0", ["-O0", "-g"])

    def test_split(self):
        for compiler, version in (("g++", 4), ("g++", 5), ("clang++", 4), ("clang++", 5)):
            with self.subTest(compiler=compiler, version=version):
                name = f"split-{compiler}-{version}"
                program = self.build(
                    name, ["-O2", "-g", "-gsplit-dwarf", f"-gdwarf-{version}"], compiler=compiler
                )
                self.check(program, what=name)
                # The dwp of binutils 2.40 reads no DWARF 5. llvm-dwp does not end with GCC's
                # main.dwo, which therefore stays a file of its own.
                tools = ("llvm-dwp", "llvm-dwp-14") if version == 5 else ("dwp", "llvm-dwp")
                left_out = "main" if compiler == "g++" and version == 5 else ""
                self.package(program, tools, left_out)

    def package(self, program, tools, left_out):
        """Replaces .dwo files by a package, which must give the same frames."""
        folder = os.path.dirname(program)
        parts = [os.path.join(folder, f"{n}.dwo") for n in ("main", "other", "plain")]
        parts = [part for part in parts if not left_out or left_out not in os.path.basename(part)]
        package = program + ".dwp"
        tool = next(filter(shutil.which, tools), None)
        if not tool:
            self.skipTest(f"none of {tools} is installed")
        done = subprocess.run([tool, *parts, "-o", package], capture_output=True, timeout=60)
        if done.returncode:
            self.skipTest(f"{tool} failed: {done.stderr[:200]!r}")
        addresses = self.addresses(Elf(program))
        expected = ask_us(program, addresses)
        for part in parts:
            os.rename(part, part + ".hidden")
        self.assertEqual(ask_us(program, addresses), expected)
        # Elsewhere: beside the file that a symbolic link leads to, and in a debug directory.
        link = os.path.join(self.folder, os.path.basename(folder) + "-link")
        os.symlink(program, link)
        self.assertEqual(ask_us(link, addresses[:50]), expected[:50])
        os.mkdir(os.path.join(folder, "debug"))
        elsewhere = os.path.join(folder, "debug", "program.dwp")
        shutil.move(package, elsewhere)
        options = ["--debug-dir=" + os.path.dirname(elsewhere)]
        self.assertEqual(ask_us(program, addresses[:50], options=options), expected[:50])
        self.check_damaged(program, elsewhere, addresses[:50], expected[:50])

    def check_damaged(self, program, package, addresses, expected):
        """Whatever a package contains, there are names of functions, and few diagnostics."""

        def ask(environment):
            return subprocess.run(
                [BENCH, "--no-demangle", program],
                input="".join(f"{a:#x}\n" for a in addresses),
                capture_output=True,
                text=True,
                errors="replace",
                check=True,
                env=dict(os.environ, TALLY_CACHE_DIR="", **environment),
            )

        without = ask({})
        self.assertEqual(without.stderr.count("was not found, nor a package"), 1, without.stderr)
        self.assertEqual(len(without.stderr.splitlines()), 1)
        self.assertEqual(
            [block[-1][0] == "??" for block in blocks(without.stdout)],
            [block[-1][0] == "??" for block in expected],
        )
        with open(package, "rb") as file:
            good = file.read()
        elf = Elf(package)
        chance = random.Random(len(good))
        for name in (".debug_cu_index", ".debug_info.dwo", ".debug_abbrev.dwo", ""):
            start, size = elf.offsets[name] if name else (0, len(good))
            for _ in range(4):
                bad = bytearray(good)
                for _ in range(chance.choice((1, 5, 50))):
                    bad[start + chance.randrange(size)] = chance.choice((0, 255, 1))
                with open(program + ".dwp", "wb") as damaged:
                    damaged.write(bad if name else bad[: chance.randrange(len(bad))])
                self.assertLessEqual(len(ask({}).stderr.splitlines()), 2)
        os.remove(program + ".dwp")

    def test_split_type_units(self):
        # GCC writes each type unit into a section .debug_info.dwo of its own.
        self.variant(
            "split-types",
            ["-O2", "-g", "-gsplit-dwarf", "-gdwarf-5", "-fdebug-types-section"],
        )

    def test_without_debug_information(self):
        self.variant("bare", ["-O2", "-g"], link=["-Wl,--strip-debug"])

    def separate(self, name, level="-O2"):
        if not shutil.which("objcopy"):
            self.skipTest("objcopy is not installed")
        full = self.build(name, [level, "-g"])
        stripped = full + "-stripped"
        debug = full + "-stripped.debug"
        subprocess.run(["objcopy", "--only-keep-debug", full, debug], check=True)
        subprocess.run(
            ["objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, full, stripped], check=True
        )
        return full, stripped, debug

    def test_separate_by_link(self):
        full, stripped, debug = self.separate("by-link")
        self.check(stripped, full, "debug link, beside")
        folder = os.path.join(os.path.dirname(full), ".debug")
        os.makedirs(folder)
        os.rename(debug, os.path.join(folder, os.path.basename(debug)))
        self.check(stripped, full, "debug link, in .debug")

    def test_separate_by_build_id(self):
        full, stripped, debug = self.separate("by-id")
        notes = subprocess.run(
            ["readelf", "-n", full], capture_output=True, text=True, check=True
        ).stdout
        build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
        root = os.path.join(os.path.dirname(full), "root")
        target = os.path.join(root, ".build-id", build_id[:2], build_id[2:] + ".debug")
        os.makedirs(os.path.dirname(target))
        addresses = self.addresses(Elf(full))
        cache = full + ".cache-before"
        os.rename(debug, target)
        # First run without the debug file: the cache of this run must not hide the file later.
        without = ask_us(stripped, addresses, cache)
        self.assertTrue(all(block[0][1] == "??" for block in without))
        options = ["--debug-dir=" + root]
        self.check(stripped, full, "build id", options)
        self.assertEqual(
            ask_us(stripped, addresses, cache, options),
            ask_us(stripped, addresses, options=options),
        )

    def test_separate_of_another_build(self):
        _, stripped, debug = self.separate("wrong")
        _, _, other = self.separate("wrong-other", "-O0")
        shutil.copy(other, debug)
        addresses = self.addresses(Elf(other))
        self.assertTrue(all(block[0][1] == "??" for block in ask_us(stripped, addresses)))

    def test_common_part(self):
        if not shutil.which("dwz"):
            self.skipTest("dwz is not installed")
        # As in test_gcc, and as other tests compile for the default, which is version 5.
        for version, more in ((4, "-gdwarf-4 -no-pie"), (5, "")):
            with self.subTest(version=version):
                flags = ["-O2", "-g", *more.split()]
                first = self.build(f"dwz-a{version}", flags)
                second = self.build(f"dwz-b{version}", flags, main="small.cpp")
                full = first + "-full"
                shutil.copy(first, full)
                done = subprocess.run(
                    ["dwz", "-m", first + ".dwz", first, second], capture_output=True, text=True
                )
                if done.returncode:
                    self.skipTest("dwz failed: " + done.stderr[:200])
                self.assertGreater(os.path.getsize(first + ".dwz"), 10000)
                self.check(first, full, f"dwz {version}")

    def test_common_part_that_libdw_finds(self):
        """It is beside the program, which is reached by a symbolic link. Only libdw follows it."""
        if not shutil.which("dwz"):
            self.skipTest("dwz is not installed")
        first = self.build("dwz-c", ["-O2", "-g", "-gdwarf-4", "-no-pie"])
        second = self.build("dwz-d", ["-O2", "-g", "-gdwarf-4", "-no-pie"], main="small.cpp")
        common = os.path.join(os.path.dirname(first), "common")
        subprocess.run(["dwz", "-m", common, "-M", "common", first, second], check=True)
        link = os.path.join(os.path.dirname(second), "link")
        os.symlink(first, link)
        addresses = self.addresses(Elf(first))
        ours = ask_us(first, addresses)
        self.assertEqual(ask_us(link, addresses), ours)
        # The section ends within a name, which the bytes that follow do not complete.
        content = Path(common).read_bytes()
        offset, size = Elf(common).offsets[".debug_str"]
        strings = content[offset : offset + size]
        names = {frame[0].encode() for block in ours for frame in block}
        cut = max(strings.find(b"\0" + name + b"\0") for name in names) + 4
        header = struct.pack("<QQ", offset, size)
        Path(common).write_bytes(content.replace(header, struct.pack("<QQ", offset, cut)))
        damaged = ask_us(first, addresses)
        self.assertNotEqual(damaged, ours)
        self.assertEqual(ask_us(link, addresses), damaged)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] + sys.argv[1:])
