"""The GDB front: it forwards what is typed and what happens to the session in libtally.

For scripts of your own, after `source …/tally.py`:

    import tally_gdb
    profile = tally_gdb.profile()
"""

from .session import TallyError

__all__ = ["TallyError", "profile"]

_loaded = None


def load(folder: str) -> None:
    """Registers the commands, settings and event handlers; a second call does nothing."""
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
        # Not raised: GDB would print a traceback for it.
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
    variables.connect()  # behind what tells the session of a stop
    _loaded = Profile(runner)


def profile():
    """The one Profile of this GDB."""
    if _loaded is None:
        raise TallyError("Tally is not loaded: `source` its tally.py first")
    return _loaded
