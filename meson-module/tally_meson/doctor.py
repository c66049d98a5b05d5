# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The command doctor, which reports what works, what does not, and how to make it work."""

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
        _report_meson(mesons[0], wrong)
    else:
        _row("meson", "none on PATH")
        wrong.append("there is no meson on PATH")
    try:
        collector = Collector()
        _row("collector", f"{collector.path} ({collector.version})")
    except Refusal as refusal:
        _row("collector", "not usable")
        wrong.append(str(refusal))
    _report_compilers()
    for meson in mesons[1:]:
        _row(
            "also on PATH",
            f"{meson.path} ({meson.version}), Python: "
            f'{" ".join(meson.python) or "not known"}, hook: '
            f'{"active" if meson.hook else "not active"}',
        )
    for text in wrong:
        _row("problem", text)
    if wrong and mesons:
        print("`tally-meson test` works without a hook, with any Meson.")
    return 1 if wrong else 0


def _row(name: str, value: str) -> None:
    print(f"{name:<12}  {value}")


def _report_meson(meson: Meson, wrong: T.List[str]) -> None:
    _row("meson", f"{meson.path} ({meson.version})")
    if meson.trouble:
        _row("python", "not known")
        wrong.append(meson.trouble)
        return
    _row("python", f'{" ".join(meson.python)} ({meson.facts["python"]})')
    for site in meson.sites:
        _row("site", site)
    trouble = str(meson.facts.get("mtest", ""))
    folder = str(meson.facts.get("hook_folder", ""))
    if not meson.hook:
        _row("hook", "not active")
        wrong.append("the hook is not in a site directory of this Python: type tally-meson enable")
    elif not os.path.isdir(os.path.join(folder, "tally_meson")):
        _row("hook", f"{meson.hook}, does not work")
        wrong.append(
            f"the hook loads {folder}, which no longer exists: type tally-meson enable, "
            "or tally-meson disable"
        )
    elif not meson.facts.get("hooked") and not trouble:
        _row("hook", f"{meson.hook}, does not work")
        wrong.append("the hook is loaded, but Meson does not use it")
    else:
        _row("hook", f"{meson.hook}, which loads {folder}")
    _row("meson test", "supported by the hook" if not trouble else "not supported by the hook")
    if trouble:
        wrong.append(f"the hook does not support `meson test` of this Meson: {trouble}")


def _report_compilers() -> None:
    for names in ((os.environ.get("CC") or "cc", "gcov"), ("clang", "llvm-cov")):
        for name in names:
            path = shutil.which(name.split()[0])
            if path is None:
                continue
            done = subprocess.run(
                [path, "--version"],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            lines = done.stdout.decode(errors="replace").split("\n")
            said = [line.strip() for line in lines if "version" in line or "(" in line]
            _row("compiler" if name == names[0] else "its gcov", f'{path} ({(said or [""])[0]})')
