"""Hints for mistyped words: the closest valid word, and the list."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(word: str, valid: Iterable[str]) -> str:
    """Returns a hint such as "did you mean 'kernel'? valid: chase, copy, kernel"."""
    words = list(valid)
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    meant = f"did you mean '{near[0]}'? " if near else ""
    return f"{meant}valid: {', '.join(words)}"
