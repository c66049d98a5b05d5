"""`tally` on profiles: the output and the exit statuses of tree, annotate, diff, merge, validate,
rewrite and convert."""
import gzip
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.callgrind_rows import read_callgrind
from support.pprof_bytes import Pprof
from support.profiles import ProfileCase, tally_in
from support.programs import SOURCE_ROOT, command_line
from support.skips import need_tools, run_unittests

PROFILE = """\
# callgrind format
version: 1
creator: test
cmd: ./prog
event: Sum = Ir + 10 Miss : Together
events: Ir Miss
ob=prog
fl=src/main.c
fn=main
3 10
cfi=src/work.c
cfn=work
calls=2 5
4 80 3
cfn=idle
calls=1 9
5 10
fl=src/work.c
fn=work
5 50 1
6 30 2
fl=src/main.c
fn=idle
9 10
totals: 100 3
"""
SLOWER = (
    PROFILE.replace("6 30 2", "6 130 2")
    .replace("4 80 3", "4 180 3")
    .replace("totals: 100", "totals: 200")
)
SOURCE = "#include <x>\n\nint main(void) {\n\twork();\n  idle();\n}\n"


class ProfilesCase(ProfileCase):
    def setUp(self) -> None:
        super().setUp()
        self.put("a.callgrind", PROFILE)
        self.put("b.callgrind", SLOWER)

    def put(self, name: str, text: str) -> None:
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def run_in(self, words: str, status: int = 0) -> subprocess.CompletedProcess:
        return tally_in(self, self.folder, *words.split(), status=status, timeout=120)

    def text(self, words: str) -> str:
        done = self.run_in(words)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def json(self, words: str) -> dict:
        return json.loads(self.text(words + " --json"))

    def refused(self, words: str, status: int, text: str) -> None:
        done = self.run_in(words, status)
        self.assertEqual((done.stdout, done.stderr.splitlines()[0]), ("", f"tally: {text}"))


