# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Reads a build directory: the introspection files that Meson documents, build.ninja and Meson's
log."""

from __future__ import annotations

import configparser
import datetime
import os
import re
import shlex
import shutil
import subprocess
import typing as T

from . import introspection
from .refusal import BUILD_FAILED, Refusal


class BuildDir:
    def __init__(self, folder: str) -> None:
        self.path = os.path.realpath(folder)
        try:
            info = self.introspection("meson-info.json")
            self.source = os.path.realpath(info["directories"]["source"])
            self.meson_version = info["meson_version"]["full"]
        except Refusal:
            raise Refusal(f"{folder} is not a build directory of Meson: name one with -C") from None
        if info.get("error") and not os.path.exists(os.path.join(self.path, "build.ninja")):
            why = " ".join(info.get("error_list", [])).partition("\n")[0]
            raise Refusal(f"{folder} is not configured: meson setup failed: {why}", BUILD_FAILED)

    def introspection(self, name: str) -> T.Any:
        """Returns the content of a file in meson-info."""
        return introspection.read(self.path, name)

    def coverage(self) -> T.Optional[bool]:
        """Returns the value of the option b_coverage, or None if no compiler has the option."""
        for option in self.introspection("intro-buildoptions.json"):
            if option["name"] == "b_coverage":
                return bool(option["value"])
        return None

    def size_of_largest_program(self) -> int:
        """Returns the size of the largest program or library that is built, in bytes."""
        largest = 0
        for target in self.introspection("intro-targets.json"):
            for path in target["filename"]:
                try:
                    largest = max(largest, os.stat(path).st_size)
                except OSError:
                    pass
        return largest

    def subproject_folder(self) -> str:
        return str(
            self.introspection("intro-projectinfo.json").get("subproject_dir") or "subprojects"
        )

    def subprojects(self) -> T.List[str]:
        """Returns the names of the subprojects of the last configuration."""
        projects = self.introspection("intro-projectinfo.json").get("subprojects", [])
        return sorted(str(each["name"]) for each in projects)

    def knows_subproject(self, name: str) -> bool:
        """Returns whether the subproject exists, even if the last configuration does not use it."""
        path = os.path.join(self.source, self.subproject_folder(), name)
        return (
            name in self.subprojects()
            or name != ""
            and (os.path.isdir(path) or os.path.isfile(path + ".wrap"))
        )

    def folder_of_subproject(self, name: str) -> str:
        """Returns the subproject's directory below subproject_folder(). A wrap file may specify a
        directory that differs from the subproject's name."""
        wrap = configparser.ConfigParser(interpolation=None)
        path = os.path.join(self.source, self.subproject_folder(), name + ".wrap")
        try:
            wrap.read(path, encoding="utf-8")
            for section in wrap.sections():
                if section.startswith("wrap"):
                    return wrap.get(section, "directory", fallback=name)
        except (OSError, ValueError, configparser.Error):
            pass
        return name

    def own_build_files(self) -> T.Iterator[str]:
        """Yields the texts of the project's meson.build files, except those of subprojects."""
        others = os.path.join(self.source, self.subproject_folder()) + os.sep
        for path in self.introspection("intro-buildsystem_files.json"):
            if os.path.basename(path) == "meson.build" and not path.startswith(others):
                try:
                    with open(path, encoding="utf-8", errors="replace") as file:
                        yield file.read()
                except OSError:  # the file was removed; the next configuration reports that
                    pass

    def native_object_folders(self) -> T.List[str]:
        """Returns the directories of objects that are compiled for the build machine, relative to
        the build directory."""
        # build.ninja identifies these objects in cross builds, and with Meson 1.0 in all builds. In
        # a path, ninja escapes a blank or a colon with "$".
        with self._ninja_file() as file:
            found = [
                re.sub(r"\$(.)", r"\1", path)
                for path in re.findall(
                    r"^build ((?:[^\s$]|\$.)+)/(?:[^/\s$]|\$.)+: \w+_COMPILER_FOR_BUILD ",
                    file.read(),
                    re.MULTILINE,
                )
            ]
        # In other builds only the project's meson.build files identify them.
        done = subprocess.run(
            [*self.meson(), "introspect", "--targets", os.path.join(self.source, "meson.build")],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        try:
            targets = introspection.targets_of(done.stdout)
        except ValueError as error:
            why = (done.stderr.strip() or str(error)).splitlines()[-1]
            raise Refusal(
                "objects of the build machine cannot be left out: `meson introspect` "
                f"lists no targets: {why}"
            ) from error
        found += [
            f"{path}.p"
            for target in targets
            for path in target["filename"]
            if any(each.get("machine") == "build" for each in target["target_sources"])
        ]
        return sorted(set(found))

    def names_for_meson(self) -> T.Dict[str, str]:
        """Returns, for each name of a test that Meson shows, a name that `meson test` accepts."""
        if self.meson_version.startswith(("1.0.", "1.1.")):
            return self.plain_names()
        # Since Meson 1.2 the argument is a pattern.
        return {shown: name.replace("[", "[[]") for shown, name in self.plain_names().items()}

    def plain_names(self) -> T.Dict[str, str]:
        """Returns, for each name of a test that Meson shows, the name of the test. It includes the
        project's name if several projects have a test of that name."""
        tests = [(test["name"], *_project_and_suites(test)) for test in self._tests()]
        projects: T.Dict[str, T.Set[str]] = {}
        for name, project, _ in tests:
            projects.setdefault(name, set()).add(project)
        out = {}
        for name, project, suites in tests:
            plain = f"{project}:{name}" if len(projects[name]) > 1 else name
            for shown in _shown(name, project, suites):
                out[shown] = plain
        return out

    def tests_by_name(self) -> T.Dict[str, T.Dict[str, T.Any]]:
        """Returns the tests, without benchmarks, by the names that `meson test` accepts. If several
        have one name, "is_ambiguous" is set in the last of them."""
        names = self.names_for_meson()
        out: T.Dict[str, T.Dict[str, T.Any]] = {}
        for test in self.introspection("intro-tests.json"):
            if test["suite"]:
                name = names[_shown(test["name"], *_project_and_suites(test))[1]]
                out[name] = {**test, "is_ambiguous": True} if name in out else test
        return out

    def ninja_text(self) -> str:
        with self._ninja_file() as file:
            return file.read()

    def tests_that_set(self, variable: str) -> T.Set[str]:
        """Returns the names, as Meson shows them, of tests whose environment has the variable."""
        return {
            shown
            for test in self._tests()
            if variable in test.get("env", {})
            for shown in _shown(test["name"], *_project_and_suites(test))
        }

    def is_up_to_date(self) -> bool:
        """Returns whether ninja has nothing to do before the tests."""
        done = subprocess.run(
            [*ninja(), "-C", self.path, "-n", "meson-test-prereq"],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return done.returncode == 0 and b"no work to do" in done.stdout

    def _tests(self) -> T.List[T.Dict[str, T.Any]]:
        return [
            test
            for kind in ("tests", "benchmarks")
            for test in self.introspection(f"intro-{kind}.json")
            if test["suite"]
        ]

    def built_here(self, name: str) -> str:
        """Returns the path of the executable target `name`, or '' if none is built."""
        for target in self.introspection("intro-targets.json"):
            if target["name"] == name and target["type"] == "executable":
                for path in target["filename"]:
                    if os.access(path, os.X_OK):
                        return str(path)
        return ""

    def _ninja_file(self) -> T.IO[str]:
        try:
            return open(os.path.join(self.path, "build.ninja"), encoding="utf-8")
        except OSError:
            raise Refusal(
                f"{self.path} has no build.ninja: only the ninja backend is supported"
            ) from None

    @property
    def logs(self) -> str:
        return os.path.join(self.path, "meson-logs")

    def configured_at(self) -> float:
        """Returns when the last configuration began, in seconds since the epoch; 0 if unknown."""
        try:
            with open(
                os.path.join(self.logs, "meson-log.txt"), encoding="utf-8", errors="replace"
            ) as log:
                match = re.match(r"Build started at (\S+)", log.readline())
                # A configuration that failed has changed nothing.
                if not any(line.startswith("Build targets in project") for line in log):
                    return 0.0
            if not match:
                return 0.0
            begun = (
                datetime.datetime.fromisoformat(match.group(1))
                .replace(tzinfo=datetime.timezone.utc)
                .timestamp()
            )
            ended = os.stat(os.path.join(self.path, "build.ninja")).st_mtime
        except (OSError, ValueError):
            return 0.0
        # The log holds a local time in an unknown time zone. Zones differ by multiples of 15
        # minutes, so the beginning is the last possible time before the end.
        return ended - (ended - begun) % (15 * 60)

    def meson(self) -> T.List[str]:
        """Returns the command of the Meson that configured this build, because no other version can
        read its test data. If that Meson is gone, returns the one on PATH."""
        with self._ninja_file() as file:
            text = file.read()
        match = re.search(
            r'^rule REGENERATE_BUILD\n command = (.*?) "?--internal"? ', text, re.MULTILINE
        )
        if match:
            words = shlex.split(match.group(1).replace("$ ", " ").replace("$$", "$"))
            if (
                words
                and shutil.which(words[0])
                and all(os.path.exists(word) for word in words[1:] if os.path.isabs(word))
            ):
                return words
        found = shutil.which("meson")
        if not found:
            raise Refusal("there is no meson on PATH")
        return [found]


def _project_and_suites(test: T.Dict[str, T.Any]) -> T.Tuple[str, str]:
    return (
        str(test["suite"][0]).partition(":")[0],
        "+".join(filter(None, (suite.partition(":")[2] for suite in test["suite"]))),
    )


def _shown(name: str, project: str, suites: str) -> T.Tuple[str, ...]:
    """Returns the forms that TestHarness.get_pretty_suite() of Meson 1.0 and of 1.12 makes."""
    return (
        name,
        f"{project}:{suites} / {name}" if suites else f"{project} / {name}",
        f"{suites} - {project}:{name}" if suites else f"{project}:{name}",
    )


def ninja() -> T.List[str]:
    named = os.environ.get("NINJA")
    for name in [named] if named else ["ninja", "ninja-build", "samu"]:
        found = shutil.which(name)
        if found:
            return [found]
    raise Refusal("there is no ninja on PATH", 127)
