"""What readers of formats share: numbers by one strict grammar, values or mistakes, and hints."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from byteways.base.quantities import mistake_in_quantity
from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck, Found, UnreadPlace
from byteways.ext.audit.imported.value import DATA_WRONG, ForeignValue
from byteways.machine.foreign_text import FormatError

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?")
_WHOLE = re.compile("[0-9]{1,15}")
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
_THOUSANDS = re.compile(r"\d{1,3}(?:[,']\d{3})+(?:\.\d+)?")
#: Places without a measured value, as programs write them.
ABSENT = frozenset(("N/A", "n/a", "-", "--", ""))
#: A longer number is a damaged line; what a shorter one may be as a quantity: byteways.base.quantities.
_MOST_DIGITS = 24


def mistake_in_number(text: str) -> tuple[str, str] | None:
    """Returns what is wrong with a number as it is written, and a hint; None: it is a measured value."""
    if len(text) <= _MOST_DIGITS and _NUMBER.fullmatch(text):
        return None
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity", "nan(ind)"):
        return f"'{text}' is no measured value", "the program divided by zero or failed; measure again"
    if _THOUSANDS.fullmatch(text):
        return f"'{text}' has separators of thousands", "let the program print numbers without them"
    if _DECIMAL_COMMA.fullmatch(text):
        return f"'{text}' has a decimal comma", "run the program with LC_ALL=C"
    if text.startswith("-") and _NUMBER.fullmatch(text[1:]):
        return f"'{text}' is negative", "no bandwidth and no time is negative; measure again"
    if len(text) > _MOST_DIGITS and text.replace(".", "", 1).isdigit():
        return f"'{text[:20]}…' has {len(text)} digits", "no measured value has so many: the line is damaged"
    return f"'{text[:40]}' is not a number", ""


def whole_number(text: str) -> int | None:
    """Returns a count or a size in bytes; None: the text is none."""
    return int(text) if _WHOLE.fullmatch(text) else None


class Reading(ABC):
    """A TextReader: the part that all have in common, what they found and how they add to it."""

    name: ClassVar[str]  # of the format
    begins: ClassVar[re.Pattern[str]]  # matches, from its beginning, the first line of such an output alone
    data_check: ClassVar[DataCheck]

    def __init__(self, line: Line) -> None:
        self.found = Found(self.name, line.number)

    @abstractmethod
    def take(self, line: Line) -> bool:
        """Reads a line, as TextReader says."""

    @abstractmethod
    def end(self) -> None:
        """Ends the output, as TextReader says."""

    def refuse(self, line: int | None, what: str, hint: str = "") -> None:
        """Notes a mistake."""
        self.found.mistakes.append(UnreadPlace(line, what, hint))

    def add(self, value: ForeignValue) -> bool:
        """Adds a value, or a mistake if its number is none.

        Returns:
            Whether its number is one.
        """
        return add_value(self.found, value)

    def know(self, **hints: Any) -> None:
        """Adds to the hints: fields of Hints; mappings are merged."""
        add_hints(self.found, **hints)


def add_value(found: Found, value: ForeignValue) -> bool:
    """Adds a value to what was found, or a mistake if its number is none. Returns whether it is one."""
    wrong = mistake_in_number(value.text) or _mistake_in_value(value)
    if wrong is None:
        if found.all_wrong:
            value.differences = (DATA_WRONG, *value.differences)
        found.values.append(value)
        return True
    place = "" if value.pointer is None else f"{value.pointer}: "
    found.mistakes.append(UnreadPlace(value.line, place + wrong[0], wrong[1]))
    return False


def _mistake_in_value(value: ForeignValue) -> tuple[str, str] | None:
    """Returns what is impossible about a value whose text is a number, and a hint."""
    hint = "the line is damaged, or of another unit than its header says"
    if wrong := mistake_in_quantity(value.value, value.unit.metric):
        return f"'{value.text} {value.unit.written or value.unit.name}' {wrong}", hint
    if value.size_bytes is not None and (wrong := mistake_in_quantity(value.size_bytes, "size")):
        return f"a size of {value.size_bytes:.4g} bytes {wrong}", hint
    return None


def add_hints(found: Found, **hints: Any) -> None:
    """Adds fields of Hints to those of what was found; mappings are merged, texts replaced."""
    changed: dict[str, Any] = {}
    for name, value in hints.items():
        known = getattr(found.hints, name)
        changed[name] = {**known, **value} if isinstance(known, Mapping) else value
    found.hints = replace(found.hints, **changed)


def written(value: object) -> str | None:
    """Returns a number of a JSON document as text that gives the same number again; None: it is none."""
    if isinstance(value, str):
        return value
    return repr(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def objects(value: object, what: str) -> list[Mapping[str, Any]]:
    """Returns a list of a JSON document whose items are objects.

    Raises:
        FormatError: It is something else.
    """
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise FormatError(f"{what} is not a list of objects")
    return value


def text_of(value: object) -> str:
    """Returns a text of a JSON document; empty if it is something else."""
    return value if isinstance(value, str) else ""
