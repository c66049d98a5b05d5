# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Builds the benchmarks of another revision, as this build is configured."""

from __future__ import annotations

import ast
import configparser
import contextlib
import filecmp
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import typing as T

from .build_dir import BuildDir, ninja
from .repository import commit_of, git
from .refusal import BUILD_FAILED, Refusal, say

# The variables by which Meson chooses compilers, by its names of languages.
_VARIABLES = {
    "c": "CC",
    "cpp": "CXX",
    "objc": "OBJC",
    "objcpp": "OBJCXX",
    "fortran": "FC",
    "d": "DC",
    "rust": "RUSTC",
    "vala": "VALAC",
    "cuda": "NVCC",
}
# Options that Meson takes from variables such as CFLAGS, if they were set when it configured.
_FROM_ENVIRONMENT = re.compile(r"(build\.)?(\w+_args|pkg_config_path|cmake_prefix_path)$")


def revision_of(source: str, word: str) -> T.Optional[str]:
    """Returns the commit that the word names; None if it names none."""
    try:
        return commit_of(source, word)
    except Refusal:
        return None


class Checkout:
    """A revision in a directory of its own, for the duration of a `with` statement."""

    def __init__(self, build: BuildDir, revision: str, folder: str) -> None:
        self._build = build
        self._revision = revision
        self._top = os.path.join(folder, "source")
        self._folder = os.path.join(folder, "build")
        self._log = os.path.join(folder, "log")

    def __enter__(self) -> Checkout:
        try:
            self._must(
                ["git", "-C", self._build.source, "worktree", "add", "--detach", self._top]
                + [self._revision],
                f"{self._revision} cannot be checked out",
                1,
            )
            if os.path.exists(os.path.join(self._top, ".gitmodules")):
                # Without --init, because that would change the settings of the repository.
                self._must(
                    ["git", "-C", self._top, "submodule", "update", "--recursive"],
                    f"the submodules of {self._revision} cannot be checked out",
                    1,
                )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: T.Any) -> None:
        remove(self._build.source, self._top)

    def built(self) -> BuildDir:
        # The project may be in a subdirectory of the repository.
        inside = os.fsdecode(git(self._build.source, "rev-parse", "--show-prefix").rstrip(b"\n"))
        source = os.path.join(self._top, inside) if inside else self._top
        if not os.path.isfile(os.path.join(source, "meson.build")):
            raise Refusal(f"{self._revision} has no {inside}meson.build", BUILD_FAILED)
        _share_subprojects(self._build, source)
        options, files = _typed(self._build)
        options = {**_from_environment(self._build, options), **options}
        environment = {**os.environ, **_compilers(self._build, bool(files))}

        def configure() -> None:
            words = [f"-D{name}={value}" for name, value in options.items()]
            self._must(
                [*self._build.meson(), "setup", *words, *files, self._folder, source],
                "the baseline cannot be configured",
                BUILD_FAILED,
                environment,
            )

        try:
            configure()
        except Refusal:
            unknown = self._unknown_options() & options.keys()
            if not unknown:
                raise
            for name in sorted(unknown):
                say(f"the baseline has no option {name}")
                del options[name]
            configure()
        why = "the baseline cannot be built"
        self._must([*ninja(), "-C", self._folder, "meson-benchmark-prereq"], why, BUILD_FAILED)
        built = BuildDir(self._folder)
        _say_differences(built, self._build)
        return built

    def _unknown_options(self) -> T.Set[str]:
        """Returns the options that the last command rejected, as Meson's message names them."""
        with open(self._log, encoding="utf-8", errors="replace") as file:
            found = re.search(r"Unknown options?: (.+)", file.read())
        return set(re.findall(r'"([^"]+)"', found[1])) if found else set()

    def _must(
        self,
        words: T.List[str],
        why: str,
        status: int,
        environment: T.Optional[T.Mapping[str, str]] = None,
    ) -> None:
        with open(self._log, "w", encoding="utf-8") as file:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment
            )
            try:
                process.wait()
            except BaseException:
                # It ends its own processes, which would otherwise go on to write.
                process.terminate()
                process.wait()
                raise
        if process.returncode != 0:
            with open(self._log, encoding="utf-8", errors="replace") as text:
                sys.stderr.write("".join(text.readlines()[-20:]))
            raise Refusal(why, status)


