"""Tests that the installed files can be used: by pkg-config from C and C++, and as a Meson
subproject, by the wrap file of lib/README.md.

InstalledTest and ConfiguredTest are quick. SubprojectTest builds the library once more.
"""
import json
import os
import re
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


def use_as_subproject(project: Path) -> None:
    """Makes a project that has Tally as a subproject, from the sources in this tree."""
    shutil.copytree(CONSUMER / "subproject", project)
    for source in ("consumer.c", "consumer.cpp", "consumer_mon.c"):
        shutil.copy2(CONSUMER / source, project)
    (project / "subprojects").mkdir()
    (project / "subprojects/tally.wrap").write_text(wrap_file(), encoding="utf-8")


class ConsumerCase(unittest.TestCase):
    def setUp(self) -> None:
        if SANITIZED:
            self.skipTest("a program without sanitizers cannot use a library with them")
        need_tools("meson", "pkg-config")
        folder = tempfile.TemporaryDirectory(prefix="consumer-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class InstalledTest(ConsumerCase):
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


class ConfiguredTest(ConsumerCase):
    def test_tarball_and_provided_dependencies(self) -> None:
        """Meson unpacks the tarball that the wrap file names, and Tally takes its own dependencies
        from subprojects. Nothing is built: stubs stand for the real subprojects."""
        project, build = self.folder / "project", self.folder / "build"
        use_as_subproject(project)
        subprojects = project / "subprojects"
        (subprojects / "packagefiles").mkdir()
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


class SubprojectTest(ConsumerCase):
    def test_subproject(self) -> None:
        project, build = self.folder / "project", self.folder / "build"
        use_as_subproject(project)
        # The directory is there already, so that Meson unpacks no tarball.
        (project / f"subprojects/tally-{VERSION}").symlink_to(SOURCE_ROOT, target_is_directory=True)
        run(
            [
                "meson",
                "setup",
                str(build),
                str(project),
                "--fatal-meson-warnings",
                "--force-fallback-for=tally",
                "-Dunity=subprojects",
                "-Dunity_size=40",
                "-Dbuildtype=plain",
                "-Dtally:tests=disabled",
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


if __name__ == "__main__":
    run_unittests()
