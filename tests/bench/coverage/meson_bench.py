#!/usr/bin/env python3
"""Measures the time of a report after the tests: `tally-meson` and `ninja coverage-xml` (gcovr).

  meson_bench.py FOLDER [--units 280] [--tally PATH] [--runs 5]

Makes a Meson project of that many units (make_units.py) in FOLDER, once, builds it with b_coverage,
runs its test, and measures in turn three ways to report the counters: the table and Cobertura's XML
by `tally coverage`; the same by `tally-meson report`, which starts Python and does what both front
ends do after the tests; and Meson's own target. Prints the least, median and greatest wall time in
seconds, and the ratios of the medians. Meson's target is slow and therefore runs only twice.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from spread import spread

HERE = pathlib.Path(__file__).resolve().parent
HELPER = HERE.parents[2] / "meson-module" / "tally-meson"
SLOW_RUNS = 2
PROJECT = """\
project('units', 'cpp', default_options: ['b_coverage=true', 'cpp_std=c++20'])
test('all', executable('program', {}))
"""


def run(*command, cwd=None):
    subprocess.run([str(word) for word in command], cwd=cwd, check=True, stdout=subprocess.DEVNULL)


def clock(*command, cwd):
    start = time.perf_counter()
    run(*command, cwd=cwd)
    return time.perf_counter() - start


def make(folder, units):
    run(sys.executable, HERE / "make_units.py", folder, units)
    sources = sorted(path.name for path in folder.glob("*.cpp"))
    (folder / "meson.build").write_text(PROJECT.format(", ".join(map(repr, sources))))
    run("meson", "setup", folder / "build", folder)
    run("ninja", "-C", folder / "build")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--units", type=int, default=280)
    parser.add_argument("--tally", default="tally")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    folder = options.folder.resolve()
    build = folder / "build"
    if not build.exists():
        make(folder, options.units)
    run("meson", "test", "-C", build)
    tally = shutil.which(options.tally)
    if tally is None:
        parser.error(f"not a program: {options.tally}")
    tally = str(pathlib.Path(tally).resolve())
    os.environ["PATH"] = f"{pathlib.Path(tally).parent}{os.pathsep}{os.environ['PATH']}"
    commands = {
        "tally coverage": [
            tally,
            "coverage",
            "--build",
            build,
            "--root",
            folder,
            "--report",
            f"cobertura:{build}/ours.xml",
        ],
        "tally-meson report": [
            HELPER,
            "report",
            "-C",
            build,
            "--coverage-report",
            f"cobertura:{build}/ours.xml",
        ],
        "ninja coverage-xml": ["ninja", "-C", build, "coverage-xml"],
    }
    times: dict[str, list] = {name: [] for name in commands}
    for turn in range(max(options.runs, SLOW_RUNS)):
        for name, command in commands.items():
            if turn < (SLOW_RUNS if command[0] == "ninja" else options.runs):
                times[name].append(clock(*command, cwd=folder))
                print(f"{name}: {times[name][-1]:.3f}", file=sys.stderr, flush=True)
    theirs = statistics.median(times["ninja coverage-xml"])
    for name, seconds in times.items():
        print(f"{name:<18}  {spread(seconds)}  ratio {theirs / statistics.median(seconds):.1f}")


if __name__ == "__main__":
    main()
