"""TOML files named on the command line: built-in ones by name, others by path."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from byteways.base import toml_bounds
from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_TOML_BYTES, read_text
from byteways.base.spelling import closest
from byteways.base.system_errors import not_read
from byteways.cases.misplaced_words import advice

#: Python 3.10 has no TOML parser; tomli has the same interface.
tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

#: The location in tomllib's messages.
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)$")


def shipped(package: str) -> dict[str, str]:
    """Returns the TOML texts of the files in a package, by name without suffix, sorted."""
    texts = {
        entry.name[: -len(".toml")]: entry.read_text(encoding="utf-8")
        for entry in resources.files(package).iterdir()
        if entry.name.endswith(".toml")
    }
    return dict(sorted(texts.items()))


def find(name_or_path: str, known: Mapping[str, str], kind: str, plural: str) -> tuple[str, str]:
    """Returns the text, and the file name for messages, of what the user named.

    Args:
        name_or_path: The user's argument.
        known: Texts of shipped() by name.
        kind: Term for such a file: `suite`.
        plural: Argument of `byteways list`.

    Raises:
        BytewaysError: The name or file does not exist, or the file cannot be read.
    """
    if name_or_path in known:
        return known[name_or_path], f"{name_or_path}.toml"
    path = Path(name_or_path)
    if path.suffix != ".toml" and "/" not in name_or_path and not path.is_file():
        hinted = advice if kind == "suite" else closest
        raise BytewaysError(f"unknown {kind} '{name_or_path}'", hint=hinted(name_or_path, known))
    try:
        return read_text(path, MOST_TOML_BYTES), name_or_path
    except (OSError, UnicodeDecodeError) as error:
        hint = f"byteways list {plural} shows the {plural} that come with byteways"
        raise not_read(f"cannot read the {kind} file '{name_or_path}'", error, hint) from error


def read_toml(text: str, *, file: str) -> dict[str, Any]:
    """Parses a TOML text. Raises BytewaysError with file and line if it is invalid or exceeds limits."""
    if found := toml_bounds.excess(text):
        line, what = found
        raise BytewaysError(f"{file}:{line} is too complex", cause=f"it has {what}")
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at else text.count("\n", 0, len(text.rstrip())) + 1  # "(at end of document)"
        place = f"{file}:{line}"
        raise BytewaysError(
            f"{place} is not valid TOML", cause=str(error), hint="see https://toml.io"
        ) from error
    except (ValueError, RecursionError) as error:  # a date or number that Python cannot represent
        raise BytewaysError(
            f"{file} is not valid TOML", cause=str(error), hint="see https://toml.io"
        ) from error
    return data
