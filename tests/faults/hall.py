"""The place in which conditions.py runs its jobs, and how it judges them."""
from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.lldb_driver import without_debians_own
from support.meson_builds import write_project

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "gdb" / "tally.py"
MODULE = ROOT / "meson-module"
PROJECT = {
    "meson.build": "project('conditions', 'c')\ntest('t', executable('t', 't.c'))\n",
    "t.c": "int main(int argc, char **argv)\n{\n  return argc > 2 ? argv[1][0] : 0;\n}\n",
}
# The root user, whom permissions bind as they bind others.
UNPRIVILEGED = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
OTHER_USER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
ENOSPC = "No space left on device"
CRASH = re.compile(
    r"terminate called|bad_alloc|length_error|Traceback|Python Exception|AddressSanitizer|"
    r"Aborted|Segmentation fault|Bus error|internal-error|Fatal Python error|Assertion|"
    r"(?<!what\(\): )std::\w+ |basic_string|UnicodeEncodeError|UnicodeDecodeError"
)
ENDING = re.compile(r"exited, status|ended by SIGPIPE")
LIBRARY = (
    "volatile long n;\nvoid work(void)\n{\n  for (long i = 0; i < 100000; ++i)\n    n += i;\n}\n"
)
USER = (
    "#include <time.h>\nvoid work(void);\nint main(void)\n{\n"
    "  while (clock() < CLOCKS_PER_SEC / 4)\n    work();\n  return 0;\n}\n"
)


class Debugger(NamedTuple):
    start: list[str]
    option: str  # precedes each command
    separator: str  # precedes the program
    load: str  # the command that loads Tally
    settings: list[str]
    stop_times: str
    needs: list[str]  # commands that must work without Tally
    descriptors: int  # how many Tally needs at most

    def words(self, commands: Sequence[str], program: Sequence[str | bytes]) -> list[str | bytes]:
        options = [word for command in commands for word in (self.option, command)]
        return [*self.start, *options, self.separator, *program]


GDB = Debugger(
    ["gdb", "-nx", "-q", "-batch"],
    "-ex",
    "--args",
    f"source {PLUGIN}",
    ["set confirm off", "set disable-randomization off"],
    "set profile stop-times on",
    ["python print(1)"],
    6,
)
LLDB = Debugger(
    ["lldb-14", "--no-lldbinit", "-b"],
    "-o",
    "--",
    "",  # the plug-in is in the build directory
    ["settings set target.disable-aslr false", "settings set target.process.stop-on-exec false"],
    "profile config stop-times on",
    [],
    10,  # it hangs if it lacks one, also without Tally
)
FAILS = re.compile(r"^error: ", re.MULTILINE)  # LLDB, whose status is 0 nevertheless


class Job(NamedTuple):
    name: str
    words: list[Any]  # texts and bytes
    output: Path | None = None
    records: bool = False  # starts the program that prints its CPU time
    prints: bool = False  # to standard output


class Ended(NamedTuple):
    status: int  # negative for a signal; 124 if it hangs
    out: str
    err: str

    def __str__(self) -> str:
        return f"status {self.status}: {(self.err or self.out).strip()[-700:]!r}"


def crashes(job: Job, text: str) -> bool:
    """Meson's own tracebacks, such as that of a closed standard output, do not count."""
    return bool(CRASH.search(text)) and (job.name != "tally-meson" or "tally_meson/" in text)


