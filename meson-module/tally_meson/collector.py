# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Finds and runs the collector, the program `tally`. Only the collector reads counters."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import typing as T

from .refusal import REFUSED, Refusal, say

if T.TYPE_CHECKING:
    from .build_dir import BuildDir
    from .planning import Plan

_HERE = os.path.dirname(os.path.abspath(__file__))


def _installed() -> T.Tuple[str, str]:
    """Returns the installed collector's path and version; both are empty in the source tree."""
    try:
        from . import _paths  # type: ignore  # exists only in an installation
    except ImportError:
        return "", ""
    return os.path.normpath(os.path.join(_HERE, _paths.COLLECTOR)), _paths.VERSION


def expected_version() -> str:
    """Returns the version of tally-meson; '' if it is not known."""
    version = _installed()[1]
    if version:
        return version
    header = os.path.join(_HERE, "..", "..", "lib", "include", "tally", "version.h")
    try:
        with open(header, encoding="utf-8") as file:
            found = re.search(r'#define TALLY_VERSION "(.*)"', file.read())
        return found.group(1) if found else ""
    except OSError:
        return ""


def _said_by_git(folder: str, *words: str) -> T.Optional[str]:
    """Returns why `git rev-parse` rejects these words, or None if it accepts them."""
    done = subprocess.run(
        ["git", "-C", folder, "rev-parse", *words],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    reason = done.stderr.decode(errors="replace").partition("\n")[0]
    return re.sub("^fatal: ", "", reason) if done.returncode != 0 else None


class Collector:
    def __init__(self, build: T.Optional[BuildDir] = None) -> None:
        """Raises Refusal if there is no collector, or if it has another version. If `build` has
        Tally as a subproject, it may have built the collector."""
        path = (
            _installed()[0] or shutil.which("tally") or (build.built_here("tally") if build else "")
        )
        if not path:
            raise Refusal("the collector, tally, is not on PATH")
        self.path = path
        self._is_of_build = build is not None and os.path.realpath(path).startswith(
            build.path + os.sep
        )
        try:
            status, lines, _ = self._run("--version")
            self.version = lines[0].split()[-1] if status == 0 else ""
        except (OSError, IndexError):
            self.version = ""
        if not self.version:
            raise Refusal(f"the collector {path} does not start")
        wanted = expected_version()
        if wanted and self.version != wanted:
            raise Refusal(
                f"the collector {path} has version {self.version}, but tally-meson in "
                f"{_HERE} has version {wanted}: install both together"
            )

    def coverage_words(
        self,
        build: BuildDir,
        plan: Plan,
        *,
        per_test: T.Optional[str] = None,
        paths: T.Sequence[str] = (),
    ) -> T.List[str]:
        words = ["coverage", "--root", build.source, "--build", build.path]
        for option, values in (
            ("--report", plan.reports),
            ("--filter", plan.filter),
            ("--exclude", plan.exclude),
            ("--exclude-lines", plan.exclude_lines),
            ("--substitute", plan.substitute),
            ("--exclude-objects", plan.exclude_objects),
        ):
            # Option and value form one word, because a value may begin with -.
            words += [f"{option}={value}" for value in values]
        for option, value in (
            ("--fail-under", plan.fail_under),
            ("--fail-under-branch", plan.fail_under_branch),
            ("--limit", plan.table.limit),
            ("--sort", plan.table.sort),
            ("--diff", plan.diff),
            ("--per-test", per_test),
        ):
            if value is not None:
                words.append(f"{option}={value}")
        if plan.baseline is not None:
            words.append(f"--baseline={plan.baseline.file}")
            if plan.baseline.fail_under_new is not None:
                words.append(f"--fail-under-new={plan.baseline.fail_under_new}")
            if plan.baseline.update:
                words.append("--update-baseline")
        words += ["--full"] if plan.table.full else []
        words += ["--redundant"] if plan.redundant else []
        return [*words, *paths]

    def check(self, build: BuildDir, plan: Plan) -> None:
        """Raises Refusal if the collector would reject its command line. Changes nothing."""
        if plan.diff is not None:
            if shutil.which("git") is None:
                raise Refusal("--coverage-diff: git is not on PATH")
            if plan.diff.startswith("-"):
                raise Refusal(f"--coverage-diff: expected a revision, found '{plan.diff}'")
            if _said_by_git(build.source, plan.diff, "--") is not None:
                outside = _said_by_git(build.source, "--show-toplevel")
                raise Refusal(
                    f"--coverage-diff: git finds no '{plan.diff}' in {build.source}"
                    if outside is None
                    else f"--coverage-diff: {build.source}: git: {outside}"
                )
        # In a directory without counters the collector ends right after it has read its arguments.
        nowhere = os.path.join(build.path, "meson-info")
        status, _, errors = self._run(*self.coverage_words(build, plan, paths=[nowhere]))
        if status == REFUSED:
            raise Refusal(
                re.sub(
                    r"^tally: (--)?",
                    lambda found: "--coverage-" if found[1] else "",
                    (errors or [""])[0],
                ).replace("--coverage-fail-under-new", "--coverage-new")
            )

    def zero(self, build: BuildDir) -> None:
        """Resets the counters of this build."""
        status, _, errors = self._run("zero", "--build", build.path)
        if status != 0:
            for line in errors:
                say(re.sub("^tally: ", "", line))
            say("not all counters could be reset: the table includes counts of earlier runs")

    def collect(
        self,
        build: BuildDir,
        plan: Plan,
        *,
        per_test: T.Optional[str] = None,
        paths: T.Sequence[str] = (),
    ) -> int:
        """Prints the table and writes the reports. Returns the collector's exit status. Counters
        are looked for in `paths`; if it is empty, in the build directory."""
        for report in plan.reports:
            folder = os.path.dirname(report.partition(":")[2])
            try:
                if folder:
                    os.makedirs(folder, exist_ok=True)
            except OSError:
                pass  # the collector reports the file that it cannot write
        words = self.coverage_words(build, plan, per_test=per_test, paths=paths)
        # Sources that a generator names and the build does not keep are missing in every run.
        once = os.path.join(build.path, "meson-private", "tally-missing-sources")
        return self._run(*words, f"--missing-once={once}", captured=False)[0]

    def write_reached(
        self, build: BuildDir, root: str, per_test: str, paths: T.Sequence[str], file: str
    ) -> bool:
        """Writes which tests reached which functions of all sources below a directory and the
        build directory, whatever the settings leave out. Returns whether it could."""
        inside = re.escape(build.path)
        words = ["coverage", "--root", root, "--build", build.path, "--no-markers"]
        words += ["--filter=^[^/]", f"--filter=^{inside}/", f"--per-test={per_test}"]
        return self._run(*words, f"--tests-by-function={file}", *paths)[0] == 0

    def _run(self, *words: str, captured: bool = True) -> T.Tuple[int, T.List[str], T.List[str]]:
        """Returns the exit status, and the lines of standard output and standard error."""
        out = subprocess.PIPE if captured else None
        environment = dict(os.environ)
        with contextlib.ExitStack() as stack:
            if self._is_of_build:  # keeps the collector's own counters apart
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                environment["GCOV_PREFIX"] = folder
                environment["LLVM_PROFILE_FILE"] = os.path.join(folder, "collector.profraw")
            done = subprocess.run(
                [self.path, *words],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=environment,
            )
        texts = [
            (text or b"").decode(errors="replace").splitlines()
            for text in (done.stdout, done.stderr)
        ]
        return done.returncode, texts[0], texts[1]
