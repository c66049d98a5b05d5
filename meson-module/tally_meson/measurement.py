# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""One measured run: the steps before and after the tests that both front ends share."""

from __future__ import annotations

import os
import sys
import typing as T

from . import lending, lost_counts, planning, record, settings, source_based, switching
from .collector import Collector
from .lock import exclude_others
from .per_test import Trees
from .refusal import NO_DATA, Refusal, refused_by_system, say
from .repository import top_of

if T.TYPE_CHECKING:
    from .arguments import Flags
    from .build_dir import BuildDir


class Ran(T.NamedTuple):
    """How one test ended."""

    name: str  # as Meson shows it
    result: str  # Meson's word
    returncode: int

    def why_no_data(self) -> str:
        """Returns why the program wrote no counters; '' if it ended by itself."""
        if self.result == "TIMEOUT":
            return "it was stopped after its timeout"
        if self.result == "INTERRUPT":
            return "it was interrupted"
        return f"it was killed by signal {self._signal()}" if self._signal() else ""

    def _signal(self) -> int:
        # A shell that runs the program reports signal n as status 128 + n. A status that does not
        # match one of these signals is the program's own.
        number = -self.returncode if self.returncode < 0 else self.returncode - 128
        return number if self.returncode < 0 or number in (4, 6, 7, 8, 9, 11, 15) else 0


# Meson's words for tests that did not do what was expected of them.
_FAILED = ("ERROR", "FAIL", "INTERRUPT", "TIMEOUT", "UNEXPECTEDPASS")


def status_of(status: int, ran: T.Iterable[Ran]) -> int:
    """Returns the exit status of `meson test`, but 1 if it says how many tests failed. Meson 1.0
    returns their number, which may be a status that means something else, and newer ones 1."""
    failed = sum(each.result in _FAILED for each in ran)
    return 1 if failed > 0 and status % 256 == failed % 256 else status


class Measurement:
    @refused_by_system()
    def __init__(self, build: BuildDir, flags: Flags, typed_in: str) -> None:
        self.build = build
        self._flags = flags
        self._typed_in = typed_in
        self._collector = Collector(build)
        self._plan = self._made_plan()
        self._collector.check(build, self._plan)
        self._lock: T.Optional[T.IO[str]] = None
        self.trees: T.Optional[Trees] = None
        self._profiles: T.Optional[source_based.Profiles] = None
        self.ran: T.List[Ran] = []
        self.is_plain = True  # no argument of `meson test` changes what the tests run
        self._compiled: T.Optional[record.Sources] = None

    def _made_plan(self) -> planning.Plan:
        plan = planning.plan(self.build, self._flags, self._typed_in)
        if plan.per_test and self._flags.keep:
            raise Refusal(
                "--coverage-keep cannot be combined with --coverage-per-test: earlier "
                "counts belong to no test"
            )
        return plan

    @property
    def per_test(self) -> bool:
        return self._plan.per_test

    @refused_by_system()
    def prepare(self, *, may_rebuild: bool) -> None:
        """Switches coverage on and ensures that the settings are stored. Call this before the
        rebuild, and before Meson reads its build data. From here on no other run can measure in
        this build directory, because it would change the objects and the counters of this run."""
        self._lock = exclude_others(self.build)
        if self._plan.per_test:
            self._compiled = self._sources_to_compile(may_rebuild)
        switching.switch_on(self.build, self._flags, self._plan, may_rebuild=may_rebuild)
        if not may_rebuild and settings.are_missing(self.build):
            raise Refusal(
                f"{lending.WHY}, and --no-rebuild is given: leave it out, or type "
                "tally-meson enable and configure again"
            )
        self.hold_settings()

    def _sources_to_compile(self, may_rebuild: bool) -> T.Optional[record.Sources]:
        """Returns None if they are not known. Those that change while they are compiled differ from
        what is found after the tests."""
        if not may_rebuild and not self.build.is_up_to_date():
            return None
        try:
            return record.sources_of(self.build)
        except Refusal:
            return None

    def hold_settings(self) -> bool:
        """Ensures that the project's settings are stored. Returns True if it had to configure the
        build directory again."""
        if not settings.are_missing(self.build):
            return False
        say(f"{lending.WHY}: it is configured again")
        lending.configure(self.build)
        return True

    @refused_by_system()
    def begin(self) -> None:
        """Reads the settings again, which the rebuild may have changed. Call this after the rebuild
        and before the first test."""
        if settings.are_missing(self.build):
            raise Refusal(f"{lending.WHY}: the rebuild has configured it again; repeat the command")
        self._plan = self._made_plan()
        settings.refuse_unknown_subprojects(self.build)
        if self._plan.per_test:
            self.trees = Trees(self._collector, self.build)
            self.trees.names = self.build.names_for_meson()
        if self._plan.source_based:
            self._profiles = source_based.Profiles(self.build)
            self._profiles.set(self.trees.folder if self.trees else self._profiles.folder)
            if self.trees:
                self.trees.profiles = self._profiles

    @refused_by_system()
    def zero(self) -> None:
        if self._flags.keep:
            return
        if self._profiles:
            self._profiles.remove()
        else:
            self._collector.zero(self.build)

    def finish(self, status: int) -> int:
        """Prints the table and writes the reports. Returns the exit status; `status`, that of the
        tests, takes precedence if it is not 0."""
        status = status_of(status, self.ran)
        try:
            own = self._collected()
            return status or own
        except Refusal as refusal:
            say(str(refusal))
            return status or refusal.status
        finally:
            self.close()

    @refused_by_system()
    def _collected(self) -> int:
        losing = lost_counts.losing(
            self.build, [test.name for test in self.ran], with_libraries=self.trees is not None
        )
        if self.trees:
            self.trees.complete(losing)
        self._say_what_has_no_data()
        sys.stdout.flush()
        paths = []
        if self._plan.source_based:
            profiles = self._profiles or source_based.Profiles(self.build)
            profiles.make()
            paths = [profiles.folder]
        status = self._collector.collect(
            self.build,
            self._plan,
            per_test=self.trees.folder if self.trees else None,
            paths=paths,
        )
        if losing:
            say(lost_counts.said_of(losing, source_based=self._plan.source_based))
        if self.trees:
            self._store_record(self.trees, paths, losing)
        return status

    def _store_record(self, trees: Trees, paths: T.List[str], losing: T.Mapping[str, str]) -> None:
        """Stores which test reached which function, for --affected."""
        if not self.is_plain:
            return
        reached = os.path.join(trees.folder, "reached.json")
        # Sources of the repository may be outside of the project.
        root = top_of(self.build) if self._compiled else self.build.source
        if self._collector.write_reached(self.build, root, trees.folder, paths, reached):
            record.store(self.build, record.Run(self.ran, reached, self._compiled, losing))

    def _say_what_has_no_data(self) -> None:
        own = self.build.tests_that_set(source_based.VARIABLE) if self._profiles else set()
        for test in dict.fromkeys(self.ran):
            if test.name in own:
                say(f"{test.name}: no data: it sets {source_based.VARIABLE} itself")
            elif (
                test.why_no_data()
                and not self.trees  # whose table says it
                and not (self._profiles and self._profiles.is_continuous)
            ):
                say(f"{test.name}: no data: {test.why_no_data()}")

    def close(self) -> None:
        if self._profiles:
            self._profiles.restore()
        if self.trees:
            self.trees.remove()
        if self._lock:
            self._lock.close()
            self._lock = None


def nothing_ran() -> int:
    say("no test was run: nothing was counted")
    return NO_DATA
