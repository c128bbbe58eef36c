"""All records for the table of the page and its downloads: column by column, each value once.

The columns are those of `byteways export` (record/columns.py), with figures to six significant digits. What
a record has beyond them follows as `extra` columns, which the table shows for a selected row only.
"""

from __future__ import annotations

import base64
import re
import sys
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import count
from math import inf, nan
from operator import attrgetter
from typing import Any

import msgspec

from byteways.record import columns
from byteways.record.journal_lines import USUALLY_REPEATED
from byteways.record.record import RECORD_FIELDS, Record

#: Significant digits of figures: a result is known to 0.1 % at best.
SIGNIFICANT_DIGITS = 6
#: A column with fewer distinct values than this fraction of its rows is a list of them and the index of each.
FEW = 0.5
#: A number with more digits than that.
_LONG = re.compile(r"\d\.\d{6}|\d{6}\.\d")
_IN_COLUMNS = {column.place.partition(".")[0] for column in columns.COLUMNS}
#: In the column with the rate of each direction: it is the bandwidth of the record, on its path. Most records
#: have one flow.
AS_BANDWIDTH = "="
#: Process numbers tell nothing; samples are in the run folder.
_LEFT_OUT = {"worker", columns.SAMPLES_COLUMN}
_EXTRA = tuple(name for name in RECORD_FIELDS if name not in _IN_COLUMNS | _LEFT_OUT)
_ALL = columns.COLUMN_NAMES.union(_EXTRA)
_DIRECTIONS = "directions_bytes_per_s"
_usual = attrgetter(*USUALLY_REPEATED)
_ENCODE, _DECODE = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode


def record_data(manifest: Mapping[str, Any], records: Sequence[Record]) -> dict[str, Any]:
    """Returns manifest and columns.

    A column has its `name`, its `kind` (record/columns.py), and one of `all` (the value of all rows),
    `of` and `at` (distinct values, and the index of each row's), `each` (the value of each row), or `floats`
    (little-endian numbers of 32 bits in base 64; NaN means missing). The other values are JSON text already.
    With `rows`, `at` has an index for each case or for each combination of usual values, and the table's
    `rows` of that name say which of them a record has. The rates of directions are SAME where the bandwidth
    says them.
    """
    of_case, usual = _of_case(records), _ALL.intersection(USUALLY_REPEATED)
    own = _ALL - of_case - usual
    table, rows = _Table(manifest, own), {}
    for block, names, alike in (("case", of_case, attrgetter("case_id")), ("usual", usual, _identity)):
        distinct, rows[block] = _distinct(records, alike)
        table.add(distinct, names, block)
    table.add(records, own)
    return {
        "manifest": manifest,
        "count": len(records),
        "rows": rows,
        "columns": [column.coded() for column in table.columns.values()],
        "extra": [column.coded() for column in table.extra.values() if column.kind],
    }


class _Table:
    """The columns as they grow.

    Args:
        manifest: Of the run.
        own: Columns with a value of its own in each record.
    """

    def __init__(self, manifest: Mapping[str, Any], own: Collection[str]) -> None:
        self._manifest, self._texts = manifest, _Texts()
        self.columns: dict[str, _Column | _Numbers] = {
            column.name: _Numbers(column.name)
            if column.kind == columns.NUMBER_KIND and column.name in own
            else _Column(column.name, column.kind)
            for column in columns.COLUMNS
        }
        self.extra = {name: _Column(name) for name in _EXTRA}

    def add(self, records: Sequence[Record], names: Collection[str], block: str = "") -> None:
        """Adds the values of these records to these columns.

        Args:
            block: The name of the table's `rows` that say which of these a record has; '': each has its own.
        """
        extra = [(self.extra[name], attrgetter(name)) for name in _EXTRA if name in names]
        for group, part in columns.parts(self._manifest, records, columns.COLUMN_NAMES.intersection(names)):
            if _DIRECTIONS in part:
                part[_DIRECTIONS] = [*map(_directions, group, part[_DIRECTIONS])]
            for name, values in part.items():
                self.columns[name].add(values)
            for column, value_of in extra:
                column.add_any([*map(value_of, group)], self._texts.of)
        for name, own in (*self.columns.items(), *self.extra.items()):
            if name in names and isinstance(own, _Column):
                own.block = block


def _directions(record: Record, text: str | None) -> str | None:
    return AS_BANDWIDTH if record.directions == {record.path: record.bandwidth_bytes_per_s} else text


