"""Loads Tally's plug-in. GDB runs this file by itself when it starts."""

import os


def _load(plugin):
    # A package's configuration file may outlive the plug-in.
    if os.path.exists(plugin):
        with open(plugin, "rb") as file:
            exec(compile(file.read(), plugin, "exec"), {"__file__": plugin, "__name__": "tally"})


_load("/usr/share/tally/gdb/tally.py")
