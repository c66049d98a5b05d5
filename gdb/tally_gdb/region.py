"""Internal breakpoints at the locations where a region begins and where it may end.

Their stop() reports the hit to the session and lets the program continue, all within the command
that the user waits for. stop() runs at each pass, so it asks GDB for as little as it can. The
expensive operation is to compute a frame.
"""

import re
from typing import Dict, List, Optional, Sequence, Set

import gdb

from . import _abi
from .console import FAULTS
from .session import Refused, Session

_X86_64 = "i386:x86-64"
# A breakpoint that measures a stop is hit once after each hit before it. After this many hits more, its
# place is given up: a loop begins there.
_MOST_UNASKED = 8
# matches GDB's messages for a location that does not exist
_UNKNOWN = re.compile(r" not defined|^No (symbol|source file|line|function|file)\b")


class _Breakpoint(gdb.Breakpoint):
    """A breakpoint of a region. `kind` is a HIT_ of _abi. `address` is the breakpoint's address if
    `kind` is HIT_RETURNED, otherwise 0. `is_entry` means that the breakpoint is at the first
    instruction of a function."""

    def __init__(
        self, owner: "Region", spec: str, kind: int, address: int = 0, is_entry: bool = False
    ) -> None:
        # 0 if the location is not an address
        self.pc = int(spec[1:], 16) if re.fullmatch(r"\*0x[0-9a-f]+", spec) else 0
        self.library = gdb.solib_name(self.pc) if self.pc else None
        super().__init__(spec, internal=True)
        self.silent = True
        self.spec = spec
        self.expected: Set[int] = set()  # the threads that have yet to report HIT_MEASURED
        self.unasked = 0
        self.awaited = True  # for HIT_RETURNED: whether a thread is to return here
        self._owner = owner
        self._kind = kind
        self._address = address
        self._is_entry = is_entry

    def addresses(self) -> List[int]:
        if hasattr(self, "locations"):  # GDB 13
            return [each.address or 0 for each in self.locations]
        return _look_up(self.spec)

    def stop(self) -> bool:
        try:
            self._owner.hit(self, self._kind, self._address, self._is_entry)
        except KeyboardInterrupt:
            return True  # Ctrl-C is meant to stop the program
        except FAULTS:
            pass  # the process is gone, or its memory cannot be read: the hit does not count
        return False


def _register(name: str) -> int:
    return int(gdb.parse_and_eval(f"${name}")) & (1 << 64) - 1


def _functions_at(pc: int) -> List[gdb.Block]:
    """Returns the blocks of the functions at `pc`, innermost first. All except the last one are
    inlined."""
    out, block = [], gdb.block_for_pc(pc)
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            out.append(block)
        block = block.superblock
    return out


def _symbol_at(pc: int) -> str:
    """Returns the symbol and offset at `pc` ("parse", "parse + 4"), or ""."""
    text = gdb.execute(f"info symbol {pc:#x}", to_string=True) or ""
    return text.partition(" in section ")[0] if " in section " in text else ""


def _is_inlined(pc: int, word: str) -> bool:
    """Returns whether `pc` is in an inlined copy of the function that `word` names. The entry of
    that function itself does not count, even if its code begins with an inlined copy of another."""
    functions = _functions_at(pc)
    if len(functions) < 2:
        return False
    name = word.partition("(")[0].strip("'\"").rpartition(":")[2]
    symbol = functions[-1].function
    return not _begins_at(functions[-1], pc) or symbol is None or name not in symbol.print_name


def _begins_at(function: gdb.Block, pc: int) -> bool:
    """Returns whether `pc` is the function's entry. The block of a function that is split begins at
    the lowest address, so the function's symbol is also examined: a symbol begins at the entry."""
    return function.start == pc or " + " not in (_symbol_at(pc) or " + ")


def _address_of(expression: str) -> int:
    value: Optional[gdb.Value] = gdb.parse_and_eval(expression)
    if value is not None and value.type.strip_typedefs().code == gdb.TYPE_CODE_FUNC:
        value = value.address
    if value is None:
        raise gdb.error(f"'{expression}' has no address")
    return int(value) & (1 << 64) - 1


