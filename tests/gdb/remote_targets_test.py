"""Tests `profile` and `coverage` on remote targets: on programs for other processors, which QEMU
emulates, in another PID namespace, on a target that dies, and on one that does not answer."""
from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

sys.path.insert(0, os.path.dirname(__file__))
from scenario import Play, play_gdb
from support.gcov_counts import counts_of_json
from support.gcov_programs import run
from support.programs import SOURCE_ROOT, program
from support.skips import need_tools, run_unittests
from support.tables import parse_report

PROGRAMS = SOURCE_ROOT / "tests" / "programs"
SHARES = PROGRAMS / "foreign" / "shares.c"
FIRMWARE = PROGRAMS / "firmware"
FAULTS = "Traceback|Python Exception|internal-error"
# A target of 64 bits, those whose most significant byte is the first, and one of 32 bits.
PROCESSORS = {
    "aarch64": "aarch64-linux-gnu",
    "ppc": "powerpc-linux-gnu",
    "s390x": "s390x-linux-gnu",
    "mips64": "mips64-linux-gnuabi64",
    "arm": "arm-linux-gnueabihf",
}
# QEMU reads what GDB sends only while the emulated program is stopped. It passes SIGINT to the
# program, and so stops it for GDB.
HOOK = """python import os, signal, threading
define hook-interrupt
python os.kill(emulated, signal.SIGINT)
end
"""
NOT_ANSWERED = (
    r"profile report: no samples yet: in \S+ s the remote target did not stop when it was asked to, "
    "as by Ctrl-C"
)
GONE = r"^Sampling of process 1 ended: gone; \d+ ticks? (is|are) kept\.$"


@dataclass(frozen=True)
class Emulated:
    """A program that QEMU emulates. It waits for GDB."""

    process: subprocess.Popen[bytes]
    socket: Path

    @property
    def connect(self) -> str:
        return f"target remote {self.socket}"

    @property
    def aim(self) -> str:
        """Returns the command that makes this the process that the hook of `interrupt` stops."""
        return f"python emulated = {self.process.pid}"


class RemoteCase(unittest.TestCase):
    folder = Path()

    @classmethod
    def setUpClass(cls) -> None:
        need_tools("gdb-multiarch")
        cls.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="remote-")))
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def compile(self, name: str, processor: str, source: Path, *options: str) -> None:
        """Compiles the program, unless an earlier test has done so."""
        compiler = f"{PROCESSORS[processor]}-gcc"
        need_tools(compiler, f"qemu-{processor}")
        if not (self.folder / name).exists():
            words = [compiler, "-g", "-static", *options, str(source), "-o", name]
            run(words, self.folder)

    @contextmanager
    def emulated(self, processor: str, *command: str) -> Iterator[Emulated]:
        (self.folder / "hook").write_text(HOOK, encoding="ascii")
        socket = Path(tempfile.mktemp(dir=self.folder))
        with subprocess.Popen(
            [f"qemu-{processor}", "-g", str(socket), *command],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                deadline = time.monotonic() + 100
                while not socket.exists():
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.02)
                yield Emulated(process, socket)
            finally:
                process.kill()

    def play(self, *commands: str) -> Play:
        play = play_gdb(commands, cwd=str(self.folder), gdb="gdb-multiarch")
        self.assertNotRegex(str(play), FAULTS)
        return play


