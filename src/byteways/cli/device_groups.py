"""Devices of large machines in few rows: equal ones together, their names as ranges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

_NAMES = re.compile(r"\b(?:[a-z]+\d+, )+[a-z]+\d+\b")
_NAME = re.compile(r"([a-z]+)(\d+)")


def ranges_of(names: Sequence[str]) -> str:
    """Formats names in order: `gpu0 to gpu7, gpu9`."""
    parts = []
    for first, last in _ranges(names):
        parts.append(first if first == last else f"{first} to {last}")
    return ", ".join(parts)


def names_in_ranges(text: str) -> str:
    """Returns a text with each list of device names as ranges."""
    return _NAMES.sub(lambda found: ranges_of(found[0].split(", ")), text)


def _ranges(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields first and last name of each run of consecutive numbers."""

    def run(item: tuple[int, str]) -> tuple[str, int]:
        index, name = item
        found = _NAME.fullmatch(name)
        return (found[1], int(found[2]) - index) if found else (name, 0)

    for _, group in groupby(enumerate(names), key=run):
        members = [name for _, name in group]
        yield members[0], members[-1]


def grouped(rows: Sequence[tuple[str, ...]], own: Sequence[int] = ()) -> list[tuple[str, ...]]:
    """Returns one row for all rows that are equal but for the name in their first column.

    Args:
        rows: Name of the device, and its facts.
        own: Columns that differ between equal devices; of several devices the first and the last are shown.
    """

    def facts(row: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(cell for index, cell in enumerate(row) if index and index not in own)

    return merged(rows, facts, own)


def merged(
    rows: Sequence[tuple[str, ...]], key: Callable[[tuple[str, ...]], object], own: Sequence[int]
) -> list[tuple[str, ...]]:
    groups: dict[object, list[tuple[str, ...]]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    found = []
    for members in groups.values():
        cells = list(members[0])
        cells[0] = ranges_of([row[0] for row in members])
        if len(members) > 1:
            cells[0] += f" ({len(members)})"
            for index in own:
                cells[index] = f"{members[0][index]} … {members[-1][index]}"
        found.append(tuple(cells))
    return found
