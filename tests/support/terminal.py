"""The common base of the debugger drivers: batch runs, and debuggers with their own terminals.

Each debugger starts with its own empty home directory, and without any user's configuration.
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
from typing import Any, Callable, Mapping, Sequence

DEFAULT_TIMEOUT_S = 600.0
# Escape sequences that line editing libraries send even to a dumb terminal.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class DebuggerResult:
    stdout: str
    stderr: str
    status: int  # if negative, the signal that ended the debugger
    argv: tuple[str, ...]

    @property
    def output(self) -> str:
        return self.stdout + self.stderr

    def __str__(self) -> str:  # shown by a failed assertion
        return (
            f"{' '.join(self.argv)}\nstatus {self.status}\n"
            f"--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"
        )


def environment_with(home: str, changes: Mapping[str, str | None] | None) -> dict[str, str]:
    """Returns this process's environment without the variables that affect a debugger, with
    `changes` applied. A value of None removes the variable."""
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
    """Returns what is written to a terminal until all processes have closed it."""
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
    """Waits for the process, and kills it after `timeout_s`. Returns whether it ended in time."""
    try:
        process.wait(timeout_s)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            process.kill()  # the kernel then kills its tracees, too
            process.wait()


def _wait_reading(
    process: subprocess.Popen[bytes], master: int, timeout_s: float, shown: list[bytes]
) -> bool:
    """Does the same as _wait(), and appends the terminal's output to `shown` meanwhile."""
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


def run_batch(
    name: str,
    argv: Sequence[str],
    *,
    one_stream: bool = False,
    environment: Mapping[str, str | None] | None = None,
    cwd: str | None = None,
    before_exec: Callable[[], None] | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> DebuggerResult:
    """Runs a debugger without input, until it ends.

    With `one_stream`, stdout of the result holds both streams, in the order they were written.
    """
    timed_in = True
    with tempfile.TemporaryDirectory(
        prefix=f"{name}-home-"
    ) as home, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        options: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "env": environment_with(home, environment),
            "cwd": cwd,
            "preexec_fn": before_exec,
            "start_new_session": True,
        }
        if one_stream:
            # A debugger writes each line to a terminal at once; files it would buffer separately.
            master, slave = _terminal(50, 1000)  # wide enough that no line is wrapped
            tty.setraw(slave)
            process = subprocess.Popen(argv, stdout=slave, stderr=slave, **options)
            os.close(slave)
            shown: list[bytes] = []
            try:
                timed_in = _wait_reading(process, master, timeout_s, shown)
            finally:
                os.close(master)
            texts = [
                _ESCAPES.sub("", b"".join(shown).decode("utf-8", "replace")).replace("\r", ""),
                "",
            ]
        else:
            # Files, not pipes, so that a process left behind cannot delay the end of the streams.
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
    """A debugger as a user sees it, with prompts, Ctrl-C and the inferior's output."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        prompt: str,
        *,
        environment: Mapping[str, str | None] | None = None,
        before_exec: Callable[[], None] | None = None,
        rows: int = 50,
        columns: int = 200,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        self.timeout_s = timeout_s
        self.transcript = ""  # all output, without escape sequences
        self.raw = ""  # all output, with escape sequences such as colours
        self._unread = ""  # the output that no expect() has consumed yet
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._name = name.upper()
        # After a resize, readline blanks its line and prints the prompt again.
        self._prompt = re.compile(rf"(?:^|\n)(?: *{re.escape(prompt)} +)+$")
        self._drawn_again = re.compile(rf"^(?: *{re.escape(prompt)} )+")
        self._home = tempfile.TemporaryDirectory(prefix=f"{name}-home-")
        self._master, slave = _terminal(rows, columns)

        def own_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            if before_exec:
                before_exec()

        self.process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=own_terminal,
            env=environment_with(self._home.name, environment),
        )
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
        """Returns whether the terminal echoes input: the debugger does not read keys yet."""
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def send(self, line: str) -> None:
        """Types a line, and does not wait."""
        os.write(self._master, line.encode() + b"\n")

    def send_keys(self, keys: str) -> None:
        """Types keys without a newline, such as "pro\\t" for completion."""
        os.write(self._master, keys.encode())

    def interrupt(self) -> None:
        """Types Ctrl-C, which signals the terminal's foreground process group."""
        os.write(self._master, b"\x03")

    def expect(self, pattern: str | re.Pattern[str], timeout_s: float | None = None) -> str:
        """Waits until the output not yet consumed matches `pattern`. Consumes it up to the end of
        the match, and returns what was consumed."""
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        regex = re.compile(pattern) if isinstance(pattern, str) else pattern
        while True:
            match = regex.search(self._unread)
            if match:
                passed, self._unread = self._unread[: match.end()], self._unread[match.end() :]
                return passed
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError(f"no {regex.pattern!r} in:\n{self.transcript}")
            if not self._read(left):
                raise AssertionError(
                    f"{self._name} ended before {regex.pattern!r}:\n" f"{self.transcript}"
                )

    def expect_prompt(self, timeout_s: float | None = None) -> str:
        """Waits for the prompt, and returns the output before it, including echoed input."""
        shown = self._prompt.sub("", self.expect(self._prompt, timeout_s))
        return self._drawn_again.sub("", shown).lstrip("\n")

    def command(self, line: str, timeout_s: float | None = None) -> str:
        """Types a line, waits for the prompt, and returns what the command printed."""
        self.send(line)
        shown = self.expect_prompt(timeout_s)
        # LLDB draws its prompt twice if it tells of a process while a command ends. The second
        # prompt has no echo of the line before it, and does not answer the line.
        while line not in shown and not shown.strip():
            shown = self.expect_prompt(timeout_s)
        return shown.removeprefix(line).lstrip("\n")

    def wait(self, timeout_s: float | None = None) -> int:
        """Returns the debugger's status after `quit` was sent; if negative, the signal that ended
        it."""
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
            self.process.send_signal(signal.SIGKILL)  # the kernel then kills its tracees, too
            self.process.wait()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
        self._home.cleanup()

    def _read(self, timeout_s: float) -> bool:
        """Reads the available output, waiting at most timeout_s. Returns False if no process has
        the terminal open any more."""
        if not select.select([self._master], [], [], timeout_s)[0]:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # EIO: the last process has closed it
            return False
        text = self._decoder.decode(data)
        self.raw += text
        # An escape sequence may arrive in two pieces: remove them from the whole text.
        self.transcript = _ESCAPES.sub("", self.transcript + text.replace("\r", ""))
        self._unread = _ESCAPES.sub("", self._unread + text.replace("\r", ""))
        return bool(data)
