#!/usr/bin/env python3
"""Compares Tally with Go's pprof: each reads the other's files, and rewriting a file with either
changes nothing."""
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.pprof_bytes import Pprof
from support.profiles import ProfileCase
from support.programs import program
from support.skips import need_perf, run_unittests

GO_PROGRAM = """
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

var sink [][]byte
var total int

//go:noinline
func leaf(n int) {
	for i := 0; i < n; i++ {
		total += i * i
	}
}

func inlined(n int) { leaf(n) }

//go:noinline
func work(n int) { inlined(n); leaf(n / 2) }

//go:noinline
func hold() {
	for i := 0; i < 1000; i++ {
		sink = append(sink, make([]byte, 10000))
	}
}

func main() {
	file, _ := os.Create("cpu.pb.gz")
	pprof.StartCPUProfile(file)
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
		work(100000)
	}
	pprof.StopCPUProfile()
	file.Close()
	hold()
	runtime.GC()
	file, _ = os.Create("heap.pb.gz")
	pprof.Lookup("heap").WriteTo(file, 0)
	file.Close()
}
"""
STACKS = """\
main;parse;next_token 41
main;parse;parse;next_token 7
main;parse 3
main;operator()<int, char>(int) const;a b 2
start;main;na\u00efve 11
"""


@unittest.skipUnless(shutil.which("go"), "not installed: go")
class GoCase(ProfileCase):
    def go(self, *words: str) -> str:
        env = os.environ | {
            "HOME": self.folder,
            "GOCACHE": self.path("cache"),
            "LC_ALL": "C",
            "GO111MODULE": "off",
            "PPROF_BINARY_PATH": self.path("nowhere"),
        }
        done = subprocess.run(
            ["go", *words],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, (words, done.stdout, done.stderr))
        return done.stdout

    def pprof(self, *words: str) -> str:
        return self.go("tool", "pprof", "-symbolize=none", *words)

    def put(self, name: str, data) -> str:
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.path(name)

    def top(self, path: str, value: str, unit: str, *more: str) -> dict:
        """Returns name -> (self, inclusive), in `unit`, which may follow the numbers."""
        text = self.pprof(
            "-top",
            f"-sample_index={value}",
            f"-unit={unit}",
            "-nodecount=100000",
            "-nodefraction=0",
            "-edgefraction=0",
            *more,
            path,
        )
        rows: tuple[collections.Counter, ...] = collections.Counter(), collections.Counter()
        header = text.split("\n").index("      flat  flat%   sum%        cum   cum%")
        for line in text.split("\n")[header + 1 :]:
            if line:
                words = line.split(maxsplit=5)
                name = re.sub(r" \((partial-)?inline\)$", "", words[5])
                for sums, word in zip(rows, (words[0], words[3])):
                    sums[name] += int(re.match(r"-?\d+", word)[0])
        return {name: (rows[0][name], cum) for name, cum in rows[1].items() if cum}

    def rows(self, path: str, *more: str) -> dict:
        """Returns name -> (self, inclusive). Functions of several objects may share a name, such as
        the _start of a program and of the dynamic loader; pprof adds these up."""
        out: dict = {}
        for row in self.report(path, *more)["functions"]:
            own, inclusive = out.get(row["name"], (0, 0))
            out[row["name"]] = (own + row["self"][0], inclusive + row["inclusive"][0])
        return out

    def raw(self, path: str) -> dict:
        """Returns the sections of -raw. Samples have their stacks as text, and are summed."""
        text = self.pprof("-raw", path)
        samples = re.search(r"^Samples:\n(.*\n)([^L]*(?:.*\n)*?)Locations\n", text, re.M)
        locations = {}
        for line in text[text.index("\nLocations\n") : text.index("\nMappings\n")].split("\n")[2:]:
            if found := re.match(r" *(\d+): (\S+) (?:M=\d+ )?(.*)", line):
                at = found[1]
                locations[at] = found[2] + " " + found[3]
            else:
                locations[at] += "|" + line.strip()
        out: collections.Counter = collections.Counter()
        label = ""
        rows: list[tuple[tuple[int, ...], list[str], list[str]]] = []
        for line in samples[2].split("\n"):
            if found := re.match(r"^ *([-\d ]+?): ([\d ]*)$", line):
                rows.append((tuple(map(int, found[1].split())), found[2].split(), []))
            elif line:
                rows[-1][2].append(line.strip() + " ")
        for values, stack, labels in rows:
            key = (" < ".join(locations[at] for at in stack), "".join(labels))
            for i, value in enumerate(values):
                out[(*key, i)] += value
        return {
            "types": samples[1].replace("[dflt]", "").split(),
            "samples": out,
            "head": text[: text.index("Samples:")],
            "mappings": re.sub(r"^\d+: ", "", text[text.index("\nMappings\n") :], flags=re.M),
        }


