"""Drives a debugger by the Debug Adapter Protocol, as an editor does.

    with LldbDap(server) as dap:
        dap.launch(program("spin7030"), ["1", "1"], commands=["profile start"],
                   functions=["checkpoint"])
        dap.wait_event("stopped")
        print(dap.command("profile status"))
        dap.proceed()
        print(dap.wait_exit())
"""
from __future__ import annotations

import json
import os
import select
import subprocess
import time
from types import TracebackType
from typing import Any, BinaryIO, Mapping, Sequence, TypeVar

from support import programs
from support.gdb_driver import gdb_program

_TIMEOUT_S = 60.0

Message = dict[str, Any]


def dap_server(lldb: str) -> str | None:
    """Returns the path of the server that belongs to this LLDB: lldb-dap, or lldb-vscode before
    LLVM 18. Returns None if there is none."""
    folder, name = os.path.split(lldb)
    for server in ("lldb-dap", "lldb-vscode"):
        path = os.path.join(folder, server + name.removeprefix("lldb"))
        if os.access(path, os.X_OK):
            return path
    return None


Session = TypeVar("Session", bound="DapSession")


class DapSession:
    """A session with a server, which `argv` starts."""

    def __init__(self, argv: Sequence[str]) -> None:
        environment: Mapping[str, str] = {**os.environ, "LC_ALL": "C.UTF-8"}
        self._server = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert self._server.stdin is not None and self._server.stdout is not None
        self._to: BinaryIO = self._server.stdin  # type: ignore[assignment]
        self._from: BinaryIO = self._server.stdout  # type: ignore[assignment]
        self._sequence = 0
        self._unread = b""
        self._events: list[Message] = []
        self._responses: dict[int, Message] = {}  # by the request's sequence number
        self.output = ""  # of the console, to which commands print
        self.transcript = ""

    def __enter__(self: Session) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.kill()
        self._server.wait()
        self._to.close()
        self._from.close()

    def start(
        self,
        program: str,
        args: Sequence[str],
        *,
        functions: Sequence[str] = (),
        typed: Sequence[str] = (),
        **options: object,
    ) -> None:
        """Starts the program, with breakpoints at these functions. `typed` are lines that a user
        types into the console before. `options` are further members of the request `launch`."""
        self.request("initialize", adapterID="tally", linesStartAt1=True)
        launch = self.send("launch", program=program, args=list(args), **options)
        self.wait_event("initialized")
        for line in typed:
            self.evaluate(line)
        self.request("setFunctionBreakpoints", breakpoints=[{"name": each} for each in functions])
        done = self.send("configurationDone")
        self.answer(launch)
        self.answer(done)

    def evaluate(self, line: str) -> str:
        """Returns what the server answers to a line that is typed into the editor's console."""
        return str(self.request("evaluate", expression=line, context="repl")["result"])

    def refusal(self, line: str) -> str:
        """Returns the message by which the server refuses such a line."""
        answer = self._response(self.send("evaluate", expression=line, context="repl"))
        if answer["success"]:
            raise AssertionError(f"{line} is not refused: {answer}\n{self.transcript}")
        return str(answer["message"])

    def proceed(self) -> None:
        threads = self.request("threads")["threads"]
        self.request("continue", threadId=threads[0]["id"])

    def wait_exit(self) -> str:
        """Waits until program and exit commands have ended. Returns the console's output."""
        self.wait_event("terminated")
        self.request("disconnect")
        return self.output

    def request(self, name: str, **arguments: object) -> Message:
        return self.answer(self.send(name, **arguments))

    def send(self, name: str, **arguments: object) -> int:
        self._sequence += 1
        text = json.dumps(
            {"seq": self._sequence, "type": "request", "command": name, "arguments": arguments}
        ).encode()
        self.transcript += f"> {text!r}\n"
        self._to.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self._to.flush()
        return self._sequence

    def answer(self, number: int) -> Message:
        message = self._response(number)
        if not message["success"]:
            raise AssertionError(f"{message}\n{self.transcript}")
        body = message.get("body")
        return body if isinstance(body, dict) else {}

    def wait_event(self, name: str) -> Message:
        while True:
            for event in self._events:
                if event["event"] == name:
                    self._events.remove(event)
                    return event
            self._keep(self._next())

    def _response(self, number: int) -> Message:
        while number not in self._responses:
            self._keep(self._next())
        return self._responses.pop(number)

    def _keep(self, message: Message) -> None:
        if message["type"] == "response":
            self._responses[message["request_seq"]] = message
        elif message["type"] == "event":
            self._events.append(message)
            if message["event"] == "output" and message["body"].get("category") == "console":
                self.output += message["body"]["output"]

    def _next(self) -> Message:
        """Returns the next message. Anything else on the channel, such as a stray print, raises
        AssertionError, as does a silence of 60 s."""
        end = time.monotonic() + _TIMEOUT_S
        while True:
            head, found, rest = self._unread.partition(b"\r\n\r\n")
            if found and not head.startswith(b"Content-Length: "):
                raise AssertionError(f"stray output: {self._unread!r}\n{self.transcript}")
            length = int(head.removeprefix(b"Content-Length: ")) if found else 0
            if found and len(rest) >= length:
                self._unread = rest[length:]
                self.transcript += f"< {rest[:length]!r}\n"
                message: Message = json.loads(rest[:length])
                return message
            left = end - time.monotonic()
            ready = left > 0 and select.select([self._from], [], [], left)[0]
            more = os.read(self._from.fileno(), 65536) if ready else b""
            if not more:
                raise AssertionError(f"the server does not answer\n{self.transcript}")
            self._unread += more


class LldbDap(DapSession):
    def __init__(self, server: str) -> None:
        super().__init__([server])

    def launch(
        self,
        program: str,
        args: Sequence[str],
        *,
        commands: Sequence[str],
        functions: Sequence[str] = (),
        exit_commands: Sequence[str] = (),
    ) -> None:
        """Starts the program. `commands` run after the plug-in is loaded and before the launch."""
        self.start(
            program,
            args,
            functions=functions,
            disableASLR=False,
            initCommands=[
                "settings set target.disable-aslr false",
                f"plugin load {programs.lldb_plugin()}",
                *commands,
            ],
            exitCommands=list(exit_commands),
        )

    def command(self, line: str) -> str:
        """Runs a command as if typed into the editor's console, and returns its output."""
        return self.evaluate("`" + line).removeprefix(f"(lldb) {line}\n")


class GdbDap(DapSession):
    """GDB 14 and later are servers themselves. `options` are those that start one."""

    def __init__(self) -> None:
        self.options = ["--interpreter=dap", "-iex", f"source {programs.gdb_plugin()}"]
        quiet = ["-nx", "-q", "-iex", "set disable-randomization off"]
        super().__init__([gdb_program(), *quiet, *self.options])
