"""Samples a process by interrupting it periodically within a running `continue`.

The interrupter sets a signal catchpoint whose condition calls a Python function. GDB stops the
process and evaluates the condition, which records where the threads are. GDB then resumes the
process, all within the command that the user waits for. In a local process each thread gets its own
signal, which GDB does not pass on to the program. A remote process is interrupted in the way that
Ctrl-C does.
"""

import signal
import sys
import threading
import time
from functools import partial
from typing import Callable, Iterable, List, Optional, Sequence, Tuple

import gdb

from . import _abi
from .console import FAULTS
from .posted import post
from .session import Refused, Session, TallyError
from .signals import Signals, catch_signal, is_passed, signal_name

_FUNCTION = "_tally_tick"
_ON_ITS_WAY = 0.1  # seconds in which an interrupt that was already sent arrives
if sys.version_info >= (3, 8):
    _ALL_SIGNALS: Iterable[int] = signal.valid_signals()
else:  # pthread_sigmask() then ignores the numbers that are not valid
    _ALL_SIGNALS = range(1, signal.NSIG)
_SIGINT_IS_PASSED = "SIGINT is passed to the program: enter `handle SIGINT nopass` first"


def start_quietly(thread: threading.Thread) -> None:
    """Starts a thread that blocks all signals, so that GDB's own threads receive GDB's signals."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL_SIGNALS)  # the thread inherits the mask
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _pcs(with_callers: bool) -> List[int]:
    """Returns the selected thread's pcs, leaf first. A caller's pc is its return address - 1."""
    frame: Optional[gdb.Frame] = gdb.newest_frame()
    if not with_callers:
        return [frame.pc()] if frame is not None else []
    pcs: List[int] = []
    returned_to = False  # whether the previous (inner) frame was called from this one
    try:
        while frame is not None and len(pcs) < _abi.LIMIT_STACK_FRAMES:
            kind = frame.type()
            if kind != gdb.INLINE_FRAME:  # the library finds inlined frames itself
                called = returned_to and kind != gdb.SIGTRAMP_FRAME
                if called and frame.pc() == 0:
                    break  # a guess of GDB's in code without unwind information
                pcs.append(frame.pc() - 1 if called else frame.pc())
                returned_to = kind != gdb.SIGTRAMP_FRAME
            frame = frame.older()
    except gdb.error:
        pass  # the stack ends where its memory cannot be read
    return pcs


def all_stacks(with_callers: bool) -> List[Tuple[int, str, List[int]]]:
    """Returns (tid, name, pcs) of each thread of the selected inferior, which is stopped; the
    selected thread is the first. The selected thread and frame stay the same."""
    selected = gdb.selected_thread()
    if selected is None:
        return []
    frame = gdb.selected_frame()
    out = []
    try:
        first = selected.num
        threads = gdb.selected_inferior().threads()
        for each in sorted(threads, key=lambda thread: thread.num != first):
            each.switch()
            out.append((each.ptid[1] or each.num, each.name or "", _pcs(with_callers)))
    finally:
        selected.switch()
        if frame.is_valid():
            frame.select()
    return out


class _Tick(gdb.Function):
    """The catchpoint's condition. It is always false, so that the process resumes even after an
    error."""

    def __init__(self, owner: "Interrupter") -> None:
        self._owner = owner
        super().__init__(_FUNCTION)

    def invoke(self) -> int:
        try:
            self._owner.tick()
        except KeyboardInterrupt:
            self._owner.stop_for_user()
        except (*FAULTS, TallyError):
            pass
        if not gdb.selected_inferior().pid:  # GDB itself only says that there are no registers
            gdb.write("profile: the target was lost while its stack was read\n", gdb.STDERR)
        return 0


class Interrupter:
    def __init__(self, session: Session, signals: Signals, performer: Callable[[], object]):
        self._session = session
        self._signals = signals
        self._performer = performer
        self._function: Optional[_Tick] = None
        self._remote = False
        self._with_callers = True
        self._thread: Optional[threading.Thread] = None
        self._over = threading.Event()
        self._running = threading.Event()
        self._resumes = 0  # how often the process was resumed
        self._changed = threading.Event()  # set after a change that ends a wait of the thread
        self._asked_by_user = False
        self._user_lock = threading.Lock()  # held to change _asked_by_user and _running together
        self._name = ""  # the signal's name
        self.number = 0  # the catchpoint's number; 0 if there is none

    def begin(self, signal: int, with_callers: bool) -> None:
        """Begins to interrupt the process by the signal or, if that is 0, as Ctrl-C does."""
        self.end()
        try:
            self._begin(signal, with_callers)
        except (*FAULTS, Refused):
            self.end()
            raise

    def _begin(self, signal: int, with_callers: bool) -> None:
        if gdb.parameter("non-stop"):
            raise Refused(0, "GDB cannot interrupt a whole process in non-stop mode")
        self._remote = signal == 0
        if self._remote and is_passed("SIGINT"):
            raise Refused(0, _SIGINT_IS_PASSED)
        self._with_callers = with_callers
        if self._function is None:
            self._function = _Tick(self)
        self._signals.hide([signal] if signal else [], deliver=False)
        self._name = "SIGINT" if self._remote else signal_name(signal)
        self._catch()
        self._over.clear()
        self._thread = threading.Thread(target=self._run, name="tally-ticker", daemon=True)
        start_quietly(self._thread)

    def end_thread(self) -> None:
        self._session.watch_sigint(False)
        self._over.set()
        self._running.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with self._user_lock:
            self._running.clear()
            self._asked_by_user = False

    def end(self) -> None:
        """Ends the interrupts and deletes the catchpoint. A second call does nothing."""
        self.end_thread()
        if self.number:
            try:
                gdb.execute(f"delete {self.number}", to_string=True)
            except gdb.error:
                pass  # the user has already deleted it
            self.number = 0

    def resumed(self) -> None:
        if not self.number:
            return
        ours = next((each for each in gdb.breakpoints() or () if each.number == self.number), None)
        if ours is None:  # `delete` without arguments is meant for the user's own breakpoints
            self._catch()
        elif not ours.enabled:  # without the catchpoint an interrupt would stop for the user
            gdb.write(
                f"profile: catchpoint {self.number} is disabled: nothing is sampled\n", gdb.STDERR
            )
            return
        if self._remote:
            self._session.watch_sigint(True)
        if not self._running.is_set():  # otherwise the same run is reported again
            self._resumes += 1
        self._running.set()
        self._changed.set()

    def stopped(self) -> None:
        with self._user_lock:
            self._running.clear()
            asked, self._asked_by_user = self._asked_by_user, False
        self._session.watch_sigint(False)
        if asked:
            self._enable("enable")

    def tick(self) -> None:
        thread = gdb.selected_thread()
        if thread is None:  # the thread has just ended
            if self._remote:
                self._session.tick_withdraw()
            return
        whose = self._session.tick_take(0 if self._remote else thread.ptid[1])
        if whose == _abi.TICK_THEIRS and self._remote:
            self.stop_for_user()
        if whose != _abi.TICK_OURS:
            return
        self._session.tick(self._performer(), self._seen(thread))

    def halt(self) -> None:
        """Stops the running process for the user, as Ctrl-C does."""
        if is_passed("SIGINT"):
            raise Refused(0, _SIGINT_IS_PASSED)
        if self.number and self._thread is not None and self._thread.is_alive():
            self.stop_for_user()
        else:
            self._signals.sigint.send(self._session.sampled_pid)

    def stop_for_user(self) -> None:
        """Stops the process after Ctrl-C. The catchpoint is disabled first, so that GDB reports the
        stop in the usual way. Any thread may call this."""
        with self._user_lock:
            if self._asked_by_user or not self._running.is_set():
                return  # once is enough, or the process has just stopped
            self._asked_by_user = True
        self._changed.set()
        post(self._disable_for_user)

    def _disable_for_user(self) -> None:
        if self._asked_by_user:  # otherwise the process has stopped meanwhile
            self._enable("disable")

    def _catch(self) -> None:
        self.number = catch_signal(self._name, f"${_FUNCTION}()")

    def _enable(self, word: str) -> None:
        try:
            gdb.execute(f"{word} {self.number}", to_string=True)
        except gdb.error:
            pass

    def _seen(self, thread: gdb.InferiorThread) -> List[Tuple[int, str, List[int]]]:
        """Returns (tid, name, pcs) of each thread to record: only of `thread` if a signal stopped
        it, or of all threads of a remote process, which stops as a whole."""
        if not self._remote or len(gdb.selected_inferior().threads()) < 2:
            return [(thread.ptid[1], thread.name or "", _pcs(self._with_callers))]
        return all_stacks(self._with_callers)

    # --- the ticker's thread, which may not call GDB, but post() to it
    def _run(self) -> None:
        while True:
            self._running.wait()
            resumes = self._resumes
            if not self._wait(self._session.tick_wait_seconds(), resumes):
                return
            if self._asked_by_user:
                # A tick's interrupt may already be on its way; a second one would stop the process
                # twice.
                self._over.wait(_ON_ITS_WAY)
                with self._user_lock:
                    # Otherwise the process has stopped, and may run again.
                    if self._asked_by_user and self._running.is_set():
                        self._running.clear()
                        post(self._interrupt_for_user)
                if self._over.is_set():  # end_thread() has set both events
                    return
                continue
            if self._resumes != resumes:
                continue  # the wait begins at the resume
            sent = self._session.tick_interrupt() if self._running.is_set() else 0
            if sent == _abi.TICK_GIVEN_UP:
                post(self._signals.restore)
                return
            if sent and self._remote:
                post(partial(self._ask, resumes))

    def _wait(self, seconds: float, resumes: int) -> bool:
        """Waits for `seconds`. Returns early after Ctrl-C, and once `_resumes` differs from
        `resumes`, because a wait that began in an earlier run may be long after a slow stop.
        Returns False if the thread is to end."""
        end = time.monotonic() + seconds
        while True:
            self._changed.clear()
            if self._asked_by_user or self._over.is_set() or self._resumes != resumes:
                break
            if self._remote and self._session.sigint_seen():
                self.stop_for_user()
            left = end - time.monotonic()
            if left <= 0:
                break
            self._changed.wait(min(left, _abi.LIMIT_SIGINT_MS * 1e-3))
        return not self._over.is_set()

    def _ask(self, resumes: int) -> None:
        """Interrupts the remote process, unless it has stopped since this was posted. It may be
        another process that runs now, whose clock does not know of the request."""
        if self._resumes != resumes:
            return
        if self._running.is_set() and not self._asked_by_user and self._interrupt():
            return
        self._session.tick_withdraw()

    def _interrupt(self) -> bool:
        try:
            gdb.execute("interrupt", to_string=True)
            return True
        except FAULTS:
            return False

    def _interrupt_for_user(self) -> None:
        if not self._asked_by_user:
            return  # the process has already stopped
        if self._remote:
            self._interrupt()
        else:
            self._signals.sigint.send(self._session.sampled_pid)
