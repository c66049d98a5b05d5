# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Keeps two measured runs in one build directory apart: each would change what the other measures."""

from __future__ import annotations

import os
import typing as T

from .refusal import say

if T.TYPE_CHECKING:
    from .build_dir import BuildDir


def exclude_others(build: BuildDir) -> T.Optional[T.IO[str]]:
    """Waits until no other run measures. None can begin before the file that this returns is closed.
    Returns None on a system that cannot lock files."""
    try:
        import fcntl
    except ImportError:
        return None
    path = os.path.join(build.path, "meson-private", "tally-coverage.lock")
    lock = open(path, "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        say(f"another run measures in {build.path}: waiting for its end")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock
