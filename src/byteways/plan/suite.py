"""Suites: TOML files of sweeps, loaded by name or path."""

from __future__ import annotations

import importlib
import re
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from byteways.errors import BytewaysError
from byteways.plan.suite_check import read_suite
from byteways.plan.suite_types import Suite

#: Python 3.10 has no TOML parser of its own; tomli is the same one.
tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

#: Where tomllib's messages say what they are about.
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)$")


def _shipped() -> dict[str, str]:
    """TOML text of the suites in the package, by name, `quick` first because it is the default."""
    folder = resources.files("byteways.suites")
    texts = {
        entry.name[: -len(".toml")]: entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    }
    return dict(sorted(texts.items(), key=lambda item: (item[0] != "quick", item[0])))


def names() -> list[tuple[str, str]]:
    """(name, title) of every suite that comes with byteways."""
    return [(name, str(tomllib.loads(text).get("title", ""))) for name, text in _shipped().items()]


def load(name_or_path: str) -> Suite:
    """The suite of that name, or in that file.

    Raises:
        BytewaysError: There is no such suite or file, or the file is no valid suite; then the message names
            file, line and key.
    """
    shipped = _shipped()
    if name_or_path in shipped:
        return parse(shipped[name_or_path], file=f"{name_or_path}.toml")
    path = Path(name_or_path)
    if path.suffix != ".toml" and "/" not in name_or_path and not path.is_file():
        raise BytewaysError(f"unknown suite '{name_or_path}'", hint="byteways list suites")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else f"not UTF-8 text: {error}"
        raise BytewaysError(
            f"cannot read the suite file '{name_or_path}'",
            cause=cause,
            hint="byteways list suites shows the suites that come with byteways",
        ) from error
    return parse(text, file=name_or_path)


def parse(text: str, *, file: str) -> Suite:
    """The suite in a TOML text; `file` is what messages call it.

    Raises:
        BytewaysError: The text is no TOML or no valid suite.
    """
    return read_suite(read_toml(text, file=file), text=text, file=file)


def read_toml(text: str, *, file: str) -> dict[str, Any]:
    """The data of a TOML text. Raises BytewaysError with file and line when it is none."""
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at else text.count("\n", 0, len(text.rstrip())) + 1  # "(at end of document)"
        place = f"{file}:{line}"
        raise BytewaysError(
            f"{place} is no valid TOML", cause=str(error), hint="see https://toml.io"
        ) from error
    return data
