"""Changes the JSON that the module reads at random: Meson's introspection files, its log of tests,
and the record of the last run. Each reader must return, or refuse with one line."""
from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable, Iterator

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.meson_builds import MODULE  # puts the module on the path
from support.skips import run_unittests

from tally_meson import profile_update, running, settings, source_based
from tally_meson.build_dir import BuildDir
from tally_meson.record import _FORMAT, Record
from tally_meson.refusal import Refusal

assert MODULE
ROUNDS = 600
HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1 << 70,
    1e308,
    "",
    "x\n",
    "\0",
    "../..",
    [],
    {},
    [[]],
    {"name": []},
)
TEST = {
    "name": "t",
    "cmd": ["/b/t", "1"],
    "env": {"A": "b"},
    "workdir": None,
    "suite": ["p:s", "p:r"],
    "depends": ["id@exe"],
    "protocol": "exitcode",
}
FILES: dict[str, Any] = {
    "meson-info/meson-info.json": {
        "meson_version": {"full": "1.0.1"},
        "directories": {"source": "/s", "build": "/b"},
    },
    "meson-info/intro-tests.json": [TEST, {**TEST, "name": "u", "suite": ["q"]}],
    "meson-info/intro-benchmarks.json": [{**TEST, "name": "b"}],
    "meson-info/intro-buildoptions.json": [
        {"name": "b_coverage", "value": True},
        {"name": "c_args", "value": ["-fcoverage-mapping", "-O2"]},
        {"name": "buildtype", "value": "debug"},
    ],
    "meson-info/intro-buildsystem_files.json": ["/s/meson.build", "/s/x/meson.build"],
    "meson-info/intro-projectinfo.json": {
        "subproject_dir": "subprojects",
        "subprojects": [{"name": "q"}],
    },
    "meson-info/intro-targets.json": [
        {
            "name": "t",
            "id": "id@exe",
            "type": "executable",
            "filename": ["/b/t"],
            "target_sources": [
                {
                    "language": "c",
                    "machine": "host",
                    "compiler": ["cc"],
                    "parameters": ["-pthread", "-fprofile-update=atomic"],
                    "sources": ["/s/t.c"],
                },
                {"linker": ["cc"], "parameters": ["-pthread"]},
            ],
        }
    ],
    "meson-logs/testlog.json": {
        "name": "p:s / t",
        "result": "OK",
        "returncode": 0,
        "command": ["/b/t", "1"],
        "starttime": 1.5,
    },
    "meson-private/tally-tests.json": {
        "format": _FORMAT,
        "revision": "0" * 40,
        "configuration": "c",
        "texts": {"a.c": None, "b.c": "eJwDAAAAAAE="},
        "others": {"/x": "d"},
        "tests": {"t": {"definition": "d", "passed": True, "loses": ""}},
        "reached": {
            "tests": ["t"],
            "files": {
                "/s/t.c": {
                    "tests": [0],
                    "functions": [{"name": "f", "first": 1, "last": 2, "tests": [0]}],
                }
            },
        },
    },
}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yields each container within a value, with a key or an index of it."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places(value[key])


def mutated(value: Any, chance: random.Random) -> Any:
    """Returns a copy with one to three parts replaced, removed, repeated or renamed."""
    value = copy.deepcopy(value)
    for _ in range(chance.randint(1, 3)):
        found = list(places(value))
        if not found:
            return value
        container, key = chance.choice(found)
        kind = chance.randrange(6)
        if kind < 3:
            container[key] = copy.deepcopy(chance.choice(HOSTILE))
        elif kind == 3:
            del container[key]
        elif isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
        else:
            container["another"] = container.pop(key)
    return chance.choice(HOSTILE) if chance.randrange(50) == 0 else value


def log_of(folder: Path) -> str:
    return str(folder / "meson-logs/testlog.json")


class HostileJson(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, value in FILES.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            self.put(name, json.dumps(value))
        (self.folder / "build.ninja").write_text("# none\n", encoding="utf-8")

    def put(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")

    def readers(self) -> Iterator[Callable[[BuildDir], Any]]:
        yield BuildDir.coverage
        yield BuildDir.size_of_largest_program
        yield BuildDir.subprojects
        yield BuildDir.subproject_folder
        yield lambda build: build.knows_subproject("q")
        yield lambda build: list(build.own_build_files())
        yield BuildDir.names_for_meson
        yield BuildDir.tests_by_name
        yield lambda build: build.tests_that_set("A")
        yield lambda build: build.built_here("t")
        yield profile_update.uses_threads
        yield profile_update.is_chosen
        yield source_based._compiled  # pylint: disable=protected-access
        yield source_based._argument_options  # pylint: disable=protected-access
        yield settings.stored
        yield Record.load
        yield lambda build: running.entries(log_of(self.folder))

    def read_all(self, what: str) -> int:
        """Returns how many readers did not refuse."""
        good = 0
        try:
            build = BuildDir(str(self.folder))
        except Refusal as refusal:
            self.assertNotIn("\n", str(refusal), what)
            return 0
        for reader in self.readers():
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    reader(build)
                good += 1
            except Refusal as refusal:
                self.assertNotIn("\n", str(refusal), what)
            except Exception as error:
                raise AssertionError(f"{reader}: {error!r} for {what}") from error
        return good

    def test_what_is_right_is_read(self) -> None:
        self.assertEqual(self.read_all(""), len(list(self.readers())))

    def test_parts_are_changed(self) -> None:
        chance = random.Random(1)
        refused = 0
        for _ in range(ROUNDS):
            name = chance.choice(list(FILES))
            text = json.dumps(mutated(FILES[name], chance))
            self.put(name, text)
            refused += self.read_all(f"{name}: {text}") < len(list(self.readers()))
            self.put(name, json.dumps(FILES[name]))
        self.assertGreater(refused, ROUNDS / 4)

    def test_bytes_are_changed(self) -> None:
        chance = random.Random(2)
        for _ in range(ROUNDS // 3):
            name = chance.choice(list(FILES))
            text = list(json.dumps(FILES[name]))
            for _ in range(chance.randint(1, 4)):
                text[chance.randrange(len(text))] = chance.choice('"{}[],:0-e\\\0\udc80')
            changed = "".join(text[: chance.randint(1, len(text))])
            self.put(name, changed)
            self.read_all(f"{name}: {changed!r}")
            self.put(name, json.dumps(FILES[name]))

    def test_deep_nesting(self) -> None:
        for name in FILES:
            self.put(name, "[" * 200_000)
            self.read_all(name)
            self.put(name, json.dumps(FILES[name]))


if __name__ == "__main__":
    run_unittests()
