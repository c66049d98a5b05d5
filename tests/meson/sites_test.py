"""Tests `tally-meson enable`, `disable` and `doctor`: what they write, remove and report."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import MODULE, MesonCase, MixIn, for_each_meson, make_venv
from support.programs import command_line
from support.skips import run_unittests

MOST_US = 3000  # limit of the boot module's time at each start of Python


class Sites(MixIn):
    site: Path

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.project.mkdir()
        cls.site = next((cls.venv / "lib").glob("python3*/site-packages"))

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.must, "tally-meson", "disable")

    def tree(self) -> list[str]:
        return sorted(str(path) for path in self.venv.rglob("*"))

    def test_disable_removes_everything(self) -> None:
        """Byte code that Python wrote meanwhile is removed, too, but nothing of others is."""
        before = self.tree()
        done = self.expect(0, "tally-meson", "enable")
        self.assertIn(f"Enabled in {self.site}\n", done.stdout)
        files = {path.name for path in self.site.iterdir()}
        self.assertLessEqual({"tally_meson.pth", "tally_meson_boot.py"}, files)
        self.must("meson", "--version", PYTHONDONTWRITEBYTECODE="")
        self.assertTrue(list(self.site.glob("__pycache__/tally_meson_boot.*")))
        self.assertIn("Already enabled", self.expect(0, "tally-meson", "enable").stdout)
        self.assertIn(f"Disabled in {self.site}\n", self.expect(0, "tally-meson", "disable").stdout)
        self.assertEqual(self.tree(), before)
        self.assertEqual(self.expect(0, "tally-meson", "disable").stdout, "Not enabled\n")
        cache = self.site / "__pycache__"
        cache.mkdir()
        (cache / "others.pyc").touch()
        self.addCleanup(shutil.rmtree, cache)
        self.must("tally-meson", "enable")
        self.must("meson", "--version", PYTHONDONTWRITEBYTECODE="")
        self.must("tally-meson", "disable")
        self.assertEqual([path.name for path in cache.iterdir()], ["others.pyc"])

    def test_a_named_folder(self) -> None:
        folder = self.home / "some" / "site"
        done = self.expect(0, "tally-meson", "enable", "--site", str(folder))
        self.assertIn("none on PATH does", done.stdout)
        self.assertEqual(sorted(os.listdir(folder)), ["tally_meson.pth", "tally_meson_boot.py"])
        self.expect(0, "tally-meson", "disable", f"--site={folder}")
        self.assertFalse((self.home / "some").exists())

    def test_the_user_site(self) -> None:
        """--user is refused if Python reads no user site."""
        before = sorted(self.home.rglob("*.pth"))
        config = self.venv / "pyvenv.cfg"
        text = config.read_text(encoding="utf-8")
        self.addCleanup(config.write_text, text, encoding="utf-8")
        config.write_text(text.replace("= true", "= false"), encoding="utf-8")
        if self.script != "/usr/bin/meson":  # this one needs the system's packages
            self.refused(
                2,
                r".* does not read the user site directory: leave out --user",
                "tally-meson",
                "enable",
                "--user",
            )
        config.write_text(text, encoding="utf-8")
        self.assertIn(
            f"Enabled in {self.home}/.local/lib/",
            self.expect(0, "tally-meson", "enable", "--user").stdout,
        )
        self.expect(0, "tally-meson", "disable")
        self.assertEqual(sorted(self.home.rglob("*.pth")), before)
        self.assertFalse((self.home / ".local").exists())

    def test_doctor(self) -> None:
        done = self.expect(1, "tally-meson", "doctor")
        self.assertRegex(done.stdout, r"(?m)^hook +not active$")
        self.assertRegex(done.stdout, r"(?m)^problem .*type tally-meson enable$")
        self.assertIn("`tally-meson test` works without a hook", done.stdout)
        self.must("tally-meson", "enable")
        done = self.expect(0, "tally-meson", "doctor")
        for pattern in (
            rf"^meson +{self.venv}/bin/meson \(1\.\d+\.\d+\)$",
            rf"^python +{self.venv}/bin/python3 \(3\.\d+\.\d+\)$",
            rf"^site +{self.site}$",
            rf"^hook +{self.site}/tally_meson_boot.py, which loads ",
            r"^meson test +supported by the hook$",
            r"^collector +/.*tally \(\d+\.\d+\.\d+\)$",
            r"^its gcov +/.*gcov .*\d",
        ):
            self.assertRegex(done.stdout, "(?m)" + pattern)
        self.assertNotRegex(done.stdout, "(?m)^problem")

    def test_nothing_is_loaded_from_the_current_directory(self) -> None:
        for name in ("json", "os", "site", "zipfile", "tally_meson", "mesonbuild"):
            planted = self.project / f"{name}.py"
            planted.write_text(
                f"open({str(self.home / 'loaded')!r}, 'w').write({name!r})\n", encoding="utf-8"
            )
            self.addCleanup(planted.unlink)
        for command in ("doctor", "enable", "doctor", "disable"):
            self.run_in("tally-meson", command)
        self.assertFalse((self.home / "loaded").exists())

    def test_another_meson(self) -> None:
        """enable and doctor handle the Meson that is first on PATH; others are listed."""
        other = self.home / "other"
        make_venv(other, self.script)
        self.addCleanup(shutil.rmtree, other)
        self.must("tally-meson", "enable")
        path = f"{other}/bin:{self.environment()['PATH']}"
        done = self.expect(1, "tally-meson", "doctor", PATH=path)
        self.assertRegex(done.stdout, rf"(?m)^meson +{other}/bin/meson")
        if self.script == "/usr/bin/meson":  # for the other Meson, both are links to one file
            self.assertRegex(
                done.stdout, rf"(?m)^also on PATH +{self.venv}/bin/meson.*hook: active$"
            )
        self.expect(0, "tally-meson", "enable", PATH=path)
        self.expect(0, "tally-meson", "doctor", PATH=path)

    def test_a_removed_prefix(self) -> None:
        """The remaining hook prints nothing."""
        copy = self.home / "copy"
        shutil.copytree(MODULE, copy)
        self.must(str(copy / "tally-meson"), "enable", TALLY="")
        collector = self.environment()["PATH"]
        shutil.rmtree(copy)
        plain = self.run_in("meson", "--version")
        self.assertEqual((plain.returncode, plain.stderr), (0, ""))
        done = self.run_in("meson", "test", "--coverage")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unrecognized arguments: --coverage", done.stderr)
        done = self.expect(1, "tally-meson", "doctor", PATH=collector)
        self.assertRegex(
            done.stdout, r"(?m)^problem .*which no longer exists: type tally-meson enable"
        )

    def test_cost_of_a_start(self) -> None:
        self.must("tally-meson", "enable")
        python = str(self.venv / "bin" / "python3")
        costs = []
        for _ in range(5):
            done = self.run_in(python, "-X", "importtime", "-c", "pass", PYTHONDONTWRITEBYTECODE="")
            found = re.search(r"\| +(\d+) \| +tally_meson_boot$", done.stderr, re.MULTILINE)
            costs.append(int(found.group(1)))
            self.assertNotIn("tally_meson.", done.stderr)
        print(f"the boot module takes {min(costs)} to {max(costs)} us")
        self.assertLess(min(costs), MOST_US)


class Installed(MesonCase):
    """Tests the installed layout, and that it works after it is moved."""

    script = "/usr/bin/meson"

    def test_finds_itself_and_the_collector(self) -> None:
        self.project.mkdir()
        made = Path(os.environ["TALLY_BUILD_ROOT"])
        first, second = self.home / "first", self.home / "second"
        shutil.copytree(
            MODULE,
            first / "share" / "tally" / "meson",
            ignore=shutil.ignore_patterns("__pycache__", "tally-meson", "*.in"),
        )
        shutil.copy(made / "_paths.py", first / "share" / "tally" / "meson" / "tally_meson")
        (first / "bin").mkdir()
        shutil.copy(made / "tally-meson.installed", first / "bin" / "tally-meson")
        shutil.copymode(MODULE / "tally-meson", first / "bin" / "tally-meson")
        (first / "bin" / "tally").symlink_to(command_line())
        first.rename(second)
        path = f"{second}/bin:{self.venv}/bin:/usr/bin:/bin"
        self.expect(0, "tally-meson", "enable", PATH=path)
        done = self.expect(0, "tally-meson", "doctor", PATH=path)
        self.assertRegex(done.stdout, rf"(?m)^collector +{second}/bin/tally \(")
        self.assertRegex(done.stdout, rf"(?m)^hook .*, which loads {second}/share/tally/meson$")
        self.expect(0, "tally-meson", "disable", PATH=path)


class WrongPython(MesonCase):
    """Mesons that cannot have a hook, because their Python is unknown or unsuitable."""

    script = "/usr/bin/meson"

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.project.mkdir()

    def with_meson(self, text: str) -> str:
        folder = self.home / "fakes"
        folder.mkdir(exist_ok=True)
        (folder / "meson").write_text(text, encoding="utf-8")
        (folder / "meson").chmod(0o755)
        self.addCleanup(shutil.rmtree, folder)
        return f"{folder}:{self.environment()['PATH']}"

    def test_no_python(self) -> None:
        path = self.with_meson("#!/bin/sh\nexec something\n")
        self.refused(
            2,
            r"\S+/meson does not specify which Python runs it: name its site "
            r"directory with --site, or use tally-meson test, .*",
            "tally-meson",
            "enable",
            PATH=path,
        )
        self.assertRegex(
            self.expect(1, "tally-meson", "doctor", PATH=path).stdout,
            r"(?m)^problem .*does not specify which Python runs it$",
        )

    def test_a_python_without_site(self) -> None:
        """This Python loads no hook at all: enable reports that, and disable removes the hook."""
        python = self.home / "python3-without-site"
        # Without `site`, the prefix would be that of the machine, whose directories tests share.
        python.write_text(
            f"#!/bin/sh\nshift\nexec {self.venv}/bin/python3 -S -c 'import sys\n"
            f'sys.prefix = sys.exec_prefix = "{self.venv}"\n'
            'exec(sys.argv.pop(1))\' "$@"\n',
            encoding="utf-8",
        )
        python.chmod(0o755)
        path = self.with_meson(f"#!{python}\n")
        done = self.run_in("tally-meson", "enable", PATH=path)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^tally: but .* has not loaded the hook: ")
        self.expect(0, "tally-meson", "disable", PATH=path)
        self.assertEqual([], list(self.venv.rglob("tally_meson*")))

    def test_a_missing_python(self) -> None:
        path = self.with_meson("#!/nowhere/python3\n")
        self.refused(
            2, ".* does not specify which Python runs it.*", "tally-meson", "enable", PATH=path
        )

    def test_the_package_managers_folders(self) -> None:
        from tally_meson import meson_on_path

        for site, prefix, owned in (
            ("/usr/lib/python3/dist-packages", "/usr", True),
            ("/usr/lib/python3/dist-packages", str(self.venv), True),
            ("/usr/local/lib/python3.11/dist-packages", "/usr", False),
            (str(next((self.venv / "lib").glob("python3*/site-packages"))), str(self.venv), False),
        ):
            self.assertEqual(meson_on_path.is_distributions(site, prefix), owned, (site, prefix))
        self.refused(
            2,
            "/usr/lib/python3/dist-packages belongs to the package manager: .*",
            "tally-meson",
            "enable",
            "--site",
            "/usr/lib/python3/dist-packages",
        )

    def test_mistakes(self) -> None:
        lines: list[tuple[list[str], str]] = [
            (["enable", "--nonsense"], "unrecognized arguments: --nonsense"),
            (["enable", "--user", "--site", "x"], ".*not allowed with.*"),
            (["enable", "--site="], "enable: --site: expected a directory, .*"),
            (["doctor", "x"], "unrecognized arguments: x"),
            (["nonsense"], "there is no command 'nonsense': expected test, .*"),
            ([], "expected test, report, enable, disable or doctor"),
        ]
        for words, text in lines:
            self.refused(2, text, "tally-meson", *words)
        self.assertIn("Usage: tally-meson test", self.expect(0, "tally-meson", "--help").stdout)


FAKE_MTEST = """\
class TestHarness:
    def doit(self): pass
    def run_tests(self, runners): pass
    def get_test_runner(self, test, iteration): pass
