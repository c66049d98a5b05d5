"""Tests the times of samples: `tally timeline`, and --from and --to of the tables."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase
from support.programs import program
from support.skips import need_perf, need_tools, run_unittests

MS = 1_000_000


class TextCase(ProfileCase):
    """The text of `perf script` with samples of each millisecond: thread 7 computes in `first` to
    300 ms and, from 600 ms on, in `second`, while thread 8 computes in `beside` to 900 ms."""

    def setUp(self) -> None:
        super().setUp()
        self.script = self.path("script")
        samples = [(at, 7, "first") for at in range(1, 301)]
        for at in range(601, 901):
            samples += [(at, 7, "second"), (at, 8, "beside")]
        Path(self.script).write_text(
            "".join(
                f"phases 7/{tid} {1000 + at / 1000:.6f}: 1000000 cpu-clock: 113a {name} (/bin/a)\n"
                for at, tid, name in samples
            ),
            encoding="utf-8",
        )

    def refused(self, *words: str, status: int, text: str) -> None:
        done = self.tally(*words, status=status)
        self.assertEqual(done.stderr.splitlines()[0], f"tally: {text}")
        self.assertEqual(done.stdout, "")


class Tables(TextCase):
    def totals(self, *words: str) -> list:
        return self.report(self.script, *words)["totals"]

    def test_slices_add_up(self) -> None:
        whole = self.totals()
        self.assertEqual(whole, [900, 900 * MS])
        for middle in ("1ns", "299ms", "0.3s", "0.45 s", "600000us", "14.9ms"):
            parts = [self.totals("--to", middle), self.totals("--from", middle)]
            self.assertEqual([sum(each) for each in zip(*parts)], whole, middle)
        self.assertEqual(self.totals("--from", "0", "--to", "1h"), whole)
        self.assertEqual(self.totals("--from", "99ms", "--to", "109ms"), [10, 10 * MS])

    def test_each_table(self) -> None:
        late = ["--from", "0.5s"]
        names = {row["name"] for row in self.report(self.script, *late)["functions"]}
        self.assertEqual(names, {"second", "beside"})
        tree = self.tally("tree", self.script, "--to", "500ms").stdout
        self.assertIn("first", tree)
        self.assertNotIn("second", tree)
        self.tally("annotate", self.script, "second", *late)
        done = self.tally("annotate", self.script, "first", *late, status=1)
        self.assertIn("first: the profile has no such function", done.stderr)
        changes = self.tally("diff", self.script, self.script, *late, "--json").stdout
        self.assertEqual(json.loads(changes)["totals"], {"before": 600, "after": 600})

    def test_the_value_decides_between_a_format_and_a_time(self) -> None:
        self.assertEqual(self.totals("--from", "perf-script"), [900, 900 * MS])
        self.refused(
            *("report", self.script, "--from", "1.2"),
            status=2,
            text="--from: expected a time such as 1.2s, 300ms or 15us, found '1.2', which has no unit",
        )
        done = self.tally("report", self.script, "--from", "perf", status=2)
        self.assertIn("--from: unknown format 'perf' (there are: ", done.stderr)
        done = self.tally("report", self.script, "--to", "perf-script", status=2)
        self.assertIn("--to: expected a time such as", done.stderr)
        # The commands that make no table know formats alone.
        done = self.tally("convert", self.script, "--from", "1s", "-o", "-", status=2)
        self.assertIn("--from: unknown format '1s'", done.stderr)

    def test_refusals(self) -> None:
        report = ["report", self.script]
        after = "--to: expected a time after that of --from"
        self.refused(*report, "--from", "2s", "--to", "2s", status=2, text=after)
        self.refused(*report, "--from", "2s", "--to", "1s", status=2, text=after)
        self.refused(*report, "--to", "0", status=2, text="--to: expected a time after 0")
        nothing = f"{self.script}: there are no samples between these times"
        self.refused(*report, "--from", "1s", status=4, text=nothing)
        self.refused(*report, "--from", "310ms", "--to", "500ms", status=4, text=nothing)
        folded = self.path("a.folded")
        self.tally("convert", self.script, "-o", folded)
        for command in ("report", "tree", "timeline"):
            words = [command, folded] + ([] if command == "timeline" else ["--from", "1s"])
            done = self.tally(*words, status=1)
            self.assertIn("the times of the samples are not known", done.stderr)
        costs = self.path("a.callgrind")
        self.tally("convert", self.script, "-o", costs)
        for words in (["timeline", costs], ["report", costs, "--to", "1s"]):
            done = self.tally(*words, status=1)
            self.assertIn("the times of the samples are not known", done.stderr)


class Timelines(TextCase):
    def rows(self, *words: str) -> list:
        return self.tally("timeline", self.script, *words).stdout.splitlines()

    def test_text(self) -> None:
        self.assertEqual(
            self.rows("--width", "50"),
            [
                "0 to 899 ms; a column is 22.5 ms",
                "# running at least half of the column  + less",
                "thread    0         225 ms    450 ms        899 ms",
                "7 phases  #############+            +#############",
                "8 phases                            +#############",
            ],
        )

    def test_heat_map(self) -> None:
        """It has a tick of a millisecond for each sample, in the cell of its time."""
        answer = json.loads(self.tally("timeline", self.script, "--heat-map", "--json").stdout)
        cells = [cell for column in answer["columns"] for cell in column]
        self.assertEqual(sum(cells), self.report(self.script)["totals"][1])
        self.assertEqual([cell // MS for cell in cells[:16]], [21] + 13 * [20] + [19, 0])
        rows = self.rows("--heat-map")
        self.assertEqual(rows[2], "offset")
        self.assertEqual(len(rows), 3 + 25)
        path = self.path("heat.svg")
        self.tally("timeline", self.script, "--heat-map", "-o", path, "--thread", "7")
        self.assertIn("<title>0.00 to 0.02 s: 21.0 ms</title>", Path(path).read_text("utf-8"))

    def test_selection(self) -> None:
        rows = self.rows("--from", "100ms", "--to", "200ms", "--width", "52")
        self.assertEqual(rows[0], "100 ms to 200 ms; a column is 2.38 ms")
        self.assertEqual(rows[3:], ["7 phases  " + 42 * "#"])
        self.assertEqual(len(self.rows("--thread", "8")), 4)
        rows = self.rows("--ignore", "first", "--hide", "beside", "--width", "50")
        self.assertEqual(rows[3:], ["7 phases  " + 26 * " " + "+#############"])
        self.assertEqual(self.rows("--limit", "1")[-1], "(1 more; --limit 0 shows all)")

    def test_width(self) -> None:
        for width in (40, 80, 400):
            self.assertEqual(max(map(len, self.rows("--width", str(width))[2:])), width)
        for wrong in ("39", "10001", "x"):
            self.refused(
                *("timeline", self.script, "--width", wrong),
                status=2,
                text=f"--width: expected a whole number from 40 to 10000, found '{wrong}'",
            )

    def test_json(self) -> None:
        words = ["timeline", self.script, "--json", "--width", "90"]
        all_of_it = json.loads(self.tally(*words).stdout)
        self.assertEqual(all_of_it["axis"], {"from_ns": 0, "to_ns": 899 * MS, "cells": 90})
        self.assertEqual(all_of_it["unit"], "nanoseconds")
        self.assertEqual([each["tid"] for each in all_of_it["threads"]], [7, 8])
        # The first sample stands for time before the axis begins.
        self.assertEqual(
            [sum(each["running"]) for each in all_of_it["threads"]], [599 * MS, 300 * MS]
        )
        self.assertEqual(all_of_it["parts"], [])

    def test_picture(self) -> None:
        path = self.path("out.svg")
        self.assertEqual(self.rows("-o", path), [])
        root = xml.etree.ElementTree.parse(path).getroot()
        space = "{http://www.w3.org/2000/svg}"
        stretches = [
            each.findtext(f"{space}title")
            for each in root.iter(f"{space}rect")
            if each.get("class") == "running" and each.find(f"{space}title") is not None
        ]
        self.assertEqual(len(stretches), 3)
        self.refused(
            *("timeline", self.script, "--json", "-o", path),
            status=2,
            text=f"{path}: is a picture, but --json is given",
        )
        text = self.path("out.txt")
        self.rows("-o", text)
        self.assertEqual(Path(text).read_text(encoding="utf-8").splitlines(), self.rows())


class Recorded(ProfileCase):
    """A program of three phases, recorded by perf."""

    def setUp(self) -> None:
        super().setUp()
        need_tools("perf")
        need_perf()
        self.data = self.path("perf.data")
        done = subprocess.run(
            ["perf", "record", "-q", "-g", "-F", "999", "-e", "cpu-clock:u", "-o", self.data]
            + [program("phases"), "0.4"],
            capture_output=True,
            text=True,
            check=False,
        )
        if not os.path.exists(self.data):
            self.skipTest(f"perf record: {done.stderr.strip()[:200]}")

    def test_phases(self) -> None:
        """On a busy machine the phases begin later, but each of them is seen."""
        answer = json.loads(self.tally("timeline", self.data, "--json", "--width", "60").stdout)
        names = [each["name"] for each in answer["threads"]]
        self.assertEqual(names, ["phases", "worker"])
        cells = answer["threads"][0]["running"]
        length = answer["axis"]["to_ns"] / 60
        gaps = re.findall("0+", "".join("0" if ran < length / 20 else "1" for ran in cells))
        # The sleep takes a third of the time.
        self.assertTrue(14 <= max(map(len, gaps)) <= 26, cells)
        self.assertGreater(answer["threads"][1]["begin_ns"], 0.5 * answer["axis"]["to_ns"])

    def test_slices(self) -> None:
        """The slices hold the functions of their phases, and as many samples as those of perf."""
        whole = self.report(self.data)["totals"]
        edges = ["0", "150ms", "600ms", "9h"]
        slices = [
            self.report(self.data, "--from", begin, "--to", end)
            for begin, end in zip(edges, edges[1:])
        ]
        sums = [sum(values) for values in zip(*(each["totals"] for each in slices))]
        self.assertEqual(sums, whole)
        names = [{row["name"] for row in each["functions"]} for each in slices]
        self.assertIn("first", names[0])
        self.assertNotIn("second", names[0])
        self.assertIn("second", names[2])
        self.assertIn("beside", names[2])
        times = [
            float(line.strip(" :\n"))
            for line in subprocess.run(
                ["perf", "script", "--ns", "-G", "-F", "time", "-i", self.data],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.splitlines()
            if line.strip()
        ]
        counts = [
            sum(1 for time in times if begin <= time - times[0] < end)
            for begin, end in ((0, 0.15), (0.15, 0.6), (0.6, 9e9))
        ]
        self.assertEqual([each["totals"][0] for each in slices], counts)


if __name__ == "__main__":
    run_unittests()