class Ours(GoCase):
    def check(self, path: str, value: str, unit: str) -> None:
        top = self.top(path, value, unit)
        self.assertEqual(top, self.rows(path))
        self.assertGreater(len(top), 1)
        back = self.path("back.pb.gz")
        self.pprof("-proto", f"-output={back}", path)
        ours, theirs = self.report(path), self.report(back)
        for report in (ours, theirs):  # remove the file's name
            report.pop("file", None)
        self.assertEqual(ours["totals"], theirs["totals"])
        self.assertEqual(ours["events"], theirs["events"])
        self.assertEqual(ours["functions"], theirs["functions"])
        self.assertEqual(self.raw(path)["samples"], self.raw(back)["samples"])
        again = self.path("again.pb.gz")
        self.tally("convert", path, "-o", again)
        raw, raw_again = self.raw(path), self.raw(again)
        for part in ("types", "samples", "mappings"):
            self.assertEqual(raw[part], raw_again[part])

    def test_names_alone(self) -> None:
        self.put("s.folded", STACKS)
        path = self.path("s.pb.gz")
        self.tally("convert", self.path("s.folded"), "-o", path)
        self.check(path, "ticks", "count")
        self.assertEqual(self.rows(self.path("s.folded")), self.rows(path))

    def test_a_recorded_program(self) -> None:
        need_perf()
        path = self.path("r.pb.gz")
        self.tally("record", "-o", path, "--", program("spin7030"), "0.4")
        self.check(path, "samples", "count")
        raw = self.raw(path)
        self.assertEqual(raw["types"], ["samples/count", "cpu/nanoseconds"])
        self.assertIn("PeriodType: cpu nanoseconds", raw["head"])
        self.assertRegex(raw["head"], r"(?m)^Duration: \d")
        period = int(re.search(r"Period: (\d+)", raw["head"])[1])
        for (stack, label, i), value in raw["samples"].items():
            if i == 0:
                self.assertEqual(raw["samples"][(stack, label, 1)], value * period)
                if "[not sampled]" not in stack:  # time of the run that belongs to no thread
                    self.assertRegex(label, r"tid:\[\d+\]")
        self.assertIn("command: ", self.pprof("-comments", path))
        self.assertEqual(
            self.report(path)["totals"],
            [sum(v for (_, _, i), v in raw["samples"].items() if i == 0)],
        )

    def test_without_functions(self) -> None:
        """Samples of each file that was not symbolized are one row."""
        file = (
            Pprof()
            .type("ticks", "count")
            .mapping(1, 0x1000, 0x3000, "/bin/x")
            .mapping(2, 0x8000, 0x9000, "/lib/libc-2.15.so")
            .function(1, "main", "m.c", 3)
            .location(1, 1, 0x1010, [(1, 5)])
            .location(2, 1, 0x1020)
            .location(3, 2, 0x8010)
            .location(4, 2, 0x8020)
            .sample([3, 2, 1], [3])
            .sample([4, 2, 1], [4])
            .sample([2, 1], [5])
        )
        self.put("in.pb", file.bytes())
        path = self.path("n.pb.gz")
        self.tally("convert", self.path("in.pb"), "-o", path)
        self.check(path, "ticks", "count")
        self.assertEqual(
            self.rows(path), {"[libc-2.15.so]": (7, 7), "[x]": (5, 12), "main": (0, 12)}
        )

    def test_threads_and_parts(self) -> None:
        file = (
            Pprof()
            .type("ticks", "count")
            .mapping(1, 0x1000, 0x3000, "/bin/x")
            .function(1, "main", "m.c", 3)
            .function(2, "leaf", "m.c", 9)
            .location(1, 1, 0x1010, [(1, 5)])
            .location(2, 1, 0x1020, [(2, 10), (1, 6)])
            .sample([2, 1], [3], {"thread": "one", "tid": 8, "pid": 7, "part": 1})
            .sample([2, 1], [4], {"thread": "two", "tid": 9, "pid": 7, "part": 2})
            .sample([1], [5], {"thread": "two", "tid": 9, "pid": 7, "part": 2, "trigger": "end"})
        )
        self.put("in.pb", file.bytes())
        path = self.path("t.pb.gz")
        self.tally("convert", self.path("in.pb"), "-o", path)
        self.check(path, "ticks", "count")
        self.assertEqual(self.top(path, "ticks", "count"), {"leaf": (7, 7), "main": (5, 12)})
        tags = self.pprof("-tags", path)
        for label in ("thread", "tid", "pid", "part", "trigger"):
            self.assertRegex(tags, rf"(?m)^ *{label}: Total")


