"""Encodes data as JSON that every reader accepts: the only encoder of what byteways writes and prints."""

from __future__ import annotations

import json
from typing import Any

from byteways.text import escaped_data


def json_text(data: object, *, indent: int | None = None) -> str:
    """Returns the JSON text, in ASCII; without an indent as short as possible.

    Raises:
        ValueError: A number is NaN or infinite, which JSON cannot represent.
    """
    form: dict[str, Any] = {"indent": indent} if indent else {"separators": (",", ":")}
    text = json.dumps(data, allow_nan=False, **form)
    # Surrogates, in pairs or alone, are rare: only then is it worth looking at every text.
    if "\\ud" in text:
        text = json.dumps(escaped_data(data), allow_nan=False, **form)
    return text


def json_line(data: object) -> bytes:
    """Returns a line of a JSON Lines file. Raises ValueError like json_text()."""
    return json_text(data).encode() + b"\n"
