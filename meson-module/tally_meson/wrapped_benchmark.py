# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Measures a benchmark as a wrapper of `meson test`. It is run as a program:

    wrapped_benchmark.py FOLDER COLLECTOR-OR-VALGRIND HZ -- COMMAND...

HZ is 0 for Valgrind. Run N is recorded as FOLDER/N.pb.gz, or as FOLDER/N.PID.callgrind for each
process. The status is that of the benchmark.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import typing as T

if __name__ == "__main__":  # the wrapper runs outside of the package
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tally_meson.wrapped_test import claimed, end_as


def _sampled(collector: str, out: str, hertz: str, command: T.List[str]) -> int:
    """Samples the command, and returns its status as subprocess does. The collector's messages are
    separated from what the command prints: the command gets standard error by descriptor 3."""
    os.dup2(2, 3)
    done = subprocess.run(
        [collector, "record", "-F", hertz, "-o", f"{out}.pb.gz", "--"]
        + ["sh", "-c", 'exec "$@" 2>&3 3>&-', "sh", *command],
        check=False,
        pass_fds=[3],
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    exited = re.search(r"exited, status (\d+)", done.stderr)
    if exited:
        return int(exited[1])
    ended = re.search(r"ended by (SIG\w+)", done.stderr)
    if ended:
        return -int(getattr(signal, ended[1], signal.SIGKILL))
    sys.stderr.write(done.stderr)
    return 127


def _counted(valgrind: str, out: str, command: T.List[str]) -> int:
    out = out.replace("%", "%%")
    return subprocess.run(
        [valgrind, "-q", "--tool=callgrind", "--trace-children=yes"]
        + [f"--callgrind-out-file={out}.%p.callgrind", *command],
        check=False,
    ).returncode


def main() -> int:
    folder, tool, hertz, *words = sys.argv[1:]
    command = words[words.index("--") + 1 :]
    out = claimed(folder, [sys.executable, *sys.argv])
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)
    try:
        status = (
            _counted(tool, out, command) if hertz == "0" else _sampled(tool, out, hertz, command)
        )
    except OSError as error:
        print(f"{tool}: {error.strerror}", file=sys.stderr)
        return 127
    return end_as(status)


if __name__ == "__main__":
    sys.exit(main())
