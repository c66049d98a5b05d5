# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Finds the Mesons on PATH, and the Python that runs each of them, which must load the hook."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import typing as T

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Meson:
    """A file named meson, and what its Python reports."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.python = interpreter(path)  # a command; empty if the Python is not known
        self.facts: T.Dict[str, T.Any] = _ask(self.python, path) if self.python else {}

    @property
    def trouble(self) -> str:
        if not self.python:
            return f"{self.path} does not specify which Python runs it"
        return (
            "" if self.facts else f'{" ".join(self.python)}, which runs {self.path}, does not start'
        )

    @property
    def version(self) -> str:
        return str(self.facts.get("meson", "of unknown version"))

    @property
    def hook(self) -> str:
        """The path of the boot module that this Meson's Python has loaded; '' if there is none."""
        return str(self.facts.get("hook", ""))

    @property
    def sites(self) -> T.List[str]:
        """The directories in which this Meson's Python reads .pth files."""
        return list(self.facts.get("sites", []))

    def site_for_hook(self) -> str:
        """Returns the first writable site directory that no package manager owns, or ''."""
        for site in self.sites:
            if not is_distributions(site, self.facts.get("prefix", "")) and may_write(site):
                return site
        return ""


def all_on_path() -> T.List[Meson]:
    """Returns the Mesons on PATH; the first is the one that a shell starts. Links to the same file
    count once."""
    found: T.Dict[str, str] = {}
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = shutil.which("meson", path=folder or os.curdir)
        if path:
            found.setdefault(os.path.realpath(path), os.path.abspath(path))
    return [Meson(path) for path in found.values()]


def is_distributions(site: str, prefix: str = "") -> bool:
    """Returns whether the package manager owns the directory. It owns everything below /usr, except
    /usr/local and a virtual environment there, which is the prefix of its Python."""
    site, prefix = os.path.realpath(site), os.path.realpath(prefix) if prefix else ""
    if site.startswith("/usr/local/") or not site.startswith("/usr/"):
        return False
    return not (
        prefix
        and site.startswith(prefix + "/")
        and os.path.exists(os.path.join(prefix, "pyvenv.cfg"))
    )


def may_write(folder: str) -> bool:
    """Returns whether the directory is writable, or can be made if it does not exist."""
    while not os.path.exists(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def interpreter(script: str) -> T.List[str]:
    try:
        with open(script, "rb") as file:
            head = [file.readline(4096).decode(errors="replace").rstrip("\r\n") for _ in range(2)]
    except OSError:
        return []
    # pip writes these two lines if the interpreter's path is too long for the kernel.
    match = re.match(r'\'\'\'exec\' (.*) "\$0" "\$@"', head[1])
    line = match.group(1) if match and head[0] == "#!/bin/sh" else head[0][2:]
    if not match and not head[0].startswith("#!"):
        return []
    try:
        words = shlex.split(line)
    except ValueError:
        return []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if word != "-S"]
    if not words or not os.path.basename(words[0]).startswith(("python", "pypy")):
        return []
    found = shutil.which(words[0])
    return [found, *words[1:]] if found else []


def _ask(python: T.List[str], meson: str) -> T.Dict[str, T.Any]:
    """Starts the Python and returns what probe.py prints; empty if that fails."""
    # With -c, the first entry of the path is the current directory, which may be anybody's.
    code = (
        "import sys; sys.path[:] = [sys.argv[1], *filter(None, sys.path)]\n"
        "from tally_meson import probe; probe.report()"
    )
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*python, "-c", code, _PACKAGES, meson],
            check=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        facts: T.Dict[str, T.Any] = json.loads(done.stdout.decode().splitlines()[-1])
        return facts
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return {}
