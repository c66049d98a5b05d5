"""Tests that each installed header compiles alone, twice, without a warning: the C headers as C11 and
as any version of C++, and tally.hpp as C++20."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SOURCE_ROOT
from support.skips import run_unittests

INCLUDE = SOURCE_ROOT / "lib" / "include"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def headers(pattern: str) -> list:
    return sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob(pattern))


def compilers(*names: str) -> list:
    return [name for name in names if shutil.which(name)]


def twice(header: str) -> str:
    # C requires at least one declaration in a file.
    return f"#include <{header}>\n" * 2 + "extern int alone;\n"


def refusal(compiler: str, language: str, standard: str, text: str) -> str:
    run = subprocess.run(
        [
            *(compiler, "-x", language, f"-std={standard}", *WARNINGS),
            *("-fsyntax-only", f"-I{INCLUDE}", "-"),
        ],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if run.returncode == 0 else f"{compiler} -std={standard}:\n{text}{run.stderr}"


class HeadersAloneTest(unittest.TestCase):
    def test_c(self) -> None:
        for header in headers("*.h"):
            self.compile_alone(header, compilers("gcc", "clang"), "c", ["c11"])
            self.compile_alone(header, compilers("g++", "clang++"), "c++", ["c++11", "c++17"])

    def test_cpp(self) -> None:
        for header in headers("*.h*"):
            self.compile_alone(header, compilers("g++", "clang++"), "c++", ["c++20"])

    def test_mon_beside_unistd(self) -> None:
        if not (INCLUDE / "tally/mon.h").exists():
            self.skipTest("there is no tally/mon.h yet")
        for first, second in (("tally/mon.h", "unistd.h"), ("unistd.h", "tally/mon.h")):
            for compiler, language, standard in (("gcc", "c", "c11"), ("g++", "c++", "c++20")):
                self.compile(
                    compiler, language, standard, f"#include <{first}>\n#include <{second}>\n"
                )

    def test_a_header_that_needs_another_is_found(self) -> None:
        with self.assertRaises(AssertionError):
            self.compile("g++", "c++", "c++20", "inline std::string needs_string();\n")

    def compile_alone(self, header: str, tools: list, language: str, standards: list) -> None:
        self.assertTrue(tools, "no compiler")
        for compiler in tools:
            for standard in standards:
                with self.subTest(header=header, compiler=compiler, standard=standard):
                    self.compile(compiler, language, standard, twice(header))

    def compile(self, compiler: str, language: str, standard: str, text: str) -> None:
        found = refusal(compiler, language, standard, text)
        if found:
            raise AssertionError(found)


if __name__ == "__main__":
    run_unittests()
