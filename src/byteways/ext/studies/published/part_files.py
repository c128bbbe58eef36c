"""The files of a long study: `parts = ["ranks"]` adds study-ranks.toml, and suite and claims alike.

A part has tables and lists that are appended to those of the main file, never a value that replaces one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from byteways.base.toml_reading import TomlPlace

#: Files of a study that may have parts.
STEMS = ("study", "suite", "claims")
#: Valid names of parts: they become parts of file names.
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check_names(place: TomlPlace, names: Sequence[str]) -> None:
    """Raises BytewaysError if a part's name cannot be part of a file name."""
    for name in names:
        if not _NAME.fullmatch(name):
            place.fail("parts", f"'{name}' is not a valid name", "use lower-case letters, digits and hyphens")
    if len(set(names)) < len(names):
        place.fail("parts", "it has a name twice")


def file_of(stem: str, part: str) -> str:
    """Returns the file name of a part: `study-ranks.toml`."""
    return f"{stem}-{part}.toml"


def joined_text(texts: Mapping[str, str], said: Callable[[str], str]) -> tuple[str, str]:
    """Returns the text of suite.toml with those of its parts below it, and the name for messages.

    The run's manifest has the suite as one text, so that lines count through all files.
    """
    return "\n".join(texts.values()), " + ".join(said(name) for name in texts)