def remove(repository: str, folder: str) -> None:
    """Removes a directory that `git worktree add` has made."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(Refusal):
        # Twice: what an interrupted `git worktree add` left is locked.
        git(repository, "worktree", "remove", "--force", "--force", folder)


def _typed(build: BuildDir) -> T.Tuple[T.Dict[str, str], T.List[str]]:
    """Returns the options that were set on the command lines of `meson setup` and `configure`, and
    the words for the machine files. Introspection does not tell them from defaults, which a
    revision may change."""
    given = configparser.ConfigParser(delimiters=["="], interpolation=None)
    given.optionxform = str  # type: ignore  # names differ in case
    path = os.path.join(build.path, "meson-private", "cmd_line.txt")
    try:
        given.read(path, encoding="utf-8")
        options = dict(given.items("options"))
        files = []
        for name in ("cross_file", "native_file"):
            for file in ast.literal_eval(given.get("properties", name, fallback="[]")):
                # A relative path is relative to the directory in which `meson setup` was typed.
                for folder in (build.source, os.path.dirname(build.path), build.path):
                    if os.path.isfile(os.path.join(folder, file)):
                        file = os.path.join(folder, file)
                files.append(f'--{name.replace("_", "-")}={file}')
        return options, files
    except (configparser.Error, ValueError, SyntaxError, UnicodeError):
        raise Refusal(f"{path} cannot be read: the baseline cannot be configured alike") from None


def _from_environment(build: BuildDir, typed: T.Mapping[str, str]) -> T.Dict[str, str]:
    """Returns options that were probably set by the environment of `meson setup`."""
    texts = list(build.own_build_files())
    out = {}
    for option in build.introspection("intro-buildoptions.json"):
        name, value = option["name"], option["value"]
        if (
            value
            and name not in typed
            and _FROM_ENVIRONMENT.match(name)
            and not any(
                re.search(rf"""['"]{re.escape(name)}['"]?\s*[=:]""", text) for text in texts
            )
        ):
            out[name] = str(value)
    return out


def _compilers(build: BuildDir, has_files: bool) -> T.Dict[str, str]:
    """Returns the variables that make Meson choose the compilers of this build. Machine files take
    precedence over them."""
    out: T.Dict[str, str] = {}
    for target in build.introspection("intro-targets.json"):
        for sources in target.get("target_sources", []):
            variable = _VARIABLES.get(sources.get("language", ""))
            command = sources.get("compiler")
            if variable and command:
                if has_files and sources.get("machine") == "build":
                    variable += "_FOR_BUILD"
                out[variable] = " ".join(map(shlex.quote, command))
    return out


def _share_subprojects(build: BuildDir, source: str) -> None:
    """Links what Meson has downloaded for subprojects into another source tree, if that wants the
    same."""
    here = os.path.join(build.source, build.subproject_folder())
    there = os.path.join(source, build.subproject_folder())
    if not os.path.isdir(there):
        return
    wanted = ["packagecache"]
    for wrap in glob.glob(os.path.join(glob.escape(here), "*.wrap")):
        other = os.path.join(there, os.path.basename(wrap))
        if os.path.isfile(other) and filecmp.cmp(wrap, other, shallow=False):
            wanted.append(build.folder_of_subproject(os.path.basename(wrap)[: -len(".wrap")]))
    for name in wanted:
        to = os.path.join(there, name)
        if os.path.isdir(os.path.join(here, name)) and not os.path.lexists(to):
            os.symlink(os.path.join(here, name), to)


def _say_differences(before: BuildDir, now: BuildDir) -> None:
    """Says which options differ: defaults of the project that the revisions have changed, or what
    cannot be known of the configuration."""
    values = [
        {each["name"]: each["value"] for each in build.introspection("intro-buildoptions.json")}
        for build in (before, now)
    ]
    for name in sorted(values[0].keys() & values[1].keys()):
        if values[0][name] != values[1][name] and ":" not in name:
            say(f"the option {name} is {values[1][name]}, and {values[0][name]} in the baseline")
