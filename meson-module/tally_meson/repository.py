# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Asks git about the repository that the sources are in."""

from __future__ import annotations

import os
import subprocess
import typing as T

from .refusal import Refusal

if T.TYPE_CHECKING:
    from .build_dir import BuildDir


def git(folder: str, *words: str) -> bytes:
    """Returns what a git command prints. Raises Refusal if it fails."""
    try:
        done = subprocess.run(
            # A file system monitor is a program that the repository's own configuration names.
            ["git", "-C", folder, "-c", "core.quotePath=off", "-c", "core.fsmonitor=false", *words],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError:
        raise Refusal("git is not on PATH") from None
    if done.returncode != 0:
        why = done.stderr.decode(errors="replace").partition("\n")[0]
        raise Refusal(f"git: {why.replace('fatal: ', '')}")
    return done.stdout


def top_of(build: BuildDir) -> str:
    """Returns the top directory of the repository. Raises Refusal if there is none."""
    return os.fsdecode(git(build.source, "rev-parse", "--show-toplevel").rstrip(b"\n"))


def commit_of(folder: str, revision: str) -> str:
    """Returns the commit that a revision names. Raises Refusal if there is no such revision."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return git(folder, *words).decode().strip()


def names(output: bytes) -> T.List[str]:
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def not_committed(top: str) -> T.List[str]:
    """Returns the files that differ from HEAD, and those that git does not know."""
    return sorted(
        {
            *names(git(top, "diff", "--name-only", "-z", "--no-renames", "HEAD")),
            *names(git(top, "ls-files", "--others", "--exclude-standard", "-z")),
        }
    )
