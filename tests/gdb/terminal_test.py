"""Tests GDB with a user at a terminal: Ctrl-C, keys, pages, a program in the background."""
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from scenario import GdbCase, Status, read_status
from support.debug_server import DebugServer, send
from support.gdb_driver import GdbTerminal
from support.programs import program
from support.running import wait_for_cpu, wait_for_name
from support.shares import assert_seventy
from support.skips import need_tools, run_unittests
from support.tables import parse_report


def status(gdb: GdbTerminal) -> Status:
    return read_status(gdb.command("profile status"))


class InterruptTest(GdbCase):
    def test_ctrl_c_during_run_and_continue(self) -> None:
        with GdbTerminal(program("spin7030"), ["600"]) as gdb:
            self.assertRegex(
                gdb.command("profile start --frequency 4000"),
                "^Sampling begins with the next process",
            )
            for go in ("run", "continue"):
                gdb.send(go)
                gdb.expect("Starting program.*\n" if go == "run" else "Continuing.\n")
                wait_for_cpu(wait_for_name(gdb.process.pid, "spin7030"), 0.15)
                gdb.interrupt()
                self.assertRegex(gdb.expect_prompt(), "SIGINT, Interrupt")
            now = status(gdb)
            self.assertEqual((now["state"], now["parts"]), ("sampling", "2"))
            self.assertGreater(now.count("samples"), 100)
            report = parse_report(gdb.command("profile report"))
            self.assertEqual(report.total, now.count("samples"))
            assert_seventy(self, report, 0.15)
            parts = parse_report(gdb.command("profile report --by part"))
            self.assertEqual(sorted(row.name for row in parts.rows), ["1 SIGINT", "2 SIGINT"])
            # Some time has passed at the prompt: nothing was counted.
            self.assertEqual(status(gdb).count("samples"), now.count("samples"))
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertNotRegex(gdb.transcript, "Traceback|Python Exception|internal-error|Aborted")

    def test_ctrl_c_while_a_pipe_is_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder, GdbTerminal() as gdb:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            for command in (f"profile load {pipe}", f"profile diff {pipe}"):
                gdb.send(command)
                time.sleep(0.3)
                gdb.interrupt()
                self.assertIn(f"{pipe}: interrupted while it was read", gdb.expect_prompt())
            writer = threading.Thread(
                target=lambda: Path(pipe).write_text("main;work 7\n", encoding="utf-8")
            )
            writer.start()
            self.assertIn("Loaded 7 ticks", gdb.command(f"profile load {pipe}"))
            writer.join()

    def test_ctrl_c_in_a_sleeping_program(self) -> None:
        with GdbTerminal(program("sleeper")) as gdb:
            gdb.command("profile start")
            gdb.send("run")
            gdb.expect("asleep\n")
            time.sleep(0.5)
            gdb.interrupt()
            gdb.expect_prompt()
            report = parse_report(gdb.command("profile report"))
            self.assertGreater(report.row("before_sleep").inclusive_ticks, 80)
            self.assertGreater(status(gdb).number("running"), 0.4)

    def test_ctrl_c_in_an_attached_program(self) -> None:
        process = subprocess.Popen([program("spin7030_traced"), "600"], stdout=subprocess.DEVNULL)
        try:
            with GdbTerminal() as gdb:
                gdb.command(f"attach {process.pid}")
                gdb.command("profile start")
                gdb.send("continue")
                gdb.expect("Continuing.\n")
                wait_for_cpu(process.pid, 0.2)
                gdb.interrupt()
                self.assertIn("SIGINT", gdb.expect_prompt())
                self.assertGreater(status(gdb).count("samples"), 50)
                gdb.send("quit")
                self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertIsNone(process.poll())
        finally:
            process.kill()
            process.wait()


