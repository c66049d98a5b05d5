# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""One-line messages for the user, and the exit statuses that go with them."""

from __future__ import annotations

import contextlib
import sys
import typing as T

BUILD_FAILED = 125  # `git bisect run` skips this status; Meson uses it for the same purpose
NO_DATA = 4
REFUSED = 2


class Refusal(Exception):
    def __init__(self, text: str, status: int = REFUSED) -> None:
        super().__init__(text)
        self.status = status


@contextlib.contextmanager
def refused_by_system() -> T.Iterator[None]:
    """Converts an OSError, such as a full disk or a missing permission, to a Refusal with status
    1."""
    try:
        yield
    except OSError as error:
        prefix = f"{error.filename}: " if error.filename else ""
        raise Refusal(f"{prefix}{error.strerror or error}", 1) from None


def say(text: str) -> None:
    sys.stdout.flush()
    print(f"tally: {text}", file=sys.stderr, flush=True)
