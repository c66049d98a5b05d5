"""Runs the `tally` program on profiles, for tests that check what it reads and writes."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Mapping

from support.programs import command_line


def run_tally(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [command_line(), *words],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        stdin=subprocess.DEVNULL,
        timeout=600,
        check=False,
    )


def tally_in(
    case: unittest.TestCase,
    folder: str | Path,
    *words: str,
    status: int = 0,
    timeout: float = 60,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess:
    """Runs `tally` in a directory, and checks its exit status."""
    done = subprocess.run(
        [command_line(), *words],
        cwd=folder,
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    case.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
    return done


class ProfileCase(unittest.TestCase):
    """A test case with its own temporary directory, and methods that run `tally`."""

    maxDiff = 4000

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="profiles-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def tally(self, *words: str, status: int = 0) -> subprocess.CompletedProcess:
        done = run_tally(*words)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stderr[:2000]}")
        return done

    def report(self, path: str, *more: str) -> dict:
        return json.loads(self.tally("report", path, "--json", *more).stdout)

    def rewritten(self, path: str, name: str, *more: str) -> str:
        out = self.path(name)
        self.tally("rewrite", path, "-o", out, *more)
        return out


def by_key(report: dict) -> dict:
    """Returns (name, file, object) -> self, inclusive, calls."""
    rows = {
        (row["name"], row["file"], row["object"]): (row["self"], row["inclusive"], row["calls"])
        for row in report["functions"]
    }
    if len(rows) != len(report["functions"]):
        raise AssertionError("a function has two rows")
    return rows
