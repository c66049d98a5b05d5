# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""import('tally') where no hook provides it: a project is configured again with the module lent to
its Meson, which then stores the project's settings.

The build directory does not depend on the loan: its files name Meson itself. Any other
configuration is done without the module, and settings.are_missing() tells so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import typing as T

from . import settings
from .build_dir import ninja
from .meson_on_path import interpreter
from .refusal import BUILD_FAILED, Refusal

if T.TYPE_CHECKING:
    from .build_dir import BuildDir

_LENT_MESON = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lent_meson.py')
WHY = "the project was configured without import('tally'), so its settings are not known"


def _command(build: BuildDir) -> T.List[str]:
    """Python, perhaps with options, and the script that Meson is."""
    words = build.meson()
    if len(words) == 1:
        words = [*interpreter(words[0]), words[0]]
    if len(words) == 1 or not os.path.isfile(words[-1]):
        raise Refusal(f'{WHY}: {" ".join(words)} is no script of Python that the module could be '
                      'lent to')
    return words


def configure(build: BuildDir) -> None:
    """Again, with the options that it has."""
    words = _command(build)
    done = subprocess.run([*words[:-1], _LENT_MESON, words[-1], 'setup', '--reconfigure',
                           build.path, build.source], check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.stderr.write(done.stdout.decode(errors='replace'))
        raise Refusal(f'{build.path} could not be configured', BUILD_FAILED)
    # Else ninja, whose log has an older build.ninja, configures once more, without the module.
    subprocess.run([*ninja(), '-C', build.path, '-t', 'restat', 'build.ninja'], check=False,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # Where it has not asked for the module now, it has nothing to say.
    settings.mark(build.path)
