#!/usr/bin/env python3
"""Compares Tally's unwinder with GDB's frames, at a hundred stops of a running program and at each
instruction of parts of it. From the same registers and stack, both must get the same addresses at
99 of 100 stops; each stop that differs is printed with GDB's names."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import program
from support.skips import need_tools, run_unittests

STOPS = 100
UNWIND_STOPS = os.environ.get("TALLY_UNWIND_STOPS", "")

# The script that GDB runs. It writes the registers and the stack of each stop to one file, a line
# each, and GDB's frames to another.
DRIVER = """
import gdb, os
REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
folder, count = os.environ["STOPS_FOLDER"], int(os.environ["STOPS_COUNT"])
step_in = os.environ["STOPS_STEP_IN"].split()
for line in ("set pagination off", "set confirm off", "set backtrace past-main on",
             "set backtrace limit unlimited", "set debuginfod enabled off",
             "handle SIGPROF stop print nopass", "handle SIGALRM nostop noprint pass"):
    try:
        gdb.execute(line, to_string=True)
    except gdb.error:
        pass
for location in step_in:
    gdb.Breakpoint(location)
    for signal in ("SIGPROF", "SIGALRM"):
        gdb.execute(f"handle {signal} nostop noprint nopass", to_string=True)
gdb.execute("run", to_string=True)
inferior = gdb.selected_inferior()
with open(f"/proc/{inferior.pid}/maps") as maps:
    text = maps.read()
with open(folder + "/maps", "w") as out:
    out.write(text)
limit = next(int(line.split("-")[1].split()[0], 16) for line in text.splitlines()
             if line.endswith("[stack]"))
with open(folder + "/stops", "w") as stops, open(folder + "/frames", "w") as frames:
    for number in range(count):
        frame = gdb.newest_frame()
        values = [int(frame.read_register(name)) % 2 ** 64 for name in REGISTERS]
        sp = values[7]
        stack = bytes(inferior.read_memory(sp, min(65528, limit - sp)))
        print(*(f"{value:x}" for value in values), stack.hex(), file=stops)
        seen = []
        while frame is not None:
            # An inlined frame has the pc of the frame that contains it, and GDB infers tail-call
            # frames from DWARF: neither is on the stack.
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                seen.append(f"{frame.pc():x}={(frame.name() or '?').replace(' ', '')}")
            frame = frame.older()
        print(*seen, file=frames)
        stepped = step_in and (number + 1) % (count // len(step_in)) != 0
        gdb.execute("stepi" if stepped else "continue", to_string=True)
gdb.execute(f"shell '{os.environ['STOPS_UNWIND']}' {folder}/maps {folder}/stops {inferior.pid} "
            f"> {folder}/ours")
gdb.execute("kill")
"""


class Frames(unittest.TestCase):
    def compare(self, name: str, count: int, step_in: tuple[str, ...] = ()) -> None:
        need_tools("gdb")
        with tempfile.TemporaryDirectory(prefix="frames-") as folder:
            driver = os.path.join(folder, "driver.py")
            with open(driver, "w", encoding="utf-8") as out:
                out.write(DRIVER)
            environment = {
                **os.environ,
                "STOPS_FOLDER": folder,
                "STOPS_COUNT": str(count),
                "STOPS_UNWIND": UNWIND_STOPS,
                "STOPS_STEP_IN": " ".join(step_in),
            }
            environment.pop("LD_BIND_NOW", None)
            done = subprocess.run(
                ["gdb", "-nx", "-batch", "-x", driver, program(name)],
                env=environment,
                capture_output=True,
                text=True,
            )
            self.assertTrue(os.path.exists(folder + "/ours"), done.stdout + done.stderr)
            with open(folder + "/frames", encoding="utf-8") as lines:
                theirs = [[word.split("=", 1) for word in line.split()] for line in lines]
            with open(folder + "/ours", encoding="utf-8") as lines:
                ours = [line.split() for line in lines]
        self.assertEqual(len(theirs), count, done.stdout + done.stderr)
        self.assertEqual(len(ours), count)
        equal = interrupted = 0
        reached: set[str] = set()
        for number, (frames, (end, *pcs)) in enumerate(zip(theirs, ours)):
            # Tally's pc of a caller is the return address minus one, except that of a frame that a
            # signal interrupted.
            same = len(pcs) == len(frames) and all(
                int(pc, 16) in (int(at, 16), int(at, 16) - 1) for pc, (at, _) in zip(pcs, frames)
            )
            same &= pcs[0] == frames[0][0] and end == "0"
            equal += same
            interrupted += any("on_alarm" in name for _, name in frames)
            reached.update(name for _, name in frames[:1])
            if not same:
                print(
                    f"stop {number}, end {end}\n  gdb: "
                    + " ".join(f"{at}={name}" for at, name in frames)
                    + "\n  ours: "
                    + " ".join(pcs)
                )
        depth = sorted(len(frames) for frames in theirs)
        print(
            f"{name}: {equal} of {count} equal; {interrupted} in a handler; {depth[0]} to "
            f"{depth[-1]} frames"
        )
        self.assertGreaterEqual(equal, count * 99 // 100)
        for location in step_in:
            self.assertTrue(
                any(location + "(" in at or at.endswith(location) for at in reached), reached
            )
        if not step_in:
            self.assertGreater(interrupted, 0)

    def test_a_hundred_stops(self) -> None:
        self.compare("unwound", 100)

    def test_without_pie(self) -> None:
        self.compare("unwound_nopie", 100)

    def test_rules_in_debug_frame_only(self) -> None:
        self.compare("unwound_debug_frame", 100)

    def test_each_instruction(self) -> None:
        """Covers prologues, epilogues after pops, PLT entries, and the dynamic linker's assembly
        when it binds a function."""
        self.compare("unwound", 1000, ("on_stack", "sorted", "tree", "collected", "timed"))


if __name__ == "__main__":
    run_unittests()
