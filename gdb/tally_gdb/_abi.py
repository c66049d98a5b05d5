"""Declares functions of libtally and of the C library for ctypes, which no other module of this
package imports."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)

ABI = 3
UNKNOWN = 2**64 - 1  # UINT64_MAX


class LibraryError(Exception):
    """libtally cannot be loaded, or its interface is not the one that this file declares."""


class Event(ctypes.Structure):
    """Mirrors tally_event."""

    _fields_ = [
        ("size", c_uint32),
        ("kind", c_int32),
        ("target", c_int32),
        ("pid", c_int32),
        ("number", c_int32),
        ("line", c_uint32),
        ("text", c_char_p),
        ("file", c_char_p),
        ("command", c_char_p),
        ("program", c_char_p),
        ("at_ns", c_uint64),
        ("beside", c_int32),
        ("reserved", c_int32),
    ]


# The parameters of the functions of tally_front between `self` and the tally_sink.
_ADDRESSES = [POINTER(c_uint64), c_size_t]
_SIGNALS = [POINTER(c_int32), c_size_t]
FRONT: dict[str, list] = {
    "progress": [c_char_p],
    "symbols": _ADDRESSES,
    "disassemble": _ADDRESSES,
    "stacks": [],
    "modules": [],
    "memory": _ADDRESSES,
    "break_once": _ADDRESSES,
    "set_breakpoint": [c_char_p, c_uint64],
    "list_source": [c_char_p, c_uint64],
    "preload": [c_char_p, c_char_p, *_SIGNALS],
    "end_preload": [],
    "load": [c_char_p, c_char_p, *_SIGNALS],
    "interrupt": [c_int32, c_int],
    "end_interrupt": [],
    "restore_signals": [],
    "halt": [],
    "watch_region": [c_char_p, c_char_p],
    "end_region": [],
}
_WITH_RANGES = ("disassemble", "memory")  # the addresses are pairs
_CALLBACKS = {name: CFUNCTYPE(None, c_void_p, *FRONT[name], c_void_p) for name in FRONT}


class Front(ctypes.Structure):
    """Mirrors tally_front."""

    _fields_ = [
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("self", c_void_p),
        *_CALLBACKS.items(),
    ]


class Stack(ctypes.Structure):
    """Mirrors tally_stack."""

    _fields_ = [
        ("tid", c_int32),
        ("count", c_uint32),
        ("pcs", POINTER(c_uint64)),
        ("name", c_char_p),
    ]


class Hit(ctypes.Structure):
    """Mirrors tally_hit."""

    _fields_ = [
        ("size", c_uint32),
        ("kind", c_int32),
        ("tid", c_int32),
        ("at_entry", c_int32),
        ("caller_sp", c_uint64),
        ("return_address", c_uint64),
        ("jump_buffer", c_uint64),
        ("holds_all", c_int32),
        ("reserved", c_int32),
    ]


class Location(ctypes.Structure):
    """Mirrors tally_location."""

    _fields_ = [
        ("file", c_char_p),
        ("address", c_uint64),
    ]


class Display(ctypes.Structure):
    """Mirrors tally_display."""

    _fields_ = [
        ("size", c_uint32),
        ("width", c_uint32),
        ("flavor", c_char_p),
        ("function", c_char_p),
        ("filename", c_char_p),
        ("address", c_char_p),
        ("variable", c_char_p),
        ("title", c_char_p),
        ("highlight", c_char_p),
        ("metadata", c_char_p),
    ]


# The fields of Display that are styles
STYLES = [name for name, _ in Display._fields_[3:]]

# enum tally_target_kind
TARGET_NONE, TARGET_NATIVE, TARGET_REMOTE, TARGET_CORE = range(4)
# enum tally_event_kind
(
    EVENT_TARGET,
    EVENT_RESUMED,
    EVENT_BREAKPOINT,
    EVENT_WATCHPOINT,
    EVENT_CATCHPOINT,
    EVENT_SIGNAL,
    EVENT_STEP,
    EVENT_OTHER,
    EVENT_EXITED,
    EVENT_SIGNALLED,
    EVENT_KILLED,
    EVENT_DETACHED,
    EVENT_RAN,
) = range(13)
# enum tally_region_refusal
REGION_UNKNOWN, REGION_INLINED, REGION_WITHIN, REGION_FAILED = range(1, 5)
# enum tally_load_refusal
(
    LOAD_RUNNING,
    LOAD_NO_DLOPEN,
    LOAD_UNSAFE,
    LOAD_FAILED,
    LOAD_NO_START,
    LOAD_REFUSED,
) = range(1, 7)
# enum tally_hit_kind
HIT_FIRST, HIT_SECOND, HIT_RETURNED, HIT_CAUGHT, HIT_JUMPED, HIT_MEASURED = range(6)
# special results of tally_session_region_hit()
HIT_LOOK, HIT_NOBODY = c_uint64(-1).value, c_uint64(-2).value
# enum tally_tick_kind
TICK_OURS, TICK_STALE, TICK_THEIRS = range(3)
# special result of tally_session_tick_interrupt()
TICK_GIVEN_UP = c_size_t(-1).value
# enum tally_limit
LIMIT_STACK_FRAMES = 128
LIMIT_CHECKED_FRAMES = 64
LIMIT_SYSTEM_CALL_BYTES = 4
LIMIT_SIGINT_MS = 50
# enum tally_column_kind
COLUMN_TEXT, COLUMN_COUNT = range(2)

_text = c_char_p
_handle = c_void_p
_out = POINTER(c_void_p)
_options = c_void_p  # the options of functions that this front end does not call

# (name, argument types, result type); a test compares this table with tally.h.
FUNCTIONS = [
    ("tally_version", [], _text),
    ("tally_abi", [], c_uint32),
    ("tally_error_free", [_handle], None),
    ("tally_error_get_code", [_handle], c_int),
    ("tally_error_text", [_handle], _text),
    ("tally_error_message", [_handle], _text),
    ("tally_error_source", [_handle], _text),
    ("tally_error_line", [_handle], c_uint64),
    ("tally_error_column", [_handle], c_uint64),
    ("tally_error_offset", [_handle], c_uint64),
    ("tally_table_free", [_handle], None),
    ("tally_table_rows", [_handle], c_size_t),
    ("tally_table_columns", [_handle], c_size_t),
    ("tally_table_column_name", [_handle, c_size_t], _text),
    ("tally_table_column_kind", [_handle, c_size_t], c_int),
    ("tally_table_texts", [_handle, c_size_t], POINTER(_text)),
    ("tally_table_counts", [_handle, c_size_t], POINTER(c_uint64)),
    ("tally_commands", [_text, _out], _handle),
    ("tally_settings", [_text, _out], _handle),
    ("tally_help", [_text], _text),
    ("tally_formats", [_out], _handle),
    ("tally_profile_read", [_text, _options, _out], _handle),
    ("tally_profile_free", [_handle], None),
    ("tally_profile_format", [_handle], _text),
    ("tally_profile_diagnostics", [_handle, _out], _handle),
    ("tally_profile_events", [_handle, _out], _handle),
    ("tally_profile_report", [_handle, _options, _out], _handle),
    ("tally_profile_write", [_handle, _text, _options, _out], _handle),
    (
        "tally_convert",
        [POINTER(_text), c_size_t, _options, _text, _options, _out, _out],
        _handle,
    ),
    ("tally_session_new", [POINTER(Front), _out], _handle),
    ("tally_session_free", [_handle], None),
    ("tally_session_run", [_handle, _text, _text, POINTER(_text)], _handle),
    ("tally_session_event", [_handle, POINTER(Event), POINTER(_text)], _handle),
    ("tally_sink_done", [_handle], None),
    ("tally_sink_refuse", [_handle, c_int32, c_int64, _text], None),
    ("tally_sink_frame", [_handle, c_size_t, _text, _text, c_uint32], None),
    ("tally_sink_instruction", [_handle, c_uint64, _text], None),
    ("tally_sink_stack", [_handle, c_int32, POINTER(c_uint64), c_size_t], None),
    ("tally_sink_module", [_handle, c_uint64, _text, _text], None),
    ("tally_sink_core", [_handle, _text], None),
    ("tally_sink_memory", [_handle, c_size_t, _text, c_size_t], None),
    ("tally_sink_count", [_handle, c_size_t], None),
    ("tally_session_sampled_pid", [_handle], c_int32),
    ("tally_session_is_armed", [_handle], c_int),
    ("tally_session_tick_wait_ns", [_handle], c_uint64),
    ("tally_session_tick_interrupt", [_handle], c_size_t),
    ("tally_session_tick_take", [_handle, c_int32], c_int),
    ("tally_session_tick_withdraw", [_handle], None),
    ("tally_session_tick", [_handle, POINTER(Stack), c_size_t, c_size_t], _handle),
    ("tally_leads_on", [_text], c_int),
    ("tally_session_region_measures", [_handle], c_int),
    ("tally_unsafe_frame", [_text, _text, c_int, c_void_p, c_size_t], _text),
    ("tally_sigint_watch", [c_int], None),
    ("tally_sigint_seen", [], c_int),
    ("tally_region_exits", [_out], _handle),
    ("tally_session_region_hit", [_handle, POINTER(Hit)], c_uint64),
    (
        "tally_session_set_passed_stops",
        [_handle, POINTER(Location), c_size_t, c_size_t, c_int],
        _handle,
    ),
    ("tally_session_complete", [_handle, _text, _text, _out], _handle),
    ("tally_session_symbol_to_complete", [_handle, _text], _text),
    (
        "tally_session_complete_symbol",
        [_handle, _text, POINTER(_text), c_size_t, POINTER(_text), c_size_t, _out],
        _handle,
    ),
    ("tally_session_set", [_handle, _text, _text, _text], _handle),
    ("tally_session_setting", [_handle, _text, _text], _text),
    ("tally_session_set_display", [_handle, POINTER(Display)], _handle),
    ("tally_session_status", [_handle, _out], _handle),
    ("tally_session_last_run", [_handle, POINTER(c_uint64), POINTER(c_uint64)], c_int),
    ("tally_session_limit_ns", [_handle], c_uint64),
    ("tally_session_limit_reached", [_handle, POINTER(_text)], _handle),
    ("tally_session_report", [_handle, _text, _text, _out], _handle),
]


def _candidates(folder: str) -> list[str]:
    """Returns the paths to try. TALLY_LIBRARY, if it is set, is the only one. Otherwise the first
    is the installed library, or the one in the directory `build` of the source tree, and the second
    is a bare name, which the dynamic loader searches for. `folder` is tally.py's directory."""
    named = os.environ.get("TALLY_LIBRARY")
    if named:
        return [named]
    out = []
    try:
        from ._paths import LIBRARY  # exists only in an installation

        out.append(os.path.normpath(os.path.join(folder, LIBRARY)))
    except ImportError:
        out.append(os.path.normpath(os.path.join(folder, "..", "build", "lib", "libtally.so.0")))
    return out + ["libtally.so.0"]


