"""Wraps a tally_session in Python types. This module does not depend on GDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import _abi


GROUPS = ("profile", "coverage")  # of commands


class TallyError(Exception):
    """A command or an operation failed. The text is one line for the user."""


class Refused(Exception):
    """A request cannot be performed. The text is the answer to the session: the digit of a REGION_
    or LOAD_ constant of _abi, a blank, and details such as the rejected word."""

    def __init__(self, reason: int, what: object = "") -> None:
        super().__init__(f"{reason} {what}")


class Performer:
    """The requests of the session that the front end performs while a command runs."""

    def progress(self, text: str) -> None:
        """Shows the progress of long work. Raises KeyboardInterrupt to cancel that work."""

    def symbol(self, address: int) -> str:
        """Returns "function\\tfile\\tline" for a run-time address, or "" if it is unknown."""
        return ""

    def instructions(self, ranges: Sequence[int]) -> str | None:
        """Returns a line "0xADDRESS\\ttext" for each instruction of the ranges, which are pairs of
        addresses. If that is not possible, returns the reason, or None as for act()."""
        return None

    def break_once(self, entries: Sequence[int]) -> str:
        """Sets a temporary breakpoint behind the prologue of each function that begins at one of the
        addresses. Returns the number of breakpoints that are set, or the reason why none is."""
        return "the debugger does not set them"

    def stacks(self) -> str:
        """Returns a line "TID PC PC …" for each thread of the stopped process, with hexadecimal pcs.
        The
        selected thread is the first. If that is not possible, returns the reason."""
        return "the debugger does not show them"

    def modules(self) -> str:
        """Returns a line "module ADDRESS SECTION PATH" for each loaded file, or a line "core PATH".
        If that is not possible, returns the reason."""
        return "the debugger does not show them"

    def memory(self, ranges: Sequence[int]) -> list[bytes | None]:
        """Returns the bytes of each range [low, high) of addresses; None if some are unreadable."""
        return [None] * (len(ranges) // 2)

    def act(self, request: int, words: Sequence[str], signals: Sequence[int]) -> str | None:
        """Performs one of the other requests. Returns "", the reason if that failed, or None if the
        debugger does not support the request."""
        return None


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


class Session:
    """A tally_session. It has many methods, because each is an operation of the session and needs
    the handle."""

    def __init__(self, library) -> None:
        self._lib = library
        self._handle: int | None = self._made(library.tally_session_new)

    def close(self) -> None:
        """Ends sampling and joins the reader thread. A second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._lib.tally_session_free(handle)

    @property
    def is_open(self) -> bool:
        return self._handle is not None

    def command(self, line: str, performer: Performer, group: str = "profile") -> str:
        """Runs `line`, the words after the name of the group. Returns the text to print."""
        reply = self._made(self._lib.tally_session_run, self._handle, _encode(group), _encode(line))
        return self._perform(reply, performer)

    def event(
        self,
        performer: Performer,
        kind: int,
        target: int,
        pid: int,
        *,
        number: int = 0,
        line: int = 0,
        text: str = "",
        file: str = "",
        command: str = "",
        program: str = "",
        beside: bool = False,
    ) -> str:
        event = _abi.Event(
            size=0,
            kind=kind,
            target=target,
            pid=pid,
            number=number,
            line=line,
            text=_encode(text),
            file=_encode(file),
            command=_encode(command),
            program=_encode(program),
            beside=int(beside),
        )
        event.size = _abi.size_of(event)
        reply = self._made(self._lib.tally_session_event, self._handle, _abi.by_reference(event))
        return self._perform(reply, performer)

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

    def tick(self, performer: Performer, seen: Sequence[tuple[int, str, Sequence[int]]]) -> None:
        """Records (tid, name, pcs) of each thread that is visible at this stop."""
        stacks = _abi.stacks([(tid, _encode(name), pcs) for tid, name, pcs in seen])
        size = _abi.size_of(_abi.Stack)
        self._perform(
            self._made(self._lib.tally_session_tick, self._handle, stacks, len(seen), size),
            performer,
        )

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
            self._lib.tally_session_group_complete, self._handle, _encode(group), _encode(line)
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
        return _decode(
            self._lib.tally_session_group_setting(self._handle, _encode(group), _encode(name))
        )

    def set(self, name: str, value: str, group: str = "profile") -> None:
        self._check(
            self._lib.tally_session_group_set(
                self._handle, _encode(group), _encode(name), _encode(value)
            )
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

    def limit_reached(self, performer: Performer) -> str:
        """Ends sampling if that time is over. Returns the text to print."""
        reply = self._made(self._lib.tally_session_limit_reached, self._handle)
        return self._perform(reply, performer)

    def report(self, by: str, sort: str) -> dict[str, Sequence[str | int]]:
        """Returns the columns name, file, object, line, id, self and inclusive."""
        return self._table(self._lib.tally_session_report, self._handle, _encode(by), _encode(sort))

    def commands(self, group: str = "profile") -> dict[str, Sequence[str | int]]:
        """Returns the columns name, summary, usage and help."""
        return self._table(self._lib.tally_group_commands, _encode(group))

    def settings(self, group: str = "profile") -> dict[str, Sequence[str | int]]:
        """Returns the columns name, values, fallback and summary."""
        return self._table(self._lib.tally_group_settings, _encode(group))

    def help(self, group: str = "profile") -> str:
        return _decode(self._lib.tally_group_help(_encode(group)))

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

    def _perform(self, reply: int, performer: Performer) -> str:
        while True:
            try:
                text = _decode(self._lib.tally_reply_text(reply))
                request = self._lib.tally_reply_request(reply)
                progress = _decode(self._lib.tally_reply_progress(reply))
                addresses = self._array(self._lib.tally_reply_addresses, reply)
                signals = self._array(self._lib.tally_reply_signals, reply)
                words = [_decode(self._lib.tally_reply_word(reply, index)) for index in range(2)]
            finally:
                self._lib.tally_reply_free(reply)
            if request == _abi.REQUEST_NONE:
                return text
            try:
                answers: list[str | None] = []
                contents: list[bytes | None] = []
                if request == _abi.REQUEST_PROGRESS:
                    performer.progress(progress)
                elif request == _abi.REQUEST_SYMBOLS:
                    answers = [performer.symbol(address) for address in addresses]
                elif request == _abi.REQUEST_DISASSEMBLE:
                    answers = [performer.instructions(addresses)]
                elif request == _abi.REQUEST_STACKS:
                    answers = [performer.stacks()]
                elif request == _abi.REQUEST_MODULES:
                    answers = [performer.modules()]
                elif request == _abi.REQUEST_MEMORY:
                    contents = performer.memory(addresses)
                elif request == _abi.REQUEST_BREAK_ONCE:
                    answers = [performer.break_once(addresses)]
                else:
                    answers = [performer.act(request, words, signals)]
            except KeyboardInterrupt:
                self._check(self._lib.tally_session_cancel(self._handle))
                raise
            if request == _abi.REQUEST_MEMORY:
                reply = self._made(
                    self._lib.tally_session_answer_memory,
                    self._handle,
                    _abi.texts(contents),
                    _abi.sizes(contents),
                    len(contents),
                )
                continue
            texts = [_encode(each) for each in answers if each is not None]
            reply = self._made(
                self._lib.tally_session_answer, self._handle, _abi.texts(texts), len(texts)
            )

    def _array(self, function: Callable, reply: int) -> list[int]:
        count = _abi.count()
        array = function(reply, _abi.by_reference(count))
        return array[: count.value] if count.value else []

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
