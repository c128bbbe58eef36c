"""All records for the table of the page and its downloads: column by column, each value once.

The columns are those of `byteways export` (results/columns.py), with figures to six significant digits. What
a record has beyond them follows as `extra` columns, which the table shows for a selected row only.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import count
from operator import attrgetter
from typing import Any

import msgspec

from byteways.results import columns
from byteways.results.record import Record

#: Significant digits of figures: a result is known to 0.1 % at best.
DIGITS = 6
#: A column with fewer distinct values than this fraction of its rows is a list of them and the index of each.
FEW = 0.5
#: A number with more digits than that.
_LONG = re.compile(r"\d\.\d{6}|\d{6}\.\d")
_IN_COLUMNS = {(column.place or column.name).partition(".")[0] for column in columns.COLUMNS}
#: In the column with the rate of each direction: it is the bandwidth of the record, on its path. Most records
#: have one flow.
SAME = "="
#: Process numbers tell nothing; samples are in the run folder.
_LEFT_OUT = {"worker", columns.SAMPLES}
_ELSEWHERE = _IN_COLUMNS | _LEFT_OUT


def record_data(manifest: Mapping[str, Any], records: Sequence[Record]) -> dict[str, Any]:
    """Returns manifest and columns.

    A column has its `name`, its `kind` (results/columns.py), and one of `all` (the value of all rows),
    `of` and `at` (distinct values, and the index of each row's), or `each` (the value of each row).
    The rates of directions are SAME where the bandwidth says them.
    """
    told = {column.name: _Column(column.name, column.kind) for column in columns.COLUMNS}
    extra = {field.name: _Column(field.name) for field in fields(Record) if field.name not in _ELSEWHERE}
    for some, part in columns.parts(manifest, records):
        part["directions_bytes_per_s"] = [
            SAME if record.directions == {record.path: record.bandwidth_bytes_per_s} else directions
            for record, directions in zip(some, part["directions_bytes_per_s"], strict=True)
        ]
        for name, values in part.items():
            told[name].add(values)
        for name, column in extra.items():
            column.add_any(list(map(attrgetter(name), some)))
    return {
        "manifest": manifest,
        "count": len(records),
        "columns": [column.coded() for column in told.values()],
        "extra": [column.coded() for column in extra.values() if column.kind],
    }


class _Column:
    """A column as it grows: its distinct values as they are shown, and the place of each row's among them.

    Args:
        name: Its name.
        kind: Its kind (results/columns.py); '': that of its first value.
    """

    def __init__(self, name: str, kind: str = "") -> None:
        self.name, self.kind = name, kind
        self._at: list[int] = []
        self._places: defaultdict[Any, int] = defaultdict(count().__next__)  # of distinct values

    def add(self, values: Iterable[Any]) -> None:
        """Adds the values of further rows."""
        if self.kind == columns.NUMBER:
            values = [None if value is None else float(f"{value:.{DIGITS}g}") for value in values]
        elif self.kind == columns.JSON:
            values = [text and _short_json(text) for text in values]
        self._at += map(self._places.__getitem__, values)

    def add_any(self, values: Sequence[Any]) -> None:
        """Adds the values of further rows; tables and lists are not JSON text yet."""
        if not self.kind:
            first = next((value for value in values if value is not None), None)
            self.kind = "" if first is None else _kind(first)
        self.add(map(_text, values) if self.kind == columns.JSON else values)

    def coded(self) -> dict[str, Any]:
        """Returns the column as `record_data` describes it."""
        named, of = {"name": self.name, "kind": self.kind}, list(self._places)
        if len(of) == 1:
            return {**named, "all": of[0]}
        if len(of) < FEW * len(self._at):
            return {**named, "of": of, "at": self._at}
        return {**named, "each": [of[place] for place in self._at]}


def _kind(value: Any) -> str:
    """Returns the kind of a column by a value."""
    if isinstance(value, str):
        return columns.TEXT
    return columns.NUMBER if isinstance(value, (int, float)) else columns.JSON


def _text(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


@lru_cache(maxsize=1 << 14)  # the rounds of a case repeat most tables
def _short_json(text: str) -> str:
    return (
        msgspec.json.encode(_short(json.loads(text))).decode()
        if text != SAME and _LONG.search(text)
        else text
    )


def _short(value: Any) -> Any:
    """Rounds floating-point numbers at any depth."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return value
