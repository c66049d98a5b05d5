"""Tally in GDB: `source` this file, then type `help profile`."""

import os
import sys

# `__file__` is that of the outermost script where one script sources another.
_here = os.path.dirname(os.path.abspath(sys._getframe().f_code.co_filename))
if _here not in sys.path:
    sys.path.insert(0, _here)

import tally_gdb  # noqa: E402  (its folder had to be found first)

tally_gdb.load(_here)
