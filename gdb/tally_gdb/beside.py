"""Follows the inferiors that the session samples beside the first sampled one."""

from typing import Callable, Dict, Iterable, Optional, Tuple

import gdb

from . import _abi
from .session import Session

# Reports an event of another process than the first: its kind, the inferior, its pid, and facts.
Report = Callable[..., None]


class Beside:
    """Knows which inferiors run. While the session samples a process, it also samples each other one
    whose resume it learns of."""

    def __init__(self, session: Session, report: Report) -> None:
        self._session = session
        self._report = report
        self._running: Dict[int, int] = {}  # the pids of all inferiors that run, by their numbers
        self._known: Dict[int, int] = {}  # the pids that were reported

    def resumed(self, inferiors: Iterable[gdb.Inferior]) -> None:
        """Reports that these inferiors run, apart from the first sampled one."""
        for each in inferiors:
            if each.pid and self._running.get(each.num) != each.pid:
                self._running[each.num] = each.pid
                self._report_resume(each)

    def report_running(self) -> None:
        """Reports the inferiors that ran before sampling began."""
        for each in gdb.inferiors():
            if each.pid and self._running.get(each.num) == each.pid != self._known.get(each.num):
                self._report_resume(each)

    def _report_resume(self, inferior: gdb.Inferior) -> None:
        if self._session.sampled_pid not in (0, inferior.pid):
            self._known[inferior.num] = inferior.pid
            self._report(_abi.EVENT_RESUMED, inferior, inferior.pid)

    def stopped(self, only: Optional[gdb.Inferior], kind: int, **facts) -> None:
        """Reports a stop of all inferiors or, in non-stop mode, of one."""
        for each in gdb.inferiors():
            if only is None or only.num == each.num:
                pid = self._running.pop(each.num, 0)
                if pid and pid == self._known.get(each.num):
                    self._report(kind, each, pid, **facts)

    def gone(self, number: int) -> Tuple[int, bool]:
        """Forgets the process of the inferior `number`. Returns its pid, 0 if it was not reported,
        and whether it ran."""
        was_running = self._running.pop(number, 0) != 0
        return self._known.pop(number, 0), was_running

    def now_first(self, pid: int) -> Optional[bool]:
        """Forgets a process that the session now regards as the first. Returns whether it runs, or
        None if it is not one of these."""
        for number, known in list(self._known.items()):
            if known == pid:
                del self._known[number]
                return self._running.get(number) == pid
        return None

    def vanished(self) -> Dict[int, int]:
        """Returns the processes that GDB no longer debugs: their pids, by the inferiors' numbers."""
        there = {each.pid for each in gdb.inferiors()}
        return {number: pid for number, pid in self._known.items() if pid not in there}

    def clear(self) -> None:
        """Forgets what was reported, because sampling has ended."""
        self._known.clear()
