"""The GDB front end. It forwards commands and debugger events to the session in libtally.

Scripts can use it after `source …/tally.py`:

    import tally_gdb
    profile = tally_gdb.profile()
"""

from .session import TallyError

__all__ = ["TallyError", "profile"]

_loaded = None


def load(folder: str) -> None:
    """Registers the commands, settings and event handlers. A second call does nothing."""
    global _loaded
    if _loaded is not None:
        return
    import gdb

    from . import _abi, commands, inferior, settings
    from .script import Profile
    from .runner import Runner
    from .session import Session
    from .variables import Variables

    try:
        library = _abi.load(folder)
    except _abi.LibraryError as error:
        # GDB would print a traceback if this were raised.
        gdb.write(f"Tally is not loaded: {error}\n", gdb.STDERR)
        return
    session = Session(library)
    watcher = inferior.Watcher(session)
    variables = Variables(session)
    runner = Runner(session, watcher, settings.register(session), variables)
    commands.register(runner)
    if hasattr(gdb, "MICommand"):  # GDB 12
        from . import mi

        mi.register(runner)
    watcher.connect()
    variables.connect()  # after the watcher, whose handlers update the session
    _loaded = Profile(runner)


def profile():
    """Returns the only Profile of this GDB. Raises TallyError if Tally is not loaded."""
    if _loaded is None:
        raise TallyError("Tally is not loaded: `source` its tally.py first")
    return _loaded
