#!/usr/bin/env python3
"""Compares `tally annotate --asm` with objdump: the same instructions, with all the samples."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line, program
from support.skips import need_perf, need_tools, run_unittests


def tally(*words: str) -> str:
    done = subprocess.run(
        [command_line(), *words], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode and "without a disassembler" in done.stderr:
        raise unittest.SkipTest(done.stderr.strip())
    if done.returncode:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def objdump_addresses(path: str) -> list[int]:
    listing = subprocess.run(
        ["objdump", "-d", "-w", path], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    return [int(match, 16) for match in re.findall(r"(?m)^ +([0-9a-f]+):\t", listing)]


class ObjdumpTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("objdump")
        need_perf()
        folder = tempfile.TemporaryDirectory(prefix="asm-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def recorded(self, *words: str, name: str = "x.pb.gz") -> str:
        path = os.path.join(self.folder, name)
        tally("record", "-o", path, "--", *words)
        return path

    def code(self, profile: str, function: str) -> dict:
        return json.loads(tally("annotate", profile, function, "--asm", "--json"))

    def rows(self, profile: str, by: str = "function") -> list[dict]:
        return json.loads(tally("report", profile, "--by", by, "--json"))["functions"]

    def test_each_sampled_function(self) -> None:
        """All samples are at the function's instructions, and these are among objdump's."""
        for name in ("inlines", "spin7030", "spin7030_nodebug"):
            path = program(name)
            profile = self.recorded(path, "0.3")
            addresses = objdump_addresses(path)
            checked = 0
            for row in self.rows(profile):
                same_name = [each for each in self.rows(profile) if each["name"] == row["name"]]
                if os.path.basename(row["object"]) != name or len(same_name) > 1:
                    continue
                with self.subTest(f"{name}: {row['name']}"):
                    shown = self.code(profile, row["name"])
                    (found,) = shown["objects"]
                    instructions = found["instructions"]
                    self.assertEqual(sum(each["self"] for each in instructions), found["self"])
                    self.assertEqual((found["own"], found["unplaced"]), (row["self"][0], 0))
                    self.assertLessEqual(
                        max(each["inclusive"] for each in instructions), row["inclusive"][0]
                    )
                    ours = [each["address"] for each in instructions]
                    self.assertEqual(ours, sorted(set(ours)))
                    self.assertEqual(set(ours) - set(addresses), set())
                    checked += 1
            self.assertGreater(checked, 1, name)

    def test_a_split_function_shows_all_its_ranges(self) -> None:
        path = program("inlines")
        symbols = subprocess.run(
            ["nm", "-S", "-C", path], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        ranges = [
            (int(low, 16), int(low, 16) + int(size, 16))
            for low, size in re.findall(
                r"(?m)^(\w+) (\w+) t inlines::.*split_hot_cold\(.*$", symbols
            )
        ]
        if len(ranges) < 2:
            self.skipTest("this compiler does not split the function")
        profile = self.recorded(path, "1")
        (found,) = self.code(profile, "split_hot_cold")["objects"]
        ours = {each["address"] for each in found["instructions"]}
        theirs = {
            at for at in objdump_addresses(path) if any(low <= at < high for low, high in ranges)
        }
        self.assertEqual(ours, theirs)

    def test_costs_with_addresses_and_profiles_without(self) -> None:
        path = program("spin7030")
        profile = self.recorded(path, "0.5")
        # A callgrind file has link-time addresses, a pprof file those of the run.
        costs = self.recorded(path, "0.5", name="x.callgrind")
        for each in (profile, costs):
            (found,) = self.code(each, "seventy")["objects"]
            row = next(row for row in self.rows(each) if row["name"] == "seventy")
            self.assertEqual(found["own"], row["self"][0])
        for flavor, registers in (("att", True), ("intel", False)):
            shown = json.loads(
                tally(
                    "annotate",
                    profile,
                    "seventy",
                    "--asm",
                    "--json",
                    "--disassembly-flavor",
                    flavor,
                )
            )
            (found,) = shown["objects"]
            self.assertEqual(any("%r" in each["text"] for each in found["instructions"]), registers)
        folded = os.path.join(self.folder, "x.folded")
        tally("convert", profile, "-o", folded)
        done = subprocess.run(
            [command_line(), "annotate", folded, "seventy", "--asm"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^tally: seventy: has no addresses, .*\n$")


if __name__ == "__main__":
    run_unittests()
