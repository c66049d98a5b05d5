"""Performs the session's requests in GDB."""

import os
import re
from typing import List, Optional, Sequence

import gdb

from . import _abi, modules, source_view
from .console import FAULTS, reason_of
from .interrupter import Interrupter, all_stacks
from .preload import Preload, load
from .region import Region
from .session import Performer, Session
from .signals import Signals
from .temporary import Temporary


class Actions:
    """Makes the changes in GDB that sampling needs, and undoes them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._signals = Signals()
        self.sigint = self._signals.sigint
        self._preload = Preload()
        self.interrupter = Interrupter(session, self._signals, lambda: GdbPerformer(session, self))
        self.region = Region(session)
        self.temporary = Temporary()
        self.number = 0  # the inferior whose target was reported last
        self.calling = False  # whether a call into the program, for loading the agent, is running
        self._loaded_late: Sequence[int] = ()  # signals of an agent that was not preloaded

    def sampled(self) -> Optional[gdb.Inferior]:
        """Returns the inferior of the sampled process. The processes of two remote targets, or of a
        remote target and this machine, may have the same id."""
        pid = self._session.sampled_pid
        those = [each for each in gdb.inferiors() if pid and each.pid == pid]
        return next((each for each in those if each.num == self.number), next(iter(those), None))

    def act(self, request: int, words: Sequence[str], signals: Sequence[int]) -> Optional[str]:
        """Performs a request; see Performer.act()."""
        try:
            if request == _abi.REQUEST_PRELOAD:
                self._signals.hide(signals, deliver=True)
                return self._preload.begin(words[0], words[1])
            elif request == _abi.REQUEST_PRELOAD_END:
                self._preload.end()
            elif request == _abi.REQUEST_LOAD:
                self._signals.hide(signals, deliver=True)
                self._loaded_late = list(signals)
                self.calling = True
                try:
                    return load(self._session, words)
                finally:
                    self.calling = False
            elif request == _abi.REQUEST_INTERRUPT:
                return self.interrupter.begin(signals, words[0] == "stacks")
            elif request == _abi.REQUEST_INTERRUPT_END:
                self.interrupter.end()
            elif request == _abi.REQUEST_HALT:
                return self.interrupter.halt()
            elif request == _abi.REQUEST_REGION:
                return self.region.begin([word for word in words if word])
            elif request == _abi.REQUEST_REGION_END:
                self.region.end()
            elif request == _abi.REQUEST_SIGNALS_RESTORE:
                self._loaded_late = ()
                self._signals.restore()
            elif request == _abi.REQUEST_BREAK:
                return source_view.set_breakpoint(words)
            elif request == _abi.REQUEST_LIST:
                return source_view.list_source(words)
            else:
                return None
        except FAULTS as error:
            return reason_of(error)
        return ""

    def program_replaced(self) -> None:
        """Handles an exec. A pending signal of the old program's agent would end the new program,
        which has no handler for it. A preloaded agent removes such a signal itself."""
        try:
            self._signals.hide(self._loaded_late, deliver=False)
        except FAULTS:
            pass


class GdbPerformer(Performer):
    """Answers the session's requests while it handles a command or an event."""

    def __init__(self, session: Session, actions: Actions, shows_progress: bool = True) -> None:
        self._session = session
        self._actions = actions
        self._shows_progress = shows_progress
        self._shown = False

    def progress(self, text: str) -> None:
        if self._shows_progress and os.isatty(1) and gdb.parameter("confirm"):
            gdb.write(f"\r{text}")
            gdb.flush()
            self._shown = True

    def end(self) -> None:
        if self._shown:
            gdb.write("\r\x1b[K")
            self._shown = False

    def act(self, request: int, words: Sequence[str], signals: Sequence[int]) -> Optional[str]:
        if (
            request in (_abi.REQUEST_BREAK, _abi.REQUEST_LIST)
            and not words[0]
            and self._elsewhere()
        ):
            return "the address belongs to another inferior than the selected one"
        return self._actions.act(request, words, signals)

    def _elsewhere(self) -> bool:
        """Returns whether the selected inferior is not the sampled one."""
        if not self._session.sampled_pid:
            return False
        sampled = self._actions.sampled()
        return sampled is None or gdb.selected_inferior().num != sampled.num

    def instructions(self, ranges: Sequence[int]) -> str:
        if self._elsewhere():
            return "another inferior is selected"
        try:
            return source_view.instructions(ranges)
        except FAULTS as error:
            return reason_of(error)

    def break_once(self, entries: Sequence[int]) -> str:
        if self._elsewhere():
            return "another inferior is selected"
        try:
            return self._actions.temporary.begin(entries)
        except FAULTS as error:
            return reason_of(error)

    def stacks(self) -> str:
        if self._elsewhere():
            return "another inferior is selected"
        try:
            return "".join(
                f"{tid} {' '.join(f'{pc:x}' for pc in pcs)}\n" for tid, _, pcs in all_stacks(True)
            )
        except FAULTS as error:
            return reason_of(error)

    def modules(self) -> str:
        if self._elsewhere():
            return "another inferior is selected"
        try:
            return modules.listing()
        except FAULTS as error:
            return reason_of(error)

    def memory(self, ranges: Sequence[int]) -> List[Optional[bytes]]:
        return modules.memory(ranges)

    def symbol(self, address: int) -> str:
        try:
            if self._elsewhere():
                return ""
            source = gdb.find_pc_line(address)
            block = gdb.block_for_pc(address)
            file, line, frames = source.symtab.filename if source.symtab else "", source.line, []
            while block is not None and not block.is_static and not block.is_global:
                if block.function is not None:  # an inlined function is a block of its caller
                    file = file if line else block.function.symtab.filename
                    frames.append(f"{block.function.print_name}\t{file}\t{line}")
                    line = 0  # GDB's Python does not give the line of an inlined function's call
                block = block.superblock
            if frames:
                return "\n".join(frames)
            text = gdb.execute(f"info symbol {address:#x}", to_string=True) or ""
        except FAULTS:
            return ""
        name = re.match(r"(.+?)(?: \+ \d+)? in section ", text)
        return f"{name.group(1)}\t\t0" if name else ""
