# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""doctor: what is as it should be, what is not, and what to type."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as T

from .collector import Collector
from .meson_on_path import Meson, all_on_path
from .refusal import Refusal


def doctor() -> int:
    wrong: T.List[str] = []
    mesons = all_on_path()
    if mesons:
        _tell_meson(mesons[0], wrong)
    else:
        _row('meson', 'none on PATH')
        wrong.append('there is no meson on PATH')
    try:
        collector = Collector()
        _row('collector', f'{collector.path} ({collector.version})')
    except Refusal as refusal:
        _row('collector', 'not usable')
        wrong.append(str(refusal))
    _tell_compilers()
    for meson in mesons[1:]:
        _row('also on PATH', f'{meson.path} ({meson.version}), Python: '
             f'{" ".join(meson.python) or "not known"}, hook: '
             f'{"live" if meson.hook else "not live"}')
    for text in wrong:
        _row('wrong', text)
    if wrong and mesons:
        print('`tally-meson test` works without a hook, with any Meson.')
    return 1 if wrong else 0


def _row(name: str, value: str) -> None:
    print(f'{name:<12}  {value}')


def _tell_meson(meson: Meson, wrong: T.List[str]) -> None:
    _row('meson', f'{meson.path} ({meson.version})')
    if meson.trouble:
        _row('python', 'not known')
        wrong.append(meson.trouble)
        return
    _row('python', f'{" ".join(meson.python)} ({meson.told["python"]})')
    for site in meson.sites:
        _row('site', site)
    trouble = str(meson.told.get('mtest', ''))
    folder = str(meson.told.get('hook_folder', ''))
    if not meson.hook:
        _row('hook', 'not live')
        wrong.append('the hook is not in a site directory of this Python: type tally-meson enable')
    elif not os.path.isdir(os.path.join(folder, 'tally_meson')):
        _row('hook', f'{meson.hook}, dead')
        wrong.append(f'the hook looks for {folder}, which has gone: type tally-meson enable, or '
                     'disable')
    elif not meson.told.get('hooked') and not trouble:
        _row('hook', f'{meson.hook}, dead')
        wrong.append('the hook is loaded, but Meson does not go through it')
    else:
        _row('hook', f'{meson.hook}, of {folder}')
    _row('meson test', 'is one that the hook understands' if not trouble else 'is not understood')
    if trouble:
        wrong.append(f'its `meson test` is not one that the hook understands: {trouble}')


def _tell_compilers() -> None:
    for names in ((os.environ.get('CC') or 'cc', 'gcov'), ('clang', 'llvm-cov')):
        for name in names:
            path = shutil.which(name.split()[0])
            if path is None:
                continue
            told = subprocess.run([path, '--version'], check=False, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            lines = told.stdout.decode(errors='replace').split('\n')
            said = [line.strip() for line in lines if 'version' in line or '(' in line]
            _row('compiler' if name == names[0] else 'its gcov', f'{path} ({(said or [""])[0]})')
