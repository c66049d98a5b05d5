"""Tests the readers that other tests use, on small texts with known answers."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.callgrind_annotate import annotate
from support.callgrind_rows import Arc, CallgrindRows, Function
from support.skips import run_unittests
from support.tables import parse_report, parse_status, status_number

CALLGRIND = """\
# callgrind format
version: 1
creator: tally 0.1.0
desc: Trigger: breakpoint 2, parse.c:10
positions: instr line
events: ticks
summary: 10

ob=(1) /opt/program
fl=(1) main.c
fn=(1) main
0x1000 10 1
cob=(2) /lib/libc.so
cfi=(2) sort.h
cfn=(2) std::sort<int> [with x]
calls=6 0x2000 5
0x1004 11 6
fi=(2)
+4 20 2
fe=(1)
cfn=(1)
calls=1 0x1000 10
0x100c 12 1
ob=(2)
fl=(2)
fn=(2)
0x2000 5 7
totals: 10
"""
MAIN = Function("/opt/program", "main.c", "main")
SORT = Function("/lib/libc.so", "sort.h", "std::sort<int> [with x]")


class CallgrindRowsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.rows = CallgrindRows(CALLGRIND.splitlines())

    def test_self_costs_arcs_and_headers(self) -> None:
        self.assertEqual(self.rows.totals(), (10,))
        self.assertEqual(self.rows.stated_totals, [(10,)])
        self.assertEqual(self.rows.self_by_function(), {MAIN: (3,), SORT: (7,)})
        self.assertEqual(
            self.rows.arcs_by_function(), {(MAIN, SORT): Arc(6, (6,)), (MAIN, MAIN): Arc(1, (1,))}
        )
        self.assertEqual(self.rows.descriptions("Trigger"), ["breakpoint 2, parse.c:10"])
        # +4 counts from the call's position, because the creator is not Valgrind.
        self.assertIn((MAIN, "sort.h", 0x1008, 20), self.rows.self_costs)

    def test_base_of_valgrinds_relative_positions(self) -> None:
        lines = CALLGRIND.replace("tally 0.1.0", "callgrind-3.19.0").splitlines()
        self.assertIn((MAIN, "sort.h", 0x1004, 20), CallgrindRows(lines).self_costs)

    def test_errors_name_their_line(self) -> None:
        for missing, line in (
            ("0x1004 11 6\n", 17),
            ("events: ticks\n", 6),
            ("cfn=(2) std::sort<int> [with x]\n", 15),
            ("fl=(1) main.c\n", 19),
        ):
            with self.subTest(missing=missing):
                self.assertIn(missing, CALLGRIND)
                with self.assertRaisesRegex(ValueError, rf"^line {line}: "):
                    CallgrindRows(CALLGRIND.replace(missing, "", 1).splitlines())

    def test_callgrind_annotate_agrees(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "callgrind.out.1")
            with open(path, "w", encoding="ascii") as file:
                file.write(CALLGRIND)
            own, inclusive = annotate(path), annotate(path, inclusive=True)
        self.assertEqual(own.totals, (10,))
        self.assertEqual(own.costs(), self.rows.annotate_self())
        self.assertEqual(inclusive.costs(), self.rows.annotate_inclusive())
        self.assertEqual(own.rows[0].object, "/lib/libc.so")


class TablesTest(unittest.TestCase):
    def test_status(self) -> None:
        status = parse_status(
            "Breakpoint 1, main ()\ncpu 3.1\nstate running\nsamples 3005\n"
            "backend perf (the first that works)\nrunning 3.21 s\n"
            "3005 ticks in total\nlost 7\n"
        )
        self.assertEqual(status["backend"], "perf (the first that works)")
        self.assertEqual(status_number(status, "samples"), 3005)
        self.assertEqual(status_number(status, "running"), 3.21)
        self.assertEqual(len(status), 4)
        with self.assertRaises(ValueError):
            status_number(status, "lost")

    def test_report(self) -> None:
        report = parse_report(
            "some words\n1000 ticks in total\n"
            " #   self%  self   incl%  incl  function                place\n"
            " 1  70.00%   700  70.00%   700  seventy                 spin7030.c:14\n"
            " 2  29.90%   299  29.90%   299  f(int, char const*)  a b.c:3\n"
            "10   0.10%     1  99.99%  1000  main\n"
            "(3 more; --limit 0 shows all)\nbehind\n"
        )
        self.assertEqual((report.total, report.event, report.not_shown), (1000, "ticks", 3))
        self.assertEqual(report.row("seventy").location, "spin7030.c:14")
        self.assertEqual(report.row("f(int, char const*)").location, "a b.c:3")
        self.assertEqual(report.row("main").inclusive_ticks, 1000)
        self.assertEqual(report.self_percent("absent"), 0)

    def test_report_by_thread(self) -> None:
        report = parse_report(
            "4 ticks in total\n#   self%  self  thread\n1  50.00%     2  17 a name\n"
        )
        self.assertEqual(report.rows[0].name, "17 a name")
        self.assertIsNone(report.rows[0].inclusive_ticks)


if __name__ == "__main__":
    run_unittests()
