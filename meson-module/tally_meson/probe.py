# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Runs in the Python of one Meson and prints, as JSON, what a hook would find there."""

from __future__ import annotations

import inspect
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


def trouble(mtest: T.Any) -> str:
    """Returns how mesonbuild.mtest differs from what hook.py supports, or ''."""
    harness = getattr(mtest, "TestHarness", None)
    for owner, where, name, known in (
        (mtest, "mtest", "add_arguments", ("parser",)),
        (mtest, "mtest", "run", ("options",)),
        (harness, "TestHarness", "doit", ("self",)),
        (harness, "TestHarness", "run_tests", ("self", "runners")),
        (harness, "TestHarness", "get_test_runner", ("self", "test", "...")),
    ):
        function = getattr(owner, name, None)
        if not callable(function):
            return f"it has no {where}.{name}"
        try:
            parameters = tuple(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            return f"{where}.{name} is not a function"
        if known[-1] == "...":
            parameters = (*parameters[: len(known) - 1], "...")
        if parameters != known:
            return f"{where}.{name} has other parameters"
    return ""


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
    out["mtest"] = trouble(mtest)
    out["hooked"] = hasattr(getattr(mtest, "run", None), "__wrapped__")
