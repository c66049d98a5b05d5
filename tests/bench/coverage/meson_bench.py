#!/usr/bin/env python3
"""From the end of the tests to the report: `tally-meson` beside `ninja coverage-xml` (gcovr).

  meson_bench.py FOLDER [--units 280] [--tally PATH] [--runs 5]

Makes a Meson project of that many units (make_units.py) in FOLDER, once, builds it with
b_coverage, runs its test, and then measures in turn what a report of the counters takes: the table
and Cobertura's XML by `tally coverage`, and Meson's own target. Least, median and most, in seconds
by the clock, and the ratio of the medians. Meson's target is slow: it runs twice.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from spread import spread

HERE = pathlib.Path(__file__).resolve().parent
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
    ours = [clock(options.tally, "coverage", "--build", build, "--root", folder, "--report",
                  f"cobertura:{build}/ours.xml", cwd=folder) for _ in range(options.runs)]
    theirs = [clock("ninja", "-C", build, "coverage-xml", cwd=folder) for _ in range(2)]
    print(f"tally coverage      {spread(ours)}")
    print(f"ninja coverage-xml  {spread(theirs)}")
    print(f"ratio               {statistics.median(theirs) / statistics.median(ours):.1f}")


if __name__ == "__main__":
    main()
