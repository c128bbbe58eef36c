"""Limits on a TOML text, checked before parsing: some short texts need excessive memory or time.

A dotted key of 100 KB takes 5 GB, deeply nested brackets exceed the parser's recursion limit, and Python
refuses to convert a number of 5,000 digits.
"""

from __future__ import annotations

import re

#: Maximum parts of a dotted key. Suites, models and studies need up to four.
MOST_PARTS = 16
#: Maximum nesting of brackets. The deepest need three.
MOST_DEPTH = 32
#: Maximum digits of a number: more than any 64-bit integer or double has.
MOST_DIGITS = 40

_TEXT = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'  # several lines
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*",
    re.DOTALL,
)
_PARTS = re.compile(r"[\w-]+(?:[ \t]*\.[ \t]*[\w-]+)*")
_DIGITS = re.compile(rf"(?<![\w-])(?:0[xob][0-9A-Fa-f_]{{{MOST_DIGITS},}}|[0-9][0-9_]{{{MOST_DIGITS},}})")
_BRACKET = re.compile(r"[\[\]{}]")


def excess(text: str) -> tuple[int, str] | None:
    """Returns the line number and what exceeds its limit; None if nothing does."""
    # Replace quoted texts by a word (they may be part of a key); keep line ends for counting.
    bare = _TEXT.sub(lambda found: "q" + "\n" * found[0].count("\n"), text)
    depth = 0
    for found in _BRACKET.finditer(bare):
        depth += 1 if found[0] in "[{" else -1
        if depth > MOST_DEPTH:
            return _line(bare, found.start()), f"brackets nested more than {MOST_DEPTH} deep"
        depth = max(depth, 0)
    for found in _PARTS.finditer(bare):
        if found[0].count(".") >= MOST_PARTS:
            return _line(bare, found.start()), f"a key of more than {MOST_PARTS} parts"
    if digits := _DIGITS.search(bare):
        return _line(bare, digits.start()), f"a number of more than {MOST_DIGITS} digits"
    return None


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
