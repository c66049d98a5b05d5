#!/usr/bin/env python3
"""Runs fuzzers for a time each, and prints what they did.

    run.py [--seconds S] [--jobs N] [--keep DIRECTORY] [--minimize] FUZZERS [TARGET]...

FUZZERS is the directory that build.sh filled. Each target begins with its corpus of this directory,
and with what an earlier run kept in DIRECTORY/TARGET (default: fuzzing/ beside FUZZERS). An input
that fails is written to DIRECTORY/TARGET-failures. With --minimize, the smallest set of inputs that
reaches the same code replaces the target's corpus. The status is 1 if a target failed.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
MOST_BYTES = 65536  # of an input: larger ones find little more, and take longer
MOST_SECONDS = 25  # of one input: whatever takes longer hangs


class Outcome(NamedTuple):
    target: str
    seconds: float
    runs: int
    inputs: int  # in the directory that is kept
    failures: list[str]


def number(name: str, text: str) -> int:
    found = re.search(rf"stat::{name}: *(\d+)", text)
    return int(found[1]) if found else 0


def run(target: str, options: argparse.Namespace) -> Outcome:
    kept, failures = options.keep / target, options.keep / f"{target}-failures"
    for folder in (kept, failures):
        folder.mkdir(parents=True, exist_ok=True)
    words = [
        str(options.fuzzers / target),
        f"-max_total_time={options.seconds}",
        f"-timeout={MOST_SECONDS}",
        f"-max_len={MOST_BYTES}",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={failures}/",
    ]
    dictionary = HERE / f"{target}.dict"
    if dictionary.is_file():
        words.append(f"-dict={dictionary}")
    begin = time.monotonic()
    log = options.keep / f"{target}.log"
    with log.open("wb") as file:
        subprocess.run(
            [*words, str(kept), str(HERE / "corpus" / target)],
            stdout=file,
            stderr=file,
            check=False,
        )
    text = log.read_text(encoding="utf-8", errors="replace")
    return Outcome(
        target,
        time.monotonic() - begin,
        number("number_of_executed_units", text),
        len(list(kept.iterdir())),
        sorted(path.name for path in failures.iterdir()),
    )


def minimize(target: str, options: argparse.Namespace) -> None:
    """Replaces the corpus of a target. Small inputs precede large ones that reach the same code."""
    corpus = HERE / "corpus" / target
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [str(options.fuzzers / target), "-merge=1", f"-timeout={MOST_SECONDS}", folder]
            + [str(corpus), str(options.keep / target)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        shutil.rmtree(corpus)
        shutil.copytree(folder, corpus)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("fuzzers", type=Path)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--minimize", action="store_true")
    options = parser.parse_args()
    options.keep = options.keep or options.fuzzers.parent / "fuzzing"
    known = sorted(path.name for path in (HERE / "corpus").iterdir())
    targets = options.targets or [name for name in known if (options.fuzzers / name).is_file()]
    for target in targets:
        if not (options.fuzzers / target).is_file():
            print(f"run.py: {options.fuzzers / target}: there is no such fuzzer", file=sys.stderr)
            return 2
    print(f"{'target':16} {'seconds':>8} {'runs':>12} {'inputs':>7}  failures")
    has_failed = False
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in pool.map(lambda target: run(target, options), targets):
            has_failed = has_failed or bool(done.failures)
            print(
                f"{done.target:16} {done.seconds:8.0f} {done.runs:12} {done.inputs:7}  "
                f"{' '.join(done.failures) or '-'}",
                flush=True,
            )
    if options.minimize:
        for target in targets:
            minimize(target, options)
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