class Hall:
    """A directory with inputs, in which the jobs of a condition run."""

    def __init__(self, build: Path, folder: Path, chance: random.Random, rounds: int) -> None:
        self.build, self.folder, self.random, self.rounds = build, folder, chance, rounds
        self.cases, self.verbose = 0, False
        self.findings: list[str] = []
        self.tally = str(build / "lib" / "cli" / "tally")
        self.spin = str(build / "tests" / "programs" / "spin7030")
        self.debugger = {"gdb": GDB}
        plugin = build / "lldb" / "liblldb_tally.so"
        if plugin.exists() and shutil.which(LLDB.start[0]):
            self.debugger["lldb"] = LLDB._replace(load=f"plugin load {plugin}")
        else:
            print("skipped: LLDB, because it or the plug-in for it is missing")
        for name in ("tmp", "out", "cache", "home", "in"):
            (folder / name).mkdir(exist_ok=True)
        folder.chmod(0o755)
        self.inputs = folder / "in"
        self.out = folder / "out"
        self.environment = {
            **os.environ,
            "TMPDIR": str(folder / "tmp"),
            "TALLY_CACHE_DIR": str(folder / "cache"),
            "HOME": str(folder / "home"),
            "PATH": f"{build / 'lib' / 'cli'}:{os.environ['PATH']}",
            "PYTHONPATH": str(MODULE),
            "DEBUGINFOD_URLS": "",
            "CCACHE_DISABLE": "1",
        }
        for name in ("a.pb.gz", "a.callgrind", "a.gmon", "a.firefox.json", "b.callgrind"):
            self.need(self.tally, "record", "-o", str(self.inputs / name), "--", self.spin, "0.3")
        (self.inputs / "w.c").write_text(USER + LIBRARY, encoding="ascii")
        self.need("gcc", "-g", "--coverage", "w.c", "-o", "counted", cwd=self.inputs)
        self.need("./counted", cwd=self.inputs)

    def need(self, *words: str, cwd: Path | None = None) -> None:
        subprocess.run(words, cwd=cwd, env=self.environment, capture_output=True, check=True)

    def run(
        self,
        words: Sequence[Any],
        *,
        wrapper: Sequence[str] = (),
        changes: Mapping[str, str | None] | None = None,
        before: Callable[[], object] | None = None,
        cwd: Path | None = None,
        meanwhile: Callable[[], object] | None = None,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> Ended:
        merged = {**self.environment, **(changes or {})}
        environment = {name: value for name, value in merged.items() if value is not None}
        process = subprocess.Popen(
            [*wrapper, *words], env=environment, cwd=cwd or self.folder, stdin=subprocess.DEVNULL,
            stdout=stdout, stderr=stderr, start_new_session=True, preexec_fn=before,
        )  # fmt: skip
        if meanwhile:
            meanwhile()
        try:
            out, err = process.communicate(timeout=60)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            status = 124
        texts = ((text or b"").decode(errors="surrogateescape") for text in (out, err))
        ended = Ended(status, *map(without_debians_own, texts))
        if status == 0 and words[0] == LLDB.start[0] and FAILS.search(ended.out + ended.err):
            return ended._replace(status=1)
        return ended

    def blame(self, case: str, *wrong: str) -> None:
        self.findings += [f"{case}: {text}" for text in wrong]

    def judge(
        self,
        case: str,
        job: Job,
        ended: Ended,
        *,
        says: str = "",
        before: bytes | None = None,
        must: bool | None = None,
    ) -> None:
        """`says` is the text that an error must have, `before` the output's content before the job,
        and `must` whether the job must succeed or must fail."""
        self.cases += 1
        case = f"{case}, {job.name}"
        failed = ended.status != 0
        text = ended.out + ended.err
        if self.verbose and failed:
            print(f"{case}: {ended}")
        if "Recursive internal problem" in text:
            pass  # GDB's own words, when it lacks memory while it reads debug information
        elif ended.status == 124:
            self.blame(case, f"hangs: {ended}")
        elif ended.status < 0 or 129 <= ended.status <= 159 or crashes(job, text):
            self.blame(case, f"crashes: {ended}")
        elif must is not None and must == failed:
            self.blame(case, f"must {'succeed' if must else 'fail'}: {ended}")
        elif failed and says and text.count(says) != 1:
            self.blame(case, f"says {says!r} {text.count(says)} times: {ended}")
        elif failed and not text.strip():
            self.blame(case, f"says nothing: {ended}")
        if job.records and not ENDING.search(text) and not failed:
            self.blame(case, f"does not say how the program ended: {ended}")
        if job.output:
            self.judge_output(case, job.output, ended, before)

    def judge_output(self, case: str, output: Path, ended: Ended, before: bytes | None) -> None:
        if output.is_dir():
            if ended.status == 0 and not (output / "index.html").exists():
                self.blame(case, f"{output.name} is not complete: {ended}")
            shutil.rmtree(output)
            return
        now = output.read_bytes() if output.exists() else None
        if now != before or ended.status == 0:
            valid = subprocess.run([self.tally, "validate", str(output)], capture_output=True)
            if valid.returncode != 0:
                self.blame(case, f"{output.name} is damaged: {ended}; {valid.stderr[-300:]!r}")
        output.unlink(missing_ok=True)
        for left in output.parent.glob(".tally*"):
            self.blame(case, f"{left.name} is left")
            left.unlink()

    def jobs(self, out: Path | None = None) -> list[Job]:
        out, a = out or self.out, str(self.inputs / "a.pb.gz")
        costs = [str(self.inputs / f"{name}.callgrind") for name in ("a", "b")]

        def tally(name: str, *words: str, to: str = "", **more: bool) -> Job:
            path = [] if not to else ["-o", str(out / to)]
            program = ["--", self.spin, "0.05"] if words[0] == "record" else []
            all_words: list[str | bytes] = [self.tally, *words, *path, *program]
            return Job(name, all_words, out / to if to else None, **more)

        return [
            tally("record", "record", to="r.pb.gz", records=True),
            tally("record live", "record", "--live", "--clock", "wall", to="r.pb.gz", records=True),
            tally("record agent", "record", "--backend", "agent", to="s.callgrind", records=True),
            tally("report", "report", a, prints=True),
            tally("tree", "tree", a, prints=True),
            tally("annotate", "annotate", a, "seventy", "--asm", prints=True),
            tally("timeline", "timeline", str(self.inputs / "a.firefox.json"), prints=True),
            tally("histogram", "histogram", str(self.inputs / "a.gmon"), prints=True),
            tally("diff", "diff", *costs, prints=True),
            tally("validate", "validate", *costs),
            tally("help", "record", "--help", prints=True)._replace(output=None),
            tally("convert", "convert", a, to="c.callgrind"),
            tally("gmon", "convert", str(self.inputs / "a.gmon"), "--program", self.spin,
                  to="d.callgrind"),
            tally("merge", "merge", *costs, to="m.callgrind"),
            tally("coverage", "coverage", str(self.inputs), prints=True),
            tally("gcov", "gcov", str(self.inputs / "counted-w.gcno"), prints=True),
            Job("html", [self.tally, "coverage", str(self.inputs), "--report", f"html:{out}/html"],
                out / "html", prints=True),
            Job("lcov", [self.tally, "coverage", str(self.inputs), "--report", f"lcov:{out}/l.info"],
                out / "l.info", prints=True),
        ]  # fmt: skip

    def debuggers(
        self,
        out: Path | None = None,
        *,
        stop_times: bool = False,
        program: Sequence[str | bytes] = (),
    ) -> list[Job]:
        """Jobs in GDB and LLDB: one of each for each backend."""
        programs = list(program or (self.spin, "0.2"))
        jobs = []
        for debugger, backend in itertools.product(self.debugger, ("perf", "agent")):
            its = self.debugger[debugger]
            path = (out or self.out) / f"{debugger}-{backend}.callgrind"
            commands = [
                its.load, *its.settings, *([its.stop_times] if stop_times else []),
                f"profile start --backend {backend}", "run", "profile report --limit 3",
                "profile status", f"profile dump {path}",
            ]  # fmt: skip
            jobs.append(Job(f"{debugger} {backend}", its.words(commands, programs), path))
        return jobs

    def works(self, debugger: str, before: Callable[[], None]) -> bool:
        """Returns whether a debugger without Tally runs a program. Debuggers abort where they lack
        something."""
        its = self.debugger[debugger]
        words = its.words([*its.settings, *its.needs, "run"], [self.spin, "0"])
        return self.run(words, before=before).status == 0

    def meson(self, folder: Path | None = None) -> Job:
        """A job that tests a project, which is in `folder` and is built already."""
        project = folder or self.folder / "project"
        if not project.is_dir():
            write_project(project, PROJECT)
            self.need("meson", "setup", "build", cwd=project)
        words: list[str | bytes] = [sys.executable, "-m", "tally_meson", "test", "-C"]
        return Job("tally-meson", [*words, str(project / "build")])


@contextlib.contextmanager
def mounted(path: Path, options: str, *source: str) -> Iterator[None]:
    subprocess.run(["mount", "-o", options, *(source or ("-t", "tmpfs", "none")), path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill(folder: Path, free: int) -> None:
    """Fills a small file system, so that `free` bytes are left."""
    with contextlib.suppress(OSError), open(folder / "filling", "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    size = (folder / "filling").stat().st_size
    os.truncate(folder / "filling", max(0, size - free))


def write_large_profiles(hall: Hall) -> None:
    many = "".join(
        f"fn=f{i}\n{i} 1\ncfn=g{i * 7 % 40000}\ncalls=1 1\n{i} 2\n" for i in range(40000)
    )
    for name in ("a", "b"):
        (hall.inputs / f"{name}.callgrind").write_text(f"events: Ir\n{many}", encoding="ascii")
    rng, lines = hall.random, []
    for i in range(100000):
        lines.append(";".join(f"fn{rng.randrange(5000)}" for _ in range(12)) + f" {i % 7 + 1}\n")
    (hall.inputs / "a.folded").write_text("".join(lines), encoding="ascii")
    hall.need(
        hall.tally, "convert", str(hall.inputs / "a.folded"), "-o", str(hall.inputs / "a.pb.gz")
    )


def inputs_to_truncate(hall: Hall) -> dict[str, tuple[Path, list[str | bytes]]]:
    """Returns commands by name, each with a file that it reads for a while."""
    there = hall.folder / "many"
    there.mkdir()
    source = "".join(
        f"int f{i}(int n)\n{{\n  return n ? f{i}(n - 1) : 0;\n}}\n" for i in range(4000)
    )
    (there / "many.c").write_text(
        f"{source}int main(void)\n{{\n  return f7(2);\n}}\n", encoding="ascii"
    )
    hall.need("gcc", "-g", "--coverage", "many.c", "-o", "all", cwd=there)
    hall.need("./all", cwd=there)
    write_large_profiles(hall)
    shutil.copy(hall.spin, hall.inputs / "program")
    program, profile = hall.inputs / "program", hall.inputs / "p.pb.gz"
    hall.need(hall.tally, "record", "-o", str(profile), "--", str(program), "0.2")
    costs, stacks = hall.inputs / "a.callgrind", hall.inputs / "a.folded"
    gmon, big = hall.inputs / "a.gmon", hall.folder / "libtally.so"
    shutil.copy(hall.build / "lib" / "libtally.so", big)
    out: dict[str, tuple[Path, list[str | bytes]]] = {
        "callgrind": (costs, [hall.tally, "report", str(costs)]),
        "folded": (stacks, [hall.tally, "convert", str(stacks), "-o", "-", "--to", "pprof"]),
        "pprof": (hall.inputs / "a.pb.gz", [hall.tally, "tree", str(hall.inputs / "a.pb.gz")]),
        "gmon": (gmon, [hall.tally, "report", str(gmon), "--program", str(program)]),
        "program": (program, [hall.tally, "annotate", str(profile), "seventy", "--asm"]),
        "program's names": (big, [hall.tally, "report", str(gmon), "--program", str(big)]),
        "notes": (there / "all-many.gcno", [hall.tally, "coverage", "--root", "/", str(there)]),
        "counters": (there / "all-many.gcda", [hall.tally, "coverage", "--root", "/", str(there)]),
    }
    if shutil.which("perf"):
        data = hall.inputs / "perf.data"
        hall.need("perf", "record", "-q", "-F", "20000", "-g", "-o", str(data), hall.spin, "2")
        out["perf.data"] = (data, [hall.tally, "report", str(data)])
    if clang := shutil.which("clang") or shutil.which("clang-14"):
        own = there / "counted"
        flags = ("-fprofile-instr-generate", "-fcoverage-mapping")
        hall.need(clang, *flags, "many.c", "-o", str(own), cwd=there)
        hall.need(str(own), cwd=there)
        words = [
            hall.tally,
            "coverage",
            "--root",
            "/",
            str(there / "default.profraw"),
            "--object",
            str(own),
        ]
        out["object"] = (own, [*words])
        out["profraw"] = (there / "default.profraw", [*words])
    return out
