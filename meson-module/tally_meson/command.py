# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The command `tally-meson`."""

from __future__ import annotations

import sys
import typing as T

from .refusal import Refusal, say

_USAGE = """\
Usage: tally-meson test [-C BUILD] [--coverage-*]... [arguments of meson test]...
       tally-meson report [-C BUILD] [--coverage-*]...
       tally-meson enable | disable [--user | --site DIR]
       tally-meson doctor

test     runs the tests as `meson test` does, and prints what they reached
report   prints the table of the last run again
enable   makes `meson test --coverage` and import('tally') work in the Meson that is on PATH
disable  undoes that, and leaves nothing
doctor   tells whether they work, and why not

Exit status: that of a failing test; else 125 the build failed, 2 the command line is at fault,
3 below a threshold, 4 no data.
"""


def main() -> int:
    words = sys.argv[1:]
    if words in (['-h'], ['--help'], ['help']):
        print(_USAGE, end='')
        return 0
    try:
        return _run(words)
    except Refusal as refusal:
        say(str(refusal))
        return refusal.status
    except KeyboardInterrupt:
        return 130


def _run(words: T.List[str]) -> int:
    command = words[0] if words else ''
    if command == 'test':
        from . import run
        return run.test(words[1:])
    if command == 'report':
        from . import run
        return run.report(words[1:])
    raise Refusal(f"there is no command '{command}'" if words else 'expected a command: test, '
                  'report, enable, disable or doctor')
