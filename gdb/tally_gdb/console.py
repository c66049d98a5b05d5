"""Text that GDB can print, and the exceptions that GDB raises."""

import gdb

# The exceptions that GDB's functions may raise; UnicodeError is for a path that is not UTF-8.
FAULTS = (gdb.error, RuntimeError, UnicodeError)


# What stands for the library's own characters where they cannot be printed: the parts of a bar
# that is drawn with block elements, and the ellipsis.
_PLAIN = {code: "#" for code in range(0x2588, 0x258C)}
_PLAIN.update({code: "-" for code in range(0x258C, 0x2590)})
_PLAIN[ord("…")] = "..."


def printable(text: str) -> str:
    """Returns `text`, in which characters that GDB's host character set lacks are replaced. GDB
    raises an exception for such characters, and its character set is ASCII if no locale is set."""
    charset = gdb.host_charset() if hasattr(gdb, "host_charset") else "ascii"
    try:
        text.encode(charset)
    except UnicodeError:
        return text.translate(_PLAIN).encode(charset, "backslashreplace").decode(charset)
    except LookupError:  # Python does not know this character set
        return text.translate(_PLAIN).encode("ascii", "backslashreplace").decode("ascii")
    return text
