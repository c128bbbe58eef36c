"""validation/planted_links.py: what it plants, counts, and takes for a miss."""

from __future__ import annotations

from pathlib import Path

import pytest

import planted_links
from planted_links import FRACTIONS, Planted
from tests.changed import replace
from tests.unit.verdicts.test_comparison import Rate, folder_of, pairs_run

FOUND = Planted("a-b", 0.8, 24, 12, 0, "a-b", ("a-b",))


def test_each_link_is_slowed_twice() -> None:
    """Catches a loss that is never planted, and one link that is planted with one loss alone."""
    cases = [*planted_links.plan(["a-b", "b-c", "c-d"])]
    assert {fraction for _, fraction in cases} == {*FRACTIONS}
    assert [link for link, _ in cases] == ["a-b", "a-b", "b-c", "b-c", "c-d", "c-d"]


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, False),
        ({"named": "b-c"}, True),
        ({"named": ""}, True),
        ({"alone": ()}, True),
        ({"alone": (), "fraction": 0.97}, False),
        ({"alone": ("a-b", "b-c")}, True),
        ({"link": "", "slower": 0, "named": "", "alone": ()}, False),
        ({"link": "", "slower": 1, "alone": ()}, True),
        ({"link": "", "slower": 0}, True),
    ],
)
def test_what_is_missed(changed: dict[str, object], missed: bool) -> None:
    """Catches a validation that passes whatever is named, by two runs or by one."""
    assert replace(FOUND, **changed).missed is missed


@pytest.mark.parametrize("slow", [True, False])
def test_a_run_is_judged(tmp_path: Path, slow: bool) -> None:
    """Catches names that are read from another run than the planted one."""
    rate: Rate = lambda a, b: 300.0 if slow and {a, b} == {"gpu1", "gpu2"} else 396.0  # noqa: E731
    runs = [folder_of(build, tmp_path / name) for build, name in ((pairs_run(), "a"), (pairs_run(rate), "b"))]
    found = planted_links.judge(*runs, "gpu1-gpu2" if slow else "", 0.8)
    assert (found.compared, found.slower, found.faster) == (24, 4 * slow, 0)
    assert found.named == found.link and found.false_alarms == 0
