"""What the program `waits` printed about its own waits, to compare a profile with."""
from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Way:
    """One way of waiting; times are in ns."""

    waits: int
    waited: int
    cpu: int  # of its thread
    life: int  # of its thread, from before its creation on
    own_life: int  # of its thread, from its first instruction on


def ways_of(output: str) -> dict[str, Way]:
    """Returns the ways by the names of their functions."""
    words = [line.split() for line in output.splitlines() if line.startswith(("wait ", "thread "))]
    own = {word[1]: [int(each) for each in word[2:]] for word in words if word[0] == "wait"}
    threads = {word[1]: [int(each) for each in word[2:]] for word in words if word[0] == "thread"}
    return {name: Way(*own[name], *threads[name]) for name in own}
