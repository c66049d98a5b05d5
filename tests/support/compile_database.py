"""The sources of lib/ and lldb/ with their compilers' flags, from Meson's compilation database, for
the scripts that check them (tidy.py, alone.py)."""
from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("lib", "lldb")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<](.*)[">]', re.MULTILINE)


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
    """Returns the text of a file of the build directory or of a source."""
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


def changed_names(revision: str, among: Sequence[str]) -> List[str]:
    """Returns which of these paths, or of the files below them, differ from the revision or are not
    known to Git yet."""
    out = []
    for command in (
        ["git", "diff", "--name-only", "--diff-filter=d", "-z", revision, "--", *among],
        ["git", "ls-files", "--others", "--exclude-standard", "-z", "--", *among],
    ):
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Refusal(f"git does not know the revision '{revision}'")
        out += [name for name in done.stdout.split("\0") if name]
    return out


def changed_files(revision: str) -> List[Path]:
    """Returns the sources that differ from the revision, and those that Git does not know yet."""
    return [file for name in changed_names(revision, FOLDERS) if _is_source(file := ROOT / name)]


def headers_without_an_include(revision: str) -> List[Path]:
    """Returns the headers from which an #include is removed since the revision. Files that include
    such a header may lack that #include now."""
    done = subprocess.run(
        ["git", "diff", "-U0", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/"]
        + [revision, "--", *(f"{folder}/**.h" for folder in FOLDERS)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    out: List[Path] = []
    file = ROOT
    for line in done.stdout.splitlines():
        if line.startswith("+++ b/"):
            file = ROOT / line[len("+++ b/") :]
        elif re.match(r"-\s*#\s*include", line) and file not in out and file.is_file():
            out.append(file)
    return out


def with_includers(files: Iterable[Path]) -> List[Path]:
    """Adds the sources and headers that include one of the headers in `files`, directly or through
    other headers. A name in an #include matches every path that ends in it."""
    everything = [
        file
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*.*"))
        if _is_source(file)
    ]
    includes = {file: INCLUDE.findall(_read(file)) for file in everything}
    out = list(files)
    for header in out:  # it grows
        path = header.as_posix()
        for file, names in includes.items():
            if file not in out and any(path.endswith("/" + os.path.normpath(n)) for n in names):
                out.append(file)
    return out


def parse_arguments(doc: str) -> argparse.Namespace:
    """Reads the command line of a script. `doc` is the script's docstring."""
    parser = argparse.ArgumentParser(description=doc.partition("\n\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIRECTORY")
    parser.add_argument("--since", metavar="REVISION", help="check the files that differ from it")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    return parser.parse_args()


def chosen_units(options: argparse.Namespace, includers: bool = False) -> List[Unit]:
    """Returns what the command line asks to check, and with `includers` also the files that include
    a header which has lost an #include."""
    wanted: Optional[List[Path]] = None
    if options.files or options.since is not None:
        wanted = named_files(options.files)
        changed = changed_files(options.since) if options.since is not None else []
        wanted += changed
        if includers and options.since is not None:
            wanted += with_includers(headers_without_an_include(options.since))
        wanted = list(dict.fromkeys(wanted))
    return units_of(read_targets(options.build), wanted)
