#!/usr/bin/env python3
"""Compares the stacks of perf.data with `perf script`: the same addresses, sample by sample.

perf runs the programs itself, without a shell, because after fork and exec perf unwinds with
mappings that do not exist any more. FORMAT.md of lib/src/formats/perf_data explains how stacks may
differ, and why. Stacks that differ in another way are unexplained, and may be at most 1 %.
"""
from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line, program
from support.skips import need_kernel_samples, need_perf, need_tools, run_unittests

MOST_UNEXPLAINED = 0.01
FROM_VDSO = "ours continues from the vDSO"
CHAINS = os.environ.get("TALLY_PERF_CHAINS", "")

SOURCE = r"""
#include <algorithm>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <vector>
template <int N> struct Deep { static int at(int n) { std::vector<int> v(n % 7 + 1, N);
  return Deep<N - 1>::at(n) + (int)std::accumulate(v.begin(), v.end(), 0); } };
template <> struct Deep<0> { static int at(int n) { return n; } };
int main(int argc, char **) {
  std::map<std::string, std::vector<int>> all; std::regex r("a+b"); std::mt19937 g(1);
  for (int i = 0; i < argc * 100; ++i) { std::ostringstream s; s << i; all[s.str()].push_back(Deep<40>::at(i)); }
  return std::regex_search("aaab", r) + (int)all.size();
}
"""

Chain = tuple[str, ...]
Chains = collections.Counter  # of (tid, chain)


def cut_of(chain: Chain) -> str:
    return chain[-1] if chain and chain[-1].startswith("[truncated") else ""


