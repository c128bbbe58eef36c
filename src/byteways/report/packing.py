"""Data compressed inside the page: gzip, written in characters that a script element can hold.

Base 85 takes 1.25 characters a byte, base 64 takes 1.33: 0.2 MB less in a page with charts. Much data is
written in base 64: Python needs 0.4 s for 6 MB in base 85, and next to nothing in base 64.
"""

from __future__ import annotations

import base64
import gzip
from typing import Any

import msgspec

#: Levels of gzip: from FAST_FROM_BYTES on, the fast one saves two thirds of the time and costs a
#: tenth in size.
USUAL_LEVEL, FAST_LEVEL, FAST_FROM_BYTES = 6, 2, 8_000_000
#: How base 64 of gzip begins; no base 85 of it does.
_BASE_64 = "H4sI"
#: Characters of the base-85 alphabet that mean something in HTML, and those that stand for them instead.
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
    if len(content) >= FAST_FROM_BYTES:
        return base64.b64encode(gzip.compress(content, FAST_LEVEL, mtime=0)).decode("ascii")
    squeezed = gzip.compress(content, USUAL_LEVEL, mtime=0)
    return base64.b85encode(squeezed).translate(_TO_PAGE).decode("ascii")


def unpacked_text(text: str) -> str:
    """Returns what `packed_text` was given."""
    if text.startswith(_BASE_64):
        return gzip.decompress(base64.b64decode(text)).decode()
    return gzip.decompress(base64.b85decode(text.encode("ascii").translate(_FROM_PAGE))).decode()