class Tables(ProfilesCase):
    def test_report(self) -> None:
        table = self.json("report a.callgrind")
        self.assertEqual((table["events"], table["totals"]), (["Ir", "Miss"], [100, 3]))
        self.assertEqual(
            [
                (row["name"], row["self"], row["inclusive"], row["calls"])
                for row in table["functions"]
            ],
            [
                ("work", [80, 3], [80, 3], 2),
                ("main", [10, 0], [100, 3], 0),
                ("idle", [10, 0], [10, 0], 1),
            ],
        )

    def test_cycles(self) -> None:
        """A cycle is reported as one entry, and the costliest cycle comes first."""

        def cycle(one: str, cost: int) -> str:
            return (
                f"fn={one}1\n1 {cost}\ncfn={one}2\ncalls=1 2\n1 {cost}\n"
                f"fn={one}2\n2 {cost}\ncfn={one}1\ncalls=1 1\n2 1\n"
            )

        self.put("cycles.callgrind", "events: Ir\nfl=a\n" + cycle("a", 1) + cycle("z", 400))
        text = self.text("report cycles.callgrind")
        self.assertLess(text.index("2: z1, z2"), text.index("2: a1, a2"))

    def test_objects(self) -> None:
        """Objects that call each other cost no less than their costliest function."""
        self.put(
            "objects.callgrind",
            "events: Ir\nob=a\nfl=a\nfn=main\n1 10\ncob=b\ncfn=f\ncalls=1 1\n1 90\n"
            "ob=b\nfn=f\n1 20\ncob=a\ncfn=g\ncalls=1 1\n1 70\nob=a\nfn=g\n1 70\n",
        )
        rows = self.json("report objects.callgrind --by object")["objects"]
        self.assertEqual(
            [(row["object"], row["self"], row["inclusive"]) for row in rows],
            [("a", [80], [100]), ("b", [20], [90])],
        )

    def test_event(self) -> None:
        """--event selects a counted event or one derived from them, and refuses any other."""
        self.assertEqual(self.json("report a.callgrind --event Miss")["totals"], [3])
        table = self.json("report a.callgrind --event Sum")
        self.assertEqual((table["events"], table["totals"]), (["Sum"], [130]))
        self.assertEqual(table["functions"][0]["self"], [110])
        self.assertEqual(self.json("tree a.callgrind --event Sum")["totals"], [130])
        for words in (
            "report a.callgrind",
            "tree a.callgrind",
            "annotate a.callgrind main",
            "diff a.callgrind b.callgrind",
        ):
            self.refused(
                f"{words} --event No",
                2,
                "a.callgrind: there is no event 'No' (there are: Ir, Miss, Sum)",
            )

    def test_tree(self) -> None:
        tree = self.json("tree a.callgrind")
        (root,) = tree["tree"]
        self.assertEqual((root["name"], root["inclusive"], tree["left_out"]), ("main", [100, 3], 0))
        self.assertEqual(
            [
                (each["name"], each["inclusive"], each["calls"], each["children"])
                for each in root["children"]
            ],
            [("work", [80, 3], 2, []), ("idle", [10, 0], 1, [])],
        )
        self.assertEqual(self.json("tree a.callgrind --limit 2")["left_out"], 1)
        lines = self.text("tree a.callgrind").splitlines()
        self.assertEqual(lines[0], "100 Ir in total")
        self.assertRegex(lines[2], r"^100\.00% +100 +10\.00%  main ")
        self.assertRegex(lines[3], r"^ 80\.00% +80 +80\.00%    work ")

    def test_tree_of_callers(self) -> None:
        (root,) = self.json("tree a.callgrind work --callers")["tree"]
        self.assertEqual(
            (root["name"], [each["name"] for each in root["children"]]), ("work", ["main"])
        )
        self.refused("tree a.callgrind nothing", 1, "nothing: the profile has no such function")
        self.refused("tree a.callgrind --callers", 2, "--callers: requires the name of a function")

    def test_selection_of_a_thread_or_a_part(self) -> None:
        """Selects by the parts and threads of a Callgrind file; a part belongs to a thread."""
        costs = "fl=src/main.c\nfn=main\n3 {}\nfn=idle\n9 {}\n"
        self.put(
            "t.callgrind",
            "events: Ir\n"
            + "".join(
                f"part: {part}\nthread: {thread}\n" + costs.format(own, idle)
                for part, thread, own, idle in ((1, 1, 7, 0), (1, 2, 0, 30), (2, 1, 100, 0))
            ),
        )
        whole = self.json("report t.callgrind --by thread")["threads"]
        self.assertEqual({row["tid"]: row["self"] for row in whole}, {1: [107], 2: [30]})
        for words, total in (
            ("--thread 1", 107),
            ("--thread 2", 30),
            ("--part 1", 37),
            ("--part 2", 100),
            ("--part 1 --thread 1", 7),
        ):
            for command in ("report", "tree", "annotate"):
                what = " main.c" if command == "annotate" else ""
                self.assertEqual(
                    self.json(f"{command} t.callgrind{what} {words}")["totals"], [total], words
                )
        self.refused(
            "report t.callgrind --thread main",
            2,
            "--thread: there is no thread 'main' (there are: 1, 2)",
        )
        self.refused(
            "tree t.callgrind --part 3", 2, "--part: there is no part '3' (there are: 1, 2)"
        )
        self.refused(
            "report t.callgrind --part 2 --thread 2",
            4,
            "t.callgrind: thread '2' has no samples in part 2",
        )
        self.refused(
            "tree t.callgrind --by part",
            1,
            "--by: the profile has the calls of all threads and parts together, and no "
            "stacks: select one with --thread or --part",
        )
        self.put("a.folded", "main;a;b;a;b 3\nmain;a 1\n")
        self.refused(
            "report a.folded --thread main", 2, "--thread: the profile does not distinguish threads"
        )
        self.refused(
            "tree a.folded --by thread", 2, "--by: the profile does not distinguish threads"
        )
        self.refused(
            "tree a.folded --by function",
            2,
            "--by: expected one of thread, part, process, found 'function'",
        )

    def test_tree_of_deep_recursion(self) -> None:
        self.put("deep.folded", "main;" + "even;odd;" * 5000 + "leaf 7\nmain;even 1\n")
        lines = self.text("tree deep.folded").splitlines()
        self.assertEqual(
            [line.split(None, 3)[3].strip() for line in lines[2:]],
            ["main", "even (recursive)", "odd (recursive)", "leaf"],
        )
        for line in lines:
            self.assertLessEqual(len(line), 80)

    def test_annotate(self) -> None:
        self.put("here/src/main.c", SOURCE)
        for where in ("--source-dir here", "--source-map src=here/src"):
            (file,) = self.json(f"annotate a.callgrind main {where}")["files"]
            self.assertEqual(
                (file["file"], file["source"], file["self"]),
                ("src/main.c", "here/src/main.c", [10, 0]),
            )
            lines = {line["line"]: line for line in file["lines"]}
            self.assertEqual(lines[4]["text"], "\twork();")
            self.assertEqual(lines[4]["inclusive"], [80, 3])
            self.assertEqual(
                lines[4]["calls"],
                [
                    {
                        "name": "work",
                        "file": "src/work.c",
                        "object": "prog",
                        "calls": 2,
                        "recursive": False,
                        "inclusive": [80, 3],
                    }
                ],
            )
        text = self.text("annotate a.callgrind main --source-dir here")
        self.assertIn("-> work (2x)", text)
        self.assertIn("int main(void) {", text)
        text = self.text("annotate a.callgrind main")
        self.assertIn("--source-dir DIR", text)
        self.assertIn("-> work (2x)", text)
        (file,) = self.json("annotate a.callgrind work.c:6")["files"]
        self.assertEqual(
            [(line["line"], line["self"]) for line in file["lines"]], [(5, [50, 1]), (6, [30, 2])]
        )

    def test_annotate_refuses(self) -> None:
        self.refused(
            "annotate a.callgrind wor",
            1,
            "wor: the profile has no such function or file; names that contain it: work",
        )
        self.refused(
            "annotate a.callgrind main --source-map x",
            2,
            "--source-map: expected FROM=TO, the beginning of a path and its replacement, "
            "found 'x'",
        )
        self.refused("annotate a.callgrind", 2, "annotate: expected WHAT")

    def test_diff_names_what_changed(self) -> None:
        table = self.json("diff a.callgrind b.callgrind")
        self.assertEqual(table["totals"], {"before": 100, "after": 200})
        first = table["functions"][0]
        self.assertEqual((first["name"], first["before"], first["after"]), ("work", 80, 180))
        lines = self.text("diff a.callgrind b.callgrind").splitlines()
        self.assertEqual(lines[0], "100 Ir before, 200 now; changes of the self cost")
        self.assertRegex(lines[2], r"\+100 +80 +180 +80\.00% +90\.00%  work ")
        self.assertEqual(
            self.json("diff a.callgrind b.callgrind --event Miss")["totals"],
            {"before": 3, "after": 3},
        )
        self.put("s.folded", "a;b 3\n")
        self.refused(
            "diff s.folded a.callgrind",
            1,
            "a.callgrind: counts Ir, but s.folded counts "
            "ticks: they cannot be compared; --event NAME selects one that both have",
        )
        self.refused("diff a.callgrind", 2, "diff: expected AFTER")


