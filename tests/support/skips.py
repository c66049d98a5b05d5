"""Skips that say why.

A skipped test is printed with its reason: by unittest as it does, by a plain script as the line
`SKIP: reason` and exit status 77, which Meson counts as skipped.
"""
from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
import unittest
from typing import NoReturn

SKIP_STATUS = 77


def skip_script(reason: str) -> NoReturn:
    """Ends a test that is a plain script."""
    print(f"SKIP: {reason}", flush=True)
    sys.exit(SKIP_STATUS)


def missing_tool(*names: str) -> str | None:
    """Why a test that runs these tools must be skipped; None when all are there."""
    absent = [name for name in names if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


def _perf_event_open(attributes: bytes) -> int:
    """Of this process, on any processor, closed by an exec."""
    number = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
    if number is None:
        raise unittest.SkipTest(f"samples are not taken on {os.uname().machine}")
    return ctypes.CDLL(None, use_errno=True).syscall(number, attributes, 0, -1, -1, 8)


def _why_no_clock(flags: int) -> str | None:
    # struct perf_event_attr, PERF_ATTR_SIZE_VER0: software task clock; bit 0 of the flags: disabled.
    attributes = struct.pack("=IIQQQQQ16x", 1, 64, 1, 1_000_000, 1, 0, flags | 1)
    fd = _perf_event_open(attributes)
    if fd < 0:
        return os.strerror(ctypes.get_errno())
    os.close(fd)
    return None


def need_perf() -> None:
    """Skips the unittest case that calls it where the kernel lets nobody sample."""
    user_space_only = 0b1100000
    if reason := _why_no_clock(user_space_only):
        raise unittest.SkipTest(f"perf_event_open: {reason}")


def perf_samples_the_kernel() -> bool:
    """Where it does not, unprivileged, Tally samples user code only and says so."""
    return _why_no_clock(0) is None


def need_kernel_samples() -> None:
    """Skips the unittest case that calls it."""
    if not perf_samples_the_kernel():
        raise unittest.SkipTest("perf may not sample the kernel here")


def need_hardware_watchpoints() -> None:
    """Skips the unittest case that calls it where they are set and never fire, as some hypervisors
    have it. Debuggers use them without asking."""
    watched = ctypes.c_int()
    # struct perf_event_attr, PERF_ATTR_SIZE_VER1: a breakpoint, writes, user space only.
    attributes = struct.pack("=II32xQIIQQ", 5, 72, 0b1100000, 0, 2, ctypes.addressof(watched), 4)
    fd = _perf_event_open(attributes)
    if fd < 0:
        raise unittest.SkipTest(f"no hardware watchpoint: {os.strerror(ctypes.get_errno())}")
    watched.value = 1
    count = int.from_bytes(os.read(fd, 8), sys.byteorder)
    os.close(fd)
    if count == 0:
        raise unittest.SkipTest("hardware watchpoints never fire on this machine")


def need_tools(*names: str) -> None:
    """Skips the unittest case that calls it."""
    reason = missing_tool(*names)
    if reason:
        raise unittest.SkipTest(reason)


def bound_by_permissions() -> list[str]:
    """Words before a command that reads and writes only what file permissions allow, also for root,
    who stays root: another user may be unable to enter the folder of the build. Skips the unittest
    case that calls it where root cannot give up the right to pass over permissions."""
    if os.geteuid() != 0:
        return []
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        effective = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    if effective & 0b110 == 0:  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        return []
    need_tools("setpriv")
    names = "-dac_override,-dac_read_search"
    words = ["setpriv", f"--inh-caps={names}", f"--bounding-set={names}"]
    done = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise unittest.SkipTest("root passes over permissions: " + done.stderr.strip())
    return words


def run_unittests() -> NoReturn:
    """unittest.main() for Meson: each skip on a line of its own; 77 when every case was skipped."""
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2)
    program = unittest.main(module="__main__", testRunner=runner, exit=False)
    result = program.result
    for case, reason in result.skipped:
        print(f"SKIP: {case.id()}: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun == 0 or len(result.skipped) == result.testsRun:
        sys.exit(SKIP_STATUS)
    sys.exit(0)
