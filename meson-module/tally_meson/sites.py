# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The commands enable and disable, which write and remove two files in a site directory."""

from __future__ import annotations

import glob
import os
import typing as T

from .meson_on_path import Meson, all_on_path, is_distributions, may_write
from .refusal import Refusal, say

_HERE = os.path.dirname(os.path.abspath(__file__))
_PTH, _BOOT = "tally_meson.pth", "tally_meson_boot.py"


def enable(site: T.Optional[str], user: bool) -> int:
    mesons = all_on_path()
    meson = mesons[0] if mesons else None
    if site is None:
        if meson is None:
            raise Refusal("there is no meson on PATH: name a site directory with --site")
        if meson.trouble:
            raise Refusal(
                f"{meson.trouble}: name its site directory with --site, or use "
                "tally-meson test, which needs no hook"
            )
        if (
            meson.hook
            and not user
            and os.path.realpath(str(meson.facts.get("hook_folder"))) == os.path.dirname(_HERE)
        ):
            print(f"Already enabled in {os.path.dirname(meson.hook)}")
            return 0
        site = _user_site(meson) if user else meson.site_for_hook()
        if not site:
            raise Refusal(
                f"no site directory of {_name(meson)} is writable "
                f'({", ".join(meson.sites)}): use --user, or tally-meson test, which '
                "needs no hook"
            )
    site = os.path.abspath(site)
    # It is known only of the Mesons on PATH which site directories they read.
    owners = [each for each in mesons if _among(site, each.sites)]
    if is_distributions(site, owners[0].facts.get("prefix", "") if owners else ""):
        raise Refusal(f"{site} belongs to the package manager: name another with --site")
    changed = _write(site)
    print(f'{"Enabled" if changed else "Already enabled"} in {site}')
    for each in owners:
        again = Meson(each.path)
        hook, trouble = again.hook, str(again.facts.get("mtest", ""))
        if hook and trouble.startswith("it cannot be loaded"):
            say(f"but the hook does not work with {each.path}: {trouble}")
            return 1
        if not hook:
            say(f"but {_name(each)} has not loaded the hook: tally-meson doctor may show why")
            return 1
        if os.path.realpath(os.path.dirname(hook)) != os.path.realpath(site):
            say(f"but {_name(each)} loads {hook} first: tally-meson disable removes both")
            return 1
        print(
            f"meson test --coverage works with {each.path} ({each.version}), which "
            f'{" ".join(each.python)} runs'
        )
    if not owners:
        of = f": {_name(meson)} does not read it" if meson and not meson.trouble else ""
        print(
            "Only a Meson whose Python reads this site directory uses the hook; none on PATH does"
            f"{of}"
        )
    return 0


def disable(site: T.Optional[str], user: bool) -> int:
    if site is not None:
        sites = [site]
    else:
        mesons = [meson for meson in all_on_path() if not meson.trouble]
        sites = (
            [_user_site(meson) for meson in mesons[:1]]
            if user
            else list(
                dict.fromkeys(
                    each for meson in mesons for each in [*meson.sites, *_loaded_from(meson)]
                )
            )
        )
    found, status = False, 0
    for each in sites:
        if any(os.path.lexists(os.path.join(each, name)) for name in (_PTH, _BOOT)):
            found = True
            try:
                _remove(os.path.abspath(each))
            except Refusal as refusal:  # the hook is still removed from the others
                say(str(refusal))
                status = refusal.status
                continue
            print(f"Disabled in {os.path.abspath(each)}")
    if not found:
        print("Not enabled" + (f" in {os.path.abspath(site)}" if site is not None else ""))
    return status


def _name(meson: Meson) -> str:
    return f'{" ".join(meson.python)}, which runs {meson.path},'


def _user_site(meson: Meson) -> str:
    site = str(meson.facts.get("user_site", ""))
    if not site:
        raise Refusal(f"{_name(meson)} does not read the user site directory: leave out --user")
    return site


def _loaded_from(meson: Meson) -> T.List[str]:
    return [os.path.dirname(meson.hook)] if meson.hook else []


def _among(site: str, sites: T.Iterable[str]) -> bool:
    return os.path.realpath(site) in [os.path.realpath(each) for each in sites]


def boot_text(made: T.Sequence[str]) -> str:
    """Returns the text of the boot module for this installation; `made` becomes its MADE."""
    with open(os.path.join(_HERE, "boot.py"), encoding="utf-8") as file:
        text = file.read()
    for line, value in (
        ('FOLDER = ""', repr(os.path.dirname(_HERE))),
        ("MADE = ()", repr(tuple(made))),
    ):
        name = line.split()[0]
        if f"\n{line}" not in text:
            raise Refusal(f"{_HERE}/boot.py is damaged")
        text = text.replace(f"\n{line}", f"\n{name} = {value}", 1)
    return text


def _write(site: str) -> bool:
    """Writes the two files. Returns False if they exist already with the same content."""
    if not may_write(site):
        raise Refusal(f"{site} is not writable")
    made: T.List[str] = []
    folder = site
    while not os.path.isdir(folder):
        made.append(folder)
        folder = os.path.dirname(folder)
    boot, pth = os.path.join(site, _BOOT), os.path.join(site, _PTH)
    line = f'import {_BOOT[:-len(".py")]}\n'
    if not made:
        made = list(_made_before(boot))
    text = boot_text(made)
    if _read(boot) == text and _read(pth) == line:
        return False
    os.makedirs(site, exist_ok=True)
    # The .pth file is written last, so that it never imports a module that does not exist.
    for path, content in ((boot, text), (pth, line)):
        part = f"{path}.{os.getpid()}"
        with open(part, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(part, path)
    return True


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _made_before(boot: str) -> T.List[str]:
    import ast

    for line in _read(boot).splitlines():
        if line.startswith("MADE = "):
            try:
                return [
                    str(each) for each in ast.literal_eval(line[len("MADE = ") :].split("#")[0])
                ]
            except (ValueError, SyntaxError):
                return []
    return []


def _remove(site: str) -> None:
    boot = os.path.join(site, _BOOT)
    made = _made_before(boot)
    cache = os.path.join(site, "__pycache__")
    # The .pth file is removed first, for the same reason.
    try:
        for path in [
            os.path.join(site, _PTH),
            boot,
            *glob.glob(os.path.join(glob.escape(cache), _BOOT[: -len("py")] + "*.pyc")),
        ]:
            if os.path.lexists(path):
                os.remove(path)
    except OSError as error:
        raise Refusal(f"{error.filename}: {error.strerror}", 1) from None
    for folder in [cache, *made]:
        try:
            os.rmdir(folder)
        except OSError:  # the directory does not exist, or contains other files
            pass
