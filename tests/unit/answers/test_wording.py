"""Words of comparison need a claim that shows what they say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways.answers.claims.wording import by_factor, difference, faster, keeps_speed, least_gain, slower


@pytest.mark.parametrize(
    ("leads", "trails", "said"),
    [(True, False, "10 % more"), (False, True, "50 % less"), (False, False, "no significant gain")],
)
def test_the_smallest_of_several_gains(leads: bool, trails: bool, said: str) -> None:
    """Catches a loss told as a gain."""
    low: Any = SimpleNamespace(effect=1.1, low=1.09, high=1.11, leads=leads, trails=trails, differ=True)
    low.undecided = False
    low.turned = lambda: SimpleNamespace(effect=2.0, low=1.99, high=2.01)
    high: Any = SimpleNamespace(effect=3.0)
    assert least_gain({"a": low, "b": high}) == f" Smallest gain of 2: a, {said}."
    assert least_gain({"a": low}) == ""


def test_what_keeps_its_speed_is_shown_to() -> None:
    """Catches words of equality for a claim that does not show it."""
    unequal: Any = SimpleNamespace(equal=False)
    equal: Any = SimpleNamespace(equal=True)
    assert keeps_speed([equal]) == "is not slowed down"
    for claims in ([], [unequal], [equal, unequal]):
        with pytest.raises(ValueError, match="no equality"):
            keeps_speed(claims)


def test_no_greater_time_is_faster() -> None:
    """Catches the words of rates on a claim about times, which would name the slower side the faster one."""
    claim: Any = SimpleNamespace(quantity="latency", differ=True, leads=True)
    for words in (difference, faster, slower):
        with pytest.raises(ValueError, match="claim on latency"):
            words(claim)


@pytest.mark.parametrize(
    ("effect", "said"), [(3.9, "3.9 times"), (99.0, "99 times"), (1500.0, "over 100 times")]
)
def test_factors_of_claims(effect: float, said: str) -> None:
    """Catches a factor with digits that nobody needs, and a bound told of small ones."""
    claim: Any = SimpleNamespace(effect=effect, low=effect * 0.9999, high=effect * 1.0001)
    assert by_factor(claim) == said
