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
# GDB's words for a place that does not exist.
_UNKNOWN = re.compile(r" not defined|^No (symbol|source file|line|function|file)\b")


class _Refused(Exception):
    """The answer to the session."""


class _Place(gdb.Breakpoint):
    """`address`: HIT_RETURNED, where it stands. `is_entry`: of a function, at its very first
    instruction."""

    def __init__(self, owner: "Region", spec: str, kind: int, address: int = 0,
                 is_entry: bool = False) -> None:
        super().__init__(spec, internal=True)
        self.silent = True
        self._owner = owner
        self._kind = kind
        self._address = address
        self._is_entry = is_entry

    def stop(self) -> bool:
        try:
            self._owner.hit(self, self._kind, self._address, self._is_entry)
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


def _symbol_at(pc: int) -> str:
    """"parse", "parse + 4", or ""."""
    told = gdb.execute(f"info symbol {pc:#x}", to_string=True) or ""
    return told.partition(" in section ")[0] if " in section " in told else ""


def _is_inlined(pc: int, word: str) -> bool:
    """Whether it is in a copy of the function that `word` names, inlined into another one. A
    function may itself begin with a copy of another that is inlined."""
    functions = _functions_at(pc)
    if len(functions) < 2:
        return False
    name = word.partition("(")[0].strip("'\"").rpartition(":")[2]
    return not _begins_at(functions[-1], pc) or name not in functions[-1].function.print_name


def _begins_at(function: gdb.Block, pc: int) -> bool:
    """Where a function is split, its block begins at the lowest address, and its symbol at the
    entry."""
    return function.start == pc or " + " not in (_symbol_at(pc) or " + ")


def _address_of(expression: str) -> int:
    value = gdb.parse_and_eval(expression)
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_FUNC:
        value = value.address
    return int(value) & (1 << 64) - 1


def _is_code(pc: int) -> bool:
    """Whether there is memory: of the process, or of the program's file where none runs. After an
    exec GDB knows the symbols of a program before it knows where that is loaded."""
    try:
        gdb.selected_inferior().read_memory(pc, 1)
    except FAULTS:
        return False
    return True


def _named(word: str) -> str:
    """Where no process runs, an address of the file becomes that of a symbol, which moves with it."""
    if gdb.selected_inferior().pid or not re.fullmatch(r"\*(0x[0-9a-fA-F]+|[0-9]+)", word):
        return word
    symbol = _symbol_at(int(word[1:], 0))
    try:
        if symbol and _address_of(f"'{symbol}'") == int(word[1:], 0):
            return f"*'{symbol}'"
    except FAULTS:  # a name of something else
        pass
    return word


def _addresses(word: str) -> List[int]:
    """Of functions, the entries: a breakpoint by name would stand behind the prologue."""
    if word.startswith("*"):  # GDB 13's decode_line() crashes on one that it refuses
        return [_address_of(word[1:])]
    rest, found = gdb.decode_line(word)  # refuses what a breakpoint would wait for
    if rest:
        raise gdb.error(f"not a place: '{word}' (quote what has blanks)")
    return list(dict.fromkeys(each.pc for each in found or ()))


def _look_up(word: str) -> List[int]:
    try:
        found = _addresses(word)
    except gdb.error as error:
        if _UNKNOWN.search(str(error)):
            raise _Refused(f"{_abi.REGION_UNKNOWN} {word}") from None
        raise
    if not found:
        raise _Refused(f"{_abi.REGION_UNKNOWN} {word}")
    return found


class _Function:
    """The places where a function is entered, kept at the addresses that it has now. That of a copy
    that is inlined is entered once: it may be the begin of a loop."""

    def __init__(self, owner: "Region", word: str, kind: int, enabled: bool = True) -> None:
        if word.startswith("*") and "$" in word:  # its value is the one of now
            word = f"*{_look_up(word)[0]:#x}"
        word = _named(word)
        self._owner = owner
        self._word = word
        self._kind = kind
        self._enabled = enabled
        self._places: Dict[int, _Place] = {}

    def entries(self) -> Dict[int, bool]:
        """By address, whether it is an entry; else it is a copy that is inlined."""
        found = _look_up(self._word)
        if self._word.startswith("*"):
            if not _is_code(found[0]):
                raise _Refused(f"{_abi.REGION_UNKNOWN} {self._word}")
            functions, symbol = _functions_at(found[0]), _symbol_at(found[0])
            if " + " in symbol and not (functions and functions[-1].start == found[0]):
                raise _Refused(f"{_abi.REGION_WITHIN} {self._word}")
            return {found[0]: True}
        return {pc: not _is_inlined(pc, self._word) for pc in found}

    def follow(self, taken: Sequence[int] = ()) -> None:
        """After the program or its libraries have changed. `taken`: where another place stands."""
        try:
            entries = self.entries()
        except (*FAULTS, _Refused):
            entries = {}  # not there, or not yet
        entries = {pc: is_entry for pc, is_entry in entries.items()
                   if pc not in taken and _is_code(pc)}
        _delete([place for pc, place in self._places.items() if pc not in entries])
        self._places = {pc: place for pc, place in self._places.items() if pc in entries}
        for pc, is_entry in entries.items():
            if pc not in self._places and (is_entry or self._kind == _abi.HIT_FIRST):
                place = _Place(self._owner, f"*{pc:#x}", self._kind, is_entry=is_entry)
                if not self._enabled:
                    place.enabled = False
                self._places[pc] = place

    def enable(self, enabled: bool) -> None:
        self._enabled = enabled
        for place in self._places.values():
            place.enabled = enabled

    def addresses(self) -> Sequence[int]:
        return list(self._places)

    def end(self) -> None:
        _delete(list(self._places.values()))
        self._places.clear()


