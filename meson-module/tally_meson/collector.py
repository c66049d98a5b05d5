# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""`tally`: where it is, and what it is asked to do. It alone reads counters."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
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


def _said_by_git(folder: str, *words: str) -> T.Optional[str]:
    """Why `git rev-parse` refuses these words; None: it does not."""
    done = subprocess.run(['git', '-C', folder, 'rev-parse', *words], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    told = done.stderr.decode(errors='replace').partition('\n')[0]
    return re.sub('^fatal: ', '', told) if done.returncode != 0 else None


class Collector:
    def __init__(self, build: T.Optional[BuildDir] = None) -> None:
        """Raises Refusal where there is none, or one of another version. build: may have made one,
        as a subproject."""
        path = _installed()[0] or shutil.which('tally') or \
            (build.built_here('tally') if build else '')
        if not path:
            raise Refusal('the collector, tally, is not on PATH')
        self.path = path
        self._is_of_build = build is not None and \
            os.path.realpath(path).startswith(build.path + os.sep)
        try:
            status, lines, _ = self._run('--version')
            self.version = lines[0].split()[-1] if status == 0 else ''
        except (OSError, IndexError):
            self.version = ''
        if not self.version:
            raise Refusal(f'the collector {path} does not start')
        wanted = expected_version()
        if wanted and self.version != wanted:
            raise Refusal(f'the collector {path} is {self.version}, this helper {_HERE} is '
                          f'{wanted}: install them together')

    def coverage_words(self, build: BuildDir, plan: Plan, *,
                       per_test: T.Optional[str] = None) -> T.List[str]:
        words = ['coverage', '--root', build.source, '--build', build.path]
        for option, values in (('--report', plan.reports), ('--filter', plan.filter),
                               ('--exclude', plan.exclude), ('--substitute', plan.substitute),
                               ('--exclude-objects', plan.exclude_objects)):
            # One word: a value may begin with -.
            words += [f'{option}={value}' for value in values]
        for option, value in (('--fail-under', plan.fail_under),
                              ('--fail-under-branch', plan.fail_under_branch),
                              ('--limit', plan.limit), ('--sort', plan.sort),
                              ('--diff', plan.diff), ('--per-test', per_test)):
            if value is not None:
                words.append(f'{option}={value}')
        return words

    def check(self, build: BuildDir, plan: Plan) -> None:
        """Raises Refusal where its command line would be at fault, before anything is done."""
        if plan.diff is not None:
            if shutil.which('git') is None:
                raise Refusal('--coverage-diff: git is not on PATH')
            if plan.diff.startswith('-'):
                raise Refusal(f"--coverage-diff: expected a revision, found '{plan.diff}'")
            if _said_by_git(build.source, plan.diff, '--') is not None:
                outside = _said_by_git(build.source, '--show-toplevel')
                raise Refusal(f"--coverage-diff: git knows no '{plan.diff}' in {build.source}"
                              if outside is None else
                              f'--coverage-diff: {build.source}: git: {outside}')
        # A folder without counters: it ends right after its arguments were read.
        nowhere = os.path.join(build.path, 'meson-info')
        status, _, errors = self._run(*self.coverage_words(build, plan), nowhere)
        if status == REFUSED:
            raise Refusal(re.sub(r'^tally: (--)?', lambda found: '--coverage-' if found[1] else '',
                                 (errors or [''])[0]))

    def zero(self, build: BuildDir) -> None:
        """Counters of this build back to 0."""
        status, _, errors = self._run('zero', '--build', build.path)
        if status != 0:
            for line in errors:
                say(re.sub('^tally: ', '', line))
            say('not all counters are back at 0: counts of earlier runs are in the table')

    def collect(self, build: BuildDir, plan: Plan, *, per_test: T.Optional[str] = None) -> int:
        """Prints the table, writes the reports; its exit status."""
        for report in plan.reports:
            folder = os.path.dirname(report.partition(':')[2])
            try:
                if folder:
                    os.makedirs(folder, exist_ok=True)
            except OSError:
                pass  # the collector tells of the file that it cannot write
        words = self.coverage_words(build, plan, per_test=per_test)
        return self._run(*words, captured=False)[0]

    def _run(self, *words: str, captured: bool = True) -> T.Tuple[int, T.List[str], T.List[str]]:
        """Its status and the lines that it printed."""
        out = subprocess.PIPE if captured else None
        environment = dict(os.environ)
        with contextlib.ExitStack() as stack:
            if self._is_of_build:  # it may count itself: its counts are no test's
                environment['GCOV_PREFIX'] = stack.enter_context(tempfile.TemporaryDirectory())
            done = subprocess.run([self.path, *words], check=False, stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=out, env=environment)
        told = [(text or b'').decode(errors='replace').splitlines()
                for text in (done.stdout, done.stderr)]
        return done.returncode, told[0], told[1]
