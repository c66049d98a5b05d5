"""Wraps a tally_session in Python types. This module does not depend on GDB."""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from . import _abi


GROUPS = ("profile", "coverage")  # of commands


_TEXTS = ("text", "file", "command", "program")


class TallyError(Exception):
    """A command or an operation failed. The text is one line for the user."""


class Refused(Exception):
    """The debugger cannot do what the session asks for. The reason is a REGION_ or LOAD_ constant of
    _abi, with the text and the number that tally.h names, or 0, with a text for the user."""

    def __init__(self, reason: int, text: object = "", number: int = 0) -> None:
        super().__init__(str(text))
        self.reason = reason
        self.number = number


# Describes what happens to a process. Its fields are those of tally_event.
Event = namedtuple(
    "Event",
    "kind target pid number line text file command program beside",
    defaults=(0, 0, "", "", "", "", False),
)


def _decode(text: bytes | None) -> str:
    # Names and paths may be any bytes. Lone surrogates are not used, because GDB cannot print them.
    return (text or b"").decode("utf-8", "backslashreplace")


def _utf8() -> str:
    return "utf-8"


# Returns the character set by which the debugger makes text of the bytes that are typed, and of those
# of names and paths. The front end sets it.
charset: Callable[[], str] = _utf8


def _encode(text: str) -> bytes:
    if not text.isascii():
        try:
            return text.encode(charset(), "surrogateescape")
        except (UnicodeError, LookupError):  # the text of a script, or an unknown character set
            pass
    return text.encode("utf-8", "surrogateescape")


class _Asked:
    """The functions of a tally_front. Each calls the method of its name of the performer of the call
    that is being handled, and passes on what the method returns. What the performer has no method
    for is refused. A method raises Refused or an exception of the debugger if that cannot do it, and
    KeyboardInterrupt to cancel the command."""

    def __init__(self, library) -> None:
        self._lib = library
        self.performer: object = None
        self.interrupted = False
        self.front = _abi.front({name: self._function(name) for name in _abi.FRONT}, _decode)

    def _function(self, name: str) -> Callable[..., None]:
        store = getattr(self, f"_store_{name}", None)

        # No exception may leave this function, because ctypes would print it. What is lost, such as
        # a KeyboardInterrupt before the first statement, cancels the command.
        def call(to: int, *arguments) -> None:
            try:
                method = getattr(self.performer, name, None)
                if method is None:
                    raise Refused(0)
                found = method(*arguments)
                if store is not None:
                    store(to, found)
                self._lib.tally_sink_done(to)
            except Refused as refusal:
                self._refuse(to, refusal)
            except Exception as error:  # the debugger's own
                self._refuse(to, Refused(0, str(error) or "GDB does not allow it"))
            except BaseException:  # most likely KeyboardInterrupt
                self.interrupted = True

        return call

    def _refuse(self, to: int, why: Refused) -> None:
        self._lib.tally_sink_refuse(to, why.reason, why.number, _encode(str(why)))

    def _store_symbols(self, to: int, found: Iterable[Iterable[tuple[str, str, int]]]) -> None:
        for index, frames in enumerate(found):
            for function, file, line in frames:
                self._lib.tally_sink_frame(to, index, _encode(function), _encode(file), line)

    def _store_disassemble(self, to: int, found: Iterable[tuple[int, str]]) -> None:
        for address, text in found:
            self._lib.tally_sink_instruction(to, address, _encode(text))

    def _store_stacks(self, to: int, found: Iterable[tuple[int, Sequence[int]]]) -> None:
        for tid, pcs in found:
            self._lib.tally_sink_stack(to, tid, _abi.addresses(pcs), len(pcs))

    def _store_modules(self, to: int, found: str | Iterable[tuple[int, str, str]]) -> None:
        if isinstance(found, str):
            self._lib.tally_sink_core(to, _encode(found))
            return
        for address, section, path in found:
            self._lib.tally_sink_module(to, address, _encode(section), _encode(path))

    def _store_memory(self, to: int, found: Iterable[bytes | None]) -> None:
        for index, content in enumerate(found):
            if content is not None:
                self._lib.tally_sink_memory(to, index, content, len(content))

    def _store_break_once(self, to: int, found: int) -> None:
        self._lib.tally_sink_count(to, found)


