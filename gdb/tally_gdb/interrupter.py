"""Interrupts the process in a running `continue`, and looks where it stands.

A catchpoint whose condition is a function of ours: GDB stops the process, asks the function, and
goes on, all inside of the command that the user waits for. Of a process of this machine each thread
gets a signal of its own, which it never sees; a remote one is interrupted as Ctrl-C does it.
"""

import os
import signal
import threading
import time
from typing import Callable, List, Optional, Sequence, Tuple

import gdb

from . import _abi
from .console import FAULTS
from .session import Performer, Session, TallyError
from .signals import Signals, is_passed, signal_name

_FUNCTION = "_tally_tick"
_MOST_FRAMES = 128
_ON_ITS_WAY = 0.1  # seconds
_LONGEST_LOOK_AWAY = 0.05


def _pcs(with_callers: bool) -> List[int]:
    """Of the selected thread, leaf first; callers as return address - 1."""
    frame: Optional[gdb.Frame] = gdb.newest_frame()
    if not with_callers:
        return [frame.pc()] if frame is not None else []
    pcs: List[int] = []
    returned_to = False  # the frame before was called from this one
    try:
        while frame is not None and len(pcs) < _MOST_FRAMES:
            kind = frame.type()
            if kind != gdb.INLINE_FRAME:  # the library tells those by itself
                called = returned_to and kind != gdb.SIGTRAMP_FRAME
                pcs.append(frame.pc() - 1 if called else frame.pc())
                returned_to = kind != gdb.SIGTRAMP_FRAME
            frame = frame.older()
    except gdb.error:
        pass  # memory that cannot be read: the stack ends here
    return pcs


class _Tick(gdb.Function):
    """The catchpoint's condition. Whatever happens in it, the process goes on."""

    def __init__(self, owner: "Interrupter") -> None:
        self._owner = owner
        super().__init__(_FUNCTION)

    def invoke(self) -> int:  # type: ignore[override]
        try:
            self._owner.tick()
        except KeyboardInterrupt:
            self._owner.stop_for_user()
        except (*FAULTS, TallyError):
            pass
        return 0


