#!/usr/bin/env python3
"""Runs the tests of GDB by the GDB of another release of Debian, in a root of its own.

    other_gdb.py [--tests NAME,...] BUILD RELEASE FOLDER

BUILD is a build directory, whose library that GDB loads. FOLDER/RELEASE is the root, which is made
by mmdebstrap if it is missing, with the Python that this GDB embeds. The C library of the root must
not be older than this system's. Prints GDB's version, a line for each test, and the number of the
test cases. Must be run by root. The status is 1 if a test fails, 2 if there is no such root.
"""
from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PACKAGES = "gdb,gdbserver,python3,procps"
# The build and the sources are at the same paths as outside, because debug information names them.
ENTER = """
mount --make-rprivate / && root=$1 source=$2 && shift 2 &&
mkdir -p "$root$source" && mount --bind "$source" "$root$source" &&
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
mount --rbind /sys "$root/sys" && mount -t tmpfs tmpfs "$root/tmp" && exec chroot "$root" "$@"
"""


def make_root(root: Path, release: str) -> None:
    roots = SOURCE / "tests/support/roots.sh"
    lines = subprocess.run(
        ["sh", "-c", '. "$0" && tally_root_sources "$tally_root_suite"', roots],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    mirror = lines.stdout.split()[1]  # deb MIRROR RELEASE COMPONENT
    part = root.with_suffix(".part")
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=apt", f"--include={PACKAGES}", release, part, mirror],
        check=True,
    )
    part.rename(root)


def libraries_of(files: list[Path]) -> dict[str, str]:
    """Returns the paths of the libraries that the files need, by name."""
    listed = subprocess.run(["ldd", *files], stdout=subprocess.PIPE, text=True, check=True)
    return dict(re.findall(r"(\S+) => (/\S+)", listed.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tests", default="")
    parser.add_argument("build", type=Path)
    parser.add_argument("release")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    build = options.build.resolve()
    root = options.folder.resolve() / options.release
    try:
        if not (root / "usr/bin/gdb").exists():
            make_root(root, options.release)
    except (OSError, IndexError, subprocess.CalledProcessError) as error:
        print(f"other_gdb.py: no root of {options.release}: {error}", file=sys.stderr)
        return 2
    (root / "borrowed").mkdir(exist_ok=True)
    for name, path in libraries_of([build / "lib/libtally.so", build / "lib/cli/tally"]).items():
        if SOURCE not in Path(path).parents and not list(root.glob(f"usr/lib/*/{name}")):
            shutil.copy(path, root / "borrowed" / name)

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", ENTER, "sh", str(root), str(SOURCE), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )

    print(run(["gdb", "--version"]).stdout.split("\n")[0], flush=True)
    listed = subprocess.run(
        ["meson", "introspect", "--tests", build], stdout=subprocess.PIPE, text=True, check=True
    )
    passed = failed = skipped = 0
    for test in json.loads(listed.stdout):
        wanted = options.tests.split(",") if options.tests else [test["name"]]
        if not re.match("(conformance-|support-)?gdb", test["name"]) or test["name"] not in wanted:
            continue
        variables = {
            **test["env"],
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LD_LIBRARY_PATH": test["env"].get("LD_LIBRARY_PATH", "") + ":/borrowed",
        }
        words = [f"{name}={value}" for name, value in variables.items()]
        done = run(["env", "-i", *words, "timeout", "600", "python3", *test["cmd"][1:]])
        cases = re.search(r"^Ran (\d+) test", done.stdout, re.MULTILINE)
        ran = int(cases[1]) if cases else 0
        left_out = re.search(r"skipped=(\d+)", done.stdout)
        skips = min(ran, int(left_out[1])) if left_out else 0
        faults = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", done.stdout)))
        if done.returncode not in (0, 77):
            faults = max(faults, 1)
            print(done.stdout[-4000:])
        print(f"{test['name']:28} {'FAIL' if faults else 'OK'}", flush=True)
        passed, failed, skipped = passed + ran - faults - skips, failed + faults, skipped + skips
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
