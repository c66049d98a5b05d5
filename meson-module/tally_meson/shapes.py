# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Checks values that were read from JSON.

A shape is a type or a tuple of types; [shape] for a list of such values; Values(shape) for an object
whose members are all such values; or a dict for an object with at least these members, of which
Optional(shape) may be missing."""

from __future__ import annotations

import typing as T


class Optional(T.NamedTuple):
    shape: T.Any


class Values(T.NamedTuple):
    shape: T.Any


def misfit(value: T.Any, shape: T.Any, place: str = "") -> str:
    """Returns why a value does not have a shape, or ''."""
    shown = place or "the content"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{shown} is not a list"
        parts = ((each, shape[0], f"{place}[{i}]") for i, each in enumerate(value))
    elif isinstance(shape, (dict, Values)):
        if not isinstance(value, dict):
            return f"{shown} is not an object"
        of = {key: shape.shape for key in value} if isinstance(shape, Values) else shape
        for key, each in of.items():
            if key not in value and not isinstance(each, Optional):
                return f"{shown} has no '{key}'"
        parts = (
            (value[key], each.shape if isinstance(each, Optional) else each, f"{place}['{key}']")
            for key, each in of.items()
            if key in value
        )
    else:
        return "" if isinstance(value, shape) else f"{shown} has another type"
    return next(filter(None, (misfit(*each) for each in parts)), "")
