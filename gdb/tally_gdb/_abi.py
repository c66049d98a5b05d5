"""Declares functions of libtally and of the C library for ctypes, which no other module of this
package imports."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

ABI = 2
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
) = range(12)
# enum tally_request_kind
(
    REQUEST_NONE,
    REQUEST_PROGRESS,
    REQUEST_SYMBOLS,
    REQUEST_PRELOAD,
    REQUEST_PRELOAD_END,
    REQUEST_LOAD,
    REQUEST_INTERRUPT,
    REQUEST_INTERRUPT_END,
    REQUEST_SIGNALS_RESTORE,
    REQUEST_BREAK,
    REQUEST_LIST,
    REQUEST_REGION,
    REQUEST_REGION_END,
    REQUEST_DISASSEMBLE,
    REQUEST_STACKS,
    REQUEST_MODULES,
    REQUEST_MEMORY,
    REQUEST_BREAK_ONCE,
    REQUEST_HALT,
) = range(19)
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
    ("tally_commands", [_out], _handle),
    ("tally_settings", [_out], _handle),
    ("tally_group_commands", [_text, _out], _handle),
    ("tally_group_settings", [_text, _out], _handle),
    ("tally_group_help", [_text], _text),
    ("tally_profile_help", [], _text),
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
    ("tally_session_new", [_out], _handle),
    ("tally_session_free", [_handle], None),
    ("tally_session_command", [_handle, _text, _out], _handle),
    ("tally_session_run", [_handle, _text, _text, _out], _handle),
    ("tally_session_event", [_handle, POINTER(Event), _out], _handle),
    ("tally_session_answer", [_handle, POINTER(_text), c_size_t, _out], _handle),
    (
        "tally_session_answer_memory",
        [_handle, POINTER(_text), POINTER(c_size_t), c_size_t, _out],
        _handle,
    ),
    ("tally_session_cancel", [_handle], _handle),
    ("tally_session_sampled_pid", [_handle], c_int32),
    ("tally_session_is_armed", [_handle], c_int),
    ("tally_session_tick_wait_ns", [_handle], c_uint64),
    ("tally_session_tick_interrupt", [_handle], c_size_t),
    ("tally_session_tick_take", [_handle, c_int32], c_int),
    ("tally_session_tick_withdraw", [_handle], None),
    ("tally_session_tick", [_handle, POINTER(Stack), c_size_t, c_size_t, _out], _handle),
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
    ("tally_session_complete", [_handle, _text, _out], _handle),
    ("tally_session_group_complete", [_handle, _text, _text, _out], _handle),
    ("tally_session_symbol_to_complete", [_handle, _text], _text),
    (
        "tally_session_complete_symbol",
        [_handle, _text, POINTER(_text), c_size_t, POINTER(_text), c_size_t, _out],
        _handle,
    ),
    ("tally_session_set", [_handle, _text, _text], _handle),
    ("tally_session_setting", [_handle, _text], _text),
    ("tally_session_group_set", [_handle, _text, _text, _text], _handle),
    ("tally_session_group_setting", [_handle, _text, _text], _text),
    ("tally_session_set_display", [_handle, POINTER(Display)], _handle),
    ("tally_session_status", [_handle, _out], _handle),
    ("tally_session_last_run", [_handle, POINTER(c_uint64), POINTER(c_uint64)], c_int),
    ("tally_session_limit_ns", [_handle], c_uint64),
    ("tally_session_limit_reached", [_handle, _out], _handle),
    ("tally_session_report", [_handle, _text, _text, _out], _handle),
    ("tally_reply_free", [_handle], None),
    ("tally_reply_text", [_handle], _text),
    ("tally_reply_request", [_handle], c_int),
    ("tally_reply_progress", [_handle], _text),
    ("tally_reply_addresses", [_handle, POINTER(c_size_t)], POINTER(c_uint64)),
    ("tally_reply_word", [_handle, c_size_t], _text),
    ("tally_reply_signals", [_handle, POINTER(c_size_t)], POINTER(c_int32)),
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


def sizes(values: Sequence[bytes | None]):
    return (c_size_t * len(values))(*(len(value or b"") for value in values))


def stacks(seen: Sequence[tuple[int, bytes, Sequence[int]]]):
    """Returns an array of Stack, built from (tid, name, pcs) tuples."""
    return (Stack * len(seen))(
        *[Stack(tid, len(pcs), (c_uint64 * len(pcs))(*pcs), name) for tid, name, pcs in seen]
    )


def locations(addresses: Sequence[int]):
    """Returns an array of Location, built from run-time addresses."""
    return (Location * len(addresses))(*[Location(None, address) for address in addresses])


def count() -> c_size_t:
    return c_size_t()


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
