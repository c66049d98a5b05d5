"""Skips tests with a reason.

A skipped test prints its reason: unittest in its own way, a plain script as the line `SKIP: reason`
with exit status 77, which Meson counts as skipped.
"""
from __future__ import annotations

import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest
from typing import Any, NoReturn

SKIP_STATUS = 77
LARGE = "TALLY_LARGE" in os.environ


def skip_script(reason: str) -> NoReturn:
    """Ends a test that is a plain script, as skipped."""
    print(f"SKIP: {reason}", flush=True)
    sys.exit(SKIP_STATUS)


def missing_tool(*names: str) -> str | None:
    """Returns why a test that runs these tools must be skipped, or None if all are installed."""
    absent = [name for name in names if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


def _perf_event_open(attributes: bytes) -> int:
    """Opens an event for this process on any processor. The descriptor is closed by exec. Returns
    the descriptor, or -1 with errno set."""
    number = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
    if number is None:
        raise unittest.SkipTest(f"sampling is not supported on {os.uname().machine}")
    return ctypes.CDLL(None, use_errno=True).syscall(number, attributes, 0, -1, -1, 8)


def _why_no_clock(flags: int) -> str | None:
    # A struct perf_event_attr of PERF_ATTR_SIZE_VER0: the software task clock. Bit 0 of the flags
    # is `disabled`.
    attributes = struct.pack("=IIQQQQQ16x", 1, 64, 1, 1_000_000, 1, 0, flags | 1)
    fd = _perf_event_open(attributes)
    if fd < 0:
        return os.strerror(ctypes.get_errno())
    os.close(fd)
    return None


def need_perf() -> None:
    """Skips the calling unittest case if the kernel does not permit sampling at all."""
    user_space_only = 0b1100000
    if reason := _why_no_clock(user_space_only):
        raise unittest.SkipTest(f"perf_event_open: {reason}")


def perf_samples_the_kernel() -> bool:
    """Returns whether perf may sample the kernel. If it may not, because the user is unprivileged,
    Tally samples user code only and says so."""
    return _why_no_clock(0) is None


def need_kernel_samples() -> None:
    """Skips the calling unittest case if perf may not sample the kernel."""
    if not perf_samples_the_kernel():
        raise unittest.SkipTest("perf may not sample the kernel here")


def need_hardware_watchpoints() -> None:
    """Skips the calling unittest case if hardware watchpoints can be set but never fire, as under
    some hypervisors. Debuggers use them without verifying that they work."""
    watched = ctypes.c_int()
    # A struct perf_event_attr of PERF_ATTR_SIZE_VER1: a breakpoint on writes, user space only.
    attributes = struct.pack("=II32xQIIQQ", 5, 72, 0b1100000, 0, 2, ctypes.addressof(watched), 4)
    fd = _perf_event_open(attributes)
    if fd < 0:
        raise unittest.SkipTest(f"cannot set a watchpoint: {os.strerror(ctypes.get_errno())}")
    watched.value = 1
    count = int.from_bytes(os.read(fd, 8), sys.byteorder)
    os.close(fd)
    if count == 0:
        raise unittest.SkipTest("hardware watchpoints never fire on this machine")


def need_tools(*names: str) -> None:
    """Skips the calling unittest case if one of the tools is not installed."""
    reason = missing_tool(*names)
    if reason:
        raise unittest.SkipTest(reason)


def need_version(tool: str, version: str) -> None:
    """Skips the calling unittest case if the version of the tool does not begin with `version`."""
    need_tools(tool)
    done = subprocess.run([tool, "--version"], stdout=subprocess.PIPE, text=True, check=False)
    found = re.search(r"\d[\w.]*", done.stdout)
    if found is None or not found[0].startswith(version):
        installed = found[0] if found else "unknown"
        raise unittest.SkipTest(
            f"{tool} has version {installed}: only Debian 12's, {version}*, decides"
        )


def bound_by_permissions() -> list[str]:
    """Returns words to put before a command so that file permissions bind it even if it runs as
    root. It stays root, because another user may be unable to enter the build directory. Skips the
    calling unittest case if root cannot drop the capabilities that override permissions."""
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
        raise unittest.SkipTest("root cannot drop its capabilities: " + done.stderr.strip())
    return words


def large(case: Any) -> Any:
    """Marks a case, or all of a class, that takes many seconds, or needs one of the large packages of
    packages.sh. With TALLY_LARGE in the environment, run_unittests() runs only these cases, otherwise
    only the others.
    """
    case.large = True
    return case


class _Loader(unittest.TestLoader):
    def getTestCaseNames(self, testCaseClass: type) -> list[str]:
        return [
            name
            for name in super().getTestCaseNames(testCaseClass)
            if LARGE
            == (hasattr(testCaseClass, "large") or hasattr(getattr(testCaseClass, name), "large"))
        ]


def run_unittests() -> NoReturn:
    """Runs unittest.main() for Meson: prints each skip on its own line, and exits with status 77 if
    every case was skipped."""
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2)
    program = unittest.main(module="__main__", testRunner=runner, testLoader=_Loader(), exit=False)
    result = program.result
    for case, reason in result.skipped:
        print(f"SKIP: {case.id()}: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun == 0 or len(result.skipped) == result.testsRun:
        sys.exit(SKIP_STATUS)
    sys.exit(0)
