"""Text as GDB can show it."""

import gdb


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
