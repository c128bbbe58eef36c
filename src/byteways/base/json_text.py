"""Encodes data as JSON that every reader accepts: the only encoder of what byteways writes and prints."""

from __future__ import annotations

import json

from byteways.base.text import escaped_data

_SHORTEST = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def json_text(data: object, *, indent: int | None = None) -> str:
    """Returns the JSON text, in ASCII; without an indent as short as possible.

    Raises:
        ValueError: A number is NaN or infinite, which JSON cannot represent.
    """
    encoder = json.JSONEncoder(allow_nan=False, indent=indent) if indent else _SHORTEST
    text = encoder.encode(data)
    # Surrogates, in pairs or alone, are rare: only then is it worth looking at every text.
    if "\\ud" in text:
        text = encoder.encode(escaped_data(data))
    return text


def json_line(data: object) -> bytes:
    """Returns a line of a JSON Lines file. Raises ValueError like json_text()."""
    return json_text(data).encode() + b"\n"
