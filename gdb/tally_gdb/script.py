"""The interface for scripts in GDB's Python; see tally_gdb.profile()."""

from typing import Dict, List, NamedTuple, Optional, Union

from .runner import Runner, quoted


class Row(NamedTuple):
    """A row of Profile.report(). Unknown texts are "", unknown numbers are 0."""

    name: str  # the name of the function or thread, or the event that ended the part
    file: str  # the file of the line, or of the function's declaration
    object: str  # the program or library
    line: int  # the line, or the line of the function's declaration
    id: int  # the number of the thread or part
    self: int  # samples in the row's own code
    inclusive: int  # samples whose stack contains the row


class Profile:
    """The profile that was sampled in this GDB, or was loaded from a file.

    Each method does the same as the command of its name. It prints nothing, and raises
    tally_gdb.TallyError with one line of text if the command fails. Call the methods on GDB's main
    thread only, like all of GDB's Python functions."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def start(
        self,
        *,
        frequency: Optional[int] = None,
        stacks: Optional[str] = None,
        clock: Optional[str] = None,
        backend: Optional[str] = None,
    ) -> str:
        """Begins to sample the current process, or the next one if there is none. Arguments default
        to the values of `set profile`. Returns a line that describes the sampling."""
        return self._text("start", frequency=frequency, stacks=stacks, clock=clock, backend=backend)

    def stop(self) -> str:
        """Ends sampling and keeps the samples."""
        return self._text("stop")

    def clear(self) -> str:
        """Discards the loaded profile if there is one, otherwise the samples."""
        return self._text("clear")

    def load(self, path: str) -> str:
        """Loads a profile from a file. It replaces the sampled profile in reports until clear()."""
        return self._text("load", path)

    def dump(self, path: str, format: Optional[str] = None, *, parts: bool = False) -> str:
        """Writes the profile to a file in `format`, or in the format that the file's name implies.
        Returns lines that describe what was written and what the format cannot represent."""
        return self._text("dump", path, format=format, parts=parts)

    def status(self) -> Dict[str, Union[str, int, float]]:
        """Returns the lines of `profile status` by name. Counts and "4096 bytes" are of type int,
        "3.21 s" is the float 3.21, and other values are text."""
        self._text("status")  # the command first updates the session from GDB's state
        return {name: _value(text) for name, text in self._runner.session.status().items()}

    @property
    def samples(self) -> int:
        """The number of samples collected so far."""
        return int(self.status()["samples"])

    @property
    def lost(self) -> int:
        """The number of samples that could not be taken or kept."""
        return int(self.status()["lost"])

    def report(self, by: str = "function", sort: str = "self") -> List[Row]:
        """Returns all rows, the most expensive first. `by` is function, line, object, thread or
        part; `sort` is self or inclusive. If a loaded file has several events, only the first one
        is reported."""
        # The command fails if there are no samples. It also looks up the names, some of them in
        # GDB, and the session keeps them for the table.
        self._text("report", by=str(by), sort=str(sort), limit=1)
        table = self._runner.report(by, sort)
        return [Row(*cells) for cells in zip(*(table[name] for name in Row._fields))]

    def tree(
        self, function: Optional[str] = None, *, callers: bool = False, limit: Optional[int] = None
    ) -> Dict:
        """Returns the call tree as `profile tree --json` prints it: {"events", "totals", "tree":
        [node], "left_out"}. A node is {"name", "file", "object", "self", "inclusive", "calls",
        "estimated", "recursive", "children": [node]}. Costs are lists with an item per event. With
        a function and without `callers`, "callers" is a tree of its callers."""
        return self._json(
            "tree", *([] if function is None else [function]), callers=callers, limit=limit
        )

    def annotate(self, what: str) -> Dict:
        """Returns the annotated source of a function, FILE or FILE:LINE: {"events", "totals",
        "files": [{"file", "source", "self", "lines": [{"line", "text", "self", "inclusive",
        "calls"}]}]}."""
        return self._json("annotate", what)

    def timeline(self, *, width: Optional[int] = None, limit: Optional[int] = None) -> Dict:
        """Returns when each thread ran: {"axis": {"from_ns", "to_ns", "cells"}, "threads": [{"tid",
        "name", "running", "waiting", "queued"}], "parts": […]}, with a number for each cell."""
        return self._json("timeline", width=width, limit=limit)

    def histogram(self, what: Optional[str] = None, *, scale: Optional[int] = None) -> Dict:
        """Returns a histogram of the addresses LOW-HIGH or of a function: {"object", "event",
        "total", "outside", "bins": [{"low", "high", "ticks", "function", "lines"}]}. Bins without
        a tick are left out."""
        return self._json("histogram", *([] if what is None else [what]), scale=scale)

    def diff(self, before: str = "previous", *, limit: Optional[int] = None) -> Dict:
        """Returns what has changed since the profile of a file, or of the previous run, as `profile
        diff --json` prints it."""
        return self._json("diff", before, limit=limit)

    def _text(self, command: str, *arguments: str, **options) -> str:
        return self._runner.run(line_of(command, arguments, options), to_console=False).rstrip("\n")

    def _json(self, command: str, *arguments: str, **options) -> Dict:
        return self._runner.run_json(line_of(command, arguments, options))


def line_of(command: str, arguments, options: Dict) -> str:
    """Returns the line of a command. An option that is None or False is left out."""
    words = list(arguments)
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not None and value is not False:
            words += [f"--{name}", value]
    return f"{command} {quoted(words)}"


def _value(text: str) -> Union[str, int, float]:
    if text.isdecimal():
        return int(text)
    number, _, unit = text.partition(" ")
    if unit == "bytes" and number.isdecimal():
        return int(number)
    try:
        return float(number) if unit == "s" else text
    except ValueError:
        return text
