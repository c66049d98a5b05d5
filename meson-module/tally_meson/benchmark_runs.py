# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Knows which recorded runs belong to which benchmark."""

from __future__ import annotations

import os
import re
import typing as T

if T.TYPE_CHECKING:
    from .build_dir import BuildDir
    from .measurement import Ran

_GOOD = ("OK", "EXPECTEDFAIL")  # Meson's words


class Runs:
    """The recorded runs of one build. It has what assign_claims() needs of Trees."""

    def __init__(self, folder: str, build: BuildDir) -> None:
        self.folder = folder
        self._names = build.names_for_meson()
        os.mkdir(folder)
        self.numbers: T.Dict[str, T.List[int]] = {}  # by the name of the benchmark
        self.failed: T.Set[str] = set()
        self._last = 0

    def next(self) -> int:
        self._last += 1
        return self._last

    def reserve(self, numbers: T.Iterable[int]) -> None:
        self._last = max([self._last, *numbers])

    def ended(self, number: int, test: Ran) -> None:
        self.reserve([number])
        name = self._names.get(test.name, test.name)
        self.numbers.setdefault(name, []).append(number)
        if test.result not in _GOOD:
            self.failed.add(name)

    def files_of(self, name: str) -> T.List[str]:
        wanted = {str(number) for number in self.numbers.get(name, [])}
        return sorted(
            os.path.join(self.folder, file)
            for file in os.listdir(self.folder)
            if file.partition(".")[0] in wanted and file.endswith((".pb.gz", ".callgrind"))
        )


def file_name(benchmark: str) -> str:
    """Returns the name without characters that a file name or a shell would interpret. Different
    names stay different."""
    return re.sub(r"[^A-Za-z0-9_.+-]", lambda found: f"%{ord(found[0]):02x}", benchmark)
