"""Values of a table of a suite: their kind, their bounds, and the message of one that is neither."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.errors import BytewaysError
from byteways.plan.suite_table import SuiteTable
from byteways.plan.suite_types import Origin


def table(**data: Any) -> SuiteTable:
    return SuiteTable(data, Origin("mine.toml", {("x",): 7}), "sweep 's'")


@pytest.mark.parametrize("value", [1, 1.5, 2, 5])
def test_numbers_within_bounds(value: float) -> None:
    """Catches a bound that is excluded, and an integer that is refused as a number."""
    assert table(x=value).number("x", 3.0, 1, 5) == value
    assert table().number("x", 3.0, 1, 5) == 3.0


@pytest.mark.parametrize("value", ["2", True, False, [2], None, {}])
def test_what_is_no_number(value: object) -> None:
    """Catches `true` taken for 1, and a text that ends in a traceback."""
    for read in (table(x=value).number, table(x=value).whole):
        with pytest.raises(BytewaysError, match=r"mine.toml:7: sweep 's', key 'x': .* instead of a number"):
            read("x", 3, 0, 5)


@pytest.mark.parametrize("value", [0.99, 5.01, -1, float("nan"), float("inf")])
def test_numbers_out_of_bounds(value: float) -> None:
    """Catches a bound that nobody checks, also of what is no ordinary number."""
    with pytest.raises(BytewaysError, match="is out of range") as told:
        table(x=value).number("x", 3.0, 1, 5)
    assert told.value.hint == "write a number from 1 to 5"


def test_whole_numbers() -> None:
    """Catches 2.5 rounds, and 2.0 refused."""
    found = table(x=2.0).whole("x", 1, 1, 5)
    assert found == 2 and isinstance(found, int)
    with pytest.raises(BytewaysError, match=r"2.5 is not an integer"):
        table(x=2.5).whole("x", 1, 1, 5)
