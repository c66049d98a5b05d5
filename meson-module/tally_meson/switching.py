# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Switches coverage on and off in a build directory, by the options of Meson."""

from __future__ import annotations

import os
import shlex
import subprocess
import typing as T

from . import profile_update, source_based
from .refusal import Refusal, refused_by_system, say

if T.TYPE_CHECKING:
    from .arguments import Flags
    from .build_dir import BuildDir
    from .planning import Plan

_Options = T.Mapping[str, T.Union[str, T.List[str]]]  # of Meson


def switch_on(build: BuildDir, flags: Flags, plan: Plan, *, may_rebuild: bool) -> None:
    """Ensures that the build counts, and by the method that the flags or its threads demand. Raises
    Refusal if options must change for that, and may not."""
    options: T.Dict[str, T.Union[str, T.List[str]]] = {}
    why, said = "", ""
    if plan.source_based:
        if flags.source:
            options.update(source_based.missing(build))
        if options:
            why = "the build has no source-based coverage"
            said = f'arguments for source-based coverage are added to {", ".join(options)}'
    else:
        on = build.coverage()
        if on is None:
            raise Refusal("this build has no option b_coverage: none of its compilers supports it")
        if not on:
            options["b_coverage"] = "true"
            why = "the option b_coverage is off"
            said = f"{why}: it is switched on"
    stays = (
        "they stay until a run with --coverage-off"
        if plan.source_based
        else "it stays on until a run with --coverage-off"
    )
    method = _method(build, flags, is_new=bool(options))
    update = profile_update.changed(build, method, options) if method else {}
    if update and not options:
        why = f"the counters are not incremented by the method {method}"
    options.update(update)
    if not options:
        return
    _require_reconfiguration(build, flags, why, options, may_rebuild)
    if said:
        say(f"{said}, and everything is compiled again; {stays}")
    if update:
        say(_what_updates(method, was_asked=bool(profile_update.asked_for(flags))))
    _configure(build, options)
    if update:
        profile_update.set_added(build, is_added=True)


def _method(build: BuildDir, flags: Flags, *, is_new: bool) -> T.Optional[str]:
    """Returns how counters must be incremented; None if nothing needs to change. `is_new` says
    that everything is compiled again in any case."""
    asked_for = profile_update.asked_for(flags)
    if asked_for or profile_update.is_chosen(build):
        return asked_for
    if not profile_update.uses_threads(build):
        return None
    if is_new:
        return "atomic"
    say(
        "the project uses threads, which may lose counts: --coverage-update=atomic prevents "
        "that, and --coverage-update=single says that you know"
    )
    return None


def _require_reconfiguration(
    build: BuildDir, flags: Flags, why: str, options: _Options, may_rebuild: bool
) -> None:
    if flags.no_reconfigure or not may_rebuild:
        flag = "--coverage-no-reconfigure" if flags.no_reconfigure else "--no-rebuild"
        raise Refusal(f"{why}, and {flag} is given: type {_typed(build, options)}")


def _what_updates(method: T.Optional[str], *, was_asked: bool) -> str:
    if was_asked:
        return f"counters are incremented by the method {method} (-fprofile-update)"
    return (
        "the project uses threads: counters are incremented atomically (-fprofile-update=atomic), "
        "which is slower; --coverage-update=single prevents that"
    )


def _typed(build: BuildDir, options: _Options) -> str:
    """Returns the command that sets the options, as a user types it."""
    command = build.meson()
    name = os.path.basename(command[-1]) if len(command) == 1 else " ".join(command)
    values = [
        f"-D{option}={value if isinstance(value, str) else ' '.join(map(shlex.quote, value))}"
        for option, value in options.items()
    ]
    return f'{name} configure {build.path} {" ".join(map(shlex.quote, values))}'


def _configure(build: BuildDir, options: _Options) -> None:
    done = subprocess.run(
        [
            *build.meson(),
            "configure",
            build.path,
            # Meson reads a list in this form in any version, whatever is in its strings.
            *(f"-D{option}={value}" for option, value in options.items()),
        ],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        said = done.stdout.decode(errors="replace")
        # If the disk is full, Meson prints a traceback. Its last line, before a remark, is the error.
        _, trace, rest = said.partition("Traceback (most recent call last):\n")
        lines = (rest.partition("\n\n")[0] if trace else said).strip().split("\n")
        raise Refusal(f'{_typed(build, options)}: {" ".join(lines[-1:] if trace else lines)}')


@refused_by_system()
def switch_off(build: BuildDir, flags: Flags, given: T.Mapping[str, bool]) -> None:
    """Implements --coverage-off. `given` maps those options of `meson test` that prevent a rebuild
    to whether they are given."""
    other = "--coverage" if flags.coverage else flags.first_given()
    if other:
        raise Refusal(f"--coverage-off cannot be combined with {other}: it measures nothing")
    for option in (name for name, is_given in given.items() if is_given):
        raise Refusal(
            f"--coverage-off cannot be combined with {option}: the programs must be "
            "compiled again"
        )
    options: T.Dict[str, T.Union[str, T.List[str]]] = {}
    said = []
    if build.coverage():
        options["b_coverage"] = "false"
        said.append("the option b_coverage is switched off")
    instrumented = source_based.to_remove(build)
    if instrumented:
        options.update(instrumented)
        said.append(
            "the arguments for source-based coverage are taken out of " + ", ".join(instrumented)
        )
    update = profile_update.to_remove(build)
    for name, words in update.items():
        rest = options.get(name, words)
        options[name] = profile_update.without_method(rest) if isinstance(rest, list) else rest
    if update:
        said.append("-fprofile-update is taken out of " + ", ".join(update))
    if not options:
        say("the option b_coverage is already off")
        return
    _configure(build, options)
    profile_update.set_added(build, is_added=False)
    say(f'{" and ".join(said)}, and everything is compiled again')


def refuse_stale(build: BuildDir) -> None:
    """Raises Refusal if coverage is off: the counters on disk then come from an earlier build."""
    if build.coverage() is False and not source_based.is_on(build):
        raise Refusal(
            "the option b_coverage is off: the counters on disk come from an earlier "
            f"build; type tally-meson test -C {build.path} to count again"
        )
