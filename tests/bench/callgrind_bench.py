#!/usr/bin/env python3
"""Measures reading and writing Callgrind files relative to other programs, in alternating runs.

  callgrind_bench.py path/to/callgrind-bench FILE [--sizes 1,4,16] [--rounds N]

FILE must not be compressed. Larger inputs repeat its body with every function renamed, so that the
model grows, too. The references are `wc -l` (the whole process), a loop of read(2), and once, at
1x, callgrind_annotate. Times are CPU time (user + system) and wall time; printed are the least and
the median of the rounds. Memory is the peak of a child that reads into the model, less that of one
that does nothing.
"""
import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

ID = re.compile(r"\((\d+)\)")
KEYS = ("fn=", "cfn=", "jfn=", "frfn=")
COUNTS = ("summary:", "totals:")


def renamed(line, copy, ids):
    """Returns the line with its function renamed for another copy: other ids, another name."""
    key, name = line.rstrip("\n").split("=", 1)
    text = (
        ID.sub(lambda match: f"({int(match[1]) + copy * ids})", name, count=1)
        if re.match(r"\(\d", name)
        else name
    )
    words = text.split(" ", 1)
    if words[-1].startswith("(") and len(words) == 2:  # a name composed of ids
        words[1] = ID.sub(lambda match: f"({int(match[1]) + copy * ids})", words[1])
        return f"{key}={' '.join(words)}\n"
    defines = len(words) == 2 or not re.match(r"\(\d", text)
    return f"{key}={text}.{copy}\n" if defines else f"{key}={text}\n"


def grow(path, times, out):
    """Writes the file with its body repeated `times` times. Renames the functions of the copies,
    and multiplies the totals."""
    with open(path, encoding="latin-1", newline="\n") as file:
        ids = 1 + max(
            (
                int(match[1])
                for line in file
                if line.startswith(KEYS)
                for match in ID.finditer(line)
            ),
            default=0,
        )
    with open(out, "w", encoding="latin-1", newline="\n") as grown:
        for copy in range(times):
            with open(path, encoding="latin-1", newline="\n") as file:
                in_body = False
                for line in file:
                    if line.startswith("part:") and in_body:
                        raise SystemExit(f"{path}: has several parts")
                    if line.startswith(COUNTS):
                        key, *numbers = line.split()
                        if copy == (0 if key == "summary:" else times - 1):
                            grown.write(
                                " ".join([key] + [str(int(n) * times) for n in numbers]) + "\n"
                            )
                        continue
                    in_body = in_body or bool(re.match(r"(ob|fl|fn)=", line))
                    if not in_body and copy > 0:
                        continue
                    grown.write(
                        renamed(line, copy, ids) if copy and line.startswith(KEYS) else line
                    )


def process(command):
    """Returns (CPU time, wall time) of a whole process, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("bench")
    parser.add_argument("file")
    parser.add_argument("--sizes", default="1,4,16")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    annotate = shutil.which("callgrind_annotate")
    print("load", os.getloadavg())
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
        for size in map(int, options.sizes.split(",")):
            path = options.file
            if size > 1:
                path = os.path.join(folder, "grown.callgrind")
                grow(options.file, size, path)
            bytes_read = os.path.getsize(path)
            times: dict[str, list] = {"wc -l": [], "read(2)": [], "read": [], "write": []}
            written = 0
            process(["wc", "-l", path])  # fills the page cache
            for round_number in range(options.rounds):
                times["wc -l"].append(process(["wc", "-l", path]))
                for name, mode in (("read(2)", "raw"), ("read", "read"), ("write", "write")):
                    cpu, wall, count = output(options.bench, mode, path)
                    times[name].append((float(cpu), float(wall)))
                    written = int(count)
                if annotate and size == 1 and round_number == 0:
                    times["callgrind_annotate"] = [process([annotate, path])]
            memory = int(output(options.bench, "memory", path)[0])
            print(
                f"\n{size}x: {bytes_read / 1e6:.1f} MB, written {written / bytes_read:.3f} of it; "
                f"the model takes {memory / bytes_read:.2f} bytes per byte; load "
                f"{os.getloadavg()[0]:.2f}"
            )
            for name, taken in times.items():
                for kind, at in (("cpu", 0), ("wall", 1)):
                    values, base = ([t[at] for t in each] for each in (taken, times["wc -l"]))
                    ours = [t[at] for t in times["read"]]
                    print(
                        f"{name:18} {kind:4} min {min(values):7.4f} s  median "
                        f"{statistics.median(values):7.4f} s  {bytes_read / 1e6 / min(values):6.0f} MB/s"
                        f"  of wc -l {min(values) / min(base):6.2f}"
                        f"  of read {min(values) / min(ours):6.2f}"
                    )


if __name__ == "__main__":
    main()