class ForeignProcessorTest(RemoteCase):
    def test_shares(self) -> None:
        for processor in ("aarch64", "ppc", "s390x"):
            with self.subTest(processor=processor):
                name = f"shares-{processor}"
                self.compile(name, processor, SHARES, "-O1")
                with self.emulated(processor, f"./{name}", "1") as emulated:
                    play = self.play(
                        *(
                            "source hook",
                            f"file {name}",
                            emulated.connect,
                            emulated.aim,
                            "break main",
                        ),
                        *("continue",),
                        *("profile start", "break finished", "continue", "profile status"),
                        *("profile report --limit 0", "profile tree", "print in_long"),
                        *("print in_short", "info address spin", "profile dump out.callgrind"),
                        *("profile annotate spin --asm", "kill"),
                    )
                self.assert_shares(play)

    def assert_shares(self, play: Play) -> None:
        self.assertRegex(
            play.text("profile start"), r"^Sampling process \d+: interrupt \(auto; perf: a remote "
        )
        self.assertEqual(play.status()["backend"].split()[0], "interrupt")
        rows = parse_report(play.text("profile report --limit 0")).rows
        ticks = {row.name: row.inclusive_ticks or 0 for row in rows}
        samples = ticks["long_work"] + ticks.get("short_work", 0)
        self.assertGreater(samples, 5, play)
        in_long, in_short = (
            float(play.text(f"print {name}").partition(" = ")[2])
            for name in ("in_long", "in_short")
        )
        truth = in_long / (in_long + in_short)
        # Five standard deviations of the share that so many ticks give.
        delta = 5 * (truth * (1 - truth) / samples) ** 0.5
        self.assertAlmostEqual(ticks["long_work"] / samples, truth, delta=delta)
        self.assertRegex(play.text("profile tree"), r"main .*\n.* long_work .*\n.* spin ")
        # Addresses are those of the program, whatever the order of its bytes.
        found = re.search(r"at address 0x([0-9a-f]+)", play.text("info address spin"))
        assert found, play
        entry = int(found[1], 16)
        written = (self.folder / "out.callgrind").read_text("utf-8")
        addresses = [
            int(text, 16) for text in re.findall(r"^0x([0-9a-f]+) ", written, re.MULTILINE)
        ]
        own = [address for address in addresses if entry <= address < entry + 256]
        shown = play.text("profile annotate spin --asm")
        self.assertTrue(any(f" {address:#x} " in shown for address in own), (written, shown))

    def test_coverage(self) -> None:
        """The counters of the stopped program are those that it writes when it ends."""
        for processor, prefix in PROCESSORS.items():
            with self.subTest(processor=processor):
                for old in self.folder.glob("*.gc*"):
                    old.unlink()
                name = f"counted-{processor}"
                source = PROGRAMS / "counted.c"
                self.compile(name, processor, source, "-O0", "--coverage")
                shown = "coverage annotate counted.c --json"
                with self.emulated(processor, f"./{name}") as emulated:
                    play = self.play(
                        *(f"file {name}", emulated.connect, "break __gcov_exit", "continue"),
                        *(shown, f"coverage dump {self.folder}/dump/", "continue"),
                    )
                    emulated.process.wait(30)
                written = next(self.folder.glob("*.gcda"))
                self.assertEqual(
                    Path(f"{self.folder}/dump{written}").read_bytes(), written.read_bytes()
                )
                text = run([f"{prefix}-gcov", "-jt", written.name], self.folder).stdout
                counts = {
                    line: count for (_, line), count in counts_of_json(json.loads(text)).items()
                }
                lines = {
                    line["line"]: line["count"]["count"]
                    for line in json.loads(play.text(shown))["lines"]
                    if line.get("count")
                }
                self.assertEqual(lines, counts)

    def test_a_target_that_does_not_answer(self) -> None:
        self.compile("shares", "ppc", SHARES)
        with self.emulated("ppc", "./shares", "0.5") as emulated:
            play = self.play(
                *("file shares", emulated.connect, "profile start"),
                *("continue", "profile report"),
            )
        self.assertRegex(play.stderr, rf"^{NOT_ANSWERED}$")

    def test_processes_with_the_same_id(self) -> None:
        """The id of each process that qemu-ppc emulates is 1. Another process has other names at
        the same addresses."""
        self.compile("shares", "ppc", SHARES)
        self.compile("other", "ppc", SHARES, "-Dlong_work=other_work", "-Dspin=other_spin")
        report = "profile report --limit 0"
        with self.emulated("ppc", "./shares", "0.7") as first:
            with self.emulated("ppc", "./other", "0.7") as second:
                play = self.play(
                    *(
                        "source hook",
                        "file shares",
                        first.connect,
                        first.aim,
                        "profile start",
                        "continue",
                        report,
                    ),
                    *("file other", second.connect, second.aim, "continue", report),
                )
        self.assertRegex(play.text(report), r" spin .*\n")
        self.assertIn("other_spin", play.text(report, 1))
        self.assertNotRegex(play.text(report, 1), " (spin|long_work) ")

    def test_two_inferiors_with_the_same_id(self) -> None:
        self.compile("shares", "ppc", SHARES)
        self.compile("other", "ppc", SHARES, "-Dlong_work=other_work", "-Dspin=other_spin")
        report = "profile report --limit 0"
        with self.emulated("ppc", "./shares", "0.7") as first:
            with self.emulated("ppc", "./other", "0.5") as second:
                play = self.play(
                    *("source hook", "file shares", first.connect, first.aim, "profile start"),
                    *("add-inferior -no-connection", "inferior 2", "file other", second.connect),
                    *(second.aim, "tbreak finished", "continue", "kill", "inferior 1", first.aim),
                    *("break finished", "continue", report, "profile status"),
                )
        self.assertEqual(play.status()["state"], "sampling")
        self.assertIn(" spin ", play.text(report))
        self.assertNotIn("other_", play.text(report))

    def test_a_target_that_dies(self) -> None:
        self.compile("shares", "ppc", SHARES)
        report = "profile report --limit 0"
        with self.emulated("ppc", "./shares", "60") as first:
            with self.emulated("ppc", "./shares", "0.5") as second:
                play = self.play(
                    *("source hook", "file shares", first.connect, first.aim, "profile start"),
                    "python threading.Timer(1.2, os.kill, (emulated, signal.SIGKILL)).start()",
                    *("continue", report, second.connect, second.aim, "continue", report),
                )
        self.assertRegex(play.text("continue"), re.compile(GONE, re.MULTILINE), play)
        self.assertIn("spin", play.text(report))
        self.assertIn("spin", play.text(report, 1))


