#!/usr/bin/env python3
"""Shows where the time of a build goes: processor time by folder, the heaviest headers and templates,
and the size of the code.

    build_time.py [--folder FOLDER] [--skip-trace]

Configures a build as gdb/try.sh does, in FOLDER (build-time/), and compiles what GDB loads, one
source at a time. Times are processor time of the compiler, user and system, so that a busy machine
changes them little. Headers and templates are those of Clang's -ftime-trace, in seconds over all
sources; a header's time contains that of what it includes first. Prints a table, and never fails
because of a number.
"""
from __future__ import annotations

import argparse
import collections
import json
import os
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOWN = 10


def processor_time(command: list[str], folder: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def configured(folder: Path) -> None:
    if not (folder / "build.ninja").exists():
        script = 'tally_source=$1; . "$1/tests/support/build.sh"; tally_configure_try "$2"'
        subprocess.run(
            ["sh", "-c", script, "sh", str(ROOT), str(folder)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    # Generated sources and headers.
    subprocess.run(
        ["ninja", "-C", str(folder), "gdb-plugin"], check=True, stdout=subprocess.DEVNULL
    )


def compilations(folder: Path) -> dict[str, list[str]]:
    """Returns the command of each object of the library and of the agent, by the object's path."""
    database = subprocess.run(
        ["ninja", "-C", str(folder), "-t", "compdb"], check=True, stdout=subprocess.PIPE, text=True
    )
    commands = json.loads(database.stdout[database.stdout.index("[") :])
    return {
        each["output"]: shlex.split(each["command"])
        for each in commands
        if re.match(r"lib/(libtally-\w+\.a|src/agent/.*)\.p/.*\.o$", each["output"])
    }


def without_output(command: list[str], output: Path) -> list[str]:
    at = command.index("-o")
    return [*command[: at + 1], str(output), *command[at + 2 :]]


def by_clang(command: list[str], output: Path) -> list[str]:
    kept = [word for word in without_output(command, output) if word != "-Wno-subobject-linkage"]
    return ["clang++", *kept[1:], "-w", "-ftime-trace", "-ftime-trace-granularity=5000"]


def heaviest(seconds: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda each: -each[1])


def print_heaviest(title: str, seconds: dict[str, float]) -> None:
    print(f"\n{title}")
    for name, time in heaviest(seconds)[:SHOWN]:
        print(f"{time:8.1f}  {name}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=ROOT / "build-time")
    parser.add_argument("--skip-trace", action="store_true")
    options = parser.parse_args()
    folder = options.folder.resolve()
    configured(folder)
    scratch = folder / "scratch.o"
    folders: dict[str, float] = collections.defaultdict(float)
    headers: dict[str, float] = collections.defaultdict(float)
    templates: dict[str, float] = collections.defaultdict(float)
    for name, command in compilations(folder).items():
        layer = re.sub(r"lib/(libtally-(\w+)\.a|src/(agent)/.*)\.p/.*", r"\2\3", name)
        print(f"compiling {name}", file=sys.stderr)
        folders[layer] += processor_time(without_output(command, scratch), folder)
        if options.skip_trace or layer == "agent":
            continue
        subprocess.run(by_clang(command, scratch), cwd=folder, check=True)
        trace = json.loads(scratch.with_suffix(".json").read_text(encoding="utf-8"))
        for event in trace["traceEvents"]:
            kind, seconds = event.get("name"), event.get("dur", 0) / 1e6
            detail = event.get("args", {}).get("detail", "")
            if kind == "Source":
                headers[os.path.normpath(detail)] += seconds
            elif kind in ("InstantiateFunction", "InstantiateClass"):
                templates[re.sub("<.*", "", detail)] += seconds
    print(f"{sum(folders.values()):8.1f}  seconds of processor time by the compiler, of these:")
    for layer, seconds in heaviest(folders):
        print(f"{seconds:8.1f}  {layer}")
    if not options.skip_trace:
        print_heaviest("headers, in seconds:", headers)
        print_heaviest("templates, in seconds:", templates)
    size = subprocess.run(
        ["size", str(folder / "lib/libtally.so")], check=True, stdout=subprocess.PIPE, text=True
    )
    print(f"\n{int(size.stdout.split()[6]):,} bytes of code in libtally.so, at -O1")
    return 0


if __name__ == "__main__":
    sys.exit(main())
