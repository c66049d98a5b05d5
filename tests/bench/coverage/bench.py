#!/usr/bin/env python3
"""Measures coverage relative to gcov, gcovr and lcov, in alternating runs.

  bench.py FOLDER [--tally PATH] [--repeat 5] [--peers gcov,gcovr,lcov,cat] [--scale 1,4,16]

FOLDER is a build with .gcno and .gcda files, such as make_units.py makes. Prints two tables per
scale:

  gcov      all counters in one process: tally gcov -b, gcov -j -t -b
  coverage  the directory: tally coverage, gcovr with one job, lcov

`cat` of the .gcno and .gcda files that are read shows the cost of reading alone. A scale of 4 uses
four copies of the files, which still name the same sources, because gcov ignores a file that is
named twice. gcovr and lcov are slow: they run at the first scale only, lcov only once. Without
Perl's JSON::XS lcov takes three times as long, so install that.

Times are CPU time (user + system, with all children) and wall time: the least and the median of the
rounds. Memory is the peak of the largest process.
"""
import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

DATA = (".gcno", ".gcda")
SOURCES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".inc")
FIRST_SCALE, ONCE = ("gcovr", "lcov"), ("lcov",)


def run(command, folder, log):
    """Returns (CPU time, wall time, peak in MB) of a process with its children, and its status."""
    with open(log, "w") as errors:
        start = time.perf_counter()
        child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    return (usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024), child.returncode


def files_of(folder, endings):
    """Returns the sorted absolute names of the directory's files with these endings."""
    return sorted(
        str(path) for path in pathlib.Path(folder).resolve().rglob("*") if path.suffix in endings
    )


def copies(folder, times, out):
    """Returns a directory with `times` copies of the files that coverage reads; for one copy, the
    directory itself."""
    folder = folder.resolve()
    if times == 1:
        return folder
    for path in files_of(folder, DATA + SOURCES):
        for copy in range(times):
            to = out / f"copy{copy}" / pathlib.Path(path).relative_to(folder)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to)
    return out


def knows(tally, command):
    """Returns whether this tally has the command; for an unknown one it prints the general help."""
    done = subprocess.run([tally, command, "--help"], capture_output=True, text=True)
    return done.returncode == 0 and f"tally {command} " in done.stdout


def measure(ways, repeat):
    """Runs commands in turn; returns {name: [(CPU time, wall time, peak)]}, and prints failures."""
    taken: dict[str, list] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
        log = os.path.join(folder, "errors")
        for round_number in range(repeat):
            for name, command in ways.items():
                if round_number and name in ONCE:
                    continue
                figures, status = run(command, folder, log)
                taken[name].append(figures)
                if round_number == 0:
                    with open(log, errors="replace") as errors:
                        said = errors.read().splitlines()
                    if status or said:
                        print(
                            f"  {name}: status {status}, {len(said)} lines of errors"
                            + "".join(f"\n    {line[:150]}" for line in said[:3])
                        )
    return taken


def table(taken, size):
    """Prints a row for each command: times, their ratios to tally's, speed and memory."""
    print(
        f"  {'':6} {'rounds':>6} | {'cpu min':>9} {'median':>9} {'/tally':>7} {'/tally':>7} | "
        f"{'wall min':>9} {'median':>9} {'/tally':>7} {'/tally':>7} | {'MB/s':>6} {'peak MB':>8}"
    )
    for name, figures in taken.items():
        cells = []
        for at in (0, 1):
            values = [each[at] for each in figures]
            ours = [each[at] for each in taken.get("tally", [])]
            both = [min(values), statistics.median(values)]
            base = [min(ours), statistics.median(ours)] if ours else []
            cells.append(
                " ".join(
                    [f"{value:9.3f}" for value in both]
                    + [f"{value / of:7.2f}" for value, of in zip(both, base)]
                    + ([] if base else [f"{'-':>7}"] * 2)
                )
            )
        speed = size / 1e6 / max(1e-6, min(each[0] for each in figures))
        print(
            f"  {name:6} {len(figures):6} | {cells[0]} | {cells[1]} | {speed:6.0f} "
            f"{max(each[2] for each in figures):8.1f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("--tally", default="tally")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peers", default="gcov,gcovr,lcov,cat")
    parser.add_argument("--scale", default="1")
    options = parser.parse_args()
    tally = shutil.which(options.tally)
    if not tally:
        parser.error(f"{options.tally} is not a program: name it by --tally")
    tally = os.path.abspath(tally)
    peers = [peer for peer in options.peers.split(",") if shutil.which(peer)]
    for peer in set(options.peers.split(",")) - set(peers):
        print(f"{peer} is not installed: left out")
    # Raise the limit for a process's arguments: a quarter of the stack's limit, and at most 6 MB.
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (24 << 20 if hard < 0 else min(24 << 20, hard), hard))
    scales = [int(scale) for scale in options.scale.split(",")]
    for scale in scales:
        with tempfile.TemporaryDirectory(prefix="tally-bench-") as temporary:
            out = pathlib.Path(temporary)
            root = copies(options.folder, scale, out / "copies")
            counters, data = files_of(root, (".gcda",)), files_of(root, DATA)
            if not counters:
                parser.error(f"{root} has no .gcda: build with --coverage and run the program")
            notes = {path.removesuffix(".gcda") + ".gcno" for path in counters}
            never_ran = sorted({path for path in data if path.endswith(".gcno")} - notes)
            ran = [path for path in data if path in notes or path.endswith(".gcda")]
            print(f"{scale}x: {len(counters)} .gcda, load {os.getloadavg()[0]:.2f}")
            tables = {
                "gcov": {
                    "tally": [tally, "gcov", "-b", *counters],
                    "gcov": ["gcov", "-j", "-t", "-b", *counters],
                    "cat": ["cat", *ran],
                },
                # The sources are where they were compiled, also those of copies.
                "coverage": {
                    "tally": [
                        tally,
                        "coverage",
                        "-j",
                        "1",
                        "--root",
                        str(options.folder),
                        str(root),
                    ],
                    "gcov": ["gcov", "-j", "-t", "-b", *counters, *never_ran],
                    "gcovr": [
                        "gcovr",
                        "-r",
                        str(root),
                        "-j",
                        "1",
                        "--txt",
                        str(out / "gcovr.txt"),
                        str(root),
                    ],
                    "lcov": ["lcov", "-q", "-c", "-d", str(root), "-o", str(out / "lcov.info")],
                    "cat": ["cat", *data],
                },
            }
            for command, ways in tables.items():
                read = ways["cat"][1:]
                size = sum(map(os.path.getsize, read))
                print(f" {command}: {len(read)} files, {size / 1e6:.1f} MB", flush=True)
                names = [
                    name
                    for name in ways
                    if name in ("tally", *peers) and (scale == scales[0] or name not in FIRST_SCALE)
                ]
                if not knows(tally, command):
                    print(f"  tally: left out, because this one has no command `{command}`")
                    names.remove("tally")
                table(measure({name: ways[name] for name in names}, options.repeat), size)


if __name__ == "__main__":
    main()
