#!/usr/bin/env python3
"""Measures GDB's coverage commands on a program with very many counters, locally and by gdbserver.

  live_bench.py [--program FOLDER] [--megabytes N] [--rounds N]

TALLY_LIBRARY and TALLY_GDB name the library and the plug-in to load. The program is made in FOLDER,
and used again if it is there: 80 objects with functions of about 80 counters each, compiled with
--coverage -O0. Each number of megabytes needs a FOLDER of its own. Between two stops, three functions
of two objects run. Printed are the least, median and greatest time of `coverage mark`, of `coverage
report --by function --since mark` and of both, in milliseconds, beside GDB's own time to read the
same number of bytes.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(__file__), *up) for up in (("..",), ("..", ".."))]
from spread import spread
from support.gdb_driver import run_gdb

UNITS = 80
BRANCHES = 80  # of a function; each has a counter

# Runs inside GDB. Each round continues to the next stop first.
MEASURE = r"""
import gdb, json, time
def timed(command):
    began = time.perf_counter()
    gdb.execute(command, to_string=True)
    return 1e3 * (time.perf_counter() - began)
out = {"mark": [], "report": [], "both": [], "read": []}
gdb.execute("coverage config auto-mark off", to_string=True)
timed("coverage mark"), timed("coverage report --by function --since mark")  # reads all notes
low = int(gdb.parse_and_eval("(unsigned long)&plain_memory"))
for _ in range(ROUNDS):
    mark = timed("coverage mark")
    gdb.execute("continue", to_string=True)
    report = timed("coverage report --by function --since mark")
    began = time.perf_counter()
    gdb.selected_inferior().read_memory(low, BYTES)
    out["read"].append(1e3 * (time.perf_counter() - began))
    out["mark"].append(mark)
    out["report"].append(report)
    out["both"].append(mark + report)
text = gdb.execute("coverage report --by function --since mark", to_string=True)
print("RESULT " + json.dumps([out, text]))
"""


def write_program(folder, megabytes):
    """Writes the sources of the program, and builds it."""
    functions = max(1, int(megabytes * 1e6 / 8 / (BRANCHES + 1) / UNITS))
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for unit in range(UNITS):
        lines = []
        for number in range(functions):
            lines.append(f"int f{unit}_{number}(int n) {{")
            lines.append("  int sum = 0;")
            lines += [f"  if (n % {branch + 2} == 1)\n    sum += n;" for branch in range(BRANCHES)]
            lines.append("  return sum;\n}")
        (folder / f"u{unit}.c").write_text("\n".join(lines) + "\n", encoding="utf-8")
        objects.append(f"u{unit}.o")
    calls = " + ".join(f"f{unit}_0(round)" for unit in (3, 50))
    (folder / "main.c").write_text(
        f"char plain_memory[{int(megabytes * 1e6)}];\n"
        f"int f3_0(int), f3_1(int), f50_0(int);\nvolatile int sink;\nvoid here(int n) {{ sink = n; }}\n"
        f"int main(void) {{\n  for (int round = 0; round < 1000; ++round)\n"
        f"    here({calls} + f3_1(round));\n}}\n",
        encoding="utf-8",
    )
    rules = ["rule cc\n  command = gcc --coverage -O0 -g -c $in -o $out"]
    rules += [f"build {name}: cc {name[:-2]}.c" for name in objects]
    rules += [
        "rule plain\n  command = gcc -O0 -g -c $in -o $out",
        "build main.o: plain main.c",
        "rule link\n  command = gcc --coverage $in -o $out",
        f"build program: link {' '.join(objects)} main.o",
    ]
    (folder / "build.ninja").write_text("\n".join(rules) + "\n", encoding="utf-8")
    subprocess.run(["ninja", "-C", folder], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def gdbserver(program):
    """Runs gdbserver, and returns its port. GDB gets half of the speed through a pipe."""
    words = ["gdbserver", "--once", "localhost:0", program]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        try:
            text = ""
            while not (found := re.search(r"on port (\d+)", text)):
                line = server.stderr.readline()
                if not line:
                    raise SystemExit(text)
                text += line
            yield found[1]
        finally:
            server.kill()


def measure(folder, bytes_, rounds, remote):
    """Returns the times of a session of GDB, and the last report."""
    script = MEASURE.replace("ROUNDS", str(rounds)).replace("BYTES", str(bytes_))
    program = str(folder / "program")
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file, gdbserver(program) as port:
        file.write(script)
        file.flush()
        start = [f"target remote localhost:{port}", "continue"] if remote else ["run"]
        commands = ["set sysroot /", "set remotetimeout 30", "break here", *start]
        done = run_gdb([*commands, f"source {file.name}", "kill"], program, timeout_s=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        raise SystemExit(str(done))
    return json.loads(lines[0][len("RESULT ") :])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.program or pathlib.Path(temporary)
        if not os.path.exists(folder / "program"):
            write_program(folder, options.megabytes)
        for remote in (False, True):
            times, text = measure(folder, int(options.megabytes * 1e6), options.rounds, remote)
            print("gdbserver, ms" if remote else "local, ms")
            for name, label in (
                ("mark", "mark"),
                ("report", "report since the mark"),
                ("both", "both"),
                ("read", "GDB reads as much memory"),
            ):
                print(f"  {label:26} {spread(times[name], 1)}")
        print(text)


if __name__ == "__main__":
    main()
