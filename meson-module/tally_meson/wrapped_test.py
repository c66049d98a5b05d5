# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Counts each test separately if the tests' environments cannot be changed, by means of a wrapper.
The wrapper is this file, run as a program:

    wrapped_test.py FOLDER COMMAND-THAT-HARVESTS... -- COMMAND...
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import typing as T

if T.TYPE_CHECKING:
    from .measurement import Ran
    from .per_test import Trees

_MESONS_OWN = ("--gtest_output=",)  # options that Meson adds to the command but omits in its log
_CLAIM = ".claim"  # FOLDER/N.claim: number N is in use; the file holds the command


def wrapper(trees: Trees) -> str:
    """Returns the value for `meson test --wrapper`."""
    words = [sys.executable, os.path.abspath(__file__), trees.folder, *trees.harvest_words(), "--"]
    return " ".join(map(shlex.quote, words))


def assign_claims(
    trees: Trees, tests: T.Sequence[T.Tuple[Ran, T.Sequence[str], float]]
) -> T.List[str]:
    """Assigns the claimed numbers to tests. For each test of Meson's log, `tests` holds its command
    and when it started. Returns the names of tests that only their order distinguishes."""
    claims: T.List[T.Tuple[float, int, T.List[str]]] = []
    for name in os.listdir(trees.folder):
        if name.endswith(_CLAIM):
            path = os.path.join(trees.folder, name)
            number = int(name[: -len(_CLAIM)])
            trees.reserve([number])
            try:
                with open(path, encoding="utf-8") as file:
                    claim = json.load(file)
            except ValueError:
                continue  # the disk was full
            finally:
                os.remove(path)
            claims.append((claim["time"], number, claim["command"]))
    claims.sort()
    names: T.Dict[T.Tuple[str, ...], T.Set[str]] = {}
    for test, command, _ in sorted(tests, key=lambda each: each[2]):
        if not command:
            continue
        names.setdefault(tuple(command), set()).add(test.name)
        claim = next((each for each in claims if _is_of(each[2], command, ())), None) or next(
            (each for each in claims if _is_of(each[2], command, _MESONS_OWN)), None
        )
        if claim:
            claims.remove(claim)
        trees.ended(claim[1] if claim else trees.next(), test)
    return sorted(name for those in names.values() if len(those) > 1 for name in those)


def _is_of(argv: T.Sequence[str], command: T.Sequence[str], more: T.Tuple[str, ...]) -> bool:
    rest = argv[len(command) :]
    return list(argv[: len(command)]) == list(command) and all(
        bool(more) and word.startswith(more) for word in rest
    )


def claimed(folder: str, command: T.List[str]) -> str:
    """Returns a tree that no other test has, and records which command claims it."""
    number = 1
    while True:
        path = os.path.join(folder, str(number))
        try:
            with open(path + _CLAIM, "x", encoding="utf-8") as file:
                json.dump({"command": command, "time": time.time()}, file)
            return path
        except FileExistsError:
            number += 1
        except OSError as error:  # the test runs nevertheless, and has no data
            print(f"tally: {path}: {error.strerror}", file=sys.stderr)
            return path


def end_as(status: int) -> int:
    """Ends this process by the signal that ended the test, which Meson then sees, but without a
    second core file. Otherwise returns the status."""
    if status < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def main() -> int:
    folder, *words = sys.argv[1:]
    harvest, command = words[: words.index("--")], words[words.index("--") + 1 :]
    tree = claimed(folder, [sys.executable, *sys.argv])
    # A signal that ends the test also reaches this process, which must wait until the test has
    # written its counters.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)
    environment = {**os.environ, "GCOV_PREFIX": tree}
    pattern = environment.get("LLVM_PROFILE_FILE", "")
    if os.path.dirname(pattern) == folder:  # otherwise it is the test's own
        environment["LLVM_PROFILE_FILE"] = os.path.join(tree, os.path.basename(pattern))
    try:
        status = subprocess.run(command, env=environment, check=False).returncode
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    subprocess.run([*harvest, tree], check=False, stdin=subprocess.DEVNULL)
    return end_as(status)


if __name__ == "__main__":
    sys.exit(main())
