"""Does in GDB what the session asks for."""

import os
import re
from typing import List, Optional, Sequence, Tuple, Union

import gdb

from . import modules, source_view
from .console import FAULTS
from .interrupter import Interrupter, all_stacks
from .preload import Preload, load
from .region import Region
from .session import Refused, Session
from .signals import Signals
from .temporary import Temporary

_OF_ANOTHER = "the address belongs to another inferior than the selected one"


class Actions:
    """What changes GDB for sampling, and undoes that. The members are for GdbPerformer."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.signals = Signals()
        self.preload = Preload()
        self.interrupter = Interrupter(session, self.signals, lambda: GdbPerformer(session, self))
        self.region = Region(session)
        self.temporary = Temporary()
        self.number = 0  # the inferior whose target was reported last
        self.calling = False  # whether a call into the program, for loading the agent, is running
        self.loaded_late: Sequence[int] = ()  # signals of an agent that was not preloaded

    def sampled(self) -> Optional[gdb.Inferior]:
        """Returns the inferior of the sampled process. The processes of two remote targets, or of a
        remote target and this machine, may have the same id."""
        pid = self._session.sampled_pid
        those = [each for each in gdb.inferiors() if pid and each.pid == pid]
        return next((each for each in those if each.num == self.number), next(iter(those), None))

    def program_replaced(self) -> None:
        """Handles an exec. A pending signal of the old program's agent would end the new program,
        which has no handler for it. A preloaded agent removes such a signal itself."""
        try:
            self.signals.hide(self.loaded_late, deliver=False)
        except FAULTS:
            pass


class GdbPerformer:
    """Does what the session asks for while it handles a command or an event: the methods are the
    functions of tally_front, which tally.h describes. It has many, because each is one thing that
    GDB does."""

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

    def _elsewhere(self) -> bool:
        """Returns whether the selected inferior is not the sampled one."""
        if not self._session.sampled_pid:
            return False
        sampled = self._actions.sampled()
        return sampled is None or gdb.selected_inferior().num != sampled.num

    def _refuse_elsewhere(self, reason: str = "another inferior is selected") -> None:
        if self._elsewhere():
            raise Refused(0, reason)

    def set_breakpoint(self, file: str, at: int) -> None:
        if not file:
            self._refuse_elsewhere(_OF_ANOTHER)
        source_view.set_breakpoint(file, at)

    def list_source(self, file: str, at: int) -> None:
        if not file:
            self._refuse_elsewhere(_OF_ANOTHER)
        source_view.list_source(file, at)

    def disassemble(self, ranges: Sequence[Tuple[int, int]]) -> List[Tuple[int, str]]:
        """Returns the address and text of each instruction of the ranges."""
        self._refuse_elsewhere()
        return source_view.instructions(ranges)

    def break_once(self, entries: Sequence[int]) -> int:
        """Sets temporary breakpoints. Returns how many are set."""
        self._refuse_elsewhere()
        return self._actions.temporary.begin(entries)

    def stacks(self) -> List[Tuple[int, Sequence[int]]]:
        """Returns the tid and the pcs of each thread, of the selected one first."""
        self._refuse_elsewhere()
        return [(tid, pcs) for tid, _, pcs in all_stacks(True)]

    def modules(self) -> Union[str, List[Tuple[int, str, str]]]:
        """Returns a core file's path, or the address of a section, its name and the path of each
        loaded file."""
        self._refuse_elsewhere()
        return modules.listing()

    def memory(self, ranges: Sequence[Tuple[int, int]]) -> List[Optional[bytes]]:
        """Returns the bytes of each range; None if some are unreadable."""
        return modules.memory(ranges)

    def preload(self, library: str, variable: str, signals: Sequence[int]) -> None:
        self._actions.signals.hide(signals, deliver=True)
        self._actions.preload.begin(library, variable)

    def end_preload(self) -> None:
        self._actions.preload.end()

    def load(self, library: str, argument: str, signals: Sequence[int]) -> None:
        self._actions.signals.hide(signals, deliver=True)
        self._actions.loaded_late = list(signals)
        self._actions.calling = True
        try:
            load(self._session, library, argument)
        finally:
            self._actions.calling = False

    def interrupt(self, signal: int, with_stacks: int) -> None:
        self._actions.interrupter.begin(signal, bool(with_stacks))

    def end_interrupt(self) -> None:
        self._actions.interrupter.end()

    def restore_signals(self) -> None:
        self._actions.loaded_late = ()
        self._actions.signals.restore()

    def halt(self) -> None:
        self._actions.interrupter.halt()

    def watch_region(self, first: str, second: str) -> None:
        self._actions.region.begin([word for word in (first, second) if word])

    def end_region(self) -> None:
        self._actions.region.end()

    def symbols(self, addresses: Sequence[int]) -> List[List[Tuple[str, str, int]]]:
        """Returns the functions, files and lines at each run-time address."""
        return [self._symbol(address) for address in addresses]

    def _symbol(self, address: int) -> List[Tuple[str, str, int]]:
        try:
            if self._elsewhere():
                return []
            source = gdb.find_pc_line(address)
            block = gdb.block_for_pc(address)
            file, line = source.symtab.filename if source.symtab else "", source.line
            frames: List[Tuple[str, str, int]] = []
            while block is not None and not block.is_static and not block.is_global:
                if block.function is not None:  # an inlined function is a block of its caller
                    file = file if line else block.function.symtab.filename
                    frames.append((block.function.print_name, file, line))
                    line = 0  # GDB's Python does not give the line of an inlined function's call
                block = block.superblock
            if frames:
                return frames
            text = gdb.execute(f"info symbol {address:#x}", to_string=True) or ""
        except FAULTS:
            return []
        name = re.match(r"(.+?)(?: \+ \d+)? in section ", text)
        return [(name.group(1), "", 0)] if name else []
