#!/usr/bin/env python3
"""Compares unwinding with `perf record --call-graph dwarf`, in interleaved runs, and the table of
the stacks with `perf report`.

usage: stacks_bench.py COLLECT_BENCH TALLY [--runs N] [--part overhead|memory|table]
                       [--frequencies HZ,…] [--sizes BYTES,…] [-- COMMAND ARGUMENT…]

COMMAND is the program to sample; the default is GCC's compiler proper on a file that uses the C++
library. Every figure is the least, median and greatest value of the runs. Times are CPU times,
except the table's, which is wall time. Ratios are of the medians. Other load on the machine widens
the spread: check it before you trust a ratio.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from spread import spread

SOURCE = (
    "".join(
        f"#include <{name}>\n"
        for name in (
            "algorithm",
            "functional",
            "iostream",
            "map",
            "random",
            "regex",
            "sstream",
            "string",
            "unordered_map",
            "vector",
        )
    )
    + """
int main(int argc, char **argv) {
  std::map<std::string, std::vector<int>> all;
  std::unordered_map<std::string, std::function<int(int)>> calls;
  std::regex pattern("a+(b|c)*");
  std::mt19937 random(1);
  for (int i = 0; i < argc * 100; ++i) {
    std::ostringstream text;
    text << i << random();
    all[text.str()].push_back(i);
    calls[text.str()] = [&](int n) { return n + argc; };
  }
  for (auto &[key, values] : all)
    std::sort(values.begin(), values.end());
  return std::regex_search(argv[0], pattern) + (int)all.size() + calls["1"](2);
}
"""
)


def compiler(folder):
    """Returns the command of the compiler proper, without its driver."""
    source = os.path.join(folder, "stl.cpp")
    with open(source, "w", encoding="utf-8") as out:
        out.write(SOURCE)
    preprocessed = os.path.join(folder, "stl.ii")
    subprocess.run(["g++", "-E", source, "-o", preprocessed], check=True)
    proper = subprocess.run(
        ["g++", "-print-prog-name=cc1plus"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return [proper, "-quiet", "-O1", preprocessed, "-o", os.devnull]


def run(command):
    """Returns the JSON lines that the command printed, and the CPU time of it and its children."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, errors = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(
            f"{' '.join(command)}: exit status {process.returncode}: " f"{errors.decode()[:300]}"
        )
    lines = [json.loads(line) for line in out.decode().splitlines() if line.startswith("{")]
    return lines, usage.ru_utime + usage.ru_stime


def overhead(args, command, folder):
    alone = []
    cases = [(hz, size) for hz in args.frequencies for size in args.sizes]
    ours: dict[tuple, list] = {case: [] for case in cases}
    theirs: dict[int, list] = {hz: [] for hz in args.frequencies}
    data = os.path.join(folder, "perf.data")
    for _ in range(args.runs):
        (result,), _ = run([args.bench, "run"] + command)
        alone.append(result["cpu"])
        for hz in args.frequencies:
            (result,), total = run(
                [
                    "perf",
                    "record",
                    "-q",
                    "-F",
                    str(hz),
                    "-e",
                    "task-clock",
                    "--call-graph",
                    "dwarf",
                    "-o",
                    data,
                    "--",
                    args.bench,
                    "run",
                ]
                + command
            )
            theirs[hz].append((result["cpu"], total - result["cpu"], os.path.getsize(data)))
            for size in args.sizes:
                mode = f"unwind:{size}" if size else "unwind"
                (result,), _ = run([args.bench, "sample", str(hz), mode] + command)
                ours[hz, size].append(result)
    base = statistics.median(alone)
    print(f"alone, s: {spread(alone, 2)}  ({args.runs} runs)")
    for hz in args.frequencies:
        cpu, own, size = zip(*theirs[hz])
        their_overhead, their_own = [100 * (v / base - 1) for v in cpu], statistics.median(own)
        print(
            f"{hz} Hz, perf record --call-graph dwarf (8 KiB)\n"
            f"  overhead, %  {spread(their_overhead, 1)}\n"
            f"  own CPU, s   {spread(own)}   file, MB {statistics.median(size) / 1e6:.0f}"
        )
        for case in (case for case in cases if case[0] == hz):
            rows = ours[case]
            values = [100 * (row["child_cpu"] / base - 1) for row in rows]
            own = [row["own_cpu"] for row in rows]
            samples = sum(row["samples"] for row in rows)
            print(
                f"{hz} Hz, Tally, stack dumps of {rows[-1]['stack_bytes']} bytes, rings of "
                f"{rows[-1]['ring_bytes'] >> 10} KiB\n"
                f"  overhead, %  {spread(values, 1)}   ratio "
                f"{statistics.median(values) / max(0.01, statistics.median(their_overhead)):.2f}\n"
                f"  own CPU, s   {spread(own)}   ratio {statistics.median(own) / their_own:.3f}\n"
                f"  lost {sum(row['lost'] for row in rows)} of {samples}, cut "
                f"{100 * sum(row['cut'] for row in rows) / samples:.1f} %, memory, KB "
                f"{max(row['memory'] for row in rows) / 1e3:.0f}"
            )


