"""`tally diff --fail-over`: what is judged, the messages, and the exit statuses. All profiles are
written here, so that no test depends on the clock."""
from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase
from support.skips import run_unittests


def callgrind(costs: dict[str, int], event: str = "Ir", folder: str = "/src") -> str:
    """Returns a Callgrind file with a line for each function."""
    rows = "".join(f"fl={folder}/a.c\nfn={name}\n1 {cost}\n" for name, cost in costs.items())
    return f"# callgrind format\nevents: {event}\nob={folder}/prog\n{rows}"


class Gate(ProfileCase):
    def put(self, name: str, text: str) -> str:
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def gate(self, before: str, after: str, *more: str, status: int = 0) -> str:
        """Returns the lines of the verdict."""
        return self.tally("diff", before, after, "--fail-over", *more, status=status).stderr

    def test_exact_costs(self) -> None:
        before = self.put("a.cg", callgrind({"parse": 1000, "hash": 9000}))
        after = self.put("b.cg", callgrind({"parse": 1050, "hash": 9000}, folder="/elsewhere"))
        passed = "tally: nothing grew by more than {} %: the total and 2 functions were judged\n"
        self.assertEqual(self.gate(before, before, "0"), passed.format(0))
        self.assertEqual(self.gate(before, after, "5"), passed.format(5))
        self.assertEqual(
            self.gate(before, after, "4.9", status=3),
            "tally: parse (/elsewhere/a.c) grew by 5.0 %: 1000 to 1050 Ir\n"
            "tally: the limit is 4.9 %: the total and 2 functions were judged\n",
        )
        self.assertEqual(
            self.gate(before, after, "4.9", "--function", "^hash$"),
            "tally: nothing grew by more than 4.9 %: 1 function was judged\n",
        )
        self.assertEqual(
            self.gate(before, after, "4.9", "--function", "nothing", status=4),
            f"tally: --function: no function with a cost matches, neither in {before} nor in "
            f"{after}\n",
        )

    def test_sampled_costs(self) -> None:
        few = self.put("few.folded", "main;f 100\n")
        self.assertRegex(
            self.gate(few, few, "3", "--function", "^f$", status=4),
            r"^tally: f: a growth of 3 % cannot be told from chance, only one of \d+\.\d % and more: "
            r"about \d+ samples are needed on each side, and there are 100 and 100; ",
        )
        many = self.put("many.folded", "main;f 100000\n")
        more = self.put("more.folded", "main;f 110000\n")
        self.assertIn("single runs are assumed to vary", self.gate(many, many, "3", status=4))
        self.assertIn("nothing grew", self.gate(many, many, "8"))
        self.assertRegex(
            self.gate(many, more, "8", status=3),
            r"^tally: the total grew by 10\.0 %: 100000 to 110000 ticks, p < 1e-10\n"
            r"tally: f grew by 10\.0 %: ",
        )
        self.assertIn(
            "0 requires exact costs",
            self.tally("diff", many, more, "--fail-over", "0", status=2).stderr,
        )

    def test_runs_are_repetitions(self) -> None:
        """A merged file with parts that exited has runs, whose variation is measured."""
        parts = "".join(
            f"part: {number + 1}\ndesc: Trigger: exited, status 0\n"
            + ("events: ticks\n" if number == 0 else "")
            + f"fn=f\n1 {ticks}\n"
            for number, ticks in enumerate((10000, 10100, 9900, 10050, 9950))
        )
        before = self.put("before.callgrind", parts)
        after = self.put("after.callgrind", parts.replace("10000", "10010"))
        text = self.gate(before, after, "8")
        self.assertIn("nothing grew", text)
        gate = json.loads(self.tally("diff", before, after, "--fail-over", "8", "--json").stdout)
        self.assertEqual(gate["gate"]["runs"], {"before": 5, "after": 5})
        self.assertEqual(gate["gate"]["verdict"], "passed")
        total = gate["gate"]["judged"][0]
        self.assertEqual((total["name"], total["before"], total["after"]), ("", 10000, 10002))

    def test_markdown_shows_one_run(self) -> None:
        part = "part: {}\ndesc: Trigger: exited, status 0\n{}fn=f\n1 1000\n"
        one = part.format(1, "events: ticks\n")
        before = self.put("one.callgrind", one)
        more = "".join(part.format(number, "") for number in (2, 3, 4))
        after = self.put("four.callgrind", one + more)
        self.gate(before, after, "90", "-o", self.path("x.md"))
        with open(self.path("x.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("- the means of 1 and 4 runs were compared\n", text)
        self.assertIn("| ticks a run | before |", text)
        self.assertIn("| **total** | 1000 | 1000 | +0.0 % |", text)

    def test_runs_that_ended_differently_are_not_compared(self) -> None:
        whole = self.put(
            "a.callgrind", "desc: Trigger: exited, status 0\nevents: ticks\nfn=f\n1 9\n"
        )
        killed = self.put(
            "b.callgrind", "desc: Trigger: ended by SIGKILL\nevents: ticks\nfn=f\n1 9\n"
        )
        for pair in ((whole, killed), (killed, whole)):
            self.assertRegex(
                self.gate(*pair, "50", status=4),
                r"^tally: \S+: run 1 (exited, status 0|ended by SIGKILL), and none in ",
            )

    def test_empty_profiles_fail(self) -> None:
        full = self.put("a.cg", callgrind({"f": 5}))
        for empty in (
            self.put("b.cg", callgrind({"f": 0})),
            self.put("c.cg", "events: Ir\n"),
            self.put("d.cg", ""),
        ):
            for pair in ((full, empty), (empty, full)):
                done = self.tally("diff", *pair, "--fail-over", "5", status=4)
                self.assertTrue(done.stderr.startswith(f"tally: {empty}: "), done.stderr)

    def test_damaged_files_fail(self) -> None:
        """What could be read of a file may be less than its costs."""
        full = self.put("a.cg", callgrind({"f": 5}) + "totals: 5\n")
        head = "version: 1\ncreator: callgrind-3.19.0\npid: 1\ncmd: x\npart: 1\nevents: Ir\n"
        cut = self.put("b.cg", f"{head}summary: 12\n\nfl=/src/a.c\nfn=f\n1 5\n")
        self.tally("diff", full, cut)
        for pair in ((full, cut), (cut, full)):
            done = self.tally("diff", *pair, "--fail-over", "5", status=1)
            self.assertIn(f"tally: {cut}: is damaged: its costs are not judged", done.stderr)

    def test_other_events_are_refused_first(self) -> None:
        counted = self.put("a.cg", callgrind({"f": 5}))
        ticks = self.put("b.cg", callgrind({"f": 5}, event="ticks"))
        done = self.tally("diff", counted, ticks, "--fail-over", "0", status=1)
        self.assertIn("counts ticks, but", done.stderr)

    def test_files(self) -> None:
        before = self.put("a.folded", "main;f 100000\n")
        after = self.put("b.folded", "main;f 130000\n")
        for name in ("x.svg", "x.md"):
            done = self.tally(
                "diff", before, after, "--fail-over", "10", "-o", self.path(name), status=3
            )
            self.assertEqual(done.stdout, "")
            self.assertIn("the total grew by 30.0 %", done.stderr)
        with open(self.path("x.md"), encoding="utf-8") as file:
            self.assertTrue(
                file.read().startswith("### Cost: grew by more than 10 %\n\n- the total")
            )
        self.tally("diff", before, after, "-o", self.path("plain.md"))
        with open(self.path("plain.md"), encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("### Cost\n\n| ticks | before |"))
        self.tally("diff", before, after, "--function", "f", status=2)
        many = self.put("c.folded", "".join(f"main;f{i} {i}\n" for i in range(1, 31)))
        for limit, rows in (("3", 3), ("0", 31)):
            self.tally("diff", before, many, "-o", self.path("x.md"), "--limit", limit)
            with open(self.path("x.md"), encoding="utf-8") as file:
                self.assertEqual(file.read().count("| `f"), rows)


if __name__ == "__main__":
    run_unittests()
