# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Runs Meson once with import('tally') available:

    lent_meson.py MESON ARGUMENTS...

MESON is the Meson script to run, which behaves as if it had been started directly.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import typing as T

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the directory of tally.py


class _Finder:
    @staticmethod
    def find_spec(name: str, path: T.Any = None, target: T.Any = None) -> T.Any:
        if name != "mesonbuild.modules.tally":
            return None
        return importlib.util.spec_from_file_location(name, os.path.join(_FOLDER, "tally.py"))


def main() -> None:
    script = sys.argv[1]
    sys.path[0] = _FOLDER
    import tally_meson.settings  # noqa: F401  (tally.py imports it)

    sys.path[0] = os.path.dirname(os.path.realpath(script))
    sys.meta_path.insert(0, _Finder)
    sys.argv = sys.argv[1:]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
