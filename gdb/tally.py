"""Tally in GDB: `source` this file, then type `help profile`."""

import os
import sys

# If one script sources another, `__file__` is that of the outermost script.
_here = os.path.dirname(os.path.abspath(sys._getframe().f_code.co_filename))
if _here not in sys.path:
    sys.path.insert(0, _here)

import tally_gdb  # noqa: E402  (the path is set up above)

tally_gdb.load(_here)