def _is_code(pc: int) -> bool:
    """Returns whether `pc` can be read from the process, or from the program's file if no process
    runs. After an exec, GDB knows a program's symbols before it knows the load address."""
    try:
        gdb.selected_inferior().read_memory(pc, 1)
    except FAULTS:
        return False
    return True


def _named(word: str) -> str:
    """Replaces the address of a symbol ("*0x1234") by the symbol's name if no process runs. Such an
    address is a link-time address, whereas the name follows the program to its load address."""
    if gdb.selected_inferior().pid or not re.fullmatch(r"\*(0x[0-9a-fA-F]+|[0-9]+)", word):
        return word
    symbol = _symbol_at(int(word[1:], 0))
    try:
        if symbol and _address_of(f"'{symbol}'") == int(word[1:], 0):
            return f"*'{symbol}'"
    except FAULTS:  # the name means something else in an expression
        pass
    return word


def _addresses(word: str) -> List[int]:
    """Returns the addresses of a location. The addresses of a function are exact, whereas GDB would
    set a breakpoint by name after the prologue."""
    if word.startswith("*"):  # decode_line() of GDB 13 crashes on an expression that it rejects
        return [_address_of(word[1:])]
    rest, found = gdb.decode_line(word)  # fails if a breakpoint would be pending
    if rest:
        raise gdb.error(f"not a location: '{word}' (quote a word that contains blanks)")
    return list(dict.fromkeys(each.pc for each in found or ()))


def _look_up(word: str) -> List[int]:
    try:
        found = _addresses(word)
    except gdb.error as error:
        if _UNKNOWN.search(str(error)):
            raise Refused(_abi.REGION_UNKNOWN, word) from None
        raise
    if not found:
        raise Refused(_abi.REGION_UNKNOWN, word)
    return found


class _Function:
    """The breakpoints where a function is entered, at the addresses that it has in the current
    process. A breakpoint in an inlined copy is hit only once, because the address may begin a
    loop."""

    def __init__(self, owner: "Region", word: str, kind: int, enabled: bool = True) -> None:
        if word.startswith("*") and "$" in word:  # the variable is evaluated once, now
            word = f"*{_look_up(word)[0]:#x}"
        word = _named(word)
        self._owner = owner
        self._word = word
        self._kind = kind
        self._enabled = enabled
        self._breakpoints: Dict[int, _Breakpoint] = {}

    def entries(self) -> Dict[int, bool]:
        """Returns the addresses. The value is True for an entry, False for an inlined copy."""
        found = _look_up(self._word)
        if self._word.startswith("*"):
            if not _is_code(found[0]):
                raise Refused(_abi.REGION_UNKNOWN, self._word)
            functions, symbol = _functions_at(found[0]), _symbol_at(found[0])
            if " + " in symbol and not (functions and functions[-1].start == found[0]):
                raise Refused(_abi.REGION_WITHIN, self._word)
            return {found[0]: True}
        return {pc: not _is_inlined(pc, self._word) for pc in found}

    def follow(self, taken: Sequence[int] = ()) -> None:
        """Updates the breakpoints after the program or its libraries have changed. `taken` holds
        the addresses of other functions' breakpoints, which get no second one."""
        try:
            entries = self.entries()
        except (*FAULTS, Refused):
            entries = {}  # the function does not exist, or is not loaded yet
        entries = {
            pc: is_entry for pc, is_entry in entries.items() if pc not in taken and _is_code(pc)
        }
        _delete([each for pc, each in self._breakpoints.items() if pc not in entries])
        self._breakpoints = {pc: each for pc, each in self._breakpoints.items() if pc in entries}
        for pc, is_entry in entries.items():
            if pc not in self._breakpoints and (is_entry or self._kind == _abi.HIT_FIRST):
                made = _Breakpoint(self._owner, f"*{pc:#x}", self._kind, is_entry=is_entry)
                if not self._enabled:
                    made.enabled = False
                self._breakpoints[pc] = made

    def enable(self, enabled: bool) -> None:
        self._enabled = enabled
        for each in self._breakpoints.values():
            each.enabled = enabled

    def addresses(self) -> Sequence[int]:
        return list(self._breakpoints)

    def end(self) -> None:
        _delete(list(self._breakpoints.values()))
        self._breakpoints.clear()


