"""Tally in GDB: `source` this file, then type `help profile`."""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
if _here not in sys.path:
    sys.path.insert(0, _here)

import tally_gdb  # noqa: E402  (its folder had to be found first)

tally_gdb.load(_here)