class DebuginfodTest(GdbCase):
    def state_of(self, pid: int) -> tuple:
        """Returns the signals that GDB handles, its number of threads, and its descriptors, except
        for files, which are those with names of functions."""
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            fields = dict(line.split(":\t", 1) for line in file)
        caught = {name: fields[name] for name in ("SigCgt", "SigIgn", "SigBlk")}
        opened = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
        return (
            caught,
            len(os.listdir(f"/proc/{pid}/task")),
            sorted(each for each in opened if not each.startswith("/")),
        )

    def test_names_of_stripped_code(self) -> None:
        """A server that hangs does not block GDB, and one that answers leaves nothing behind."""
        need_tools("strip")
        folder = tempfile.TemporaryDirectory(prefix="debuginfod-")
        self.addCleanup(folder.cleanup)
        stripped = os.path.join(folder.name, "spin")
        subprocess.run(["strip", "-o", stripped, program("spin7030")], check=True, timeout=60)
        with open(program("spin7030"), "rb") as file:
            content = file.read()
        asked, hangs = threading.Event(), True

        def answer(handler: http.server.BaseHTTPRequestHandler, _: str) -> None:
            asked.set()
            if hangs:
                server.ended.wait()
            else:
                send(handler, content)

        server = DebugServer(self, answer)
        environment = {
            "DEBUGINFOD_URLS": "",
            "DEBUGINFOD_CACHE_PATH": folder.name + "/cache",
            "DEBUGINFOD_TIMEOUT": "0",  # only Ctrl-C ends what hangs
        }
        with GdbTerminal(stripped, ["0.1"], environment=environment) as gdb:
            gdb.command("set debuginfod enabled off")
            gdb.command(f"python os.environ['DEBUGINFOD_URLS'] = '{server.url}'")
            gdb.command("profile start --frequency 4000")
            gdb.command("catch syscall exit_group")
            gdb.command("run")
            self.assertNotIn("seventy", gdb.command("profile report"))
            self.assertEqual(server.asked, [])
            before = self.state_of(gdb.process.pid)

            gdb.command("set profile debuginfod on")
            gdb.send("profile report")
            if not asked.wait(60):
                self.assertIn("built without libdebuginfod", gdb.expect_prompt())
                self.skipTest("Tally was built without libdebuginfod")
            gdb.interrupt()
            self.assertIn("Quit", gdb.expect_prompt())
            # The next command does not ask again.
            self.assertNotIn("seventy", gdb.command("profile report"))
            self.assertEqual(len(server.asked), 1)

            hangs = False
            gdb.command("set profile debuginfod off")
            gdb.command("profile report")
            gdb.command("set profile debuginfod on")
            report = parse_report(gdb.command("profile report"))
            assert_seventy(self, report, 0.25)
            gdb.command("echo")
            self.assertEqual(self.state_of(gdb.process.pid), before)
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)
            self.assertNotRegex(gdb.transcript, "Traceback|Python Exception|internal-error|Aborted")


class BackgroundTest(GdbCase):
    def test_a_program_in_the_background(self) -> None:
        """Begins sampling, displays it and ends it while the program runs."""
        with GdbTerminal(program("spin7030"), ["600"]) as gdb:
            gdb.command("break main")
            gdb.command("run")
            gdb.command("delete")
            gdb.command("continue &")
            self.assertRegex(
                gdb.command("profile start --frequency 4000"), r"^Sampling process \d+"
            )
            pid = wait_for_name(gdb.process.pid, "spin7030")
            wait_for_cpu(pid, 0.1)
            first = status(gdb)
            wait_for_cpu(pid, 0.2)
            second = status(gdb)
            self.assertEqual(second["state"], "sampling")
            self.assertGreater(second.count("samples"), first.count("samples") + 20)
            self.assertGreaterEqual(second.number("running") - first.number("running"), 0.15)
            report = parse_report(gdb.command("profile report"))
            assert_seventy(self, report, 0.2)
            gdb.send("interrupt")
            gdb.expect("SIGINT, Interrupt")  # printed after a prompt
            gdb.command("echo")
            third = status(gdb)
            time.sleep(0.5)
            self.assertEqual(status(gdb).count("samples"), third.count("samples"))
            self.assertEqual(status(gdb)["running"], third["running"])
            self.assertEqual(third["parts"], "1")
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)

    def test_quit_while_it_runs_in_the_background(self) -> None:
        with GdbTerminal(program("spin7030"), ["600"]) as gdb:
            gdb.command("profile start")
            gdb.send("run &")
            gdb.expect("Starting program: ")  # a prompt may come before lines about threads
            time.sleep(0.2)
            gdb.send("quit")
            self.assertEqual(gdb.wait(), 0, gdb.transcript)


class KeysTest(GdbCase):
    def test_tab(self) -> None:
        with GdbTerminal(program("spin7030")) as gdb:
            for typed, line in (
                ("profile sta\tr\t", "profile start"),
                ("profile start --fr\t", "profile start --frequency"),
                ("profile start --stacks n\t", "profile start --stacks none"),
                ("profile report --by th\t", "profile report --by thread"),
            ):
                with self.subTest(typed):
                    gdb.send_keys(typed)
                    # The first TAB may ring, because the word is still ambiguous.
                    gdb.expect("\a?".join(map(re.escape, line)))
                    gdb.interrupt()
                    gdb.expect_prompt()

    def test_an_empty_line_repeats_nothing(self) -> None:
        with GdbTerminal(program("spin7030")) as gdb:
            self.assertIn("state idle", gdb.command("profile status"))
            self.assertEqual(gdb.command(""), "")

    def test_pages(self) -> None:
        """GDB pauses a long table at each page, and `q` skips the rest of it."""
        with GdbTerminal(program("many_functions"), ["0.25"], pagination=True, rows=24) as gdb:
            gdb.command("set height 20")
            gdb.command("profile start --frequency 4000")
            gdb.command("run")
            for key, shown in (("q", 20), ("c", 200)):
                gdb.send("profile report --limit 0")
                gdb.expect("--Type <RET>")
                gdb.send(key)
                gdb.expect(r"\n\(gdb\) $")
                self.assertGreaterEqual(len(re.findall(r"many_\d{4} ", gdb.transcript)), shown - 6)
            # Quitting a page lost nothing.
            self.assertGreater(status(gdb).count("samples"), 100)
            gdb.command("set height 0")
            self.assertGreater(len(parse_report(gdb.command("profile report --limit 0")).rows), 200)


if __name__ == "__main__":
    run_unittests()
