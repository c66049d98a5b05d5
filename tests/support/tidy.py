#!/usr/bin/env python3
"""Checks the C and C++ sources of lib/ and lldb/ with clang-tidy. The file .clang-tidy lists the
checks.

    tidy.py [--build DIRECTORY] [--since REVISION] [--jobs N] [FILE]...

Checks the given files, or with --since those that differ from a revision in Git, or all. A header
is checked with the flags of the sources that are nearest to it. DIRECTORY is a build directory of
Meson (default: build), whose targets must be built if they generate headers. Prints each finding
once. The exit status is 1 if there are findings, and 2 if clang-tidy cannot run or a FILE is not a
source of lib/ or lldb/.

Most of clang-tidy's time goes into headers of the system, which it searches for each check. So the
C++ sources of a target are checked as one translation unit. If they do not compile together,
because two of them define the same name, they are checked one by one.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[2]
TOOL = "clang-tidy-14"  # its findings differ between versions: that of Debian 12 decides
FOLDERS = ("lib", "lldb")
FINDING = re.compile(r"^(\S.*?):(\d+:\d+): (warning|error): ", re.MULTILINE)


class Refusal(Exception):
    """Nothing can be checked. The text is one line for the user."""


class Target(NamedTuple):
    """Sources that are compiled with the same flags, in the same directory."""

    directory: str
    flags: List[str]
    is_cpp: bool
    sources: List[Path]


class Unit(NamedTuple):
    target: Target
    files: List[Path]


def read_targets(build: Path) -> List[Target]:
    """Reads the compilation database. A unity build names files that include the sources."""
    path = build / "compile_commands.json"
    targets: Dict[str, Target] = {}
    for row in _read_rows(path):
        directory = Path(row["directory"])
        file = Path(os.path.normpath(directory / row["file"]))
        sources = [file]
        if "-unity" in file.name:
            text = _read(file)
            sources = [Path(os.path.normpath(name)) for name in re.findall(r"#include<(.*)>", text)]
        sources = [each for each in sources if _is_ours(each)]
        if not sources:
            continue
        try:
            flags = _flags(row)
        except ValueError as error:
            raise Refusal(f"{path}: cannot parse the command of {file}: {error}") from None
        is_cpp = file.suffix == ".cpp"
        key = f"{directory} {is_cpp} {shlex.join(flags)} {Path(row.get('output', '')).parent}"
        target = targets.setdefault(key, Target(row["directory"], flags, is_cpp, []))
        target.sources.extend(each for each in sources if each not in target.sources)
    if not targets:
        raise Refusal(f"{path} names no source of {' or '.join(FOLDERS)}")
    return list(targets.values())


def _read(path: Path) -> str:
    """Returns the text of a file of the build directory."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror}: configure the build directory first") from None
    except ValueError as error:
        raise Refusal(f"{path}: {error}") from None


def _read_rows(path: Path) -> List[Dict[str, str]]:
    try:
        rows = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{path}: is not JSON: {error}") from None
    keys = ("directory", "file", "command")
    if not isinstance(rows, list) or not all(
        isinstance(row, dict)
        and all(key in row for key in keys)
        and all(isinstance(row.get(key, ""), str) for key in (*keys, "output"))
        for row in rows
    ):
        raise Refusal(f"{path}: is not a compilation database of Meson")
    return rows


def _is_ours(path: Path) -> bool:
    return any(folder in path.parents for folder in (ROOT / name for name in FOLDERS))


def _is_source(path: Path) -> bool:
    return path.suffix in (".h", ".c", ".cpp") and _is_ours(path)


def named_files(names: Sequence[Path]) -> List[Path]:
    """Returns the absolute paths of files that the user names."""
    out = []
    for name in names:
        file = Path(os.path.realpath(name))
        if not file.is_file():
            raise Refusal(f"{name}: there is no such file")
        if not _is_source(file):
            raise Refusal(f"{name}: is not a C or C++ file of {' or '.join(FOLDERS)}")
        out.append(file)
    return out


def _flags(row: Dict[str, str]) -> List[str]:
    """Returns the flags that change what the sources mean. GCC's warnings are left out: clang-tidy
    does not know them all."""
    out, words = [], iter(shlex.split(row["command"]))
    for word in words:
        if word in ("-I", "-isystem", "-include", "-D", "-U"):
            out += [word, next(words, "")]
        elif word.startswith(("-I", "-D", "-U", "-isystem", "-std=", "-pthread")) or (
            word.startswith("-f") and "diagnostics" not in word
        ):
            out.append(word)
    return out


def units_of(targets: Sequence[Target], wanted: Optional[Sequence[Path]]) -> List[Unit]:
    """Returns what to check: everything, or the `wanted` files."""
    chosen: List[List[Path]] = [[] for _ in targets]
    if wanted is None:
        chosen = [target.sources for target in targets]
    for file in wanted or ():
        rating = [
            max(len(os.path.commonpath([file, source])) for source in target.sources)
            + len(str(ROOT)) * (file in target.sources)
            for target in targets
        ]
        chosen[rating.index(max(rating))].append(file)
    out = []
    for target, files in zip(targets, chosen):
        # C sources are not made to be included, and their headers are few.
        groups = [files] if target.is_cpp else [[file] for file in files]
        out += [Unit(target, group) for group in groups if group]
    return out


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


def changed_files(revision: str) -> List[Path]:
    """Returns the sources that differ from the revision, and those that Git does not know yet."""
    out = []
    for command in (
        ["git", "diff", "--name-only", "--diff-filter=d", "-z", revision, "--", *FOLDERS],
        ["git", "ls-files", "--others", "--exclude-standard", "-z", "--", *FOLDERS],
    ):
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Refusal(f"git does not know the revision '{revision}'")
        out += [ROOT / name for name in done.stdout.split("\0") if name]
    return [file for file in out if _is_source(file)]


def parse_arguments(doc: str) -> argparse.Namespace:
    """Reads the command line, which alone.py shares. `doc` is the docstring of the script."""
    parser = argparse.ArgumentParser(description=doc.partition("\n\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIRECTORY")
    parser.add_argument("--since", metavar="REVISION", help="check the files that differ from it")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    return parser.parse_args()


def chosen_units(options: argparse.Namespace) -> List[Unit]:
    """Returns what the command line asks to check."""
    wanted: Optional[List[Path]] = None
    if options.files or options.since is not None:
        wanted = named_files(options.files)
        wanted += changed_files(options.since) if options.since is not None else []
        wanted = list(dict.fromkeys(wanted))
    return units_of(read_targets(options.build), wanted)


def main() -> int:
    options = parse_arguments(__doc__ or "")
    try:
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