class Region:
    def __init__(self, session: Session) -> None:
        self._session = session
        # two breakpoints for a region between locations, otherwise none
        self._breakpoints: List[_Breakpoint] = []
        self._functions: List[_Function] = []  # the region's function, then the exits
        self._returns: Dict[int, _Breakpoint] = {}  # by return address
        # where the cost of a stop is measured, by the pc of the hit before; None if it cannot be
        self._measures: Dict[int, Optional[_Breakpoint]] = {}
        self._is_x86_64 = False
        self._follows = False  # whether the breakpoints are at the addresses of a process
        self._exits_stop = False
        self._hit = _abi.Hit(size=0)
        self._hit.size = _abi.size_of(self._hit)
        gdb.events.new_objfile.connect(self._on_new_objfile)
        gdb.events.stop.connect(self._on_stop)

    def begin(self, words: Sequence[str]) -> None:
        """Replaces the region by one function or by two locations. After an exception the previous
        region stays."""
        breakpoints: List[_Breakpoint] = []
        functions: List[_Function] = []
        try:
            if len(words) == 1:
                functions = [_Function(self, words[0], _abi.HIT_FIRST)]
                if not any(functions[0].entries().values()):
                    raise Refused(_abi.REGION_INLINED, words[0])
                exits = self._session.region_exits()
                functions += [_Function(self, *each, enabled=False) for each in exits.items()]
            else:
                for kind, word in zip((_abi.HIT_FIRST, _abi.HIT_SECOND), words):
                    _look_up(word)
                    breakpoints.append(_Breakpoint(self, word, kind))
        except (*FAULTS, Refused):
            _delete(breakpoints)
            raise
        self.end()
        self._breakpoints, self._functions = breakpoints, functions
        self._exits_stop = False
        self._follow()

    def end(self) -> None:
        """Deletes all breakpoints. A second call does nothing."""
        _delete(self._breakpoints)
        self._breakpoints = []
        self.process_gone()
        self._functions = []

    def process_gone(self) -> None:
        """Forgets the process's addresses, after its end or an exec: the next process or program
        has other addresses."""
        _delete(list(self._returns.values()))
        self._returns.clear()
        self._forget_measures()
        for function in self._functions:
            function.end()
        self._follows = False

    def hit(self, at: _Breakpoint, kind: int, address: int, is_entry: bool) -> None:
        if gdb.selected_inferior().pid != self._session.sampled_pid:
            return
        thread = gdb.selected_thread()
        if thread is None:  # it has just ended
            return
        hit = self._hit
        hit.kind = kind
        hit.tid = thread.ptid[1] or thread.num
        hit.at_entry = is_entry and self._is_x86_64
        hit.caller_sp = hit.holds_all = 0
        hit.return_address = address
        if kind == _abi.HIT_MEASURED:
            self._expect_one(at, hit.tid)
        if kind == _abi.HIT_JUMPED:
            hit.jump_buffer = _register("rdi")
        elif kind == _abi.HIT_FIRST and self._functions and not is_entry:
            at.enabled = False
        elif kind == _abi.HIT_FIRST and self._functions and not hit.at_entry:
            self._look(hit)
        returns_to = self._session.region_hit(hit)
        if returns_to == _abi.HIT_LOOK:
            self._look(hit)
            returns_to = self._session.region_hit(hit)
        measures = self._session.region_measures()
        if returns_to == _abi.HIT_NOBODY:
            self._stop_at_exits(False)
        elif 0 != returns_to != _abi.HIT_LOOK:
            self._stop_at_exits(True)
            known = self._returns.get(returns_to)
            if known is None:
                self._returns[returns_to] = _Breakpoint(
                    self, f"*{returns_to:#x}", _abi.HIT_RETURNED, returns_to
                )
            elif not known.awaited:
                known.awaited = True
                known.enabled = True
        elif kind == _abi.HIT_RETURNED and returns_to == 0:
            # A dispatcher's other calls return here, too. Most calls of a function come from one
            # place, so that the breakpoint is disabled only when such a call has returned.
            if not at.awaited:
                at.enabled = False
            at.awaited = False
        if kind != _abi.HIT_MEASURED and (measures or self._measures):
            self._measure(at.pc or _register("pc"), measures, hit.tid)

    def _expect_one(self, at: _Breakpoint, tid: int) -> None:
        """Gives up a breakpoint that measures if it is hit without a hit before it too often."""
        if tid in at.expected:
            at.expected.discard(tid)
            return
        at.unasked += 1
        if at.unasked >= _MOST_UNASKED:
            at.enabled = False

    def _measure(self, pc: int, measures: bool, tid: int) -> None:
        """Lets threads that were stopped at `pc` report HIT_MEASURED or not."""
        if measures and pc not in self._measures:
            self._measures[pc] = None
            try:
                to = self._two_behind(pc)
                if to and not self._has_breakpoint(to):
                    self._measures[pc] = _Breakpoint(self, f"*{to:#x}", _abi.HIT_MEASURED)
            except Refused:
                pass  # a location of the region is gone
        made = self._measures.get(pc)
        if made is None or made.unasked >= _MOST_UNASKED:
            return
        if measures:
            made.expected.add(tid)
        if made.enabled != measures:
            made.enabled = measures

    def _two_behind(self, pc: int) -> int:
        """Returns the address that a thread reaches when it has executed the instruction at `pc` and
        the next one; 0 if one of them may jump."""
        code = gdb.selected_inferior().architecture().disassemble(pc, count=2)
        if len(code) < 2 or not all(self._session.leads_on(str(each["asm"])) for each in code):
            return 0
        return int(code[1]["addr"]) + int(code[1]["length"])

    def _has_breakpoint(self, address: int) -> bool:
        """Returns whether the region begins or may end at the address."""
        return any(address in each.addresses() for each in self._functions) or any(
            address in each.addresses() for each in self._breakpoints
        )

    def _stop_at_exits(self, stop: bool) -> None:
        """Enables or disables the breakpoints in the exits. They are disabled while no thread is
        inside the region, where a program may throw thousands of exceptions."""
        if stop != self._exits_stop:
            self._exits_stop = stop
            for each in self._functions[1:]:
                each.enable(stop)

    def _look(self, hit: _abi.Hit) -> None:
        """Fills in the caller's stack pointer and the return address from GDB's frames, which is
        slow."""
        frame = gdb.newest_frame()
        if hit.kind == _abi.HIT_RETURNED:
            hit.caller_sp = int(frame.read_register("sp"))
        else:
            caller = frame.older()
            hit.return_address = caller.pc() if caller is not None else 0
            hit.caller_sp = int(caller.read_register("sp")) if caller is not None else 0
            hit.at_entry = 0

    def _follow(self) -> None:
        """Sets the functions' breakpoints if there is a process. Before a program is loaded, it has
        other addresses."""
        if not gdb.selected_inferior().pid:
            return
        self._follows = True
        try:
            self._is_x86_64 = gdb.selected_inferior().architecture().name() == _X86_64
        except FAULTS:
            self._is_x86_64 = False
        taken: Set[int] = set()
        for function in self._functions:
            function.follow(list(taken))  # longjmp() has several names in most libraries
            taken.update(function.addresses())

    def _drop_replaced(self) -> None:
        """Deletes the breakpoints at return addresses where another library is now, and all that
        measure: instructions may begin elsewhere."""
        for pc, at in list(self._returns.items()):
            if gdb.solib_name(pc) != at.library:
                _delete([self._returns.pop(pc)])
        self._forget_measures()

    def _forget_measures(self) -> None:
        _delete(list(filter(None, self._measures.values())))
        self._measures.clear()

    def _on_new_objfile(self, _event) -> None:
        try:
            self._drop_replaced()
            if self._functions:
                self._follow()
        except FAULTS:
            pass

    def _on_stop(self, event) -> None:
        if not self._follows:  # a remote target may start a process without a new_objfile event
            self._on_new_objfile(event)


def _delete(breakpoints: Sequence[_Breakpoint]) -> None:
    for each in breakpoints:
        try:
            each.delete()
        except FAULTS:
            pass  # GDB has already deleted it with its program
