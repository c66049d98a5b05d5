# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""`tally`: where it is, and what it is asked to do. It alone reads counters."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import typing as T

from .refusal import REFUSED, Refusal, say

if T.TYPE_CHECKING:
    from .build_dir import BuildDir
    from .settings import Plan

_HERE = os.path.dirname(os.path.abspath(__file__))


def _installed() -> T.Tuple[str, str]:
    """The collector beside an installation, and its version; empty in the source tree."""
    try:
        from . import _paths  # type: ignore  # written by the installation
    except ImportError:
        return '', ''
    return os.path.normpath(os.path.join(_HERE, _paths.COLLECTOR)), _paths.VERSION


def expected_version() -> str:
    """Of this helper; '' when it cannot be told."""
    version = _installed()[1]
    if version:
        return version
    header = os.path.join(_HERE, '..', '..', 'lib', 'include', 'tally', 'version.h')
    try:
        with open(header, encoding='utf-8') as file:
            told = re.search(r'#define TALLY_VERSION "(.*)"', file.read())
        return told.group(1) if told else ''
    except OSError:
        return ''


class Collector:
    def __init__(self) -> None:
        """Raises Refusal where there is none, or one of another version."""
        path = _installed()[0] or shutil.which('tally') or ''
        if not path:
            raise Refusal('the collector, tally, is not on PATH')
        self.path = path
        try:
            told = subprocess.run([path, '--version'], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)
            self.version = told.stdout.decode(errors='replace').split()[-1]
        except (OSError, subprocess.CalledProcessError, IndexError):
            raise Refusal(f'the collector {path} does not start') from None
        wanted = expected_version()
        if wanted and self.version != wanted:
            raise Refusal(f'the collector {path} is {self.version}, this helper {_HERE} is '
                          f'{wanted}: install them together')
        # To be deleted when every collector of this version has them.
        self._help = ''

    def _knows(self, option: str, command: str = 'coverage') -> bool:
        if command != 'coverage':
            option = '--build'
        if not self._help:
            self._help = subprocess.run([self.path, 'coverage', '--help'], check=False,
                                        stdout=subprocess.PIPE).stdout.decode(errors='replace')
        return re.search(rf'^ +{option}\b', self._help, re.MULTILINE) is not None

    def _build(self, build: BuildDir, command: str) -> T.List[str]:
        return ['--build', build.path] if self._knows('--build', command) else [build.path]

    def coverage_words(self, build: BuildDir, plan: Plan, *, per_test: str = '') -> T.List[str]:
        words = ['coverage', '--root', build.source]
        for option, values in (('--report', plan.reports), ('--filter', plan.filter),
                               ('--exclude', plan.exclude)):
            # One word: a value may begin with -.
            words += [f'{option}={value}' for value in values]
        for option, value in (('--fail-under', plan.fail_under),
                              ('--fail-under-branch', plan.fail_under_branch),
                              ('--diff', plan.diff), ('--per-test', per_test)):
            if value:
                words.append(f'{option}={value}')
        return words

    def check(self, build: BuildDir, plan: Plan) -> None:
        """Raises Refusal where its command line would be at fault, before anything is done."""
        for option, wanted in (('--diff', plan.diff), ('--harvest', plan.per_test)):
            if wanted and not self._knows(option):
                raise Refusal(f'the collector {self.path} is too old: it has no {option}')
        # A folder without counters: it ends right after its arguments were read.
        nowhere = os.path.join(build.path, 'meson-info')
        done = subprocess.run([self.path, *self.coverage_words(build, plan), nowhere], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        if done.returncode == REFUSED:
            first = (done.stderr.decode(errors='replace').splitlines() or [''])[0]
            raise Refusal(re.sub(r'^tally: --', 'tally: --coverage-', first)[len('tally: '):])

    def zero(self, build: BuildDir) -> None:
        """Counters of this build back to 0."""
        done = subprocess.run([self.path, 'zero', *self._build(build, 'zero')], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        if done.returncode not in (0, 4):  # 4: there are none yet
            for line in done.stderr.decode(errors='replace').splitlines():
                say(re.sub('^tally: ', '', line))
            say('not all counters are back at 0: counts of earlier runs are in the table')

    def collect(self, build: BuildDir, plan: Plan, *, per_test: str = '') -> int:
        """Prints the table, writes the reports; its exit status."""
        words = self.coverage_words(build, plan, per_test=per_test)
        return subprocess.run([self.path, *words, *self._build(build, 'coverage')], check=False,
                              stdin=subprocess.DEVNULL).returncode
