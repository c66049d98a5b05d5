# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""The record of a run that counted each test separately: which test reached which function."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import typing as T
import zlib

from .build_graph import BuildGraph, GraphError
from .lost_counts import counters_beside
from .refusal import Refusal
from .repository import git, names, not_committed, top_of
from .shapes import Values, misfit

if T.TYPE_CHECKING:
    from .build_dir import BuildDir
    from .measurement import Ran

_FORMAT = 3
_MOST_CHANGED = 32 << 20  # bytes of files that are not as the revision has them
# Meson's words. What a test that was skipped would have reached is not known.
_GOOD = ("OK", "EXPECTEDFAIL")


def text_of(path: str) -> T.Optional[str]:
    """Returns the file's bytes as Latin-1, or what a symbolic link names, as git does; None if there
    is no file. Raises Refusal if it cannot be read."""
    try:
        if os.path.islink(path):
            return os.fsencode(os.readlink(path)).decode("latin-1")
        if not os.path.isfile(path):
            return None
        if os.path.getsize(path) > _MOST_CHANGED:
            raise Refusal(f"{path} is too large")
        with open(path, encoding="latin-1", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror}") from None


def definition_of(test: T.Mapping[str, T.Any]) -> str:
    """Returns a digest of what a test runs."""
    wanted = {name: test.get(name) for name in ("cmd", "env", "workdir", "depends", "protocol")}
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()


def configuration_of(build: BuildDir) -> str:
    """Returns a digest of the options, the targets with their sources and arguments, and the
    dependencies."""
    out = hashlib.sha256()
    for name in ("buildoptions", "targets", "dependencies"):
        out.update(json.dumps(build.introspection(f"intro-{name}.json"), sort_keys=True).encode())
    return out.hexdigest()


class Sources(T.NamedTuple):
    """The sources at one time."""

    revision: str
    # Files that are not as the revision has them; None if there is no such file.
    texts: T.Dict[str, T.Optional[str]]


def sources_of(build: BuildDir) -> Sources:
    """Reads the sources. Raises Refusal if git does not know them, or too much is not committed."""
    top = top_of(build)
    revision = git(top, "rev-parse", "HEAD").decode().strip()
    texts, size = {}, 0
    for name in not_committed(top):
        texts[name] = text_of(os.path.join(top, name))
        size += len(texts[name] or "")
        if size > _MOST_CHANGED:
            raise Refusal("too much is not committed")
    return Sources(revision, texts)


