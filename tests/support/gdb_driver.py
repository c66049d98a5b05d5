"""Drives a real GDB: in batch, or as a user at a terminal.

    result = run_gdb(["profile start", "run", "profile status"], program("spin7030"), ["1"])
    assert result.status == 0, result

    with GdbTerminal(program("sleeper")) as gdb:
        gdb.command("profile start")
        gdb.send("run")
        gdb.expect("asleep")
        gdb.interrupt()
        gdb.expect_prompt()

GDB starts without any user's or system's configuration, with an empty home folder of its own.
"""
from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

from support import programs

DEFAULT_TIMEOUT_S = 120.0
# After a resize, readline blanks its line and draws it again.
PROMPT = re.compile(r"(?:^|\n)(?: *\(gdb\) +)+$")
_DRAWN_AGAIN = re.compile(r"^(?: *\(gdb\) )+")


def gdb_program() -> str:
    return os.environ.get("TALLY_TEST_GDB", "gdb")


@dataclass(frozen=True)
class GdbResult:
    stdout: str
    stderr: str
    status: int  # negative: the signal that ended GDB
    argv: tuple[str, ...]

    @property
    def output(self) -> str:
        return self.stdout + self.stderr

    def __str__(self) -> str:  # what a failed assertion shows
        return (f"{' '.join(self.argv)}\nstatus {self.status}\n"
                f"--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}")


def _environment(home: str, changes: Mapping[str, str | None] | None) -> dict[str, str]:
    environment = dict(os.environ)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "GDBHISTFILE", "DEBUGINFOD_URLS"):
        environment.pop(name, None)
    environment.update(HOME=home, TERM="dumb", LC_ALL="C.UTF-8", INPUTRC="/dev/null")
    for name, value in (changes or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment


def _argv(wrapper: Sequence[str], batch: bool, pagination: bool, program: str | None,
          args: Sequence[str], plugin: bool, commands: Sequence[str]) -> list[str]:
    settings = ["set confirm off", "set width 0", "set style enabled off",
                # Refused in some containers, and then GDB warns.
                "set disable-randomization off"]
    if not pagination:
        settings += ["set pagination off", "set height 0"]
    argv = [*wrapper, gdb_program(), "-nx", "-nh", "-q"] + (["-batch"] if batch else [])
    for setting in settings:
        argv += ["-iex", setting]
    if plugin:
        argv += ["-ex", f"source {programs.gdb_plugin()}"]
    for command in commands:
        argv += ["-ex", command]
    return argv + (["--args", program, *args] if program else [])


def run_gdb(commands: Sequence[str], program: str | None = None, args: Sequence[str] = (), *,
            plugin: bool = True, wrapper: Sequence[str] = (), pagination: bool = False,
            environment: Mapping[str, str | None] | None = None, cwd: str | None = None,
            before_exec: Callable[[], None] | None = None,
            timeout_s: float = DEFAULT_TIMEOUT_S) -> GdbResult:
    """GDB's batch mode: each command by -ex; its status is that of the last one.

    `wrapper` stands before gdb (seccomp_run eperm); `before_exec` runs in the child (setrlimit).
    An environment value of None removes the variable.
    """
    argv = _argv(wrapper, True, pagination, program, args, plugin, commands)
    # Files, not pipes: a process that GDB leaves behind must not keep us waiting for their end.
    with tempfile.TemporaryDirectory(prefix="gdb-home-") as home, \
            tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                   env=_environment(home, environment), cwd=cwd,
                                   preexec_fn=before_exec, start_new_session=True)
        timed_out = False
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            if process.poll() is None:
                process.kill()  # the kernel ends what it traces with it
                process.wait()
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    result = GdbResult(texts[0], texts[1], process.returncode, tuple(argv))
    if timed_out:
        raise AssertionError(f"GDB did not end in {timeout_s} s\n{result}")
    return result


class GdbTerminal:
    """GDB on a terminal of its own, as a user has it: prompts, Ctrl-C, the inferior's output."""

    def __init__(self, program: str | None = None, args: Sequence[str] = (), *,
                 plugin: bool = True, wrapper: Sequence[str] = (), pagination: bool = False,
                 environment: Mapping[str, str | None] | None = None,
                 before_exec: Callable[[], None] | None = None,
                 rows: int = 50, columns: int = 200,
                 timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.timeout_s = timeout_s
        self.transcript = ""  # all that was shown
        self._unread = ""     # what no expect() has passed yet
        self._home = tempfile.TemporaryDirectory(prefix="gdb-home-")
        self._master, slave = pty.openpty()
        self.resize(rows, columns)

        def own_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            if before_exec:
                before_exec()

        self.process = subprocess.Popen(
            _argv(wrapper, False, pagination, program, args, plugin, []),
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=own_terminal, env=_environment(self._home.name, environment))
        os.close(slave)
        try:
            self.expect_prompt()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "GdbTerminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, line: str) -> None:
        """Types a line. Does not wait."""
        os.write(self._master, line.encode() + b"\n")

    def send_keys(self, keys: str) -> None:
        """Types without a newline: "pro\\t" completes."""
        os.write(self._master, keys.encode())

    def interrupt(self) -> None:
        """Ctrl-C: to whichever process has the terminal."""
        os.write(self._master, b"\x03")

    def expect(self, pattern: str | re.Pattern[str], timeout_s: float | None = None) -> str:
        """Waits until the output that is not passed yet matches; passes up to the match's end and
        returns that."""
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        regex = re.compile(pattern) if isinstance(pattern, str) else pattern
        while True:
            match = regex.search(self._unread)
            if match:
                passed, self._unread = self._unread[:match.end()], self._unread[match.end():]
                return passed
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError(f"no {regex.pattern!r} in:\n{self.transcript}")
            if not self._read(left):
                raise AssertionError(f"GDB ended before {regex.pattern!r}:\n{self.transcript}")

    def expect_prompt(self, timeout_s: float | None = None) -> str:
        """What was shown before the next prompt, without the echo of the line that was sent."""
        shown = PROMPT.sub("", self.expect(PROMPT, timeout_s))
        return _DRAWN_AGAIN.sub("", shown).lstrip("\n")

    def command(self, line: str, timeout_s: float | None = None) -> str:
        """Types a line, waits for the prompt, returns what the command showed."""
        self.send(line)
        shown = self.expect_prompt(timeout_s)
        return shown.removeprefix(line).lstrip("\n")

    def wait(self, timeout_s: float | None = None) -> int:
        """GDB's status, after `quit` was sent; negative: the signal that ended it."""
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        while self.process.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError(f"GDB did not end:\n{self.transcript}")
            if not self._read(min(left, 0.2)):
                self.process.wait(left)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)  # the kernel ends what it traces with it
            self.process.wait()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
        self._home.cleanup()

    def _read(self, timeout_s: float) -> bool:
        """Takes in what there is, for at most timeout_s; False: nobody holds the terminal."""
        if not select.select([self._master], [], [], timeout_s)[0]:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # EIO: the last process has closed it
            return False
        text = data.decode("utf-8", "replace").replace("\r", "")
        self.transcript += text
        self._unread += text
        return bool(data)
