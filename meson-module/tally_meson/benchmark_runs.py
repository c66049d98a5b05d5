# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Knows which recorded runs belong to which benchmark."""

from __future__ import annotations

import os
import typing as T
import urllib.parse
import zlib

if T.TYPE_CHECKING:
    from .build_dir import BuildDir
    from .measurement import Ran

_GOOD = ("OK", "EXPECTEDFAIL")  # Meson's words
_SKIPPED = "SKIP"
_LONGEST = 200  # of a file's name, which most systems limit to 255 bytes


class Runs:
    """The recorded runs of one build. It has what assign_claims() needs of Trees."""

    def __init__(self, folder: str, build: BuildDir) -> None:
        self.folder = folder
        self._names = build.plain_names()
        self.merged = os.path.join(folder, "merged")
        os.makedirs(self.merged)
        self.files: T.Dict[str, T.List[str]] = {}  # by the name of the benchmark, in order
        self.failed: T.Set[str] = set()
        self.skipped: T.Set[str] = set()
        self._last = 0
        self._kept = 0

    def next(self) -> int:
        self._last += 1
        return self._last

    def reserve(self, numbers: T.Iterable[int]) -> None:
        self._last = max([self._last, *numbers])

    def ended(self, number: int, test: Ran) -> None:
        self.reserve([number])
        name = self._names.get(test.name, test.name)
        files = self.files.setdefault(name, [])
        for file in sorted(os.listdir(self.folder)):
            if file.partition(".")[0] == str(number):
                # The next run of Meson uses the same numbers again.
                self._kept += 1
                kept = os.path.join(self.folder, f"run-{self._kept}.{file.partition('.')[2]}")
                os.rename(os.path.join(self.folder, file), kept)
                files.append(kept)
        if test.result == _SKIPPED:
            self.skipped.add(name)
        elif test.result not in _GOOD:
            self.failed.add(name)


def file_name(benchmark: str) -> str:
    """Returns the name without characters that a file name or a shell would interpret. Different
    names stay different."""
    name = urllib.parse.quote(benchmark, safe="+", errors="surrogateescape")
    name = name.replace("~", "%7E")  # the end of the name of a file that is being written
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}%{zlib.crc32(benchmark.encode(errors='surrogateescape')):08x}"
