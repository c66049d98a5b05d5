#!/usr/bin/env python3
"""Runs Tally, GDB and LLDB with Tally, and tally-meson under conditions that no user wants, and
judges them.

    conditions.py [--rounds N] [--seed S] BUILD [CONDITION]...

BUILD is a build directory. The conditions are:

    disk         the disk of the outputs, of TMPDIR, of the cache or of /dev/shm is full
    home         the home or current directory is read-only, unset or missing
    proc         /proc is empty
    locale       the locale is not UTF-8, and names have other bytes than ASCII
    clock        CLOCK_REALTIME jumps; the program's CLOCK_MONOTONIC is another than the recorder's
    memory       `ulimit -v` is small
    descriptors  `ulimit -n` or `ulimit -u` is small
    truncation   an input is truncated while it is read, or a library of the program that is sampled
    streams      standard streams are closed, full, or pipes that nobody reads

Nothing may crash, hang or print a traceback. After an error, the status is not 0, one line says what
is wrong, and an output is absent or as it was before. Otherwise, an output is complete. The script
mounts file systems in a namespace of its own. Prints a table, and each finding. The status is 1 if
there are findings.
"""
from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Sequence
from xml.etree import ElementTree

sys.path.insert(0, os.path.dirname(__file__))
from hall import ENOSPC, LIBRARY, OTHER_USER, PLUGIN, UNPRIVILEGED, USER
from hall import Debugger, Hall, Job, fill, inputs_to_truncate, mounted, write_large_profiles

CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

