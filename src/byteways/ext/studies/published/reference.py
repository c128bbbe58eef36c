"""References of a claim to values: `LINE@PLACE/SIZE`.

LINE and PLACE may be globs; SIZE is a size, `*`, `largest`, `smallest` or a range `64KiB..1GiB` (either
end may be omitted). The prefix `fastest:` selects the highest of its lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from byteways.base.units import parse_size

FASTEST = "fastest:"
#: Sizes by name: the ends of those that the study requests.
EXTREMES = ("largest", "smallest")
#: A number with its unit, as in checks.
_NUMBER = re.compile(r"^(?P<number>\d+(\.\d+)?)\s*(?P<unit>GB/s|ns|µs|us|%)$")
_REFERENCE = re.compile(r"^(?P<line>[^@]+)@(?P<place>[^/]+)/(?P<size>.+)$")


def references(check: Mapping[str, Any]) -> Iterator[str]:
    """Yields all references of a check, without `fastest:`."""
    for name in ("of", "to"):
        yield from _flat(check.get(name, ()))


def _flat(told: str | Sequence[Any]) -> Iterator[str]:
    if isinstance(told, str):
        yield told.removeprefix(FASTEST)
        return
    for one in told:
        yield from _flat(one)


def parts(reference: str, lines: Iterable[str], places: Iterable[str]) -> tuple[list[str], list[str], str]:
    """Returns the names of matching lines and places, and the size as written.

    Raises:
        ValueError: The reference matches nothing.
    """
    match = _REFERENCE.match(reference)
    if match is None:
        raise ValueError(f"'{reference}' is not a reference to a value; write line@place/size")
    found_lines = [name for name in lines if fnmatchcase(name, match["line"])]
    found_places = [name for name in places if fnmatchcase(name, match["place"])]
    if not found_lines or not found_places:
        raise ValueError(f"'{reference}' names no line or no place")
    sizes_of(match["size"], ())
    return found_lines, found_places, match["size"]


def sizes_of(wanted: str, known: Iterable[int]) -> list[int]:
    """Returns the known sizes in bytes that a reference selects. Raises ValueError if it is invalid."""
    sizes = list(known)
    if wanted == "*":
        return sizes
    if wanted == "largest":
        return sizes and [max(sizes)]
    if wanted == "smallest":
        return sizes and [min(sizes)]
    if ".." in wanted:
        low, high = (text.strip() for text in wanted.split(".."))
        least = parse_size(low) if low else 0
        most = parse_size(high) if high else float("inf")
        return [size for size in sizes if least <= size <= most]
    exact = parse_size(wanted)
    return [size for size in sizes if size == exact]


def ends_of(wanted: str) -> list[int]:
    """Returns the ends of a range in bytes; empty if it is not a range."""
    return [parse_size(text) for text in wanted.split("..") if text.strip()] if ".." in wanted else []


def number_of(value: object) -> float:
    """Parses a number with or without unit; percent become fractions. Raises ValueError if invalid."""
    match = _NUMBER.match(str(value))
    if match is None:
        return float(str(value))
    return float(match["number"]) / (100 if match["unit"] == "%" else 1)


def unit_of(value: object) -> str:
    """Returns the unit of a number, `of peak` for percent; '' without a unit."""
    match = _NUMBER.match(str(value))
    return {"us": "µs", "%": "of peak"}.get(match["unit"], match["unit"]) if match else ""
