"""Encodes profile.proto field by field, so that tests can write any file, valid or not."""
from __future__ import annotations

from typing import Iterable, Union

Value = Union[int, bytes, str]


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: Value) -> bytes:
    """Encodes a number as a varint, and bytes or text with their length before them."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*fields: tuple[int, Value]) -> bytes:
    return b"".join(field(number, value) for number, value in fields)


def packed(values: Iterable[int]) -> bytes:
    return b"".join(map(varint, values))


class Pprof:
    """Builds a profile. It interns strings; each of the other methods adds one message."""

    def __init__(self) -> None:
        self.top = b""
        self.strings = {"": 0}

    def text(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def add(self, number: int, *fields: tuple[int, Value]) -> "Pprof":
        self.top += field(number, message(*fields))
        return self

    def type(self, name: str, unit: str, number: int = 1) -> "Pprof":
        return self.add(number, (1, self.text(name)), (2, self.text(unit)))

    def function(self, ident: int, name: str, file: str = "", line: int = 0) -> "Pprof":
        return self.add(5, (1, ident), (2, self.text(name)), (4, self.text(file)), (5, line))

    def mapping(self, ident: int, start: int, limit: int, path: str) -> "Pprof":
        return self.add(3, (1, ident), (2, start), (3, limit), (5, self.text(path)))

    def location(
        self, ident: int, mapping: int, address: int, lines: Iterable[tuple[int, int]] = ()
    ) -> "Pprof":
        return self.add(
            4,
            (1, ident),
            (2, mapping),
            (3, address),
            *((4, message((1, function), (2, line))) for function, line in lines),
        )

    def sample(
        self,
        stack: Iterable[int],
        values: Iterable[int],
        labels: dict[str, Union[int, str]] | None = None,
    ) -> "Pprof":
        stated = (
            (
                3,
                message(
                    (1, self.text(key)),
                    (2, self.text(value)) if isinstance(value, str) else (3, value),
                ),
            )
            for key, value in (labels or {}).items()
        )
        return self.add(2, (1, packed(stack)), (2, packed(values)), *stated)

    def bytes(self) -> bytes:
        return self.top + b"".join(field(6, text) for text in self.strings)
