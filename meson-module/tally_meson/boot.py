# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Lies beside tally_meson.pth in a site directory as tally_meson_boot.py: `tally-meson enable` puts
it there, `tally-meson disable` removes it. Runs at every start of that Python: it must be quick,
and silent whatever happens.
"""
import sys

FOLDER = ''  # holds tally.py and tally_meson/
MADE = ()  # folders that were made for this one


class Finder:
    """Of import('tally'), and of the module behind `meson test`; of no others."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != 'mesonbuild.mtest' and name != 'mesonbuild.modules.tally':
            return None
        try:
            if 'tally_meson' not in sys.modules:
                sys.path.insert(0, FOLDER)
                try:
                    import tally_meson
                finally:
                    sys.path.remove(FOLDER)
            from tally_meson import hook
            return hook.find_spec(FOLDER, Finder, name, path, target)
        except Exception:  # the folder has gone, or cannot be read by this Python
            return None


try:
    sys.meta_path.insert(0, Finder)
except Exception:
    pass
