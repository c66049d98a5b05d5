"""What reading a file costs: at most the memory that the format's FORMAT.md states for the worst case
that is known, and a time that grows linearly with the size of such a file. Reading takes no more
memory than --memory-limit allows."""
import gzip
import itertools
import os
import re
import resource
import struct
import subprocess
import sys
import unittest
from typing import Callable, List, NamedTuple, Optional

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase, run_tally
from support.programs import SANITIZED, SOURCE_ROOT, command_line
from support.skips import run_unittests


def joined(
    first: str, rows: int, row: Callable[[int], str], last: str = "", between: str = ""
) -> bytes:
    return (first + between.join(map(row, range(rows))) + last).encode()


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def longs(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def callgrind(rows: int) -> bytes:
    return joined("events: a\n", rows, lambda i: f"fn={i:x}\n1 1\n")


def chrome_trace(rows: int) -> bytes:
    event = '{{"ph":"X","ts":1,"dur":1,"tid":"{:x}"}}'
    return joined('{"traceEvents":[', rows, event.format, "]}", ",")


def cobertura(rows: int) -> bytes:
    begin = "<coverage><packages><package><classes>"
    end = "</classes></package></packages></coverage>"
    return joined(begin, rows, '<class filename="{:x}"/>'.format, end)


def cpuprofile(rows: int) -> bytes:
    ones = ",".join("1" * rows)
    text = '{"nodes":[{"id":1,"callFrame":{}}],"samples":[' + ones + '],"timeDeltas":[' + ones
    return (text + '],"startTime":0,"endTime":9999999}').encode()


def firefox(rows: int) -> bytes:
    """Frames that are each inlined into the same 63 others."""
    inner = 63
    indexes = ",".join(map(str, range(rows)))
    prefixes = ",".join(map(str, [-1, *range(inner - 1), *[inner - 1] * (rows - inner)]))
    text = '{"meta":{"preprocessedProfileVersion":60},"libs":[],"shared":{"stringArray":["a"],'
    text += '"funcTable":{"name":[0]},"frameTable":{"func":[' + ",".join("0" * rows)
    text += '],"line":[' + indexes + '],"inlineDepth":[' + ",".join("1" * rows)
    text += ']},"stackTable":{"frame":[' + indexes + '],"prefix":[' + prefixes
    text += ']}},"threads":[{"tid":1,"samples":{"stack":[0],"time":[1]}}]}'
    return text.encode()


def folded(rows: int) -> bytes:
    return joined("", rows, "{:x} 1\n".format)


GCOV_VERSION = b"*32B"  # of GCC 12


def gcov_record(tag: int, payload: bytes) -> bytes:
    return words(tag, len(payload)) + payload


def gcov_notes(functions: bytes) -> bytes:
    # The version, a stamp, a checksum, an empty name of the directory.
    return b"oncg" + GCOV_VERSION + words(7, 0, 0, 0) + functions


def gcov_data(records: bytes) -> bytes:
    return b"adcg" + GCOV_VERSION + words(7, 0) + records + words(0)


def gcov_function(name: bytes, file: bytes) -> bytes:
    text = words(len(name)) + name + words(0, len(file)) + file
    return gcov_record(0x01000000, words(1, 1, 2) + text + words(1, 1, 9, 1))


def notes(rows: int) -> bytes:
    return gcov_notes(gcov_function(b"", b"") * rows)


def data(rows: int) -> bytes:
    return gcov_data(gcov_record(0x01A10000, b"") * rows)


def stream(rows: int) -> bytes:
    names = (b"%06x.a\0" % i for i in range(rows))
    counters = gcov_data(b"")
    begin = b"nfcg" + GCOV_VERSION
    return b"".join(begin + words(len(name)) + name + counters for name in names)


def gcov3(rows: int) -> bytes:
    """The names of functions in a .bb file."""
    mark = words(0x80000002)
    return b"".join(mark + b"%07x\0" % i + mark for i in range(rows))


def gcov_json(rows: int) -> bytes:
    begin = '{"gcc_version":"12","files":['
    return joined(begin, rows, '{{"file":"{:x}"}}'.format, "]}", ",")


def gcov_text(rows: int) -> bytes:
    return b"-:0:Source:a\n" + b"1:1:\n" * rows


def gcovr(rows: int) -> bytes:
    begin = '{"gcovr/format_version":"0.11","files":['
    return joined(begin, rows, '{{"file":"{:x}","functions":[],"lines":[]}}'.format, "]}", ",")


def gcovr_lines(rows: int) -> bytes:
    begin = '{"gcovr/format_version":"0.11","files":[{"file":"a","functions":[],"lines":['
    line = '{{"line_number":{},"count":1,"branches":[]}}'
    return joined(begin, rows, lambda i: line.format(i + 1), "]}]}", ",")


def gmon(rows: int) -> bytes:
    """The counts of basic blocks, with addresses of 32 bits."""
    blocks = itertools.chain.from_iterable(zip(range(rows), itertools.repeat(5)))
    return b"gmon" + words(1, 0, 0, 0) + b"\2" + words(rows, *blocks)


def gperftools(rows: int) -> bytes:
    """Stacks of 100 frames each."""
    stacks = range(rows // 100)
    frames = (" ".join(f"{i * 200 + j:x}" for j in range(100)) for i in stacks)
    lines = "\n".join(f"1:1[1:1]@{each}" for each in frames)
    return f"heap profile: 1: 1 [ 1: 1] @ heapprofile\n{lines}\n".encode()


def lcov(rows: int) -> bytes:
    return joined("", rows, "SF:{:x}\nend_of_record\n".format)


def llvm_indexed(rows: int) -> bytes:
    """Functions with one name and no counters."""
    records = (longs(1, 0) + words(8, 0)) * rows
    key = struct.pack("<H", 1) + longs(0, 1, len(records)) + b"a" + records
    head = b"\xfflprofi\x81" + longs(5, 0, 0, 56 + len(key), 0, 0)
    return head + key + longs(1, 1, 0)


def llvm_json(rows: int) -> bytes:
    begin = '{"type":"llvm.coverage.json.export","version":"2.0.1","data":[{"files":['
    begin += '{"filename":"a","segments":[]}],"functions":[{"name":"f","count":1,"filenames":["a"],'
    region = "[{0},1,{0},2,1,0,0,0]"
    return joined(begin + '"regions":[', rows, lambda i: region.format(i + 1), "]}]}]}", ",")


def llvm_raw(rows: int) -> bytes:
    """Empty names of functions, which are not compressed."""
    names = bytes([rows & 127 | 128, rows >> 7 & 127 | 128, rows >> 14 & 127 | 128, rows >> 21])
    names += b"\0" + b"\1" * rows
    head = longs(0xFF6C70726F667281, 5, 0, 0, 0, 0, len(names), 0, 0, 1)
    return head + names + bytes(-len(names) % 8)


def perf_data(rows: int) -> bytes:
    """Samples of different processes, with nothing but their ids."""

    def record(kind: int, body: bytes) -> bytes:
        return struct.pack("<IHH", kind, 2, 8 + len(body)) + body

    event = words(1, 64) + longs(0, 1000, 2, 0, 0, 0, 0)  # the samples have the two ids
    samples = b"".join(record(9, words(i, i)) for i in range(rows))
    return b"PERFILE2" + longs(16) + record(64, event + longs(1)) + samples


def perf_script(rows: int) -> bytes:
    return joined("", rows, "a {} 1.0: 1 c:\n\n".format)


def pprof(rows: int) -> bytes:
    """Types of values without a name, and one value of each."""

    def varint(value: int) -> bytes:
        low = bytes([value & 127 | (value > 127) << 7])
        return low + varint(value >> 7) if value > 127 else low

    values = b"\x12" + varint(rows) + b"\1" * rows
    sample = b"\x08\x01" + values
    types = b"\x0a\0" * rows
    return types + b"\x22\x02\x08\x01" + b"\x12" + varint(len(sample)) + sample + b"\x32\0"


def simpleperf(rows: int) -> bytes:
    """Names of events that are empty, and a sample of the second one."""

    def record(body: bytes) -> bytes:
        return words(len(body)) + body

    size = 2 * rows
    names = (
        bytes([0x2A, size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127]) + b"\x0a\0" * rows
    )
    return b"SIMPLEPERF\1\0" + record(names) + record(b"\x0a\x04\x28\1\x20\1") + words(0)


def speedscope(rows: int) -> bytes:
    """Stacks of 200 frames, whose numbers have one digit."""
    begin = '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":['
    begin += joined("", 10, '{{"name":"{}"}}'.format, "]}", ",").decode()
    begin += ',"profiles":[{"type":"sampled","name":"a","unit":"none","samples":['
    rest = ",0" * 195
    end = '],"weights":[' + ",".join("1" * rows) + "]}]}"
    return joined(begin, rows, lambda i: "[" + ",".join(f"{i:05}") + rest + "]", end, ",")


class Worst(NamedTuple):
    make: Callable[[int], bytes]
    rows: int  # such that reading takes some hundredths of a second
    folder: Optional[str] = None  # that has the FORMAT.md, if not the one of the format's name
    obeys_limit: bool = True  # whether the reader looks at --memory-limit while it makes rows
    limited: Optional[Callable[[int], bytes]] = None  # where it does so, if not in the worst case


WORST = {
    "callgrind": Worst(callgrind, 40_000),
    "chrome-trace": Worst(chrome_trace, 20_000, "cpuprofile"),
    "cobertura": Worst(cobertura, 33_000),
    "cpuprofile": Worst(cpuprofile, 270_000),
    "firefox": Worst(firefox, 12_000),
    "folded": Worst(folded, 70_000),
    "gcfn": Worst(stream, 60_000, "gcov", False),
    "gcov-data": Worst(data, 600_000, "gcov", False),
    "gcov-json": Worst(gcov_json, 35_000, "gcov_output"),
    "gcov-notes": Worst(notes, 150_000, "gcov", False),
    "gcov-text": Worst(gcov_text, 66_000, "gcov_output"),
    "gcov3": Worst(gcov3, 200_000),
    "gcovr": Worst(gcovr, 35_000, limited=gcovr_lines),
    "gmon": Worst(gmon, 132_000, obeys_limit=False),
    "gperftools": Worst(gperftools, 66_000),
    "lcov": Worst(lcov, 35_000),
    "llvm-indexed": Worst(llvm_indexed, 300_000, "llvm", False),
    "llvm-json": Worst(llvm_json, 40_000, "llvm"),
    "llvm-raw": Worst(llvm_raw, 263_000, "llvm", False),
    "perf-data": Worst(perf_data, 20_000),
    "perf-script": Worst(perf_script, 70_000),
    "pprof": Worst(pprof, 140_000),
    "simpleperf": Worst(simpleperf, 264_000, obeys_limit=False),
    "speedscope": Worst(speedscope, 1_500),
}


def descending_maps(rows: int) -> bytes:
    """Mappings of a perf.data, each of which lies below those before it."""

    def record(kind: int, body: bytes) -> bytes:
        return struct.pack("<IHH", kind, 2, 8 + len(body)) + body

    event = words(1, 64) + longs(0, 1000, 2, 0, 0, 0, 0)
    maps = (words(1, 1) + longs((rows - i) << 13, 4096, 0) + b"/a\0\0\0\0\0\0" for i in range(rows))
    head = b"PERFILE2" + longs(16) + record(64, event + longs(1))
    return head + b"".join(record(1, each) for each in maps)


def forks_of_many_mappings(rows: int) -> bytes:
    """A perf.data of a process with many mappings, whose children each map one more."""

    def record(kind: int, body: bytes) -> bytes:
        return struct.pack("<IHH", kind, 2, 8 + len(body)) + body

    def mapping(pid: int, start: int) -> bytes:
        return record(1, words(pid, pid) + longs(start, 4096, 0) + b"/a\0\0\0\0\0\0")

    event = words(1, 64) + longs(0, 1000, 2, 0, 0, 0, 0)
    maps = (mapping(1, i << 13) for i in range(rows))
    forks = (
        record(7, words(pid, 1, pid, 1) + longs(1)) + mapping(pid, (2 * pid + 1) << 12)
        for pid in range(2, rows)
    )
    head = b"PERFILE2" + longs(16) + record(64, event + longs(1))
    return head + b"".join(maps) + b"".join(forks)


def nested_maps(rows: int) -> bytes:
    begin = "heap profile: 1: 1 [ 1: 1] @ heapprofile\n1:1[1:1]@5\nMAPPED_LIBRARIES:\n"
    line = "{:x}-{:x} r-xp {:x} 0:0 0\n"
    return joined(begin, rows, lambda i: line.format(i << 12, (2 * rows - i) << 12, i))


def libraries_of_threads(rows: int) -> bytes:
    """A Firefox profile with a list of libraries that many threads share."""
    begin = '{"meta":{"preprocessedProfileVersion":50},"libs":['
    begin += joined("", 10 * rows, lambda i: '{"name":"a"}', "],", ",").decode()
    thread = '"stringArray":[],"funcTable":{"name":[]},"frameTable":{"func":[]},'
    thread += '"stackTable":{"frame":[],"prefix":[]},"samples":{"stack":[],"time":[]}}'
    return joined(begin + '"threads":[', rows, lambda i: f'{{"tid":{i},{thread}', "]}", ",")


# Files whose reading took quadratic time.
SLOW = {
    "perf-data": (descending_maps, 20_000),
    "gperftools": (nested_maps, 30_000),
    "firefox": (libraries_of_threads, 1_000),
}
REFUSAL = re.compile(r"needs more than \d+ MiB of memory to be read")
PROGRAM_BYTES = 1 << 20  # more than what `tally` takes without a file


def stated(name: str) -> int:
    folder = WORST[name].folder or name.replace("-", "_")
    path = SOURCE_ROOT / "lib/src/formats" / folder / "FORMAT.md"
    found = re.search(
        r"at\s+most\s+(\d+)\s+bytes\s+of\s+memory\s+for\s+each\s+byte",
        path.read_text(encoding="utf-8"),
    )
    assert found, path
    return int(found[1])


class Cost(NamedTuple):
    status: int
    cpu_s: float


def cost_of(words_of_tally: List[str], most_bytes: Optional[int] = None) -> Cost:
    """Runs `tally`; the kernel gives it no more memory than that."""

    def set_limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))

    with subprocess.Popen(
        [command_line(), *words_of_tally],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=set_limit,
    ) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    return Cost(child.returncode, used.ru_utime + used.ru_stime)


