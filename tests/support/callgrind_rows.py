"""A second reader of Callgrind files, which the tests compare Tally's reader and writer with.

It is kept as simple as possible: one pass, dictionaries, and an error for anything unexpected. It
reads the format as Valgrind writes it, without the leniency of Tally's reader.
"""
from __future__ import annotations

import re
from collections import defaultdict
from operator import add
from typing import DefaultDict, Iterable, NamedTuple

Costs = tuple[int, ...]


class Function(NamedTuple):
    object: str  # "" for ???, as for files
    file: str
    name: str


class SelfKey(NamedTuple):
    function: Function
    file: str  # of the line; differs from the function's file for inlined code
    address: int  # 0 if the file has no addresses; likewise for `line`
    line: int


class ArcKey(NamedTuple):
    caller: Function
    callee: Function
    file: str
    address: int
    line: int


class Arc(NamedTuple):
    calls: int
    costs: Costs


class CallgrindRows:
    """The rows of all parts of a file, summed."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.events: tuple[str, ...] = ()
        self.headers: list[tuple[str, str]] = []  # in order; `desc: NAME: …` is ("desc", "NAME: …")
        self.self_costs: dict[SelfKey, Costs] = {}
        self.arcs: dict[ArcKey, Arc] = {}
        self.stated_totals: list[Costs] = []  # `totals:` of each part
        self.stated_summaries: list[Costs] = []
        self._functions: set[Function] = set()
        self._names: dict[tuple[str, str], str] = {}  # by table and id
        self._base: dict[str, int] = {}  # the base of relative positions, by kind
        self._read(lines)

    def totals(self) -> Costs:
        return self._sum(self.self_costs.values())

    def functions(self) -> set[Function]:
        """Returns the functions that have a cost, a call or a caller."""
        return set(self._functions)

    def self_by_function(self) -> dict[Function, Costs]:
        return self._grouped((key.function, costs) for key, costs in self.self_costs.items())

    def annotate_self(self) -> dict[tuple[str, str], Costs]:
        """Returns (file of the lines, function name) -> self cost, as callgrind_annotate groups."""
        return self._grouped(
            ((key.file, key.function.name), costs) for key, costs in self.self_costs.items()
        )

    def annotate_inclusive(self) -> dict[tuple[str, str], Costs]:
        """Returns inclusive costs as callgrind_annotate computes them: for a function with callers,
        the sum of the calls to it; for one without, its self cost plus the calls it makes, grouped
        by the file of the lines."""
        own = self._grouped(
            [((key.file, key.function.name), costs) for key, costs in self.self_costs.items()]
            + [((key.file, key.caller.name), arc.costs) for key, arc in self.arcs.items()]
        )
        called = self._grouped(
            ((key.callee.file, key.callee.name), arc.costs) for key, arc in self.arcs.items()
        )
        return {**own, **called}

    def arcs_by_function(self) -> dict[tuple[Function, Function], Arc]:
        """Returns (caller, callee) -> calls and inclusive cost, summed over all call sites."""
        calls: DefaultDict[tuple[Function, Function], int] = defaultdict(int)
        for key, arc in self.arcs.items():
            calls[key.caller, key.callee] += arc.calls
        costs = self._grouped(
            ((key.caller, key.callee), arc.costs) for key, arc in self.arcs.items()
        )
        return {pair: Arc(count, costs[pair]) for pair, count in calls.items()}

    def descriptions(self, name: str) -> list[str]:
        """Returns the texts of `desc: NAME: …`, one for each part that has it."""
        return [
            value.partition(":")[2].strip()
            for key, value in self.headers
            if key == "desc" and value.startswith(name + ":")
        ]

    # The methods below parse the file.

    def _sum(self, costs: Iterable[Costs]) -> Costs:
        return tuple(map(sum, zip(*costs))) or (0,) * len(self.events)

    def _grouped(self, pairs: Iterable[tuple]) -> dict:
        groups: DefaultDict[object, list[Costs]] = defaultdict(list)
        for key, costs in pairs:
            groups[key].append(costs)
        return {key: self._sum(costs) for key, costs in groups.items()}

    def _costs(self, words: list[str]) -> Costs:
        if len(words) > len(self.events):
            raise ValueError("more costs than events")
        costs = tuple([int(word, 0) for word in words])
        missing = len(self.events) - len(costs)
        return costs + (0,) * missing if missing else costs

    def _read(self, lines: Iterable[str]) -> None:
        number = 0
        try:
            for number, line in enumerate(lines, 1):
                self._line(line.rstrip("\r\n"))
        except (ValueError, KeyError, AttributeError) as error:
            raise ValueError(f"line {number}: {error}") from error
        if self._calls is not None:
            raise ValueError("calls= without its cost line")

    # The state of the parser.
    _positions: tuple[str, ...] = ("line",)
    _object = _file = _line_file = ""
    _function: Function | None = None
    _last_function: Function | None = None  # the last one with a cost line
    _callee_object: str | None = None
    _callee_file: str | None = None
    _callee: Function | None = None
    _calls: int | None = None
    _after_jump = False
    _self_moves_only = False  # as Valgrind: only self costs move the base of relative positions

    _TABLES = {
        "ob": "ob",
        "cob": "ob",
        "fl": "fl",
        "fi": "fl",
        "fe": "fl",
        "cfi": "fl",
        "cfl": "fl",
        "jfi": "fl",
        "fn": "fn",
        "cfn": "fn",
        "jfn": "fn",
        "frfn": "fn",
    }
    _COST_STARTS = frozenset("+-*0123456789")
    _SKIPPED = ("bb", "ln", "rec")  # lines that Valgrind writes for debugging itself

    def _line(self, line: str) -> None:
        if line[:1] in self._COST_STARTS:  # nearly all lines: hence first
            self._cost_line(line.split())
            return
        if not line.strip() or line.startswith("#"):
            return
        if self._calls is not None:
            raise ValueError("calls= without its cost line")
        if header := re.match(r"([a-z]+): ?(.*)", line):
            self._header(header[1], header[2].strip())
        elif position := re.match(r"([a-z]+)=(.*)", line):
            self._position(position[1], position[2])
        else:
            self._cost_line(line.split())

    def _header(self, key: str, value: str) -> None:
        self.headers.append((key, value))
        if key == "events":
            if self.events and self.events != tuple(value.split()):
                raise ValueError("parts with differing events")
            self.events = tuple(value.split())
        elif key == "positions":
            self._positions = tuple("instr" if word == "addr" else word for word in value.split())
        elif key == "creator":
            self._self_moves_only = value.startswith("callgrind-")
        elif key == "totals":
            self.stated_totals.append(self._costs(value.split()))
        elif key == "summary":
            self.stated_summaries.append(self._costs(value.split()))
        elif key == "version" and value != "1":
            raise ValueError(f"version {value}")

    def _name(self, key: str, text: str) -> str:
        table = self._TABLES[key]
        text = text.lstrip(" \t")  # blanks at the end belong to the name
        compressed = re.fullmatch(r"\((\d+)\)[ \t]*(.*)", text)
        if compressed:
            if definition := compressed[2]:
                if re.match(r"\(\d", definition):  # ids within: (4080)'(4053)
                    # An id that is not defined stands for itself.
                    definition = "'".join(
                        self._names.get((table, piece[1:-1]), piece)
                        if re.fullmatch(r"\((0|[1-9]\d*)\)", piece)
                        else piece
                        for piece in definition.split("'")
                    )
                self._names[table, compressed[1]] = definition
            text = self._names[table, compressed[1]]
        # ??? means an unknown file or object, but stays as it is for a function.
        return "" if text == "???" and table != "fn" else text or ("???" if table == "fn" else "")

    def _position(self, key: str, value: str) -> None:
        if key == "calls":
            if self._callee is None:
                raise ValueError("calls= without cfn=")
            self._calls = int(value.split()[0], 0)
            return
        if key in self._SKIPPED:
            return
        if key in ("jump", "jcnd"):
            self._after_jump = True
            return
        name = self._name(key, value)
        if key == "ob":
            self._object = name
        elif key == "fl":
            self._file = self._line_file = name
        elif key in ("fi", "fe"):
            self._line_file = name
        elif key == "fn":
            self._line_file = self._file
            self._function = Function(self._object, self._file, name)
            self._callee = None
            if self._self_moves_only:
                self._base = {}
        elif key == "cob":
            self._callee_object = name
        elif key in ("cfi", "cfl"):
            self._callee_file = name
        elif key == "cfn":
            self._callee = Function(
                self._object if self._callee_object is None else self._callee_object,
                self._line_file if self._callee_file is None else self._callee_file,
                name,
            )
            self._callee_object = self._callee_file = None

    def _cost_line(self, words: list[str]) -> None:
        if self._function is None:
            raise ValueError("a cost before any fn=")
        if not self.events:
            raise ValueError("a cost before events:")
        if len(words) < len(self._positions):
            raise ValueError("too few positions")
        position = {}
        for kind, word in zip(self._positions, words):
            if word == "*":
                position[kind] = self._base.get(kind, 0)
            elif word[0] in "+-":
                position[kind] = self._base.get(kind, 0) + int(word, 0)
            else:
                position[kind] = int(word, 0)
        is_self = self._calls is None and not self._after_jump
        if is_self or not self._self_moves_only:
            self._base = position
        if self._after_jump:
            self._after_jump = False
            return
        where = (self._line_file, position.get("instr", 0), position.get("line", 0))
        costs = self._costs(words[len(self._positions) :])
        if self._function is not self._last_function:
            self._last_function = self._function
            self._functions.add(self._function)
        if self._calls is None:
            key = SelfKey(self._function, *where)
            before = self.self_costs.get(key)
            self.self_costs[key] = tuple(map(add, before, costs)) if before else costs
            return
        assert self._callee is not None
        arc_key = ArcKey(self._function, self._callee, *where)
        arc = self.arcs.get(arc_key)
        self.arcs[arc_key] = (
            Arc(arc.calls + self._calls, tuple(map(add, arc.costs, costs)))
            if arc
            else Arc(self._calls, costs)
        )
        self._functions.add(self._callee)
        self._calls = None


def read_callgrind(path: str) -> CallgrindRows:
    # surrogateescape, because names may hold any bytes
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return CallgrindRows(file)
