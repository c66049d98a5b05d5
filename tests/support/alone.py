#!/usr/bin/env python3
"""Checks that C and C++ sources of lib/ and lldb/ compile alone: unity builds, which compile
several sources as one, do not show that a source lacks an #include.

    alone.py [--build DIRECTORY] [--since REVISION] [--jobs N] [FILE]...

Checks the given files and, with --since, the sources and headers that differ from a revision in
Git, and all that include a header which has lost an #include; without either, all sources. A header
that a source of its name includes first is checked by this source. Each file's flags come from
DIRECTORY, a build directory of Meson (default: build); no code is generated. Prints the compiler's
errors. The exit status is 1 if a file does not compile, and 2 if the check cannot run.
"""
from __future__ import annotations

import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.compile_database import Refusal, Target, chosen_units, parse_arguments


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


def source_of(file: Path) -> Path:
    """Returns the source that shows that a header compiles alone, because it includes the header
    first; the file itself if there is none."""
    source = file.with_suffix(".cpp")
    if file.suffix != ".h" or not source.is_file():
        return file
    first = re.search(r'^#include ["<](.*)[">]', source.read_text(errors="replace"), re.MULTILINE)
    return source if first and file.as_posix().endswith("/" + first[1]) else file


def main() -> int:
    options = parse_arguments(__doc__ or "")
    try:
        units = chosen_units(options, includers=True)
        work = []
        for unit in units:
            work += [(unit.target, file) for file in dict.fromkeys(map(source_of, unit.files))]
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
