"""The GDB front: it forwards what is typed and what happens to the session in libtally."""

_loaded = None


def load(folder: str) -> None:
    """Registers the commands, settings and event handlers; a second call does nothing."""
    global _loaded
    if _loaded is not None:
        return
    import gdb

    from . import _abi, commands, inferior, settings
    from .session import Session

    try:
        library = _abi.load(folder)
    except _abi.LibraryError as error:
        # Not raised: GDB would print a traceback for it.
        gdb.write(f"Tally is not loaded: {error}\n", gdb.STDERR)
        return
    session = Session(library)
    watcher = inferior.Watcher(session)
    parameters = settings.register(session)
    commands.register(session, watcher, parameters)
    watcher.connect()
    _loaded = session
