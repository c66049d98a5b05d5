"""Tests that each public header compiles alone, twice, without a warning: as C++20, and the C
headers also as C11. A second C++ compiler compiles all of them together."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SOURCE_ROOT
from support.skips import need_tools, run_unittests

INCLUDE = SOURCE_ROOT / "lib" / "include"
C_HEADERS = ("tally.h", "tally/export.h", "tally/version.h", "tally/mon.h")
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def headers() -> list:
    return sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h"))


def compilers(*names: str) -> list:
    return [name for name in names if shutil.which(name)]


def twice(header: str) -> str:
    # C requires at least one declaration in a file.
    return f"#include <{header}>\n" * 2 + "extern int alone;\n"


def refusal(
    compiler: str, language: str, standard: str, text: str, *options: str, include: Path = INCLUDE
) -> str:
    run = subprocess.run(
        [
            compiler,
            "-x",
            language,
            f"-std={standard}",
            *WARNINGS,
            *(options or ["-fsyntax-only"]),
            f"-I{include}",
            "-",
        ],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if run.returncode == 0 else f"{compiler} -std={standard}:\n{text}{run.stderr}"


class Precompiled:
    """Compiles each header alone as C++. Most of a header's time would go to what it includes.
    Hence Clang reads one of the headers that it includes itself in precompiled form, and only those,
    so that it sees no declaration that it would not see otherwise."""

    def __init__(self, folder: Path, include: Path = INCLUDE) -> None:
        self.folder = folder
        self.include = include
        self.compiler = compilers("clang++", "g++")[0]

    def included(self, header: str) -> set:
        text = (self.include / header).read_text(encoding="utf-8")
        return set(re.findall(r"(?m)^#include <(tally[/.].*)>$", text))

    def reached(self, header: str) -> set:
        return {header}.union(*map(self.reached, self.included(header)))

    def refusals(self, names: list) -> dict:
        """Returns what the compiler says of each header, "" if it accepts it."""
        reached = {name: self.reached(name) for name in names}
        # Each includes fewer headers than those that include it.
        order = sorted(names, key=lambda name: len(reached[name]))
        bases = {name: max(self.included(name), key=order.index, default="") for name in names}
        futures: dict = {}
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            for name in order:
                base = bases[name]
                futures[name] = threads.submit(
                    self.one, name, futures.get(base), base, name in bases.values()
                )
        return {name: future.result() for name, future in futures.items()}

    def one(self, name: str, done: Future | None, base: str, is_base: bool) -> str:
        def result(*options: str) -> str:
            language = "c++-header" if is_base else "c++"
            made = ["-o", str(self.file(name))] if is_base else ["-fsyntax-only"]
            return refusal(
                self.compiler,
                language,
                "c++20",
                twice(name),
                *options,
                *made,
                include=self.include,
            )

        if self.compiler != "clang++":
            is_base = False
        elif done and not done.result():
            if not result("-include-pch", str(self.file(base))):
                return ""
            # Clang 14 crashes with some long chains of precompiled headers.
        return result()

    def file(self, name: str) -> Path:
        return self.folder / (name.replace("/", "+") + ".pch")


class HeadersAloneTest(unittest.TestCase):
    def test_cpp(self) -> None:
        with tempfile.TemporaryDirectory(prefix="headers-") as folder:
            refusals = Precompiled(Path(folder)).refusals(headers())
        self.assertEqual(sorted(refusals), headers())
        everything = "".join(f"#include <{header}>\n" for header in headers())
        for compiler in compilers("clang++", "g++")[1:]:
            refusals["all of them: " + compiler] = refusal(compiler, "c++", "c++20", everything)
        for header, found in refusals.items():
            with self.subTest(header=header):
                self.assertEqual(found, "")

    def test_precompiled_headers_hide_nothing(self) -> None:
        """A header must include what it uses, even if a header that it does not include does."""
        need_tools("clang++")
        texts = {
            "tally/base.h": "#pragma once\n#include <string>\nstruct base {};\n",
            "tally/other.h": "#pragma once\n#include <vector>\n#include <tally/base.h>\n"
            "struct other { std::vector<std::string> s; base b; };\n",
            "tally/needs.h": "#pragma once\n#include <tally/base.h>\nstd::vector<base> needs();\n",
            "tally/uses.h": "#pragma once\n#include <tally/other.h>\n"
            "#include <tally/needs.h>\ninline other uses() { return {}; }\n",
            "tally/again.h": "#include <tally/base.h>\nstruct again : base {};\n",
        }
        with tempfile.TemporaryDirectory(prefix="headers-") as folder:
            for name, text in texts.items():
                path = Path(folder, "include", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            refusals = Precompiled(Path(folder), Path(folder, "include")).refusals(sorted(texts))
        self.assertIn("redefinition of 'again'", refusals.pop("tally/again.h"))
        self.assertIn("no template named 'vector'", refusals.pop("tally/needs.h"))
        self.assertEqual(set(refusals.values()), {""})

    def test_c(self) -> None:
        for header in set(headers()) & set(C_HEADERS):
            self.compile_alone(header, compilers("gcc", "clang"), "c", ["c11"])
            # Any version of C++, because a debugger's plug-in is built as the debugger requires.
            self.compile_alone(header, compilers("g++", "clang++"), "c++", ["c++11", "c++17"])

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
