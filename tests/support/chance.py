"""Retries assertions on samples, which can fail once by chance or because the machine is busy."""
from __future__ import annotations

from typing import Callable


def with_one_retry(measure: Callable[[], None]) -> None:
    try:
        measure()
        return
    except AssertionError as error:
        print(f"measured again: {str(error).splitlines()[0]}", flush=True)
    measure()
