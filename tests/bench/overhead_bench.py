#!/usr/bin/env python3
"""Measures what sampling costs, compared with perf record, in interleaved runs.

usage: overhead_bench.py COLLECT_BENCH [--runs N] [--seconds S]

Prints the least, median and greatest value of N runs:
  own CPU       CPU time of the profiler itself (start, reading, stop; not symbolizing)
  overhead      additional CPU time of the program, in percent of its time alone
  lost          samples that were lost for lack of space, in all runs together
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile


def run(command):
    """Returns the JSON lines that the command printed, and the CPU time of it and its children."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit status {process.returncode}")
    lines = [line for line in out.decode().splitlines() if line.startswith("{")]
    return [json.loads(line) for line in lines], usage.ru_utime + usage.ru_stime


def summary(values, unit=1.0, digits=2):
    return (
        f"min {min(values) * unit:.{digits}f}  median {statistics.median(values) * unit:.{digits}f}"
        f"  max {max(values) * unit:.{digits}f}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.6)
    args = parser.parse_args()

    (probe,), _ = run([args.bench, "work", "100"])
    rounds = str(max(1, int(100 * args.seconds / probe["cpu"])))
    work = [args.bench, "work", rounds]
    perf = shutil.which("perf")
    folder = tempfile.mkdtemp()
    cases: list[tuple[str, str, int, list[str]]] = [
        ("pcs", "none", 1000, []),
        ("frame pointers", "fp", 1000, ["--call-graph", "fp"]),
        ("registers and stack", "dwarf", 1000, ["--call-graph", "dwarf"]),
        ("pcs", "none", 4000, []),
        ("pcs", "none", 20000, []),
        ("registers and stack", "dwarf", 4000, ["--call-graph", "dwarf"]),
    ]
    for name, mode, hz, perf_options in cases:
        alone, ours, theirs, own, their_own, lost, got = [], [], [], [], [], 0, []
        parts: dict[str, list] = {"start": [], "run": [], "stop": []}
        for _ in range(args.runs):
            (result,), _ = run(work)
            alone.append(result["cpu"])
            (worked, result), _ = run([args.bench, "sample", str(hz), mode] + work)
            ours.append(worked["cpu"])
            own.append(result["own_cpu"])
            lost += result["lost"]
            got.append(result["samples"] / result["cpu"] / hz)
            for part, values in parts.items():
                values.append(result[part])
            if perf:
                (worked,), total = run(
                    [perf, "record", "-q", "-F", str(hz), "-e", "task-clock"]
                    + perf_options
                    + ["-o", folder + "/perf.data", "--"]
                    + work
                )
                theirs.append(worked["cpu"])
                their_own.append(total - worked["cpu"])
        base = statistics.median(alone)
        print(f"{name}, {hz} Hz, {base:.2f} s of CPU, {args.runs} runs")
        print(
            f"  own CPU, ms        {summary(own, 1e3)}  "
            + "  ".join(f"{part} {statistics.median(v) * 1e3:.2f}" for part, v in parts.items())
        )
        if perf:
            print(
                f"  perf's own CPU, ms {summary(their_own, 1e3)}  "
                f"ratio of medians {statistics.median(own) / statistics.median(their_own):.3f}"
            )
        print(f"  overhead, %        {summary([v / base - 1 for v in ours], 100)}")
        if perf:
            print(f"  perf's, %          {summary([v / base - 1 for v in theirs], 100)}")
        print(f"  delivered rate     {summary(got, 1, 3)}  lost {lost}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
