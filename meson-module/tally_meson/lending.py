# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Provides import('tally') where no hook does: configures a project again in a Meson that can load
the module for this one run, so that the project's settings are stored.

The build directory does not depend on this: its files refer to Meson itself. Later configurations
are done without the module again; settings.are_missing() detects them.
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

_LENT_MESON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lent_meson.py")
WHY = "the project was configured without import('tally'), so its settings are not known"


def _command(build: BuildDir) -> T.List[str]:
    """Returns Python, possibly with options, followed by the path of the Meson script."""
    words = build.meson()
    if len(words) == 1:
        words = [*interpreter(words[0]), words[0]]
    if len(words) == 1 or not os.path.isfile(words[-1]):
        raise Refusal(
            f'{WHY}: {" ".join(words)} is not a Python script, so tally-meson cannot '
            "make the module available to it"
        )
    return words


def configure(build: BuildDir) -> None:
    """Configures the build directory again with its current options and with the module."""
    words = _command(build)
    done = subprocess.run(
        [*words[:-1], _LENT_MESON, words[-1], "setup", "--reconfigure", build.path, build.source],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout.decode(errors="replace"))
        raise Refusal(f"{build.path} could not be configured", BUILD_FAILED)
    # Ninja's log holds the time of the old build.ninja. Without this update, ninja would configure
    # again, without the module.
    subprocess.run(
        [*ninja(), "-C", build.path, "-t", "restat", "build.ninja"],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # If the project did not import the module this time, it has no settings: nothing is missing.
    settings.mark(build.path)
