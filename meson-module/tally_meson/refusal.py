# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""One line for the user, and how it ends."""

from __future__ import annotations

import contextlib
import sys
import typing as T

BUILD_FAILED = 125  # what `git bisect run` skips, as Meson has it
NO_DATA = 4
REFUSED = 2


class Refusal(Exception):
    def __init__(self, text: str, status: int = REFUSED) -> None:
        super().__init__(text)
        self.status = status


@contextlib.contextmanager
def refused_by_system() -> T.Iterator[None]:
    """A full disk, a missing permission: one line, too."""
    try:
        yield
    except OSError as error:
        place = f'{error.filename}: ' if error.filename else ''
        raise Refusal(f'{place}{error.strerror or error}', 1) from None


def say(text: str) -> None:
    sys.stdout.flush()
    print(f'tally: {text}', file=sys.stderr, flush=True)
