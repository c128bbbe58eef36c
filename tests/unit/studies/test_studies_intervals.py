"""Verdicts within the intervals of figures, and of sentences that say several things."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from byteways.ext.studies.comparison.claims import Verdict, judge
from byteways.ext.studies.comparison.verdicts import ASSUMED_BY_MODEL, CLOSE, HOLDS, UNTESTED
from byteways.ext.studies.comparison.verdicts import FAILS_HERE as FAILS
from byteways.ext.studies.published.study import ClaimCheck, PublishedClaim
from tests.unit.study_sheet import CHECKS, SHEET, FakeSheet, checked, verdict

# --- intervals

CLOSE_CALLS = [
    {"kind": "value", "of": "copy@quad/1GiB", "at_most": "51.2 GB/s"},
    {"kind": "value", "of": "copy@quad/1GiB", "at_most": "50.8 GB/s"},
    {"kind": "value", "of": "copy@quad/1GiB", "published": True, "within": 0.021},
    {"kind": "value", "of": "copy@quad/1GiB", "about": "50 GB/s", "within": 0.019},
    {"kind": "ratio", "of": "kernel@quad/1GiB", "to": "copy@quad/1GiB", "at_least": 2.99},
    {"kind": "ratio", "of": "kernel@quad/1GiB", "to": "copy@quad/1GiB", "at_least": 3.01},
    {"kind": "spread", "of": "copy@*/1GiB", "over": "place", "at_most": 0.025},
    {"kind": "spread", "of": "copy@*/1GiB", "over": "place", "at_most": 0.015},
    {"kind": "order", "of": ["copy@quad/1GiB", "copy@dual/1GiB"], "margin": 0.01},
    {"kind": "order", "of": ["copy@quad/1GiB", "copy@dual/1GiB"], "margin": 0.03},
    {"kind": "reaches", "of": "copy@quad/*", "level": "50.8 GB/s", "size": "1GiB"},
    {"kind": "reaches", "of": "copy@quad/*", "level": "51.2 GB/s", "size": "1GiB"},
]


@pytest.mark.parametrize("check", CLOSE_CALLS, ids=str)
def test_a_bound_within_the_interval_is_too_close_to_call(check: dict[str, Any]) -> None:
    """Would catch a verdict that the next run turns round: each of these is one without an interval."""
    assert verdict(**check).verdict in (HOLDS, FAILS)
    known = FakeSheet(SHEET.figures, SHEET.prints, SHEET.gone, half_width=0.01)
    found = verdict(known, **check)
    assert found.verdict == CLOSE and found.detail.endswith("values are known to ± 1 %")


@pytest.mark.parametrize("check", [check for check, _ in CHECKS], ids=str)
def test_no_verdict_turns_round_within_the_intervals(check: dict[str, Any]) -> None:
    """Would catch a check that looks at figures and not at their intervals: with 1 % of noise on every figure
    three verdicts of 36 changed their side."""
    known = FakeSheet(SHEET.figures, SHEET.prints, SHEET.gone, half_width=0.01)
    told = verdict(known, **check).verdict
    draw = random.Random(str(check))
    for _ in range(50):
        moved = {key: value * draw.uniform(1 / 1.01, 1.01) for key, value in SHEET.figures.items()}
        again = verdict(FakeSheet(moved, SHEET.prints, SHEET.gone), **check).verdict
        assert told in (CLOSE, UNTESTED) or again == told


def test_a_figure_over_itself_is_certain() -> None:
    """Would catch an interval for the ratio of the best way to the best way."""
    known = FakeSheet(SHEET.figures, half_width=0.05)
    check = {"kind": "ratio", "of": "kernel@quad/*", "to": "fastest:*@quad/*", "at_least": 1}
    assert verdict(known, **check).verdict == HOLDS


# --- a sentence that says several things

YES = {"kind": "value", "of": "copy@quad/1GiB", "at_most": "52 GB/s"}
NO = {"kind": "value", "of": "copy@quad/1GiB", "at_most": "50 GB/s"}
GONE = {"kind": "value", "of": "copy@single/1GiB", "at_most": "50 GB/s"}
NEAR = {"kind": "value", "of": "copy@quad/1GiB", "at_most": "51.0001 GB/s"}


def sentence(*checks: Mapping[str, Any], any_of: bool = False) -> Verdict:
    known = FakeSheet(SHEET.figures, SHEET.prints, SHEET.gone, half_width=0.001)
    made = tuple(map(checked, checks))
    whole = (ClaimCheck("any", readings=made),) if any_of else made
    return judge(PublishedClaim("x", "", whole, "A sentence."), known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("checks", "every", "one"),
    [
        ((YES, YES), HOLDS, HOLDS),
        ((YES, NO), FAILS, HOLDS),
        ((GONE, NO), FAILS, UNTESTED),
        ((YES, GONE), UNTESTED, HOLDS),
        ((YES, NEAR), CLOSE, HOLDS),
        ((NO, NEAR), FAILS, CLOSE),
        ((GONE, NEAR), UNTESTED, UNTESTED),
        ((NO, NO), FAILS, FAILS),
    ],
)
def test_a_sentence_has_one_verdict(checks: tuple[dict[str, Any], ...], every: str, one: str) -> None:
    """Would catch half a sentence that is taken for all of it, and one reading that outweighs another."""
    assert sentence(*checks).verdict == every
    assert sentence(*checks, any_of=True).verdict == one


def test_numbers_that_a_model_assumes_are_told() -> None:
    """Would catch a finding that rests on a guess and reads like one on data."""
    found = verdict(FakeSheet(SHEET.figures, assumed=True), **YES)
    assert found.notes == ("assumed parameters of the model are behind copy at quad",)
    assert verdict(**YES).notes == ()


def test_the_ends_of_a_range_are_part_of_it() -> None:
    """Would catch 'up to 16 KB' that is confirmed by 8 KB."""
    check = {"kind": "value", "of": "copy@quad/..512MiB", "at_most": "52 GB/s"}
    found = verdict(**check)
    assert found.verdict == UNTESTED and "a value it needs is missing" in found.detail
    assert verdict(**{**check, "of": "copy@quad/..1GiB"}).verdict == HOLDS


def test_a_guess_confirms_nothing() -> None:
    """Would catch "holds" of a figure that a machine model has from nowhere."""
    found = verdict(FakeSheet(SHEET.figures, assumed=True, guessed=True), **YES)
    assert found.verdict == ASSUMED_BY_MODEL
    assert found.detail.startswith("the model assumes all parameters behind copy at quad: 51.00 GB/s")
