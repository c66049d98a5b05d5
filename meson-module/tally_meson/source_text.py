# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Compares two versions of a source in C or C++, apart from comments and white space."""

from __future__ import annotations

import difflib
import re
import string
import typing as T

SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tcc")

# A raw string, a string, a character, a number (which may contain "'"), a name, a comment, a
# continuation of a line, the end of a line, white space, any other character.
_TOKEN = re.compile(
    r"""(?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\s\\]{0,16})\((?:.|\n)*?\)(?P=mark)")"""
    r"""|(?P<text>(?:u8|[uUL])?(?:"(?:\\(?:.|\n)|[^"\\\n])*"|'(?:\\(?:.|\n)|[^'\\\n])*'))"""
    r"""|(?P<number>\.?\d(?:'?\w|[eEpP][+-]|\.)*)"""
    r"""|(?P<name>[^\W\d]\w*)"""
    r"""|(?P<comment>/\*(?:.|\n)*?(?:\*/|\Z)|//(?:\\\r?\n|[^\n])*)"""
    # Without these operators, `a++ + b` would be the same as `a + ++b`.
    r"""|(?P<end>\n)|(?P<space>[^\S\n]+)|(?P<other>\+\+|--|&&|\|\||->|<<|>>|##|::|.)""",
    re.ASCII,  # the bytes of UTF-8 are characters here, some of which look like white space
)
_DEFINITION = re.compile(r"# define \w+$")
_OF_NAMES = string.ascii_letters + string.digits + "_"
_LITERAL = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_GOES_ON = re.compile(r"^} (else|catch|while)\b")  # after what the first brace closes
_MOST_COMPARED = 4_000_000  # products of lines; what is larger counts as one change


def lines_of(text: str) -> T.List[str]:
    """Returns the tokens of each line, separated by blanks. Lines keep their numbers."""
    out = [""]
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup if found.lastgroup != "mark" else "raw"
        token = found[0]
        if kind == "space":
            continue
        if token == "(" and _DEFINITION.match(out[-1]) and text[found.start() - 1] in _OF_NAMES:
            out[-1] += token  # `#define F(x)` is another macro than `#define F (x)`
            continue
        pieces = token.split("\n")
        if kind == "comment":
            pieces = [""] * len(pieces)
        elif kind == "raw":
            pieces = [piece or '""' for piece in pieces]  # an empty line counts
        elif kind == "end":
            pieces = ["", ""]
        for at, piece in enumerate(pieces):
            if at > 0:
                out.append("")
            if piece:
                out[-1] += " " + piece if out[-1] else piece
    return out


def _braces(tokens: str) -> T.List[str]:
    return re.findall("[{}]", _LITERAL.sub("", tokens))


class Change(T.NamedTuple):
    """Lines of the old text that the new text has not, and what it has in their place."""

    first: int  # the number of the first old line, or of the line that what is new precedes
    old: T.List[str]
    new: T.List[str]
    is_continued: bool = False  # the line before, in either text, ends with a backslash

    def is_structural(self) -> bool:
        """Returns whether it may change more than the function that it is in: a directive of the
        preprocessor, or braces that end one thing and begin another."""
        if self.is_continued:
            return True
        for line in (*self.old, *self.new):
            if line.startswith(("#", "% :")) or line.endswith("\\"):
                return True
        if len(self.old) == len(self.new) and list(map(_braces, self.old)) == list(
            map(_braces, self.new)
        ):
            return False  # `if (a) {` for `if (b) {`: what begins and ends is the same
        for lines in (self.old, self.new):
            depth = [0]
            for brace in _braces(" ".join(lines)):
                depth.append(depth[-1] + (1 if brace == "{" else -1))
            if depth[-1] != 0:
                return True
            code = [line for line in lines if line]
            if min(depth) < 0 and (len(code) > 1 or not _GOES_ON.match(code[0])):
                return True
        return False


def changes(old: T.List[str], new: T.List[str]) -> T.List[Change]:
    """Returns what differs. Lines without tokens do not count."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    before, after = old[first : len(old) - last], new[first : len(new) - last]
    if len(before) * len(after) > _MOST_COMPARED:
        blocks = [("replace", 0, len(before), 0, len(after))]
    else:
        blocks = list(difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes())
    out = []
    for kind, i, j, k, m in blocks:
        if kind == "equal":
            continue
        # The end of a line that a backslash continues ends a macro, even if it is blank.
        is_continued = any(
            at > 0 and lines[at - 1].endswith("\\")
            for lines, at in ((old, first + i), (new, first + k))
        )
        if is_continued or any(before[i:j]) or any(after[k:m]):
            out.append(Change(first + i + 1, before[i:j], after[k:m], is_continued))
    return out
