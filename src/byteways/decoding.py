"""JSON data to typed values, by msgspec: types are checked, fields that this version does not know are read
over.

Conductor and readers only: a worker imports none of this.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def converted(data: Any, kind: type[T]) -> T:
    """JSON data as a value of this type.

    Raises:
        ValueError: A field is missing or of another type; the text says where.
    """
    try:
        return msgspec.convert(data, kind)
    except RecursionError as error:
        raise ValueError(f"it is nested too deeply: {error}") from error


def decoded(text: bytes, kind: Any = Any) -> Any:
    """A JSON text as a value of this type.

    Raises:
        ValueError: It is no JSON, or a field is missing or of another type.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except RecursionError as error:
        raise ValueError(f"it is nested too deeply: {error}") from error