class Patterns(GoCase):
    """--focus, --ignore and --hide select what pprof's options of these names select."""

    def test_agree(self) -> None:
        random.seed(7)
        file = Pprof().type("ticks", "count")
        file.mapping(1, 0x1000, 0x9000, "/bin/program").mapping(2, 0x10000, 0x90000, "/lib/libx.so")
        names = ["main", "parse", "parse_list", "std::sort", "std::less", "x::run", "Lib"]
        for i, name in enumerate(names):
            file.function(i + 1, name, ("main.c", "/usr/include/algorithm", "lib/x.c")[i % 2], i)
        for i in range(1, 25):
            mapping = i % 3
            inside = range(mapping + 1, len(names) + 1, 3)  # its functions
            lines = [(random.choice(inside), i) for _ in range(random.randint(1, 3))]
            file.location(i, mapping, (0, 0x1000, 0x10000)[mapping] + i, lines)
        for value in range(1, 120):
            stack = [random.randint(1, 24) for _ in range(random.randint(1, 6))]
            file.sample(stack, [value])
        self.put("in.pb", file.bytes())
        path = self.path("in.pb")
        everything = self.top(path, "ticks", "count")
        self.assertEqual(everything, self.rows(path))
        seen = []
        for options in (
            {"focus": "parse"},
            {"focus": "^std::sort$", "ignore": "x.c"},
            {"ignore": "libx"},
            {"ignore": "run|Lib"},
            {"hide": "std::"},
            {"hide": "include"},
            {"hide": "libx|main"},
            {"focus": "std::", "hide": "std::"},
            {"focus": "less", "ignore": "run", "hide": "x[.]c|parse"},
            {"hide": "program|parse|run|Lib|main|less"},
        ):
            theirs = self.top(path, "ticks", "count", *(f"-{k}={v}" for k, v in options.items()))
            ours = self.rows(path, *(w for k, v in options.items() for w in (f"--{k}", v)))
            self.assertEqual(theirs, ours, options)
            seen.append(theirs)
            # So does what is written: Go reads the same from it without the options.
            out = self.path("out.pb.gz")
            words = (w for k, v in options.items() for w in (f"--{k}", v))
            self.tally("convert", path, "-o", out, *words)
            self.assertEqual(theirs, self.top(out, "ticks", "count"), options)
        for each in seen:
            self.assertGreater(len(each), 0)
            self.assertNotEqual(each, everything)


class Theirs(GoCase):
    def test_profiles_of_the_go_runtime(self) -> None:
        self.put("main.go", GO_PROGRAM)
        self.go("build", "-o", "prog", "main.go")
        subprocess.run(["./prog"], cwd=self.folder, check=True, timeout=60)
        cpu, heap = self.path("cpu.pb.gz"), self.path("heap.pb.gz")
        self.assertEqual(self.report(cpu)["events"], ["ticks"])
        self.assertEqual(self.top(cpu, "samples", "count"), self.rows(cpu))
        self.assertIn("main.inlined", self.rows(cpu))
        values = ["inuse_space", "alloc_objects", "alloc_space", "inuse_objects"]
        self.assertEqual(self.report(heap)["events"], values)
        for value in values:
            unit = "bytes" if value.endswith("space") else "count"
            self.assertEqual(self.top(heap, value, unit), self.rows(heap, "--event", value), value)

        # Files that Tally converts have the same samples for Go.
        for path, unordered in ((cpu, False), (heap, True)):
            out = self.path("ours.pb.gz")
            self.tally("convert", path, "-o", out)
            theirs, ours = self.raw(path), self.raw(out)
            self.assertEqual(sorted(theirs["types"]), sorted(ours["types"]))
            if not unordered:
                self.assertEqual(theirs["types"], ours["types"])
                self.assertEqual(theirs["samples"], ours["samples"])
                # The flags that Go sets on a mapping claim fewer names than the file holds.
                self.assertEqual(
                    *(re.sub(r"  \[.*", "", raw["mappings"]) for raw in (theirs, ours))
                )
        for value in values:
            unit = "bytes" if value.endswith("space") else "count"
            self.assertEqual(self.top(heap, value, unit), self.top(out, value, unit), value)

    def test_sums_and_differences(self) -> None:
        for name, text in (("a", STACKS), ("b", STACKS.replace(" 7\n", " 9\n"))):
            self.put(name + ".folded", text)
            self.tally("convert", self.path(name + ".folded"), "-o", self.path(name + ".pb.gz"))
        theirs, ours = self.path("theirs.pb.gz"), self.path("ours.pb.gz")
        self.pprof("-proto", f"-output={theirs}", self.path("a.pb.gz"), self.path("b.pb.gz"))
        self.tally("merge", self.path("a.pb.gz"), self.path("b.pb.gz"), "-o", ours)
        self.assertEqual(self.rows(theirs), self.rows(ours))
        self.assertEqual(self.raw(theirs)["samples"], self.raw(ours)["samples"])

        less = self.path("less.pb.gz")
        self.pprof(
            "-proto", f"-output={less}", f"-diff_base={self.path('b.pb.gz')}", self.path("a.pb.gz")
        )
        self.assertEqual(self.tally("validate", less).stderr, "")
        refused = self.tally("report", less, status=1)
        self.assertIn("a sample has a negative value", refused.stderr)


if __name__ == "__main__":
    run_unittests()
