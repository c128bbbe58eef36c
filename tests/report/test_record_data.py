"""The records inside the page: packed column by column, and what comes back of them."""

from __future__ import annotations

import base64
import json
import re
import struct
from math import isnan
from typing import Any

import pytest

from byteways.record import columns
from byteways.report.record_data import AS_BANDWIDTH, record_data
from byteways.report.render import FAST_FROM_BYTES, packed, unpacked
from tests.changed import replace
from tests.report import rank_runs, sample_run


def told(made: Any) -> dict[str, Any]:
    """The records as the page reads them."""
    data: dict[str, Any] = unpacked(packed(record_data(made.manifest(), made.records)))
    return data


def values(column: dict[str, Any], data: dict[str, Any]) -> list[Any]:
    """All values of a column, as assets/records.js reads them."""
    if "floats" in column:
        bits = base64.b64decode(column["floats"])
        return [None if isnan(one) else one for (one,) in struct.iter_unpack("<f", bits)]
    if "each" in column:
        return list(column["each"])
    if "rows" in column:
        return [column["of"][column["at"][row]] for row in data["rows"][column["rows"]]]
    if "of" in column:
        return [column["of"][place] for place in column["at"]]
    return [column["all"]] * data["count"]


@pytest.mark.parametrize(
    ("part", "times"),
    [
        ("", 1),
        ("a", 1),
        ("ab", 1),
        ("abc", 1),
        ("abcd", 1),
        ("ü€😀", 300),
        ("</script><!--&`", 1),
        ("€", FAST_FROM_BYTES),
    ],
)
def test_packed_text_comes_back(part: str, times: int) -> None:
    """Would catch an alphabet that loses a character, and one that can end a script element."""
    text = part * times
    there = packed([text])
    assert not set("<>&`\"'\\ \n") & set(there)
    assert unpacked(there) == [text]


@pytest.mark.parametrize("build", [sample_run.cpu_only, rank_runs.of_all])
def test_columns_are_those_of_the_export(build: Any) -> None:
    """Would catch a value in the wrong row or column, or a figure with too few digits."""
    made = build()
    data = told(made)
    expected = columns.values(made.manifest(), made.records)
    assert [column["name"] for column in data["columns"]] == list(expected)
    for column in data["columns"]:
        own = values(column, data)
        if column["name"] == "directions_bytes_per_s":
            own = [
                json.dumps({one.path: one.bandwidth_bytes_per_s}, separators=(",", ":"))
                if rates == AS_BANDWIDTH
                else rates
                for one, rates in zip(made.records, own, strict=True)
            ]
        if column["kind"] == columns.NUMBER_KIND:
            for here, there in zip(own, expected[column["name"]], strict=True):
                assert here == (there if there is None else pytest.approx(there, rel=5e-6))
        elif column["kind"] == columns.JSON_KIND:
            for here, there in zip(own, expected[column["name"]], strict=True):
                assert re.sub(r"[\d.e+-]+", "0", here or "") == re.sub(r"[\d.e+-]+", "0", there or "")
        else:
            assert own == expected[column["name"]]


def test_numbers_beyond_32_bits() -> None:
    """Would catch data that is no JSON, or an infinite time, for a number that nothing checks."""
    made = sample_run.cpu_only()
    made.records[1] = replace(made.records[1], wall_s=1e39)
    (column,) = (one for one in told(made)["columns"] if one["name"] == "wall_s")
    assert column["each"][:2] == [pytest.approx(0.1), 1e39]
    made.records = [replace(record, wall_s=1e39) for record in made.records]
    (column,) = (one for one in told(made)["columns"] if one["name"] == "wall_s")
    assert column["all"] == 1e39


def test_fields_without_a_column_are_kept() -> None:
    """Would catch a download that loses what the schema of tables has no place for."""
    made = rank_runs.of_all()
    data = told(made)
    known = {name for record in made.records for name in record.to_json()}
    in_columns = {column.place.partition(".")[0] for column in columns.COLUMNS}
    extra = {column["name"] for column in data["extra"]}
    assert extra == known - in_columns - {"samples_ns", "worker"}
    assert extra