def _distinct(
    records: Sequence[Record], alike: Callable[[Record], Hashable]
) -> tuple[list[Record], list[int]]:
    """Returns the first record of each kind, and for every record the index of its kind."""
    places: defaultdict[Hashable, int] = defaultdict(count().__next__)
    rows = [places[alike(record)] for record in records]
    firsts = dict(zip(reversed(rows), reversed(records), strict=True))
    return [firsts[place] for place in range(len(places))], rows


def _identity(record: Record) -> Hashable:
    """Which objects the usual fields have: rounds of a case share them (record/journal_lines.py)."""
    return tuple(map(id, _usual(record)))


def _of_case(records: Iterable[Record]) -> frozenset[str]:
    """Returns the columns that are read once per case: of a run between hosts, a device is each record's."""
    within_a_host = all(record.hosts is None for record in records)
    return columns.DEFINITION | columns.DERIVED if within_a_host else columns.DEFINITION


class _Column:
    """A column as it grows: its distinct values, and the place of each row's among them.

    Args:
        name: Its name.
        kind: Its kind (record/columns.py); '': that of its first value.
    """

    def __init__(self, name: str, kind: str = "") -> None:
        self.name, self.kind = name, kind
        self.block = ""
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
        self.add([*map(text_of, values)] if self.kind == columns.JSON_KIND else values)

    def add_missing(self, rows: int) -> None:
        """Adds rows without a value."""
        self._at += [self._places[None]] * rows

    def coded(self) -> dict[str, Any]:
        """Returns the column as `record_data` describes it."""
        named, texts = {"name": self.name, "kind": self.kind}, self._shown()
        places: defaultdict[str, int] = defaultdict(count().__next__)  # by text: rounded values may be equal
        place_of = [places[text] for text in texts]
        if len(places) == 1:
            return {**named, "all": msgspec.Raw(texts[0].encode())}
        if self.block or len(places) < FEW * len(self._at):
            alike = len(places) < len(texts)
            at = [*map(place_of.__getitem__, self._at)] if alike else self._at
            rows = {"rows": self.block} if self.block else {}
            return {**named, "of": _listed(places), "at": at, **rows}
        return {**named, "each": _listed(map(texts.__getitem__, self._at))}

    def _shown(self) -> list[str]:
        """Returns the distinct values as JSON text."""
        if self.kind == columns.NUMBER_KIND:
            return _short_numbers(list(self._places))
        texts = [
            _short_json(place) if place and self.kind == columns.JSON_KIND else place
            for place in self._places
        ]
        return [_ENCODE(text).decode() for text in texts]


class _Numbers:
    """A column of numbers that differ from record to record.

    Args:
        name: Its name.
    """

    kind = columns.NUMBER_KIND

    def __init__(self, name: str) -> None:
        self._name = name
        self._values: list[float | None] = []

    def add(self, values: Sequence[float | None]) -> None:
        """Adds the values of further rows."""
        self._values += values

    def coded(self) -> dict[str, Any]:
        """Returns the column as `record_data` describes it."""
        named, values = {"name": self._name, "kind": self.kind}, self._values
        if values.count(values[0] if values else None) == len(values):
            (text,) = _short_numbers(values[:1] or [None])
            return {**named, "all": msgspec.Raw(text.encode())}
        bits = array("f", [nan if value is None else value for value in values])
        if inf in bits or -inf in bits:  # beyond 32 bits
            return {**named, "each": _listed(_short_numbers(values))}
        if sys.byteorder == "big":
            bits.byteswap()
        return {**named, "floats": base64.b64encode(bits.tobytes()).decode("ascii")}


def _listed(texts: Iterable[str]) -> msgspec.Raw:
    return msgspec.Raw(f"[{','.join(texts)}]".encode())


def _short_numbers(values: Sequence[float | None]) -> list[str]:
    """Returns numbers as JSON text."""
    known = tuple(nan if value is None else value for value in values)
    return (f"%.{SIGNIFICANT_DIGITS}g " * len(known) % known).replace("nan", "null").split()


def _kind(value: Any) -> str:
    """Returns the kind of a column by a value."""
    if isinstance(value, str):
        return columns.TEXT_KIND
    return columns.NUMBER_KIND if isinstance(value, (int, float)) else columns.JSON_KIND


class _Texts:
    """JSON text of values that records share (record/journal_lines.py)."""

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
    if text == AS_BANDWIDTH or not _LONG.search(text):
        return text
    return _ENCODE(_short(_DECODE(text))).decode()


def _short(value: Any) -> Any:
    """Rounds floating-point numbers at any depth."""
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return value