def memory(args, command, folder):
    """Prints the memory that stacks at 4 kHz take; the goal is stated for eight seconds."""
    (result,), _ = run([args.bench, "sample", "4000", "unwind"] + command)
    print(
        f"memory of {result['samples']} stacks, {result['cpu']:.1f} s: "
        f"{result['memory'] / 1e3:.0f} KB"
    )
    for name in ("profile.pb.gz", "profile.folded"):
        out = os.path.join(folder, name)
        subprocess.run(
            [args.tally, "record", "-F", "4000", "-o", out, "--"] + command,
            check=True,
            capture_output=True,
        )
        print(f"on disk, {name}: {os.path.getsize(out) / 1e3:.0f} KB")


def table(args, command, folder):
    data = os.path.join(folder, "perf.data")
    (result,), _ = run([args.bench, "run"] + command)
    hz = min(10000, round(30000 / result["cpu"]))
    subprocess.run(
        [
            "perf",
            "record",
            "-q",
            "-N",
            "-F",
            str(hz),
            "-e",
            "task-clock",
            "-m",
            "16M",
            "--call-graph",
            "dwarf",
            "-o",
            data,
            "--",
        ]
        + command,
        check=True,
        capture_output=True,
    )
    cases = {
        "tally report": [args.tally, "report", data],
        "perf report --stdio": ["perf", "report", "--stdio", "-i", data, "-g", "none"],
        "perf report --stdio --no-inline": [
            "perf",
            "report",
            "--stdio",
            "-i",
            data,
            "--no-inline",
            "-g",
            "none",
        ],
    }
    taken: dict[str, list] = {name: [] for name in cases}
    for _ in range(args.runs):
        for name, words in cases.items():
            begin = time.perf_counter()
            try:
                subprocess.run(words, check=True, capture_output=True, timeout=args.limit)
            except subprocess.TimeoutExpired:
                pass  # counts as the limit, which is less than the true time
            taken[name].append(time.perf_counter() - begin)
    print(f"table of a perf.data of {os.path.getsize(data) / 1e6:.0f} MB, s")
    ours = statistics.median(taken["tally report"])
    for name, values in taken.items():
        print(
            f"  {name:34} {spread(values)}   ours is "
            f"{ours / statistics.median(values):.3f} of it"
        )


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("bench")
    parser.add_argument("tally")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--part", choices=["overhead", "memory", "table"])
    numbers = lambda text: [int(word) for word in text.split(",")]
    parser.add_argument("--frequencies", type=numbers, default=[1000, 4000])
    parser.add_argument("--limit", type=float, default=60, help="seconds for one table")
    parser.add_argument(
        "--sizes",
        type=numbers,
        default=[0],
        help="bytes of a stack dump; 0 lets the sampler choose",
    )
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args = parser.parse_args(sys.argv[1:at])
    if not shutil.which("perf"):
        raise SystemExit("perf is not installed")
    with tempfile.TemporaryDirectory() as folder:
        command = sys.argv[at + 1 :] or compiler(folder)
        for part in (overhead, memory, table):
            if args.part in (None, part.__name__):
                part(args, command, folder)


if __name__ == "__main__":
    main()