def growth(small: List[str], large: List[str]) -> float:
    """Returns how much longer the second command takes. A machine that does other work delays some
    runs, so the shortest of three counts; the second command runs again only if it took long."""
    at_first = min(cost_of(small).cpu_s for _ in range(3))
    least = cost_of(large).cpu_s
    for _ in range(2):
        if least >= MOST_GROWTH * at_first:
            least = min(least, cost_of(large).cpu_s)
    return least / at_first


# For four times the input. Linear time gives 4, or up to 7.8 where tables leave the processor's
# caches; readers whose time is quadratic gave 13.7 to 16.9. This is the middle of the two.
MOST_GROWTH = 10


class CostsTest(ProfileCase):
    def write(self, name: str, content: bytes) -> str:
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    @unittest.skipIf(SANITIZED, "a sanitizer takes memory and time of its own")
    def test_memory_of_worst_cases(self) -> None:
        for name, worst in WORST.items():
            with self.subTest(name):
                content = worst.make(worst.rows)
                command = ["validate", "--from", name, self.write("in", content)]
                most = stated(name) * len(content)
                self.assertEqual(cost_of(command, most + PROGRAM_BYTES).status, 0)
                self.assertNotEqual(cost_of(command, most // 8 + PROGRAM_BYTES).status, 0)

    @unittest.skipIf(SANITIZED, "a sanitizer takes memory and time of its own")
    def test_memory_of_forks(self) -> None:
        """Children share their parent's mappings."""
        content = forks_of_many_mappings(5_000)
        command = ["validate", "--from", "perf-data", self.write("in", content)]
        self.assertNotRegex(run_tally(*command).stdout, r"error: (?!holds no samples)")
        most = stated("perf-data") * len(content) + PROGRAM_BYTES
        self.assertNotEqual(cost_of(command, most).status, 3)
        self.assertNotRegex(run_tally(*command, "--memory-limit", str(most)).stdout, REFUSAL)

    def test_memory_limit(self) -> None:
        for name, worst in WORST.items():
            if worst.obeys_limit:
                with self.subTest(name):
                    content = (worst.limited or worst.make)(worst.rows)
                    path = self.write("in", content)
                    limit = str(2 * len(content))
                    done = run_tally("validate", "--from", name, path, "--memory-limit", limit)
                    self.assertRegex(done.stdout, REFUSAL)

    @unittest.skipIf(SANITIZED, "a sanitizer takes memory and time of its own")
    def test_time_of_worst_cases(self) -> None:
        for name, worst in WORST.items():
            with self.subTest(name):
                small = self.write("small", worst.make(worst.rows // 2))
                large = self.write("large", worst.make(2 * worst.rows))
                command = ["validate", "--from", name]
                self.assertLess(growth([*command, small], [*command, large]), MOST_GROWTH)

    @unittest.skipIf(SANITIZED, "a sanitizer takes time of its own")
    def test_time_of_what_was_slow(self) -> None:
        for name, (make, rows) in SLOW.items():
            with self.subTest(name):
                small = self.write("small", make(rows))
                large = self.write("large", make(4 * rows))
                command = ["validate", "--from", name]
                said = run_tally(*command, small).stdout  # it is read to its end
                self.assertNotRegex(said, r"error: (?!holds no samples)")
                self.assertLess(growth([*command, small], [*command, large]), MOST_GROWTH)

    @unittest.skipIf(SANITIZED, "a sanitizer takes time of its own")
    def test_time_of_empty_records_of_counters(self) -> None:
        for rows, folder in ((10_000, "small"), (40_000, "large")):
            os.mkdir(self.path(folder))
            arcs = (gcov_record(0x01430000, words(i, i + 1, 1)) for i in range(2, rows - 1))
            blocks = gcov_record(0x01410000, words(rows))
            self.write(
                f"{folder}/a.gcno",
                gcov_notes(gcov_function(b"f\0", b"a\0") + blocks + b"".join(arcs)),
            )
            function = gcov_record(0x01000000, words(1, 1, 2))
            self.write(
                f"{folder}/a.gcda", gcov_data(function + gcov_record(0x01A10000, b"") * rows)
            )
        small, large = (["gcov", self.path(f"{each}/a.gcda")] for each in ("small", "large"))
        self.assertLess(growth(small, large), MOST_GROWTH)

    def test_a_small_file_that_unpacks_to_much(self) -> None:
        with gzip.open(self.path("in"), "wb") as file:
            for i in range(20_000):
                file.write(b"%x" % i + b";a" * 500 + b" 1\n")
        self.assertLess(os.path.getsize(self.path("in")), 200_000)
        done = run_tally("report", self.path("in"), "--from", "folded", "--memory-limit", "20M")
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(
            done.stderr, r"^tally: \S+/in: needs more than 20 MiB of memory to be read; the"
        )

    def test_amounts(self) -> None:
        with open(self.path("in"), "wb") as file:
            file.write(b"main 7\n")
        for amount in ("1G", "500000K", "123456789", "18446744073709551615"):
            done = run_tally("report", self.path("in"), "--memory-limit", amount)
            self.assertEqual(done.returncode, 0, done)
        for amount in ("0", "-1", "1T", "1GB", "G", "99999999999G"):
            done = run_tally("report", self.path("in"), f"--memory-limit={amount}")
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("expected a number of bytes such as 500M or 4G", done.stderr)


if __name__ == "__main__":
    run_unittests()
