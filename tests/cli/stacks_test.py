"""The files for browsers that `tally convert` makes of stacks: an SVG, and speedscope's JSON."""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import unittest
from typing import Any, Dict
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase
from support.skips import large, need_tools, run_unittests

STACKS = """\
main;parse;next_token 40
main;parse 3
main;print<int, char const*>(int&) 50
main;work;parse;next_token 6
<start>&"'\t;\x01bell 1
"""
SVG = "{http://www.w3.org/2000/svg}"


class StacksCase(ProfileCase):
    def converted(self, name: str, text: str = STACKS) -> str:
        with open(self.path("in.folded"), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        out = self.path(name)
        self.tally("convert", self.path("in.folded"), "-o", out)
        return out


class FlameGraph(StacksCase):
    def test_is_xml(self) -> None:
        need_tools("xmllint")
        path = self.converted("x.svg")
        subprocess.run(["xmllint", "--noout", path], check=True, timeout=60)

    def test_frames(self) -> None:
        """Checks the frames' titles and positions, and that their names fit."""
        root = ElementTree.parse(self.converted("x.svg")).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        (frames,) = (group for group in root if group.get("id") == "frames")
        below: dict[int, tuple[float, float]] = {}
        right: dict[int, float] = {}
        values = {}
        for frame in frames:
            begin, value, depth = map(int, frame.get("data-f", "").split(","))
            rect, title = frame.find(SVG + "rect"), frame.find(SVG + "title")
            assert rect is not None and title is not None and title.text
            name, count, *_ = title.text.split("\n")
            self.assertTrue(count.startswith(f"{value} ticks, {value:.2f}%"), count)
            values[name, depth, begin] = value
            x, width = float(rect.get("x", "")), float(rect.get("width", ""))
            self.assertAlmostEqual(x, 10 + begin * 11.8, delta=0.01)
            self.assertLessEqual(x + width, 10 + (begin + value) * 11.8 + 0.01)
            self.assertGreaterEqual(x, right.get(depth, 0.0))
            right[depth] = x + width
            if depth > 0:
                self.assertGreaterEqual(x, below[depth - 1][0])
                self.assertLessEqual(x + width, below[depth - 1][1] + 0.01)
            below[depth] = (x, x + width)
            text = frame.find(SVG + "text")
            if text is not None:
                assert text.text
                self.assertLessEqual(len(text.text) * 7.25, width)
                self.assertIn(text.text.rstrip("…"), name)
        self.assertEqual(values["all", 0, 0], 100)
        self.assertEqual(values["main", 1, 1], 99)
        self.assertEqual(values["print<int, char const*>(int&)", 2, 44], 50)
        self.assertEqual(values["<start>&\"'?", 1, 0], 1)

    def test_reports_what_is_lost(self) -> None:
        with open(self.path("deep.folded"), "w", encoding="utf-8") as file:
            file.write("f;" * 10_000 + "leaf 50\nmain 5000\nrare 1\n")
        done = self.tally("convert", self.path("deep.folded"), "-o", self.path("deep.svg"))
        self.assertIn(
            "tally: not in flamegraph: 9751 frames beyond the 250th of a stack (0.99% of " "all)",
            done.stderr.splitlines(),
        )
        self.assertIn(
            "tally: not in flamegraph: 1 frame too narrow (0.02% of all)", done.stderr.splitlines()
        )
        with open(self.path("deep.svg"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn(">Not drawn: 1 frame too narrow (0.02% of all), 9751 frames beyond", text)
        self.assertLess(len(text), 150_000)

    def test_cannot_be_read(self) -> None:
        path = self.converted("x.svg")
        done = self.tally("report", path, status=1)
        self.assertIn("the format flamegraph can be written, but not read", done.stderr)


# Runs in the picture after the picture's own script; `result` collects what it observes.
DRIVER = """
const all = [...document.querySelectorAll('#frames > g')];
const name = g => g.querySelector('title').textContent.split('\\n')[0];
const named = (text, nth = 0) => all.filter(g => name(g) === text)[nth];
const shown = () => all.filter(g => g.style.display !== 'none').map(name);
const width = g => Number(g.querySelector('rect').getAttribute('width'));
const hits = () => all.filter(g => g.classList.contains('hit')).map(name);
const matched = () => document.querySelector('.matched').textContent;
const input = document.querySelector('input');
const key = (to, key, more = {}) => {
  const event = new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true, ...more});
  to.dispatchEvent(event);
  return event.defaultPrevented;
};
const click = g => g.querySelector('rect').dispatchEvent(new MouseEvent('click', {bubbles: true}));
const type = text => {
  input.value = text;
  input.dispatchEvent(new Event('input', {bubbles: true}));
};
const fits = () => all.every(g => {
  const text = g.querySelector('text');
  return !text || g.style.display === 'none' || text.getComputedTextLength() <= width(g);
});
result.fits = fits();
result.inside = all.every(g => {
  const box = g.querySelector('rect').getBoundingClientRect();
  return box.left >= 0 && box.right <= innerWidth;
});
result.full = width(all[0]);
click(named('work'));
result.zoomed = shown();
result.widths = all.filter(g => g.style.display !== 'none').map(width);
result.zoomed_fits = fits();
result.focused = name(document.activeElement);
key(document.activeElement, 'ArrowUp');
result.up = name(document.activeElement);
key(document.activeElement, 'ArrowDown');
key(document.activeElement, 'ArrowDown');
result.down = name(document.activeElement);
key(document.activeElement, 'Escape');
result.reset = shown().length === all.length;
key(document.activeElement, 'Enter');
const top_of = g => g.querySelector('rect').getBoundingClientRect().top;
result.root_below = top_of(all[0]) > top_of(named('main'));
document.querySelectorAll('button')[1].click();
result.root_above = top_of(all[0]) < top_of(named('main'));
result.find_taken = key(document.documentElement, 'f', {ctrlKey: true});
result.typing = document.activeElement === input;
type('^parse$|token');
result.hits = hits();
result.matched = matched();
type('PRINT');
result.capitals = [hits().length, matched()];
type('^print$');
result.own = hits();
type('(');
result.wrong = [hits().length, matched(), input.getAttribute('aria-invalid')];
key(input, 'Escape');
result.ended = [hits().length, matched(), input.value];
named('parse').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
result.status = document.querySelectorAll('output')[1].textContent;
"""

REPORT = """
const out = document.createElementNS('http://www.w3.org/2000/svg', 'desc');
out.textContent = 'RESULT' + JSON.stringify(result) + 'END';
document.documentElement.append(out);
"""


@large
class InABrowser(StacksCase):
    def result_of(self, path: str, driver: str) -> Dict[str, Any]:
        """Runs `driver` after the script of the picture, and returns its `result`."""
        names = ("chromium", "chromium-browser", "google-chrome")
        browser = next((name for name in names if shutil.which(name)), None)
        if browser is None:
            raise unittest.SkipTest("not installed: chromium")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        driver = f"const result = {{}};\n{driver}{REPORT}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("</svg>", f"<script><![CDATA[{{{driver}}}]]></script></svg>"))
        done = subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--window-size=900,500",
                f"--user-data-dir={self.folder}/browser",
                "--dump-dom",
                f"file://{path}",
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        found = re.search("<desc[^>]*>RESULT(.*)END</desc>", done.stdout)
        assert found, done.stderr[-2000:] + done.stdout[-1000:]
        return json.loads(
            found[1]
            .replace("&quot;", '"')
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&")
        )

    def test_a_tall_picture_begins_with_its_root(self) -> None:
        """A page that has scrolled is blank in the screenshots of a headless browser."""
        result = self.result_of(
            self.converted("deep.svg", ";".join(f"f{i}" for i in range(300)) + " 1\n"),
            "result.scrolled = scrollY;\n"
            "const box = document.querySelector('#frames rect').getBoundingClientRect();\n"
            "result.is_shown = box.top >= 0 && box.bottom <= innerHeight;\n",
        )
        self.assertEqual(result, {"scrolled": 0, "is_shown": True})

    def test_zoom_and_search(self) -> None:
        result = self.result_of(self.converted("x.svg"), DRIVER)
        self.assertTrue(result["fits"] and result["inside"] and result["zoomed_fits"], result)
        self.assertEqual(result["zoomed"], ["all", "main", "work", "parse", "next_token"])
        self.assertEqual(
            [round(width, 6) for width in result["widths"]], [round(result["full"], 6)] * 5
        )
        self.assertEqual(
            (result["focused"], result["up"], result["down"]), ("work", "parse", "main")
        )
        self.assertTrue(result["reset"] and result["root_below"] and result["root_above"])
        self.assertTrue(result["find_taken"] and result["typing"])
        self.assertEqual(result["hits"], ["parse", "next_token", "parse", "next_token"])
        self.assertEqual(result["matched"], "matched: 49.00%")
        self.assertEqual(result["capitals"], [0, "matched: 0.00%"])
        self.assertEqual(result["own"], ["print<int, char const*>(int&)"])
        self.assertEqual(result["wrong"], [0, "invalid regular expression", "true"])
        self.assertEqual(result["ended"], [0, "", ""])
        self.assertEqual(result["status"], "parse  ·  43 ticks, 43.00%; itself 3, 3.00%")


class Patterns(StacksCase):
    """--focus, --ignore, --hide and --fold, in each command."""

    STACKS = (
        "main;parse;std::sort;std::swap 40\n"
        "main;parse;std::sort;less 3\n"
        "main;print 50\n"
        "main;print;std::put;std::swap 6\n"
        "std::put 1\n"
    )
    WORDS = ("--ignore", "less", "--hide", "^main$", "--fold", "^std::")
    EXPECTED = {"parse;std::sort": 40, "print": 50, "print;std::put": 6, "std::put": 1}

    def setUp(self) -> None:
        super().setUp()
        self.file = self.path("in.folded")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(self.STACKS)

    def stacks(self, *words: str) -> dict:
        self.tally("convert", self.file, "-o", self.path("out.folded"), *words)
        with open(self.path("out.folded"), encoding="utf-8") as file:
            rows = (line.rsplit(" ", 1) for line in file)
            return {stack: int(value) for stack, value in rows}

    def test_each_command(self) -> None:
        self.assertEqual(self.stacks(*self.WORDS), self.EXPECTED)
        own = {row["name"]: row["self"] for row in self.report(self.file, *self.WORDS)["functions"]}
        selves = {"parse": [0], "print": [50], "std::sort": [40], "std::put": [7]}
        self.assertEqual(own, selves)
        tree = json.loads(self.tally("tree", self.file, "--json", *self.WORDS).stdout)
        self.assertEqual([node["name"] for node in tree["tree"]], ["print", "parse", "std::put"])
        lines = self.tally("annotate", self.file, "std::put", "--json", *self.WORDS).stdout
        self.assertEqual(json.loads(lines)["totals"], [97])
        missing = self.tally("annotate", self.file, "less", *self.WORDS, status=1).stderr
        self.assertIn("less: the profile has no such function", missing)
        changes = self.tally("diff", self.file, self.file, "--json", "--focus", "less").stdout
        self.assertEqual(json.loads(changes)["totals"], {"before": 3, "after": 3})

    def test_order(self) -> None:
        """Hidden frames are seen by --focus, but not by --fold."""
        self.assertEqual(
            self.stacks("--focus", "less", "--hide", "less"), {"main;parse;std::sort": 3}
        )
        self.assertEqual(
            self.stacks("--focus", "put", "--hide", "^std::put", "--fold", "main|print|swap"),
            {"main": 6},
        )

    def test_refusals(self) -> None:
        for words, status, text in (
            (("--focus", "x"), 4, "--focus: no sample has a frame that matches 'x'"),
            (("--ignore", "main|put"), 4, "--ignore: every sample has a frame that matches"),
            (("--hide", "."), 4, "--hide: every frame of the samples matches '.'"),
            (("--fold", "a["), 2, "--fold: 'a[' is not a pattern: "),
            (("--fold="), 2, "--fold: expected a value"),
        ):
            words = (words,) if isinstance(words, str) else words
            done = self.tally("report", self.file, *words, status=status)
            self.assertIn(f"tally: {text}", done.stderr)
        with open(self.path("callgrind.out"), "w", encoding="utf-8") as file:
            file.write("events: Ir\nfn=main\n1 5\n")
        for option in ("--focus", "--ignore", "--hide", "--fold"):
            done = self.tally("tree", self.path("callgrind.out"), option, "main", status=1)
            self.assertIn(
                f"tally: {option}: needs stacks, but the profile holds costs", done.stderr
            )


class FunctionsOnly(StacksCase):
    def test_counts_stay(self) -> None:
        """The unit tests compare stacks with lines and addresses."""
        full = self.converted("x.pb.gz")
        out = self.path("y.pb.gz")
        self.tally("convert", full, "-o", out, "--functions-only")
        folded = [self.tally("convert", each, "-o", "-", "--to=folded") for each in (full, out)]
        self.assertEqual(folded[0].stdout, folded[1].stdout)
        with open(self.path("a.cg"), "w", encoding="utf-8") as file:
            file.write("events: Ir\nfn=f\n1 1\n")
        done = self.tally(
            "convert", self.path("a.cg"), "-o", self.path("b.cg"), "--functions-only", status=1
        )
        self.assertIn("--functions-only requires a profile of stacks", done.stderr)


class Differences(StacksCase):
    """`tally diff A B -o FILE`."""

    BEFORE = "main;parse;next 40\nmain;parse 10\nmain;old;next 20\nmain 5\nmain;parse;next 5\n"
    AFTER = "main;parse;next 90\nmain;parse 20\nmain;new 30\nmain 10\n"

    def setUp(self) -> None:
        super().setUp()
        for name, text in (("a.folded", self.BEFORE), ("b.folded", self.AFTER)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

    def diff(self, before: str, after: str, out: str, *more: str) -> str:
        done = self.tally("diff", self.path(before), self.path(after), "-o", self.path(out), *more)
        gone = "tally: not in flamegraph: 2 frames only before the change (25.00% of all then)\n"
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, gone if out.endswith(".svg") and after == "b.folded" else "")
        with open(self.path(out), encoding="utf-8") as file:
            return file.read()

    @staticmethod
    def both(before: str, after: str) -> dict:
        """Adds up stacks as FlameGraph's difffolded.pl does: stack -> [before, after]."""
        sums: dict[str, list[int]] = {}
        for column, text in enumerate((before, after)):
            for line in text.splitlines():
                stack, count = line.rsplit(" ", 1)
                sums.setdefault(stack, [0, 0])[column] += int(count)
        return sums

    def test_folded(self) -> None:
        text = self.diff("a.folded", "b.folded", "d.folded")
        sums = self.both(self.BEFORE, self.AFTER)
        self.assertEqual(text, "".join(f"{s} {a} {b}\n" for s, (a, b) in sorted(sums.items())))
        # Its flame graph is that of the two files.
        self.tally("convert", self.path("d.folded"), "-o", self.path("c.svg"))
        with open(self.path("c.svg"), encoding="utf-8") as file:
            self.assertEqual(
                file.read().replace(">Flame graph<", ">a.folded → b.folded<"),
                self.diff("a.folded", "b.folded", "d.svg"),
            )

    def frames(self, svg: str) -> dict:
        """Returns path -> (colour, the lines of the title after the name)."""
        (group,) = (g for g in ElementTree.fromstring(svg) if g.get("id") == "frames")
        open_boxes: list[tuple[str, int]] = []  # the callers' names and ends
        out = {}
        for frame in group:
            begin, value, depth = map(int, frame.get("data-f", "").split(","))
            name, *lines = (frame.findtext(SVG + "title") or "").split("\n")
            del open_boxes[depth:]
            if open_boxes:
                self.assertLessEqual(begin + value, open_boxes[-1][1])
            open_boxes.append((name, begin + value))
            out[";".join(box[0] for box in open_boxes[1:])] = (frame.get("class"), lines)
        return out

    def test_flame_graph(self) -> None:
        """Compares each frame with the sums of the folded stacks. No change is by chance."""
        before, after = (text.replace("\n", "0000\n") for text in (self.BEFORE, self.AFTER))
        for name, text in (("a.folded", before), ("b.folded", after)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        svg = self.diff("a.folded", "b.folded", "d.svg")
        frames = self.frames(svg)
        sums = self.both(before, after)
        totals = [sum(each[i] for each in sums.values()) for i in (0, 1)]
        paths = {
            ";".join(stack.split(";")[:length])
            for stack, (_, after) in sums.items()
            if after
            for length in range(len(stack.split(";")) + 1)
        }
        self.assertEqual(set(frames), paths)

        def shown(before: int, after: int) -> str:
            shares = [100 * value / total for value, total in zip((before, after), totals)]
            return (
                f"{after} ticks, {shares[1]:.2f}%; before {before}, {shares[0]:.2f}% "
                f"({shares[1] - shares[0]:+.2f})"
            )

        changes = {p: b / totals[1] - a / totals[0] for p, (a, b) in sums.items() if p in paths}
        largest = max(abs(change) for change in changes.values())
        for path, (colour, lines) in frames.items():
            below = [
                each
                for stack, each in sums.items()
                if path == "" or stack == path or stack.startswith(path + ";")
            ]
            expected = [shown(*map(sum, zip(*below)))]
            if path in sums:
                expected.append("itself " + shown(*sums[path]))
            self.assertEqual(lines, expected, path)
            level = math.ceil(5 * abs(changes.get(path, 0)) / largest)
            kind = "m" if changes.get(path, 0) > 0 else "l"
            self.assertEqual(colour, "all" if not path else f"{kind}{level}" if level else "same")
        self.assertIn("1500000 ticks, 800000 before; coloured by", svg)
        self.assertIn("Not drawn: 2 frames only before the change (25.00% of all then)", svg)
        self.assertIn("itself more, up to 20.00 points", svg)

    def test_changes_by_chance_are_grey(self) -> None:
        """Of few samples, only a function that had none has changed for sure."""
        frames = self.frames(self.diff("a.folded", "b.folded", "d.svg"))
        coloured = {path: colour for path, (colour, _) in frames.items() if colour != "same"}
        self.assertEqual(coloured, {"": "all", "main;new": "m5"})

    def test_equal_shares_are_no_change(self) -> None:
        with open(self.path("c.folded"), "w", encoding="utf-8") as file:
            file.write(3 * self.BEFORE)
        frames = self.frames(self.diff("a.folded", "c.folded", "d.svg"))
        self.assertEqual({colour for colour, _ in frames.values()}, {"all", "same"})

    def test_other_formats_of_the_same_event(self) -> None:
        """The table and the stacks are the same, whatever files the profiles come from."""
        for name in ("a", "b"):
            for suffix in ("pb.gz", "callgrind", "firefox.json"):
                self.tally(
                    "convert", self.path(f"{name}.folded"), "-o", self.path(f"{name}.{suffix}")
                )
        files = ("folded", "pb.gz", "callgrind", "firefox.json")
        words = ("--limit", "0", "--json")
        expected = self.tally("diff", self.path("a.folded"), self.path("b.folded"), *words).stdout
        folded = self.diff("a.folded", "b.folded", "d.folded")
        for before in files:
            for after in ("folded", before):
                pair = self.path(f"a.{before}"), self.path(f"b.{after}")
                changes = json.loads(self.tally("diff", *pair, *words).stdout)
                self.assertEqual(changes, json.loads(expected), pair)
                if "callgrind" not in (before, after):
                    self.assertEqual(self.diff(f"a.{before}", f"b.{after}", "e.folded"), folded)

    def test_patterns(self) -> None:
        text = self.diff("a.folded", "b.folded", "d.folded", "--focus", "new|old", "--hide", "main")
        self.assertEqual(text, "new 0 30\nold;next 20 0\n")
        only_after = self.diff("a.folded", "b.folded", "d.folded", "--focus", "new")
        self.assertEqual(only_after, "main;new 0 30\n")
        pair = self.path("a.folded"), self.path("b.folded")
        done = self.tally("diff", *pair, "--focus", "^old$", "--json")
        self.assertEqual(json.loads(done.stdout)["totals"], {"before": 20, "after": 0})
        done = self.tally("diff", *pair, "--focus", "nowhere", status=4)
        self.assertIn(f"'nowhere', neither in {pair[0]} nor in {pair[1]}", done.stderr)

    def test_refusals(self) -> None:
        self.tally("convert", self.path("a.folded"), "-o", self.path("a.callgrind"))
        a, b = self.path("a.folded"), self.path("b.folded")
        with open(self.path("gone.folded"), "w", encoding="utf-8") as file:
            file.write("main;f 1 0\n")
        done = self.tally(
            "convert", self.path("gone.folded"), "-o", self.path("gone.svg"), status=4
        )
        self.assertIn("holds no samples after the change", done.stderr)
        with open(self.path("d.folded"), "w", encoding="utf-8") as file:
            file.write("main;f 1 2\nmain;g 3 4\n")
        for words, status, text in (
            ((a, b, "-o", "d.txt"), 2, "d.txt: a difference is written as a flame graph or"),
            ((a, b, "-o", "-"), 2, "-: a difference is written as a flame graph or"),
            ((a, b, "-o", "d.png"), 2, "d.png: a difference is written as a flame graph or"),
            ((a, "missing", "-o", "d.cpuprofile"), 2, "d.cpuprofile: a difference is written as"),
            ((a, b, "-o", "x.svg", "--json"), 2, "--json: is for the table, in place of which -o"),
            ((self.path("a.callgrind"), b, "-o", "x.svg"), 1, "a.callgrind: needs stacks"),
            ((a, self.path("d.folded"), "-o", "x.svg"), 1, "d.folded: counts before, but"),
        ):
            done = self.tally("diff", *words, status=status)
            self.assertIn(text, done.stderr, words)
            self.assertFalse(os.path.exists("x.svg"))


class Speedscope(StacksCase):
    """Checks files against the requirements that FORMAT.md states for the format."""

    def check(self, file: dict) -> None:
        self.assertEqual(file["$schema"], "https://www.speedscope.app/file-format-schema.json")
        self.assertLessEqual(
            set(file),
            {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter", "tally"},
        )
        self.assertIsInstance(file.get("name", ""), str)
        frames, profiles = file["shared"]["frames"], file["profiles"]
        for frame in frames:
            self.assertLessEqual({"name"}, set(frame))
            self.assertLessEqual(set(frame), {"name", "file", "line", "col", "object"})
            self.assertIsInstance(frame["name"], str)
            self.assertIsInstance(frame.get("file", ""), str)
            self.assertIsInstance(frame.get("line", 0), int)
        self.assertGreater(len(profiles), 0)
        self.assertIn(file.get("activeProfileIndex", 0), range(len(profiles)))
        for profile in profiles:
            self.assertEqual(
                set(profile),
                {"type", "name", "unit", "startValue", "endValue", "samples", "weights", "tally"},
            )
            self.assertEqual(profile["type"], "sampled")
            self.assertIsInstance(profile["name"], str)
            self.assertIn(
                profile["unit"],
                ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"),
            )
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertGreaterEqual(profile["endValue"], profile["startValue"])
            self.assertEqual(profile["endValue"] - profile["startValue"], sum(profile["weights"]))
            for stack in profile["samples"]:
                for frame in stack:
                    self.assertIsInstance(frame, int)
                    self.assertIn(frame, range(len(frames)))

    def test_holds_the_stacks(self) -> None:
        with open(self.converted("x.speedscope.json"), encoding="utf-8") as text:
            file = json.load(text)
        self.check(file)
        (profile,) = file["profiles"]
        names = [frame["name"] for frame in file["shared"]["frames"]]
        stacks = {
            ";".join(names[frame] for frame in stack): weight
            for stack, weight in zip(profile["samples"], profile["weights"])
        }
        self.assertEqual(
            stacks,
            {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in STACKS.splitlines()},
        )


if __name__ == "__main__":
    run_unittests()
