"""Assertions on samples, which chance or a machine that is busy elsewhere may break once."""
from __future__ import annotations

from typing import Callable


def with_one_retry(measure: Callable[[], None]) -> None:
    try:
        measure()
        return
    except AssertionError as error:
        print(f"measured again: {str(error).splitlines()[0]}", flush=True)
    measure()
