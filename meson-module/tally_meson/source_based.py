# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Clang's source-based coverage: the arguments that a build needs for it, and its profiles."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import typing as T

from .refusal import Refusal, say

if T.TYPE_CHECKING:
    from .build_dir import BuildDir

INSTRUMENTED = "-fprofile-instr-generate"
_COMPILE = (INSTRUMENTED, "-fcoverage-mapping")
_MCDC = "-fcoverage-mcdc"
_MCDC_SINCE = 18
_RUST = "-Cinstrument-coverage"
# If the user's or the project's own arguments include it, the counters are a file that is mapped
# into memory ("%c" in its name), so that it is complete at any time. It is not added, because
# processes then share their counters after a fork, and Clang derives counts from others: lines that
# ran may show 0. Clang 18 and 19 cannot combine it with MC/DC.
_RELOCATION = "-runtime-counter-relocation"
VARIABLE = "LLVM_PROFILE_FILE"

# By language, what its name is to the user, and the variable that selects its compiler.
_BY_CLANG = {
    "c": ("C", "CC=clang"),
    "cpp": ("C++", "CXX=clang++"),
    "objc": ("Objective-C", "OBJC=clang"),
    "objcpp": ("Objective-C++", "OBJCXX=clang++"),
}


class _Compiled(T.NamedTuple):
    """How the targets of the host machine compile one language."""

    compiler: T.List[str]
    arguments: T.List[T.List[str]]  # a list for each target

    def is_instrumented(self) -> bool:
        return any(map(is_instrumented, self.arguments))

    def is_relocated(self) -> bool:
        return all(
            any(word.endswith(_RELOCATION) for word in words)
            for words in self.arguments
            if is_instrumented(words)
        )


def clang_version(said: str) -> T.Optional[int]:
    """Returns the major version of the Clang that printed this for --version; 0 for Apple's, whose
    numbers differ, and None for any other compiler."""
    found = re.search(r"\b(Apple )?clang version (\d+)", said)
    return (0 if found[1] else int(found[2])) if found else None


def rust_llvm_version(said: str) -> T.Optional[int]:
    """Returns the major version of LLVM in the rustc that printed this for -vV."""
    found = re.search(r"^LLVM version: (\d+)", said, re.MULTILINE)
    return int(found[1]) if found else None


def compile_arguments(version: int, given: T.Sequence[str]) -> T.Tuple[str, ...]:
    """Returns the arguments for a Clang of this version, which is given others already."""
    has_mcdc = version >= _MCDC_SINCE and not any(word.endswith(_RELOCATION) for word in given)
    return (*_COMPILE, _MCDC) if has_mcdc else _COMPILE


def added(values: T.Sequence[str], more: T.Sequence[str]) -> T.List[str]:
    """Returns the values with those of `more` at the end that are missing."""
    return [*values, *(word for word in more if word not in values)]


def removed(values: T.Sequence[str]) -> T.List[str]:
    """Returns the values without the arguments of source-based coverage."""
    return [
        word
        for word in values
        if word not in (*_COMPILE, _MCDC, _RUST) and not word.startswith(INSTRUMENTED + "=")
    ]


def is_instrumented(arguments: T.Iterable[str]) -> bool:
    words = list(arguments)
    return any(word.partition("=")[0] == INSTRUMENTED or word == _RUST for word in words) or any(
        pair == ("-C", "instrument-coverage") for pair in zip(words, words[1:])
    )


def _argument_options(build: BuildDir) -> T.Dict[str, T.List[str]]:
    """Returns the values of the options that hold arguments of compilers and linkers of the host
    machine."""
    return {
        option["name"]: [str(word) for word in option["value"]]
        for option in build.introspection("intro-buildoptions.json")
        if re.match(r"^((c|cpp|objc|objcpp)_(link_)?|rust_)args$", option["name"])
        and isinstance(option["value"], list)
    }


def _compiled(build: BuildDir) -> T.Dict[str, _Compiled]:
    """Returns how the last configuration compiles each language."""
    out: T.Dict[str, _Compiled] = {}
    for target in build.introspection("intro-targets.json"):
        for each in target.get("target_sources", []):
            if each.get("machine", "host") == "host" and {"compiler", "parameters"} <= each.keys():
                of = out.setdefault(each.get("language", ""), _Compiled(each["compiler"], []))
                of.arguments.append(each["parameters"])
    return out


