"""The part of GDB's Python module that the plug-in uses, for mypy. It follows GDB's manual, "Python
API"; a comment names what some of the supported GDBs lack."""
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

STDERR: int
COMMAND_DATA: int
COMPLETE_LOCATION: int
PARAM_ENUM: int
PARAM_STRING_NOESCAPE: int
INLINE_FRAME: int
SIGTRAMP_FRAME: int
TYPE_CODE_FUNC: int

class error(RuntimeError): ...
class GdbError(Exception): ...

class Type:
    code: int
    def strip_typedefs(self) -> Type: ...

class Value:
    def __init__(self, value: Union[bool, int, float, str]) -> None: ...
    type: Type
    address: Optional[Value]
    def __int__(self) -> int: ...
    def string(self) -> str: ...

class Symtab:
    filename: str

class Symtab_and_line:
    symtab: Optional[Symtab]
    pc: int
    last: Optional[int]
    line: int

class Symbol:
    print_name: str
    symtab: Symtab

class Block:
    function: Optional[Symbol]
    superblock: Optional[Block]
    start: int
    end: int
    is_global: bool
    is_static: bool

class Architecture:
    def name(self) -> str: ...
    def disassemble(
        self, start_pc: int, end_pc: int = ..., count: int = ...
    ) -> List[Dict[str, Any]]: ...

class Frame:
    def name(self) -> Optional[str]: ...
    def pc(self) -> int: ...
    def type(self) -> int: ...
    def older(self) -> Optional[Frame]: ...
    def find_sal(self) -> Symtab_and_line: ...
    def read_register(self, register: str) -> Value: ...
    def architecture(self) -> Architecture: ...
    def select(self) -> None: ...
    def is_valid(self) -> bool: ...

class Progspace:
    filename: Optional[str]

class TargetConnection:
    type: str

class Inferior:
    num: int
    pid: int
    progspace: Progspace
    connection: Optional[TargetConnection]
    arguments: Optional[str]  # GDB 14
    def threads(self) -> Tuple[InferiorThread, ...]: ...
    def read_memory(self, address: int, length: int) -> memoryview: ...
    def architecture(self) -> Architecture: ...

class InferiorThread:
    num: int
    name: Optional[str]
    ptid: Tuple[int, int, int]
    inferior: Inferior
    def switch(self) -> None: ...
    def is_running(self) -> bool: ...

class BreakpointLocation:  # GDB 13
    enabled: bool
    address: Optional[int]
    thread_groups: Optional[Sequence[int]]

class Breakpoint:
    number: int
    type: int
    enabled: bool
    silent: bool
    condition: Optional[str]
    ignore_count: int
    hit_count: int
    thread: Optional[int]
    commands: Optional[str]
    locations: Sequence[BreakpointLocation]  # GDB 13
    def __init__(
        self, spec: str = ..., *, internal: bool = ..., source: str = ..., line: str = ...
    ) -> None: ...
    def delete(self) -> None: ...
    def stop(self) -> bool: ...

class Command:
    def __init__(
        self, name: str, command_class: int, completer_class: int = ..., prefix: bool = ...
    ) -> None: ...
    def dont_repeat(self) -> None: ...

class Parameter:
    value: Any
    def __init__(
        self,
        name: str,
        command_class: int,
        parameter_class: int,
        enum_sequence: Sequence[str] = ...,
    ) -> None: ...

class Function:
    def __init__(self, name: str) -> None: ...

class MICommand:  # GDB 12
    def __init__(self, name: str) -> None: ...

class Event: ...

class ThreadEvent(Event):
    inferior_thread: Optional[InferiorThread]

class ContinueEvent(ThreadEvent): ...
class StopEvent(ThreadEvent): ...

class SignalEvent(StopEvent):
    stop_signal: str

class BreakpointEvent(StopEvent):
    breakpoints: Sequence[Breakpoint]

class ExitedEvent(Event):
    inferior: Inferior
    exit_code: int  # missing if the process was killed

class InferiorCallPreEvent(Event): ...

class EventRegistry:
    def connect(self, handler: Callable[..., object]) -> None: ...

class _Events:
    cont: EventRegistry
    stop: EventRegistry
    exited: EventRegistry
    inferior_call: EventRegistry
    before_prompt: EventRegistry
    clear_objfiles: EventRegistry
    new_objfile: EventRegistry
    breakpoint_created: EventRegistry
    breakpoint_modified: EventRegistry
    breakpoint_deleted: EventRegistry
    gdb_exiting: EventRegistry  # GDB 13
    connection_removed: EventRegistry

events: _Events

def execute(command: str, from_tty: bool = ..., to_string: bool = ...) -> Optional[str]: ...
def write(string: str, stream: int = ...) -> None: ...
def flush() -> None: ...
def post_event(event: Callable[[], object]) -> None: ...
def parameter(name: str) -> Any: ...
def host_charset() -> str: ...  # GDB 12
def convenience_variable(name: str) -> Any: ...
def set_convenience_variable(name: str, value: Union[None, int, str, Value]) -> None: ...
def parse_and_eval(expression: str) -> Value: ...
def breakpoints() -> Sequence[Breakpoint]: ...
def inferiors() -> Tuple[Inferior, ...]: ...
def selected_inferior() -> Inferior: ...

class Record:
    method: str

def current_recording() -> Optional[Record]: ...
def selected_thread() -> Optional[InferiorThread]: ...
def selected_frame() -> Frame: ...
def newest_frame() -> Frame: ...
def find_pc_line(pc: int) -> Symtab_and_line: ...
def block_for_pc(pc: int) -> Optional[Block]: ...
def decode_line(
    expression: str,
) -> Tuple[Optional[str], Optional[Tuple[Symtab_and_line, ...]]]: ...
def solib_name(address: int) -> Optional[str]: ...
