#!/usr/bin/env python3
"""Kills Tally, debuggers and programs at random points, and counts what is left behind.

    storm.py [--kills N] [--seed S] BUILD [KIND]...

BUILD is a build directory. Each kind of kill is a scenario:

    record      SIGKILL for `tally record`, while it starts, samples or writes
    program     SIGKILL for the program that `tally record` samples
    gdb         SIGKILL for a GDB that samples, by perf and by the agent
    inferior    SIGKILL for the program that GDB samples
    meson       SIGKILL for `tally-meson test` and all that it has started

After each kill, the output must be absent, as it was before, or complete; no process may be stopped
or traced; and nothing new may be in /dev/shm, in the temporary directory or beside the output. After
a kill of tally-meson, the next run must succeed with the same counts. Prints a table, and each
finding with the seed that repeats it. The status is 1 if there are findings.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Iterator, NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import write_project

ROOT = Path(__file__).resolve().parents[2]
PROJECT = {
    "meson.build": "project('storm', 'c')\n"
    "foreach i : ['1', '2', '3']\n  test(i, executable('t' + i, 't.c'), args: i)\nendforeach\n",
    "t.c": "#include <unistd.h>\nint main(int argc, char **argv)\n{\n  usleep(20000);\n"
    "  return argc > 2 ? argv[1][0] : 0;\n}\n",
}


class Storm(NamedTuple):
    build: Path
    folder: Path  # in which the kills happen; TMPDIR is its tmp/
    random: random.Random

    def program(self, name: str) -> str:
        return str(self.build / "tests" / "programs" / name)

    @property
    def tally(self) -> str:
        return str(self.build / "lib" / "cli" / "tally")

    def environment(self) -> dict[str, str]:
        """A mark, by which processes that are left are known, and directories of its own."""
        return {
            **os.environ,
            "TALLY_STORM": str(self.folder),
            "TMPDIR": str(self.folder / "tmp"),
            "TALLY_CACHE_DIR": str(self.folder / "cache"),
            "PATH": f"{self.build / 'lib' / 'cli'}:{os.environ['PATH']}",
            "DEBUGINFOD_URLS": "",
        }

    def start(self, *words: str) -> subprocess.Popen:
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait_a_while(self, most: float) -> None:
        # Half of the kills come early, where files and memory are made.
        time.sleep(self.random.uniform(0, most if self.random.random() < 0.5 else most / 8))


def processes(storm: Storm) -> Iterator[int]:
    """Returns the processes that belong to the storm."""
    mark = f"TALLY_STORM={storm.folder}".encode()
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        try:
            if mark in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                yield int(name)
        except OSError:
            pass


def state_of(pid: int) -> str:
    """Returns what is wrong with a process: that it is stopped or traced."""
    try:
        text = Path("/proc", str(pid), "status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    if fields.get("State", "").startswith(("T", "t")):
        return f"process {pid} ({fields.get('Name')}) is stopped"
    if fields.get("TracerPid", "0") != "0":
        return f"process {pid} ({fields.get('Name')}) is traced"
    return ""


def program_of(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def kill_all(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end_all(storm: Storm, wait: float = 0.2) -> list[str]:
    """Returns what is wrong with the processes that are left, and ends them."""
    time.sleep(wait)
    left = list(processes(storm))
    wrong = [text for pid in left for text in [state_of(pid)] if text]
    kill_all(left)
    deadline = time.monotonic() + 5
    while list(processes(storm)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return wrong


def kill(process: subprocess.Popen, *, group: bool = False) -> bool:
    """Returns whether the process still ran."""
    runs = process.poll() is None
    if runs:
        (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
    process.wait()
    return runs


def files_in(storm: Storm) -> set[str]:
    return {
        str(path)
        for folder in (storm.folder / "tmp", storm.folder / "out", Path("/dev/shm"))
        for path in folder.rglob("*")
    }


def damaged(storm: Storm, path: Path, before: bytes | None) -> list[str]:
    """Returns what is wrong with an output: it must be absent, unchanged or complete."""
    now = path.read_bytes() if path.exists() else None
    if now == before:
        return []
    if now is None:
        return [f"{path.name} is gone"]
    done = subprocess.run(
        [storm.tally, "validate", str(path)], capture_output=True, text=True, check=False
    )
    return [] if done.returncode == 0 else [f"{path.name}: {(done.stdout + done.stderr).strip()}"]


def recording(storm: Storm, victim: str) -> tuple[bool, list[str]]:
    out = storm.folder / "out" / storm.random.choice(("a.pb.gz", "a.callgrind", "a.folded"))
    if storm.random.random() < 0.5:
        subprocess.run(
            [storm.tally, "record", "-o", str(out), "--", self_made(storm), "0.02"],
            env=storm.environment(),
            capture_output=True,
            check=False,
        )
    before = out.read_bytes() if out.exists() else None
    ways: list[list[str]] = [[], ["--clock", "wall"], ["--backend", "agent"], ["--live"]]
    more = storm.random.choice(ways)
    process = storm.start(
        storm.tally, "record", *more, "-F", "2000", "-o", str(out), "--", self_made(storm), "0.3"
    )
    storm.wait_a_while(0.6)
    if victim == "record":
        runs = kill(process)
    else:
        victims = [pid for pid in processes(storm) if pid != process.pid]
        kill_all(victims)
        runs = bool(victims)
        process.wait(timeout=20)
    wrong = end_all(storm)
    wrong += damaged(storm, out, before)
    for path in (storm.folder / "out").iterdir():
        # What a SIGKILL leaves of a file that is being written has another name.
        if path != out and victim != "record":
            wrong.append(f"{path.name} is left")
        path.unlink()
    return runs, wrong


def self_made(storm: Storm) -> str:
    return storm.program("spin7030")


def debugging(storm: Storm, victim: str) -> tuple[bool, list[str]]:
    backend = storm.random.choice(("perf", "agent", "interrupt"))
    out = storm.folder / "out" / "a.callgrind"
    commands = [
        f"source {ROOT / 'gdb' / 'tally.py'}",
        "set confirm off",
        "set disable-randomization off",
        f"profile start --backend {backend}",
        "run",
        f"profile dump {out}",
    ]
    process = storm.start(
        "gdb", "-nx", "-q", "-batch",
        *(word for command in commands for word in ("-ex", command)),
        "--args", self_made(storm), "0.5",
    )  # fmt: skip
    storm.wait_a_while(2.5)
    if victim == "gdb":
        runs = kill(process)
    else:
        victims = [
            pid
            for pid in processes(storm)
            if pid != process.pid and program_of(pid) == self_made(storm)
        ]
        kill_all(victims)
        runs = bool(victims)
        process.wait(timeout=30)
    wrong = end_all(storm)
    wrong += damaged(storm, out, None)
    out.unlink(missing_ok=True)
    return runs, wrong


def testing(storm: Storm, _: str) -> tuple[bool, list[str]]:
    project = storm.folder / "project"
    command = [sys.executable, str(ROOT / "meson-module" / "tally-meson"), "test", "-C"]
    command += [str(project / "build")]
    environment = {**storm.environment(), "PYTHONPATH": str(ROOT / "meson-module")}

    def measured() -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tally_meson", *command[2:]],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            return f"status {done.returncode}: {done.stderr.strip()}"
        return "\n".join(line for line in done.stdout.splitlines() if "TOTAL" in line)

    if not project.is_dir():
        write_project(project, PROJECT)
        subprocess.run(["meson", "setup", "build"], cwd=project, capture_output=True, check=True)
        (storm.folder / "expected").write_text(measured(), encoding="utf-8")
    ways: list[list[str]] = [[], ["--coverage-per-test"], ["--coverage-off"]]
    more = storm.random.choice(ways)
    process = subprocess.Popen(
        [sys.executable, "-m", "tally_meson", *command[2:], *more],
        env=environment, cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    storm.wait_a_while(4)
    runs = kill(process, group=storm.random.random() < 0.5)
    wrong = end_all(storm)
    again, expected = measured(), (storm.folder / "expected").read_text(encoding="utf-8")
    if "TOTAL" not in expected:
        wrong.append(f"the first run printed {expected!r}")
    if again != expected:
        wrong.append(f"the next run printed {again!r} in place of {expected!r}")
    return runs, wrong


KINDS: dict[str, Callable[[Storm, str], tuple[bool, list[str]]]] = {
    "record": recording,
    "program": recording,
    "gdb": debugging,
    "inferior": debugging,
    "meson": testing,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    if not set(options.kinds) <= set(KINDS):
        parser.error(f"expected kinds of {', '.join(KINDS)}")
    findings: list[str] = []
    print(f"{'kind':10} {'kills':>6} {'while it ran':>13} {'findings':>9}")
    for kind in options.kinds or KINDS:
        folder = Path(tempfile.mkdtemp(prefix="storm-"))
        for name in ("tmp", "out", "cache"):
            (folder / name).mkdir()
        number, bad = 0, 0
        for i in range(options.kills):
            seed = f"{options.seed}.{i}"
            storm = Storm(options.build.resolve(), folder, random.Random(f"{kind}{seed}"))
            before = files_in(storm)
            try:
                runs, wrong = KINDS[kind](storm, kind)
            except subprocess.TimeoutExpired as error:
                runs, wrong = True, [f"{error.cmd[0]} hangs", *end_all(storm)]
            # A process of tally-meson removes what is left, when the tests have ended.
            deadline = time.monotonic() + (5 if kind == "meson" else 0)
            while files_in(storm) - before and time.monotonic() < deadline:
                time.sleep(0.05)
            wrong += [f"{path} is left" for path in sorted(files_in(storm) - before)]
            for path in map(Path, files_in(storm) - before):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            number += runs
            bad += bool(wrong)
            findings += [f"{kind} {seed}: {text}" for text in wrong]
        print(f"{kind:10} {options.kills:6} {number:13} {bad:9}", flush=True)
        shutil.rmtree(folder)
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
