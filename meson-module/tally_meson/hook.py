# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Adds the flags to `meson test`, and makes import('tally') available.

The hook relies on internals of Meson. probe.trouble() checks each of them before it is used. Without
a coverage flag on the command line, the hook changes nothing but the list of flags.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import sys
import typing as T

from . import arguments, choosing
from .flag_table import FLAGS
from .refusal import BUILD_FAILED, REFUSED, Refusal, say

if T.TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from .measurement import Measurement


def find_spec(
    folder: str, finder: object, name: str, path: T.Any, target: T.Any
) -> T.Optional[ModuleSpec]:
    if name == "mesonbuild.modules.tally":
        return importlib.util.spec_from_file_location(name, os.path.join(folder, "tally.py"))
    for other in sys.meta_path:
        find = getattr(other, "find_spec", None)
        if other is finder or find is None:
            continue
        spec: T.Optional[ModuleSpec] = find(name, path, target)
        if spec is not None:
            if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                spec.loader = T.cast(T.Any, _Loader(spec.loader))
            return spec
    return None


class _Loader:
    """Wraps a loader, and changes the module after that loader has executed it."""

    def __init__(self, loader: T.Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> T.Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> T.Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        try:
            attach(module)
        except Exception:  # Meson must not fail because of the hook
            pass


def attach(mtest: T.Any) -> None:
    """Wraps functions of mesonbuild.mtest. Call this before Meson asks the module for its flags."""
    theirs: T.Any = getattr(mtest, "add_arguments", None)
    run: T.Any = getattr(mtest, "run", None)
    if not callable(theirs) or not callable(run):
        return
    flags = "ours"  # all were added; 'some': --coverage, but not all; 'none': not --coverage

    @functools.wraps(theirs)
    def add_arguments(parser: argparse.ArgumentParser, *more: T.Any, **keywords: T.Any) -> T.Any:
        nonlocal flags
        result = theirs(parser, *more, **keywords)
        try:
            arguments.add_arguments(parser)
            choosing.add_arguments(parser, with_redundant=False)
        except (argparse.ArgumentError, AttributeError, TypeError):
            # Meson has a flag of its own with the same name.
            flags = (
                "some"
                if any(
                    "--coverage" in getattr(action, "option_strings", ())
                    and getattr(action, "help", None) == FLAGS[0].help
                    for action in getattr(parser, "_actions", ())
                )
                else "none"
            )
        return result

    @functools.wraps(run)
    def run_measured(options: argparse.Namespace, *more: T.Any, **keywords: T.Any) -> T.Any:
        given = arguments.Flags.of(options) if flags != "none" else arguments.Flags()
        if flags == "some" and given.coverage:
            say(
                f"this Meson ({_version()}) has flags of its own that begin with --coverage: type "
                "tally-meson test"
            )
            return REFUSED
        chosen = flags == "ours" and choosing.is_asked_for(options)
        if flags == "ours" and (chosen or given != arguments.Flags()):
            try:
                if chosen:
                    return choosing.run_chosen(run, options, given)
                return _measured(mtest, run, options)
            except Refusal as refusal:
                say(str(refusal))
                return refusal.status
            except KeyboardInterrupt:
                return 130
        return run(options, *more, **keywords)

    mtest.add_arguments = add_arguments
    mtest.run = run_measured


class _Stopped(Exception):
    """Ends Meson's run before its first test."""


def _measured(
    mtest: T.Any, run: T.Callable[[argparse.Namespace], T.Any], options: argparse.Namespace
) -> T.Any:
    from . import measurement as measuring, switching
    from .build_dir import BuildDir
    from .probe import trouble

    flags = arguments.Flags.of(options)
    folder = getattr(options, "wd", None) or os.getcwd()
    if flags.off:
        switching.switch_off(
            BuildDir(folder),
            flags,
            {
                "--list": getattr(options, "list", False),
                "--no-rebuild": getattr(options, "no_rebuild", False),
            },
        )
        return run(options)
    if not flags.coverage:
        raise Refusal(f"{flags.first_given()} is given without --coverage")
    found = trouble(mtest)
    if found:
        raise Refusal(
            f"this Meson ({_version()}) has a `meson test` that the hook does not "
            f"support ({found}): type tally-meson test -C {folder}"
        )
    build = BuildDir(folder)
    if getattr(options, "list", False):
        return run(options)
    measurement = measuring.Measurement(build, flags, os.getcwd())
    measurement.is_plain = not any(
        getattr(options, name, None) for name in ("test_args", "setup", "wrapper", "benchmark")
    )
    harness = _Harness(mtest.TestHarness, measurement)
    try:
        measurement.prepare(may_rebuild=not getattr(options, "no_rebuild", False))
        with harness:
            status = run(options)
        if not harness.tests_ran:
            return status or measuring.nothing_ran()
        return measurement.finish(status)
    except _Stopped as stopped:
        raise T.cast(Refusal, stopped.__cause__) from None
    except Exception:  # raised by Meson, for example if a test cannot be started
        if harness.tests_ran:
            measurement.finish(1)
        raise
    finally:
        measurement.close()


def _version() -> str:
    try:
        return str(sys.modules["mesonbuild.coredata"].version)
    except (KeyError, AttributeError):
        return "of unknown version"


class _Harness:
    """Replaces methods of TestHarness for the duration of a `with` statement."""

    def __init__(self, harness: T.Any, measurement: Measurement) -> None:
        self._class = harness
        self._measurement = measurement
        self._begun = False
        self.tests_ran = False

    def __enter__(self) -> None:
        self._theirs = {
            name: getattr(self._class, name)
            for name in ("get_test_runner", "run_tests", "load_metadata")
            if hasattr(self._class, name)
        }
        get_test_runner, run_tests = self._theirs["get_test_runner"], self._theirs["run_tests"]

        def get_measured_runner(harness: T.Any, *arguments: T.Any, **keywords: T.Any) -> T.Any:
            self._begin()
            runner = get_test_runner(harness, *arguments, **keywords)
            self._measure(runner)
            return runner

        def run_measured_tests(harness: T.Any, runners: T.Any) -> T.Any:
            self._begin()
            # Reset the counters after the rebuild, because instrumented generators are not tests.
            self._measurement.zero()
            self.tests_ran = True
            return run_tests(harness, runners)

        self._class.get_test_runner = get_measured_runner
        self._class.run_tests = run_measured_tests
        load: T.Any = self._theirs.get("load_metadata")

        def load_or_stop(harness: T.Any, *arguments: T.Any, **keywords: T.Any) -> T.Any:
            try:
                return load(harness, *arguments, **keywords)
            except Exception as error:
                raise _Stopped() from Refusal(str(error), BUILD_FAILED)

        if load is not None:  # load() may configure again; nothing else relies on it
            self._class.load_metadata = load_or_stop

    def __exit__(self, *_: T.Any) -> None:
        for name, method in self._theirs.items():
            setattr(self._class, name, method)

    def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        try:
            self._measurement.begin()
        except Refusal as refusal:
            raise _Stopped() from refusal

    def _measure(self, runner: T.Any) -> None:
        from .measurement import Ran

        measurement, trees = self._measurement, self._measurement.trees
        number = trees.next() if trees else 0
        run: T.Any = getattr(runner, "run", None)
        environment: T.Any = getattr(getattr(runner, "runobj", None), "env", None)
        if not callable(run) or (trees and not isinstance(environment, dict)):
            if trees:
                raise _Stopped() from Refusal(
                    f"this Meson ({_version()}) does not give each test an environment: type "
                    f"tally-meson test -C {measurement.build.path}"
                )
            return
        if trees:
            environment.update(trees.variables(number, environment))

        async def run_and_report(*arguments: T.Any, **keywords: T.Any) -> T.Any:
            result = await run(*arguments, **keywords)
            word = getattr(result, "res", None)
            test = Ran(
                str(getattr(result, "name", "")),
                str(getattr(word, "name", word)),
                int(getattr(result, "returncode", 0) or 0),
            )
            measurement.ran.append(test)
            if trees:
                trees.ended(number, test)
                await _harvest([*trees.harvest_words(), trees.tree(number)])
            return result

        runner.run = run_and_report


async def _harvest(words: T.List[str]) -> None:
    """Packs one test's counters. If that fails, Trees.complete() packs them or reports why not."""
    import asyncio

    try:
        process = await asyncio.create_subprocess_exec(*words, stdin=asyncio.subprocess.DEVNULL)
        await process.wait()
    except OSError:  # no process or file descriptor is available now
        pass
