"""What drivers of debuggers share: a run in batch, and a debugger on a terminal of its own.

Debuggers start with an empty home folder of their own and without anybody's configuration.
"""
from __future__ import annotations

import codecs
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
import tty
from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

DEFAULT_TIMEOUT_S = 120.0
# What editing libraries send a terminal that can do nothing: it is no text.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class DebuggerResult:
    stdout: str
    stderr: str
    status: int  # negative: the signal that ended the debugger
    argv: tuple[str, ...]

    @property
    def output(self) -> str:
        return self.stdout + self.stderr

    def __str__(self) -> str:  # what a failed assertion shows
        return (f"{' '.join(self.argv)}\nstatus {self.status}\n"
                f"--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}")


def environment_with(home: str, changes: Mapping[str, str | None] | None) -> dict[str, str]:
    """Ours, without what steers a debugger. A change to None removes the variable."""
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


def read_to_end(master: int) -> bytes:
    """What is written to a terminal until nobody has it open any more."""
    out = b""
    try:
        while data := os.read(master, 65536):
            out += data
    except OSError:  # EIO
        pass
    return out


def _terminal(rows: int, columns: int) -> tuple[int, int]:
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    return master, slave


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Whether it ended in time; it has ended either way."""
    try:
        process.wait(timeout_s)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            process.kill()  # the kernel ends what it traces with it
            process.wait()


def _wait_reading(process: subprocess.Popen[bytes], master: int, timeout_s: float,
                  shown: list[bytes]) -> bool:
    """As _wait(), taking in what the terminal is shown."""
    deadline = time.monotonic() + timeout_s
    while True:
        ended = process.poll() is not None
        ready = select.select([master], [], [], 0 if ended else 0.05)[0]
        try:
            data = os.read(master, 65536) if ready else b""
        except OSError:  # EIO: the last process has closed it
            return _wait(process, max(deadline - time.monotonic(), 0))
        shown.append(data)
        if ended and not data:
            return True
        if time.monotonic() > deadline:
            return _wait(process, 0)


def run_batch(name: str, argv: Sequence[str], *, one_stream: bool = False,
              environment: Mapping[str, str | None] | None = None, cwd: str | None = None,
              before_exec: Callable[[], None] | None = None,
              timeout_s: float = DEFAULT_TIMEOUT_S) -> DebuggerResult:
    """Runs a debugger that reads nothing from us.

    `one_stream`: stdout gets both streams, in the order in which they were written.
    """
    timed_in = True
    with tempfile.TemporaryDirectory(prefix=f"{name}-home-") as home, \
            tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        options = {"stdin": subprocess.DEVNULL, "env": environment_with(home, environment),
                   "cwd": cwd, "preexec_fn": before_exec, "start_new_session": True}
        if one_stream:
            # To a terminal a debugger writes each line at once, to a file each stream by itself.
            master, slave = _terminal(50, 1000)  # no line is wrapped
            tty.setraw(slave)
            process = subprocess.Popen(argv, stdout=slave, stderr=slave, **options)
            os.close(slave)
            shown: list[bytes] = []
            try:
                timed_in = _wait_reading(process, master, timeout_s, shown)
            finally:
                os.close(master)
            texts = [_ESCAPES.sub("", b"".join(shown).decode("utf-8", "replace")).replace("\r", ""),
                     ""]
        else:
            # Files, not pipes: no process that is left behind keeps us waiting for their end.
            process = subprocess.Popen(argv, stdout=stdout, stderr=stderr, **options)
            timed_in = _wait(process, timeout_s)
            texts = []
            for file in (stdout, stderr):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
    result = DebuggerResult(texts[0], texts[1], process.returncode, tuple(argv))
    if not timed_in:
        raise AssertionError(f"{name.upper()} did not end in {timeout_s} s\n{result}")
    return result


class Terminal:
    """A debugger as a user has it: prompts, Ctrl-C, the inferior's output."""

    def __init__(self, name: str, argv: Sequence[str], prompt: str, *,
                 environment: Mapping[str, str | None] | None = None,
                 before_exec: Callable[[], None] | None = None,
                 rows: int = 50, columns: int = 200,
                 timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.timeout_s = timeout_s
        self.transcript = ""  # all that was shown
        self.raw = ""         # the same as it came, with what colours it
        self._unread = ""     # what no expect() has passed yet
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._name = name.upper()
        # After a resize, readline blanks its line and draws it again.
        self._prompt = re.compile(rf"(?:^|\n)(?: *{re.escape(prompt)} +)+$")
        self._drawn_again = re.compile(rf"^(?: *{re.escape(prompt)} )+")
        self._home = tempfile.TemporaryDirectory(prefix=f"{name}-home-")
        self._master, slave = _terminal(rows, columns)

        def own_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            if before_exec:
                before_exec()

        self.process = subprocess.Popen(
            argv, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=own_terminal, env=environment_with(self._home.name, environment))
        os.close(slave)
        try:
            self.expect_prompt()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def echoes(self) -> bool:
        """Whether the terminal itself shows what is typed: the debugger does not read keys yet."""
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

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
                raise AssertionError(f"{self._name} ended before {regex.pattern!r}:\n"
                                     f"{self.transcript}")

    def expect_prompt(self, timeout_s: float | None = None) -> str:
        """What was shown before the next prompt, without the echo of the line that was sent."""
        shown = self._prompt.sub("", self.expect(self._prompt, timeout_s))
        return self._drawn_again.sub("", shown).lstrip("\n")

    def command(self, line: str, timeout_s: float | None = None) -> str:
        """Types a line, waits for the prompt, returns what the command showed."""
        self.send(line)
        shown = self.expect_prompt(timeout_s)
        return shown.removeprefix(line).lstrip("\n")

    def wait(self, timeout_s: float | None = None) -> int:
        """The debugger's status, after `quit` was sent; negative: the signal that ended it."""
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        while self.process.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError(f"{self._name} did not end:\n{self.transcript}")
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
        text = self._decoder.decode(data)
        self.raw += text
        # One may come in two pieces: taken out of the whole.
        self.transcript = _ESCAPES.sub("", self.transcript + text.replace("\r", ""))
        self._unread = _ESCAPES.sub("", self._unread + text.replace("\r", ""))
        return bool(data)