class Region:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._places: List[_Place] = []  # two, or none
        self._functions: List[_Function] = []  # the region's, and what leaves it
        self._returns: Dict[int, _Place] = {}
        self._is_x86_64 = False
        self._follows = False  # the addresses of a process
        self._leaves_stop = False
        self._hit = _abi.Hit(size=0)
        self._hit.size = _abi.size_of(self._hit)
        gdb.events.new_objfile.connect(self._on_new_objfile)
        gdb.events.stop.connect(self._on_stop)

    def begin(self, words: Sequence[str]) -> str:
        """In place of the region before; "" or why not."""
        places: List[_Place] = []
        functions: List[_Function] = []
        try:
            if len(words) == 1:
                functions = [_Function(self, words[0], _abi.HIT_FIRST)]
                if not any(functions[0].entries().values()):
                    raise _Refused(f"{_abi.REGION_INLINED} {words[0]}")
                functions += [_Function(self, *leaf, enabled=False) for leaf in _LEAVES.items()]
            else:
                for kind, word in zip((_abi.HIT_FIRST, _abi.HIT_SECOND), words):
                    _look_up(word)
                    places.append(_Place(self, word, kind))
        except (*FAULTS, _Refused) as error:
            _delete(places)
            return str(error) or "GDB does not allow it"
        self.end()
        self._places, self._functions = places, functions
        self._leaves_stop = False
        self._follow()
        return ""

    def end(self) -> None:
        """Harmless when done twice."""
        _delete(self._places)
        self._places = []
        self.process_gone()
        self._functions = []

    def process_gone(self) -> None:
        """Or replaced by an exec. Its addresses mean nothing in the next one."""
        _delete(list(self._returns.values()))
        self._returns.clear()
        for function in self._functions:
            function.end()
        self._follows = False

    def hit(self, place: _Place, kind: int, address: int, is_entry: bool) -> None:
        if gdb.selected_inferior().pid != self._session.sampled_pid:
            return
        thread = gdb.selected_thread()
        hit = self._hit
        hit.kind = kind
        hit.tid = thread.ptid[1] or thread.num
        hit.at_entry = is_entry and self._is_x86_64
        hit.caller_sp = hit.holds_all = 0
        hit.return_address = address
        if kind == _abi.HIT_JUMPED:
            hit.jump_buffer = _register("rdi")
        elif kind == _abi.HIT_FIRST and self._functions and not is_entry:
            place.enabled = False
        elif kind == _abi.HIT_FIRST and self._functions and not hit.at_entry:
            self._look(hit)
        returns_to = self._session.region_hit(hit)
        if returns_to == _abi.HIT_LOOK:
            self._look(hit)
            returns_to = self._session.region_hit(hit)
        if returns_to == _abi.HIT_NOBODY:
            self._stop_at_leaves(False)
        elif 0 != returns_to != _abi.HIT_LOOK:
            self._stop_at_leaves(True)
            if returns_to not in self._returns:
                self._returns[returns_to] = _Place(self, f"*{returns_to:#x}", _abi.HIT_RETURNED,
                                                   returns_to)

    def _stop_at_leaves(self, stop: bool) -> None:
        """A program may throw thousands of exceptions while no thread is inside of the region."""
        if stop != self._leaves_stop:
            self._leaves_stop = stop
            for leaf in self._functions[1:]:
                leaf.enable(stop)

    def _look(self, hit: _abi.Hit) -> None:
        """As GDB sees it, which takes long."""
        frame = gdb.newest_frame()
        if hit.kind == _abi.HIT_RETURNED:
            hit.caller_sp = int(frame.read_register("sp"))
        else:
            caller = frame.older()
            hit.return_address = caller.pc() if caller is not None else 0
            hit.caller_sp = int(caller.read_register("sp")) if caller is not None else 0
            hit.at_entry = 0

    def _follow(self) -> None:
        """A program that is not loaded yet has other addresses."""
        if not gdb.selected_inferior().pid:
            return
        self._follows = True
        try:
            self._is_x86_64 = gdb.selected_inferior().architecture().name() == _X86_64
        except FAULTS:
            self._is_x86_64 = False
        taken: Set[int] = set()
        for function in self._functions:
            function.follow(list(taken))  # the leaves are names of one function in most libraries
            taken.update(function.addresses())

    def _on_new_objfile(self, _event) -> None:
        if self._functions:
            try:
                self._follow()
            except FAULTS:
                pass

    def _on_stop(self, event) -> None:
        if not self._follows:  # the process of a remote target may bring no symbols of its own
            self._on_new_objfile(event)


def _delete(places: Sequence[_Place]) -> None:
    for place in places:
        try:
            place.delete()
        except FAULTS:
            pass  # gone with its program
