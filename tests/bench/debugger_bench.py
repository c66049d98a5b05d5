#!/usr/bin/env python3
"""Measures what sampling in GDB costs: wall time of a `continue` with and without it, interleaved.

usage: debugger_bench.py PROGRAMS [--runs N] [--seconds S]

PROGRAMS is the build's tests/programs; TALLY_LIBRARY and TALLY_AGENT_LIBRARY name the libraries to
load. Prints for each way of sampling the least, median and greatest value of N runs:
  slow-down     relative to the time without sampling, under the same debugger
  a second      samples per second that the program ran
  share         of `seventy`, in percent of the sum of it and `thirty`; the true value is 70
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from spread import spread
from support.gdb_driver import run_gdb

TIMED = [
    "python import time; begin = time.monotonic()",
    "continue",
    "python print('took', time.monotonic() - begin)",
]


def play(program, arguments, start, remote, wrapper):
    connect = (
        [f"target remote | gdbserver --once - {program} {' '.join(arguments)}"]
        if remote
        else ["break main", "run"]
    )
    if start and remote:
        connect += [start]
    elif start:  # the agent is preloaded at `run`
        connect = [start] + connect
    if remote:
        connect += ["break main", "continue"]
    result = run_gdb(
        [*connect, *TIMED, "profile status", "profile report --json"]
        if start
        else [*connect, *TIMED],
        program,
        [] if remote else arguments,
        wrapper=wrapper,
    )
    took = float(re.search(r"^took ([0-9.]+)$", result.stdout, re.MULTILINE)[1])
    if not start:
        return took, None, None
    samples = int(re.search(r"^samples (\d+)$", result.stdout, re.MULTILINE)[1])
    selves = dict(re.findall(r'"name": ?"(seventy|thirty)".*?"self": ?\[(\d+)\]', result.stdout))
    seventy, thirty = int(selves.get("seventy", 0)), int(selves.get("thirty", 0))
    return took, samples / took, 100 * seventy / max(1, seventy + thirty)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    program = os.path.join(options.programs, "spin7030")
    refused = [os.path.join(options.programs, "seccomp_run"), "eperm"]
    arguments = [str(options.seconds)]
    cases = [
        ("perf, 1000 Hz", "profile start --backend perf", False, []),
        ("agent, 1000 Hz, perf allowed", "profile start --backend agent", False, []),
        ("agent, 1000 Hz, perf refused", "profile start", False, refused),
        ("interrupt, 100 Hz", "profile start --backend interrupt --frequency 100", False, []),
        ("interrupt, 1000 Hz", "profile start --backend interrupt", False, []),
        ("interrupt over gdbserver, 50 Hz", "profile start --frequency 50", True, []),
        ("interrupt over gdbserver, 100 Hz", "profile start", True, []),
    ]
    print(f"{'':34} {'slow-down':>17} {'a second':>22} {'share':>20}")
    for name, start, remote, wrapper in cases:
        ratios, rates, shares = [], [], []
        for _ in range(options.runs):
            alone, _, _ = play(program, arguments, "", remote, wrapper)
            took, rate, share = play(program, arguments, start, remote, wrapper)
            ratios.append(took / alone)
            rates.append(rate)
            shares.append(share)
        print(
            f"{name:34} {spread(ratios, 2):>17} {spread(rates, 0):>22} {spread(shares, 1):>20}",
            flush=True,
        )


if __name__ == "__main__":
    main()
