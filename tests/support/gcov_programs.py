"""Compiles and runs the programs of tests/programs/coverage."""
from __future__ import annotations

import subprocess
from pathlib import Path

from support.programs import SOURCE_ROOT

SOURCES = SOURCE_ROOT / "tests" / "programs" / "coverage"


def run(words: list[str], folder: Path, status: int | None = 0) -> subprocess.CompletedProcess:
    done = subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    if status is not None and done.returncode != status:
        raise AssertionError(f"{words}: status {done.returncode}\n{done.stderr[:2000]}")
    return done


def compiler_of(source: str) -> list[str]:
    return ["g++", "-std=c++20"] if source.endswith(".cpp") else ["gcc"]


def compile_and_run(folder: Path, source: str, options: list[str]) -> None:
    compiler = compiler_of(source)
    run([*compiler, "--coverage", *options, "-c", source, "-o", "x.o"], folder)
    run([*compiler, "--coverage", "-pthread", "x.o", "-o", "x"], folder)
    run([str(folder / "x")], folder, status=None)
