# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The boot module. `tally-meson enable` installs it as tally_meson_boot.py beside tally_meson.pth
in a site directory, and `tally-meson disable` removes it. The module runs at every start of that
Python, so it must be fast, and must not print anything even if it fails.
"""
import sys

FOLDER = ""  # the directory that contains tally.py and tally_meson/
MADE = ()  # directories that `enable` made to hold this file, the innermost first


class Finder:
    """Finds the module of import('tally') and the one behind `meson test`, and no others."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != "mesonbuild.mtest" and name != "mesonbuild.modules.tally":
            return None
        try:
            if "tally_meson" not in sys.modules:
                sys.path.insert(0, FOLDER)
                try:
                    import tally_meson
                finally:
                    sys.path.remove(FOLDER)
            from tally_meson import hook

            return hook.find_spec(FOLDER, Finder, name, path, target)
        except Exception:  # FOLDER was removed, or this Python cannot read it
            return None


try:
    sys.meta_path.insert(0, Finder)
except Exception:
    pass
