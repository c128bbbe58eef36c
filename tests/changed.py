"""Records and dataclasses with other values in some fields."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import msgspec

Value = TypeVar("Value")


def replace(value: Value, /, **changes: Any) -> Value:
    """Like dataclasses.replace(), also of a record."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    changed: Value = dataclasses.replace(value, **changes)  # type: ignore[type-var]
    return changed
