"""The GDB front end. It forwards commands and debugger events to the session in libtally.

Scripts can use it after `source …/tally.py`:

    import tally_gdb
    profile = tally_gdb.profile()
    coverage = tally_gdb.coverage()
"""

from .session import TallyError

__all__ = ["TallyError", "coverage", "profile"]

_front = None
_folder = ""
_profile = None
_coverage = None


def load(folder: str) -> None:
    """Registers the commands and settings. A second call does nothing."""
    global _front, _folder
    import gdb

    if _front is not None:
        if folder != _folder:
            gdb.write(f"Tally is already loaded, from {_folder}.\n")
        return
    _folder = folder

    from . import _abi, commands, session, settings
    from .front import Front

    try:
        library = _abi.load(folder)
    except _abi.LibraryError as error:
        # GDB would print a traceback if this were raised.
        gdb.write(f"Tally is not loaded: {error}\n", gdb.STDERR)
        return
    if hasattr(gdb, "host_charset"):  # GDB 12
        session.charset = gdb.host_charset
    ours = session.Session(library)
    front = Front(ours, settings.register(ours))
    commands.register(front)
    if hasattr(gdb, "MICommand"):  # GDB 12
        from . import mi

        mi.register(front)
    front.connect()
    _front = front


def profile():
    """Returns the only Profile of this GDB. Raises TallyError if Tally is not loaded."""
    global _profile
    if _front is None:
        raise TallyError("Tally is not loaded: `source` its tally.py first")
    if _profile is None:
        from .script import Profile

        _profile = Profile(_front.runner())
    return _profile


def coverage():
    """Returns the only Coverage of this GDB. Raises TallyError if Tally is not loaded."""
    global _coverage
    if _front is None:
        raise TallyError("Tally is not loaded: `source` its tally.py first")
    if _coverage is None:
        from .script_coverage import Coverage

        _coverage = Coverage(_front.runner())
    return _coverage
