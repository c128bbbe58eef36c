"""Joins the files of a long study: `parts = ["ranks"]` adds study-ranks.toml, and suite and claims alike.

A part has tables and lists that are appended to those of the main file, never a value that replaces one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from byteways.studies.shapes import LIST_OF_TABLES, NAMED_TABLES, TEXTS, Keys

#: Files of a study that may have parts.
STEMS = ("study", "suite", "claims")
#: Valid names of parts: they become parts of file names.
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PART = Keys(
    {},
    {
        "places": NAMED_TABLES,
        "lines": NAMED_TABLES,
        "figures": LIST_OF_TABLES,
        "defects": TEXTS,
        "differences": TEXTS,
    },
)


def names_of(data: Mapping[str, Any]) -> list[str]:
    """Returns the names of a study's parts. Raises ValueError if one cannot be part of a file name."""
    found = list(data.get("parts", ()))
    for name in found:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"parts has '{name}': expected lower-case letters, digits and hyphens")
    if len(set(found)) < len(found):
        raise ValueError("parts has a name twice")
    return found


def file_of(stem: str, part: str) -> str:
    """Returns the file name of a part: `study-ranks.toml`."""
    return f"{stem}-{part}.toml"


def joined(data: Mapping[str, Any], parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the tables of study.toml with those of its parts appended.

    Args:
        data: Of study.toml.
        parts: Of each part, by its file's name.

    Raises:
        ValueError: A part has an unknown key, or defines a name again.
    """
    whole = dict(data)
    for file, part in parts.items():
        _PART.check(file, part)
        for key, value in part.items():
            known = whole.get(key, type(value)())
            if isinstance(value, Mapping):
                if again := [name for name in value if name in known]:
                    raise ValueError(f"{file} has {key} '{again[0]}', which is defined already")
                whole[key] = {**known, **value}
            else:
                whole[key] = [*known, *value]
    return whole


def joined_claims(data: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns claims.toml with the claims of its parts appended; other keys stay for the reader to reject."""
    claims = [claim for one in (data, *parts) for claim in one.get("claim", [])]
    others = {key: value for one in (data, *parts) for key, value in one.items() if key != "claim"}
    return {**others, "claim": claims}


def joined_text(texts: Mapping[str, str], said: Callable[[str], str]) -> tuple[str, str]:
    """Returns the text of suite.toml with those of its parts below it, and the name for messages.

    The run's manifest has the suite as one text, so that lines count through all files.
    """
    return "\n".join(texts.values()), " + ".join(said(name) for name in texts)