static time_t jump(void)
{
  static unsigned calls;
  unsigned now = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  return now % 3 == 0 ? -7200 : now % 3 == 1 ? 36000 : 0;
}
int clock_gettime(clockid_t clock, struct timespec *out)
{
  static int (*next)(clockid_t, struct timespec *);
  if (!next)
    next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int status = next(clock, out);
  if (clock == CLOCK_REALTIME)
    out->tv_sec += jump();
  return status;
}
time_t time(time_t *out)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return out ? (*out = now.tv_sec) : now.tv_sec;
}
int gettimeofday(struct timeval *out, void *zone)
{
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
"""
# A name of Latin 1, one of UTF-8, and one that is neither.
ODD_NAMES = (b"s\xe9pt", "sept\N{SNOWMAN}".encode(), b"a\xff\xfe\xc3")


def disk(hall: Hall) -> None:
    writing = [job for job in hall.jobs() + hall.debuggers() if job.output]
    for free in (0, 4096, 16384, 65536):
        for job in writing:
            with mounted(hall.out, "size=256k"):
                old = b"version: 1\nevents: Ir\nfn=f\n1 1\n"
                if job.output and free == 0 and job.name != "html":
                    job.output.write_bytes(old)
                fill(hall.out, free)
                ended = hall.run(job.words)
                kept = old if free == 0 and job.name != "html" else None
                hall.judge(f"{free} bytes free", job, ended, says=ENOSPC, before=kept)
                if job.records and "cpu_seconds" not in ended.out:
                    hall.blame(f"{free} bytes free, {job.name}", f"program: {ended}")
    for job in writing:
        with mounted(hall.out, "size=1m,nr_inodes=2"):
            (hall.out / "filling").touch()
            hall.judge("no inodes", job, hall.run(job.words), says=ENOSPC, must=False)
    for place in ("tmp", "cache", "home", "/dev/shm"):
        path = hall.folder / place
        changes: dict[str, str | None] = {"TALLY_CACHE_DIR": None} if place == "home" else {}
        shutil.rmtree(hall.folder / "cache", ignore_errors=True)
        (hall.folder / "cache").mkdir()
        for job in [*hall.jobs(), *hall.debuggers(), hall.meson()]:
            with mounted(path, "size=64k"):
                fill(path, 0)
                ended = hall.run(job.words, changes=changes)
                hall.judge(f"{place} is full", job, ended, must=None if place == "tmp" else True)
    for free, times in itertools.product((0, 4096, 16384, 65536, 262144), (0, 1)):
        with mounted(hall.folder / "tmp", "size=16m"):
            project = hall.folder / "tmp" / "project"
            job, outside = hall.meson(project), {"TMPDIR": "/tmp"}
            for _ in range(times):
                hall.run(job.words, changes=outside)
            fill(hall.folder / "tmp", free)
            case = f"build directory, {times} runs before, {free} bytes free"
            hall.judge(case, job, hall.run(job.words, changes=outside))
            (hall.folder / "tmp" / "filling").unlink()
            hall.judge(f"{case} no more", job, hall.run(job.words, changes=outside), must=True)


def home(hall: Hall) -> None:
    fixed = hall.folder / "fixed"
    fixed.mkdir()
    ways: dict[str, tuple[dict[str, str | None], Path]] = {
        "home is read-only": ({"HOME": str(fixed)}, hall.folder),
        "cwd is read-only": ({}, fixed),
        "HOME unset": ({"HOME": None}, hall.folder),
        "HOME is missing": ({"HOME": str(hall.folder / "absent" / "home")}, hall.folder),
        "HOME is empty": ({"HOME": ""}, hall.folder),
        "HOME is relative": ({"HOME": "home"}, hall.folder),
        "HOME is a file": ({"HOME": "/etc/passwd"}, hall.folder),
    }
    fixed.chmod(0o555)
    for name, (changes, cwd) in ways.items():
        changes = {**changes, "TALLY_CACHE_DIR": None, "XDG_CACHE_HOME": None}
        jobs = [*hall.jobs(), *hall.debuggers(), hall.meson()]
        for job in jobs:
            root = ["--root", str(hall.folder)] if job.name in ("coverage", "html", "lcov") else []
            job = job._replace(words=job.words + root)
            ended = hall.run(job.words, wrapper=UNPRIVILEGED, changes=changes, cwd=cwd)
            hall.judge(name, job, ended, must=True)
    short = Job("record", [hall.tally, "record", "--", hall.spin, "0.05"])
    page = Job(
        "html", [hall.tally, "coverage", str(hall.inputs), "--root", "/", "--report", "html"]
    )
    setup = Job("setup", [hall.tally, "setup", "gdb"])
    for job in (short, page, setup):
        there = {"HOME": str(fixed), "TALLY_GDB": str(PLUGIN)}
        ended = hall.run(job.words, wrapper=UNPRIVILEGED, cwd=fixed, changes=there)
        hall.judge("written there, unprivileged", job, ended, says="Permission denied", must=False)
        with mounted(fixed, "bind", str(fixed)):
            subprocess.run(["mount", "-o", "bind,remount,ro", str(fixed)], check=True)
            ended = hall.run(job.words, cwd=fixed, changes=there)
            hall.judge("written there", job, ended, says="Read-only file system", must=False)


def proc(hall: Hall) -> None:
    hidden = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh")
    for job in [*hall.jobs(), *hall.debuggers(), hall.meson()]:
        hall.judge("no /proc", job, hall.run(job.words, wrapper=hidden))


def locale(hall: Hall) -> None:
    latin = hall.folder / "locales"
    latin.mkdir()
    subprocess.run(
        ["localedef", "-i", "en_US", "-f", "ISO-8859-1", str(latin / "en_US.ISO-8859-1")],
        check=False, capture_output=True,
    )  # fmt: skip
    locales: dict[str, dict[str, str]] = {
        "C": {},
        "C.UTF-8": {},
        "en_US.ISO-8859-1": {"LOCPATH": str(latin)},
    }
    if not list(latin.iterdir()):
        print("skipped: Latin 1, because localedef has no source of it")
        del locales["en_US.ISO-8859-1"]
    for number, odd in enumerate(ODD_NAMES):
        there = os.fsencode(hall.folder) + b"/in-" + odd
        os.mkdir(there)
        source, program = there + b"/" + odd + b".c", there + b"/" + odd
        text = (
            USER.replace("work(void);", 'work(void) __asm__("NAME");').encode() + LIBRARY.encode()
        )
        Path(os.fsdecode(source)).write_bytes(text.replace(b"NAME", b"f" + odd))
        hall.run(
            [b"gcc", b"-g", b"--coverage", source, b"-o", program], cwd=Path(os.fsdecode(there))
        )
        for name, more in locales.items():
            odd_locale(
                hall, f"{name}, name {number}", {"LC_ALL": name, **more}, there, program, odd
            )


def odd_locale(
    hall: Hall, case: str, changes: dict, there: bytes, program: bytes, odd: bytes
) -> None:
    folder = Path(os.fsdecode(there))
    profile, costs = there + b"/" + odd + b".pb.gz", there + b"/" + odd + b".callgrind"
    for out in (profile, costs):
        words = [hall.tally, "record", "-o", out, "--", program]
        hall.judge(
            case, Job("record", words, records=True), hall.run(words, changes=changes), must=True
        )
    tables: list[list[Any]] = [line.split() for line in ("report", "tree", "report --by module")]
    tables += [["report", "--json"], ["annotate", b"f" + odd], ["annotate", odd + b".c"]]
    for words, file in itertools.product(tables, (profile, costs)):
        job = Job(f"{words} {file[-6:]}", [hall.tally, words[0], file, *words[1:]])
        ended = hall.run(job.words, changes=changes)
        # In pprof's format, a name that is not UTF-8 is another one.
        must = None if words[0] == "annotate" and file == profile else True
        hall.judge(case, job, ended, must=must)
        if "--json" in words:
            check_text(
                hall, f"{case}, {job.name}", ".json", ended.out.encode(errors="surrogateescape")
            )
    for ending in ("callgrind", "folded", "svg", "firefox.json", "speedscope.json", "cpuprofile",
                   "pb.gz", "dot"):  # fmt: skip
        out = there + b"/o\xfft." + ending.encode()
        job = Job(f"convert {ending}", [hall.tally, "convert", profile, "-o", out])
        hall.judge(case, job, hall.run(job.words, changes=changes), must=True)
        path = Path(os.fsdecode(out))
        if path.exists():
            check_text(hall, f"{case}, {job.name}", path.suffix, path.read_bytes())
            path.unlink()
    reports = ("lcov", "gcovr", "cobertura", "html", "markdown", "github", "sonarqube", "badge")
    for report in reports:
        out = there + b"/o\xfft-" + report.encode()
        words = ["coverage", "--root", there, there, "--report", report.encode() + b":" + out]
        job = Job(f"coverage {report}", [hall.tally, *words])
        hall.judge(case, job, hall.run(job.words, changes=changes), must=True)
        suffix = {"gcovr": ".json", "cobertura": ".xml", "sonarqube": ".xml", "badge": ".svg"}
        path = Path(os.fsdecode(out))
        for file in path.rglob("*.html") if path.is_dir() else [path] if path.exists() else []:
            kind = ".html" if path.is_dir() else suffix.get(report, "")
            check_text(hall, f"{case}, {job.name}", kind, file.read_bytes())
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for job in hall.debuggers(folder if "ISO" in case else None, program=[program]):
        # GDB refuses to pass a command bytes that its character set lacks.
        hall.judge(case, job, hall.run(job.words, changes=changes), must=True)


def check_text(hall: Hall, case: str, suffix: str, content: bytes) -> None:
    hall.cases += 1
    try:
        if suffix in (".json", ".cpuprofile"):
            json.loads(content.decode())
        elif suffix in (".xml", ".svg"):
            ElementTree.fromstring(content)
        elif suffix == ".html":
            content.decode()
    except (ValueError, ElementTree.ParseError) as error:
        hall.blame(case, f"invalid {suffix}: {error}")


def clock(hall: Hall) -> None:
    (hall.folder / "jump.c").write_text(CLOCK, encoding="ascii")
    library = str(hall.folder / "jump.so")
    hall.need("gcc", "-O2", "-shared", "-fPIC", "jump.c", "-o", library, "-ldl", cwd=hall.folder)
    preload = {"LD_PRELOAD": library}
    hall.run(hall.meson().words)  # Meson refuses to configure a project when the clock jumps
    for job in [*hall.jobs(), *hall.debuggers(stop_times=True), hall.meson()]:
        hall.judge("jumps", job, hall.run(job.words, changes=preload), must=True)
    spaces = ["unshare", "-T", "--monotonic", "500000", "--boottime", "500000"]
    back = [*spaces[:3], "-5000", "--boottime", "-5000"]
    programs = {"jumps": ["env", f"LD_PRELOAD={library}"], "ahead": spaces, "behind": back}
    for name, wrapper in programs.items():
        for line in ("", "--backend agent", "--clock wall", "--live"):
            more = line.split()
            out = hall.out / "t.firefox.json"
            words = [hall.tally, "record", *more, "-o", str(out), "--", *wrapper, hall.spin, "0.5"]
            job = Job(f"record {' '.join(more)}", [*words], out, records=True)
            ended = hall.run(words)
            took = hall.run([hall.tally, "timeline", "--json", str(out)])
            hall.judge(f"program {name}", job, ended, must=True)
            numbers = [float(each) for each in re.findall(r"\d+\.\d+|\d{4,}", took.out)]
            text = re.search(r"(\d+) samples in ([\d.]+) (m?s) of CPU", ended.err)
            if took.status != 0 or not numbers or not text or not 350 < int(text[1]) < 900:
                hall.blame(f"program {name}, {job.name}", f"{ended}; timeline: {took}")
        for job in hall.debuggers(program=[*wrapper, hall.spin, "0.3"]):
            hall.judge(f"program {name}", job, hall.run(job.words), must=True)


def limited(kind: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (most, most))


def working(hall: Hall, before: Callable[[Debugger], Callable[[], None]]) -> list[Job]:
    """Returns the jobs of the debuggers that work without Tally under the limit that `before` sets."""
    works = {name: hall.works(name, before(its)) for name, its in hall.debugger.items()}
    return [job for job in hall.debuggers() if works[job.name.split()[0]]]


def memory(hall: Hall) -> None:
    write_large_profiles(hall)
    for mebibytes in (24, 32, 40, 48, 64, 80, 96, 128, 160, 200, 256, 320, 400, 512, 700, 1024):
        for job in hall.jobs():
            if job.name == "annotate":
                continue  # there is no such function
            ended = hall.run(job.words, before=limited(resource.RLIMIT_AS, mebibytes << 20))
            hall.judge(f"{mebibytes} MiB", job, ended)
    for mebibytes in (*range(200, 520, 20), *range(560, 880, 40)):
        before = limited(resource.RLIMIT_AS, mebibytes << 20)
        own = limited(resource.RLIMIT_AS, (mebibytes - 80) << 20)
        for job in working(hall, lambda _: own):
            hall.judge(f"{mebibytes} MiB", job, hall.run(job.words, before=before))


def descriptors(hall: Hall) -> None:
    for most in (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 48, 64):
        before = limited(resource.RLIMIT_NOFILE, most)
        for job in hall.jobs():
            hall.judge(f"{most} descriptors", job, hall.run(job.words, before=before))
        for job in working(
            hall, lambda its: limited(resource.RLIMIT_NOFILE, max(3, most - its.descriptors))
        ):
            hall.judge(f"{most} descriptors", job, hall.run(job.words, before=before))
        if most >= 10:
            hall.judge(
                f"{most} descriptors", hall.meson(), hall.run(hall.meson().words, before=before)
            )
    elsewhere = hall.folder / "build"
    elsewhere.mkdir()
    with mounted(elsewhere, "bind", str(hall.build)):
        reached = str(elsewhere / "lib" / "cli" / "tally")
        if hall.run([reached, "--version"], wrapper=OTHER_USER).status != 0:
            return
        hall.out.chmod(0o777)
        for most in (1, 2, 3, 4, 5):
            for job in hall.jobs():
                words = [
                    os.fsdecode(word).replace(str(hall.build), str(elsewhere)) for word in job.words
                ]
                limit = ("prlimit", f"--nproc={most}")
                hall.judge(f"{most} processes", job, hall.run(words, wrapper=(*OTHER_USER, *limit)))


def truncate(path: Path, wait: float, size: int) -> None:
    time.sleep(wait)
    os.truncate(path, size)


def truncation(hall: Hall) -> None:
    for name, (path, words) in inputs_to_truncate(hall).items():
        whole, job = path.read_bytes(), Job(name, words)
        begin = time.monotonic()
        ended = hall.run(words)
        most = time.monotonic() - begin
        hall.judge("whole", job, ended, must=True)
        for _ in range(hall.rounds):
            size = hall.random.choice((0, hall.random.randrange(len(whole)), len(whole) // 2))
            wait = hall.random.uniform(0, most)
            ended = hall.run(words, meanwhile=lambda: truncate(path, wait, size))
            hall.judge(f"after {wait:.3f} s to {size}", job, ended)
            path.write_bytes(whole)
    library = hall.folder / "libwork.so"
    (hall.folder / "work.c").write_text(LIBRARY, encoding="ascii")
    (hall.folder / "user.c").write_text(USER, encoding="ascii")
    hall.need("gcc", "-g", "-shared", "-fPIC", "work.c", "-o", str(library), cwd=hall.folder)
    hall.need("gcc", "-g", "user.c", "-Wl,-rpath,.", "-L.", "-lwork", "-o", "user", cwd=hall.folder)
    whole = library.read_bytes()
    for number in range(hall.rounds):
        out = hall.out / "r.pb.gz"
        more = hall.random.choice(("", "--backend agent", "--stacks fp")).split()
        words = [hall.tally, "record", *more, "-o", str(out), "--", "./user"]
        wait, size = hall.random.uniform(0.05, 0.5), hall.random.randrange(len(whole))

        def damage() -> None:
            time.sleep(wait)
            if number % 2:
                library.unlink()
                library.write_bytes(whole[:size])
            else:
                os.truncate(library, size)

        ended = hall.run(words, meanwhile=damage)
        name = f"library, {'replaced' if number % 2 else 'truncated'} after {wait:.3f} s to {size}"
        hall.judge(name, Job(f"record {' '.join(more)}", [*words], out), ended)
        library.write_bytes(whole)


def close_all(descriptors: Sequence[int]) -> None:
    for each in descriptors:
        os.close(each)


def streams(hall: Hall) -> None:
    for job in [*hall.jobs(), hall.meson()]:
        inputs = {path: path.read_bytes() for path in hall.inputs.iterdir()}
        for closed in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
            ended = hall.run(job.words, before=lambda: close_all(closed))
            must = False if job.prints and 1 in closed else None
            if 2 in closed:
                ended = ended._replace(err="(closed) exited, status")
            hall.judge(f"closed {closed}", job, ended, must=must)
        with open("/dev/full", "wb") as full:
            ended = hall.run(job.words, stdout=full.fileno())
            must = False if job.prints else None
            hall.judge("full stdout", job, ended, must=must, says=ENOSPC if job.prints else "")
            ended = hall.run(job.words, stderr=full.fileno())
            hall.judge("full stderr", job, ended._replace(err="(full) exited, status"))
        for stream in ("stdout", "stderr"):
            reader, writer = os.pipe()
            os.close(reader)
            ended = (
                hall.run(job.words, stdout=writer)
                if stream == "stdout"
                else hall.run(job.words, stderr=writer)
            )
            os.close(writer)
            if ended.status == -signal.SIGPIPE or job.name == "tally-meson":
                ended = ended._replace(status=1, err="(SIGPIPE)")
            if stream == "stderr":
                ended = ended._replace(err="(pipe) exited, status")
            hall.judge(f"closed pipe as {stream}", job, ended)
        for path, before in inputs.items():
            if path.read_bytes() != before:
                hall.blame(f"streams, {job.name}", f"{path.name} is changed")


CONDITIONS: dict[str, Callable[[Hall], None]] = {
    each.__name__: each
    for each in (disk, home, proc, locale, clock, memory, descriptors, truncation, streams)
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path)
    parser.add_argument("conditions", nargs="*", metavar="CONDITION")
    parser.add_argument("--rounds", type=int, default=20, help="truncations of each input")
    parser.add_argument("--verbose", action="store_true", help="print each error")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    if not set(options.conditions) <= set(CONDITIONS):
        parser.error(f"expected conditions of {', '.join(CONDITIONS)}")
    if os.environ.get("TALLY_CONDITIONS") != "unshared":  # to mount file systems
        os.environ["TALLY_CONDITIONS"] = "unshared"
        user = [] if os.getuid() == 0 else ["-r"]
        os.execvp("unshare", ["unshare", "-m", *user, sys.executable, *sys.argv])
    findings: list[str] = []
    print(f"{'condition':12} {'cases':>6} {'findings':>9}")
    for name in options.conditions or CONDITIONS:
        folder = Path(tempfile.mkdtemp(prefix="conditions-"))
        chance = random.Random(f"{name}{options.seed}")
        hall = Hall(options.build.resolve(), folder, chance, options.rounds)
        hall.verbose = options.verbose
        CONDITIONS[name](hall)
        print(f"{name:12} {hall.cases:6} {len(hall.findings):9}", flush=True)
        findings += [f"{name}: {text}" for text in hall.findings]
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
