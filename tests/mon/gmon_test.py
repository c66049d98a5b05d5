"""Tests gmon.out of programs without -pg, read by gprof, and libtally-mon as a library."""
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.programs import SANITIZED, program
from support.shares import assert_share
from support.skips import need_perf, need_tools, run_unittests

LIBRARY = os.environ["TALLY_MON_LIBRARY"]
GMON_PROGRAM = os.environ["TALLY_GMON_PROGRAM"]
EMULATED = "TALLY_EMULATOR" in os.environ
PROCESS = os.environ["TALLY_MON_PROCESS"]
EXPORTS = {
    "profil",
    "moncontrol",
    "monstartup",
    "tally_mon_write",
    "tally_monitor",
    "tally_profil",
    "tally_profil_options",
    "tally_profil_status",
    "pthread_create",
    "thrd_create",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execveat",
    "execvp",
    "execvpe",
    "fexecve",
}


def flat(executable: str, path: Path) -> dict:
    """Returns function -> (percent, seconds), as gprof prints them."""
    done = subprocess.run(
        ["gprof", "-b", "-p", executable, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"gprof: status {done.returncode}\n{done.stderr}")
    rows = re.findall(r"^ *([\d.]+) +[\d.]+ +([\d.]+) +(\w+)$", done.stdout, re.MULTILINE)
    return {name: (float(percent), float(seconds)) for percent, seconds, name in rows}


def rate_of(path: Path) -> int:
    """Returns the ticks per second that the first histogram of a gmon.out states."""
    # A header of 20 bytes, the tag 0, and struct gmon_hist_hdr: low_pc, high_pc, hist_size,
    # prof_rate.
    tag, _, _, _, rate = struct.unpack_from("=B8s8sii", path.read_bytes(), 20)
    assert tag == 0
    return int(rate)


class GmonTest(unittest.TestCase):
    def setUp(self) -> None:
        need_tools("gprof")
        folder = tempfile.TemporaryDirectory(prefix="gmon-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_in_folder(self, argv: list, **variables: str) -> subprocess.CompletedProcess:
        clean = {name: value for name, value in os.environ.items() if name != "GMON_OUT_PREFIX"}
        return subprocess.run(
            argv,
            cwd=self.folder,
            env={**clean, **variables},
            text=True,
            capture_output=True,
            timeout=200,
            check=False,
        )

    def preloaded(self, argv: list, **variables: str) -> subprocess.CompletedProcess:
        if SANITIZED:
            self.skipTest("a sanitizer must be loaded first")
        preload = {"LD_PRELOAD": LIBRARY}
        if EMULATED:  # the emulator itself is of another processor
            preload = {"QEMU_SET_ENV": f"LD_PRELOAD={LIBRARY}"}
        return self.run_in_folder(argv, **preload, TALLY_MON="1", **variables)

    def check_shares(
        self, argv: list, executable: str, rate: str, error: float, **variables: str
    ) -> None:
        """Checks for 70 to 30, and for the CPU time that the program reports."""
        for old in self.folder.iterdir():
            old.unlink()
        done = self.preloaded(argv, TALLY_MON_HZ=rate, **variables)
        files = list(self.folder.iterdir())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(files), 1, files)
        rows = flat(executable, files[0])
        seventy, thirty = rows["seventy"][1], rows["thirty"][1]
        hz = rate_of(files[0])
        ticks, total = (round(seconds * hz) for seconds in (seventy, seventy + thirty))
        seconds = sum(seconds for _, seconds in rows.values())
        cpu = float(done.stdout.split()[-1])
        said = f"{' '.join(argv)}, {hz} Hz: {ticks} of {total}, {seconds:.2f} of {cpu:.2f} s"
        print(said, flush=True)
        assert_share(self, ticks, total, 0.7, error, said)
        # A hypervisor may take ticks away, but never adds any.
        self.assertGreater(seconds / cpu, 0.5, said)
        self.assertLess(seconds / cpu, 1.1, said)

    def test_an_unmodified_program(self) -> None:
        for name in ("spin7030", "spin7030_nopie", "spin7030_nodebug"):
            with self.subTest(name=name):
                self.check_shares([program(name), "0.25"], program(name), "4000", 0.13)

    @unittest.skipIf(EMULATED, "the emulator has no filters of system calls")
    def test_without_perf(self) -> None:
        """The file states the rate that the timers delivered, which may be 100 Hz."""
        self.check_shares(
            [program("seccomp_run"), "eperm", program("spin7030"), "2"],
            program("spin7030"),
            "1000",
            0.25,
            GMON_OUT_PREFIX=str(self.folder / "out"),
        )

    def test_default_rate(self) -> None:
        self.check_shares([program("spin7030"), "2"], program("spin7030"), "100", 0.25)

    def test_children_have_files_of_their_own(self) -> None:
        self.preloaded(
            ["/bin/sh", "-c", f"{program('spin7030')} 0.1; {program('spin7030')} 0.1"],
            GMON_OUT_PREFIX="out",
        )
        names = sorted(path.name for path in self.folder.iterdir())
        # Files of two programs, and of the shell if it exits by exit().
        self.assertGreaterEqual(len(names), 2)
        self.assertTrue(all(re.fullmatch(r"out\.\d+", name) for name in names), names)

    @unittest.skipIf(EMULATED, "cc compiles for this machine")
    def test_a_child_begins_without_its_parents_counts(self) -> None:
        need_tools("cc")
        code = """
            #include <stdlib.h>
            #include <sys/wait.h>
            #include <time.h>
            #include <unistd.h>
            __attribute__((noinline)) static void before(void) {
              volatile long sum = 0;
              do {
                for (int i = 0; i < 100000; ++i)
                  sum = sum + i;
              } while (clock() < CLOCKS_PER_SEC / 3);
            }
            int main(void) {
              before();
              if (fork() == 0)
                exit(0);
              wait(NULL);
              return 0;
            }
        """
        path = self.folder / "forks"
        subprocess.run(["cc", "-x", "c", "-", "-o", path], input=code, text=True, check=True)
        done = self.preloaded([str(path)], TALLY_MON_HZ="1000", GMON_OUT_PREFIX="out")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        files = sorted(self.folder.glob("out.*"))
        self.assertEqual(len(files), 2, files)
        child, parent = sorted(flat(str(path), file).get("before", (0, 0))[1] for file in files)
        self.assertGreater(parent, 0.1)
        self.assertLess(child, parent / 2)

    @unittest.skipIf(EMULATED, "the emulator sets LD_PRELOAD anew in every process")
    def test_without_a_prefix_only_the_first(self) -> None:
        done = self.preloaded(["/usr/bin/env", "sh", "-c", "echo ${TALLY_MON-unset}"])
        self.assertEqual(done.stdout, "unset\n")
        self.assertLessEqual({path.name for path in self.folder.iterdir()}, {"gmon.out"})

    def test_a_file_that_cannot_be_written(self) -> None:
        done = self.preloaded(
            [program("exit_status"), "7", "0.05"], GMON_OUT_PREFIX="/nowhere/at/all"
        )
        self.assertEqual(done.returncode, 7)
        self.assertRegex(
            done.stderr, r"\Alibtally-mon: /nowhere/at/all\.\d+: No such file or directory\n\Z"
        )

    def test_programs_that_fork_exec_and_have_timers_of_their_own(self) -> None:
        for argv in (
            ["forker", "0.05"],
            ["execer", "0.05"],
            ["own_timers", "20"],
            ["threads_late", "both", "0.05"],
            ["calls", "20"],
        ):
            with self.subTest(argv=argv):
                plain = self.run_in_folder([program(argv[0]), *argv[1:]])
                done = self.preloaded(
                    [program(argv[0]), *argv[1:]], TALLY_MON_HZ="4000", GMON_OUT_PREFIX="out"
                )
                self.assertEqual(done.returncode, plain.returncode, done.stderr)

    def test_monstartup_and_monitor(self) -> None:
        for way in ("monstartup", "monitor"):
            with self.subTest(way=way):
                copy = self.folder / "copy"
                done = self.run_in_folder([GMON_PROGRAM, way, str(copy)])
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                for path in (copy, self.folder / "gmon.out"):
                    rows = flat(GMON_PROGRAM, path)
                    self.assertGreater(rows["counted"][1], 0.3, rows)
                    # A tick may come late.
                    self.assertLess(rows.get("not_counted", (0, 0))[1], 0.1, rows)
                self.assertEqual(
                    sorted(path.name for path in self.folder.iterdir()), ["copy", "gmon.out"]
                )

    def test_a_buffer_unmapped_before_exit(self) -> None:
        """The program ends normally, with all of its output."""
        done = self.run_in_folder([GMON_PROGRAM, "gone", str(self.folder / "copy")])
        self.assertEqual(
            (done.returncode, done.stdout, done.stderr),
            (0, "not lost\n", "libtally-mon: gmon.out: Bad address\n"),
        )
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_counts_above_16_bits(self) -> None:
        path = self.folder / "large"
        done = self.run_in_folder([GMON_PROGRAM, "large", str(path)])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = flat(GMON_PROGRAM, path)
        self.assertEqual(rows["counted"], (66.67, 2000.0))
        self.assertEqual(rows["not_counted"], (33.33, 1000.0))


@unittest.skipIf(EMULATED, "the emulator has neither perf nor filters of system calls")
class ClockTest(unittest.TestCase):
    def clock(self, *before: str) -> str:
        done = subprocess.run(
            [*before, PROCESS, "print_clock"],
            capture_output=True,
            text=True,
            timeout=200,
            check=True,
        )
        print(done.stdout.strip(), flush=True)
        return done.stdout.split(":")[0]

    def test_perf_if_it_is_allowed(self) -> None:
        need_perf()
        self.assertEqual(self.clock(), "perf")

    def test_timers_if_perf_is_refused(self) -> None:
        for how in ("eperm", "enosys"):
            with self.subTest(how=how):
                self.assertEqual(self.clock(program("seccomp_run"), how), "timer")


class LibraryTest(unittest.TestCase):
    def setUp(self) -> None:
        if SANITIZED:
            self.skipTest("sanitizers add their own symbols and libraries")

    def test_exports(self) -> None:
        need_tools("nm")
        names = subprocess.run(
            ["nm", "-D", "--defined-only", "--format=posix", LIBRARY],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found = {line.split()[0].split("@")[0] for line in names.splitlines()}
        self.assertEqual(found, EXPORTS)

    def test_needs_libc_alone(self) -> None:
        need_tools("readelf")
        text = subprocess.run(
            ["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True
        ).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
        self.assertTrue(
            all(re.match(r"lib(c|pthread|dl|rt)\.so|ld-linux", name) for name in needed), needed
        )

    @unittest.skipIf(EMULATED, "cc compiles for this machine")
    def test_precedes_libcs_profil(self) -> None:
        """The program includes only <unistd.h>. Turning on while on keeps the buffer, other than in
        glibc."""
        need_tools("cc")
        code = """
            #include <unistd.h>
            static unsigned short first[1], second[1];
            int main(void) {
              profil(first, 2, 0, 2);
              if (profil((unsigned short *)8, 2, 0, 2) != 0 || profil(second, 2, 0, 2) != 0)
                return 1;
              for (volatile long i = 0; first[0] < 3; ++i)
                if (i > 20000000000 || second[0] != 0)
                  return 2;
              profil(first, 2, 0, 1);
              return 0;
            }
        """
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "libtally-mon.so").symlink_to(LIBRARY)
            path = os.path.join(folder, "program")
            subprocess.run(
                [
                    "cc",
                    "-D_GNU_SOURCE",
                    "-x",
                    "c",
                    "-",
                    "-x",
                    "none",
                    f"-L{folder}",
                    "-ltally-mon",
                    "-o",
                    path,
                ],
                input=code,
                text=True,
                check=True,
            )
            environment = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(LIBRARY)}
            self.assertEqual(subprocess.run([path], env=environment, check=False).returncode, 0)


if __name__ == "__main__":
    run_unittests()
