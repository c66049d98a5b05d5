"""Tests `profile dump`: how other tools read the files, and files that cannot be written."""
import glob
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, Play, play_gdb
from support.callgrind_annotate import annotate
from support.callgrind_rows import CallgrindRows, read_callgrind
from support.programs import program
from support.skips import need_tools, run_unittests

STOPS = ["break checkpoint", "run", "continue", "delete", "continue"]


class DumpCase(GdbCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="dump-")
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def assert_left_alone(self, *names: str) -> None:
        """Asserts that the directory holds only these files, and no half-written one."""
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(names))


class CallgrindTest(DumpCase):
    def compare(self, play: Play, path: str, *, total: int, report: str | None) -> CallgrindRows:
        """Compares Tally's file with callgrind_annotate and with the second reader."""
        rows = read_callgrind(path)
        self.assertEqual(rows.events, ("ticks",))
        self.assertEqual(rows.totals(), (total,), play)
        for stated in rows.stated_totals + rows.stated_summaries:
            self.assertEqual(stated, (total,), path)

        plain = annotate(path)  # nothing on its standard error
        self.assertEqual((plain.events, plain.totals), (("ticks",), (total,)))
        shown = {key: cost for key, cost in rows.annotate_self().items() if any(cost)}
        self.assertEqual({key: cost for key, cost in plain.costs().items() if any(cost)}, shown)

        inclusive = annotate(path, inclusive=True)
        self.assertEqual(inclusive.totals, (total,))
        self.assertEqual(
            {k: c for k, c in inclusive.costs().items() if any(c)},
            {k: c for k, c in rows.annotate_inclusive().items() if any(c)},
        )
        if report is not None:
            own = rows.self_by_function()
            arcs = rows.arcs_by_function()
            shown_rows = play.report(report).rows
            for name in {row.name for row in shown_rows}:  # _start is in two objects
                with self.subTest(name):
                    mine = [function for function in rows.functions() if function.name == name]
                    theirs = [row for row in shown_rows if row.name == name]
                    self.assertEqual(len(mine), len(theirs), f"{name}: {mine}\n{play}")
                    self.assertEqual(
                        sorted(own.get(each, (0,))[0] for each in mine),
                        sorted(row.self_ticks for row in theirs),
                    )
                    # A row's inclusive cost is its self cost and its calls. Functions that call
                    # themselves are left out: ld.so has one that is inlined into itself.
                    if not any((each, each) in arcs for each in mine):
                        sums = [
                            own.get(each, (0,))[0]
                            + sum(
                                arc.costs[0] for (caller, _), arc in arcs.items() if caller == each
                            )
                            for each in mine
                        ]
                        self.assertEqual(
                            sorted(sums), sorted(row.inclusive_ticks for row in theirs)
                        )
        return rows

    def test_equals_status_report_and_annotate(self) -> None:
        need_tools("callgrind_annotate")
        out = self.path("callgrind.out.spin")
        play = play_gdb(
            [
                "profile start --frequency 4000",
                *STOPS,
                "profile status",
                "profile report --limit 0",
                f"profile dump {out}",
            ],
            program("spin7030"),
            ["0.25", "2"],
        )
        self.assertEqual(play.stderr, "", play)
        total = play.status().count("samples")
        self.assertRegex(
            play.text(f"profile dump {out}"),
            rf"\AWrote {total} ticks to {re.escape(out)} \(callgrind\)\.\n",
        )
        rows = self.compare(play, out, total=total, report="--limit 0")

        # Without recursion a function's inclusive cost is exactly the sum of the calls to it.
        report = play.report("--limit 0")
        seventy = next(each for each in rows.functions() if each.name == "seventy")
        self.assertEqual(os.path.basename(seventy.object), "spin7030")
        self.assertTrue(seventy.file.endswith("spin7030.c"), seventy)
        for name in ("seventy", "thirty", "main"):
            paid = [
                arc for (_, callee), arc in rows.arcs_by_function().items() if callee.name == name
            ]
            # After a breakpoint trap the pc is behind the trap, where the next function may begin:
            # main, which then seems to call itself.
            twice = sum(arc.costs[0] for arc in paid) - report.row(name).inclusive_ticks
            self.assertIn(twice, range(3 if name == "main" else 1), f"{name}\n{play}")
            # The calls of an arc are the number of samples that hold it, and thus never 0.
            self.assertTrue(all(arc.calls > 0 for arc in paid))
        headers = dict(rows.headers)
        self.assertIn("spin7030", headers["cmd"])
        self.assertEqual(headers["positions"].split(), ["instr", "line"])
        self.assert_left_alone("callgrind.out.spin")

    def test_a_program_with_inlined_and_recursive_functions(self) -> None:
        need_tools("callgrind_annotate")
        out = self.path("inlines.callgrind")
        play = play_gdb(
            ["profile start --frequency 4000", "run", "profile status", f"profile dump {out}"],
            program("inlines"),
            ["0.25"],
        )
        self.assertEqual(play.stderr, "", play)
        total = play.status().count("samples")
        rows = read_callgrind(out)
        self.assertEqual((rows.totals(), annotate(out).totals), ((total,), (total,)))
        self.assertEqual(
            {k: c for k, c in annotate(out).costs().items() if any(c)},
            {k: c for k, c in rows.annotate_self().items() if any(c)},
        )
        self.assertIn("fibonacci", " ".join(each.name for each in rows.functions()))
        files = {os.path.basename(key.file) for key in rows.self_costs}
        self.assertIn("inlines.h", files)  # lines of inlined functions keep their file

    def test_parts(self) -> None:
        need_tools("callgrind_annotate")
        out = self.path("run.cg")
        play = play_gdb(
            [
                "profile start",
                *STOPS,
                "profile status",
                f"profile dump {out}",
                f"profile dump --parts {out}",
                "profile report --by part",
            ],
            program("spin7030"),
            ["0.3", "2"],
        )
        self.assertEqual(play.stderr, "", play)
        total, parts = play.status().count("samples"), play.status().count("parts")
        self.assertEqual(parts, 3, play)
        files = sorted(glob.glob(out + ".*"))
        self.assertEqual(files, [f"{out}.{number}" for number in range(1, parts + 1)])
        self.assertRegex(
            play.text(f"profile dump --parts {out}"),
            rf"\AWrote {total} ticks in 3 parts to {re.escape(out)}\.1 … "
            rf"{re.escape(out)}\.3 \(callgrind\)\.\n",
        )

        by_part = {row.name: row.self_ticks for row in play.report("--by part").rows}
        triggers = [
            r"breakpoint 1, spin7030\.c:\d+",
            r"breakpoint 1, spin7030\.c:\d+",
            "exited, status 0",
        ]
        whole = read_callgrind(out)
        summed: dict = {}
        ends = [0.0]
        for number, (file, trigger) in enumerate(zip(files, triggers), 1):
            ticks = next(count for name, count in by_part.items() if name.startswith(f"{number} "))
            rows = self.compare(play, file, total=ticks, report=None)
            headers = dict(rows.headers)
            self.assertEqual(headers["part"], str(number), file)
            self.assertRegex(rows.descriptions("Trigger")[0], trigger)
            self.assertIn(f"{number} {rows.descriptions('Trigger')[0]}", by_part)
            # Times at which the program ran: each part begins where the previous one ended.
            times = [
                float(text)
                for text in re.findall(r"[0-9]+(?:\.[0-9]+)?", rows.descriptions("Timerange")[0])
            ]
            self.assertEqual(len(times), 2, rows.headers)
            self.assertLess(times[0], times[1])
            self.assertAlmostEqual(times[0], ends[-1], delta=0.011 * max(times))
            ends.append(times[1])
            for function, cost in rows.self_by_function().items():
                summed[function] = summed.get(function, 0) + cost[0]
        self.assertEqual(
            {k: v for k, v in summed.items() if v},
            {k: v[0] for k, v in whole.self_by_function().items() if v[0]},
        )

    def test_fewer_parts_than_before(self) -> None:
        """The files of an earlier dump remain, and the dump names them."""
        out = self.path("run.cg")
        dump = f"profile dump --parts {out}"
        play = play_gdb(
            ["profile start", *STOPS, dump, "run", dump], program("spin7030"), ["0.15", "2"]
        )
        self.assertEqual(play.stderr, "", play)
        self.assertNotIn("earlier", play.text(dump))
        out = re.escape(out)
        self.assertRegex(
            play.text(dump, 1),
            rf"\AWrote \d+ ticks in 1 part to {out}\.1 \(callgrind\)\.\n"
            rf"{out}\.2 … {out}\.3 are of an earlier dump\.\n",
        )

    def test_a_file_of_other_formats(self) -> None:
        folded = self.path("out.folded")
        named = self.path("plain.txt")
        play = play_gdb(
            [
                "profile start",
                "run",
                "profile status",
                f"profile dump {folded}",
                f"profile dump {named} --format folded",
                f"profile dump --format=callgrind '{self.path('two words')}'",
            ],
            program("spin7030"),
            ["0.15"],
        )
        self.assertEqual(play.stderr, "", play)
        total = play.status().count("samples")
        with open(folded, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in lines), total)
        self.assertTrue(any(re.fullmatch(r"(?:.*;)?main;.*seventy \d+", line) for line in lines))
        with open(named, encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines(), lines)
        self.assertEqual(read_callgrind(self.path("two words")).totals(), (total,))
        # The reply names what the format cannot represent.
        self.assertIn("Not in this format:", play.text(f"profile dump {folded}"))


