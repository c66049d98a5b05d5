"""A second reader of Clang's notes and counters (version 408*). It finds functions whose counters
contradict each other, as happens when longjmp() leaves a function in the middle."""
from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

ON_TREE = 1


@dataclass
class Function:
    name: str
    first_line: int
    block_count: int = 0
    arcs: list[tuple[int, int, int]] = field(default_factory=list)  # source, destination, flags
    lines: set[int] = field(default_factory=set)
    counters: list[int] = field(default_factory=list)

    def flow(self) -> list[int]:
        """Returns the count of each arc, in order, then that of the arc from exit to entry. The
        arcs on the spanning tree have no counter: the method derives them by removing the leaves
        of the tree one by one."""
        arcs = self.arcs + [(1, 0, ON_TREE)]
        counters = iter(self.counters)
        counts = [None if flags & ON_TREE else next(counters) for _, _, flags in arcs]
        balance = [0] * self.block_count
        at: list[set[int]] = [set() for _ in balance]

        def settle(i: int) -> None:
            source, destination, _ = arcs[i]
            balance[source] -= counts[i]
            balance[destination] += counts[i]

        for i, (source, destination, _) in enumerate(arcs):
            if counts[i] is None:
                at[source].add(i)
                at[destination].add(i)
            else:
                settle(i)
        leaves = [block for block, own in enumerate(at) if len(own) == 1]
        while leaves:
            block = leaves.pop()
            if len(at[block]) != 1:
                continue
            i = at[block].pop()
            source, destination, _ = arcs[i]
            counts[i] = balance[block] if source == block else -balance[block]
            settle(i)
            other = destination if source == block else source
            at[other].discard(i)
            leaves.append(other)
        if None in counts:
            raise ValueError(f"{self.name}: the counted arcs do not determine the others")
        return counts

    def contradicts_itself(self) -> bool:
        return any(count < 0 for count in self.flow())


def words_of(path: Path) -> tuple[int, ...]:
    data = path.read_bytes()
    return struct.unpack(f"<{len(data) // 4}I", data)


def records(words: tuple[int, ...]):
    at = 3
    while at < len(words) and words[at] != 0:
        yield words[at], words[at + 2 : at + 2 + words[at + 1]]
        at += 2 + words[at + 1]


def text_at(words: tuple[int, ...], at: int) -> tuple[str, int]:
    end = at + 1 + words[at]
    return struct.pack(f"<{words[at]}I", *words[at + 1 : end]).rstrip(b"\0").decode(), end


def read_functions(notes: Path, data: Path) -> list[Function]:
    functions: dict[int, Function] = {}
    for tag, payload in records(words_of(notes)):
        if tag == 0x01000000:
            name, at = text_at(payload, 3)
            _, at = text_at(payload, at)
            function = functions[payload[0]] = Function(name, payload[at])
        elif tag == 0x01410000:
            function.block_count = len(payload)
        elif tag == 0x01430000:
            function.arcs += [
                (payload[0], payload[i], payload[i + 1]) for i in range(1, len(payload), 2)
            ]
        elif tag == 0x01450000:
            at = 1
            while True:
                if payload[at]:
                    function.lines.add(payload[at])
                    at += 1
                elif payload[at + 1]:
                    _, at = text_at(payload, at + 1)
                else:
                    break
    for tag, payload in records(words_of(data)) if data.exists() else ():
        if tag == 0x01000000 and payload:
            function = functions[payload[0]]
        elif tag == 0x01A10000:
            function.counters = [low | high << 32 for low, high in zip(payload[::2], payload[1::2])]
    return [each for each in functions.values() if each.counters]
