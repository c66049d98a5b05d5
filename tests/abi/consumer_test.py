"""Tests that the installed files can be used: by pkg-config from C and C++, and as a Meson
subproject, by the wrap file of lib/README.md.

The latter builds the library a second time, in TALLY_CONSUMER_FOLDER if that is set. Then it reuses
what is built there, and waits for another run of this test that builds there. TALLY_CONSUMER_SETUP
holds options of `meson setup` for that build, which may have other uses.
"""
import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SANITIZED, SOURCE_ROOT
from support.skips import need_tools, run_unittests

CONSUMER = SOURCE_ROOT / "tests/abi/consumer"
QUICK = "-Dbuildtype=plain -Dtally:tests=disabled"  # the fastest to compile
VERSION = next(
    line.split('"')[1]
    for line in open(SOURCE_ROOT / "lib/include/tally/version.h", encoding="utf-8")
    if line.startswith("#define TALLY_VERSION ")
)
# The dependencies that a parent project may provide, as the [provide] sections of WrapDB name them,
# and names for the subprojects.
PROVIDED = {
    "fmt": "fmt",
    "expected": "expected",
    "nlohmann_json": "nlohmann_json",
    "pcre2": "libpcre2-8",
    "zlib": "zlib",
    "zstd": "libzstd",
    "pugixml": "pugixml",
    "protozero": "protozero",
    "dw": "dw",
    "elf": "elf",
}


