#!/usr/bin/env python3
"""Measures the symbolizer relative to llvm-symbolizer, in alternating runs.

  symbolize_bench.py path/to/symbolize-bench [--program PROGRAM] [--addresses N] [--rounds N]

Without --program a program is generated and compiled in a temporary directory: template-heavy C++
with -O2 -g, larger than 10 MB. Cold: without a cache. First: the cache is written, too. Warm: a new
process reads the cache. Times are CPU time (user + system) and wall time of the whole process; the
least, median and greatest of the rounds.
"""
import argparse
import os
import random
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

UNIT = r"""
#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>
namespace n%(n)d {
struct Key { int a; std::string s;
  bool operator<(const Key &o) const { return a < o.a || (a == o.a && s < o.s); } };
static int sum(const std::vector<Key> &all) { int s = 0; for (auto &k : all) s += k.a * %(n)d; return s; }
int run(int argc, char **argv) {
  std::regex pattern("a(b+)c%(n)d|[0-9]+x");
  std::smatch found;
  std::string text = argv[0];
  int r = std::regex_search(text, found, pattern);
  std::map<Key, std::vector<int>> by_key;
  for (int j = 0; j < argc * 10; j++) by_key[Key{j %% 7, text + std::to_string(j)}].push_back(j);
  std::vector<Key> keys;
  for (auto &[k, v] : by_key) keys.push_back(k);
  std::sort(keys.begin(), keys.end(), [](auto &a, auto &b) { return b < a; });
  std::ostringstream out;
  out << text << r;
  return (int)out.str().size() + sum(keys);
}
}
"""


def generate(folder, units):
    names = []
    for n in range(units):
        names.append(f"unit{n}.cpp")
        with open(os.path.join(folder, names[-1]), "w") as file:
            file.write(UNIT % {"n": n})
    with open(os.path.join(folder, "main.cpp"), "w") as file:
        for n in range(units):
            file.write(f"namespace n{n} {{ int run(int, char **); }}\n")
        calls = " + ".join(f"n{n}::run(c, v)" for n in range(units))
        file.write(f"int main(int c, char **v) {{ return ({calls}) & 1; }}\n")
    running: list[subprocess.Popen] = []
    for name in names + ["main.cpp"]:
        if len(running) >= (os.cpu_count() or 1):
            running.pop(0).wait()
        running.append(subprocess.Popen(["g++", "-std=c++17", "-O2", "-g", "-c", name], cwd=folder))
    for process in running:
        process.wait()
    objects = [name.replace(".cpp", ".o") for name in names + ["main.cpp"]]
    subprocess.run(["g++", "-Wl,--build-id", *objects, "-o", "program"], cwd=folder, check=True)
    return os.path.join(folder, "program")


def text_section(path):
    with open(path, "rb") as file:
        data = file.read()
    shoff = struct.unpack_from("<Q", data, 40)[0]
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, shoff + i * size) for i in range(count)]
    for header in headers:
        at = headers[names][4] + header[0]
        if data[at : at + 6] == b".text\0":
            return header[3], header[5]
    sys.exit("no .text in " + path)


def cpu_time(command, stdin, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, input=stdin, stdout=subprocess.DEVNULL, env=environment, check=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bench")
    parser.add_argument("--program")
    parser.add_argument("--addresses", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--units", type=int, default=8)
    options = parser.parse_args()
    llvm = shutil.which("llvm-symbolizer") or shutil.which("llvm-symbolizer-14")
    if not llvm:
        sys.exit("llvm-symbolizer is not installed, so there is nothing to compare with")
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
        program = options.program or generate(folder, options.units)
        low, size = text_section(program)
        chance = random.Random(1)
        stdin = "".join(
            f"{low + chance.randrange(size):#x}\n" for _ in range(options.addresses)
        ).encode()
        cache = os.path.join(folder, "cache")
        off = dict(os.environ, TALLY_CACHE_DIR="")
        on = dict(os.environ, TALLY_CACHE_DIR=cache)
        ways = {
            "llvm-symbolizer": ([llvm, "--inlines", "--obj=" + program], off, None),
            "cold": ([options.bench, program], off, None),
            "first": ([options.bench, program], on, lambda: shutil.rmtree(cache, True)),
            "warm": ([options.bench, program], on, None),
        }
        times: dict[str, list] = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, (command, environment, before) in ways.items():
                if before:
                    before()
                times[name].append(cpu_time(command, stdin, environment))
        print(
            f"{options.addresses} addresses of {os.path.getsize(program) / 1e6:.1f} MB, "
            f"cache {sum(e.stat().st_size for e in os.scandir(cache)) / 1e6:.1f} MB"
        )
        base = times["llvm-symbolizer"]
        for name, taken in times.items():
            for kind, at in (("cpu", 0), ("wall", 1)):
                values = [t[at] for t in taken]
                peer = [t[at] for t in base]
                print(
                    f"{name:16} {kind:4} min {min(values):.4f} s, median "
                    f"{statistics.median(values):.4f} s, max {max(values):.4f} s; of the peer's "
                    f"{min(values) / min(peer):.3f} (min) "
                    f"{statistics.median(values) / statistics.median(peer):.3f} (median)"
                )


if __name__ == "__main__":
    main()
