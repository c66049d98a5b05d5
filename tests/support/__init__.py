"""Helpers that the Python tests share: debugger drivers and readers of tables and files."""
import ctypes
import os
import signal

_M_PERTURB = -6  # of malloc.h

# Meson makes malloc() overwrite memory (MALLOC_PERTURB_), which the programs that a test runs
# inherit. In the test itself it only costs time: 64 MiB are overwritten for each file that lzma
# unpacks.
if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
    mallopt(_M_PERTURB, 0)

# ccache, where it stands in for the compilers, records other directories in notes of coverage
# (.gcno) than they do.
os.environ["CCACHE_DISABLE"] = "1"

# Under nohup, a test starts with SIGHUP ignored, and so would the programs that it tests.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
