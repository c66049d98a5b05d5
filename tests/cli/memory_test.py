"""The memory that reading a file takes: at most what the format's FORMAT.md says of the worst case that
is known, and no more than --memory-limit allows."""
import gzip
import os
import re
import sys
from typing import Callable, NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.profiles import ProfileCase, run_tally
from support.programs import SOURCE_ROOT
from support.skips import run_unittests

ROWS = 200_000


def joined(first: str, rows: Callable[[int], str], last: str, between: str = "") -> bytes:
    return (first + between.join(rows(i) for i in range(ROWS)) + last).encode()


def callgrind() -> bytes:
    return joined("events: a\n", lambda i: f"fn={i:x}\n1 1\n", "")


def cobertura() -> bytes:
    begin = '<coverage><packages><package><classes><class filename="a"><lines>'
    begin += '<line number="1" hits="1"/></lines></class>'
    return joined(begin, lambda _: "<a/>", "</classes></package></packages></coverage>")


def cpuprofile() -> bytes:
    node = '{{"id":{},"callFrame":{{}}}}'
    end = '],"samples":[1],"timeDeltas":[1],"startTime":0,"endTime":1}'
    return joined('{"nodes":[', node.format, end, ",")


def folded() -> bytes:
    return joined("", lambda i: f"{i:x} 1\n", "")


def gcovr() -> bytes:
    begin = '{"gcovr/format_version":"0.11","files":[{"file":"a","functions":[],"lines":['
    line = '{{"line_number":{},"count":1,"branches":[]}}'
    return joined(begin, lambda i: line.format(i + 1), "]}]}", ",")


def lcov() -> bytes:
    return joined("", lambda i: f"SF:{i:x}\nDA:1,1\nend_of_record\n", "")


def perf_script() -> bytes:
    return joined("", lambda i: f"a {i + 1} 1.0: 1 cycles: \n\t{i:x} b (c)\n\n", "")


def pprof() -> bytes:
    """One location with many lines of the same function."""
    line = b"\x22\x02\x08\x01"
    location = b"\x08\x01" + line * ROWS
    size = len(location)
    field = b"\x22" + bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14])
    return b"\x0a\0\x2a\x02\x08\x01" + field + location + b"\x12\x04\x08\x01\x10\x01\x32\0"


def speedscope() -> bytes:
    begin = '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":['
    end = ']},"profiles":[{"type":"sampled","name":"a","unit":"none","startValue":0,"endValue":1,'
    return joined(
        begin, lambda i: f'{{"name":"{i:x}"}}', end + '"samples":[[0]],"weights":[1]}]}', ","
    )


class Worst(NamedTuple):
    make: Callable[[], bytes]
    coverage: bool = False


WORST = {
    "callgrind": Worst(callgrind),
    "cobertura": Worst(cobertura, True),
    "cpuprofile": Worst(cpuprofile),
    "folded": Worst(folded),
    "gcovr": Worst(gcovr, True),
    "lcov": Worst(lcov, True),
    "perf-script": Worst(perf_script),
    "pprof": Worst(pprof),
    "speedscope": Worst(speedscope),
}
REFUSAL = re.compile(r"needs more than \d+ MiB of memory to be read")


def stated(name: str) -> int:
    path = SOURCE_ROOT / "lib/src/formats" / name.replace("-", "_") / "FORMAT.md"
    found = re.search(
        r"at most (\d+) bytes of memory for each byte", path.read_text(encoding="utf-8")
    )
    assert found, path
    return int(found[1])


class MemoryTest(ProfileCase):
    def refusal(self, name: str, limit: int) -> bool:
        command = ["coverage"] if WORST[name].coverage else ["convert", "--from", name]
        output = [] if WORST[name].coverage else ["-o", self.path("out.pb.gz")]
        limits = ["--memory-limit", str(limit)]
        done = run_tally(*command, self.path("in"), *limits, *output)
        return REFUSAL.search(done.stderr) is not None

    def test_worst_cases(self) -> None:
        for name, worst in WORST.items():
            with self.subTest(name):
                data = worst.make()
                with open(self.path("in"), "wb") as file:
                    file.write(data)
                ratio = stated(name)
                self.assertFalse(self.refusal(name, ratio * len(data)))
                self.assertTrue(self.refusal(name, ratio * len(data) // 8))

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
