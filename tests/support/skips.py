"""Skips that say why.

A skipped test is printed with its reason: by unittest as it does, by a plain script as the line
`SKIP: reason` and exit status 77, which Meson counts as skipped.
"""
from __future__ import annotations

import ctypes
import os
import shutil
import struct
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


def need_perf() -> None:
    """Skips the unittest case that calls it where the kernel lets nobody sample."""
    perf_event_open = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
    if perf_event_open is None:
        raise unittest.SkipTest(f"samples are not taken on {os.uname().machine}")
    # struct perf_event_attr, PERF_ATTR_SIZE_VER0: software task clock, user space only, disabled.
    attributes = struct.pack("=IIQQQQQ16x", 1, 64, 1, 1_000_000, 1, 0, 0b1100001)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(perf_event_open, attributes, 0, -1, -1, 8)
    if fd < 0:
        raise unittest.SkipTest(f"perf_event_open: {os.strerror(ctypes.get_errno())}")
    os.close(fd)


def need_tools(*names: str) -> None:
    """Skips the unittest case that calls it."""
    reason = missing_tool(*names)
    if reason:
        raise unittest.SkipTest(reason)


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
