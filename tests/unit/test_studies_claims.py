"""The claims engine: every check, every verdict, and the sentence it comes with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.analyse.studies.claims import BUILT_IN, FAILS, HOLDS, UNTESTED, Verdict, judge
from byteways.studies.study import Claim

KIB, MIB, GIB = 2**10, 2**20, 2**30


@dataclass
class Figure:
    """As cells.Ours: GB/s, and the fraction of a peak of 200 GB/s."""

    gb_per_s: float
    peak: float = 200e9  # bytes/s

    def quantity(self, unit: str) -> float | None:
        return {"GB/s": self.gb_per_s, "of peak": self.gb_per_s / 200, "ns": 1000 / self.gb_per_s}.get(unit)


@dataclass
class FakeSheet:
    """Figures by line, place and size; places without agents have no counterpart."""

    figures: Mapping[tuple[str, str, int], float]
    prints: Mapping[tuple[str, str, int], float] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    lines: tuple[str, ...] = ("copy", "kernel", "slow copy")
    places: tuple[str, ...] = ("quad", "dual", "single")
    agents: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # of places; others have two GPUs

    @property
    def study(self) -> Any:
        named = {name: name for name in self.lines}, {name: name for name in self.places}
        return SimpleNamespace(key="fixture", lines=named[0], places=named[1], models=("m",))

    @property
    def located(self) -> dict[str, Any]:
        return {
            name: SimpleNamespace(
                agents=None if name in self.gone else self.agents.get(name, ("gpu0", f"gpu{number}"))
            )
            for number, name in enumerate(self.places, 1)
        }

    def ours(self, line: str, place: str) -> dict[int, Figure]:
        return {
            size: Figure(number) for (a, b, size), number in self.figures.items() if (a, b) == (line, place)
        }

    def published(self, line: str, place: str) -> list[Any]:
        return [
            SimpleNamespace(
                value=SimpleNamespace(machine="m", same_as=""),
                size_bytes=size,
                quantity=lambda _, n=number: n,
            )
            for (a, b, size), number in self.prints.items()
            if (a, b) == (line, place)
        ]

    def missing(self, line: str, place: str, size: int | None) -> str:
        return f"no {line} at {place}"


SHEET = FakeSheet(
    {
        ("copy", "quad", GIB): 51.0,
        ("copy", "dual", GIB): 50.0,
        ("copy", "quad", MIB): 30.0,
        ("kernel", "quad", GIB): 153.0,
        ("kernel", "dual", GIB): 77.0,
        ("kernel", "quad", MIB): 60.0,
        ("slow copy", "quad", GIB): 3.25,
        ("slow copy", "quad", MIB): 0.05,
    },
    {("copy", "quad", GIB): 50.0, ("kernel", "dual", GIB): 100.0},
    gone=("single",),
)


def verdict(sheet: FakeSheet = SHEET, *, built_in: bool = False, **check: Any) -> Verdict:
    kind = check.pop("kind")
    return judge(Claim("x", "says", "Sec. 1", kind, check), sheet, built_in=built_in)  # type: ignore[arg-type]


CHECKS = [
    ({"kind": "value", "of": "kernel@quad/1GiB", "about": "150 GB/s", "within": 0.05}, HOLDS),
    ({"kind": "value", "of": "kernel@quad/1GiB", "about": "140 GB/s", "within": 0.05}, FAILS),
    ({"kind": "value", "of": "copy@*/1GiB", "at_most": "52 GB/s"}, HOLDS),
    ({"kind": "value", "of": "*@quad/1GiB", "at_most": "52 GB/s"}, FAILS),
    ({"kind": "value", "of": "kernel@quad/1GiB", "unit": "of peak", "at_least": 0.76}, HOLDS),
    ({"kind": "value", "of": "kernel@quad/1GiB", "at_least": "77 %"}, FAILS),
    ({"kind": "value", "of": "copy@quad/1GiB", "published": True, "within": 0.03}, HOLDS),
    ({"kind": "value", "of": "kernel@dual/1GiB", "published": True, "within": 0.03}, FAILS),
    ({"kind": "value", "of": "slow copy@quad/1GiB", "published": True}, UNTESTED),
    ({"kind": "value", "of": "copy@single/1GiB", "at_most": "52 GB/s"}, UNTESTED),
    ({"kind": "value", "of": "copy@quad/2GiB", "at_most": "52 GB/s"}, UNTESTED),
    ({"kind": "ratio", "of": "kernel@quad/1GiB", "to": "copy@quad/1GiB", "about": 3}, HOLDS),
    ({"kind": "ratio", "of": "kernel@quad/1GiB", "to": "copy@quad/1GiB", "about": 2}, FAILS),
    ({"kind": "ratio", "of": "kernel@*/1GiB", "to": "copy@*/1GiB", "about": 3}, FAILS),  # dual: 1.5
    ({"kind": "ratio", "of": "kernel@*/1GiB", "to": "copy@*/1GiB", "over": "most", "about": 3}, HOLDS),
    ({"kind": "ratio", "of": "kernel@*/1GiB", "to": "copy@*/1GiB", "over": "least", "at_most": 2}, HOLDS),
    ({"kind": "ratio", "of": "kernel@quad/1GiB", "to": "copy@single/1GiB", "about": 3}, UNTESTED),
    (
        {
            "kind": "ratio",
            "of": "fastest:*@quad/*",
            "to": "slow copy@quad/*",
            "over": "most",
            "at_least": 1000,
        },
        HOLDS,
    ),
    (
        {
            "kind": "ratio",
            "of": "fastest:*@quad/1GiB",
            "to": "slow copy@quad/1GiB",
            "about": 47,
            "within": 0.01,
        },
        HOLDS,
    ),
    ({"kind": "spread", "of": "copy@*/1GiB", "over": "place", "at_most": 0.05}, HOLDS),
    ({"kind": "spread", "of": "kernel@*/1GiB", "over": "place", "at_most": 0.05}, FAILS),
    ({"kind": "spread", "of": ["copy@quad/1GiB", "kernel@quad/1GiB"], "over": "line", "at_most": 0.5}, FAILS),
    ({"kind": "spread", "of": "copy@quad/*", "over": "place", "at_most": 0.5}, UNTESTED),
    ({"kind": "spread", "of": "copy@quad/*", "over": "size", "at_most": 0.75}, HOLDS),
    ({"kind": "spread", "of": "copy@quad/*", "over": "size", "at_most": 0.5}, FAILS),
    ({"kind": "order", "of": ["kernel@quad/1GiB", "copy@quad/1GiB", "slow copy@quad/1GiB"]}, HOLDS),
    ({"kind": "order", "of": ["kernel@dual/1GiB", "copy@dual/1GiB"], "margin": 0.6}, FAILS),
    ({"kind": "order", "of": ["copy@quad/1GiB", "kernel@quad/1GiB"]}, FAILS),
    ({"kind": "order", "of": ["kernel@single/1GiB", "copy@quad/1GiB"]}, UNTESTED),
    ({"kind": "reaches", "of": "copy@quad/*", "level": "40 GB/s", "size": "1GiB"}, HOLDS),
    ({"kind": "reaches", "of": "copy@quad/*", "level": "25 GB/s", "size": "1GiB"}, FAILS),
    ({"kind": "reaches", "of": "copy@quad/*", "level": "60 GB/s", "size": "1GiB"}, FAILS),
    ({"kind": "reaches", "of": "copy@quad/*", "of_best": 0.5, "size": "1MiB"}, UNTESTED),
]


@pytest.mark.parametrize(("check", "wanted"), CHECKS, ids=[str(check) for check, _ in CHECKS])
def test_verdicts(check: dict[str, Any], wanted: str) -> None:
    """Would catch a bound that is not looked at, figures of two places paired, or a gap taken for one."""
    assert verdict(**check).verdict == wanted


def test_only_what_holds_is_built_in() -> None:
    """A model that contradicts the source it was fitted to is news; one that agrees is none."""
    check = {"kind": "value", "of": "copy@quad/1GiB"}
    assert verdict(**check, at_most="52 GB/s", built_in=True).verdict == BUILT_IN
    assert verdict(**check, at_most="50 GB/s", built_in=True).verdict == FAILS
    assert verdict(kind="value", of="copy@single/1GiB", at_most="1 GB/s", built_in=True).verdict == UNTESTED


def test_details_say_figures_and_what_was_wanted() -> None:
    """The sentence is what a reader checks the verdict by."""
    found = verdict(kind="ratio", of="kernel@quad/1GiB", to="copy@quad/1GiB", about=3, within=0.1)
    assert found.detail == "3× (kernel, quad, 1 GiB to copy, quad); wanted 3 ± 10 %"
    found = verdict(kind="value", of="copy@*/1GiB", at_most="52 GB/s")
    assert found.detail == (
        "2 figures from 50.00 GB/s (copy, dual, 1 GiB) to 51.00 GB/s (copy, quad, 1 GiB); "
        "wanted at most 52 GB/s; without single, which has no counterpart here"
    )
    assert (
        verdict(kind="value", of="copy@single/1GiB", at_most="1 GB/s").detail == "because no copy at single"
    )


def test_a_reference_that_names_nothing_is_a_mistake_of_the_study() -> None:
    """A misspelt line would otherwise be 'cannot be tested here' for ever."""
    for reference in ("kopy@quad/1GiB", "copy@quat/1GiB", "copy"):
        with pytest.raises(ValueError, match="fixture"):
            verdict(kind="value", of=reference, at_most="1 GB/s")


SAME = {("copy", "quad", GIB): 50.0, ("copy", "dual", GIB): 50.0}


def test_one_pair_that_stands_for_two_places_is_not_compared_with_itself() -> None:
    sheet = FakeSheet(SAME, agents={"quad": ("gpu0", "gpu1"), "dual": ("gpu0", "gpu1")})
    found = verdict(sheet, kind="spread", of="copy@*/1GiB", over="place", at_most=0.05)
    assert found.verdict == UNTESTED


def test_no_effect_of_numa_takes_two_domains() -> None:
    check = {"kind": "spread", "of": "copy@*/1GiB", "over": "place", "across": "cpu", "at_most": 0.05}
    one = FakeSheet(SAME, agents={"quad": ("cpu0", "gpu0"), "dual": ("cpu0", "gpu1")})
    two = FakeSheet(SAME, agents={"quad": ("cpu0", "gpu0"), "dual": ("cpu1", "gpu0")})
    assert verdict(one, **check).detail == (
        "because it takes two NUMA domains, and the figures of this run are of one"
    )
    assert verdict(two, **check).verdict == HOLDS


def test_a_ceiling_takes_a_link_that_carries_more() -> None:
    found = verdict(kind="value", of="copy@quad/1GiB", at_most="300 GB/s")
    assert (found.verdict, found.detail) == (
        UNTESTED,
        "because the links here carry no more in any case: 200.0 GB/s",
    )


def test_what_was_measured_alone_is_not_the_fastest() -> None:
    check = {"kind": "ratio", "of": "copy@quad/1GiB", "to": "fastest:*@quad/1GiB", "at_least": 0.97}
    assert verdict(FakeSheet(SAME), **check).verdict == UNTESTED


def test_a_size_is_reached_only_between_others() -> None:
    rising = {("copy", "quad", size): rate for size, rate in ((KIB, 10.0), (MIB, 50.0), (GIB, 51.0))}
    check = {"kind": "reaches", "of": "copy@quad/*", "of_best": 0.9, "size": "1MiB"}
    without = [{key: rate for key, rate in rising.items() if key[2] != gone} for gone in (KIB, GIB)]
    assert verdict(FakeSheet(rising), **check).verdict == HOLDS
    assert [verdict(FakeSheet(some), **check).verdict for some in without] == [UNTESTED, UNTESTED]
