#!/usr/bin/env python3
"""Measures what a switch of `profile region` costs in GDB beyond the breakpoint's own stop.

usage: region_bench.py PROGRAMS [--runs N] [--passes N]

PROGRAMS is the build's tests/programs; TALLY_LIBRARY names the library to load. It runs a program
that calls a short function many times, alternately with `profile region` on the function, and with
breakpoints at the same addresses whose stop() only returns False, while sampling. A pass is two
switches. Prints the least, median and greatest value of N runs, in microseconds per switch: wall
time and GDB's own CPU time of both, their difference, and the time of Tally's stop() itself.
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from spread import spread
from support.gdb_driver import run_gdb

PLAIN = """python
class Plain(gdb.Breakpoint):
    def stop(self):
        return False
returns_to = gdb.newest_frame().older().pc()
Plain("short_call", internal=True); Plain(f"*{returns_to:#x}", internal=True)
"""
TIMED_STOP = """python
import time, tally_gdb.region as region
taken, inner = [], region.Region.hit
def timed(self, *words):
    begin = time.perf_counter(); inner(self, *words); taken.append(time.perf_counter() - begin)
region.Region.hit = timed
"""
BEGIN = "python import time; begin = time.monotonic(), time.process_time()"
END = "python print('took', time.monotonic() - begin[0], time.process_time() - begin[1])"


def lines(script):
    """Converts a script to one line, as -ex requires."""
    body = script.removeprefix("python\n")
    return f"python exec({body!r})"


def play(program, passes, how):
    first = {
        "plain": ["profile start", lines(PLAIN)],
        "region": ["profile region short_call"],
        "timed": [lines(TIMED_STOP), "profile region short_call"],
    }[how]
    commands = ["tbreak short_call", "run", *first, BEGIN, "continue", END]
    if how == "timed":
        commands.append("python taken.sort(); print('stop', taken[len(taken) // 2])")
    result = run_gdb(commands, program, ["0.001", str(passes)])
    wall, cpu = re.search(r"^took (\S+) (\S+)$", result.stdout, re.MULTILINE).groups()
    stop = re.search(r"^stop (\S+)$", result.stdout, re.MULTILINE)
    return float(wall), float(cpu), float(stop[1]) if stop else 0.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--passes", type=int, default=3000)
    options = parser.parse_args()
    program = os.path.join(options.programs, "regions")
    runs: dict[str, list] = {"plain": [], "region": [], "timed": []}
    for _ in range(options.runs):
        for how, taken in runs.items():
            taken.append(play(program, options.passes, how))
    switches = 2 * options.passes
    columns = {"wall": 0, "GDB's CPU": 1}
    for name, column in columns.items():
        for how in ("plain", "region"):
            print(
                f"{how:7} {name:10}",
                spread([1e6 * each[column] / switches for each in runs[how]], 1),
                "us a switch",
            )
        print(
            f"beyond  {name:10}",
            spread(
                [
                    1e6 * (region[column] - plain[column]) / switches
                    for region, plain in zip(runs["region"], runs["plain"])
                ],
                1,
            ),
            "us a switch",
        )
    print(
        "our stop() itself ",
        spread([1e6 * each[2] for each in runs["timed"]], 1),
        "us, median of a run",
    )


if __name__ == "__main__":
    main()
