"""Text as GDB can show it, and what it raises."""

import gdb

# What GDB may raise. UnicodeError: a path that is not UTF-8.
FAULTS = (gdb.error, RuntimeError, UnicodeError)


def printable(text: str) -> str:
    """GDB raises for what its character set does not hold: ASCII, where no locale is set."""
    charset = gdb.host_charset() if hasattr(gdb, "host_charset") else "ascii"
    try:
        text.encode(charset)
    except UnicodeError:
        return text.replace("…", "...").encode(charset, "backslashreplace").decode(charset)
    except LookupError:  # one that Python does not know
        return text.replace("…", "...").encode("ascii", "backslashreplace").decode("ascii")
    return text
