"""`profile`, for scripts in GDB's Python: see tally_gdb.profile()."""

from typing import Dict, List, NamedTuple, Optional, Union

from .runner import Runner, quoted


class Row(NamedTuple):
    """Of Profile.report(). Texts are "" and numbers 0 where they are not known."""

    name: str  # of the function; of the thread; of what ended the part
    file: str  # of the function's declaration; by line: of the line
    object: str  # the program or library
    line: int  # by line: the line; by function: where it is declared
    id: int  # by thread: its number; by part: the same
    self: int  # samples in the row's own code
    inclusive: int  # samples whose stack holds the row


class Profile:
    """What was sampled in this GDB, or was loaded from a file.

    Each method does what the command of its name does, and raises tally_gdb.TallyError, with one
    line of text, where that refuses. Nothing is printed. Use it on GDB's own thread, as all of
    GDB's Python."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def start(self, *, frequency: Optional[int] = None, stacks: Optional[str] = None,
              clock: Optional[str] = None, backend: Optional[str] = None) -> str:
        """Begins to sample this process or the next; what is not told is as `set profile` has it.
        Returns the line that says how."""
        return self._text("start", frequency=frequency, stacks=stacks, clock=clock,
                          backend=backend)

    def stop(self) -> str:
        """Ends sampling; what was collected stays."""
        return self._text("stop")

    def clear(self) -> str:
        """Forgets what was loaded; else, what was collected."""
        return self._text("clear")

    def load(self, path: str) -> str:
        """Shows a file's profile in place of what was sampled, until clear()."""
        return self._text("load", path)

    def dump(self, path: str, format: Optional[str] = None, *, parts: bool = False) -> str:
        """Writes a file, in the format that its name calls for, or the one named. Returns lines
        that tell what was written, and what the format cannot hold."""
        return self._text("dump", path, format=format, parts=parts)

    def status(self) -> Dict[str, Union[str, int, float]]:
        """The lines of `profile status`: counts and "4096 bytes" as int, "3.21 s" as the
        float 3.21, else text."""
        self._text("status")  # GDB is looked at first
        return {name: _value(text) for name, text in self._runner.session.status().items()}

    @property
    def samples(self) -> int:
        """Collected so far."""
        return int(self.status()["samples"])

    @property
    def lost(self) -> int:
        """Samples that could not be taken or kept."""
        return int(self.status()["lost"])

    def report(self, by: str = "function", sort: str = "self") -> List[Row]:
        """All rows, the costliest first; by: function, line, object, thread or part; sort: self or
        inclusive. Of a file with several events, the first."""
        # Looks the names up, also by GDB, and refuses where there is nothing; they are kept.
        self._text("report", by=by, sort=sort, limit=1)
        table = self._runner.session.report(by, sort)
        return [Row(*cells) for cells in zip(*(table[name] for name in Row._fields))]

    def tree(self, function: Optional[str] = None, *, callers: bool = False,
             limit: Optional[int] = None) -> Dict:
        """The call tree, as `profile tree --json` prints it: {"events", "totals", "tree": [node],
        "left_out"}, a node being {"name", "file", "object", "self", "inclusive", "calls",
        "estimated", "recursive", "children": [node]}; costs are lists, one for each event."""
        return self._json("tree", *([] if function is None else [function]), callers=callers,
                          limit=limit)

    def annotate(self, what: str) -> Dict:
        """A function, FILE or FILE:LINE: {"events", "totals", "files": [{"file", "source", "self",
        "lines": [{"line", "text", "self", "inclusive", "calls"}]}]}."""
        return self._json("annotate", what)

    def histogram(self, what: Optional[str] = None, *, scale: Optional[int] = None) -> Dict:
        """LOW-HIGH or a function: {"object", "event", "total", "outside", "bins": [{"low", "high",
        "ticks", "function", "lines"}]}; bins without a tick are left out."""
        return self._json("histogram", *([] if what is None else [what]), scale=scale)

    def diff(self, before: str = "previous", *, limit: Optional[int] = None) -> Dict:
        """What changed since a file's profile, or the last run's, as `profile diff --json` prints
        it."""
        return self._json("diff", before, limit=limit)

    def _text(self, command: str, *arguments: str, **options) -> str:
        return self._runner.run(_line(command, arguments, options), to_console=False).rstrip("\n")

    def _json(self, command: str, *arguments: str, **options) -> Dict:
        return self._runner.run_json(_line(command, arguments, options))


def _line(command: str, arguments, options: Dict) -> str:
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
