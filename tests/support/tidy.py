#!/usr/bin/env python3
"""Checks the C and C++ sources of lib/ and lldb/ with clang-tidy. The file .clang-tidy lists the
checks.

    tidy.py [--build DIRECTORY] [--since REVISION] [--jobs N] [FILE]...

Checks the given files, or with --since those that differ from a revision in Git, or all. All are
checked, too, if .clang-tidy differs from that revision. A header is checked with the flags of the
sources that are nearest to it. DIRECTORY is a build directory of Meson (default: build), whose
targets must be built if they generate headers. Prints each finding once. The exit status is 1 if
there are findings, and 2 if clang-tidy cannot run or a FILE is not a source of lib/ or lldb/.

Most of clang-tidy's time goes into headers of the system, which it searches for each check. So the
C++ sources of a target are checked as one translation unit. If they do not compile together,
because two of them define the same name, they are checked one by one.
"""
from __future__ import annotations

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, Tuple

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.compile_database import (
    ROOT,
    Refusal,
    Unit,
    changed_names,
    chosen_units,
    parse_arguments,
)

TOOL = "clang-tidy-14"  # its findings differ between versions: that of Debian 12 decides
FINDING = re.compile(r"^(\S.*?):(\d+:\d+): (warning|error): ", re.MULTILINE)


def size_of(unit: Unit) -> int:
    try:
        return sum(file.stat().st_size for file in unit.files)
    except OSError as error:
        text = f"{error.filename}: {error.strerror}: configure the build directory again"
        raise Refusal(text) from None


def check(unit: Unit, folder: str) -> Dict[str, str]:
    """Returns the findings by the place and the text of each."""
    suffix = ".cpp" if unit.target.is_cpp else ".c"
    with tempfile.TemporaryDirectory(dir=folder) as name:
        main = Path(name, f"unit{suffix}")
        main.write_text("".join(f'#include "{file}"\n' for file in unit.files), encoding="utf-8")
        row = {
            "directory": unit.target.directory,
            "file": str(main),
            "arguments": ["clang", *unit.target.flags, "-c", str(main)],
        }
        Path(name, "compile_commands.json").write_text(json.dumps([row]), encoding="utf-8")
        # The unit, which is not a file of the project, includes sources.
        command = [TOOL, "-p", name, "--quiet", f"--config-file={ROOT / '.clang-tidy'}"]
        command += ["--checks=-bugprone-suspicious-include"]
        done = subprocess.run(
            [*command, str(main)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    found = dict(_findings(done.stdout))
    broken = [text for text in found.values() if ": error: " in text.partition("\n")[0]]
    if broken and len(unit.files) > 1:
        found = {}
        for file in unit.files:
            found.update(check(Unit(unit.target, [file]), folder))
        return found
    if done.returncode != 0 and not found:
        found[str(unit.files[0])] = f"{unit.files[0]}: error: {done.stdout}{done.stderr}"
    return found


def _findings(text: str) -> Iterator[Tuple[str, str]]:
    starts = [match.start() for match in FINDING.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)]):
        block = text[start:end].rstrip("\n")
        match = FINDING.match(block)
        assert match is not None
        file = os.path.relpath(os.path.normpath(match[1]), ROOT)
        block = file + block[len(match[1]) :]
        yield block.partition("\n")[0], block


def main() -> int:
    options = parse_arguments(__doc__ or "")
    try:
        if options.since is not None and changed_names(options.since, [".clang-tidy"]):
            options.since, options.files = None, []
        units = chosen_units(options)
        # The largest units first, so that the processors end together.
        units.sort(key=size_of, reverse=True)
        if shutil.which(TOOL) is None:
            raise Refusal(f"not installed: {TOOL}")
    except Refusal as refusal:
        print(f"tidy.py: {refusal}", file=sys.stderr)
        return 2
    found: Dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="tidy-") as folder:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for more in pool.map(lambda unit: check(unit, folder), units):
                found.update(more)
    for _, text in sorted(found.items()):
        print(text)
    count = sum(len(unit.files) for unit in units)
    print(f"tidy.py: {len(found)} findings in {count} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
