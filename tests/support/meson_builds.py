"""Projects for tests with real Mesons: Debian's, and the meson.py that TALLY_NEW_MESON names.

Each Meson gets its own virtual environment, so that hooks are installed nowhere else.
"""
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import TYPE_CHECKING

from .programs import SOURCE_ROOT, command_line
from .skips import need_tools

MODULE = SOURCE_ROOT / "meson-module"
sys.path.insert(0, str(MODULE))

PROJECT = {
    "meson.build": """\
project('demo', 'c')
sub = subproject('sub').get_variable('sub_dep')
made = custom_target('made', output: 'made.c', command: ['sh', '-c',
  'echo "int made(void) { return 7; }" > "$1"', 'sh', '@OUTPUT@'])
prog = executable('prog', 'src/main.c', 'src/demo.c', made, dependencies: sub)
test('one', prog, args: '1', suite: 'good')
test('two', prog, args: '2', suite: 'good')
test('fails', prog, args: 'fail', suite: 'bad')
test('fails too', prog, args: 'fail', suite: 'bad')
test('aborts', prog, args: 'abort', suite: 'killed')
test('hangs', prog, args: 'hang', suite: 'killed', timeout: 1)
test('script', find_program('sh'), args: ['-c', 'exit 0'], suite: 'script')
test('long', prog, args: 'long', suite: 'long', timeout: 60)
""",
    "src/main.c": """\
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int demo(int), sub(int), made(void);
int main(int argc, char **argv) {
  if (strcmp(argv[argc - 1], "fail") == 0)
    return 1;
  if (strcmp(argv[argc - 1], "abort") == 0)
    abort();
  if (strcmp(argv[argc - 1], "hang") == 0 || strcmp(argv[argc - 1], "long") == 0)
    sleep(30);
  return made() != 7 || sub(demo(atoi(argv[argc - 1]))) < 0;
}
""",
    "src/demo.c": """\
int demo(int what) {
  if (what == 1)
    return 1;
  if (what == 2)
    return 2;
  return 3;
}
""",
    "subprojects/sub/meson.build": """\
project('sub', 'c')
sub_dep = declare_dependency(link_with: static_library('sub', 'sub.c'))
""",
    "subprojects/sub/sub.c": "int sub(int x) {\n  return x;\n}\n",
}

# A test that runs first and fills the disk on which the per-test counters are stored.
NO_ROOM = """\
test('fills', find_program('sh'), args: ['-c', 'cat /dev/zero > "$XDG_RUNTIME_DIR/filler" || true'],
  suite: 'fills', priority: 5, is_parallel: false)
"""
GOOD = ["--suite", "good"]
BOTH = {"src/demo.c": "5/6", "src/main.c": "5/8", "TOTAL": "10/14"}  # lines that these execute


