"""All records for the table of the page and its downloads: column by column, each value once.

The columns are those of `byteways export` (results/columns.py), with figures to six significant digits. What
a record has beyond them follows as `extra` columns, which the table shows for a selected row only.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import chain, count
from math import nan
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
_ENCODE = msgspec.json.Encoder().encode


def record_data(manifest: Mapping[str, Any], records: Sequence[Record]) -> dict[str, Any]:
    """Returns manifest and columns.

    A column has its `name`, its `kind` (results/columns.py), and one of `all` (the value of all rows),
    `of` and `at` (distinct values, and the index of each row's), or `each` (the value of each row).
    Values are JSON text already. The rates of directions are SAME where the bandwidth says them.
    """
    told = {column.name: _Column(column.name, column.kind) for column in columns.COLUMNS}
    extra = {field.name: _Column(field.name) for field in fields(Record) if field.name not in _ELSEWHERE}
    cases = {record.case_id: record for record in records}
    places = dict(zip(cases, count(), strict=False))
    shared = _shared(records)
    for _, part in columns.parts(manifest, [*cases.values()], shared):
        for name, values in part.items():
            told[name].add(values)
    case_of = [places[record.case_id] for record in records]
    for name in shared:
        told[name].repeat(case_of)
    texts = _Texts()
    for some, part in columns.parts(manifest, records, columns.NAMES - shared):
        part["directions_bytes_per_s"] = [
            SAME if record.directions == {record.path: record.bandwidth_bytes_per_s} else directions
            for record, directions in zip(some, part["directions_bytes_per_s"], strict=True)
        ]
        for name, values in part.items():
            told[name].add(values)
        present = {*chain.from_iterable(map(vars, some))}
        for name, column in extra.items():
            if name in present:
                column.add_any(list(map(attrgetter(name), some)), texts.of)
            else:
                column.add_missing(len(some))
    return {
        "manifest": manifest,
        "count": len(records),
        "columns": [column.coded() for column in told.values()],
        "extra": [column.coded() for column in extra.values() if column.kind],
    }


def _shared(records: Iterable[Record]) -> frozenset[str]:
    """Returns the columns that are read once per case: of a run between hosts, a device is each record's."""
    within_a_host = all(record.hosts is None for record in records)
    return columns.DEFINITION | columns.DERIVED if within_a_host else columns.DEFINITION


class _Column:
    """A column as it grows: its distinct values, and the place of each row's among them.

    Args:
        name: Its name.
        kind: Its kind (results/columns.py); '': that of its first value.
    """

    def __init__(self, name: str, kind: str = "") -> None:
        self.name, self.kind = name, kind
        self._at: list[int] = []
        self._places: defaultdict[Any, int] = defaultdict(count().__next__)  # of distinct values

    def add(self, values: Sequence[Any]) -> None:
        """Adds the values of further rows."""
        first = values[0]
        if values.count(first) == len(values):  # so are most columns of consecutive rows
            self._at += [self._places[first]] * len(values)
        else:
            self._at += map(self._places.__getitem__, values)

    def add_any(self, values: Sequence[Any], text_of: Callable[[Any], str | None]) -> None:
        """Adds the values of further rows; tables and lists are not JSON text yet."""
        if values.count(None) == len(values):
            self.add_missing(len(values))
            return
        if not self.kind:
            self.kind = _kind(next(value for value in values if value is not None))
        self.add([*map(text_of, values)] if self.kind == columns.JSON else values)

    def add_missing(self, rows: int) -> None:
        """Adds rows without a value."""
        self._at += [self._places[None]] * rows

    def repeat(self, rows: Iterable[int]) -> None:
        """Replaces the rows by some of them, by their numbers."""
        self._at = [*map(self._at.__getitem__, rows)]

    def coded(self) -> dict[str, Any]:
        """Returns the column as `record_data` describes it."""
        named, texts = {"name": self.name, "kind": self.kind}, self._shown()
        places: defaultdict[str, int] = defaultdict(count().__next__)  # by text: rounded values may be equal
        place_of = [places[text] for text in texts]
        if len(places) == 1:
            return {**named, "all": msgspec.Raw(texts[0].encode())}
        if len(places) < FEW * len(self._at):
            alike = len(places) < len(texts)
            at = [*map(place_of.__getitem__, self._at)] if alike else self._at
            return {**named, "of": _listed(places), "at": at}
        return {**named, "each": _listed(map(texts.__getitem__, self._at))}

    def _shown(self) -> list[str]:
        """Returns the distinct values as JSON text."""
        if self.kind == columns.NUMBER:
            return _short_numbers(list(self._places))
        texts = [_short_json(one) if one and self.kind == columns.JSON else one for one in self._places]
        return [_ENCODE(one).decode() for one in texts]


def _listed(texts: Iterable[str]) -> msgspec.Raw:
    return msgspec.Raw(f"[{','.join(texts)}]".encode())


def _short_numbers(values: Sequence[float | None]) -> list[str]:
    """Returns numbers as JSON text."""
    known = tuple(nan if value is None else value for value in values)
    return (f"%.{DIGITS}g " * len(known) % known).replace("nan", "null").split()


def _kind(value: Any) -> str:
    """Returns the kind of a column by a value."""
    if isinstance(value, str):
        return columns.TEXT
    return columns.NUMBER if isinstance(value, (int, float)) else columns.JSON


class _Texts:
    """JSON text of values that records share (results/journal_lines.py)."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}  # by identity: the records keep the values

    def of(self, value: Any) -> str | None:
        """Returns the text of a value; None if it is missing."""
        if value is None:
            return None
        text = self._known.get(id(value))
        if text is None:
            text = self._known[id(value)] = _ENCODE(value).decode()
        return text


def _short_json(text: str) -> str:
    if text == SAME or not _LONG.search(text):
        return text
    return _ENCODE(_short(json.loads(text))).decode()


def _short(value: Any) -> Any:
    """Rounds floating-point numbers at any depth."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return value
