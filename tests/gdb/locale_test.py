"""Tests names that GDB's character set cannot represent: without a locale, and invalid UTF-8."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, play_gdb
from support.programs import program
from support.skips import run_unittests


class LocaleTest(GdbCase):
    def test_no_locale(self) -> None:
        """There is no locale, as in a minimal container. The help has an ellipsis, which is not
        ASCII."""
        play = play_gdb(
            [
                "help profile dump",
                "profile start",
                "run",
                "profile status",
                "profile report --limit 3",
                "profile histogram seventy",
            ],
            program("spin7030"),
            ["0.1"],
            environment={"LC_ALL": "C"},
        )
        self.assertEqual(play.stderr, "", play)
        self.assertIn("FILE.1, FILE.2, ...", play.text("help profile dump"))
        bars = play.text("profile histogram seventy")
        self.assertRegex(bars, r"% +#{3}", "bars of # in place of block elements")
        self.assertNotIn("\\u2", bars)
        self.assertEqual(play.report("--limit 3").total, play.status().count("samples"))

    def test_a_path_that_is_not_utf8(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            copy = os.fsdecode(os.fsencode(folder) + b"/s\xe9")
            shutil.copy(program("spin7030"), copy)
            for locale in ("C", "C.UTF-8"):
                with self.subTest(locale):
                    play = play_gdb(
                        ["profile start", "run", "profile status", "profile report --by object"],
                        copy,
                        ["0.1"],
                        environment={"LC_ALL": locale},
                    )
                    self.assertEqual(play.stderr, "", play)
                    self.assertGreater(play.status().count("samples"), 20, play)
                    self.assertIn("/s\\xe9", play.text("profile report --by object"), play)

    def test_names_under_latin_1(self) -> None:
        """GDB makes text of names and of what is typed by its own character set. The bytes reach the
        library as they were."""
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run(
                ["localedef", "-i", "C", "-f", "ISO-8859-1", f"{folder}/latin"],
                capture_output=True,
                check=False,
            )
            # It exits with status 1 because of warnings, too.
            if not os.path.isfile(f"{folder}/latin/LC_CTYPE"):
                self.skipTest(f"localedef: {made.stderr!r}")
            for odd in (b"s\xe9", "s\u00e9".encode()):
                copy, out = (os.fsencode(folder) + b"/" + kind + odd for kind in (b"p-", b"o-"))
                shutil.copy(os.fsencode(program("spin7030")), copy)
                play = play_gdb(
                    [
                        "profile start --backend agent",
                        "run",
                        f"profile dump {os.fsdecode(out)}.folded",
                    ],
                    os.fsdecode(copy),
                    ["0.1"],
                    environment={"LC_ALL": "latin", "LOCPATH": folder},
                )
                self.assertEqual(play.stderr, "", play)
                self.assertTrue(os.path.exists(out + b".folded"), os.listdir(os.fsencode(folder)))


if __name__ == "__main__":
    run_unittests()
