# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The command `tally-meson`."""

from __future__ import annotations

import sys
import typing as T

from .refusal import Refusal, refused_by_system, say

_USAGE = """\
Usage: tally-meson test [-C BUILD] [--coverage-*]... [arguments of meson test]...
       tally-meson report [-C BUILD] [--coverage-*]...
       tally-meson enable | disable [--user | --site DIR]
       tally-meson doctor

test     runs the tests as `meson test` does, and prints what they reached
report   prints the table of the counters on disk
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
        with refused_by_system():
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
    if command in ('enable', 'disable'):
        from . import sites
        site, user = _site(command, words[1:])
        return sites.enable(site, user) if command == 'enable' else sites.disable(site, user)
    if command == 'doctor':
        if len(words) > 1:
            raise Refusal(f"doctor: unexpected '{words[1]}'")
        from . import doctor
        return doctor.doctor()
    raise Refusal((f"there is no command '{command}': " if words else '') +
                  'expected test, report, enable, disable or doctor')


def _site(command: str, words: T.List[str]) -> T.Tuple[T.Optional[str], bool]:
    """The value of --site, and whether --user is given."""
    site: T.Optional[str] = None
    user = False
    left = list(words)
    while left:
        word = left.pop(0)
        if word == '--user':
            user = True
        elif word.startswith('--site='):
            site = word[len('--site='):]
        elif word == '--site' and left:
            site = left.pop(0)
        else:
            raise Refusal(f"{command}: unexpected '{word}': expected --user or --site DIR")
    if site is not None and (user or not site):
        raise Refusal(f'{command}: expected one of --user and --site DIR')
    return site, user
