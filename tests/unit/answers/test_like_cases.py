"""Which cases share an estimate of their variance: the keys of a case, the narrowest first."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

from byteways.answers.results.rounds import NORMAL_95, interval, rounds_of
from byteways.record.record import Record
from byteways.record.warnings import Warning
from tests.changed import replace
from tests.report.few_records import GB, GIB, KIB, MIB, flow, record


def copied(size: int = MIB, ends: tuple[str, str] = ("gpu0:device", "gpu1:device"), **more: Any) -> Record:
    return record("copy", [flow(*ends, "gpu0")], 100 * GB, size, **more)


@pytest.mark.parametrize(
    ("size", "like"),
    [
        (8, 4 * KIB),
        (8, 64 * KIB - 1),
        (64 * KIB, MIB),
        (64 * KIB, 16 * MIB - 1),
        (16 * MIB, GIB),
        (16 * MIB, 64 * GIB),
    ],
)
def test_sizes_of_one_class(size: int, like: int) -> None:
    """Catches a copy that the call decides judged by one that the link decides, and like cases kept apart."""
    (one, *wide), (other, *others) = (rounds_of([copied(each)], [1.0]).groups for each in (size, like))
    assert one == other and wide == others
    for apart in {8, 64 * KIB, 16 * MIB} - {size}:
        found = rounds_of([copied(apart)], [1.0]).groups
        assert found[0] != one and list(found[1:]) == wide


@pytest.mark.parametrize(
    ("changed", "alike"),
    [
        ({"ends": ("gpu2:device", "gpu3:device")}, 0),  # other devices of the same kinds
        ({"category": "explicit"}, 2),  # of the same pair
        ({"executor": "cpu0"}, 2),
        ({"pattern": "ring"}, 3),  # of the same kind of figure
        ({"ends": ("gpu0:device", "gpu0:device")}, 3),
        ({"ends": ("gpu0:device", "cpu0:pinned")}, 3),
        ({"warnings": [Warning("noisy", 0.2, 0.01, "")]}, 4),  # of none
        ({"warnings": [Warning("steal", 0.2, 0.01, "")]}, 4),
        ({"warnings": [Warning("no-such", 0.2, 0.01, "")]}, 0),
    ],
    ids=str,
)
def test_how_far_cases_are_alike(changed: dict[str, Any], alike: int) -> None:
    """Catches a noisy case that widens the intervals of quiet ones, and kinds of transfers that are mixed."""
    one, other = rounds_of([copied()], [1.0]).groups, rounds_of([copied(**changed)], [1.0]).groups
    assert [a == b for a, b in zip(one, other, strict=True)] == [False] * alike + [True] * (4 - alike)


def test_a_warning_of_one_round_is_of_the_case() -> None:
    """Catches a case that is quiet because its first round was."""
    noisy = copied(warnings=[Warning("noisy", 0.2, 0.01, "")])
    assert (
        rounds_of([copied(), noisy], [1.0, 1.0]).groups
        == rounds_of([noisy], [1.0]).groups
        != rounds_of([copied()], [1.0]).groups
    )


def test_what_one_round_says_of_itself() -> None:
    """Catches an interval of times taken for one of rates, and a half-width for a standard error."""
    one = copied()
    assert one.time_ns is not None
    low, high = one.time_ns.ci95
    middle = one.time_ns.median
    assert interval(one) == pytest.approx((100 * GB * middle / high, 100 * GB * middle / low))
    found = rounds_of([one, replace(one, time_ns=None)], [7.0, 8.0])
    assert found.values == (7.0, 8.0)
    assert found.within == pytest.approx(log(high / low) / 2 / NORMAL_95 / 2)
    walk = record("pointer-chase", [flow("gpu0:device", "gpu0:device", "gpu0")], 500.0, MIB)
    assert interval(walk) == pytest.approx((497.5, 502.5))