class PerfScript(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("perf")
        need_perf()
        folder = tempfile.TemporaryDirectory(prefix="perf-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.data = os.path.join(self.folder, "perf.data")

    def record(self, *words: str, graph: str) -> None:
        done = subprocess.run(
            ["perf", "record", "-qN", "--call-graph", graph, "-F", "997", "-o", self.data, *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        if not os.path.exists(self.data):
            self.skipTest(f"perf record: {done.stderr.strip()[:200]}")

    def perfs(self, raw_returns: bool) -> Chains:
        """Returns the stacks of `perf script`, without the kernel's frames. A caller's address is
        the return address minus one."""
        out = subprocess.run(
            [
                "perf",
                "script",
                "-i",
                self.data,
                "--no-inline",
                "--max-stack",
                "2000",
                "-F",
                "tid,time,event,ip,dso",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        chains: Chains = collections.Counter()
        for block in out.split("\n\n"):
            lines = block.strip("\n").split("\n")
            if not lines[0].strip():
                continue
            tid = lines[0].split()[0]
            frames: list[str] = []
            for line in lines[1:]:
                found = re.match(r"\s*([0-9a-f]+) (?:\S.* )?\((.*)\)$", line)
                self.assertTrue(found, line)
                address, dso = int(found[1], 16), found[2]
                if dso.startswith(("[kernel", "[guest")) or address >= 1 << 63:
                    continue
                if raw_returns and frames:
                    address -= 1
                name = dso.rsplit("/", 1)[-1]
                frames.append(
                    f"{address % 2**64:#x}" if dso == "[unknown]" else f"{name}+{address:#x}"
                )
            chains[tid, tuple(frames)] += 1
        return chains

    def ours(self) -> Chains:
        done = subprocess.run([CHAINS, self.data], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        chains: Chains = collections.Counter()
        for line in done.stdout.splitlines():
            count, tid, *frames = line.split(" ")
            chains[tid, tuple(f for f in frames if f != "[kernel]")] += int(count)
        return chains

    def explain(self, theirs: Chain, ours: Chain) -> str:
        """Returns why two stacks from the same leaf differ, or "" if the reason is unknown."""
        cut = cut_of(ours)
        if cut:
            ours = ours[:-1]
        same = 0
        while same < min(len(theirs), len(ours)) and theirs[same] == ours[same]:
            same += 1
        if same == len(theirs) == len(ours):
            return "equal"
        if same == len(theirs):
            # perf's unwinder ends at some addresses of the vDSO.
            in_vdso = bool(theirs) and theirs[-1].startswith("[vdso]+")
            return FROM_VDSO if in_vdso else "ours continues"
        if same == len(ours):
            if theirs[same].startswith("0x"):
                return "theirs continues outside of code"
            return f"theirs continues {cut}"
        return ""

    def compare(self, name: str, raw_returns: bool = False) -> None:
        theirs, ours = self.perfs(raw_returns), self.ours()
        total = sum(theirs.values())
        self.assertEqual(total, sum(ours.values()), "samples")
        self.assertGreater(total, 50)
        # The mark of a truncated stack says why the stack ends; it is not a frame.
        reasons: collections.Counter = collections.Counter()
        left: Chains = collections.Counter()
        for (tid, chain), count in ours.items():
            bare = chain[:-1] if cut_of(chain) else chain
            equal = min(count, theirs[tid, bare])
            theirs[tid, bare] -= equal
            reasons["equal"] += equal
            if count > equal:
                left[tid, chain] += count - equal
        # Match the rest by leaf, those with the longest common prefix first.
        by_leaf = collections.defaultdict(list)
        for (tid, chain), count in (+theirs).items():
            by_leaf[tid, chain[:1]].extend([chain] * count)
        examples = []
        for (tid, chain), count in left.items():
            for _ in range(count):
                others = by_leaf[tid, chain[:1]]
                why = ""
                if others:

                    def alike(other: Chain) -> int:
                        return next(
                            (i for i, (a, b) in enumerate(zip(other, chain)) if a != b),
                            min(len(other), len(chain)),
                        )

                    other = max(others, key=alike)
                    others.remove(other)
                    why = self.explain(other, chain)
                    if not why:
                        examples.append((other, chain))
                reasons[why or "unexplained"] += 1
        print(
            f"{name}: {total} samples: "
            + ", ".join(f"{n} {why}" for why, n in reasons.most_common())
        )
        for other, chain in examples[: int(os.environ.get("TALLY_EXAMPLES", "2"))]:
            print("  perf:", *other, "\n  ours:", *chain)
        # In code without frame pointers the kernel follows arbitrary values on the stack.
        followed = reasons["theirs continues outside of code"] if raw_returns else 0
        # The share of the samples in the vDSO varies.
        further = min(reasons[FROM_VDSO], 0.03 * total)
        self.assertGreaterEqual(reasons["equal"] + followed + further, 0.99 * total)
        self.assertLessEqual(reasons["unexplained"], MOST_UNEXPLAINED * total)

    def c_plus_plus_compiler(self, source: str, *options: str) -> list[str]:
        """Returns the command of the compiler proper, without its driver."""
        need_tools("g++")
        done = subprocess.run(
            ["g++", "-###", "-S", *options, "-o", os.devnull, source],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        for line in done.stderr.splitlines():
            words = [word.strip('"') for word in line.split()]
            if words and words[0].endswith("cc1plus"):
                return words
        self.skipTest("g++ -### names no cc1plus")

    def test_small_program(self) -> None:
        for graph in ("dwarf", "fp"):
            self.record(program("spin7030"), "0.4", graph=graph)
            self.compare(f"spin7030 {graph}", raw_returns=graph == "fp")

    def test_threads(self) -> None:
        self.record(program("spin7030_threads"), "0.15", graph="dwarf")
        self.compare("spin7030_threads dwarf")

    def test_perf_record_of_xz(self) -> None:
        need_tools("xz")
        source = os.path.join(self.folder, "data")
        with open(source, "wb") as out, open(CHAINS, "rb") as binary:
            out.write(binary.read(2 << 20))
        for graph in ("dwarf", "fp"):
            self.record("xz", "-6", "-k", "-f", "-T1", source, graph=graph)
            self.compare(f"xz {graph}", raw_returns=graph == "fp")

    def test_compiler(self) -> None:
        source = os.path.join(self.folder, "stl.cpp")
        with open(source, "w", encoding="utf-8") as out:
            out.write("#include <numeric>\n" + SOURCE)
        command = self.c_plus_plus_compiler(source, "-O2")
        self.record(*command, graph="dwarf,32768")
        self.compare("cc1plus -O2 dwarf")

    def test_compressed_and_piped(self) -> None:
        self.record("-z", program("spin7030"), "0.4", graph="dwarf")
        self.compare("spin7030 dwarf -z")
        with open(self.data, "wb") as out:
            subprocess.run(
                [
                    "perf",
                    "record",
                    "-qN",
                    "--call-graph",
                    "dwarf",
                    "-o",
                    "-",
                    program("spin7030"),
                    "0.4",
                ],
                stdout=out,
                stderr=subprocess.DEVNULL,
            )
        self.compare("spin7030 dwarf, piped")

    def test_the_kernels_share(self) -> None:
        """Compares the samples in the kernel, in total and by function, with `perf report`."""
        need_kernel_samples()
        self.record(program("syscalls"), "0.5", graph="dwarf")
        report = subprocess.run(
            [
                "perf",
                "report",
                "-i",
                self.data,
                "--stdio",
                "-q",
                "--no-children",
                "-g",
                "none",
                "--sort",
                "sym",
                "-F",
                "sample,sym",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        theirs = {
            name: int(count)
            for count, name in re.findall(r"^ *(\d+)  \[k\] (\S+)", report, re.MULTILINE)
        }
        self.assertNotEqual(theirs, {})
        self.assertEqual(self.self_costs(), {"[kernel]": sum(theirs.values())})
        if any(name.startswith("0xffff") for name in theirs):
            self.skipTest("the kernel's symbols are hidden here")
        self.assertEqual(self.self_costs("--kernel"), theirs)

    def self_costs(self, *options: str) -> dict[str, int]:
        """Returns the self ticks of the kernel's functions."""
        out = subprocess.run(
            [command_line(), "report", "--json", *options, self.data],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return {
            row["name"]: row["self"][0]
            for row in json.loads(out)["functions"]
            if row["object"].startswith("[") and row["object"] != "[vdso]" and row["self"][0]
        }

    def test_names(self) -> None:
        """Compares the function names of the leaves."""
        self.record(program("spin7030"), "0.15", graph="dwarf")
        out = subprocess.run(
            [command_line(), "convert", self.data, "-o", "-", "--to", "folded"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        ours: collections.Counter = collections.Counter()
        for line in out.splitlines():
            stack, count = line.rsplit(" ", 1)
            frames = [f for f in stack.split(";") if f != "[kernel]"]
            ours[frames[-1] if frames else ""] += int(count)
        script = subprocess.run(
            ["perf", "script", "-i", self.data, "--no-inline", "-F", "ip,sym"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        theirs: collections.Counter = collections.Counter()
        for block in script.split("\n\n"):
            user = [
                line.split()[1]
                for line in block.splitlines()
                if line.split() and not line.split()[0].startswith("ffffffff")
            ]
            if block.strip():
                theirs[user[0] if user else ""] += 1
        for name in ("seventy", "thirty"):
            self.assertEqual(ours[name], theirs[name], name)

    def report(self, file: str, *words: str) -> dict[str, Any]:
        out = subprocess.run(
            [command_line(), "report", file, "--json", *words],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        report: dict[str, Any] = json.loads(out)
        return report

    def test_two_clocks(self) -> None:
        """The totals of two clocks in one file are not mixed: each equals perf's sum of periods."""
        self.record("-e", "cpu-clock,task-clock", program("spin7030"), "0.15", graph="fp")
        report = self.report(self.data)
        # perf appends ":u" if it may not sample the kernel.
        self.assertEqual(
            [name.removesuffix(":u") for name in report["events"]], ["ticks", "cpu", "task-clock"]
        )
        script = subprocess.run(
            ["perf", "script", "-i", self.data, "-G", "-F", "period,event"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        periods: collections.Counter = collections.Counter()
        for line in script.splitlines():
            period, event = line.split()[:2]
            periods[event.rstrip(":").removesuffix(":u")] += int(period)
        self.assertEqual(report["totals"][1:], [periods["cpu-clock"], periods["task-clock"]])

    def test_text(self) -> None:
        """Reads the text that `perf script` prints, with several sets of fields."""
        self.record("-e", "cpu-clock", program("spin7030"), "0.15", graph="fp")
        of_data = self.report(self.data)
        text = os.path.join(self.folder, "script")
        ways: list[list[str]] = [
            [],
            ["-F", "comm,pid,tid,time,period,event,ip,sym,dso"],
            ["-F", "+srcline"],
            ["-G"],
            ["-G", "-F", "+srcline"],
            ["--header", "--show-mmap-events"],
        ]
        for fields in ways:
            with open(text, "w", encoding="utf-8") as out:
                subprocess.run(
                    ["perf", "script", "-i", self.data, *fields],
                    stdout=out,
                    stderr=subprocess.DEVNULL,
                    check=True,
                )
            of_text = self.report(text)
            self.assertEqual(of_text["events"], of_data["events"], fields)
            self.assertEqual(of_text["totals"], of_data["totals"], fields)
            for name in ("seventy", "thirty"):
                costs = [
                    [f["self"] for f in each["functions"] if f["name"] == name]
                    for each in (of_data, of_text)
                ]
                self.assertEqual(costs[0], costs[1], (name, fields))


if __name__ == "__main__":
    run_unittests()
