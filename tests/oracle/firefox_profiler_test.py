#!/usr/bin/env python3
"""Compares Tally with Firefox Profiler's own code: both read the same files, Firefox Profiler reads
what Tally writes, and Tally what Firefox Profiler saves.

TALLY_FIREFOX_PROFILER names a checkout of github.com/firefox-devtools/profiler whose node_modules
has esbuild and what the profiler's logic imports."""
from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase
from support.skips import missing_tool, run_unittests

CHECKOUT = Path(os.environ.get("TALLY_FIREFOX_PROFILER", ""))
FIXTURES = CHECKOUT / "src/test/fixtures/upgrades"
SEEDS = Path(__file__).parents[1] / "fuzz/corpus"

# Loads a file, saves it in the newest version, and prints the stacks of each thread.
PROGRAM = """
import { readFileSync, writeFileSync } from 'fs';
import { unserializeProfileOfArbitraryFormat, serializeProfileToJsonString }
  from 'firefox-profiler/profile-logic/process-profile';

// What a browser has.
const anywhere = globalThis as any;
anywhere.self = anywhere;
anywhere.Image = class {
  addEventListener(event: string, call: () => void) { if (event === 'error') setTimeout(call, 0); }
};
console.error = console.warn = () => {};

async function main() {
  const [path, saved] = process.argv.slice(2);
  const bytes = readFileSync(path);
  const profile: any = await unserializeProfileOfArbitraryFormat(new Uint8Array(bytes));
  writeFileSync(saved, serializeProfileToJsonString(profile));
  const { stringArray, funcTable, frameTable, stackTable } = profile.shared;
  const stacks: string[][] = [];
  for (let i = 0; i < stackTable.length; i++) {
    const offset = stackTable.prefixOffset[i];
    const name = stringArray[funcTable.name[frameTable.func[stackTable.frame[i]]]];
    stacks.push([...(offset ? stacks[i - offset] : []), name]);
  }
  const threads = profile.threads.map((thread: any) => {
    const { stack, weight, weightType, length } = thread.samples;
    const samples = [];
    for (let i = 0; i < length; i++) {
      const category = stack[i] === null ? null : frameTable.category[stackTable.frame[stack[i]]];
      samples.push([stack[i] === null ? [] : stacks[stack[i]], weight ? weight[i] : 1,
                    category === null ? '' : profile.meta.categories[category].name]);
    }
    const { name, processName, tally } = thread;
    return { name, processName, tally, weightType, samples };
  });
  console.log(JSON.stringify({ threads }));
}
main().catch((error) => { console.log(JSON.stringify({ error: String(error.stack || error) })); });
"""
# What the logic imports and what these files do not need, if it is not installed.
STUBS = {
    "json-slabs": "export const isJsonSlabsFile = () => false, encode = null, decode = null;",
    "devtools-reps": "export const ValueSummaryReader = null;",
}
Stacks = collections.Counter
bundle = tempfile.TemporaryDirectory(prefix="firefox-profiler-")


def setUpModule() -> None:
    if not CHECKOUT.parts:
        raise unittest.SkipTest("TALLY_FIREFOX_PROFILER names no checkout of Firefox Profiler")
    if reason := missing_tool("node"):
        raise unittest.SkipTest(reason)
    folder = Path(bundle.name)
    # Modules are looked up from here.
    entry = CHECKOUT / f".tally-oracle-{os.getpid()}.ts"
    words = ["--bundle", "--platform=node", "--format=cjs", "--log-level=error"]
    words += ["--alias:firefox-profiler=./src", f"--outfile={folder / 'oracle.js'}"]
    for module, text in STUBS.items():
        if not (CHECKOUT / "node_modules" / module).is_dir():
            (folder / f"{module}.js").write_text(text)
            words.append(f"--alias:{module}={folder / module}.js")
    entry.write_text(PROGRAM)
    try:
        esbuild = CHECKOUT / "node_modules/.bin/esbuild"
        subprocess.run([str(esbuild), str(entry), *words], cwd=CHECKOUT, check=True, timeout=300)
    finally:
        entry.unlink()


