# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Runs `meson test`, and reads its log."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import signal
import subprocess
import sys
import threading
import typing as T

from .build_dir import BuildDir
from .measurement import Ran, status_of
from .refusal import Refusal, say


# Meson prints this line if --wrapper is given and the test setup has an exe_wrapper.
_CONFLICT = b"Conflict: both test setup and command line specify an exe wrapper."


def _pass_on(errors: T.Optional[T.IO[bytes]], refused: threading.Event) -> None:
    """Copies Meson's standard error, except for the line about an exe_wrapper, which sets
    `refused`."""
    for line in errors or ():
        if line.strip() == _CONFLICT:
            refused.set()
            continue
        sys.stderr.buffer.write(line)
        sys.stderr.flush()


def run(
    words: T.List[str],
    *,
    wrapped_by: str = "",
    signals: T.Optional[T.List[int]] = None,
    output: T.Optional[T.IO[bytes]] = None,
) -> int:
    """Runs Meson and returns its exit status. Passes signals on to Meson, so that it ends the tests
    and the counts up to then are still reported. If `wrapped_by` is a flag of
    Tally's, the --wrapper in `words` is for that flag, and a test setup that has an exe_wrapper is
    refused. If `signals` is given, it receives the signals, and Ctrl-C, by which Meson ends only
    the test that runs, ends all."""
    # A `with` is not used, because it would wait for every process that holds standard error open.
    process = subprocess.Popen(words, stdout=output, stderr=subprocess.PIPE if wrapped_by else None)

    def pass_on(number: int, _: T.Any) -> None:
        if signals is not None:
            signals.append(number)
        if signals is not None or number != signal.SIGINT:  # a terminal sends SIGINT to all
            process.terminate()

    before = {signal.SIGINT: signal.signal(signal.SIGINT, pass_on)}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores SIGHUP
            before[number] = signal.signal(number, pass_on)
    refused = threading.Event()
    reader = threading.Thread(target=_pass_on, args=(process.stderr, refused), daemon=True)
    try:
        reader.start()
        status = process.wait()
        reader.join(timeout=5)  # a process that a test left behind may hold standard error open
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if refused.is_set():
        more = (
            ": only `meson test --coverage` supports both (tally-meson enable)"
            if wrapped_by == "--coverage-per-test"
            else ""
        )
        raise Refusal(
            f"{wrapped_by} cannot be combined with a test setup that has an exe_wrapper{more}"
        )
    return 128 - status if status < 0 else status


def logs(build: BuildDir) -> T.Dict[str, int]:
    """Returns the JSON logs in meson-logs as {path: time of last change in ns}. The name of the
    tests' log depends on Meson's options."""
    out = {}
    for path in glob.glob(os.path.join(glob.escape(build.logs), "*.json")):
        try:
            out[path] = os.stat(path).st_mtime_ns
        except OSError:
            pass
    return out


def log_since(build: BuildDir, before: T.Dict[str, int]) -> T.Optional[str]:
    new = {path: when for path, when in logs(build).items() if before.get(path) != when}
    return max(new, key=lambda path: new[path]) if new else None


def entries(log: T.Optional[str]) -> T.List[T.Tuple[Ran, T.List[str], float]]:
    """Returns each test of the log, its command, and when it started in seconds."""
    if log is None:
        return []
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file if line.strip()]
    except OSError:
        return []
    entries = []
    for line in lines:
        try:
            entry = json.loads(line)
            ran = Ran(
                str(entry.get("name")), str(entry.get("result")), int(entry.get("returncode") or 0)
            )
            command = [str(word) for word in entry.get("command") or []]
            entries.append((ran, command, float(entry.get("starttime") or 0)))
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            say(f"{log}: a damaged line is ignored, and its test is not known")
    return entries


def executed(
    build: BuildDir, words: T.List[str], output: T.Optional[T.IO[bytes]]
) -> T.Tuple[int, T.List[T.Tuple[Ran, T.List[str], float]]]:
    """Runs `meson test` with a wrapper of ours, without a rebuild. Returns its status, and what
    its log says. Its output goes to `output`, if that is given."""
    before = logs(build)
    signals: T.List[int] = []
    status = run(
        [*build.meson(), "test", "-C", build.path, "--no-rebuild", *words],
        wrapped_by="--baseline",
        signals=signals,
        output=output,
    )
    if signals:
        raise Refusal("interrupted: nothing is compared", 128 + signals[0])
    entries_of_run = entries(log_since(build, before))
    return status_of(status, [ran for ran, _, _ in entries_of_run]), entries_of_run


def unmeasured(build: BuildDir, words: T.Sequence[str]) -> int:
    """Runs `meson test` as the words say, and returns its status."""
    before = logs(build)
    status = run([*build.meson(), "test", "-C", build.path, *words])
    return status_of(status, [ran for ran, _, _ in entries(log_since(build, before))])


@contextlib.contextmanager
def ended_by_signals() -> T.Iterator[None]:
    """Lets SIGTERM and SIGHUP end the run as Ctrl-C does, so that nothing of it remains."""

    def end(number: int, _: T.Any) -> T.NoReturn:
        raise Refusal("interrupted: nothing is compared", 128 + number)

    before = {
        number: signal.signal(number, end)
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) != signal.SIG_IGN  # nohup ignores SIGHUP
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
