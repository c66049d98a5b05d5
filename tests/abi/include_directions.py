"""The rules about which directory may include which, and a search for violations.

The layers, as designed:

    support <- model <- {transform, stacks} <- {formats, symbolize, collect}
      <- {coverage, coverage_collect, live, report} <- join <- session <- {capi, cli}
    tally.h <- {gdb, tally.hpp <- lldb}

A unit test of tests/unit includes what its layer may include, and the layer itself.

Siblings never include each other, nor formats/a formats/b, but coverage, coverage_collect and live
build on one another. Only symbolize/ uses elfutils, and formats/llvm/coverage_object.cpp, whose
format is sections of ELF files. The
agent, which runs inside the inferior, includes only its own headers and mon's arithmetic. In gdb/
only tally_gdb/_abi.py imports ctypes; it imports no other module of Tally but _paths, which the
installation wrote.
"""
from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

_NOUNS = {"support", "model"}
_BELOW_FORMATS = _NOUNS | {"transform", "stacks"}
_MIDDLE = _BELOW_FORMATS | {"formats", "coverage", "symbolize", "collect"}
_BELOW_JOIN = _MIDDLE | {"mon", "coverage_collect", "live", "report"}
_BELOW_SESSION = _BELOW_JOIN | {"join"}

# A directory of lib/src (or lib/cli) -> the other directories that it may include.
MAY_INCLUDE: dict[str, set[str]] = {
    "mon": set(),
    "agent": {"mon"},
    "support": set(),
    "model": {"support", "mon"},
    "transform": _NOUNS | {"mon"},
    "stacks": _NOUNS,
    "formats": _BELOW_FORMATS,
    "coverage": _BELOW_FORMATS - {"stacks"} | {"formats"},
    "symbolize": _BELOW_FORMATS - {"stacks"},
    "collect": _BELOW_FORMATS,
    "coverage_collect": _BELOW_FORMATS | {"formats", "coverage"},
    "live": _BELOW_FORMATS | {"formats", "coverage", "symbolize", "coverage_collect"},
    "report": _MIDDLE | {"mon"},
    "join": _BELOW_JOIN,
    "session": _BELOW_SESSION,
    "capi": _BELOW_SESSION | {"session"},
    "cli": _BELOW_SESSION | {"session"},
}

# A header of lib/include -> the layer it belongs to.
HEADER_LAYERS = {
    "tally.h": "capi",
    "tally.hpp": "capi",
    "tally/export.h": "support",
    "tally/mon.h": "mon",
    "tally/version.h": "support",
}

# (includer, included file) pairs that the table forbids but that are allowed, with the reason.
EXCEPTIONS = {
    # The agent and its reader share one header of plain data.
    ("collect", "agent/wire.h"),
}

# The files beside symbolize/ that may use elfutils.
MAY_USE_ELFUTILS = {"lib/src/formats/llvm/coverage_object.cpp"}

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
_ELFUTILS = re.compile(r"^(elfutils/.*|libelf\.h|gelf\.h|dwarf\.h|libdw\.h|libdwfl\.h)$")
_SOURCES = {".c", ".cc", ".cpp", ".h", ".hpp", ".inc"}


class Violation(NamedTuple):
    file: str  # relative to the root
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


def violations(root: Path) -> list[Violation]:
    """Returns every include and import below `root` that breaks the rules."""
    return [*_in_lib(root), *_in_unit_tests(root), *_in_lldb(root), *_in_gdb(root)]


def _sources(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.suffix in _SOURCES)


def _includes(path: Path) -> Iterator[tuple[int, bool, str]]:
    """Yields (line, whether in quotes, the name) of each include."""
    text = path.read_text(encoding="utf-8")
    for match in _INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match[1] == '"', match[2]


def _in_lib(root: Path) -> Iterator[Violation]:
    lib = root / "lib"
    for path in _sources(lib):
        name = path.relative_to(root).as_posix()
        own = _layer(lib, path)
        if own not in MAY_INCLUDE:
            yield Violation(
                name,
                1,
                "in no directory of MAY_INCLUDE and not in HEADER_LAYERS "
                "(include_directions.py)",
            )
            continue
        for line, quoted, what in _includes(path):
            if _ELFUTILS.match(what) and own != "symbolize" and name not in MAY_USE_ELFUTILS:
                yield Violation(name, line, f"{own} includes elfutils' {what}")
            target = _resolve(lib, path, quoted, what)
            if target is None:
                if quoted or what.startswith("tally/"):
                    yield Violation(name, line, f"{what} is not a file of lib")
                continue
            message = _judge(lib, own, path, target)
            if message and not {(name, what), (own, what)} & EXCEPTIONS:
                yield Violation(name, line, message)


