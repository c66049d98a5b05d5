"""Reports the modules and the memory of a program that only GDB can read."""

import os
import re
from typing import Iterator, List, Optional, Sequence, Tuple, Union

import gdb

from .console import FAULTS
from .session import Refused

# The lines of `info files`. GDB names no file beside the sections of the program itself.
_CORE = re.compile(r"Local core dump file:\n\t`(.+)', file type ")
_SECTION = re.compile(r"^\t(0x[0-9a-f]+) - 0x[0-9a-f]+ is (\S+)(?: in (.+))?$", re.MULTILINE)


def _on_this_machine(path: str) -> str:
    """Returns the path of a file that GDB reads from the target, if this machine has it, too."""
    return path[len("target:") :] if path.startswith("target:") else path


def _sections(text: str, program: str) -> Iterator[Tuple[int, str, str]]:
    seen = set()
    for address, section, path in _SECTION.findall(text):
        path = path or program
        if path in seen or not section.startswith(".") or "system-supplied" in path:
            continue
        seen.add(path)
        yield int(address, 16), section, _on_this_machine(path)


def listing() -> Union[str, List[Tuple[int, str, str]]]:
    """Returns what GdbPerformer.modules() does."""
    text = gdb.execute("info files", to_string=True) or ""
    core = _CORE.search(text)
    if core and os.path.isabs(core.group(1)):
        return str(core.group(1))
    program = gdb.selected_inferior().progspace.filename
    if not program:
        raise Refused(0, "GDB has no executable file: use the command `file`")
    executable = text.find("Local exec file:")
    return list(_sections(text[max(executable, 0) :], program))


def memory(ranges: Sequence[Tuple[int, int]]) -> List[Optional[bytes]]:
    """Returns what GdbPerformer.memory() does."""
    inferior = gdb.selected_inferior()
    contents: List[Optional[bytes]] = []
    for low, high in ranges:
        try:
            contents.append(bytes(inferior.read_memory(low, high - low)))
        except FAULTS:
            if not inferior.pid:
                raise Refused(0, "the connection to the target is lost") from None
            contents.append(None)
    return contents