def write_project(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def rows(output: str) -> dict[str, str]:
    """Returns {file: "executed lines/lines"} of a table, including the row TOTAL."""
    return {
        file: counts
        for file, counts in re.findall(r"^(\S+) +[\d.]+% +(\d+/\d+) ", output, re.MULTILINE)
    }


def without_times(output: str) -> str:
    """Replaces times, and the random number of MALLOC_PERTURB_ that Meson chooses for each test."""
    return re.sub(r"\d+\.\d+s|(?<=MALLOC_PERTURB_=)\d+", "N", output)


class MesonCase(unittest.TestCase):
    """One Meson in its own environment, without a project."""

    script = ""  # the meson script, which is copied or linked
    home: Path
    venv: Path
    project: Path
    maxDiff = 4000

    @classmethod
    def setUpClass(cls) -> None:
        need_tools("gcc", "ninja", "meson")
        cls.home = Path(os.path.realpath(tempfile.mkdtemp(prefix="meson-")))
        cls.addClassCleanup(shutil.rmtree, cls.home)
        cls.venv = cls.home / "venv"
        make_venv(cls.venv, cls.script)
        # Meson asks for Debian's name of the processor at each start, which takes as long as a sixth of
        # a small run.
        if name := shutil.which("dpkg-architecture"):
            done = subprocess.run(
                [name, "-qDEB_HOST_MULTIARCH"], capture_output=True, text=True, check=True
            )
            quick = cls.venv / "bin" / "dpkg-architecture"
            quick.write_text(f"#!/bin/sh\necho {done.stdout.strip()}\n", encoding="utf-8")
            quick.chmod(0o755)
        (cls.home / "run").mkdir()
        cls.project = cls.home / "project"

    @classmethod
    def environment(cls, **more: str) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "MESON", "GCOV", "TALLY"))
        }
        path = [
            str(cls.venv / "bin"),
            str(MODULE),
            str(Path(command_line()).parent),
            "/usr/local/bin",
            "/usr/bin",
            "/bin",
        ]
        return {
            **kept,
            "PATH": os.pathsep.join(path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_RUNTIME_DIR": str(cls.home / "run"),
            "HOME": str(cls.home),
            "CCACHE_DISABLE": "1",
            **more,
        }

    @classmethod
    def run_in(cls, *words: str, folder: str = ".", **more: str) -> subprocess.CompletedProcess:
        done = subprocess.run(
            words,
            cwd=cls.project / folder,
            env=cls.environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        # A hook elsewhere would be loaded, and removed again, in the middle of other tests.
        for site in re.findall(r"^(?:Already e|E)nabled in (.*)$", done.stdout, re.MULTILINE):
            if not site.startswith(f"{cls.home}/"):
                raise AssertionError(f"{words} enables the hook in {site}")
        return done

    @classmethod
    def must(cls, *words: str, **more: str) -> str:
        done = cls.run_in(*words, **more)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def expect(self, status: int, *words: str, **more: str) -> subprocess.CompletedProcess:
        done = self.run_in(*words, **more)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        self.assertNotIn("Traceback", done.stdout + done.stderr)
        self.assert_no_trees()
        return done

    def interrupted(self, *words: str, number: int = signal.SIGINT) -> str:
        """Returns the output of a run that gets this signal during the test `long`, after the tests
        of the suite `good`."""
        with subprocess.Popen(
            [*words, "--suite", "good", "--suite", "long", "--num-processes", "1"],
            cwd=self.project,
            env=self.environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as run:
            deadline = time.monotonic() + 60
            while not _sleeps(self.project / "build" / "prog") and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.5)  # Meson loses a test if it is interrupted while starting it
            if number == signal.SIGINT:
                os.killpg(run.pid, number)  # as a terminal does
            else:
                run.send_signal(number)
            out, errors = run.communicate(timeout=60)
        self.assertNotIn(run.returncode, (0, 3, 4), out + errors)
        self.assertNotIn("Traceback", errors)
        self.assert_no_trees()
        return out

    def assert_no_trees(self) -> None:
        left = [str(path) for path in (self.home / "run").glob("tally-*")]
        left += [str(path) for path in self.project.glob("build/meson-private/tally-*/")]
        self.assertEqual(left, [])

    def refused(self, status: int, pattern: str, *words: str, **more: str) -> None:
        """Expects an error message of one line, and that no test ran."""
        log = self.project / "build" / "meson-logs" / "testlog.txt"
        before = log.stat().st_mtime_ns if log.exists() else 0
        done = self.expect(status, *words, **more)
        self.assertRegex(done.stderr, rf"\Atally: {pattern}\n\Z")
        self.assertEqual(log.stat().st_mtime_ns if log.exists() else 0, before)


def _sleeps(program: Path) -> bool:
    """Returns whether a process of this program runs the test `long`, which sleeps."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "exe") == str(program) and "long" in (
                entry / "cmdline"
            ).read_text(encoding="utf-8"):
                return True
        except OSError:
            pass
    return False


# What a mix-in inherits from only for mypy: for_each_meson() gives it each MesonCase.
if TYPE_CHECKING:
    MixIn = MesonCase
else:
    MixIn = object


class BuiltProject(MixIn):
    """A mix-in for MesonCase: PROJECT, built with b_coverage."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        write_project(cls.project, PROJECT)
        cls.must("meson", "setup", "build", "-Db_coverage=true")
        cls.must("ninja", "-C", "build")


def make_venv(folder: Path, script: str) -> None:
    """Makes a virtual environment whose meson is `script`, run by the environment's Python."""
    subprocess.run(
        ["/usr/bin/python3", "-m", "venv", "--without-pip", "--system-site-packages", str(folder)],
        check=True,
        timeout=60,
    )
    meson = folder / "bin" / "meson"
    if (Path(script).resolve().parent / "mesonbuild").is_dir():
        # This script finds its package beside itself, and `#!/usr/bin/env python3` finds the
        # environment's Python.
        meson.symlink_to(Path(script).resolve())
    else:
        text = Path(script).read_text(encoding="utf-8").split("\n", 1)[1]
        meson.write_text(f"#!{folder}/bin/python3\n{text}", encoding="utf-8")
        meson.chmod(0o755)


def on_small_disk(
    case: unittest.TestCase, folder: Path, size: str, before: str = "true"
) -> list[str]:
    """Returns words to put before a command, for which `folder` is then a disk of this size.
    `before` is a shell command that runs in it first. Creates the directory, and removes it after
    the case. Skips the case if the system does not permit the mount."""
    need_tools("unshare", "mount")
    folder.mkdir()
    case.addCleanup(folder.rmdir)
    words = [
        "unshare",
        "--mount",
        *([] if os.geteuid() == 0 else ["--map-root-user"]),
        "sh",
        "-c",
        'mount -t tmpfs -o size="$1" none "$0" && (cd "$0" && eval "$2") && shift 2 && "$@"',
        str(folder),
        size,
    ]
    done = subprocess.run(
        [*words, "true", "true"], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode != 0:
        raise unittest.SkipTest("cannot mount a disk: " + " ".join(done.stderr.split()))
    return [*words, before]


def for_each_meson(*mixins: type) -> dict[str, type]:
    """Returns test cases by name, to be added to the globals of a test module."""
    scripts = {"Debian": "/usr/bin/meson"}
    if os.environ.get("TALLY_NEW_MESON"):
        scripts["New"] = os.environ["TALLY_NEW_MESON"]
    return {
        name
        + mixin.__name__: type(
            name + mixin.__name__, (mixin, MesonCase), {"script": script, "__module__": "__main__"}
        )
        for mixin in mixins
        for name, script in scripts.items()
    }
