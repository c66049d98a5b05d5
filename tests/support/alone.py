#!/usr/bin/env python3
"""Checks that C and C++ sources of lib/ and lldb/ compile alone: unity builds, which compile
several sources as one, do not show that a source lacks an #include.

    alone.py [--build DIRECTORY] [--since REVISION] [--jobs N] [FILE]...

Checks the given files, or with --since those that differ from a revision in Git, or all. It takes
each file's flags from DIRECTORY, a build directory of Meson (default: build), and generates no
code. Prints the compiler's errors. The exit status is 1 if a file does not compile, and 2 if the
check cannot run.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path
from typing import List, Optional, Tuple

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.tidy import ROOT, Refusal, Target, changed_files, named_files, read_targets, units_of


def compile_alone(target: Target, file: Path) -> str:
    """Returns the compiler's errors, or ""."""
    tool, language = ("clang++", "c++") if target.is_cpp else ("clang", "c")
    command = [tool, *target.flags, "-w", "-fsyntax-only", "-x", language, str(file)]
    try:
        done = subprocess.run(
            command, cwd=target.directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise Refusal(f"cannot run {tool}: {error.strerror}") from None
    errors = done.stderr.decode(errors="replace")
    return "" if done.returncode == 0 else errors or f"{file}: {tool}: status {done.returncode}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIRECTORY")
    parser.add_argument("--since", metavar="REVISION", help="check the files that differ from it")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    options = parser.parse_args()
    try:
        wanted: Optional[List[Path]] = None
        if options.files or options.since is not None:
            wanted = named_files(options.files)
            wanted += changed_files(options.since) if options.since is not None else []
            wanted = list(dict.fromkeys(wanted))
        work: List[Tuple[Target, Path]] = [
            (unit.target, file)
            for unit in units_of(read_targets(options.build), wanted)
            for file in unit.files
        ]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            errors = [text for text in pool.map(lambda each: compile_alone(*each), work) if text]
    except Refusal as refusal:
        print(f"alone.py: {refusal}", file=sys.stderr)
        return 2
    print("".join(errors), end="")
    print(f"alone.py: {len(errors)} of {len(work)} files do not compile alone")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
