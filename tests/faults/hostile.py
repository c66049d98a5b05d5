#!/usr/bin/env python3
"""Samples a program that lies to its sampler, in GDB, and presses Ctrl-C at random times.

    hostile.py [--seconds N] [--seed S] BUILD

BUILD is a build directory. For ten minutes, GDB runs tests/programs/hostile.c with one seed after the
other by the agent, with each kind of stacks. The prompt must come back, the commands must answer, the
program must end, and so must GDB. Prints the longest time from Ctrl-C to the prompt, and each finding
with its seed. The status is 1 if there are findings.
"""
from __future__ import annotations

import argparse
import os
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
BROKEN = (
    "Traceback",
    "Python Exception",
    "internal-error",
    "Aborted",
    "terminate called",
    "Undefined",
)


def play(seed: int, chance: random.Random) -> float:
    """Runs one program. Returns the time from Ctrl-C to the prompt in seconds; raises AssertionError."""
    from support.gdb_driver import GdbTerminal
    from support.programs import program

    with GdbTerminal(program("hostile"), ["2", str(seed)], timeout_s=60) as gdb:
        gdb.command(
            "profile start --backend agent --stacks " + chance.choice(["none", "fp", "dwarf"])
        )
        gdb.send("run")
        gdb.expect("plays\n")
        time.sleep(chance.uniform(0, 1.5))
        pressed = time.monotonic()
        gdb.interrupt()
        gdb.expect_prompt()
        took = time.monotonic() - pressed
        for command in ("status", "report --limit 3", "tree --limit 3"):
            gdb.command(f"profile {command}")
        ended = gdb.command("continue")
        gdb.command("profile report --by thread --limit 3")
        gdb.send("quit")
        status = gdb.wait()
        assert status == 0 and "exited normally" in ended, gdb.transcript
        assert not any(word in gdb.transcript for word in BROKEN), gdb.transcript
    return took


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("build", type=Path)
    options = parser.parse_args()
    build = options.build.resolve()
    os.environ.update(
        TALLY_PROGRAMS=str(build / "tests" / "programs"),
        TALLY_GDB=str(Path(__file__).resolve().parents[2] / "gdb" / "tally.py"),
        TALLY_LIBRARY=str((build / "lib" / "libtally.so").resolve()),
        TALLY_AGENT_LIBRARY=str(build / "lib" / "src" / "agent" / "libtally-agent.so"),
        TALLY_BUILD_ROOT=str(build),
        DEBUGINFOD_URLS="",
    )
    chance = random.Random(options.seed)
    end = time.monotonic() + options.seconds
    times, findings = [], 0
    for seed in range(options.seed, sys.maxsize):
        if time.monotonic() > end:
            break
        try:
            times.append(play(seed, chance))
        except AssertionError as error:
            findings += 1
            print(f"seed {seed}: {str(error)[-2000:]}")
    print(
        f"hostile: {len(times)} programs, {findings} findings, the prompt after at most "
        f"{max(times, default=0):.2f} s"
    )
    return 1 if findings else 0


sys.exit(main())
