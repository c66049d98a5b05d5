"""The `tally` program: its errors, the names of its files, and the files that it leaves behind."""
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import command_line, program
from support.running import wait_for_cpu, wait_for_name
from support.skips import need_perf, run_unittests

COMMANDS = [
    "record",
    "report",
    "tree",
    "annotate",
    "histogram",
    "timeline",
    "diff",
    "convert",
    "merge",
    "coverage",
    "gcov",
    "validate",
    "rewrite",
    "zero",
    "setup",
]


class CliCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="cli-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def put(self, name: str, text: str) -> str:
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def run_tally(self, *words: str, **more) -> subprocess.CompletedProcess:
        return subprocess.run(
            [command_line(), *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
            **more,
        )

    def assert_says(self, words: list, status: int, *lines: str) -> None:
        done = self.run_tally(*words)
        self.assertEqual(
            (done.returncode, done.stderr.splitlines(), done.stdout),
            (status, list(lines), ""),
            words,
        )


class Refusals(CliCase):
    def refused(self, words: str, text: str, command: str = "") -> None:
        command = command or words.split(" ")[0]
        self.assert_says(
            words.split(" "),
            2,
            f"tally: {text}",
            f"Try '{' '.join(['tally', command]).strip()} --help'.",
        )

    def test_values(self) -> None:
        number = "expected a whole number from 1 to 1000000, found"
        for value in ("0", "abc", "1000001", "1.5", "0x10", "-1", "99999999999999999999"):
            self.refused(f"record --frequency={value} ls", f"--frequency: {number} '{value}'")
        self.refused("record -F abc ls", f"--frequency: {number} 'abc'")
        self.refused(
            "record -p 0/abc", "--pid: expected a whole number from 1 to 2147483647, found '0/abc'"
        )
        self.refused(
            "record --stacks foo ls", "--stacks: expected one of none, fp, dwarf, found 'foo'"
        )
        self.refused("report a --sort up", "--sort: expected one of self, inclusive, found 'up'")
        self.refused(
            "report a --limit -1",
            "--limit: expected a whole number from 0 to 4294967295, found '-1'",
        )
        self.refused("record -o  ls", "-o: expected a file, found ''")
        self.refused("convert a -o ", "-o: expected a file, found ''")
        done = self.run_tally("convert", "a", "-o", "x", "--to", "nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^tally: --to: unknown format 'nonsense' \(there are: ")

    def test_missing_words(self) -> None:
        self.refused("record -F", "--frequency: expected a value: HZ")
        self.refused("record -o", "-o: expected a value: FILE")
        self.refused("record", "record: give either -p PID or -- PROGRAM")
        self.refused("record -p 1 ls", "record: give either -p PID or -- PROGRAM")
        self.refused("report", "report: expected FILE")
        self.refused("convert a", "convert: expected -o OUT")
        self.assert_says(
            [], 2, f"tally: expected a command: {', '.join(COMMANDS)}", "Try 'tally --help'."
        )

    def test_unknown_words(self) -> None:
        for command in COMMANDS:
            self.refused(f"{command} --nonsense=3 x", "--nonsense: unknown option")
        self.refused("report a b", "report: unexpected 'b'")
        self.refused("report a --json=1", "--json: takes no value")
        self.refused("convert a -o b -o c", "-o: given more than once")
        self.assert_says(
            ["frobnicate"],
            2,
            "tally: there is no command 'frobnicate' " f"(there are: {', '.join(COMMANDS)})",
            "Try 'tally --help'.",
        )
        self.assert_says(
            ["--nonsense"], 2, "tally: --nonsense: unknown option", "Try 'tally --help'."
        )

    def test_file_names_that_imply_no_format(self) -> None:
        text = (
            "tally: x: the file's name does not imply a format: "
            "add {} callgrind, or another format"
        )
        self.assert_says(["convert", self.put("a", "a 1\n"), "-o", "x"], 2, text.format("--to"))
        self.assert_says(["record", "-o", "x", "ls"], 2, text.format("--format"))

    def test_record_refuses_formats_without_samples_before_the_program_runs(self) -> None:
        for words in (["-o", "perf.data"], ["-o", "x.info"], ["--format", "cobertura"]):
            done = self.run_tally("record", *words, "--", "touch", "ran")
            self.assertRegex(
                done.stderr,
                rf"^tally: {words[0] if words[0] == '--format' else words[1]}: the format \S+ does "
                r"not hold profiles, or cannot be written \(there are: callgrind, ",
            )
            self.assertEqual((done.returncode, os.listdir(self.folder)), (2, []))

    def test_standard_input_is_read_once(self) -> None:
        self.assert_says(
            ["convert", "-", "-", "-o", "x.cg"],
            2,
            "tally: convert: '-' is given more than once, but standard input can be "
            "read only once",
        )

    def test_words_that_mean_something_in_a_debugger(self) -> None:
        """`const` after a name with parentheses is a word of its own in a shell."""
        self.put("a(1)", "main 1\n")
        self.put("const", "main 2\n")
        done = self.run_tally("merge", "--from", "folded", "a(1)", "const", "-o", "-")
        self.assertEqual((done.returncode, done.stdout), (0, "main 3\n"), done.stderr)

    def test_threads_of_the_kernel(self) -> None:
        try:
            with open("/proc/2/comm", encoding="utf-8") as name:
                if name.read() != "kthreadd\n":
                    self.skipTest("process 2 is none")
        except FileNotFoundError:
            self.skipTest("there is no process 2")
        self.assert_says(
            ["record", "-p", "2"],
            1,
            "tally: process 2: is a kernel thread, which " "runs no program to sample",
        )


class Files(CliCase):
    def test_files_without_counts_have_no_data(self) -> None:
        for text, why in (
            ("a;b 0\nc 0\n", "holds no samples: every count is 0"),
            ("# nothing\n", "holds no stacks"),
            ("", "is empty"),
        ):
            self.put("f.folded", text)
            self.assert_says(["report", "f.folded"], 4, f"tally: f.folded: {why}")
            self.assert_says(["convert", "f.folded", "-o", "x.cg"], 4, f"tally: f.folded: {why}")
        self.assertEqual(os.listdir(self.folder), ["f.folded"])

    def test_beyond_the_limit_of_a_files_size(self) -> None:
        self.put("in.folded", "".join(f"function_{i} {i + 1}\n" for i in range(5000)))
        self.put("out.callgrind", "old\n")
        # In a build for coverage, the limit truncates the program's own counters, too.
        own = tempfile.TemporaryDirectory()
        self.addCleanup(own.cleanup)
        done = self.run_tally(
            "convert",
            "in.folded",
            "-o",
            "out.callgrind",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
            env={**os.environ, "GCOV_PREFIX": own.name, "GCOV_ERROR_FILE": f"{own.name}/said"},
        )
        self.assertEqual(
            (done.returncode, done.stderr),
            (1, "tally: out.callgrind: cannot write: File too large (EFBIG)\n"),
        )
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.folded", "out.callgrind"])
        with open(os.path.join(self.folder, "out.callgrind"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "old\n")

    def test_a_closed_pipe_ends_it_quietly(self) -> None:
        self.put("in.folded", "".join(f"function_{i} {i + 1}\n" for i in range(50000)))
        with subprocess.Popen(
            [command_line(), "report", "in.folded", "--limit", "0"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as tally:
            tally.stdout.readline()
            tally.stdout.close()
            self.assertEqual(tally.stderr.read(), b"")
            self.assertEqual(tally.wait(), -signal.SIGPIPE)

    def test_a_full_disk_is_reported(self) -> None:
        self.put("in.folded", "a 1\n")
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [command_line(), "report", "in.folded"],
                cwd=self.folder,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        self.assertEqual(
            (done.returncode, done.stderr),
            (1, "tally: <stdout>: cannot write: No space left on device (ENOSPC)\n"),
        )

    def test_too_little_memory_is_an_error(self) -> None:
        self.put("in.folded", "".join(f"a{i % 97};function_{i} {i + 1}\n" for i in range(300000)))
        most = 64 << 20

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

        if self.run_tally("--version", preexec_fn=limit).returncode != 0:
            self.skipTest("a sanitizer needs more memory")
        done = self.run_tally("convert", "in.folded", "-o", "out.pb.gz", preexec_fn=limit)
        self.assertEqual(done.stderr, "tally: there is not enough memory\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(os.listdir(self.folder), ["in.folded"])

    def test_messages_do_not_enter_the_agents_memory(self) -> None:
        """If standard streams are closed, files that Tally opens would get their numbers."""
        for closed in ("<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                done = subprocess.run(
                    ["sh", "-c", f'"$@" {closed}', "sh", program("seccomp_run"), "eperm"]
                    + [command_line(), "record", "-o", "out.folded"]
                    + ["--", program("spin7030"), "0.1"],
                    cwd=self.folder,
                    check=False,
                )
                self.assertEqual(done.returncode, 0)
                self.assert_says(["validate", "out.folded"], 0)
                os.unlink(os.path.join(self.folder, "out.folded"))

    def test_no_proc(self) -> None:
        hidden = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this user cannot mount file systems")
        # AddressSanitizer reads /proc, too, and prints what it lacks.
        options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        for backend in ("perf", "agent"):
            done = subprocess.run(
                [*hidden, command_line(), "record", "--backend", backend, "-o", "out.folded"]
                + ["--", program("spin7030"), "0.1"],
                cwd=self.folder,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                env={**os.environ, "ASAN_OPTIONS": options},
            )
            ours = [line for line in done.stderr.splitlines() if line.startswith("tally:")]
            self.assertEqual(len(ours), 1, done.stderr)
            self.assertRegex(ours[0], "^tally: /proc is not mounted here")
            self.assertEqual((done.returncode, os.listdir(self.folder)), (1, []))


class Record(CliCase):
    def setUp(self) -> None:
        super().setUp()
        need_perf()

    def test_the_default_name_follows_the_format(self) -> None:
        cases: list[tuple[list[str], str]] = [
            ([], r"callgrind\.out\.\d+"),
            (["--format", "callgrind"], r"callgrind\.out\.\d+"),
            (["--format", "folded"], r"\d+\.folded"),
        ]
        for more, pattern in cases:
            done = self.run_tally("record", *more, "--", program("spin7030"), "0.1")
            self.assertEqual(done.returncode, 0, done.stderr)
            (name,) = os.listdir(self.folder)
            self.assertRegex(name, f"^{pattern}$")
            self.assertIn(f"wrote {name}\n", done.stderr)
            os.remove(os.path.join(self.folder, name))

    def test_the_program_inherits_the_signal_dispositions(self) -> None:
        done = self.run_tally(
            "record",
            "-o",
            "x.folded",
            "--",
            "sh",
            "-c",
            "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; "
            "grep -E 'Sig(Ign|Blk)' /proc/self/status",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        for mask in re.findall(r"Sig(?:Ign|Blk):\s+(\S+)", done.stdout):
            for number in (signal.SIGXFSZ, signal.SIGPIPE):
                self.assertFalse(int(mask, 16) >> (number - 1) & 1, done.stdout)

    def test_a_signal_without_a_name_ends_the_program(self) -> None:
        done = self.run_tally(
            "record",
            "-o",
            "x.folded",
            "--",
            "sh",
            "-c",
            "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; kill -50 $$",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tally: ended by SIG50; ", done.stderr)

    def test_a_signal_that_ends_the_recorder_ends_the_program_too(self) -> None:
        for number in (signal.SIGHUP, signal.SIGTERM):
            with self.subTest(number.name), subprocess.Popen(
                [command_line(), "record", "-o", "x.folded", "--", program("spin7030"), "600"],
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
            ) as recorder:
                wait_for_cpu(wait_for_name(recorder.pid, "spin7030"), 0.1)
                recorder.send_signal(number)
                said = recorder.communicate(timeout=60)[1]
                self.assertRegex(said, rf"^tally: ended by {number.name}; \d+ samples in ")
                path = os.path.join(self.folder, "x.folded")
                with open(path, encoding="utf-8") as file:
                    self.assertIn("main;spin_slices;seventy ", file.read())
                os.unlink(path)

    def test_the_status_is_reported_without_samples(self) -> None:
        for script, end in (("exit 3", "exited, status 3"), ("kill -SEGV $$", "ended by SIGSEGV")):
            done = self.run_tally(*"record -F 1 -o x.folded -- sh -c".split(), script)
            self.assertRegex(done.stderr, f"^tally: sh: {end}; no samples: ")
            self.assertEqual((done.returncode, os.listdir(self.folder)), (4, []))

    def test_samples_outlive_the_reader_of_messages(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [command_line(), "record", "-o", "x.folded", "--", program("spin7030"), "0.1"],
            cwd=self.folder,
            stderr=writing,
            check=False,
        )
        os.close(writing)
        self.assertIn(done.returncode, (0, -signal.SIGPIPE))
        self.assertEqual(os.listdir(self.folder), ["x.folded"])


class Help(CliCase):
    def test_each_help_has_an_example(self) -> None:
        lines: list[list[str]] = [[], *([command] for command in COMMANDS)]
        for words in lines:
            done = self.run_tally(*words, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, rf"(?m)^Example: {' '.join(['tally', *words])} ")
            self.assertNotRegex(done.stdout, r"TEXT|UINT|INT\b")


if __name__ == "__main__":
    run_unittests()
