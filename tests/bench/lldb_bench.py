#!/usr/bin/env python3
"""Measures what sampling in LLDB costs: the same work under LLDB with and without it, interleaved.

usage: lldb_bench.py COLLECT_BENCH [--runs N] [--rounds R] [--start 'profile start …']

TALLY_LLDB, TALLY_LIBRARY and TALLY_TEST_LLDBS name what is run. Prints for each LLDB the least,
median and greatest value of N runs:
  slow-down     CPU time and wall time of the program, relative to those without sampling
  a second      samples per second of the program's CPU time
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from spread import spread
from support.lldb_driver import lldb_name, lldb_programs, run_lldb


def play(lldb, program, rounds, start):
    commands = [start, "run", "profile status"] if start else ["run"]
    result = run_lldb(commands, program, ["work", rounds], lldb=lldb)
    cpu, wall = (
        float(re.search(rf'"{name}": ?([0-9.]+)', result.stdout)[1]) for name in ("cpu", "wall")
    )
    samples = re.search(r"^samples (\d+)$", result.stdout, re.MULTILINE)
    return cpu, wall, int(samples[1]) if samples else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", default="4000")
    parser.add_argument("--start", default="profile start --backend perf")
    options = parser.parse_args()
    print(f"{'':10} {'slow-down, CPU':>20} {'slow-down, wall':>20} {'a second':>17}")
    for lldb in lldb_programs():
        cpus, walls, rates = [], [], []
        for _ in range(options.runs):
            cpu_alone, wall_alone, _ = play(lldb, options.bench, options.rounds, "")
            cpu, wall, samples = play(lldb, options.bench, options.rounds, options.start)
            cpus.append(cpu / cpu_alone)
            walls.append(wall / wall_alone)
            rates.append(samples / cpu)
        print(
            f"{lldb_name(lldb):10} {spread(cpus):>20} {spread(walls):>20} "
            f"{spread(rates, 0):>17}",
            flush=True,
        )


if __name__ == "__main__":
    main()