def wrap_file() -> str:
    """Returns the wrap file that lib/README.md shows."""
    readme = (SOURCE_ROOT / "lib/README.md").read_text(encoding="utf-8")
    match = re.search(r"^```ini\n(\[wrap-file\]\n.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert match, "lib/README.md shows no wrap file"
    return match[1]


def run(argv: list, **options: Any) -> str:
    done = subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(argv)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def provide(subprojects: Path, name: str, dependency: str) -> None:
    """Makes a subproject that provides the dependency, with a definition to know it by."""
    (subprojects / f"{name}.wrap").write_text(
        f"[wrap-file]\ndirectory = {name}-1\n\n[provide]\n{dependency} = the_dep\n",
        encoding="utf-8",
    )
    (subprojects / f"{name}-1").mkdir()
    (subprojects / f"{name}-1/meson.build").write_text(
        f"project('{name}', 'cpp')\n"
        f"the_dep = declare_dependency(compile_args: '-DPROVIDED_{name}')\n",
        encoding="utf-8",
    )


class ConsumerTest(unittest.TestCase):
    def setUp(self) -> None:
        if SANITIZED:
            self.skipTest("a program without sanitizers cannot use a library with them")
        need_tools("meson", "pkg-config")
        folder = tempfile.TemporaryDirectory(prefix="consumer-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_installed(self) -> None:
        build = os.environ.get("TALLY_BUILD_ROOT")
        if not build:
            self.skipTest("TALLY_BUILD_ROOT is not set: run this test by `meson test`")
        prefix = self.install(build)
        installed = {path.name for path in prefix.rglob("*")}
        self.assertLessEqual(
            {"tally.1", "tally-gdb.7", "tally-meson.1", "_tally", "tally.fish", "tally-meson.fish"},
            installed,
        )
        # These write the manual pages while Tally is built.
        self.assertTrue({"manual.py", "tally-manual"}.isdisjoint(installed))
        pkgconfig = next(prefix.rglob("tally.pc"), None)
        self.assertIsNotNone(pkgconfig, "no tally.pc is installed")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(pkgconfig.parent)}
        query = ["pkg-config", f"--define-variable=prefix={prefix}"]
        self.assertEqual(run([*query, "--modversion", "tally"], env=environment).strip(), VERSION)
        flags = run([*query, "--cflags", "--libs", "tally"], env=environment).split()
        self.assertIn("-ltally", flags)
        environment["LD_LIBRARY_PATH"] = str(pkgconfig.parent.parent)
        for compiler, source, output in (
            ("cc", "consumer.c", VERSION),
            ("c++", "consumer.cpp", "42"),
        ):
            with self.subTest(source=source):
                standard = "-std=c11" if source.endswith(".c") else "-std=c++20"
                program = self.folder / source.replace(".", "-")
                run(
                    [
                        compiler,
                        standard,
                        "-Wall",
                        "-Wextra",
                        "-Werror",
                        "-o",
                        str(program),
                        str(CONSUMER / source),
                        *flags,
                    ]
                )
                self.assertEqual(run([str(program)], env=environment).strip(), output)
        flags = run([*query, "--cflags", "--libs", "tally-mon"], env=environment).split()
        self.assertEqual([flag for flag in flags if flag.startswith("-l")], ["-ltally-mon"])
        program = self.folder / "consumer-mon"
        run(
            [
                "cc",
                "-std=c11",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-o",
                str(program),
                str(CONSUMER / "consumer_mon.c"),
                *flags,
            ]
        )
        self.assertEqual(run([str(program)], env=environment).strip(), "accepted")

    def install(self, build: str) -> Path:
        """Installs below this test's own directory, and returns the prefix."""
        root = self.folder / "root"
        run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", str(root)])
        headers = [path for path in root.rglob("tally.h") if path.parent.name == "include"]
        self.assertEqual(len(headers), 1, f"installed headers: {headers}")
        return headers[0].parent.parent

    def test_subproject(self) -> None:
        folder = Path(os.environ.get("TALLY_CONSUMER_FOLDER", self.folder))
        project, build = folder / "project", folder / "build"
        lock = self.enterContext(open(folder / "lock", "w", encoding="utf-8"))
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be building it
        # copy2 and copytree keep file times, so that unchanged files are not built again.
        shutil.copytree(CONSUMER / "subproject", project, dirs_exist_ok=True)
        for source in ("consumer.c", "consumer.cpp", "consumer_mon.c"):
            shutil.copy2(CONSUMER / source, project)
        subprojects = project / "subprojects"
        subprojects.mkdir(exist_ok=True)
        # The directory is there already, so that Meson unpacks no tarball, and a changed source is
        # built again.
        sources = subprojects / f"tally-{VERSION}"
        for left in list(subprojects.iterdir()):  # of another version
            if left.is_symlink() and left != sources:
                left.unlink()
        if not sources.exists():
            sources.symlink_to(SOURCE_ROOT, target_is_directory=True)
        wrap = subprojects / "tally.wrap"
        if not wrap.exists() or wrap.read_text(encoding="utf-8") != wrap_file():
            wrap.write_text(wrap_file(), encoding="utf-8")
        run(
            [
                "meson",
                "setup",
                str(build),
                str(project),
                "--fatal-meson-warnings",
                "--force-fallback-for=tally",
                "-Dunity=subprojects",
                "-Dunity_size=64",
                *shlex.split(os.environ.get("TALLY_CONSUMER_SETUP", QUICK)),
            ]
        )
        # Build only what the consumers need: a subproject's own programs are not required.
        programs = ["consumer-c", "consumer-cpp", "consumer-mon", "consumer-static"]
        run(["ninja", "-C", str(build), *programs])
        for name, output in (
            ("consumer-c", VERSION),
            ("consumer-cpp", "42"),
            ("consumer-mon", "accepted"),
            ("consumer-static", "42"),
        ):
            self.assertEqual(run([str(build / name)]).strip(), output)
        self.assertNotIn("libtally", run(["ldd", str(build / "consumer-static")]))
        self.assertIn("libtally", run(["ldd", str(build / "consumer-cpp")]))

    def test_tarball_and_provided_dependencies(self) -> None:
        """Meson unpacks the tarball that the wrap file names, and Tally takes its own dependencies
        from subprojects. Nothing is built: stubs stand for the real subprojects."""
        project, build = self.folder / "project", self.folder / "build"
        shutil.copytree(CONSUMER / "subproject", project)
        for source in ("consumer.c", "consumer.cpp", "consumer_mon.c"):
            shutil.copy2(CONSUMER / source, project)
        subprojects = project / "subprojects"
        (subprojects / "packagefiles").mkdir(parents=True)
        (subprojects / "tally.wrap").write_text(wrap_file(), encoding="utf-8")
        tar = subprojects / f"packagefiles/tally-{VERSION}.tar.xz"
        with tarfile.open(tar, "w:xz") as tarball:
            for name in ("meson.build", "meson_options.txt", "lib", "gdb", "lldb", "meson-module"):
                tarball.add(SOURCE_ROOT / name, f"tally-{VERSION}/{name}")
        for name, dependency in PROVIDED.items():
            provide(subprojects, name, dependency)
        configured = run(
            [
                "meson",
                "setup",
                str(build),
                str(project),
                "--fatal-meson-warnings",
                "--wrap-mode=forcefallback",
                "-Dtally:lldb=disabled",
            ]
        )
        commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        compiled = [
            each["command"] for each in commands if "libtally-session.a.p" in each["output"]
        ]
        self.assertTrue(compiled, f"nothing of the layer session is compiled\n{configured}")
        for command in compiled:
            missing = [name for name in PROVIDED if f"-DPROVIDED_{name} " not in command]
            self.assertEqual(missing, [], configured)


if __name__ == "__main__":
    run_unittests()
