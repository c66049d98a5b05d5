"""Tests the backend `interrupt` in LLDB, which samples during `process continue`, natively and
remotely."""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Iterator

sys.path.insert(0, os.path.dirname(__file__))
from case import PARTS, REPORT, LldbCase, pid_of, report_of, status_of, text_of
from support.lldb_driver import LldbTerminal, run_lldb
from support.programs import program
from support.remote_proxy import RemoteProxy
from support.running import wait_for_cpu
from support.skips import run_unittests
from support.tables import parse_status, status_number

START = "profile start --backend interrupt"
# Otherwise LLDB gives up the connection if a server on a busy machine is slow to answer.
PATIENT = "settings set plugin.process.gdb-remote.packet-timeout 100"


class NativeTest(LldbCase):
    samples_by_perf = False

    def test_user_stops_are_unchanged(self) -> None:
        def measure(lldb: str) -> None:
            commands = ["breakpoint set -n checkpoint", "run", "continue"]
            plain = run_lldb(commands, program("spin7030"), ["0.05", "1", "7"], lldb=lldb)
            result = run_lldb(
                [START, *commands, "profile status", REPORT, "process status"],
                program("spin7030"),
                ["0.6", "1", "7"],
                lldb=lldb,
            )
            reason = r"stop reason = breakpoint 1\.1\n +frame #0: 0x\w+ (\S+)\(number=1\)"
            self.assertEqual(
                re.search(reason, plain.stdout)[1], re.search(reason, result.stdout)[1], result
            )
            for each in (plain, result):
                self.assertRegex(each.stdout, r"Process \d+ exited with status = 7 \(0x00000007\)")
            status = status_of(result)
            self.assertEqual(status["parts"], "2", result)
            self.assertGreater(int(status["delivered_hz"]), 0, result)
            self.assertGreater(report_of(result).row("seventy").self_ticks, 0, result)

        self.in_each(measure)

    def test_a_program_that_handles_the_signal(self) -> None:
        """Tally selects another signal, or ends sampling; the program gets all its own signals."""

        def measure(lldb: str) -> None:
            result = run_lldb(
                [
                    "breakpoint set -n main",
                    "run",
                    "breakpoint delete -f",
                    "process handle SIGURG --stop false --notify false",
                    "breakpoint set -n raised",
                    "continue",
                    START,
                    "continue",
                ],
                program("own_signal"),
                lldb=lldb,
            )
            self.assertIn("got 20 of 20", result.stdout, result)

        self.in_each(measure)

    def test_the_end_of_a_running_time(self) -> None:
        """`--for` stops the program once or, with `--continue`, lets it run on."""

        def measure(lldb: str) -> None:
            for option in ("", " --continue"):
                result = run_lldb(
                    [f"{START} --for 0.2s{option}", "run", "profile status"]
                    + ["continue"] * (not option),
                    program("spin7030"),
                    ["0.7"],
                    lldb=lldb,
                )
                ran = text_of(result, "run")
                self.assertEqual("signal SIGSTOP" in ran, not option, result)
                self.assertIn("Sampling ended after 200 ms of running time.\n", ran, result)
                self.assertRegex(ran, r"\n(\d+ ticks? in total\n|no samples yet: )", result)
                self.assertEqual(status_of(result)["state"], "stopped", result)
                self.assertRegex(result.stdout, "exited with status = 0 ", result)

        self.in_each(measure)

    def test_ctrl_c(self) -> None:
        def measure(path: str) -> None:
            with LldbTerminal(program("spin7030"), ["600"], lldb=path) as lldb:
                lldb.command(START)
                samples = runs = pid = 0
                while samples <= 30 or runs < 3:
                    lldb.send("continue" if runs else "run")
                    pid = pid or pid_of(lldb.expect("launched: .*\n"))
                    wait_for_cpu(pid, 0.15)
                    lldb.interrupt()
                    self.assertRegex(lldb.expect("stop reason = .*\n"), "signal SIGSTOP")
                    lldb.expect_prompt()
                    status = parse_status(lldb.command("profile status"))
                    self.assertEqual(status["state"], "sampling", lldb.transcript)
                    samples = int(status["samples"])
                    runs += 1
                    self.assertLess(runs, 100, lldb.transcript)
                lldb.send("quit")
                self.assertEqual(lldb.wait(), 0, lldb.transcript)

        self.in_each(measure)

    def test_detach_leaves_no_pending_signal(self) -> None:
        """A signal that is still pending does not kill the process."""

        def measure(lldb: str) -> None:
            for _ in range(5):
                self.detach(lldb)

        self.in_each(measure)

    def detach(self, lldb: str) -> None:
        process = subprocess.Popen(
            [program("spin7030_threads"), "600", "2"], stdout=subprocess.DEVNULL
        )
        try:
            result = run_lldb(
                [
                    f"process attach -p {process.pid}",
                    "breakpoint set -n seventy -i 300",
                    START,
                    "continue",
                    "detach",
                    "profile status",
                ],
                program("spin7030"),
                lldb=lldb,
            )
            # LLDB may leave the process stopped, with or without Tally.
            process.send_signal(signal.SIGCONT)
            wait_for_cpu(process.pid, 0.1)
            self.assertIsNone(process.poll(), result)
        finally:
            process.kill()
            process.wait()


