"""Tests that every installed file belongs to exactly one Debian package, by the *.install files of
tests/support/debian/."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Iterator

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SOURCE_ROOT
from support.skips import need_tools, run_unittests

PACKAGING = SOURCE_ROOT / "tests/support/debian"


def alternatives(pattern: str) -> list[str]:
    """Expands {a,b}, which may not be nested."""
    found = re.search(r"\{([^}]*)\}", pattern)
    if not found:
        return [pattern]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [rest for word in found[1].split(",") for rest in alternatives(f"{before}{word}{after}")]


def packages() -> dict[str, list[str]]:
    """Returns the patterns of each package. What comes from debian/ itself is not installed by
    Meson."""
    out = {}
    for path in sorted(PACKAGING.glob("*.install")):
        words = [line.split()[0] for line in path.read_text(encoding="utf-8").splitlines()]
        out[path.stem] = [
            pattern
            for word in words
            if not word.startswith("debian/")
            for pattern in alternatives(word)
        ]
    return out


def takes(pattern: str, path: str) -> bool:
    """Returns whether dh_install takes the file: the pattern matches it or a directory above it."""
    wanted, have = pattern.split("/"), path.split("/")
    return len(wanted) <= len(have) and all(map(fnmatchcase, have, wanted))


def owners(path: str, lists: dict[str, list[str]]) -> list[str]:
    return [name for name, patterns in lists.items() if any(takes(p, path) for p in patterns)]


def installed(build: str, folder: str) -> Iterator[str]:
    """Installs into the directory, and yields the paths as they are in a package: with the prefix /usr
    and a libdir whose last component names the architecture."""
    subprocess.run(
        ["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    options = subprocess.run(
        ["meson", "introspect", "--buildoptions", build],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    values = {option["name"]: option["value"] for option in json.loads(options.stdout)}
    prefix = values["prefix"]
    # Meson's default is lib64 on a system without dpkg-architecture, which comes with dpkg-dev.
    libdir = os.path.join(prefix, values["libdir"])
    for path in sorted(Path(folder).rglob("*")):
        if path.is_symlink() or path.is_file():
            name = "/" + str(path.relative_to(folder))
            name = re.sub(f"^{re.escape(libdir)}/", "/usr/lib/architecture/", name)
            yield re.sub(f"^{re.escape(prefix)}/", "/usr/", name)[1:]


class DebianFilesTest(unittest.TestCase):
    def test_each_file_has_one_package(self) -> None:
        build = os.environ.get("TALLY_BUILD_ROOT")
        if not build:
            self.skipTest("TALLY_BUILD_ROOT is not set: run this test by `meson test`")
        need_tools("meson")
        lists = packages()
        with tempfile.TemporaryDirectory(prefix="debian-") as folder:
            files = list(installed(build, folder))
        self.assertIn("usr/bin/tally", files)
        wrong = {path: names for path in files if len(names := owners(path, lists)) != 1}
        self.assertEqual(wrong, {}, f"files of no or several packages in {PACKAGING}/*.install")

    def test_each_list_has_a_package(self) -> None:
        control = (PACKAGING / "control.in").read_text(encoding="utf-8")
        declared = re.findall(r"^Package: (\S+)$", control, re.M)
        self.assertEqual(sorted(packages()), sorted(declared))

    def test_a_pattern_takes_files_and_directories(self) -> None:
        lists = {
            "dev": ["usr/lib/*/*.so"],
            "run": ["usr/lib/*/lib.so.0*", *alternatives("{b,c/d}")],
        }
        for path, names in (
            ("usr/lib/arch/lib.so", ["dev"]),
            ("usr/lib/arch/tally/lib.so", []),
            ("usr/lib/arch/lib.so.0.1", ["run"]),
            ("c/d/e/f", ["run"]),
            ("c/e", []),
        ):
            with self.subTest(path=path):
                self.assertEqual(owners(path, lists), names)


if __name__ == "__main__":
    run_unittests()
