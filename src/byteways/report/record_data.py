"""All records for the table of the page and its downloads: column by column, each value once.

The columns are those of `byteways export` (results/columns.py), with figures to six significant digits. What
a record has beyond them follows as `extra` columns, which the table shows for a selected row only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
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


def record_data(manifest: Mapping[str, Any], records: Sequence[Record]) -> dict[str, Any]:
    """Returns manifest and columns.

    A column has its `name`, its `kind` (results/columns.py), and one of `all` (the value of all rows),
    `of` and `at` (distinct values, and the index of each row's), or `each` (the value of each row).
    The rates of directions are SAME where the bandwidth says them.
    """
    values = columns.values(manifest, records)
    values["directions_bytes_per_s"] = [
        SAME if record.directions == {record.path: record.bandwidth_bytes_per_s} else told
        for record, told in zip(records, values["directions_bytes_per_s"], strict=True)
    ]
    return {
        "manifest": manifest,
        "count": len(records),
        "columns": [
            {"name": column.name, "kind": column.kind, **_coded(_kept(column.kind, values[column.name]))}
            for column in columns.COLUMNS
        ],
        "extra": [
            {"name": name, "kind": kind, **_coded(_kept(kind, told))} for name, kind, told in _extra(records)
        ],
    }


def _extra(records: Sequence[Record]) -> Iterator[tuple[str, str, list[Any]]]:
    """Yields name, kind and values of the fields that no column has, where any record has one."""
    for field in fields(Record):
        if field.name in _IN_COLUMNS or field.name in _LEFT_OUT:
            continue
        told = list(map(attrgetter(field.name), records))
        first = next((value for value in told if value is not None), None)
        if isinstance(first, str):
            yield field.name, columns.TEXT, told
        elif isinstance(first, (int, float)):
            yield field.name, columns.NUMBER, told
        elif first is not None:
            texts = [None if value is None else msgspec.json.encode(value).decode() for value in told]
            yield field.name, columns.JSON, texts


def _kept(kind: str, values: Sequence[Any]) -> Sequence[Any]:
    if kind == columns.NUMBER:  # most columns have few distinct values
        rounded = {value: float(f"{value:.{DIGITS}g}") for value in set(values) if value is not None}
        return list(map(rounded.get, values))
    if kind == columns.JSON:
        short = {text: _short_json(text) for text in set(values) if text}
        return list(map(short.get, values))
    return values


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


def _coded(values: Sequence[Any]) -> dict[str, Any]:
    distinct = {value: place for place, value in enumerate(dict.fromkeys(values))}
    if len(distinct) == 1:
        return {"all": values[0]}
    if len(distinct) < FEW * len(values):
        return {"of": list(distinct), "at": [distinct[value] for value in values]}
    return {"each": list(values)}