def digest_of(path: str) -> str:
    """Returns a digest of a file; '' if there is none."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def not_in_git(build: BuildDir, graph: BuildGraph) -> T.List[str]:
    """Returns the files that objects are compiled from, which git does not compare:
    ignored ones, such as subprojects that were downloaded, those outside, such as headers of the
    system, and those that Meson writes, such as config.h."""
    top = top_of(build)
    listed = git(top, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    # A lower-case letter or S: `git update-index` was told that the file does not change.
    hidden = {
        name[2:]
        for name in names(git(top, "ls-files", "-v", "-z"))
        if name[0] in "S" or name[0].islower()
    }
    known = {
        os.path.realpath(os.path.join(top, name)) for name in names(listed) if name not in hidden
    }
    used: T.Set[str] = set().union(*graph.sources.values())
    return [path for path in sorted(used - known) if not graph.is_made(path)]


_SHAPE = {
    "revision": str,
    "configuration": str,
    "texts": Values((str, type(None))),
    "others": Values(str),
    "tests": Values({"definition": str, "passed": bool, "loses": str}),
    "reached": {
        "tests": [str],
        "files": Values(
            {
                "tests": [int],
                "functions": [{"name": str, "first": int, "last": int, "tests": [int]}],
            }
        ),
    },
}


class Record:
    """What `--affected` needs to know of the measured sources and tests."""

    def __init__(self, values: T.Dict[str, T.Any]) -> None:
        self.revision: str = values["revision"]
        self.configuration: str = values["configuration"]
        # Files that are not as the revision has them; None if there is no such file.
        self.texts: T.Dict[str, T.Optional[str]] = {
            name: None
            if text is None
            else zlib.decompress(base64.b64decode(text)).decode("latin-1")
            for name, text in values["texts"].items()
        }
        self.others: T.Dict[str, str] = values["others"]  # digests of not_in_git()
        # By the name of a test that `meson test` accepts: its definition, whether it passed, and a
        # function at which it loses counts.
        self.tests: T.Dict[str, T.Dict[str, T.Any]] = values["tests"]
        self.names: T.List[str] = values["reached"]["tests"]
        # By path: {"tests": [index], "functions": [{"name", "first", "last", "tests"}]}.
        self.files: T.Dict[str, T.Any] = values["reached"]["files"]

    @staticmethod
    def path_in(build: BuildDir) -> str:
        return os.path.join(build.path, "meson-private", "tally-tests.json")

    @classmethod
    def why_none(cls, build: BuildDir) -> str:
        """Returns why the last run of all tests made no record; '' if there was no such run."""
        try:
            with open(cls.path_in(build) + ".why", encoding="utf-8") as file:
                return file.read()
        except OSError:
            return ""

    @classmethod
    def load(cls, build: BuildDir) -> T.Optional[Record]:
        try:
            with open(cls.path_in(build), encoding="utf-8") as file:
                values = json.load(file)
            if values.get("format") != _FORMAT or misfit(values, _SHAPE):
                return None
            record = cls(values)
        except (OSError, ValueError, AttributeError, RecursionError, zlib.error):
            return None
        indices = (
            index
            for file in record.files.values()
            for tests in [file["tests"], *(each["tests"] for each in file["functions"])]
            for index in tests
        )
        return record if all(0 <= index < len(record.names) for index in indices) else None


class Run(T.NamedTuple):
    """A run that counted each test separately."""

    ran: T.Sequence[Ran]
    reached: str  # the file that the collector wrote
    compiled: T.Optional[Sources]  # the sources that the tests were built of, if they are known
    losing: T.Mapping[str, str]  # what lost_counts.losing() returned


def store(build: BuildDir, run: Run) -> None:
    """Stores the record of a run, or why that is not possible. An earlier record then stays: it
    knows which sources it belongs to."""
    why = _stored(build, run)
    path = Record.path_in(build) + ".why"
    if not why:
        with contextlib.suppress(OSError):
            os.remove(path)
        return
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        file.write(why)


def _stored(build: BuildDir, run: Run) -> str:
    """Returns why the record cannot be stored, or ''."""
    shown = build.names_for_meson()
    results: T.Dict[str, T.List[bool]] = {}
    for each in run.ran:
        good = each.result in _GOOD and not each.why_no_data()
        results.setdefault(shown.get(each.name, each.name), []).append(good)
    tests = build.tests_by_name()
    if set(tests) - set(results):
        return f"{len(set(tests) - set(results))} of {len(tests)} tests did not run"
    beside = counters_beside(build)
    if beside:
        return (
            f"{beside} was written by a program that a test starts without its environment, so that "
            "it is not known which"
        )
    try:
        if run.compiled is None or sources_of(build) != run.compiled:
            return (
                "the sources changed while the tests were built or ran, or git does not know them"
            )
        graph = BuildGraph(build)
        others = {path: digest_of(path) for path in not_in_git(build, graph)}
    except (Refusal, GraphError) as error:
        return str(error)
    texts = {
        name: None
        if text is None
        else base64.b64encode(zlib.compress(text.encode("latin-1"))).decode()
        for name, text in run.compiled.texts.items()
    }
    with open(run.reached, encoding="utf-8") as file:
        of_functions = json.load(file)
    values = {
        "format": _FORMAT,
        "revision": run.compiled.revision,
        "configuration": configuration_of(build),
        "texts": texts,
        "others": others,
        "tests": {
            name: {
                "definition": definition_of(test),
                "passed": all(results[name]),
                "loses": run.losing.get(name, ""),
            }
            for name, test in tests.items()
        },
        "reached": of_functions,
    }
    path = Record.path_in(build)
    with open(path + "~", "w", encoding="utf-8") as file:
        json.dump(values, file)
    os.replace(path + "~", path)
    return ""
