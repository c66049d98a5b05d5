"""Runs a program by `tally record --backend agent`, which plays the debugger's part."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line, program


class Recorded(NamedTuple):
    status: int  # the exit status of tally
    out: str
    messages: str
    stacks: dict[str, int]

    def samples(self) -> int:
        """Returns the number of samples that were taken."""
        return sum(
            count for stack, count in self.stacks.items() if not stack.endswith("[not sampled]")
        )

    def of(self, *functions: str) -> int:
        """Returns the number of samples whose stack holds all of these functions."""
        return sum(
            count for stack, count in self.stacks.items() if set(functions) <= set(stack.split(";"))
        )

    def number(self, name: str) -> int:
        """Returns the number N of a line `name N` that the program printed."""
        found = re.search(rf"^{name} (\d+)$", self.out, re.MULTILINE)
        assert found, (name, self.out, self.messages)
        return int(found[1])

    def summary(self) -> tuple[int, float, int]:
        """Returns samples, CPU seconds, and lost samples."""
        found = re.search(r"(\d+) samples in ([0-9.]+) s of CPU time, (\d+) lost", self.messages)
        assert found, self.messages
        return int(found[1]), float(found[2]), int(found[3])


def record(
    *command: str,
    perf: bool = False,
    frequency: int = 1000,
    backend: str = "agent",
    environment: dict | None = None,
) -> Recorded:
    refused = [] if perf else [program("seccomp_run"), "eperm"]
    with tempfile.TemporaryDirectory(prefix="agent-") as folder:
        path = os.path.join(folder, "out.folded")
        done = subprocess.run(
            [
                *refused,
                command_line(),
                "record",
                "--backend",
                backend,
                "-F",
                str(frequency),
                "-o",
                path,
                "--",
                program(command[0]),
                *command[1:],
            ],
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
        stacks: dict[str, int] = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    stack, count = line.rsplit(" ", 1)
                    stacks[stack] = int(count)
        assert not any("tally_agent" in stack for stack in stacks), stacks  # it has no frames
    return Recorded(done.returncode, done.stdout, done.stderr, stacks)
