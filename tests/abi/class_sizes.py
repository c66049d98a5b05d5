"""The rules about the sizes of classes, and a search for violations.

A class has at most 15 data members and 30 methods. A larger class says why in the comment directly
above it (in Python: in its docstring), with the words "data members" or "methods".

Static data members do not count. Universal Ctags finds the members of C and C++ classes; it misses a
declarator that follows a template argument list in the same declaration.
"""
from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple

MOST_MEMBERS = 15
MOST_METHODS = 30


class Class(NamedTuple):
    path: Path
    line: int
    name: str
    members: list[str]
    methods: list[str]
    comment: str

    def violations(self) -> Iterator[str]:
        """Yields a sentence for each limit that the class exceeds without a reason."""
        for names, most, what in (
            (self.members, MOST_MEMBERS, "data members"),
            (self.methods, MOST_METHODS, "methods"),
        ):
            if len(names) > most and what not in self.comment:
                yield (
                    f"{self.path}:{self.line}: {self.name} has {len(names)} {what}; "
                    f'a class with more than {most} says why above it, with the words "{what}"'
                )


def _comment_above(lines: list[str], line: int) -> str:
    """Returns the words of the comment that ends directly above a line (counted from 1)."""
    words: list[str] = []
    at = line - 2
    while at >= 0 and re.match(r"\s*(//|/\*|\*|template\b)", lines[at]):
        words.insert(0, re.sub(r"^\s*(//+|/\*+|\*+/?)|\*/\s*$", "", lines[at]))
        at -= 1
    return " ".join(" ".join(words).split())


def _tags(paths: Iterable[Path]) -> Iterator[dict]:
    kinds = "mpfcsu"  # members, prototypes, functions, classes, structs, unions
    command = ["ctags", "--languages=C,C++", f"--kinds-C={kinds.replace('c', '')}"]
    command += [f"--kinds-C++={kinds}", "--fields=+neK", "--fields-C=+{properties}"]
    command += [
        "--fields-C++=+{properties}",
        "--output-format=json",
        "--sort=no",
        "-L",
        "-",
        "-f",
        "-",
    ]
    done = subprocess.run(
        command,
        input="".join(f"{path}\n" for path in paths),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    for line in done.stdout.splitlines():
        tag = json.loads(line)
        if tag["_type"] == "tag":
            yield tag


def c_classes(paths: Iterable[Path]) -> list[Class]:
    """Returns the classes, structs and unions of C and C++ files."""
    by_path: dict[str, list[dict]] = {}
    for tag in _tags(paths):
        by_path.setdefault(tag["path"], []).append(tag)
    out: list[Class] = []
    for name, tags in by_path.items():
        lines = Path(name).read_text(encoding="utf-8").split("\n")
        # A member belongs to the innermost class around its line: names alone would mix classes of
        # one name, and definitions outside of a class would count twice.
        classes = {
            tag["line"]: (tag, Class(Path(name), tag["line"], tag["name"], [], [], ""))
            for tag in tags
            if tag["kind"] in ("class", "struct", "union") and "end" in tag
        }
        for tag in tags:
            if tag["kind"] not in ("member", "prototype", "function"):
                continue
            if tag.get("scopeKind") not in ("class", "struct", "union"):
                continue
            scope = tag["scope"].split("::")[-1]
            around = [
                at
                for at, (of, _) in classes.items()
                if of["name"] == scope and at <= tag["line"] <= of["end"]
            ]
            if not around:
                continue
            found = classes[max(around)][1]
            if tag["kind"] != "member":
                found.methods.append(tag["name"])
            elif "static" not in tag.get("properties", "").split(","):
                found.members.append(tag["name"])
        for line, (_, found) in classes.items():
            out.append(found._replace(comment=_comment_above(lines, line)))
    return out


def python_classes(paths: Iterable[Path]) -> list[Class]:
    """Returns the classes of Python files. Data members are what a class declares and what its
    methods assign to `self`."""
    out: list[Class] = []
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            members = {
                each.target.id: None
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            }
            methods = []
            for each in node.body:
                if not isinstance(each, ast.FunctionDef):
                    continue
                methods.append(each.name)
                for inner in ast.walk(each):
                    if (
                        isinstance(inner, ast.Attribute)
                        and isinstance(inner.ctx, ast.Store)
                        and isinstance(inner.value, ast.Name)
                        and inner.value.id == "self"
                    ):
                        members[inner.attr] = None
            comment = " ".join((ast.get_docstring(node) or "").split())
            out.append(Class(path, node.lineno, node.name, list(members), methods, comment))
    return out
