"""The interface for scripts in GDB's Python; see tally_gdb.coverage()."""

from typing import Dict, List, NamedTuple, Optional, Union

from .runner import Runner
from .script import line_of


class Count(NamedTuple):
    """How often something ran. If `exact` is false, `count` is the least possible number."""

    count: int  # type: ignore[assignment]  # the name of a tuple's method, too
    at_least: bool
    exact: bool


class File(NamedTuple):
    """A row of Coverage.report(by="file")."""

    file: str
    lines: int
    lines_run: int
    functions: int
    functions_run: int
    branches: int
    branches_taken: int


class Function(NamedTuple):
    """A row of Coverage.report(by="function"), for a function that ran."""

    name: str
    file: str
    line: int
    calls: Count
    lines: int
    lines_run: int


class Line(NamedTuple):
    """A row of Coverage.report(by="line"), for a line that ran."""

    file: str
    line: int
    count: Count  # type: ignore[assignment]


class Object(NamedTuple):
    """A row of Coverage.report(by="object")."""

    notes: str  # the path of the object's .gcno file
    module: str  # the path of the program or library that contains the object
    lines: int
    lines_run: int
    functions: int
    functions_run: int
    branches: int
    branches_taken: int


Row = Union[File, Function, Line, Object]
_ROWS = {"file": File, "function": Function, "line": Line, "object": Object}


class Coverage:
    """The coverage counters of the selected inferior, which is stopped. If another one is sampled,
    the methods that read counters fail.

    Each method does the same as the command of its name. It prints nothing, except show(), and
    raises tally_gdb.TallyError with one line of text if the command fails. Call the methods on GDB's
    main thread only."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def report(self, by: str = "file", *, since: Optional[str] = None) -> List[Row]:
        """Returns all rows: a File, Function, Line or Object for each, as `by` says. Functions and
        lines with the largest counts come first. `since` is "mark" or "stop"."""
        table = self._json("report", by=by, since=since, limit=0)
        row = _ROWS[by]
        return [
            row(**{name: _cell(value) for name, value in each.items()}) for each in table[by + "s"]
        ]

    def annotate(self, what: str, *, since: Optional[str] = None) -> Dict:
        """Returns the lines with counts of a function, FILE or FILE:LINE: {"file", "lines":
        [{"line", "count": {"count", "at_least", "exact"}, "stopped"}]}."""
        return self._json("annotate", what, since=since)

    def mark(self) -> str:
        """Remembers the counters as they are now, for since="mark"."""
        return self._text("mark")

    def clear(self) -> str:
        """Forgets the marks."""
        return self._text("clear")

    def status(self) -> Dict[str, Union[str, int]]:
        """Returns what `coverage status --json` prints."""
        return self._json("status")

    def dump(self, path: str, format: Optional[str] = None) -> str:
        """Writes the coverage to a file in `format`, or in the format that the file's name implies;
        or the counters below a directory if `path` ends in a slash."""
        return self._text("dump", path, format=format)

    def set_breakpoints(self, place: Optional[str] = None) -> str:
        """Sets temporary breakpoints on the functions of a file or module that have not run, by
        default of the whole program, as `coverage break` does."""
        return self._text("break", *([] if place is None else [place]))

    def show(self) -> None:
        """Prints the source around the last line that ran, as `coverage list` does."""
        self._text("list")

    def _text(self, command: str, *arguments: str, **options) -> str:
        line = line_of(command, arguments, options)
        return self._runner.run(line, to_console=False, group="coverage").rstrip("\n")

    def _json(self, command: str, *arguments: str, **options) -> Dict:
        return self._runner.run_json(line_of(command, arguments, options), "coverage")


def _cell(value):
    return Count(**value) if isinstance(value, dict) else value
