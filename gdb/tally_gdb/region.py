"""Breakpoints that the user does not see, where a region begins and where it may end.

Their stop() tells the session and lets the program go on, all inside of the command that the user
waits for. It runs at each pass, so it asks GDB for as little as it can: what has a price there is
the frame.
"""

import re
from typing import Dict, List, Sequence, Set

import gdb

from . import _abi
from .console import FAULTS
from .session import Session

# What leaves a function but its return, by the names that the program or its libraries have.
_LEAVES = {
    "__cxa_begin_catch": _abi.HIT_CAUGHT,
    "longjmp": _abi.HIT_JUMPED,
    "_longjmp": _abi.HIT_JUMPED,
    "siglongjmp": _abi.HIT_JUMPED,
    "__longjmp_chk": _abi.HIT_JUMPED,
}
_X86_64 = "i386:x86-64"


class _Place(gdb.Breakpoint):
    def __init__(self, owner: "Region", spec: str, kind: int, address: int = 0) -> None:
        super().__init__(spec, internal=True)
        self.silent = True
        self._owner = owner
        self._kind = kind
        self._address = address

    def stop(self) -> bool:
        try:
            self._owner.hit(self._kind, self._address)
        except KeyboardInterrupt:
            return True  # it was meant for the program
        except FAULTS:
            pass  # of a process that is gone, or of memory that cannot be read: no hit
        return False


def _register(name: str) -> int:
    return int(gdb.parse_and_eval(f"${name}")) & (1 << 64) - 1


def _functions_at(pc: int) -> List[gdb.Block]:
    """Their blocks, innermost first; all but the last one are inlined."""
    out, block = [], gdb.block_for_pc(pc)
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            out.append(block)
        block = block.superblock
    return out


def _is_entry(pc: int, word: str) -> bool:
    """Whether it is the first instruction of the function that `word` names, which may begin with a
    copy of another that is inlined."""
    functions = _functions_at(pc)
    if not functions:  # nothing is known but a symbol
        told = gdb.execute(f"info symbol {pc:#x}", to_string=True) or ""
        return re.match(r"[^ ]+ in section ", told) is not None
    whole = functions[-1]
    name = word.partition("(")[0].strip("'\"").rpartition(":")[2]
    return whole.start == pc and (len(functions) == 1 or name in whole.function.print_name)


def _is_inlined(pc: int, word: str) -> bool:
    return len(_functions_at(pc)) > 1 and not _is_entry(pc, word)


class Region:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._places: List[_Place] = []
        self._leaves: Dict[str, _Place] = {}
        self._leave_pcs: Set[int] = set()
        self._returns: Dict[int, _Place] = {}
        self._is_function = False
        self._word = ""
        self._at_entry = False
        self._hit = _abi.Hit(size=0)
        self._hit.size = _abi.size_of(self._hit)
        gdb.events.new_objfile.connect(self._on_new_objfile)

    def begin(self, words: Sequence[str]) -> str:
        """In place of the region before; "" or why not."""
        made: List[_Place] = []
        try:
            for kind, word in zip((_abi.HIT_FIRST, _abi.HIT_SECOND), words):
                rest, found = gdb.decode_line(word)  # refuses what a breakpoint would wait for
                if rest:
                    raise gdb.error(f"not a place: '{word}' (quote what has blanks)")
                made.append(_Place(self, word, kind))
            if len(words) == 1 and all(_is_inlined(each.pc, word) for each in found or ()):
                raise gdb.error(f"all copies of {words[0]} are inlined, and nothing returns from "
                                "them: name two places")
        except FAULTS as error:
            _delete(made)
            return str(error) or "GDB does not allow it"
        self.end()
        self._places = made
        self._word = words[0]
        self._is_function = len(words) == 1
        self._set_leaves()
        self._look_at_entries()
        return ""

    def end(self) -> None:
        """Harmless when done twice."""
        _delete(self._places)
        self._places = []
        _delete(list(self._leaves.values()))
        self._leaves.clear()
        self._leave_pcs.clear()
        self.process_gone()

    def process_gone(self) -> None:
        """Its addresses mean nothing in the next one."""
        _delete(list(self._returns.values()))
        self._returns.clear()

    def hit(self, kind: int, address: int) -> None:
        if gdb.selected_inferior().pid != self._session.sampled_pid:
            return
        thread = gdb.selected_thread()
        hit = self._hit
        hit.kind = kind
        hit.tid = thread.ptid[1] or thread.num
        hit.at_entry = kind == _abi.HIT_FIRST and self._at_entry
        hit.caller_sp = 0
        hit.return_address = address
        if kind == _abi.HIT_JUMPED:
            hit.jump_buffer = _register("rdi")
        elif kind == _abi.HIT_CAUGHT or not (hit.at_entry or address):
            self._look(hit)
        returns_to = self._session.region_hit(hit)
        if returns_to == _abi.HIT_LOOK:
            self._look(hit)
            returns_to = self._session.region_hit(hit)
        if 0 != returns_to != _abi.HIT_LOOK and returns_to not in self._returns:
            self._returns[returns_to] = _Place(self, f"*{returns_to:#x}", _abi.HIT_RETURNED,
                                               returns_to)

    def _look(self, hit: _abi.Hit) -> None:
        """As GDB sees it, which takes long."""
        frame = gdb.newest_frame()
        if hit.kind == _abi.HIT_RETURNED:
            hit.caller_sp = int(frame.read_register("sp"))
        elif self._is_function:
            caller = None if frame.type() == gdb.INLINE_FRAME else frame.older()
            if hit.kind == _abi.HIT_FIRST and caller is None:
                self._pass_over(frame.pc())
            hit.return_address = caller.pc() if caller is not None else 0
            hit.caller_sp = int(caller.read_register("sp")) if caller is not None else 0
            hit.at_entry = 0

    def _pass_over(self, pc: int) -> None:
        """An inlined copy, which may be a loop's begin: once is enough. GDB 13 and newer."""
        for place in self._places:
            for location in getattr(place, "locations", ()):
                if location.address == pc:
                    location.enabled = False

    def _look_at_entries(self) -> None:
        """Whether each breakpoint of the function stands at its very first instruction."""
        self._at_entry = False
        if not self._is_function or not self._places:
            return
        try:
            if gdb.selected_inferior().architecture().name() == _X86_64:
                _, found = gdb.decode_line(self._word)
                self._at_entry = bool(found) and all(_is_entry(each.pc, self._word)
                                                     for each in found)
        except FAULTS:
            pass

    def _set_leaves(self) -> None:
        for name, kind in _LEAVES.items():
            if self._is_function and name not in self._leaves:
                try:
                    _, found = gdb.decode_line(name)  # a breakpoint that waits would say so
                    places = {each.pc for each in found or ()}
                    if places - self._leave_pcs:  # these are names of one function in most libraries
                        self._leaves[name] = _Place(self, name, kind)
                        self._leave_pcs |= places
                except FAULTS:
                    pass  # not there, or not yet

    def _on_new_objfile(self, _event) -> None:
        if self._places:
            self._set_leaves()
            self._look_at_entries()


def _delete(places: Sequence[_Place]) -> None:
    for place in places:
        try:
            place.delete()
        except FAULTS:
            pass  # gone with its program
