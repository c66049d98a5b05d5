"""The agent in the program: loaded before all others at the next run, or into one that stands."""

import os
import shlex
from typing import Dict, List, Optional, Sequence, Tuple

import gdb

from .session import Session

_RTLD_NOW = 2


def _variable(name: str) -> Optional[str]:
    """Of the environment that the next run gets."""
    told = gdb.execute(f"show environment {name}", to_string=True) or ""
    return told.rstrip("\n").partition(" = ")[2] if told.startswith(f"{name} = ") else None


def _preload(library: str, theirs: Optional[str]) -> str:
    return f"LD_PRELOAD={library}" + (f":{theirs}" if theirs else "")


class Preload:
    """What the next run is started with, and how that was before."""

    def __init__(self) -> None:
        self._wrapper: Optional[str] = None  # ours, while it is set
        self._user_wrapper = ""
        self._variables: Dict[str, Tuple[str, Optional[str]]] = {}  # ours, and the user's

    def begin(self, library: str, variable: str) -> str:
        """"" or why not."""
        self.end()
        theirs = _variable("LD_PRELOAD")
        if not gdb.parameter("startup-with-shell"):
            # GDB ignores a wrapper then, and no shell is in between that would be armed, too.
            for each in (_preload(library, theirs), variable):
                name, _, value = each.partition("=")
                self._variables[name] = (value, _variable(name))
                gdb.execute(f"set environment {name} = {value}", to_string=True)
            return ""
        self._user_wrapper = gdb.parameter("exec-wrapper") or ""
        # GDB waits for one more program, and no second wrapper fits in.
        wrapper, _, rest = self._user_wrapper.strip().partition(" ")
        if wrapper and os.path.basename(wrapper) != "env":
            return f"the exec-wrapper '{wrapper}' leaves no room for another"
        try:
            for word in shlex.split(rest):
                if word.startswith("LD_PRELOAD="):
                    theirs = word.partition("=")[2]
        except ValueError as error:
            return f"the exec-wrapper cannot be read: {error}"
        # Behind the user's own: options of env come first, and of two values the last one holds.
        words = [wrapper or "env", rest, shlex.quote(_preload(library, theirs)),
                 shlex.quote(variable)]
        self._wrapper = " ".join(word for word in words if word)
        gdb.execute(f"set exec-wrapper {self._wrapper}", to_string=True)
        return ""

    def end(self) -> None:
        # What the user has set meanwhile stays.
        if self._wrapper is not None and gdb.parameter("exec-wrapper") == self._wrapper:
            gdb.execute(f"set exec-wrapper {self._user_wrapper}" if self._user_wrapper else
                        "unset exec-wrapper", to_string=True)
        self._wrapper = None
        for name, (ours, theirs) in self._variables.items():
            if _variable(name) == ours:
                gdb.execute(f"unset environment {name}" if theirs is None else
                            f"set environment {name} = {theirs}", to_string=True)
        self._variables.clear()


_LONGEST_SYSTEM_CALL = 4  # bytes of the instruction


def _unsafe_frame(session: Session, thread: gdb.InferiorThread) -> str:
    """Where the thread must not be interrupted by a call of ours; "" when it may."""
    frame: Optional[gdb.Frame] = gdb.newest_frame()
    pc = frame.pc() - _LONGEST_SYSTEM_CALL
    before: Optional[bytes] = bytes(gdb.selected_inferior().read_memory(pc, _LONGEST_SYSTEM_CALL))
    for _ in range(64):
        if frame is None:
            break
        inside = session.unsafe_frame(gdb.solib_name(frame.pc()) or "", frame.name() or "", before)
        if inside:
            return f"thread {thread.num} stands inside of {inside}"
        frame, before = frame.older(), None
    return ""


def _why_unsafe(session: Session) -> str:
    selected, frame = gdb.selected_thread(), gdb.selected_frame()
    try:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            found = _unsafe_frame(session, thread)
            if found:
                return f"{found}: a call there could hang; let it go on to another place first"
    finally:
        selected.switch()
        frame.select()
    return ""


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Settings:
    """GDB's settings for a call into the program, for the length of a `with`."""

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


def load(session: Session, words: Sequence[str]) -> str:
    """The library words[0] into the process that stands, started with words[1]; "" or why not."""
    try:
        if gdb.selected_thread().is_running():
            return "the process runs: stop it first"
        try:
            gdb.parse_and_eval("(long) &dlopen")
        except gdb.error:
            return "the program has no dlopen: it is static, or its libraries are not loaded yet"
        unsafe = _why_unsafe(session)
        if unsafe:
            return unsafe
        with _Settings():
            library = gdb.parse_and_eval(
                f"((void *(*)(const char *, int)) dlopen)({_string(words[0])}, {_RTLD_NOW})")
            if int(library) == 0:
                error = gdb.parse_and_eval("((char *(*)(void)) dlerror)()")
                return f"cannot be loaded: {error.string()}"
            start = gdb.parse_and_eval(
                f"((void *(*)(void *, const char *)) dlsym)({int(library):#x}, "
                f'"tally_agent_start")')
            refusal = int(gdb.parse_and_eval(
                f"((int (*)(const char *)) {int(start):#x})({_string(words[1])})"))
            return f"the agent refused to start ({refusal})" if refusal else ""
    except (gdb.error, RuntimeError, AttributeError, UnicodeError) as error:
        return f"cannot be loaded: {error}"