class Session:
    """A tally_session. It has many methods, because each is an operation of the session and needs
    the handle."""

    def __init__(self, library) -> None:
        self._lib = library
        self._asked = _Asked(library)
        self._calls = 0  # those that the library is handling
        self._closing: int | None = None  # the handle to free after them
        self._handle: int | None = self._made(
            library.tally_session_new, _abi.by_reference(self._asked.front)
        )

    def close(self) -> None:
        """Ends sampling and joins the reader thread. A second call does nothing. While the library
        handles a call, the session ends with that call."""
        handle, self._handle = self._handle, None
        if handle is not None and self._calls == 0:
            self._lib.tally_session_free(handle)
        elif handle is not None:
            self._closing = handle

    @property
    def is_open(self) -> bool:
        return self._handle is not None

    def command(self, line: str, performer: object, group: str = "profile") -> str:
        """Runs `line`, the words after the name of the group. Returns the text to print."""
        function = self._lib.tally_session_run
        return self._performed(performer, function, _encode(group), _encode(line))

    def event(self, performer: object, reported: Event) -> str:
        texts = {name: _encode(getattr(reported, name)) for name in _TEXTS}
        event = _abi.Event(**{**reported._asdict(), **texts})
        event.size = _abi.size_of(event)
        function = self._lib.tally_session_event
        return self._performed(performer, function, _abi.by_reference(event))

    # Any thread may call the next two methods.
    def tick_wait_seconds(self) -> float:
        return self._lib.tally_session_tick_wait_ns(self._handle) * 1e-9

    def tick_interrupt(self) -> int:
        return self._lib.tally_session_tick_interrupt(self._handle)

    def unsafe_frame(self, module: str, function: str, before: bytes | None) -> str:
        """Returns the library or allocator that the frame is inside, if a call into the program
        could hang there, otherwise "". `before` holds the bytes before the pc of the innermost
        frame; it is None for a caller."""
        return _decode(
            self._lib.tally_unsafe_frame(
                _encode(module), _encode(function), before is not None, before, len(before or b"")
            )
        )

    def region_measures(self) -> bool:
        """Returns whether the session measures the cost of a stop, from the hit reported last."""
        return self._handle is not None and bool(
            self._lib.tally_session_region_measures(self._handle)
        )

    def leads_on(self, instruction: str) -> bool:
        """Returns whether the instruction leads to the one behind it and nowhere else."""
        return bool(self._lib.tally_leads_on(_encode(instruction)))

    def sigint_seen(self) -> bool:
        return bool(self._lib.tally_sigint_seen())

    def watch_sigint(self, on: bool) -> None:
        self._lib.tally_sigint_watch(int(on))

    def tick_take(self, tid: int) -> int:
        """Returns a TICK_ constant of _abi, which says to whom the thread's stop belongs."""
        return self._lib.tally_session_tick_take(self._handle, tid)

    def tick_withdraw(self) -> None:
        """Reports that the interrupt which tick_interrupt() requested was not sent."""
        self._lib.tally_session_tick_withdraw(self._handle)

    def tick(self, performer: object, seen: Sequence[tuple[int, str, Sequence[int]]]) -> None:
        """Records (tid, name, pcs) of each thread that is visible at this stop."""
        if self._handle is None:
            return
        stacks = _abi.stacks([(tid, _encode(name), pcs) for tid, name, pcs in seen])
        with self._asking(performer) as handle:
            size = _abi.size_of(_abi.Stack)
            self._check(self._lib.tally_session_tick(handle, stacks, len(seen), size))

    def region_exits(self) -> dict[str, int]:
        """Returns the functions by which a program leaves another function without a return. Each
        name maps to its kind of hit, a HIT_ constant of _abi."""
        table = self._table(self._lib.tally_region_exits)
        return {str(name): int(kind) for name, kind in zip(table["function"], table["kind"])}

    def region_hit(self, hit: _abi.Hit) -> int:
        """Reports a hit. Returns the address at which HIT_RETURNED is to be reported from now on, 0
        for none, or HIT_LOOK or HIT_NOBODY. The caller may reuse `hit`, which saves time."""
        if self._handle is None:
            return 0
        return self._lib.tally_session_region_hit(self._handle, _abi.by_reference(hit))

    def set_passed_stops(self, addresses: Sequence[int]) -> None:
        """Sets the addresses of the breakpoints that GDB may pass without a stop for the user.
        These addresses replace the previous ones."""
        if self._handle is not None:
            size = _abi.size_of(_abi.Location)
            self._check(
                self._lib.tally_session_set_passed_stops(
                    self._handle, _abi.locations(addresses), len(addresses), size, 1
                )
            )

    @property
    def sampled_pid(self) -> int:
        """The id of the sampled process, 0 if there is none."""
        return self._lib.tally_session_sampled_pid(self._handle) if self.is_open else 0

    def complete(self, line: str, group: str = "profile") -> list[str]:
        table = self._table(
            self._lib.tally_session_complete, self._handle, _encode(group), _encode(line)
        )
        return [str(word) for word in table["word"]]

    def symbol_to_complete(self, line: str) -> str:
        """Returns the prefix of a name that only GDB may know, or "" if GDB need not be asked."""
        return _decode(self._lib.tally_session_symbol_to_complete(self._handle, _encode(line)))

    def complete_symbol(
        self, line: str, functions: Sequence[str], files: Sequence[str]
    ) -> list[str]:
        """Does the same as complete(), for the functions and source files that GDB knows."""
        table = self._table(
            self._lib.tally_session_complete_symbol,
            self._handle,
            _encode(line),
            _abi.texts([_encode(each) for each in functions]),
            len(functions),
            _abi.texts([_encode(each) for each in files]),
            len(files),
        )
        return [str(word) for word in table["word"]]

    def setting(self, name: str, group: str = "profile") -> str:
        return _decode(self._lib.tally_session_setting(self._handle, _encode(group), _encode(name)))

    def set(self, name: str, value: str, group: str = "profile") -> None:
        self._check(
            self._lib.tally_session_set(self._handle, _encode(group), _encode(name), _encode(value))
        )

    def set_display(self, width: int, flavor: str, styles: dict[str, str]) -> None:
        """Sets how replies look: the width of the terminal (0 means unlimited), the syntax in which
        the library disassembles code ("att" or "intel"), and the escape sequences that precede the
        texts of the roles _abi.STYLES (none for plain text)."""
        sequences = {role: _encode(sgr) for role, sgr in styles.items()}
        display = _abi.Display(size=0, width=width, flavor=_encode(flavor), **sequences)
        display.size = _abi.size_of(display)
        self._check(self._lib.tally_session_set_display(self._handle, _abi.by_reference(display)))

    def status(self) -> dict[str, str]:
        """Returns the values that `status` prints, by name."""
        table = self._table(self._lib.tally_session_status, self._handle)
        return {str(name): str(value) for name, value in zip(table["name"], table["value"])}

    def last_run(self) -> tuple[float, float | None] | None:
        """Returns for how long the process ran before its last stop, in seconds: the elapsed time
        and the CPU time of all threads, which is None if it is unknown. None before the first stop.
        """
        elapsed, cpu = _abi.nanoseconds(), _abi.nanoseconds()
        pointers = (_abi.by_reference(elapsed), _abi.by_reference(cpu))
        if not self._lib.tally_session_last_run(self._handle, *pointers):
            return None
        return elapsed.value * 1e-9, None if cpu.value == _abi.UNKNOWN else cpu.value * 1e-9

    def limit_seconds(self) -> float | None:
        """Returns how long the sampled process may run until the time of `start --for` is over, 0
        if it is over, and None if nothing ends sampling so, or if the process does not run."""
        left = self._lib.tally_session_limit_ns(self._handle) if self.is_open else _abi.UNKNOWN
        return None if left == _abi.UNKNOWN else left * 1e-9

    def limit_reached(self, performer: object) -> str:
        """Ends sampling if that time is over. Returns the text to print."""
        return self._performed(performer, self._lib.tally_session_limit_reached)

    def report(self, performer: object, by: str, sort: str) -> dict[str, Sequence[str | int]]:
        """Returns the columns name, file, object, line, id, self and inclusive."""
        with self._asking(performer) as handle:
            return self._table(self._lib.tally_session_report, handle, _encode(by), _encode(sort))

    def commands(self, group: str = "profile") -> dict[str, Sequence[str | int]]:
        """Returns the columns name, summary, usage and help."""
        return self._table(self._lib.tally_commands, _encode(group))

    def settings(self, group: str = "profile") -> dict[str, Sequence[str | int]]:
        """Returns the columns name, values, fallback and summary."""
        return self._table(self._lib.tally_settings, _encode(group))

    def help(self, group: str = "profile") -> str:
        return _decode(self._lib.tally_help(_encode(group)))

    def _check(self, error: int | None) -> None:
        if not error:
            return
        text = _decode(self._lib.tally_error_text(error))
        self._lib.tally_error_free(error)
        raise TallyError(text)

    def _made(self, function: Callable, *arguments) -> int:
        out = _abi.out_handle()
        self._check(function(*arguments, _abi.by_reference(out)))
        return out.value or 0

    @contextmanager
    def _asking(self, performer: object) -> Iterator[int | None]:
        """Lets the session ask `performer` while the library handles a call."""
        before, hook = self._asked.performer, getattr(sys, "unraisablehook", None)  # Python 3.8

        # ctypes would print an interrupt that arrives at the very beginning of a callback.
        def print_others(lost) -> None:
            if issubclass(lost.exc_type, KeyboardInterrupt):
                self._asked.interrupted = True
            elif hook is not None:
                hook(lost)

        depth = self._calls
        try:
            self._calls = depth + 1
            self._asked.performer = performer
            if hook is not None:
                setattr(sys, "unraisablehook", print_others)
            yield self._handle
        finally:
            self._calls = depth
            self._asked.performer = before
            if hook is not None:
                setattr(sys, "unraisablehook", hook)
            if depth == 0 and self._closing is not None:
                handle, self._closing = self._closing, None
                self._lib.tally_session_free(handle)

    def _performed(self, performer: object, function: Callable, *arguments) -> str:
        """Calls a function that returns a text, and returns the text."""
        if self._handle is None:  # closed, perhaps by what the session itself has asked for
            return ""
        text = _abi.text()
        self._asked.interrupted = False
        with self._asking(performer) as handle:
            try:
                self._check(function(handle, *arguments, _abi.by_reference(text)))
            except TallyError:
                if self._asked.interrupted:  # the debugger shows it as that of any other command
                    raise KeyboardInterrupt from None
                raise
            return _decode(text.value)

    def _table(self, function: Callable, *arguments) -> dict[str, Sequence[str | int]]:
        table = self._made(function, *arguments)
        try:
            rows = self._lib.tally_table_rows(table)
            out: dict[str, Sequence[str | int]] = {}
            for column in range(self._lib.tally_table_columns(table)):
                name = _decode(self._lib.tally_table_column_name(table, column))
                if self._lib.tally_table_column_kind(table, column) == _abi.COLUMN_TEXT:
                    texts = self._lib.tally_table_texts(table, column)
                    out[name] = [_decode(texts[row]) for row in range(rows)]
                else:
                    out[name] = self._lib.tally_table_counts(table, column)[:rows]
            return out
        finally:
            self._lib.tally_table_free(table)
