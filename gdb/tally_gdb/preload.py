"""Gets the agent into the program: preloaded at the next run, or loaded into a stopped process."""

import os
import shlex
from typing import Dict, List, Optional, Tuple

import gdb

from . import _abi
from .session import Refused, Session

_RTLD_NOW = 2


def _variable(name: str) -> Optional[str]:
    """Returns the variable's value in the environment of the next run, or None if it is not set."""
    text = gdb.execute(f"show environment {name}", to_string=True) or ""
    return text.rstrip("\n").partition(" = ")[2] if text.startswith(f"{name} = ") else None


def _preload(library: str, theirs: Optional[str]) -> str:
    return f"LD_PRELOAD={library}" + (f":{theirs}" if theirs else "")


class Preload:
    """Sets the exec-wrapper or the environment for preloading, and restores the user's setting."""

    def __init__(self) -> None:
        self._wrapper: Optional[str] = None  # Tally's exec-wrapper while it is set, otherwise None
        self._user_wrapper = ""
        self._variables: Dict[str, Tuple[str, Optional[str]]] = {}  # Tally's value and the user's

    def begin(self, library: str, variable: str) -> None:
        """Makes the next run preload `library` with `variable` ("NAME=VALUE") in its environment."""
        self.end()
        theirs = _variable("LD_PRELOAD")
        if not gdb.parameter("startup-with-shell"):
            # GDB then ignores an exec-wrapper. Setting the environment is safe, because there is no
            # shell into which the agent would be preloaded, too.
            for each in (_preload(library, theirs), variable):
                name, _, value = each.partition("=")
                self._variables[name] = (value, _variable(name))
                gdb.execute(f"set environment {name} = {value}", to_string=True)
            return
        self._user_wrapper = gdb.parameter("exec-wrapper") or ""
        # GDB expects a wrapper to add exactly one exec, so a second wrapper cannot be added.
        wrapper, _, rest = self._user_wrapper.strip().partition(" ")
        if wrapper and os.path.basename(wrapper) != "env":
            raise Refused(0, f"the exec-wrapper '{wrapper}' cannot be combined with another one")
        try:
            for word in shlex.split(rest):
                if word.startswith("LD_PRELOAD="):
                    theirs = word.partition("=")[2]
        except ValueError as error:
            raise Refused(0, f"the exec-wrapper cannot be parsed: {error}") from None
        # Tally's variables follow the user's words, because env takes its options first, and the
        # last of two values of a variable counts.
        words = [
            wrapper or "env",
            rest,
            shlex.quote(_preload(library, theirs)),
            shlex.quote(variable),
        ]
        self._wrapper = " ".join(word for word in words if word)
        gdb.execute(f"set exec-wrapper {self._wrapper}", to_string=True)

    def end(self) -> None:
        # A value that the user has set meanwhile stays.
        if self._wrapper is not None and gdb.parameter("exec-wrapper") == self._wrapper:
            gdb.execute(
                f"set exec-wrapper {self._user_wrapper}"
                if self._user_wrapper
                else "unset exec-wrapper",
                to_string=True,
            )
        self._wrapper = None
        for name, (ours, theirs) in self._variables.items():
            if _variable(name) == ours:
                gdb.execute(
                    f"unset environment {name}"
                    if theirs is None
                    else f"set environment {name} = {theirs}",
                    to_string=True,
                )
        self._variables.clear()


def _check_frames(session: Session, thread: gdb.InferiorThread) -> None:
    """Raises Refused if a call into the program could hang while this thread, which must be
    selected, is stopped here."""
    innermost = gdb.newest_frame()
    frame: Optional[gdb.Frame] = innermost
    size = _abi.LIMIT_SYSTEM_CALL_BYTES
    pc = innermost.pc() - size
    before: Optional[bytes] = bytes(gdb.selected_inferior().read_memory(pc, size))
    for _ in range(_abi.LIMIT_CHECKED_FRAMES):
        if frame is None:
            break
        inside = session.unsafe_frame(gdb.solib_name(frame.pc()) or "", frame.name() or "", before)
        if inside:
            raise Refused(_abi.LOAD_UNSAFE, inside, thread.num)
        frame, before = frame.older(), None


def _check_threads(session: Session) -> None:
    selected, frame = gdb.selected_thread(), gdb.selected_frame()
    try:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            _check_frames(session, thread)
    finally:
        if selected is not None:
            selected.switch()
        frame.select()


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Settings:
    """Sets GDB's settings for a call into the program within a `with` statement."""

    _WANTED = (("scheduler-locking", "on"), ("unwindonsignal", "on"))

    def __init__(self) -> None:
        self._before: List[str] = []

    def __enter__(self) -> None:
        try:
            for name, value in self._WANTED:
                before = gdb.parameter(name)
                word = before if isinstance(before, str) else "on" if before else "off"
                gdb.execute(f"set {name} {value}", to_string=True)
                self._before.append(f"set {name} {word}")
        except gdb.error:
            self.__exit__()
            raise

    def __exit__(self, *_exception) -> None:
        for command in self._before:
            gdb.execute(command, to_string=True)


def load(session: Session, library: str, argument: str) -> None:
    """Loads the library into the stopped process and starts it with the argument."""
    thread = gdb.selected_thread()
    if thread is not None and thread.is_running():
        raise Refused(_abi.LOAD_RUNNING)
    try:
        gdb.parse_and_eval("(long) &dlopen")
    except gdb.error:
        raise Refused(_abi.LOAD_NO_DLOPEN) from None
    _check_threads(session)
    with _Settings():
        loaded = gdb.parse_and_eval(
            f"((void *(*)(const char *, int)) dlopen)({_string(library)}, {_RTLD_NOW})"
        )
        if int(loaded) == 0:
            error = gdb.parse_and_eval("((char *(*)(void)) dlerror)()")
            raise Refused(_abi.LOAD_FAILED, error.string())
        start = gdb.parse_and_eval(
            f"((void *(*)(void *, const char *)) dlsym)({int(loaded):#x}, " f'"tally_agent_start")'
        )
        if int(start) == 0:
            raise Refused(_abi.LOAD_NO_START)
        result = int(
            gdb.parse_and_eval(f"((int (*)(const char *)) {int(start):#x})({_string(argument)})")
        )
        if result != 0:
            raise Refused(_abi.LOAD_REFUSED, number=result)
