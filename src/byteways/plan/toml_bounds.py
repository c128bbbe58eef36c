"""What a TOML text may hold at most, looked at before it is parsed: parsers need memory and time beyond all
bounds for some short texts.

A dotted key of 100 KB takes 5 GB, brackets in brackets end the parser's recursion, and a number of 5,000
digits is none that Python converts.
"""

from __future__ import annotations

import re

#: Parts of a dotted key. The deepest of a suite, model or study has four.
MOST_PARTS = 16
#: Brackets in brackets. The deepest have three.
MOST_DEPTH = 32
#: Digits of a number: more than any 64-bit integer or double has.
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
    """Line number and what there is too much of; None: nothing."""
    # What stands in quotes is a word of a key, or no matter; line ends stay, to be counted.
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
