"""Makes text from foreign files safe to display: replaces characters that control a terminal or reorder a
line.

Run folders, machine models, suites and studies are exchanged. An escape sequence in them must not set a
window title, answer for the user, or hide a line; a bidirectional override must not reverse a number.
"""

from __future__ import annotations

import re

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
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible_data(key): visible_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible_data(item) for item in value]
    return value
