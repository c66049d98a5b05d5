"""Checks that a reader that shares no code with the Callgrind writer reads back the rows that the
writer was given."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.callgrind_rows import ArcKey, CallgrindRows, Function, SelfKey, read_callgrind
from support.skips import run_unittests

CASES = os.environ["TALLY_CALLGRIND_CASES"]


def name(hex_bytes: str) -> str:
    return bytes.fromhex(hex_bytes).decode("utf-8", "surrogateescape")


def function(words: list) -> Function:
    return Function(*map(name, words))


def added(before: tuple[int, ...] | None, row: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(one + two for one, two in zip(before, row)) if before else row


def expected(path: str) -> tuple:
    """Returns the self costs, the arcs as (calls, costs), and the totals of the parts."""
    costs: dict[SelfKey, tuple[int, ...]] = {}
    arcs: dict[ArcKey, tuple[int, ...]] = {}
    parts = []
    with open(path, encoding="ascii") as file:
        for line in file:
            kind, *words = line.rstrip("\n").split("\t")
            if kind == "part":
                parts.append(tuple(map(int, words)))
                continue
            where = (name(words[3]), int(words[4]), int(words[5]))
            # Two names may become one name in the file.
            if kind == "self":
                key = SelfKey(function(words[:3]), *where)
                row = tuple(map(int, words[6:]))
                costs[key] = added(costs.get(key), row)
            else:
                arc = ArcKey(function(words[:3]), function(words[6:9]), *where)
                row = tuple(map(int, words[9:]))
                arcs[arc] = added(arcs.get(arc), row)
    return costs, arcs, parts


class CallgrindRowsTest(unittest.TestCase):
    def test_writer_agrees_with_the_rows(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([CASES, folder, "7", "900"], check=True)
            paths = sorted(glob.glob(os.path.join(folder, "*.callgrind")))
            self.assertEqual(len(paths), 1800)
            for path in paths:
                rows = self.read(path)
                costs, arcs, parts = expected(path.rsplit(".", 2)[0] + ".rows")
                seen = {key: row for key, row in rows.self_costs.items() if any(row)}
                self.assertEqual(seen, costs, path)
                self.assertEqual(
                    {key: (arc.calls, *arc.costs) for key, arc in rows.arcs.items()}, arcs, path
                )
                self.assertEqual(rows.stated_totals, parts, path)
                self.assertEqual(rows.stated_summaries, parts, path)

    def read(self, path: str) -> CallgrindRows:
        try:
            return read_callgrind(path)
        except ValueError as error:
            raise AssertionError(f"{path}: {error}") from error


if __name__ == "__main__":
    run_unittests()