def _has_changed_options(build: BuildDir) -> bool:
    """Returns whether options have changed since the last configuration, so that _compiled() is out
    of date."""
    try:
        return (
            os.stat(os.path.join(build.path, "meson-private", "coredata.dat")).st_mtime_ns
            > os.stat(os.path.join(build.path, "build.ninja")).st_mtime_ns
        )
    except OSError:
        return False


def _said(command: T.Sequence[str], option: str = "--version") -> str:
    try:
        done = subprocess.run(
            [*command, option],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
        )
    except OSError:
        return ""
    return done.stdout


def missing(build: BuildDir) -> T.Dict[str, T.List[str]]:
    """Returns the options that must change, with their new values. Raises Refusal if a compiler is
    not Clang, and reports what cannot be measured."""
    options, compiled = _argument_options(build), _compiled(build)
    is_current = not _has_changed_options(build)
    wanted: T.Dict[str, T.Tuple[str, ...]] = {}
    versions: T.Set[int] = set()  # of Clang
    others: T.List[T.Tuple[str, str]] = []  # compilers that are not Clang
    for language, (name, variable) in _BY_CLANG.items():
        each = compiled.get(language)
        if each is None or f"{language}_args" not in options:
            continue
        version = clang_version(_said(each.compiler))
        if version is None:
            others.append((f'the {name} compiler is {" ".join(each.compiler)}', variable))
            continue
        versions.add(version)
        given = options[f"{language}_args"]
        if not is_instrumented(given) and is_current and each.is_instrumented():
            continue  # by the project's own arguments
        wanted[f"{language}_args"] = compile_arguments(
            version, [*given, *(word for words in each.arguments for word in words)]
        )
        wanted[f"{language}_link_args"] = (INSTRUMENTED,)
    if others:
        raise Refusal(
            f'source-based coverage needs Clang, but {" and ".join(is_ for is_, _ in others)}: set '
            f'up a build directory with {" ".join(variable for _, variable in others)}'
        )
    rust = compiled.get("rust")
    is_on_in_rust = rust and is_current and rust.is_instrumented()
    if rust and "rust_args" in options and not is_on_in_rust:
        llvm = rust_llvm_version(_said(rust.compiler, "-vV"))
        if versions and versions != {llvm}:
            say(
                f"programs that rustc links are not measured: its LLVM {llvm} and Clang "
                f"{min(versions)} write different profiles, which one program cannot combine"
            )
        else:
            wanted["rust_args"] = (_RUST,)
    if not wanted and not is_on(build):
        raise Refusal(
            "source-based coverage needs Clang, but no target of this build is C, C++, "
            "Objective-C, Objective-C++ or Rust"
        )
    values = {name: added(options.get(name, ()), more) for name, more in wanted.items()}
    return {name: value for name, value in values.items() if value != list(options.get(name, ()))}


def is_on(build: BuildDir) -> bool:
    """Returns whether the build is instrumented for source-based coverage."""
    if any(map(is_instrumented, _argument_options(build).values())):
        return True
    return not _has_changed_options(build) and any(
        each.is_instrumented() for each in _compiled(build).values()
    )


def to_remove(build: BuildDir) -> T.Dict[str, T.List[str]]:
    """Returns the options whose values have arguments of source-based coverage, without these."""
    out = {}
    for name, value in _argument_options(build).items():
        if is_instrumented(value):
            out[name] = removed(value)
    return out


class Profiles:
    """Where the profiles of a run go."""

    def __init__(self, build: BuildDir) -> None:
        self.folder = os.path.join(build.path, "meson-private", "coverage-profiles")
        instrumented = [each for each in _compiled(build).values() if each.is_instrumented()]
        self.is_continuous = bool(instrumented) and all(
            each.is_relocated() for each in instrumented
        )
        # Each process writes a file of its own for each program or library that it consists of.
        # Without %p, programs with functions of the same shape would share a file: the runtime
        # tells them apart only by the number of their functions and counters.
        self._name = f'{"%c" if self.is_continuous else ""}%p-%m.profraw'
        self._before: T.Optional[str] = None
        self._is_set = False

    def pattern(self, folder: str) -> str:
        return os.path.join(folder, self._name)

    def remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.folder)
        self.make()

    def make(self) -> None:
        os.makedirs(self.folder, exist_ok=True)

    def set(self, folder: str) -> None:
        """Sets the variable for all processes that are started from now on."""
        if not self._is_set:
            self._before = os.environ.get(VARIABLE)
        self._is_set = True
        os.environ[VARIABLE] = self.pattern(folder)

    def restore(self) -> None:
        if not self._is_set:
            return
        self._is_set = False
        if self._before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = self._before
