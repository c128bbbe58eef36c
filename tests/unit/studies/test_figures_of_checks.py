"""Figures and ranges as a study's claims say them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways.ext.studies.comparison.checks import _quotient, _ratio, _summary, _text, wanted
from tests.unit.study_sheet import SHEET

INFINITE = float("inf")


@pytest.mark.parametrize(
    ("check", "least", "most", "words"),
    [
        ({"about": 50}, 45.0, 55.0, "50 ± 10 %"),
        ({"about": 50, "within": 0.25}, 37.5, 62.5, "50 ± 25 %"),
        ({"about": 0.5, "unit": "of peak"}, 0.45, 0.55, "50 % ± 10 %"),
        ({"at_least": 3}, 3.0, INFINITE, "at least 3"),
        ({"at_most": 3}, -INFINITE, 3.0, "at most 3"),
        (
            {"at_least": 0.25, "at_most": 0.75, "unit": "of peak"},
            0.25,
            0.75,
            "at least 25 % and at most 75 %",
        ),
    ],
)
def test_ranges(check: dict[str, Any], least: float, most: float, words: str) -> None:
    """Catches a bound on the wrong side, another tolerance, and a part of the peak told as a number."""
    found = wanted(check)
    assert (found.least, found.most, found.words) == (pytest.approx(least), pytest.approx(most), words)


@pytest.mark.parametrize(
    ("number", "unit", "said"),
    [
        (0.4567, "of peak", "45.7 %"),
        (9.876, "GB/s", "9.88 GB/s"),
        (99.99, "GB/s", "99.99 GB/s"),
        (100.0, "GB/s", "100.0 GB/s"),
        (999.96, "ns", "1000.0 ns"),
        (1000.0, "ns", "1000 ns"),
        (-1234.5, "ns", "-1234 ns"),
    ],
)
def test_digits(number: float, unit: str, said: str) -> None:
    """Catches digits that a figure does not have, and those that it lacks."""
    assert _text(number, unit) == said


def test_several_values_are_told_by_their_ends() -> None:
    """Catches the order of the table in place of the lowest and the highest."""
    values = [("b", 2.0), ("c", 3.0), ("a", 1.0)]
    assert _summary(values[:1], str) == "2.0 (b)"
    assert _summary(values, str) == "3 values from 1.0 (a) to 3.0 (c)"


def test_only_a_ratio_of_all_that_fails_is_final() -> None:
    """Catches a claim about the fastest way refuted by a run that measured some of the ways only."""
    told = {"of": "kernel@quad/1GiB", "to": "copy@quad/1GiB"}
    fastest = {"of": "fastest:*@quad/1GiB", "to": "slow copy@quad/1GiB"}
    for check, final in (
        ({**told, "at_least": 5}, True),
        ({**told, "at_least": 2}, False),
        ({**told, "at_least": 5, "over": "most"}, False),
        ({**fastest, "at_least": 1e6}, False),
    ):
        assert _ratio(check, SHEET).final is final  # type: ignore[arg-type]


def test_a_quotient_of_a_value_with_itself() -> None:
    """Catches an interval for a ratio that is exactly 1, and ends of the interval on the wrong side."""
    one, other = (SimpleNamespace(low=low, high=high) for low, high in ((90.0, 110.0), (45.0, 55.0)))
    assert _quotient(one, one) == (1.0, 1.0)  # type: ignore[arg-type]
    assert _quotient(one, other) == (90 / 55, 110 / 45)  # type: ignore[arg-type]
