"""Data compressed inside the page: gzip, written in characters that a script element can hold."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import msgspec

#: Levels of gzip: from LARGE_BYTES on, the fast one saves half of the time and costs a tenth in size.
USUAL_LEVEL, FAST_LEVEL, LARGE_BYTES = 6, 4, 8_000_000
#: Characters of the base-85 alphabet that mean something in HTML, and those that stand for them instead.
#: Base 85 takes 1.25 characters a byte, base 64 takes 1.33: 0.2 MB less in a page with charts.
_UNSAFE, _SAFE = b"<>&`", b",[.]"
_TO_PAGE = bytes.maketrans(_UNSAFE, _SAFE)
_FROM_PAGE = bytes.maketrans(_SAFE, _UNSAFE)


def packed(value: Any) -> str:
    """Returns JSON, compressed: what is needed later must not slow down the first view."""
    return _packed(msgspec.json.encode(value))


def packed_text(text: str) -> str:
    """Returns text, compressed; `text` of assets/page.js is the inverse in the page."""
    return _packed(text.encode())


def _packed(content: bytes) -> str:
    squeezed = gzip.compress(content, USUAL_LEVEL if len(content) < LARGE_BYTES else FAST_LEVEL, mtime=0)
    return base64.b85encode(squeezed).translate(_TO_PAGE).decode("ascii")


def unpacked_text(text: str) -> str:
    """Returns what `packed_text` was given."""
    return gzip.decompress(base64.b85decode(text.encode("ascii").translate(_FROM_PAGE))).decode()