class Written(ProfilesCase):
    def test_merge(self) -> None:
        self.assertEqual(self.text("merge a.callgrind b.callgrind -o sum.callgrind"), "")
        rows, parts = read_callgrind(self.path("sum.callgrind")), [
            read_callgrind(self.path(name)) for name in ("a.callgrind", "b.callgrind")
        ]
        self.assertEqual((rows.totals(), rows.stated_totals), ((300, 6), [(300, 6)]))
        for key, costs in rows.self_costs.items():
            self.assertEqual(costs, tuple(map(sum, zip(*(part.self_costs[key] for part in parts)))))
        for arc_key, arc in rows.arcs.items():
            self.assertEqual(arc.calls, sum(part.arcs[arc_key].calls for part in parts))
        self.assertIn(("cmd", "./prog"), rows.headers)
        self.text("merge b.callgrind a.callgrind -o turned.callgrind")
        with open(self.path("sum.callgrind"), "rb") as one, open(
            self.path("turned.callgrind"), "rb"
        ) as two:
            self.assertEqual(one.read(), two.read())

    def test_graphs(self) -> None:
        need_tools("dot")
        self.put("odd.folded", 'a"];b\\;"c x\x01;<y>;é 4\nlong' + "é" * 100 + " 7\n")
        for name in ("a.callgrind", "odd.folded"):
            self.run_in(f"convert {name} -o out.dot")
            drawn = subprocess.run(
                ["dot", "-Tsvg", self.path("out.dot")], capture_output=True, check=True
            )
            self.assertEqual(drawn.stderr, b"")
            self.run_in(f"convert {name} -o out.png")
            with open(self.path("out.png"), "rb") as file:
                self.assertTrue(file.read().startswith(b"\x89PNG\r\n\x1a\n"))
        done = subprocess.run(
            [command_line(), "convert", self.path("a.callgrind"), "-o", self.path("no.png")],
            env={**os.environ, "PATH": self.folder},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("a picture needs Graphviz", done.stderr)
        self.assertFalse(os.path.exists(self.path("no.png")))

    def test_fractions_of_any_length(self) -> None:
        """Merges folded stacks of a tool that writes as many decimal places as a count needs."""
        self.put("one.folded", "main;f 1.5\nmain 2\n")
        self.put("two.folded", "main;f 0.2345678\n")
        self.run_in("merge one.folded two.folded -o sum.folded")
        with open(self.path("sum.folded"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "main 2\nmain;f 1.7345678\n")
        table = json.loads(self.run_in("diff one.folded two.folded --json").stdout)
        self.assertEqual(table["totals"], {"before": 3_500_000_000, "after": 234_567_800})

    def test_merge_refuses(self) -> None:
        self.put("s.folded", "a;b 3\n")
        self.refused(
            "merge a.callgrind s.folded -o x.cg",
            1,
            "s.folded: is folded, but a.callgrind "
            "is callgrind: only files of one format are merged",
        )
        self.put("instr.callgrind", "positions: instr line\nevents: Ir\nfl=a\nfn=f\n0x1 2 3\n")
        self.refused(
            "merge a.callgrind instr.callgrind -o x.cg",
            1,
            "instr.callgrind: its positions "
            "are 'instr line', but those of a.callgrind are 'line': they cannot be added up",
        )
        self.put("most.callgrind", f"events: Ir\nfl=a\nfn=f\n1 {2**64 - 1}\n")
        self.refused(
            "merge most.callgrind most.callgrind -o x.cg",
            1,
            "the sum of the costs of event Ir exceeds 64 bits",
        )
        self.assertFalse(os.path.exists(self.path("x.cg")))

    def test_rewrite(self) -> None:
        self.assertEqual(self.text("rewrite a.callgrind -o once.callgrind"), "")
        self.assertEqual(self.json("report once.callgrind"), self.json("report a.callgrind"))
        self.text("rewrite once.callgrind -o twice.callgrind")
        with open(self.path("once.callgrind"), encoding="utf-8") as file:
            once = file.read()
        self.assertEqual(self.text("rewrite twice.callgrind -o -"), once)
        self.assertIn("\nevent: Sum = Ir + 10 Miss : Together\n", once)
        full = self.text("rewrite a.callgrind -o - --full-names --full-positions")
        self.assertIn("\nfn=main\n3 10\ncfi=src/work.c\ncfn=work\ncalls=2 5\n4 80 3\n", full)

    def test_convert(self) -> None:
        self.put("s.folded", "main;work 3\nmain 1\n")
        done = self.run_in("convert s.folded -o out.callgrind")
        self.assertIn("tally: not in callgrind: whole stacks", done.stderr)
        self.assertEqual(self.json("report out.callgrind")["totals"], [4])
        self.refused(
            "convert a.callgrind -o out.folded",
            1,
            "a.callgrind: the format folded holds stacks, and "
            "this profile has only calls: an inclusive call is not a stack",
        )
        self.put("zero.callgrind", "events: Ir\nfl=a\nfn=f\ncfn=g\ncalls=0 1\n1 2\n")
        self.assertIn(
            "callgrind_annotate", self.run_in("convert zero.callgrind -o - --to callgrind").stderr
        )


class PprofFiles(ProfilesCase):
    def setUp(self) -> None:
        super().setUp()
        done = subprocess.run(
            [command_line(), "convert", "a.callgrind", "-o", "x", "--to", "pprof"],
            cwd=self.folder,
            text=True,
            capture_output=True,
            check=False,
        )
        if "unknown format" in done.stderr:
            self.skipTest("built without protozero")

    def put_pprof(self, name: str, leaf: int) -> None:
        file = Pprof().type("ticks", "count").type("space", "bytes")
        file.mapping(1, 0x1000, 0x2000, "/bin/x")
        file.function(1, "main", "m.c", 1).function(2, "leaf", "m.c", 9)
        file.location(1, 1, 0x1010, [(1, 5)]).location(2, 1, 0x1020, [(2, 10)])
        file.sample([2, 1], [leaf, 64]).sample([1], [3, 8])
        with open(self.path(name), "wb") as out:
            out.write(file.bytes())

    def test_files_of_another_machine(self) -> None:
        need_tools("gcc")
        os.makedirs(self.path("root/bin"))
        self.put(
            "work.s", ".globl work\n.type work,@function\nwork: .space 0x400\n.size work,.-work\n"
        )
        for name, build_id in (("root/bin/prog", bytes(range(20)).hex()), ("prog", "77")):
            words = ["-nostdlib", "-static", "-Wl,-N,-e,work,--build-id=0x" + build_id]
            subprocess.run(
                ["gcc", *words, self.path("work.s"), "-o", self.path(name)],
                check=True,
                capture_output=True,
                timeout=60,
            )
        data = str(SOURCE_ROOT / "tests/fuzz/corpus/perf_data/chain-little")  # of /bin/prog

        def found(*words: str) -> "tuple[str, str]":
            done = self.tally("report", data, *words)
            row = done.stdout.splitlines()[3]  # below [kernel], which has the same cost
            return row.split()[-2], done.stderr

        name, warnings = found()
        self.assertEqual(name, "prog+0x100")
        self.assertIn("/bin/prog: warning: cannot open", warnings)
        self.assertIn(" (--symbols FILE or --sysroot DIR names it)\n", warnings)
        for words in (["--sysroot", self.path("root")], ["--symbols", self.path("root/bin/prog")]):
            name, warnings = found(*words)
            self.assertEqual(name, "work")
            self.assertNotIn("/bin/prog", warnings)
        name, warnings = found("--symbols", self.path("prog"))
        self.assertEqual(name, "prog+0x100")
        self.assertIn("prog: warning: is not used for /bin/prog, which has the build ID ", warnings)

    def test_every_command(self) -> None:
        self.put_pprof("a.pprof", 7)
        self.put_pprof("b.pprof", 9)
        report = self.json("report a.pprof")
        self.assertEqual(report["events"], ["space", "ticks"])
        self.assertEqual(report["totals"], [72, 10])
        self.assertEqual(
            [(row["name"], row["self"]) for row in report["functions"]],
            [("leaf", [64, 7]), ("main", [8, 3])],
        )
        self.assertEqual(self.json("report a.pprof --event ticks")["totals"], [10])
        self.refused(
            "report a.pprof --event x",
            2,
            "a.pprof: there is no event 'x' (there are: space, ticks)",
        )
        self.assertIn("leaf", self.text("tree a.pprof --event ticks"))
        self.assertIn("88.89%    64  88.89%    64    10", self.text("annotate a.pprof leaf"))
        self.assertIn("10 ticks before, 12 now", self.text("diff a.pprof b.pprof --event ticks"))
        self.assertEqual(self.text("validate a.pprof"), "")
        self.text("merge a.pprof b.pprof -o sum.pb.gz")
        self.assertEqual(self.json("report sum.pb.gz")["totals"], [144, 22])
        self.text("convert sum.pb.gz -o again.pb.gz")
        with open(self.path("sum.pb.gz"), "rb") as one, open(self.path("again.pb.gz"), "rb") as two:
            self.assertEqual(gzip.decompress(one.read())[:100], gzip.decompress(two.read())[:100])
        self.assertIn(
            "tally: not in folded: all values but the first",
            self.run_in("convert a.pprof -o out.folded").stderr,
        )
        self.assertEqual(self.json("report out.folded")["totals"], [72])
        self.run_in("convert out.folded -o out.pb.gz")
        self.assertEqual(
            self.json("report out.pb.gz")["functions"], self.json("report out.folded")["functions"]
        )

    def test_refusals(self) -> None:
        self.refused(
            "convert a.callgrind -o x.pb.gz",
            1,
            "a.callgrind: the format pprof holds stacks, and "
            "this profile has only calls: an inclusive call is not a stack",
        )
        with open(self.path("cut.pb.gz"), "wb") as out:
            out.write(b"\x0a\x05x")
        self.refused(
            "report cut.pb.gz",
            1,
            "cut.pb.gz:0x0: field 1 of the profile has 5 bytes, but " "only 1 are left",
        )


class Validate(ProfilesCase):
    def test_statuses(self) -> None:
        self.assertEqual(self.text("validate a.callgrind b.callgrind"), "")
        self.put("warned.callgrind", PROFILE.replace("\n", "\r\n"))
        self.assertEqual(
            self.text("validate warned.callgrind"),
            "warned.callgrind:1:19: warning: lines end in CR LF\n",
        )
        self.put("wrong.callgrind", PROFILE.replace("totals: 100", "totals: 101"))
        said = "wrong.callgrind:25:9: {}: totals: says 101 Ir, but the lines add up to 100\n"
        done = self.run_in("validate a.callgrind wrong.callgrind", 1)
        self.assertEqual((done.stdout, done.stderr), (said.format("error"), ""))
        # Every other command warns and continues.
        for words in ("report", "tree", "rewrite -o -", "convert -o - --to callgrind"):
            done = self.run_in(f"{words} wrong.callgrind")
            self.assertEqual(done.stderr, said.format("warning"))
        self.put("broken.callgrind", PROFILE.replace("3 10", "3 10 0 7"))
        position = "broken.callgrind:10:8: "
        self.assertEqual(
            self.run_in("validate broken.callgrind", 1).stdout,
            f"{position}error: more costs than events: there are 2\n",
        )
        self.refused("report broken.callgrind", 1, f"{position}more costs than events: there are 2")

    def test_empty_files(self) -> None:
        self.put("empty.callgrind", "")
        self.refused("report empty.callgrind", 4, "empty.callgrind: is empty")
        self.assertEqual(
            self.run_in("validate empty.callgrind", 1).stdout, "empty.callgrind: error: is empty\n"
        )
        absent = "absent.callgrind: cannot open: No such file or directory (ENOENT)"
        self.refused("report absent.callgrind", 1, absent)
        self.refused("validate absent.callgrind", 1, absent)
        self.refused("validate", 2, "validate: expected FILE")
        self.put("other.callgrind", "nothing of the kind\n")
        self.assertEqual(self.run_in("report other.callgrind", 1).stdout, "")

    def test_rewriting_a_truncated_file_keeps_the_error(self) -> None:
        cut = "creator: callgrind-3.19.0\nevents: A\nsummary: 9\nfl=a\nfn=f\n1 2\n"
        self.put("cut.callgrind", cut)
        self.run_in("rewrite cut.callgrind -o again.callgrind")
        with open(self.path("again.callgrind"), encoding="utf-8") as file:
            again = file.read()
        self.assertIn("\ndesc: Truncated: the lines add up to 2 of 9 A\n", again)
        self.assertIn("\nsummary: 2\n", again)
        self.assertEqual(self.text("validate again.callgrind"), "")

    def test_threads_in_files_of_their_own(self) -> None:
        """Valgrind leaves the file that was asked for empty."""
        self.put("t", "")
        self.put("t-01", PROFILE)
        self.put("t-02", PROFILE)
        said = "t: is empty; the threads are in separate files: t-01, …"
        self.assertEqual(
            self.run_in("merge t t-01 t-02 -o sum.callgrind").stderr, f"tally: warning: {said}\n"
        )
        self.assertEqual(self.json("report sum.callgrind")["totals"], [200, 6])
        self.assertEqual(self.text("validate t t-01"), said.replace("t: ", "t: note: ", 1) + "\n")
        self.refused("report t", 4, said)

    def test_refused_arguments(self) -> None:
        self.refused(
            "annotate a.callgrind main --source-dir no-such",
            2,
            "--source-dir: 'no-such' is not a directory",
        )
        self.refused(
            "rewrite a.callgrind -o out.callgrind.gz",
            2,
            "out.callgrind.gz: output is not compressed: remove .gz from the name, or "
            "write to - and compress that",
        )
        done = subprocess.run(
            [command_line(), "report", ""], capture_output=True, text=True, timeout=120, check=False
        )
        self.assertEqual(
            (done.returncode, done.stderr.splitlines()[0]),
            (2, "tally: FILE: expected a file, found ''"),
        )
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [command_line(), "--help"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=120,
                check=False,
            )
        self.assertEqual(done.returncode, 1)

    def test_standard_input(self) -> None:
        for words, text in (
            ("validate -", PROFILE.replace("totals: 100", "totals: 101")),
            ("report - --json", PROFILE),
        ):
            done = subprocess.run(
                [command_line(), *words.split()],
                input=text,
                text=True,
                capture_output=True,
                timeout=120,
                check=False,
            )
            if words.startswith("validate"):
                self.assertEqual((done.returncode, done.stdout.partition(":")[0]), (1, "<stdin>"))
            else:
                self.assertEqual(
                    (done.returncode, json.loads(done.stdout)["totals"]), (0, [100, 3])
                )


# Terminals obey these, as bytes of UTF-8 or as bytes of a file that is not.
OBEYED = ("\x1b]0;t\x07", "\x1b[5n", "\x9b5n", "\x9d0;t\x9c", "\u202e", "\u2066", "\x7f", "\x08")


class HostileTextTest(ProfilesCase):
    def text_of(self, *words: str) -> str:
        done = subprocess.run(
            [command_line(), *words],
            cwd=self.path("."),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        return done.stdout.decode()  # fails if it is not UTF-8

    def test_no_name_controls_the_terminal(self) -> None:
        for i, what in enumerate(OBEYED):
            self.put(
                f"{i}.callgrind",
                f"# callgrind format\nversion: 1\ncreator: c{what}\ncmd: ./p{what}\n"
                f"event: Ir : long{what}\nevents: Ir e{what}\nob=/o{what}\nfl=/s/{what}.c\n"
                f"fn=main{what}\n3 10 5\ncfi=/s/w{what}.c\ncfn=work{what}\ncalls=2 5\n4 80 3\n"
                f"fl=/s/w{what}.c\nfn=work{what}\n5 80 3\n",
            )
            self.put(f"{i}.folded", f"t{what};main{what};work{what} 7\n")
            self.put(
                f"{i}.json",
                json.dumps(
                    [
                        {"ph": ph, "name": f"n{what}", "ts": ts, "pid": 1, "tid": f"t{what}"}
                        for ph, ts in (("B", 1), ("E", 9))
                    ]
                ),
            )
            self.put(f"bad{what}.callgrind", "events: Ir\nfn=f\n1 x\n")
            for name in (f"{i}.callgrind", f"{i}.folded", f"{i}.json", f"bad{what}.callgrind"):
                for words in (
                    *(
                        ["report", name, "--by", by]
                        for by in ("function", "line", "object", "thread")
                    ),
                    ["report", name, "--limit", "1", "--by", "module"],
                    ["tree", name],
                    ["tree", name, f"work{what}"],
                    ["annotate", f"work{what}", name],
                    ["annotate", f"/s/w{what}.c", name],
                    ["histogram", name],
                    ["timeline", name],
                    ["diff", "a.callgrind", name],
                    ["validate", name],
                    ["convert", name, "-o", "out.gmon"],
                    ["convert", name, "-o", f"no/such{what}.folded"],
                    ["report", name, "--focus", f"none{what}"],
                    ["report", name, f"--no-such{what}"],
                ):
                    self.assert_plain(*words)

    def assert_plain(self, *words: str) -> None:
        text = self.text_of(*words)
        found = [c for c in text if c in "".join(OBEYED) and not c.isascii() or c < "\n"]
        found += [c for c in text if "\n" < c < " " or c == "\x7f"]
        self.assertEqual(found, [], (words, text))

    def test_no_name_of_coverage_controls_the_terminal(self) -> None:
        for i, what in enumerate(OBEYED):
            source, name = f"s{what}.c", f"{i}.info"
            self.put(source, "int f(void)\n{ return 1; }\n")
            self.put(
                name,
                f"TN:t{what}\nSF:{source}\nFN:1,f{what}\nFNDA:1,f{what}\nDA:1,1\nDA:2,0\n"
                f"BRDA:1,0,x{what},1\nBRDA:1,0,y{what},0\nend_of_record\n",
            )
            for words in (
                ["--limit", "3"],
                ["--full"],
                ["--json"],
                ["--verbose"],
                ["--redundant"],
                ["--which-tests", f"{source}:1"],
                ["--tests-by-function", "-"],
                ["--report", "markdown:-"],
                ["--report", "gcovr:-"],
                ["--report", "github:-"],
                ["--report", f"html:{what}/no"],
                ["--root", f"no{what}"],
                ["--exclude", f"{what}("],
                [f"no{what}"],
            ):
                self.assert_plain("coverage", name, *words)


if __name__ == "__main__":
    run_unittests()
