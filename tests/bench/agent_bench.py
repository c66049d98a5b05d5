#!/usr/bin/env python3
"""Measures what the agent delivers, disturbs and costs, in interleaved runs.

usage: agent_bench.py TALLY PROGRAMS COLLECT_BENCH [--runs N] [--seconds S]

PROGRAMS is the build's tests/programs. Prints the least, median and greatest value of N runs:
  delivered     ticks counted, relative to those due for the program's own CPU time
  addresses     interruptions (distinct pcs sampled), relative to the same
  share         of `seventy`, in percent of the sum of it and `thirty`; the true value is 70
Also prints, for a fixed amount of work, the CPU time of the program with the agent inside, relative
to that of the program alone; and for a program of short polls, how many of them failed with EINTR.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

from spread import spread


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.TemporaryDirectory(prefix="agent-bench-")

    def program(self, name):
        return os.path.join(self.options.programs, name)

    def record(self, refused, frequency, *command):
        """Records a program. Returns what tally reported, and the program's output."""
        path = os.path.join(self.folder.name, "out.folded")
        words = [self.program("seccomp_run"), "eperm"] if refused else []
        words += [
            self.options.tally,
            "record",
            "--backend",
            "agent",
            "-F",
            str(frequency),
            "-o",
            path,
            "--",
            self.program(command[0]),
            *command[1:],
        ]
        out, messages = run(words)
        found = re.search(r"(\d+) samples in ([0-9.]+) s of CPU time, (\d+) lost", messages)
        clock = re.search(r"clock was (\w+)(?:, it interrupted the program (\d+))?", messages)
        counts: dict[str, int] = {}
        with open(path, encoding="utf-8") as file:
            for line in file:
                stack, count = line.rsplit(" ", 1)
                leaf = stack.split(";")[-1]
                counts[leaf] = counts.get(leaf, 0) + int(count)
        return {
            "counts": counts,
            "samples": int(found[1]),
            "seconds": float(found[2]),
            "lost": int(found[3]),
            "addresses": int(clock[2] or 0),
            "clock": clock[1],
            "out": out,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tally")
    parser.add_argument("programs")
    parser.add_argument("collect_bench")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", default="2")
    options = parser.parse_args()
    bench = Bench(options)

    cases = [
        (refused, frequency, name)
        for name in ("spin7030", "spin7030_threads")
        for refused in (True, False)
        for frequency in (1000, 4000)
    ]
    results: dict[tuple, list] = {case: [] for case in cases}
    for _ in range(options.runs):
        for case in cases:
            refused, frequency, name = case
            results[case].append(bench.record(refused, frequency, name, options.seconds))
    print(
        f"{'program':18}{'clock':8}{'Hz':>5}  {'delivered':19} {'addresses':19} {'share':17} "
        "lost"
    )
    for (refused, frequency, name), runs in results.items():
        print(
            f"{name:18}{runs[0]['clock']:8}{frequency:5}  "
            f"{spread([r['samples'] * 1.003 / r['seconds'] / frequency for r in runs]):19} "
            f"{spread([r['addresses'] / r['seconds'] / frequency for r in runs]):19} "
            + spread(
                [
                    100 * r["counts"]["seventy"] / (r["counts"]["seventy"] + r["counts"]["thirty"])
                    for r in runs
                ],
                digits=1,
            )
            + f"    {sum(r['lost'] for r in runs)}"
        )

    ways = [("alone", None, 0)] + [
        (f"{'ticker' if refused else 'ring'} {frequency}", refused, frequency)
        for refused in (True, False)
        for frequency in (1000, 4000)
    ]
    cpu: dict[str, list] = {label: [] for label, _, _ in ways}
    for _ in range(options.runs):
        for label, refused, frequency in ways:
            work = [os.path.abspath(options.collect_bench), "work", "2000"]
            out = (
                run(work)[0] if refused is None else bench.record(refused, frequency, *work)["out"]
            )
            cpu[label].append(json.loads(out)["cpu"])
    print("\nCPU time of a fixed amount of work, over the least alone")
    for label, times in cpu.items():
        print(f"{label:14}{spread([t / min(cpu['alone']) for t in times])}")

    print("\npolls of 1 ms that failed with EINTR, percent")
    for label, refused, frequency in (
        ("ticker 1000", True, 1000),
        ("ticker 4000", True, 4000),
        ("timer 100", True, 100),
        ("ring 1000", False, 1000),
        ("ring 4000", False, 4000),
    ):
        rates = []
        for _ in range(options.runs):
            out = bench.record(refused, frequency, "polls", options.seconds)["out"]
            polls, eintr = (int(re.search(rf"{key} (\d+)", out)[1]) for key in ("polls", "eintr"))
            rates.append(100 * eintr / polls)
        print(f"{label:14}{spread(rates, digits=2)}  (of about {polls})")


if __name__ == "__main__":
    main()
