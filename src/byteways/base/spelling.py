"""Hints for mistyped words: the closest valid word, and the list."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(word: str, valid: Iterable[str]) -> str:
    """Returns a hint such as "did you mean 'kernel'? valid: chase, copy, kernel"."""
    words = list(valid)
    folded = {known.casefold(): known for known in words}
    asked = word.casefold()
    near = difflib.get_close_matches(asked, folded, n=1, cutoff=0.8)
    near = near or [known for known in folded if len(asked) > 2 and asked in known]
    near = near or difflib.get_close_matches(asked, folded, n=1, cutoff=0.6)
    meant = f"did you mean '{folded[near[0]]}'? " if near else ""
    return f"{meant}valid: {', '.join(words)}"
