# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Splits the arguments of `tally-meson test` into Tally's flags and those of `meson test`."""

from __future__ import annotations

import re
import typing as T

from . import choosing, comparing
from .flag_table import FLAGS
from .profile_update import METHODS
from .refusal import Refusal


# Flags of ours that cannot be abbreviated, and whether they take a value.
_WHOLE = {
    **{name: bool(metavar) for name, (metavar, _, _) in comparing.FLAGS.items()},
    **{name: bool(metavar) for name, (metavar, _) in choosing.FLAGS.items()},
}


class Words(T.NamedTuple):
    coverage: T.List[str]  # Tally's flags and their values
    meson: T.List[str]  # all others, unchanged and in order, without -C, --no-rebuild, -h
    build: str
    no_rebuild: bool
    list_only: bool
    benchmark: bool
    wrapper: bool
    help: bool


def _abbreviates(word: str, name: str, least: str) -> bool:
    """Returns whether argparse accepts the word as an abbreviation of the option `name`. `least` is
    the shortest prefix that no other option of `meson test` has."""
    return word.startswith(least) and name.startswith(word)


def _takes_value(word: str) -> str:
    """Returns the kind of the flag in FLAGS that the word names or abbreviates."""
    found = [flag for flag in FLAGS if flag.name.startswith(word)]
    exact = [flag for flag in found if flag.name == word]
    return (exact or found or [FLAGS[0]])[0].kind


def split(words: T.Sequence[str]) -> T.Optional[Words]:
    """Splits the words; returns None if -C has no directory.

    A word that begins with - is never the value of an option, and none of Meson's own options
    begins with --c. Meson's options therefore need not be known here. The other flags
    of ours cannot be abbreviated.
    """
    ours: T.List[str] = []
    rest: T.List[str] = []
    build = "."
    seen = {
        "no_rebuild": False,
        "list_only": False,
        "benchmark": False,
        "wrapper": False,
        "help": False,
    }
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        follows = at < len(words) and not words[at].startswith("-")
        name = word.partition("=")[0]
        joined = re.match(r"-([vq]+)(C)$", word)
        if word == "--":
            rest += words[at - 1 :]
            break
        if word == "-C":
            if not follows:
                return None
            build = words[at]
            at += 1
        elif joined and joined.group(2):
            rest.append(word[:-1])
            if not follows:
                return None
            build = words[at]
            at += 1
        elif word.startswith("-C"):
            build = word[3:] if word.startswith("-C=") else word[2:]
        elif word == "--coverage-update" and follows and words[at] in METHODS:
            ours.append(f"{word}={words[at]}")
            at += 1
        elif name == "--coverage-update" and "=" in word and word.partition("=")[2] not in METHODS:
            raise Refusal(
                f'{name}: expected {", ".join(METHODS)}, found \'{word.partition("=")[2]}\''
            )
        elif name.startswith("--c"):
            ours.append(word)
            if "=" not in word and follows and _takes_value(name) != "switch":
                ours.append(words[at])
                at += 1
        elif name in _WHOLE:
            ours.append(word)
            if "=" not in word and follows and _WHOLE[name]:
                ours.append(words[at])
                at += 1
        elif _abbreviates(word, "--no-rebuild", "--no-r"):
            seen["no_rebuild"] = True
        elif word in ("-h", "--help"):
            seen["help"] = True
        else:
            seen["list_only"] |= _abbreviates(word, "--list", "--li")
            seen["benchmark"] |= _abbreviates(word, "--benchmark", "--b")
            seen["wrapper"] |= _abbreviates(name, "--wrapper", "--w")
            rest.append(word)
    return Words(ours, rest, build, **seen)


def without_repeat(words: T.Sequence[str]) -> T.Tuple[int, T.List[str]]:
    """Returns the number that Meson's --repeat has, or 0, and the other words."""
    rest: T.List[str] = []
    repeat = 0
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            return repeat, [*rest, *words[at - 1 :]]
        name, equals, value = word.partition("=")
        if not _abbreviates(name, "--repeat", "--r"):
            rest.append(word)
            continue
        if not equals and at < len(words):
            value = words[at]
            at += 1
        if not value.isdecimal() or not 0 < int(value) <= 1000:
            raise Refusal(f"--repeat: expected a number from 1 to 1000, found '{value}'")
        repeat = int(value)
    return repeat, rest
