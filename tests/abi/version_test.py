"""Tests that everything that states the version of Tally states the same one."""
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SOURCE_ROOT
from support.skips import need_tools, run_unittests

HEADER = "lib/include/tally/version.h"
INTERFACE = "lib/include/tally.h"


def first(pattern: str, path: str) -> str:
    """Returns what the group of the pattern matches first in a file of the sources."""
    match = re.search(pattern, (SOURCE_ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise AssertionError(f"{path}: nothing matches {pattern}")
    return match[1]


class VersionTest(unittest.TestCase):
    def setUp(self) -> None:
        self.version = first(r'^#define TALLY_VERSION "(.*)"$', HEADER)

    def test_it_has_three_numbers(self) -> None:
        self.assertRegex(self.version, r"\A\d+\.\d+\.\d+\Z")

    def test_the_changelog_begins_with_it(self) -> None:
        heading = first(r"^## (.*)$", "CHANGELOG.md")
        self.assertRegex(heading, r"\A\d+\.\d+\.\d+, (unreleased|\d{4}-\d\d-\d\d)\Z")
        self.assertEqual(heading.partition(", ")[0], self.version, "CHANGELOG.md's first heading")

    def test_the_wrap_file_names_it(self) -> None:
        self.assertEqual(first(r"^directory = tally-(.*)$", "lib/README.md"), self.version)

    def test_the_header_shows_it(self) -> None:
        self.assertEqual(first(r'^/\* Return the version \("(.*?)"\)', INTERFACE), self.version)

    def test_the_project_has_it(self) -> None:
        build = os.environ.get("TALLY_BUILD_ROOT")
        if not build:
            self.skipTest("TALLY_BUILD_ROOT is not set: run this test by `meson test`")
        need_tools("meson")
        described = json.loads(
            subprocess.run(
                ["meson", "introspect", "--projectinfo", build], stdout=subprocess.PIPE, check=True
            ).stdout
        )
        # If Tally is a subproject, the build is described by its parent.
        projects = [described, *described["subprojects"]]
        versions = [each["version"] for each in projects if each["descriptive_name"] == "tally"]
        self.assertEqual(versions, [self.version])


if __name__ == "__main__":
    run_unittests()