class Interrupter:
    def __init__(self, session: Session, signals: Signals, performer: Callable[[], Performer]):
        self._session = session
        self._signals = signals
        self._performer = performer
        self._function: Optional[_Tick] = None
        self._remote = False
        self._with_callers = True
        self._thread: Optional[threading.Thread] = None
        self._over = threading.Event()
        self._running = threading.Event()
        self._asked_by_user = False
        self._name = ""  # of the signal
        self.number = 0  # of the catchpoint; 0: none

    def begin(self, numbers: Sequence[int], with_callers: bool) -> str:
        """"" or why not."""
        self.end()
        try:
            refusal = self._begin(numbers, with_callers)
        except FAULTS as error:
            refusal = str(error) or "GDB does not allow it"
        if refusal:
            self.end()
        return refusal

    def _begin(self, numbers: Sequence[int], with_callers: bool) -> str:
        if gdb.parameter("non-stop"):
            return "in non-stop mode a process is not interrupted as a whole"
        self._remote = not numbers
        if self._remote and is_passed("SIGINT"):
            return "SIGINT is passed to the program: `handle SIGINT nopass` first"
        self._with_callers = with_callers
        if self._function is None:
            self._function = _Tick(self)
        self._signals.hide(numbers, deliver=False)
        self._name = "SIGINT" if self._remote else signal_name(numbers[0])
        self._catch()
        self._over.clear()
        self._thread = threading.Thread(target=self._run, name="tally-ticker", daemon=True)
        # The debugger's signals must find the debugger's own threads.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return ""

    def end_thread(self) -> None:
        self._session.watch_sigint(False)
        self._asked_by_user = False
        self._over.set()
        self._running.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._running.clear()

    def end(self) -> None:
        """Harmless when done twice."""
        self.end_thread()
        if self.number:
            try:
                gdb.execute(f"delete {self.number}", to_string=True)
            except gdb.error:
                pass  # the user has deleted it
            self.number = 0

    def resumed(self) -> None:
        if not self.number:
            return
        ours = next((each for each in gdb.breakpoints() or () if each.number == self.number), None)
        if ours is None:  # `delete` means the user's own
            self._catch()
        elif not ours.enabled:  # a stop of ours would be one for the user
            gdb.write(f"profile: catchpoint {self.number} is disabled: nothing is sampled\n",
                      gdb.STDERR)
            return
        if self._remote:
            self._session.watch_sigint(True)
        self._running.set()

    def stopped(self) -> None:
        self._running.clear()
        self._session.watch_sigint(False)
        if self._asked_by_user:
            self._asked_by_user = False
            self._enable("enable")

    def tick(self) -> None:
        thread = gdb.selected_thread()
        whose = self._session.tick_take(0 if self._remote else thread.ptid[1])
        if whose == _abi.TICK_THEIRS and self._remote:
            self.stop_for_user()
        if whose != _abi.TICK_OURS:
            return
        self._session.tick(self._performer(), self._seen(thread))

    def stop_for_user(self) -> None:
        """After Ctrl-C. The process is stopped without the catchpoint, so that GDB tells of it as it
        always does. Any thread."""
        if not self._asked_by_user:
            self._asked_by_user = True
            gdb.post_event(self._disable_for_user)

    def _disable_for_user(self) -> None:
        if self._asked_by_user:  # else it has stopped meanwhile
            self._enable("disable")

    def _catch(self) -> None:
        before = gdb.convenience_variable("bpnum")
        gdb.execute(f"catch signal {self._name}", to_string=True)
        self.number = int(gdb.convenience_variable("bpnum"))
        gdb.execute(f"condition {self.number} ${_FUNCTION}()", to_string=True)
        gdb.set_convenience_variable("bpnum", before)

    def _enable(self, word: str) -> None:
        try:
            gdb.execute(f"{word} {self.number}", to_string=True)
        except gdb.error:
            pass

    def _seen(self, thread: gdb.InferiorThread) -> List[Tuple[int, str, List[int]]]:
        """A signal stops one thread, the others still run; a remote process stops as a whole."""
        threads = gdb.selected_inferior().threads() if self._remote else ()
        if len(threads) < 2:
            return [(thread.ptid[1], thread.name or "", _pcs(self._with_callers))]
        out = []
        try:
            for each in threads:
                each.switch()
                out.append((each.ptid[1] or each.num, each.name or "", _pcs(self._with_callers)))
        finally:
            thread.switch()
        return out

    # --- the thread: it never touches gdb, but for post_event
    def _run(self) -> None:
        while True:
            self._running.wait()
            if not self._wait(self._session.tick_wait_seconds()):
                return
            if self._asked_by_user:
                # An interrupt of ours may be on its way, and two would stop it twice.
                if not self._over.wait(_ON_ITS_WAY) and self._running.is_set():
                    gdb.post_event(self._interrupt_for_user)
                self._running.clear()
                if self._over.is_set():  # end_thread() had set both
                    return
                continue
            sent = self._session.tick_interrupt() if self._running.is_set() else 0
            if sent == _abi.TICK_GIVEN_UP:
                gdb.post_event(self._signals.restore)
                return
            if sent and self._remote:
                gdb.post_event(self._ask)

    def _wait(self, seconds: float) -> bool:
        """Not longer than until Ctrl-C. False: it is all over."""
        end = time.monotonic() + seconds
        while not self._asked_by_user and not self._over.is_set():
            if self._remote and self._session.sigint_seen():
                self.stop_for_user()
            left = end - time.monotonic()
            if left <= 0:
                break
            self._over.wait(min(left, _LONGEST_LOOK_AWAY))
        return not self._over.is_set()

    def _ask(self) -> None:
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
            return  # it has stopped
        if self._remote:
            self._interrupt()
            return
        try:
            os.kill(self._session.sampled_pid, signal.SIGINT)
        except OSError:
            pass
