# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Runs in the Python of one Meson and prints, as JSON, what a hook would find there."""

from __future__ import annotations

import json
import os
import site
import sys
import typing as T
import zipfile


def report() -> None:
    boot = sys.modules.get("tally_meson_boot")
    sites = list(site.getsitepackages())
    if site.ENABLE_USER_SITE:
        sites.append(site.getusersitepackages())
    out: T.Dict[str, T.Any] = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "prefix": sys.prefix,
        "sites": sites,
        "user_site": site.getusersitepackages() if site.ENABLE_USER_SITE else "",
        "hook": getattr(boot, "__file__", "") or "",
        "hook_folder": getattr(boot, "FOLDER", ""),
    }
    _add_meson(os.path.realpath(sys.argv[2]), out)
    print(json.dumps(out))


def _add_meson(script: str, out: T.Dict[str, T.Any]) -> None:
    # Python itself sets sys.path[0] in this way for a script, and for a zip file that contains one.
    sys.path[0] = script if zipfile.is_zipfile(script) else os.path.dirname(script)
    try:
        # If the hook is active, it handles the import of mtest.
        from mesonbuild import coredata, mtest  # type: ignore[import]
    except Exception as error:
        out["mtest"] = f"it cannot be loaded: {error}"
        return
    out["meson"] = coredata.version
    from . import hook

    out["mtest"] = hook.trouble(mtest)
    out["hooked"] = hasattr(getattr(mtest, "run", None), "__wrapped__")
