"""Text from files that somebody else wrote, before it is shown: characters that command a terminal, or that
make a line read otherwise than it is written, become visible.

Run folders, machine models, suites and studies are exchanged. An escape sequence in one of them must not
set a window's title, answer for the user, or hide a line; a bidirectional override must not turn a figure
around.
"""

from __future__ import annotations

import re

#: C0 controls but for line feed and tab, DEL and C1 controls (ECMA-48); marks, embeddings, overrides and
#: isolates of bidirectional text (UAX #9); line and paragraph separators; surrogates, which no UTF-8 holds.
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
#: As wide as one character, so that columns stay where they are.
_SHOWN = "\N{REPLACEMENT CHARACTER}"


def visible(text: str) -> str:
    """The text with every such character replaced; what is left changes no terminal and no reading order."""
    return _COMMANDS.sub(_SHOWN, text)


def visible_data(value: object) -> object:
    """The same of JSON data, whose shape stays: keys and texts at any depth."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible_data(key): visible_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible_data(item) for item in value]
    return value
