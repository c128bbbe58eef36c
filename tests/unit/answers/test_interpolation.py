"""Results between two measured sizes: what their intervals rest on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from byteways.answers.best.interpolation import _spread
from byteways.answers.results.repeatability import Spread
from byteways.answers.results.summary import Result

SHORT_S, LONG_S = 1e-6, 99e-6


def end(size: int, seconds: float, spread: Spread) -> Result:
    found: Any = SimpleNamespace(size_bytes=size, value=size / seconds, spread=spread)
    return cast(Result, found)


def test_an_end_counts_by_its_part_of_the_time() -> None:
    """Catches a noisy short transfer that hides how well the long one is known, which takes most of the time,
    and degrees of freedom that are of another end than the deviation.
    """
    noisy, known = Spread(0.5, 2.0), Spread(0.01, 30.0)
    found = _spread(end(1, SHORT_S, noisy), end(3, LONG_S, known), 0.5)
    part = SHORT_S / (SHORT_S + LONG_S)
    assert found.deviation == pytest.approx(part * 0.5 + (1 - part) * 0.01)
    assert 2.0 < found.freedom < 32.0
    assert _spread(end(1, LONG_S, known), end(3, LONG_S, known), 0.5).deviation == pytest.approx(0.01)