class FaultsTest(DumpCase):
    COLLECT = ["profile start", "run"]

    def dump(self, *dumps: str, **options: object) -> Play:
        return play_gdb(
            [*self.COLLECT, *(f"profile dump {each}" for each in dumps), "profile status"],
            program("spin7030"),
            ["0.1"],
            **options,
        )

    def test_names_and_options_that_imply_no_format(self) -> None:
        plain = self.path("plain")
        play = self.dump(
            plain,
            f"{plain} --format nonsense",
            f"{plain} --format",
            "",
            f"{plain} {plain}2",
            f"{plain} --bogus",
            f"{plain} --parts=yes",
        )
        self.assert_refused(
            play,
            rf"^{plain}: .*format.*--format",
            "--format: .*'nonsense'",
            "--format: expected a value",
            "profile dump: expected FILE",
            rf"profile dump: unexpected '{plain}2'",
            "--bogus: unknown option",
            "--parts: takes no value",
        )
        self.assert_left_alone()
        self.assertGreater(play.status().count("samples"), 0)

    def test_paths_that_cannot_be_written(self) -> None:
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        os.mkdir(self.path("folder.cg"))
        targets = [
            self.path("absent/out.cg"),
            self.path("file/out.cg"),
            self.path("folder.cg"),
            self.path("x" * 300 + ".cg"),
            "/proc/out.cg",
        ]
        play = self.dump(*targets, f"{self.path('absent/out.cg')} --parts")
        self.assert_refused(
            play, *(re.escape(target) for target in targets), re.escape(self.path("absent/out.cg"))
        )
        self.assert_left_alone("file", "folder.cg")

    def test_full_disk(self) -> None:
        play = self.dump("/dev/full --format callgrind", "/dev/null --format callgrind")
        self.assert_refused(play, r"^/dev/full: .*[Nn]o space")
        self.assertTrue(os.path.exists("/dev/full"))
        self.assertIn("Wrote", play.text("profile dump /dev/null --format callgrind"))

    def test_existing_file_is_kept_when_a_write_fails(self) -> None:
        out = self.path("kept.cg")
        before = "what was there\n" * 3
        with open(out, "w", encoding="utf-8") as file:
            file.write(before)
        # Limit files to 8 KiB, which is enough for GDB's output, because that is a file here, too.
        limited = (
            "python import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
            "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))"
        )
        unlimited = (
            "python resource.setrlimit(resource.RLIMIT_FSIZE, "
            "(resource.RLIM_INFINITY, resource.RLIM_INFINITY))"
        )
        play = play_gdb(
            [
                "profile start --frequency 4000",
                "run",
                limited,
                f"profile dump {out}",
                f"shell cat {out}",
                f"shell ls {self.folder}",
                unlimited,
                f"profile dump {out}",
            ],
            program("many_functions"),
            ["0.2"],
        )
        self.assert_refused(play, rf"^{re.escape(out)}: .*(File too large|EFBIG)")
        self.assertEqual(play.text(f"shell cat {out}"), before)
        self.assertEqual(play.text(f"shell ls {self.folder}").split(), ["kept.cg"])
        self.assert_left_alone("kept.cg")
        self.assertEqual(read_callgrind(out).events, ("ticks",))
        self.assertGreater(os.path.getsize(out), 8192)

    def test_dump_keeps_links_and_modes(self) -> None:
        out, link = self.path("real.cg"), self.path("link.cg")
        with open(out, "w", encoding="utf-8"):
            pass
        os.chmod(out, 0o640)
        os.symlink("real.cg", link)
        play = self.dump(link)
        self.assertEqual(play.stderr, "", play)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(read_callgrind(out).events, ("ticks",))
        self.assertEqual(os.stat(out).st_mode & 0o777, 0o640)

    def test_home_and_names_of_any_language(self) -> None:
        odd = self.path("pröfil.cg")
        play = self.dump("~/at_home.cg", odd, self.path("abs\xa0ent/ü.cg"))
        self.assertRegex(play.text("profile dump ~/at_home.cg"), r"/gdb-home-[^/]+/at_home\.cg")
        self.assertEqual(read_callgrind(odd).events, ("ticks",))
        self.assert_refused(play, "ü")

    def test_nothing_collected(self) -> None:
        out = self.path("none.cg")
        play = play_gdb(
            [
                f"profile dump {out}",
                "profile start",
                f"profile dump {out}",
                "profile stop",
                f"profile dump {out}",
            ],
            program("spin7030"),
        )
        self.assert_refused(play, *["nothing was collected.*profile start"] * 3)
        self.assert_left_alone()


if __name__ == "__main__":
    run_unittests()
