"""Reports to the session what happens to the inferior."""

import atexit
import os
import re
import signal
from typing import Any, Callable, Dict, Optional, Tuple

import gdb

from . import _abi
from .beside import Beside
from .console import FAULTS, printable
from .limit import Limit
from .passed_stops import PassedStops
from .performer import Actions, GdbPerformer
from .session import Event, Session, TallyError

_WATCHPOINTS = {
    getattr(gdb, name)
    for name in (
        "BP_WATCHPOINT",
        "BP_HARDWARE_WATCHPOINT",
        "BP_READ_WATCHPOINT",
        "BP_ACCESS_WATCHPOINT",
    )
    if hasattr(gdb, name)
}
_CATCHPOINT = getattr(gdb, "BP_CATCHPOINT", None)
# The signals up to SIGTERM that Linux numbers alike on all processors.
_SAME_EVERYWHERE = set(range(1, 16)) - {signal.SIGBUS, signal.SIGUSR1, signal.SIGUSR2}

Facts = Dict[str, Any]  # keyword arguments of Session.event()


def _target(inferior: gdb.Inferior) -> Tuple[int, int]:
    """Returns the inferior's tally_target_kind and its process id (0 if there is no process)."""
    connection = getattr(inferior, "connection", None)
    kind = connection.type if connection is not None else "native"
    if kind == "core":
        return _abi.TARGET_CORE, inferior.pid
    if kind != "native":
        return _abi.TARGET_REMOTE, inferior.pid
    return (_abi.TARGET_NATIVE if inferior.pid else _abi.TARGET_NONE), inferior.pid


def _stop_location() -> Tuple[str, int]:
    try:
        location = gdb.newest_frame().find_sal()
        return (location.symtab.filename if location.symtab else ""), location.line
    except (*FAULTS, AttributeError):
        return "", 0


def _info_program() -> str:
    try:
        return gdb.execute("info program", to_string=True) or ""
    except FAULTS:
        return ""


def _hit_counts() -> Dict[int, int]:
    return {each.number: each.hit_count for each in gdb.breakpoints() or ()}


def _stopper(event, counts_before: Dict[int, int], own: int):
    """Returns the user's breakpoint, watchpoint or catchpoint that stopped the process, or None.
    `own` is the number of the interrupter's catchpoint."""
    hit = [
        each for each in getattr(event, "breakpoints", ()) if each.number > 0 and each.number != own
    ]  # the numbers of a region's breakpoints are negative
    # The event lists all breakpoints at the address. If the condition of one is false, GDB does not
    # increase its hit count.
    true = [each for each in hit if each.hit_count != counts_before.get(each.number, 0)]
    return next(iter(true or hit), None)


