# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Keeps a tree of counters for each test, in memory if there is enough room."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import typing as T

from .source_based import VARIABLE

if T.TYPE_CHECKING:
    from .build_dir import BuildDir
    from .collector import Collector
    from .measurement import Ran
    from .source_based import Profiles

_LEAST_ROOM = 64 << 20  # bytes


def _room_for(build: BuildDir) -> int:
    """Returns the bytes that the counters may need: a few tests run at once, and the counters of
    one are smaller than the notes, or, if they are source-based, than the program."""
    notes, programs = 0, 4 * build.size_of_largest_program()
    for folder, _, names in os.walk(build.path):
        for name in names:
            if name.endswith(".gcno"):
                try:
                    notes += os.stat(os.path.join(folder, name)).st_size
                except OSError:
                    pass
    return max(_LEAST_ROOM, 4 * notes, programs)


def _folder(build: BuildDir) -> str:
    wanted = _room_for(build)
    for folder in (os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm"):
        try:
            if os.path.isabs(folder):
                room = os.statvfs(folder)
                if room.f_bavail * room.f_frsize >= wanted:
                    return tempfile.mkdtemp(prefix="tally-", dir=folder)
        except (OSError, AttributeError):
            pass
    return tempfile.mkdtemp(prefix="tally-", dir=os.path.join(build.path, "meson-private"))


# $0 is the directory. A line from the pipe says that it has been removed; the end of the pipe without
# one, that this process was killed. Meson may run on then, and tests write their counters when they
# end, and create the directory again if need be. The environment of both names it. A test may leave a
# process that never ends: after an hour, nobody waits for it any more.
_REMOVE = """
read -r _ && exit
rm -rf -- "$0"
pause=0.1 left=7200
while [ $left -gt 0 ] && grep -qsF -- "=$0/" /proc/[0-9]*/environ; do
  sleep $pause
  [ -e "$0" ] && rm -rf -- "$0"
  pause=0.5 left=$((left - 1))
done
rm -rf -- "$0"
"""
_DIRECTORY = "TALLY_TREES"  # the variable by which all processes of this run name it


class _Remover:
    """Removes a directory if this process is killed: by a process of another session, which waits
    for the end of a pipe that only this process holds open."""

    def __init__(self, folder: str) -> None:
        reads, self._held = os.pipe()
        try:
            self._process: T.Optional[subprocess.Popen[bytes]] = subprocess.Popen(
                ["sh", "-c", _REMOVE, folder],
                stdin=reads,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={"PATH": os.environ.get("PATH", os.defpath)},
            )
        except OSError:
            self._process = None
        os.close(reads)

    def close(self) -> None:
        """Ends the process, after the directory has been removed."""
        if self._held >= 0:
            try:
                os.write(self._held, b"\n")
            except BrokenPipeError:  # it was killed, or has not started
                pass
            os.close(self._held)
            self._held = -1
        if self._process:
            self._process.wait()


class Trees:
    def __init__(self, collector: Collector, build: BuildDir) -> None:
        self.collector = collector.path
        self.folder: str = _folder(build)
        self._remover = _Remover(self.folder)
        os.environ[_DIRECTORY] = self.folder + "/"
        self.names: T.Dict[str, str] = {}  # the name to write, by the name that Meson shows
        self.profiles: T.Optional[Profiles] = None  # if the counters are source-based
        self._rows: T.List[T.Dict[str, T.Any]] = []
        self._last = 0

    def next(self) -> int:
        """Returns a number that no test has."""
        self._last += 1
        return self._last

    def reserve(self, numbers: T.Iterable[int]) -> None:
        self._last = max([self._last, *numbers])

    def tree(self, number: int) -> str:
        return os.path.join(self.folder, str(number))

    def variables(self, number: int, environment: T.Mapping[str, str]) -> T.Dict[str, str]:
        """Returns the variables by which a test's counters go to its tree. A LLVM_PROFILE_FILE in
        `environment` that is not that of the whole run is the test's own, and stays."""
        out = {"GCOV_PREFIX": self.tree(number)}
        if self.profiles and environment.get(VARIABLE) == os.environ.get(VARIABLE):
            out[VARIABLE] = self.profiles.pattern(self.tree(number))
        return out

    def harvest_words(self) -> T.List[str]:
        """Returns the command that packs a test's counters; the caller appends the test's tree.
        The variables keep the collector's own counters, if it has any, out of the tests' trees."""
        return [
            "env",
            f"GCOV_PREFIX={self.folder}/collector",
            f"LLVM_PROFILE_FILE={self.folder}/collector.profraw",
            self.collector,
            "coverage",
            "--harvest",
        ]

    def ended(self, number: int, test: Ran) -> None:
        self.reserve([number])
        self._rows.append({"n": number, "name": self.names.get(test.name, test.name)})

    def complete(self, losing: T.Container[str] = ()) -> None:
        """Packs the trees of interrupted tests, too, and writes the names of the tests, with a mark
        at those that are `losing` counts."""
        for row in self._rows:
            if row["name"] in losing:
                row["incomplete"] = True
            tree = self.tree(row["n"])
            if os.path.isdir(tree):
                subprocess.run([*self.harvest_words(), tree], check=False, stdin=subprocess.DEVNULL)
        path = os.path.join(self.folder, "tests.json")
        try:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(sorted(self._rows, key=lambda row: int(row["n"])), file, indent=1)
        except OSError as error:  # an error of write() does not contain the path
            raise OSError(error.errno, error.strerror, path) from None

    def remove(self) -> None:
        os.environ.pop(_DIRECTORY, None)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._remover.close()
