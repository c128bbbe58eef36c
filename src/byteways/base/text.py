"""Makes foreign text safe: visible() to display it, escaped() to write it into a file.

visible() replaces characters that control a terminal or reorder a line.

Run folders, machine models, suites and studies are exchanged. An escape sequence in them must not set a
window title, answer for the user, or hide a line; a bidirectional override must not reverse a number.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import TypeAlias

#: The type of what byteways words for people. No code looks into it: programs have codes and fields beside it
#: (tests/unit/house/test_own_words.py).
Sentence: TypeAlias = str

#: C0 controls except line feed and tab, DEL and C1 controls (ECMA-48); marks, embeddings, overrides and
#: isolates of bidirectional text (UAX #9); line and paragraph separators; surrogates, which UTF-8 cannot
#: represent.
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
#: One character wide, to keep columns aligned.
_SHOWN = "\N{REPLACEMENT CHARACTER}"


def visible(text: str) -> str:
    """Returns the text with such characters replaced."""
    return _COMMANDS.sub(_SHOWN, text)


def visible_data(value: object) -> object:
    """Applies visible() to keys and texts of JSON data at any depth."""
    return _mapped(visible, value)


def _mapped(change: Callable[[str], str], value: object) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_mapped(change, key): _mapped(change, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(change, item) for item in value]
    return value


#: Name of the handler of encoding errors, for files: see escaped().
ESCAPED = "byteways-escaped"

_ESCAPE = re.compile(r"\\x([89a-f][0-9a-f])")


def escaped(text: str) -> str:
    """Returns the text with what UTF-8 cannot represent escaped.

    Command lines, variables and paths are bytes on Linux. Python represents a byte that is not UTF-8 as a
    lone surrogate (PEP 383), which no reader of JSON accepts. Such a byte becomes a backslash, `x` and two
    hexadecimal digits; restored() is the inverse.
    """
    return text.encode("utf-8", ESCAPED).decode("utf-8")


def escaped_data(value: object) -> object:
    """Applies escaped() to keys and texts of JSON data at any depth."""
    return _mapped(escaped, value)


def restored(text: str) -> str:
    """Returns the text of a path that escaped() may have changed, to open it again."""
    return _ESCAPE.sub(lambda found: chr(0xDC00 + int(found[1], 16)), text)


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    codes = (ord(letter) for letter in found)
    return "".join(
        f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}" for code in codes
    ), error.end


codecs.register_error(ESCAPED, _escape)
