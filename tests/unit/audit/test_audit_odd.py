"""ext/audit/judging/odd.py: rows, columns, devices, cells, dips and asymmetric pairs of one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from byteways.ext.audit.imported.reader import Found
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit
from byteways.ext.audit.judging.audit import ReadFile, audited
from byteways.ext.audit.judging.odd import oddities
from byteways.ext.audit.judging.verdict import ODD_NUMBER, Oddity
from byteways.machine.nominal import nominal_topology
from byteways.verdicts.checks.normal import read_normal

H100 = nominal_topology("h100-x8")
MIB = 2**20


def cell(source: int, destination: int, rate: float, unit: str = "GB/s") -> ForeignValue:
    operation = Operation(
        "copy", "unidirectional", f"gpu{source}:device", f"gpu{destination}:device", f"gpu{source}"
    )
    column = f"(row {source}, column {destination})"
    return ForeignValue(
        source, "test", column, f"{rate:.2f}", Unit(unit), "median", "per-direction", 512 * MIB, operation
    )


def matrix(rate: Callable[[int, int], float], unit: str = "GB/s", gpus: int = 4) -> list[ForeignValue]:
    pairs = ((row, column) for row in range(gpus) for column in range(gpus) if row != column)
    return [cell(row, column, rate(row, column) + 0.01 * (row + column), unit) for row, column in pairs]


def found_in(values: list[ForeignValue]) -> dict[tuple[str, str], Oddity]:
    """Oddities by ends of the pair."""
    odd = oddities([(0, value) for value in values], H100)
    ends = ((values[place].operation, some) for place, some in odd.items())
    return {(one.source[:4], one.destination[:4]): some[0] for one, some in ends}


@pytest.mark.parametrize(
    ("slow", "code", "place"),
    [
        (lambda row, column: row == 2, "row", "gpu2"),
        (lambda row, column: column == 1, "column", "gpu1"),
        (lambda row, column: 3 in (row, column), "device", "gpu3"),
        (lambda row, column: (row, column) == (0, 3), "cell", "gpu0>gpu3"),
    ],
)
def test_slow_parts_of_a_matrix(slow: Callable[[int, int], bool], code: str, place: str) -> None:
    """Catches a slow GPU that is listed as single cells, and cells that are not slow."""
    found = found_in(matrix(lambda row, column: 250.0 if slow(row, column) else 392.0))
    assert {
        (row, column) for row in range(4) for column in range(4) if row != column and slow(row, column)
    } == {(int(source[3:]), int(destination[3:])) for source, destination in found}
    assert {(one.code, one.place) for one in found.values()} == {(code, place)}
    assert all(0.6 < one.ratio < 0.7 for one in found.values())


def test_slow_is_long_where_times_are_printed() -> None:
    found = found_in(matrix(lambda row, column: 3.9 if (row, column) == (0, 3) else 2.2, "us"))
    assert [*found] == [("gpu0", "gpu3")]


def test_equal_cells_are_not_odd() -> None:
    assert found_in(matrix(lambda row, column: 392.0)) == {}


def test_an_asymmetric_pair() -> None:
    """Catches a direction at 80 % where the cells of a small table are too few for groups."""
    found = found_in([cell(0, 1, 392.0), cell(1, 0, 310.0)])
    assert {ends: (one.code, round(one.ratio, 2)) for ends, one in found.items()} == {
        ("gpu1", "gpu0"): ("asymmetric", 0.79)
    }


def curve(*rates: float, first: int = MIB) -> list[ForeignValue]:
    return [
        replace(cell(0, 1, rate), size_bytes=first * 2**step, column="busbw")
        for step, rate in enumerate(rates)
    ]


def test_a_dip_over_size() -> None:
    """Catches a size that is slower than both neighbours, and one that ends a curve."""
    odd = oddities([(0, value) for value in curve(100, 150, 90, 200, 180)], H100)
    assert {place: (some[0].code, some[0].place) for place, some in odd.items()} == {2: ("dip", "4 MiB")}
    assert odd[2][0].ratio == pytest.approx(0.6)
    assert oddities([(0, value) for value in curve(100, 150, 140, 200)], H100) == {}


def test_protocols_of_small_messages_are_no_dips() -> None:
    assert oddities([(0, value) for value in curve(100, 150, 90, 200, first=1024)], H100) == {}


def test_two_outputs_are_two_tables() -> None:
    """Catches cells that are compared with those of another run in the same file."""
    values = [cell(0, 1, 392.0), cell(1, 0, 310.0)]
    assert oddities([*enumerate(values)], H100) == {}


def test_what_is_another_quantity_is_in_no_table() -> None:
    values = [cell(0, 1, 392.0), replace(cell(1, 0, 310.0), differences=("sum-of-turns",))]
    assert oddities([(0, value) for value in values], H100) == {}


def test_a_normal_number_may_be_odd() -> None:
    """Catches an oddity that does not reach the verdict."""
    values = matrix(lambda row, column: 362.0 if (row, column) == (0, 3) else 392.0)
    told = audited([ReadFile("log", (Found("test", 1, values),))], H100, read_normal(None), machine="test")
    assert [one.value.column for one in told.values if one.verdict == ODD_NUMBER] == ["(row 0, column 3)"]
    assert told.failed
