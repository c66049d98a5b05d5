"""What happens to the inferior, told to the session."""

import atexit
import os
import re
import signal
from typing import Optional, Tuple

import gdb

from . import _abi
from .session import Performer, Session, TallyError

_WATCHPOINTS = {
    getattr(gdb, name)
    for name in ("BP_WATCHPOINT", "BP_HARDWARE_WATCHPOINT", "BP_READ_WATCHPOINT",
                 "BP_ACCESS_WATCHPOINT")
    if hasattr(gdb, name)
}


class GdbPerformer(Performer):
    """Answers the session's requests while a command runs."""

    def __init__(self) -> None:
        self._shown = False

    def progress(self, text: str) -> None:
        if os.isatty(1) and gdb.parameter("confirm"):
            gdb.write(f"\r{text}")
            gdb.flush()
            self._shown = True

    def end(self) -> None:
        if self._shown:
            gdb.write("\r\x1b[K")
            self._shown = False

    def symbol(self, address: int) -> str:
        try:
            place = gdb.find_pc_line(address)
            block = gdb.block_for_pc(address)
            while block is not None and block.function is None:
                block = block.superblock
            file = place.symtab.filename if place.symtab else ""
            if block is not None:
                return f"{block.function.print_name}\t{file}\t{place.line}"
            told = gdb.execute(f"info symbol {address:#x}", to_string=True) or ""
        except (gdb.error, RuntimeError):
            return ""
        name = re.match(r"(.+?)(?: \+ \d+)? in section ", told)
        return f"{name.group(1)}\t\t0" if name else ""


def _target() -> Tuple[int, int]:
    """What is debugged: a tally_target_kind and the process id (0: none)."""
    inferior = gdb.selected_inferior()
    connection = getattr(inferior, "connection", None)
    kind = connection.type if connection is not None else "native"
    if kind == "core":
        return _abi.TARGET_CORE, inferior.pid
    if kind != "native":
        return _abi.TARGET_REMOTE, inferior.pid
    return (_abi.TARGET_NATIVE if inferior.pid else _abi.TARGET_NONE), inferior.pid


def _place() -> Tuple[str, int]:
    try:
        place = gdb.newest_frame().find_sal()
        return (place.symtab.filename if place.symtab else ""), place.line
    except (gdb.error, RuntimeError, AttributeError):
        return "", 0


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def _command_line() -> str:
    try:
        inferior = gdb.selected_inferior()
        program = inferior.progspace.filename or ""
        arguments = getattr(inferior, "arguments", None)
        if arguments is None:
            arguments = gdb.parameter("args")
        return f"{program} {arguments}".strip()
    except (gdb.error, RuntimeError, AttributeError):
        return ""


class Watcher:
    """GDB's events, as the session's. Nothing that goes wrong here may reach GDB."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._running_pid = 0  # of the process that was heard to run on; 0: none
        self._last_pid = 0

    def connect(self) -> None:
        gdb.events.cont.connect(self._on_cont)
        gdb.events.stop.connect(self._on_stop)
        gdb.events.exited.connect(self._on_exited)
        gdb.events.before_prompt.connect(self._on_prompt)
        for name in ("connection_removed",):
            registry = getattr(gdb.events, name, None)
            if registry is not None:
                registry.connect(self._on_prompt)
        exiting = getattr(gdb.events, "gdb_exiting", None)
        if exiting is not None:
            exiting.connect(lambda _event: self._session.close())
        # GDB without that event; and a reader thread must never outlive the interpreter.
        atexit.register(self._session.close)

    def sync(self) -> None:
        """Tells the session what is there now; before each command."""
        self._notice_call()
        target, pid = _target()
        self._push(_abi.EVENT_TARGET, target=target, pid=pid, command=_command_line())

    def _push(self, kind: int, target: Optional[int] = None, pid: Optional[int] = None,
              **facts) -> None:
        if not self._session.is_open:
            return
        performer = GdbPerformer()
        try:
            if target is None or pid is None:
                now_target, now_pid = _target()
                target = now_target if target is None else target
                pid = now_pid if pid is None else pid
            text = self._session.event(performer, kind, target, pid, **facts)
        except TallyError as error:
            performer.end()
            gdb.write(f"profile: {error}\n", gdb.STDERR)
        except (gdb.error, RuntimeError, KeyboardInterrupt):
            performer.end()
        else:
            performer.end()
            if text:
                gdb.write(text)

    def _on_cont(self, event) -> None:
        try:
            thread = getattr(event, "inferior_thread", None)
            inferior = thread.inferior if thread is not None else gdb.selected_inferior()
            if inferior.num != gdb.selected_inferior().num:
                return
            self._running_pid = self._last_pid = inferior.pid
            self._push(_abi.EVENT_RESUMED, command=_command_line())
        except (gdb.error, RuntimeError):
            pass

    def _on_stop(self, event) -> None:
        self._running_pid = 0
        file, line = _place()
        place = {"file": file, "line": line}
        if isinstance(event, gdb.BreakpointEvent):
            breakpoint = event.breakpoints[0]
            watch = breakpoint.type in _WATCHPOINTS
            self._push(_abi.EVENT_WATCHPOINT if watch else _abi.EVENT_BREAKPOINT,
                       number=breakpoint.number, **place)
        elif isinstance(event, gdb.SignalEvent):
            self._push(_abi.EVENT_SIGNAL, text=event.stop_signal, **place)
        else:
            self._push_plain_stop(place)

    def _push_plain_stop(self, place) -> None:
        # GDB's Python says no more than "stopped" of catchpoints, internal events and steps.
        try:
            told = gdb.execute("info program", to_string=True) or ""
        except (gdb.error, RuntimeError):
            told = ""
        hit = re.search(r"stopped at breakpoint (\d+)", told)
        if hit:
            self._push(_abi.EVENT_CATCHPOINT, number=int(hit.group(1)), **place)
        elif "being stepped" in told:
            self._push(_abi.EVENT_STEP, **place)
        else:
            self._push(_abi.EVENT_OTHER, **place)

    def _on_exited(self, event) -> None:
        pid = self._last_pid
        was_running, self._running_pid = self._running_pid != 0, 0
        facts = {"target": _abi.TARGET_NONE, "pid": 0}
        if not was_running:
            # It left at the prompt. GDB's $_exitcode may be of an earlier run.
            self._push(_abi.EVENT_DETACHED if _is_alive(pid) else _abi.EVENT_KILLED, **facts)
        elif hasattr(event, "exit_code"):
            self._push(_abi.EVENT_EXITED, number=event.exit_code, **facts)
        else:
            number = gdb.convenience_variable("_exitsignal")
            try:
                name = signal.Signals(int(number)).name
            except (TypeError, ValueError):
                name = "a signal"
            self._push(_abi.EVENT_SIGNALLED, text=name, **facts)

    def _notice_call(self) -> None:
        """A function called from the prompt resumes without a stop that GDB would tell of."""
        if not self._running_pid:
            return
        try:
            thread = gdb.selected_thread()
            if thread is None or not thread.is_valid() or not thread.is_stopped():
                return
        except (gdb.error, RuntimeError):
            return
        self._running_pid = 0
        self._push(_abi.EVENT_OTHER, text="call")

    def _on_prompt(self, *_event) -> None:
        self._notice_call()
        try:
            gone = self._last_pid and gdb.selected_inferior().pid == 0
        except (gdb.error, RuntimeError):
            return
        if gone:
            pid, self._last_pid = self._last_pid, 0
            self._push(_abi.EVENT_DETACHED if _is_alive(pid) else _abi.EVENT_KILLED,
                       target=_abi.TARGET_NONE, pid=0)