class PidNamespaceTest(RemoteCase):
    @contextmanager
    def served(self, pid: int) -> Iterator[str]:
        """Serves a process with this id in a namespace of its own. Yields GDB's command to connect."""
        need_tools("gdbserver", "unshare")
        last = pid - 1
        for _ in range(3):
            words = [
                f"echo {last} > /proc/sys/kernel/ns_last_pid;",
                f"exec gdbserver --once localhost:0 {program('spin7030')} 1 1",
            ]
            with subprocess.Popen(
                ["unshare", "-Urpf", "--mount-proc", "sh", "-ec", " ".join(words)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            ) as server:
                try:
                    assert server.stderr
                    created, listens = server.stderr.readline(), server.stderr.readline()
                    found = re.search("pid = ([0-9]+)", created)
                    port = re.search("Listening on port ([0-9]+)", listens)
                    if not found or not port:
                        raise unittest.SkipTest("no process in a namespace: " + created.strip())
                    if int(found[1]) == pid:
                        yield f"target remote localhost:{port[1]}"
                        return
                    # gdbserver first tries with other processes what ptrace can do.
                    last -= int(found[1]) - pid
                finally:
                    # The first process of a namespace takes all others with it.
                    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
                    for child in children.read_text("ascii").split():
                        os.kill(int(child), signal.SIGKILL)
        raise unittest.SkipTest(f"the namespace gave away process id {pid}")

    def test_a_local_process_of_the_same_id(self) -> None:
        """Neither is the local process sampled, nor does it tell whether the remote one exists."""
        with subprocess.Popen([program("spin7030"), "60"], stdout=subprocess.DEVNULL) as local:
            try:
                with self.served(local.pid) as connect:
                    play = self.play(
                        *("set sysroot", f"file {program('spin7030')}", connect, "profile start"),
                        *("tbreak checkpoint", "continue", "profile status", "kill"),
                        "profile status",
                    )
            finally:
                local.kill()
        self.assertIn(f"process {local.pid}: interrupt (auto;", play.text("profile start"))
        self.assertEqual(play.status(0)["pid"], str(local.pid))
        self.assertIn(f"Sampling of process {local.pid} ended: gone", play.text("kill"))
        self.assertTrue(play.status(1)["state"].startswith("armed"), play)


if __name__ == "__main__":
    run_unittests()