class RemoteTest(LldbCase):
    samples_by_perf = False

    @contextlib.contextmanager
    def server(self, lldb: str, *argv: str) -> Iterator[int]:
        """Starts this LLDB's own server with the program, and yields its port."""
        path = Path(lldb).resolve().with_name("lldb-server")
        if not path.exists():
            self.skipTest(f"{path} is not installed")
        with tempfile.TemporaryDirectory(prefix="lldb-server-") as folder:
            pipe = os.path.join(folder, "port")
            os.mkfifo(pipe)
            port = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self.addCleanup(os.close, port)
            stub = subprocess.Popen(
                [path, "gdbserver", "--named-pipe", pipe, "localhost:0", "--", *argv],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                # The server says its port once it listens.
                said = b""
                while not said:
                    self.assertIsNone(stub.poll(), "lldb-server ended")
                    time.sleep(0.02)
                    with contextlib.suppress(BlockingIOError):  # the server has opened the pipe
                        said = os.read(port, 100)
                yield int(said.rstrip(b"\0"))
            finally:
                stub.kill()
                stub.wait()

    def test_remote_interrupts(self) -> None:
        """LLDB needs a tenth of a second for each interrupt. There are thus few, but they are
        distinguished from the user's stops."""

        def measure(lldb: str) -> None:
            with self.server(lldb, program("spin7030"), "2", "1") as port:
                result = run_lldb(
                    [
                        PATIENT,
                        "profile start",
                        f"gdb-remote localhost:{port}",
                        "breakpoint set -n checkpoint",
                        "continue",
                        "profile status",
                        "process status",
                        "continue",
                        "profile status",
                    ],
                    program("spin7030"),
                    lldb=lldb,
                )
            self.assertRegex(
                result.stdout,
                r"Sampling process \d+: interrupt \(auto; perf: a remote "
                r"target cannot be sampled: ",
            )
            self.assertRegex(text_of(result, "process status"), r"stop reason = breakpoint 1\.1")
            self.assertRegex(status_of(result)["backend"], "^interrupt")
            # The first half of its 2 s of CPU time, plus LLDB's own work at each interrupt.
            self.assertGreater(status_number(status_of(result), "running"), 0.9, result)
            self.assertGreater(int(status_of(result, 1)["samples"]), 0, result)
            self.assertRegex(status_of(result, 1)["state"], "^armed")

        self.in_each(measure)

    def test_libraries_that_come_and_go(self) -> None:
        """LLDB stops at each load and unload, and an interrupt may coincide with it. Such a stop is
        not one of the user's."""

        def measure(lldb: str) -> None:
            with self.server(lldb, program("reloads"), "300") as port:
                result = run_lldb(
                    [
                        PATIENT,
                        "profile start",
                        f"gdb-remote localhost:{port}",
                        "continue",
                        "profile status",
                    ],
                    program("reloads"),
                    lldb=lldb,
                )
            self.assertIn("exited with status = 7", text_of(result, "continue"), result)
            self.assertGreater(int(status_of(result)["samples"]), 0, result)

        self.in_each(measure)

    def test_a_stop_that_a_server_calls_an_exception(self) -> None:
        """Servers of other systems report exceptions; here a proxy makes the server do so."""

        def as_exception(packet: bytes) -> bytes:
            if b'"signal":11' in packet:  # the JSON of jThreadsInfo
                packet = packet.replace(b'"reason":"signal"', b'"reason":"exception"')
            return re.sub(rb"\A(T0b.*;reason:)signal;", rb"\1exception;", packet, flags=re.S)

        def measure(lldb: str) -> None:
            with self.server(lldb, program("crasher"), "1") as port, RemoteProxy(
                port, as_exception
            ) as proxy:
                result = run_lldb(
                    [
                        PATIENT,
                        f"gdb-remote localhost:{proxy.port}",
                        "breakpoint set -n main",
                        "continue",
                        START,
                        "continue",
                        PARTS,
                    ],
                    program("crasher"),
                    lldb=lldb,
                )
            self.assertEqual(
                [row.name for row in report_of(result, PARTS).rows],
                ["1 exception, crasher.c:13"],
                result,
            )

        self.in_each(measure)


if __name__ == "__main__":
    run_unittests()
