# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""How counters are incremented: with `-fprofile-update=atomic`, threads lose no counts."""

from __future__ import annotations

import contextlib
import os
import re
import typing as T

from .refusal import Refusal

if T.TYPE_CHECKING:
    from .arguments import Flags
    from .build_dir import BuildDir

_ARGUMENT = "-fprofile-update="
# GCC since 7 and Clang since 11 have the argument. Clang takes prefer-atomic for atomic.
METHODS = ("atomic", "prefer-atomic", "single")
_LANGUAGES = ("c", "cpp", "objc", "objcpp")


def asked_for(flags: Flags) -> T.Optional[str]:
    """Returns the method that a flag names. Raises Refusal if several do."""
    given = (flags.update_atomic, flags.update_prefer_atomic, flags.update_single)
    chosen = [method for method, is_given in zip(METHODS, given) if is_given]
    if len(chosen) > 1:
        raise Refusal(
            f"--coverage-update={chosen[0]} cannot be combined with --coverage-update={chosen[1]}"
        )
    return chosen[0] if chosen else None


def uses_threads(build: BuildDir) -> bool:
    """Returns whether a target of the host machine is compiled or linked with -pthread, which
    Meson's dependency('threads') adds."""
    return any(
        "-pthread" in each.get("parameters", [])
        for target in build.introspection("intro-targets.json")
        for each in target.get("target_sources", [])
        if each.get("machine", "host") == "host"
    )


def _values(build: BuildDir) -> T.Dict[str, T.List[str]]:
    """Returns the arguments of the compilers that Meson's options hold."""
    return {
        option["name"]: [str(word) for word in option["value"]]
        for option in build.introspection("intro-buildoptions.json")
        if re.match(rf'^({"|".join(_LANGUAGES)})_args$', option["name"])
        and isinstance(option["value"], list)
    }


def _has_method(words: T.Iterable[str]) -> bool:
    return any(word.startswith(_ARGUMENT) for word in words)


def is_chosen(build: BuildDir) -> bool:
    """Returns whether an option or the project itself states how counters are incremented."""
    return any(map(_has_method, _values(build).values())) or any(
        _has_method(each.get("parameters", []))
        for target in build.introspection("intro-targets.json")
        for each in target.get("target_sources", [])
    )


def without_method(words: T.Iterable[str]) -> T.List[str]:
    return [word for word in words if not word.startswith(_ARGUMENT)]


def with_method(words: T.Iterable[str], method: str) -> T.List[str]:
    """Returns the arguments with this method in place of any other. `single`, the compilers'
    default, is stated, too, as the user's choice."""
    return [*without_method(words), _ARGUMENT + method]


def changed(
    build: BuildDir, method: str, pending: T.Mapping[str, T.Union[str, T.List[str]]]
) -> T.Dict[str, T.List[str]]:
    """Returns the options that must change for the method, with their new values. `pending` has
    the values of options that change for another reason."""
    out = {}
    for name, now in _values(build).items():
        before = pending.get(name, now)
        if isinstance(before, list):
            wanted = with_method(before, method)
            if wanted != now:
                out[name] = wanted
    return out


def _mark(build: BuildDir) -> str:
    """Returns the path of a file that exists while options have a method that Tally added."""
    return os.path.join(build.path, "meson-private", "tally-profile-update")


def set_added(build: BuildDir, *, is_added: bool) -> None:
    """Remembers whether options have a method that Tally added, and not the user."""
    if is_added:
        with open(_mark(build), "w", encoding="utf-8"):
            pass
    else:
        with contextlib.suppress(OSError):
            os.remove(_mark(build))


def to_remove(build: BuildDir) -> T.Dict[str, T.List[str]]:
    """Returns the options whose values state a method that Tally added, without it."""
    if not os.path.exists(_mark(build)):
        return {}
    return {
        name: without_method(words) for name, words in _values(build).items() if _has_method(words)
    }