def load(folder: str) -> ctypes.CDLL:
    library: ctypes.CDLL | None = None
    tried = []
    for path in _candidates(folder):
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:
            tried.append(str(error))
    if library is None:
        raise LibraryError("cannot load libtally: " + "; ".join(tried))
    for name, arguments, result in FUNCTIONS:
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryError(f"bindings and library do not match: {path} has no {name}")
        function.argtypes = arguments
        function.restype = result
    if library.tally_abi() != ABI:
        raise LibraryError(
            f"bindings and library do not match: {path} has interface version "
            f"{library.tally_abi()}, the bindings need version {ABI}"
        )
    return library


def out_handle() -> c_void_p:
    return c_void_p()


def by_reference(value):
    return ctypes.byref(value)


def texts(values: Sequence[bytes | None]):
    return (c_char_p * len(values))(*values)


def text() -> c_char_p:
    return c_char_p()


def addresses(values: Sequence[int]):
    return (c_uint64 * len(values))(*values)


def front(functions: dict[str, Callable[..., None]], decode: Callable[[bytes], str]) -> Front:
    """Returns a tally_front of these functions, which must not raise exceptions. Each receives the
    tally_sink and the other parameters: texts as `decode` makes them of bytes, an array and its
    length as a list, and ranges as pairs. The result must live as long as the session."""

    def values(name: str, arguments: Sequence) -> Iterator:
        pairs = iter(zip(FRONT[name], arguments))
        for kind, value in pairs:
            if kind is c_char_p:
                yield decode(value)
            elif kind in (_ADDRESSES[0], _SIGNALS[0]):
                length = next(pairs)[1]
                if name in _WITH_RANGES:
                    yield list(zip(value[: 2 * length : 2], value[1 : 2 * length : 2]))
                else:
                    yield value[:length] if length else []
            else:
                yield value

    def callback(name: str) -> Callable[..., None]:
        def call(_self: int, *arguments) -> None:
            functions[name](arguments[-1], *values(name, arguments))

        return call

    out = Front(size=ctypes.sizeof(Front))
    for name in FRONT:
        setattr(out, name, _CALLBACKS[name](callback(name)))
    return out


def stacks(seen: Sequence[tuple[int, bytes, Sequence[int]]]):
    """Returns an array of Stack, built from (tid, name, pcs) tuples."""
    return (Stack * len(seen))(
        *[Stack(tid, len(pcs), (c_uint64 * len(pcs))(*pcs), name) for tid, name, pcs in seen]
    )


def locations(addresses: Sequence[int]):
    """Returns an array of Location, built from run-time addresses."""
    return (Location * len(addresses))(*[Location(None, address) for address in addresses])


def nanoseconds() -> c_uint64:
    return c_uint64()


def size_of(structure) -> int:
    return ctypes.sizeof(structure)


def skip_exit_handlers() -> None:
    """Lets exit() end the process with its status before it destroys global objects. Output that
    stdio holds is written now. Does nothing where the C library has no on_exit()."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):
        libc.on_exit(ctypes.cast(libc._exit, c_void_p), None)
        libc.fflush(None)