def _in_unit_tests(root: Path) -> Iterator[Violation]:
    lib = root / "lib"
    for path in _sources(root / "tests" / "unit"):
        # A helper that several programs share is named after no layer.
        layers = [layer for layer in MAY_INCLUDE if path.name.startswith(layer + "_")]
        own = max(layers, key=len, default=None)
        for line, quoted, what in _includes(path) if own else ():
            target = _resolve(lib, path, quoted, what)
            if target is None or not target.is_relative_to(lib.resolve()):
                continue
            message = _judge(lib, own, lib / "src" / own / path.name, target)
            if message and (own, what) not in EXCEPTIONS:
                yield Violation(path.relative_to(root).as_posix(), line, message)


def _layer(lib: Path, path: Path) -> str | None:
    parts = path.relative_to(lib).parts
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else None
    if parts[0] == "include":
        return HEADER_LAYERS.get("/".join(parts[1:]))
    return parts[0]


def _resolve(lib: Path, path: Path, quoted: bool, what: str) -> Path | None:
    """Returns the file of lib that is included, or None if it is not a file of lib."""
    folders = ([path.parent, lib / "src", lib] if quoted else []) + [lib / "include"]
    return next((file.resolve() for folder in folders if (file := folder / what).is_file()), None)


def _judge(lib: Path, own: str, path: Path, target: Path) -> str | None:
    """Returns why `path` may not include `target`, or None if it may."""
    other = _layer(lib.resolve(), target)
    if other is None:
        return f"{target.name} is in no layer: name it in HEADER_LAYERS (include_directions.py)"
    if other != own:
        return None if other in MAY_INCLUDE[own] else f"{own} includes {other} ({target.name})"
    # formats/a and formats/b are siblings. Files directly in formats may include either.
    if own == "formats" and "src" in path.relative_to(lib).parts:
        formats = (lib / "src" / "formats").resolve()
        if target.is_relative_to(formats):
            mine = path.resolve().relative_to(formats).parts[:-1]
            theirs = target.relative_to(formats).parts[:-1]
            if mine and theirs and mine[0] != theirs[0]:
                return f"formats/{mine[0]} includes formats/{theirs[0]}"
    return None


def _in_lldb(root: Path) -> Iterator[Violation]:
    folder = root / "lldb"
    for path in _sources(folder):
        for line, quoted, what in _includes(path):
            own = quoted and ((path.parent / what).is_file() or (folder / what).is_file())
            ours = quoted or what.startswith("tally")
            if ours and not own and what not in ("tally.h", "tally.hpp"):
                yield Violation(
                    path.relative_to(root).as_posix(),
                    line,
                    f"lldb may include tally.h and tally.hpp alone, but includes {what}",
                )


def _in_gdb(root: Path) -> Iterator[Violation]:
    known = set(getattr(sys, "stdlib_module_names", ())) | {"gdb", "tally_gdb"}
    for path in sorted((root / "gdb").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        is_abi = name == "gdb/tally_gdb/_abi.py"
        for line, module in _imports(path):
            top = module.split(".")[0]
            if top in ("ctypes", "_ctypes", "cffi") and not is_abi:
                yield Violation(name, line, f"imports {module}, but only tally_gdb/_abi.py may")
            elif is_abi and top in ("gdb", "tally_gdb") and module != "tally_gdb._paths":
                yield Violation(name, line, f"_abi.py is below all others, but imports {module}")
            elif len(known) > 2 and top not in known:
                yield Violation(
                    name, line, f"imports {module}, which is not Python's, GDB's or " "tally_gdb's"
                )


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            if not node.level:
                yield node.lineno, node.module or ""
            else:  # relative to tally_gdb, the only package there
                for name in [node.module] if node.module else [a.name for a in node.names]:
                    yield node.lineno, f"tally_gdb.{name}"
