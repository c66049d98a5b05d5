"""The manual pages: whether roff accepts them, and whether they contain what the help says."""
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SANITIZED, SOURCE_ROOT, command_line, gdb_plugin, manual_pages
from support.skips import need_tools, run_unittests

MODULE = SOURCE_ROOT / "meson-module"
PAGES = {path.name: path for path in manual_pages()}
_ESCAPES = {"rs": "\\", "aq": "'", "ga": "`", "ha": "^", "ti": "~", "dq": '"'}


def output_of(words: list, **environment: str) -> str:
    done = subprocess.run(
        words,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    errors = done.stderr.decode(errors="replace")
    if done.returncode != 0 or errors:
        raise AssertionError(f"{words}: status {done.returncode}\n{errors}")
    return done.stdout.decode()


def plain(roff: str) -> str:
    """Returns the text of a page's source, with all blanks as single spaces."""
    text = re.sub(r"^\.(RS .*|\w+ ?)", "", roff, flags=re.MULTILINE)
    text = re.sub(r"\\\((..)", lambda match: _ESCAPES[match[1]], text)
    text = re.sub(r"\\f[BIR]|\\&", "", text).replace("\\-", "-")
    return " ".join(text.split())


class Page(unittest.TestCase):
    def page(self, name: str) -> str:
        if name not in PAGES:
            self.skipTest(f"{name} is not built here")
        return PAGES[name].read_text(encoding="ascii")

    def section(self, page: str, heading: str) -> str:
        """Returns the text below a heading of the source, up to the next one."""
        found = re.search(
            rf"^\.S[HS] {re.escape(heading)}\n(.*?)(?=^\.S[HS] |\Z)", page, re.MULTILINE | re.DOTALL
        )
        self.assertIsNotNone(found, f"no section {heading}")
        assert found
        return plain(found[1])

    def assert_says(self, section: str, help_text: str) -> None:
        """Asserts that the section has everything that the help of a command describes."""
        for option in re.findall(r"^  (?:-\w, )?(-[\w-]+)", help_text, re.MULTILINE):
            if option not in ("--help", "-h"):
                self.assertRegex(f"{section} ", rf" {option},? ", help_text)
        for default in re.findall(r"\(default[^()]*\)", " ".join(help_text.split())):
            self.assertIn(default, section)
        example = re.search(r"^Example: (.*)", help_text, re.MULTILINE)
        if example:
            self.assertIn(example[1], section)


class Sources(Page):
    def test_there_is_a_page_for_each_program(self) -> None:
        self.assertLessEqual({"tally.1", "tally-meson.1"}, set(PAGES))

    def test_sections(self) -> None:
        for name in PAGES:
            headings = re.findall(r"^\.SH (.*)", self.page(name), re.MULTILINE)
            self.assertEqual(headings[:3], ["NAME", "SYNOPSIS", "DESCRIPTION"], name)
            self.assertEqual(headings[-2:], ["EXAMPLES", "SEE ALSO"], name)
            self.assertIn("COMMANDS", headings, name)

    def test_no_date(self) -> None:
        """Two builds give the same bytes."""
        version = output_of([command_line(), "--version"]).split()[1]
        for name in PAGES:
            title = next(line for line in self.page(name).splitlines() if line[:4] == ".TH ")
            self.assertRegex(title, rf'^\.TH [A-Z\\-]+ [17] "" "Tally {version}" "Tally manual"$')

    def test_no_mark_is_left(self) -> None:
        for name in PAGES:
            self.assertNotRegex(self.page(name), r"@[\w-]+@")

    def test_hyphens(self) -> None:
        """What is typed can be pasted into a shell."""
        for name in PAGES:
            typed = re.findall(r"\\fB([^\n]*?)\\fR", self.page(name))
            self.assertTrue(typed)
            for text in typed:
                self.assertNotRegex(text, r"(?<!\\)-")

    def test_escapes_of_the_python_script(self) -> None:
        specification = importlib.util.spec_from_file_location("manual", MODULE / "manual.py")
        assert specification and specification.loader
        manual = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(manual)
        for text, roff in (
            ("--fail-under", r"\-\-fail\-under"),
            ("\\fBx\\n", r"\(rsfBx\(rsn"),
            ('it\'s `x` ^~ "y"', r"it\(aqs \(gax\(ga \(ha\(ti \(dqy\(dq"),
            (".gcda", r"\&.gcda"),
            ("a\n.gcno.\n'x", "a\n\\&.gcno.\n\\(aqx"),
            ("\u00e4\u20ac\U0001f600\u2026", r"\[u00E4]\[u20AC]\[u1F600]\&..."),
        ):
            self.assertEqual(manual.roff(text), roff)


class Contents(Page):
    def test_tally(self) -> None:
        page = self.page("tally.1")
        help_text = output_of([command_line(), "--help"])
        commands = re.findall(r"^  ([a-z]+) +(.*)", help_text.partition("Commands:")[2], re.M)
        self.assertIn("coverage", dict(commands))
        for command, summary in commands:
            section = self.section(page, f"tally {command}")
            text = output_of([command_line(), command, "--help"])
            self.assertIn(summary.replace("`", "")[1:], section)
            self.assertIn(text.splitlines()[1].partition(": ")[2], section)  # its usage
            self.assert_says(section, text)
        options = self.section(page, "OPTIONS")
        for option in ("-h", "--help", "--version"):
            self.assertRegex(options, rf"(^| ){option}\b")

    def test_formats(self) -> None:
        done = subprocess.run(
            [command_line(), "report", "--from", "none", "-"],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        names = re.findall(r"[\w-]+", done.stderr.partition("there are:")[2].partition(")")[0])
        self.assertIn("callgrind", names)
        section = self.section(self.page("tally.1"), "FORMATS")
        for name in names:
            self.assertRegex(section, rf"(^| ){name} [^()]*(\(\.[^()]*\)[^()]*)*\((read|written)")
        self.assertIn("callgrind.out*, *.callgrind, *.cg", section)

    def test_exit_status(self) -> None:
        section = self.section(self.page("tally.1"), "EXIT STATUS")
        for status in range(5):
            self.assertRegex(section, rf"(^| ){status} ")

    def test_tally_meson(self) -> None:
        page = self.page("tally-meson.1")
        program = str(MODULE / "tally-meson")
        help_text = output_of([program, "--help"])
        commands = re.findall(r"^  ([a-z]+) +(.*)", help_text.partition("Commands:")[2], re.M)
        self.assertIn("doctor", dict(commands))
        for command, summary in commands:
            section = self.section(page, rf"tally\-meson {command}")
            self.assertIn(summary.replace("`", "")[1:], section)
            for option in re.findall(r"--[\w-]+", output_of([program, command, "--help"])):
                if option != "--help":
                    self.assertRegex(section, rf"(^| ){option}(?![\w-])")
        statuses = self.section(page, "EXIT STATUS")
        for status in ("125", "1", "2", "3", "4"):
            self.assertRegex(help_text, rf"\b{status} [a-z]")
            self.assertRegex(statuses, rf" {status} [a-z]")

    def test_tally_gdb(self) -> None:
        page = self.page("tally-gdb.7")
        need_tools("gdb")
        if SANITIZED:
            self.skipTest("GDB cannot load a library with sanitizers")

        def help_of(*names: str) -> list[str]:
            words = ["gdb", "-nx", "-q", "-batch", "-ex", f"source {gdb_plugin()}"]
            for name in names:
                words += ["-ex", f"help profile {name}", "-ex", r"echo \n(end)\n"]
            return output_of(words).split("(end)\n")[: len(names)]

        commands = re.findall(r"^profile ([a-z]+) -- (.*)\.$", help_of("")[0], re.MULTILINE)
        self.assertIn("dump", dict(commands))
        for (command, summary), text in zip(commands, help_of(*dict(commands))):
            section = self.section(page, f"profile {command}")
            self.assertIn(summary.replace("`", "")[1:], section)
            self.assert_says(section, text)
        for setting in ("backend", "frequency", "clock", "stacks"):
            self.assertRegex(self.section(page, "profile config"), rf" {setting} \S+ ")
        self.assertIn("callgrind.out*, *.callgrind, *.cg", self.section(page, "profile dump"))


class Formatted(Page):
    def test_man(self) -> None:
        need_tools("man")
        for path in PAGES.values():
            for encoding, device in (("UTF-8", "utf8"), ("ASCII", "ascii")):
                words = ["man", "--warnings", "-E", encoding, "-l", f"-T{device}", "-Z", str(path)]
                output_of(words, LC_ALL="C.UTF-8", MANROFFSEQ="")

    def test_name(self) -> None:
        """apropos and whatis find the page."""
        need_tools("lexgrog")
        for name, path in PAGES.items():
            self.assertIn(f'"{path.stem} - ', output_of(["lexgrog", str(path)]), name)

    def test_groff(self) -> None:
        need_tools("groff")
        for path in PAGES.values():
            output_of(["groff", "-man", "-ww", "-Tutf8", "-z", str(path)])

    def test_mandoc(self) -> None:
        need_tools("mandoc")
        for path in PAGES.values():
            output_of(["mandoc", "-T", "lint", "-W", "error", str(path)])

    def test_a_reader_sees_what_can_be_typed(self) -> None:
        need_tools("groff")
        for name, text in (
            ("tally.1", "tally coverage build --report html --report lcov:all.info"),
            ("tally-gdb.7", "-profile-start, -profile-report"),
            ("tally-meson.1", "tally-meson test -C build --coverage-fail-under 80"),
        ):
            self.page(name)
            shown = output_of(["groff", "-man", "-Tutf8", "-P-cbou", str(PAGES[name])])
            self.assertIn(text, " ".join(shown.split()))
            self.assertNotIn("\u2010\n", shown, "a word is hyphenated")


if __name__ == "__main__":
    run_unittests()