def tearDownModule() -> None:
    bundle.cleanup()


def text_of(frames: list[str], native: bool) -> str:
    """Returns a stack as Tally's folded stacks show it. Names of native code that has only an
    address depend on who names them."""
    names = [re.sub(r"[\r\n]", " ", name.replace(";", ":")).strip() for name in frames]
    if native:
        names = [re.sub(r"^(.*\+)?0x[0-9a-f]+$", "address", name) for name in names]
    return ";".join(names) or "[unknown]"


class FirefoxProfiler(ProfileCase):
    def theirs(self, path: Path | str) -> tuple[list[dict], str]:
        """Returns the threads as Firefox Profiler reads them, and the file that it saves."""
        saved = self.path("saved.json")
        program = os.path.join(bundle.name, "oracle.js")
        done = subprocess.run(
            ["node", program, str(path), saved], capture_output=True, text=True, timeout=300
        )
        answer = json.loads(done.stdout or '{"error": "no answer"}')
        self.assertNotIn("error", answer, f"{path}\n{done.stderr[-2000:]}")
        return answer["threads"], saved

    def stacks(self, path: str | Path, native: bool, *words: str, processes: set) -> Stacks:
        """Returns the stacks as Tally reads them."""
        out = self.path("out.folded")
        self.tally("convert", str(path), "-o", out, *words)
        found: Stacks = Stacks()
        with open(out, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                text, count = line.rsplit(" ", 1)
                frames = text.split(";")
                # The roots are the processes if these have names.
                if len(processes) > 1 and frames[0] in processes:
                    frames = frames[1:]
                found[text_of(frames, native)] += int(count)
        return found

    def compare(self, path: Path | str, threads: list[dict], native: bool = False) -> None:
        """Compares the samples that Firefox Profiler found with those that Tally reads."""
        kinds = {thread["weightType"] for thread in threads if thread["samples"]}
        events = {"samples": "ticks", "tracing-ms": "time", "bytes": "bytes"}
        processes = {thread.get("processName") or "" for thread in threads}
        for kind in kinds:
            expected: Stacks = Stacks()
            by_thread: Stacks = Stacks()
            scale = 1_000_000 if kind == "tracing-ms" else 1
            for thread in threads:
                for frames, weight, _ in thread["samples"] if thread["weightType"] == kind else []:
                    expected[text_of(frames, native)] += round(weight * scale)
                    by_thread[thread["name"]] += round(weight * scale)
            words = ["--event", events[kind]]
            found = self.stacks(path, native, *words, processes=processes)
            self.assertEqual(+expected, +found, f"{path}, {kind}")
            table = json.loads(
                self.tally("report", str(path), "--json", "--by", "thread", *words).stdout
            )
            event = table["events"].index(events[kind])
            shown: Stacks = Stacks()
            for row in table["threads"]:
                shown[row["name"]] += row["self"][event]
            self.assertEqual(+by_thread, +shown, f"{path}, {kind}")

    def test_reads_all_versions(self) -> None:
        for name, native in [
            ("processed-2.json", False),  # version 7
            ("processed-3.json", False),  # version 24
            ("argument-values.json", False),
        ]:
            with self.subTest(name):
                threads, saved = self.theirs(FIXTURES / name)
                self.compare(FIXTURES / name, threads)
                self.compare(saved, threads)

    def test_reads_what_firefox_writes(self) -> None:
        """Versions 13 and 33 of Firefox's own form."""
        profile = json.loads((FIXTURES / "gecko-2.json").read_text())
        for process in [profile, *profile["processes"]]:
            for library in process["libs"]:
                library.setdefault("offset", 0)  # the loader of Firefox Profiler needs it
        changed = Path(self.path("gecko.json"))
        changed.write_text(json.dumps(profile))
        for path in [changed, self.with_markers(SEEDS / "firefox/gecko")]:
            with self.subTest(path.name):
                threads, saved = self.theirs(path)
                self.compare(path, threads, native=True)
                self.compare(saved, threads, native=True)

    def with_markers(self, seed: Path) -> Path:
        """Adds what Firefox Profiler needs and Tally does not read."""
        profile = json.loads(seed.read_text())
        for process in [profile, *profile["processes"]]:
            grey = {"name": "Other", "color": "grey", "subcategories": ["Other"]}
            process["meta"].update(markerSchema=[], categories=[grey], extensions=None)
            process.setdefault("sources", {"schema": {"id": 0, "filename": 1}, "data": []})
            for thread in process["threads"]:
                schema = {"name": 0, "startTime": 1, "endTime": 2, "phase": 3, "category": 4}
                thread["markers"] = {"schema": {**schema, "data": 5}, "data": []}
                thread["samples"]["schema"]["eventDelay"] = 2
                for index, column in enumerate(
                    ["relevantForJS", "innerWindowID", "line", "column", "category", "subcategory"]
                ):
                    thread["frameTable"]["schema"].setdefault(column, 10 + index)
        out = Path(self.path("with_markers.json"))
        out.write_text(json.dumps(profile))
        return out

    def test_reads_what_they_import(self) -> None:
        """Firefox Profiler's importers make files of the newest version."""
        for name in [
            "test.perf.gz",
            "gzip.perf.gz",
            "graphviz.perf.gz",
            "simple-perf.txt.gz",
            "simpleperf-cpu-clock.trace.gz",
            "simpleperf-task-clock.trace.gz",
            "art-trace-regular.trace.gz",
            "flamegraph.txt",
            "test.chrome.gz",
            "test.chrome-unchunked.json",
            "chrome-trace-issue-5429.json.gz",
        ]:
            with self.subTest(name):
                threads, saved = self.theirs(FIXTURES / name)
                self.compare(saved, threads)

    def compare_written(self, path: str) -> None:
        """Compares a file that Tally wrote, in which each value has threads of its own, and
        categories tell the values of a thread's time apart."""
        threads, saved = self.theirs(path)
        meta = json.loads(Path(path).read_text())["meta"]["tally"]
        categories = {"wait": "Waiting", "queued": "Queued"}
        processes = {thread.get("processName") or "" for thread in threads}
        for index, value in enumerate(meta["values"]):
            expected: Stacks = Stacks()
            is_ticks = value["unit"] != "nanoseconds"
            is_apart = any(thread["tally"]["value"] == index for thread in threads)
            for thread in threads:
                for frames, weight, category in thread["samples"]:
                    if thread["tally"]["value"] == index:
                        scale = 1e6 if thread["weightType"] == "tracing-ms" else 1
                    elif (
                        thread["tally"]["value"] is None
                        and not is_apart
                        and category == categories.get(value["type"], "Running")
                    ):
                        scale = 1e6 / (meta["periodNs"] if is_ticks else 1)
                    else:
                        continue
                    expected[text_of(frames, False)] += weight * scale
            words = ["--event", value["type"]]
            for file in (path, saved):
                found = self.stacks(file, False, *words, processes=processes)
                rounded = Stacks({stack: round(count) for stack, count in expected.items()})
                self.assertEqual(+rounded, +found, f"{file}, {value}")

    def test_reads_what_tally_writes(self) -> None:
        self.compare_written(str(SEEDS / "firefox/ours"))
        self.compare_written(str(SEEDS / "firefox/ours_without_times"))
        for name in ["gzip.perf.gz", "test.chrome.gz", "flamegraph.txt"]:
            with self.subTest(name):
                written = self.path("written.firefox.json")
                self.tally("convert", str(FIXTURES / name), "-o", written)
                self.compare_written(written)


if __name__ == "__main__":
    run_unittests()