def _state(process: str) -> str:
    """Returns the letter of the state in /proc/PROCESS/stat. It is "X" if the process is gone."""
    try:
        with open(f"/proc/{process}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return "X"


def _is_alive(pid: int) -> bool:
    return _state(str(pid)) not in "ZX"


def _is_stopping(inferior: gdb.Inferior) -> bool:
    """Returns whether a thread has stopped, and GDB does not know it yet."""
    try:
        threads = [each.ptid[1] for each in inferior.threads() if each.is_running()]
    except FAULTS:
        return True
    return any(_state(f"{inferior.pid}/task/{tid}") == "t" for tid in threads)


def _process(field: str, pid: int) -> int:
    """Returns the process that `field` of /proc/PID/status names, 0 if there is none."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
            return next((int(line.split()[1]) for line in status if line.startswith(field)), 0)
    except OSError:
        return 0


def _tracer(pid: int) -> int:
    return _process("TracerPid:", pid)


def _program(inferior: gdb.Inferior) -> Facts:
    """Returns the path of the inferior's program, and its command line."""
    try:
        program = inferior.progspace.filename or ""
        arguments = getattr(inferior, "arguments", None)
        if arguments is None:
            arguments = gdb.parameter("args")
        return {"program": program, "command": f"{program} {arguments}".strip()}
    except (*FAULTS, AttributeError):
        return {}


def _departure(pid: int) -> int:
    """Returns the kind of event for a process that GDB no longer debugs, without its exit status."""
    return _abi.EVENT_DETACHED if _is_alive(pid) else _abi.EVENT_KILLED


def _exit_signal(numbers_are_ours: bool) -> str:
    """Returns the name of the signal that ended the program, "" if GDB knows none. GDB gives its
    number on the target; some processors number a few signals differently."""
    try:
        number = int(gdb.convenience_variable("_exitsignal"))
    except (TypeError, ValueError):
        return ""
    try:
        ours = signal.Signals(number)
    except ValueError:
        return f"signal {number}"
    return ours.name if numbers_are_ours or ours in _SAME_EVERYWHERE else f"signal {number}"


def _ending(event: Any, pid: int, was_running: bool = True) -> Tuple[int, Facts]:
    """Returns the kind of event that ended the process or its debugging, and its facts."""
    if was_running and hasattr(event, "exit_code"):
        return _abi.EVENT_EXITED, {"number": event.exit_code}
    if not was_running or _is_alive(pid):  # GDB's $_exitcode may be of an earlier run
        return _departure(pid), {}
    return _abi.EVENT_SIGNALLED, {"text": _exit_signal(True) or "a signal"}


def _remote_ending(event: Any, was_running: bool) -> Tuple[int, Facts]:
    """Returns what _ending() does for a process of another machine. A process of this machine may
    have its id, and says nothing about it: whether it was killed, detached from, or lost with the
    connection is unknown."""
    if was_running and hasattr(event, "exit_code"):
        return _abi.EVENT_EXITED, {"number": event.exit_code}
    name = _exit_signal(False) if was_running else ""
    return (_abi.EVENT_SIGNALLED, {"text": name}) if name else (_abi.EVENT_TARGET, {})


class Watcher:
    """Translates GDB's events into events of the session. No error may propagate to GDB."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._actions = Actions(session)
        self._passed_stops = PassedStops(session)
        self._beside = Beside(session, self._push_beside)
        self._limit = Limit(session, self._on_limit)
        self._is_remote = False  # whether the process that was reported last is not of this machine
        self._running_pid = 0  # the process whose resume was reported last; 0 if it has stopped
        self._hit_counts: Dict[int, int] = {}  # the breakpoints' hit counts at the last resume
        self._called_pid = 0  # the process that runs a function called from the prompt; 0 if none
        self._child_follows = False  # whether GDB left the process at a fork, to follow its child
        self._warned_of = 0  # the other checkpoint's process about which the user was warned
        self._recorded = 0  # the process about whose recording the user was warned
        self._has_new = False  # whether there is an inferior whose first resume was not looked at

    def connect(self) -> Dict[str, Callable]:
        """Returns the handlers of events, some of which GDB may be delivering."""
        self._passed_stops.connect()
        handlers: Dict[str, Callable] = {
            "cont": self._on_cont,
            "new_inferior": self._on_new_inferior,
            "stop": self._on_stop,
            "exited": self._on_exited,
            "inferior_call": self._on_call,
            "before_prompt": self._on_prompt,
            "clear_objfiles": self._on_exec,
        }
        for name, handler in handlers.items():
            getattr(gdb.events, name).connect(handler)
        removed = getattr(gdb.events, "connection_removed", None)
        if removed is not None:
            removed.connect(self._on_prompt)
        exiting = getattr(gdb.events, "gdb_exiting", None)
        if exiting is not None:
            exiting.connect(lambda _event: self._close())
        # Older GDBs lack the event gdb_exiting, and a reader thread must not outlive the Python
        # interpreter.
        atexit.register(self._close)
        return handlers

    def _close(self) -> None:
        self._actions.interrupter.end_thread()
        self._limit.stopped()
        self._session.close()

    def performer(self, shows_progress: bool = True) -> GdbPerformer:
        return GdbPerformer(self._session, self._actions, shows_progress)

    def sync(self) -> None:
        """Reports the current target to the session. Call this before each command."""
        self._is_behind(warn=True)
        self._push(_abi.EVENT_TARGET, **_program(self._inferior()))

    def report_running(self) -> None:
        """Reports the resume again if the process is running. Call this after each command, because
        a command may begin sampling while the process runs in the background (`continue &`)."""
        inferior = self._inferior()
        if self._running_pid and self._running_pid == inferior.pid:
            self._push(_abi.EVENT_RESUMED, **_program(inferior))
        self._beside.report_running()

    def _sampled(self) -> Optional[gdb.Inferior]:
        return self._actions.sampled()

    def _is_behind(self, warn: bool = False) -> bool:
        """Returns whether the sampled process is stopped at a checkpoint that GDB has left.
        `restart` puts the process of another checkpoint into the inferior, and the sampled process
        stays stopped until GDB returns to it. With `warn`, warns the user once for each process."""
        pid = self._session.sampled_pid
        is_there = self._sampled() is not None or self._is_remote
        if not pid or is_there or _tracer(pid) != os.getpid():
            self._warned_of = 0
            return False
        other = gdb.selected_inferior().pid
        if warn and other and other != self._warned_of:
            self._warned_of = other
            gdb.write(
                f"profile: process {other} is not sampled: sampling stays with process {pid}, "
                "which was left at a checkpoint\n",
                gdb.STDERR,
            )
        return True

    def _inferior(self) -> gdb.Inferior:
        """Returns the inferior whose events are reported: the sampled one if it exists, otherwise
        the selected one."""
        return self._sampled() or gdb.selected_inferior()

    def _push(
        self, kind: int, target: Optional[int] = None, pid: Optional[int] = None, **facts
    ) -> None:
        if not self._session.is_open or self._actions.calling:
            return
        if self._is_behind():
            if kind != _abi.EVENT_TARGET:
                return
            target, pid = _abi.TARGET_NATIVE, self._session.sampled_pid
        if target is None or pid is None:
            try:
                inferior = self._inferior()
                now_target, now_pid = _target(inferior)
            except FAULTS:
                return
            if now_pid:
                self._actions.number = inferior.num
                self._is_remote = now_target == _abi.TARGET_REMOTE
            target = now_target if target is None else target
            pid = now_pid if pid is None else pid
        self._report(kind, target, pid, **facts)
        if kind == _abi.EVENT_RESUMED:
            self._actions.interrupter.resumed()
            self._limit.resumed()
            if pid == self._session.sampled_pid:
                self._passed_stops.resumed(self._inferior().num)
        elif kind != _abi.EVENT_TARGET or not pid:
            self._actions.interrupter.stopped()
            self._limit.stopped()
            self._actions.signals.sigint.stopped(
                by_sigint=kind == _abi.EVENT_SIGNAL and facts.get("text") == "SIGINT",
                by_catchpoint=facts.get("number", 0) if kind == _abi.EVENT_CATCHPOINT else 0,
                is_alive=_abi.EVENT_TARGET < kind < _abi.EVENT_EXITED,
            )
            self._passed_stops.stopped()

    def _push_beside(self, kind: int, inferior: gdb.Inferior, pid: int, **facts) -> None:
        """Reports an event of a process that is sampled beside the first."""
        if not self._session.is_open or self._actions.calling:
            return
        if _target(inferior)[0] != _abi.TARGET_REMOTE:
            facts = {**_program(inferior), **facts}
            self._report(kind, _abi.TARGET_NATIVE, pid, beside=True, **facts)

    def _on_limit(self) -> None:
        """Ends sampling if the time of `profile start --for` is over. An interrupt of a process
        that is just stopping would stop it again later."""
        sampled = self._sampled()
        if sampled is not None and (self._is_remote or not _is_stopping(sampled)):
            self._show(self._session.limit_reached)

    def _show(self, perform: Callable[[GdbPerformer], str]) -> None:
        """Prints the text that `perform` returns, or its error."""
        performer = self.performer()
        try:
            text = perform(performer)
        except TallyError as error:
            performer.end()
            gdb.write(printable(f"profile: {error}\n"), gdb.STDERR)
        except (*FAULTS, KeyboardInterrupt):
            performer.end()
        else:
            performer.end()
            if text:
                gdb.write(printable(text))

    def _report(self, kind: int, target: int, pid: int, **facts) -> None:
        event = Event(kind, target, pid, **facts)
        self._show(lambda performer: self._session.event(performer, event))
        first = self._session.sampled_pid
        if not first:
            self._beside.clear()
            return
        # The first process may have ended. Then one of those beside it is now the first.
        runs = self._beside.now_first(first)
        if runs is not None:
            self._running_pid = first if runs else 0

    def _on_new_inferior(self, _event) -> None:
        self._has_new = True

    def _on_cont(self, event) -> None:
        try:
            thread = getattr(event, "inferior_thread", None)  # None unless GDB is in non-stop mode
            if (
                thread is None
                and not self._has_new  # a child that GDB keeps may run beside its parent at once
                and 0 != self._running_pid == gdb.selected_inferior().pid
            ):
                return  # a fast path of the test below, as a region's breakpoints resume very often
            self._has_new = False
            if self._is_behind(warn=True):
                return
            inferior = self._inferior()
            resumed = thread.inferior if thread is not None else gdb.selected_inferior()
            together = thread is None and gdb.parameter("schedule-multiple")
            # It is equal at a resume within a step, or after a breakpoint whose condition is false.
            if (resumed.num == inferior.num or together) and inferior.pid != self._running_pid:
                self._child_follows = False
                self._running_pid = inferior.pid
                self._hit_counts = _hit_counts()
                self._push(_abi.EVENT_RESUMED, **_program(inferior))
                self._warn_of_recording(inferior.pid)
            elif not self._running_pid:
                self._hit_counts = _hit_counts()
            if not self._is_followed(resumed):
                self._beside.resumed(gdb.inferiors() if together else (resumed,))
        except FAULTS:
            pass

    def _warn_of_recording(self, pid: int) -> None:
        """Warns the user, once for each process, that GDB stops it at each instruction."""
        if pid != self._session.sampled_pid or pid == self._recorded:
            return
        recording = gdb.current_recording()
        if recording is not None and recording.method == "full":
            self._recorded = pid
            gdb.write(
                f"profile: GDB records process {pid} and stops it at each instruction (record full): "
                "nearly all of its time is that of these stops, until `record stop`\n",
                gdb.STDERR,
            )

    def _is_followed(self, inferior: gdb.Inferior) -> bool:
        """Returns whether GDB is about to leave the sampled process for this child of it."""
        return (
            gdb.parameter("follow-fork-mode") == "child"
            and bool(gdb.parameter("detach-on-fork"))
            and not self._is_remote
            and 0 != self._session.sampled_pid == _process("PPid:", inferior.pid)
        )

    def _on_call(self, event) -> None:
        """Reports a resume and a stop for a function called from the prompt, for which GDB sends no
        such events. A call in a breakpoint's condition is part of a run that has not ended."""
        try:
            if self._is_behind():
                return
            inferior = self._inferior()
            meant = inferior.num == gdb.selected_inferior().num
        except FAULTS:
            return
        if isinstance(event, gdb.InferiorCallPreEvent):
            if not self._running_pid and meant:
                self._called_pid = self._running_pid = inferior.pid
                self._push(_abi.EVENT_RESUMED, **_program(inferior))
        elif self._called_pid:
            if self._running_pid == self._called_pid:  # no breakpoint or signal stopped it
                self._running_pid = 0
                self._push(_abi.EVENT_OTHER, text="call")
            self._called_pid = 0

    def _on_stop(self, event) -> None:
        thread = getattr(event, "inferior_thread", None)  # None if all threads have stopped
        try:
            behind = self._is_behind()
            only = None if thread is None else thread.inferior
            is_first = not behind and (only is None or only.num == self._inferior().num)
            kind, facts = self._reason(event)
            if is_first:
                self._running_pid = 0
                self._push(kind, **facts)
            self._beside.stopped(only, kind, **facts)
        except FAULTS:
            pass

    def _reason(self, event) -> Tuple[int, Facts]:
        """Returns the kind of a stop and its facts."""
        file, line = _stop_location()
        location: Facts = {"file": file, "line": line}
        if isinstance(event, gdb.SignalEvent):
            return _abi.EVENT_SIGNAL, {"text": event.stop_signal, **location}
        stopper = _stopper(event, self._hit_counts, self._actions.interrupter.number)
        if stopper is None:
            # Only the various kinds of steps remain. `finish` ends at a temporary breakpoint of
            # GDB's own, which is deleted by now.
            stepped = re.search(r"being stepped|has since been deleted", _info_program())
            return _abi.EVENT_STEP if stepped else _abi.EVENT_OTHER, location
        kind = _abi.EVENT_BREAKPOINT
        if stopper.type in _WATCHPOINTS:
            kind = _abi.EVENT_WATCHPOINT
        elif stopper.type == _CATCHPOINT:
            kind = _abi.EVENT_CATCHPOINT
        return kind, {"number": stopper.number, **location}

    def _on_exited(self, event) -> None:
        self._actions.temporary.process_gone(event.inferior.num)
        if self._goes_on(event):
            return
        beside, was_running = self._beside.gone(event.inferior.num)
        if beside:
            kind, facts = _ending(event, beside, was_running)
            self._push_beside(kind, event.inferior, beside, **facts)
            return
        sampled = self._session.sampled_pid
        there = self._sampled()
        if there is not None and there.num != event.inferior.num:
            return  # another one has exited
        pid = event.inferior.pid or sampled
        was_running = pid == self._running_pid
        if was_running:
            self._running_pid = 0
        if pid == sampled:
            self._actions.region.process_gone()
        if pid != sampled:
            if not sampled:  # the session now restores what it changed for the process
                self._push(_abi.EVENT_TARGET, target=_abi.TARGET_NONE, pid=0)
            return  # if there is a sampled process, another one has exited
        if self._is_remote:
            kind, facts = _remote_ending(event, was_running)
        elif was_running and _is_alive(pid) and gdb.parameter("follow-fork-mode") == "child":
            self._child_follows = True
            kind, facts = _abi.EVENT_SIGNALLED, {"text": "following its child"}
        else:
            kind, facts = _ending(event, pid, was_running)
        self._push(kind, target=_abi.TARGET_NONE, pid=0, **facts)

    def _goes_on(self, event) -> bool:
        """Returns whether the sampled process goes on in another inferior, which GDB has just made
        for an exec with `set follow-exec-mode new`."""
        pid = event.inferior.pid
        return (
            gdb.parameter("follow-exec-mode") == "new"
            and not hasattr(event, "exit_code")
            and not self._is_remote
            and 0 != self._session.sampled_pid == pid == self._running_pid
            and any(each.pid == 0 for each in gdb.inferiors())
            and _is_alive(pid)
        )

    def _on_exec(self, event) -> None:
        """Handles an exec. Other commands clear the symbols too, but not while the program runs:
        `load`, for example, if the firmware's file has changed. Then the addresses that were sampled
        belong to another program than those that follow, though the target is still the same."""
        if self._child_follows:
            # GDB leaves the parent of a vfork at the child's exec, and does not repeat the child's
            # resume, which it reported before. While it leaves, the child has no program space, and
            # GDB 13 aborts if it is asked for that.
            self._child_follows = False
            child = gdb.selected_inferior()
            self._running_pid = child.pid
            self._push(_abi.EVENT_RESUMED, **_program(child))
        if self._running_pid:
            self._actions.program_replaced()
            self._passed_stops.process_replaced()
            self._actions.region.process_gone()
            self._actions.temporary.process_gone(gdb.selected_inferior().num)
        elif self._is_remote:
            sampled = self._sampled()
            if sampled is not None and sampled.progspace == event.progspace:
                text = "its program was replaced"
                self._push(_abi.EVENT_TARGET, target=_abi.TARGET_NONE, pid=0, text=text)

    def _on_prompt(self, *_event) -> None:
        try:
            self._look_at_prompt()
        except (*FAULTS, KeyboardInterrupt):  # a Ctrl-C that came just then
            pass

    def _look_at_prompt(self) -> None:
        pid = self._session.sampled_pid
        for number, beside in self._beside.vanished().items():
            if _tracer(beside) != os.getpid():  # otherwise it is left at a checkpoint
                self._beside.gone(number)
                self._push_beside(_departure(beside), gdb.selected_inferior(), beside)
        if pid and self._sampled() is None and not self._is_behind(warn=True):
            self._running_pid = 0
            kind = _abi.EVENT_TARGET if self._is_remote else _departure(pid)
            self._push(kind, target=_abi.TARGET_NONE, pid=0)
