"""Clang's source-based coverage as llvm-cov of the same version shows it."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Sequence


def clang_version() -> int:
    said = subprocess.run(["clang", "--version"], stdout=subprocess.PIPE, text=True, check=True)
    found = re.search(r"clang version (\d+)", said.stdout)
    assert found, said.stdout
    return int(found.group(1))


def clangs_with_profiles() -> list[str]:
    """Returns all Clangs that can link a program with source-based coverage."""
    out = []
    for version in range(13, 23):
        clang = f"clang-{version}"
        if shutil.which(clang) is None:
            continue
        found = subprocess.run(
            [clang, "--print-file-name=libclang_rt.profile-x86_64.a"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        if Path(found.stdout.strip()).exists():
            out.append(clang)
    return out


def da_lines(tracefile: str) -> dict[tuple[str, int], int]:
    """Returns the counts of the lines of an lcov tracefile, by file and line."""
    out = {}
    path = ""
    for word, _, rest in (text.partition(":") for text in tracefile.splitlines()):
        if word == "SF":
            path = os.path.normpath(rest)
        elif word == "DA":
            line, count = rest.split(",")[:2]
            out[path, int(line)] = int(count)
    return out


def llvm_cov_lines(
    case: unittest.TestCase, profiles: Sequence[Path], objects: Sequence[str]
) -> dict[tuple[str, int], int]:
    """Returns the counts of lines by llvm-cov, by file and line. Skips the case without it."""
    version = clang_version()
    profdata, cov = f"llvm-profdata-{version}", f"llvm-cov-{version}"
    for tool in (profdata, cov):
        if shutil.which(tool) is None:
            case.skipTest(f"not installed: {tool}")
    with tempfile.TemporaryDirectory() as folder:
        merged = f"{folder}/all.profdata"
        subprocess.run(
            [profdata, "merge", "-o", merged, *map(str, profiles)], check=True, timeout=60
        )
        more = [f"-object={path}" for path in objects[1:]]
        done = subprocess.run(
            [cov, "export", "-format=lcov", f"-instr-profile={merged}", objects[0], *more],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=60,
        )
    return da_lines(done.stdout)