def add_arguments(parser):
    parser.add_argument('-C', dest='wd')
def run(options):
    print('ran', sorted(vars(options)))
    return 0
"""
FAKE_MESON = """\
import argparse, sys
from mesonbuild import mtest
def main():
    parser = argparse.ArgumentParser(prog='meson')
    mtest.add_arguments(parser)
    return mtest.run(parser.parse_args(sys.argv[1:]))
"""


class OtherMtest(MesonCase):
    """Future versions of Meson."""

    script = "/usr/bin/meson"

    def setUp(self) -> None:
        super().setUp()
        self.project.mkdir()
        self.addCleanup(shutil.rmtree, self.project)
        self.addCleanup(shutil.rmtree, self.home / "fake")
        self.fake = self.home / "fake"
        subprocess.run(
            ["/usr/bin/python3", "-m", "venv", "--without-pip", str(self.fake)],
            check=True,
            timeout=60,
        )
        site = next((self.fake / "lib").glob("python3*/site-packages"))
        self.package = site / "mesonbuild"
        self.package.mkdir()
        for name, text in (
            ("__init__.py", ""),
            ("coredata.py", "version = '9.9'\n"),
            ("mesonmain.py", FAKE_MESON),
        ):
            (self.package / name).write_text(text, encoding="utf-8")
        meson = self.fake / "bin" / "meson"
        meson.write_text(
            f"#!{self.fake}/bin/python3\nimport sys\nfrom mesonbuild import coredata, "
            "mesonmain\nsys.exit(mesonmain.main())\n",
            encoding="utf-8",
        )
        meson.chmod(0o755)
        self.path = f"{self.fake}/bin:{self.environment()['PATH']}"

    def with_mtest(self, *changes: tuple) -> tuple:
        """Returns what Meson prints for a run without a flag, without the hook and with it."""
        text = FAKE_MTEST
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        (self.package / "mtest.py").write_text(text, encoding="utf-8")
        out = []
        for command in ("disable", "enable"):
            self.must("tally-meson", command, PATH=self.path)
            done = self.run_in("meson", "-C", "x", PATH=self.path)
            out.append((done.returncode, re.sub(r"\[.*\]", "", done.stdout), done.stderr))
        return tuple(out)

    def test_changed_functions_of_mtest(self) -> None:
        for change, reason in (
            (
                ("def run_tests(self, runners)", "def run_tests(self, runners, more)"),
                "TestHarness.run_tests has other parameters",
            ),
            (
                ("def get_test_runner", "def make_test_runner"),
                "it has no TestHarness.get_test_runner",
            ),
            (("class TestHarness", "class Harness"), "it has no TestHarness.doit"),
            (("def run(options)", "def run(options, more=None)"), "mtest.run has other parameters"),
        ):
            plain, hooked = self.with_mtest(change)
            self.assertEqual(plain, hooked)
            self.refused(
                2,
                re.escape(
                    "this Meson (9.9) has a `meson test` that the hook does "
                    f"not support ({reason}): type tally-meson test -C x"
                ),
                "meson",
                "-C",
                "x",
                "--coverage",
                PATH=self.path,
            )
            done = self.expect(1, "tally-meson", "doctor", PATH=self.path)
            self.assertIn(reason, done.stdout)

    def test_missing_functions_of_mtest(self) -> None:
        """Then the hook adds no flags, and Meson reports the unknown flag itself."""
        for change in (("def run(", "def start("), ("def add_arguments(", "def arguments(")):
            plain, hooked = self.with_mtest(change)
            self.assertEqual(plain[0], hooked[0])
            self.assertIn("AttributeError", hooked[2])  # raised by the fake itself

    def test_flags_of_its_own(self) -> None:
        plain, hooked = self.with_mtest(
            ("dest='wd')", "dest='wd')\n    parser.add_argument('--coverage')")
        )
        self.assertEqual(plain, hooked)
        done = self.expect(0, "meson", "--coverage", "x", PATH=self.path)
        self.assertIn("ran", done.stdout)

    def test_another_flag_of_its_own(self) -> None:
        """--coverage is the hook's, but another --coverage flag is Meson's own."""
        plain, hooked = self.with_mtest(
            ("dest='wd')", "dest='wd')\n    parser.add_argument('--coverage-filter')")
        )
        self.assertEqual(plain, hooked)
        self.refused(
            2,
            re.escape(
                "this Meson (9.9) has flags of its own that begin with "
                "--coverage: type tally-meson test"
            ),
            "meson",
            "-C",
            "x",
            "--coverage",
            PATH=self.path,
        )
        done = self.expect(0, "meson", "--coverage-filter", "x", PATH=self.path)
        self.assertIn("ran", done.stdout)


globals().update(for_each_meson(Sites))

if __name__ == "__main__":
    run_unittests()
