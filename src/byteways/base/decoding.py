"""Converts JSON data to typed values with msgspec: types are checked, unknown fields of newer versions
ignored. Encodes many values in a sixth of the time of the standard library.

For conductor and readers only: workers do not import this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from byteways.base.json_text import json_line

T = TypeVar("T")


def converted(data: Any, kind: type[T]) -> T:
    """Converts JSON data to a value of this type.

    Raises:
        ValueError: A field is missing or has the wrong type; the text says where.
    """
    try:
        return msgspec.convert(data, kind)
    except RecursionError as error:
        raise ValueError(f"it is nested too deeply: {error}") from error


def decoded(text: bytes | bytearray, kind: Any = Any) -> Any:
    """Parses a JSON text to a value of this type.

    Raises:
        ValueError: The text is not JSON, or a field is missing or has the wrong type.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except RecursionError as error:
        raise ValueError(f"it is nested too deeply: {error}") from error


def encoded_lines(items: Iterable[Mapping[str, Any]]) -> bytes:
    """Returns lines of a JSON Lines file, whose numbers are finite: msgspec encodes NaN as null."""
    objects = list(items)
    try:
        return _ENCODER.encode_lines(objects)
    except UnicodeEncodeError:  # half of a surrogate pair, in a document of JSON
        return b"".join(map(json_line, objects))


_ENCODER = msgspec.json.Encoder()
