"""A sheet of figures for tests of claims, and the verdict of one check on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from byteways.ext.studies.comparison.claims import Verdict, judge
from byteways.ext.studies.comparison.verdicts import FAILS_HERE, HOLDS, UNTESTED
from byteways.ext.studies.published.study import ClaimCheck, PublishedClaim
from byteways.record.simulation_mark import MEASURED, Voice

KIB, MIB, GIB = 2**10, 2**20, 2**30


@dataclass
class Figure:
    """As cells.Ours: GB/s, and the fraction of a peak of 200 GB/s."""

    gb_per_s: float
    peak: float = 200e9  # bytes/s
    half_width: float = 0.0
    assumed: bool = False
    guessed: bool = False
    record: Any = None

    def quantity(self, unit: str) -> float | None:
        return {"GB/s": self.gb_per_s, "of peak": self.gb_per_s / 200, "ns": 1000 / self.gb_per_s}.get(unit)


@dataclass(frozen=True)
class FakePlace:
    name: str


@dataclass(frozen=True)
class FakeLine:
    name: str

    def fits(self, place: FakePlace) -> bool:
        return True


class FakeHardware:
    """Of a real machine like the source's own."""

    simulated = False

    def elsewhere(self, claim: PublishedClaim) -> str:
        return ""

    def own(self, claim: PublishedClaim) -> bool:
        return True

    def contradicted(self, claim: PublishedClaim) -> tuple[str, tuple[str, ...]]:
        return FAILS_HERE, ()


@dataclass
class FakeSheet:
    """Figures by line, place and size; places without devices have no counterpart."""

    figures: Mapping[tuple[str, str, int], float]
    prints: Mapping[tuple[str, str, int], float] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    lines: tuple[str, ...] = ("copy", "kernel", "slow copy")
    places: tuple[str, ...] = ("quad", "dual", "single")
    devices: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # of places; others have two GPUs

    planned: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)  # beyond what is there
    half_width: float = 0.0
    assumed: bool = False
    guessed: bool = False
    voice: Voice = MEASURED
    hardware = FakeHardware()

    @property
    def models(self) -> list[str]:
        return ["m"]

    @property
    def study(self) -> Any:
        named = {name: FakeLine(name) for name in self.lines}, {name: FakePlace(name) for name in self.places}
        return SimpleNamespace(key="fixture", lines=named[0], places=named[1], models=("m",))

    @property
    def located(self) -> dict[str, Any]:
        return {
            name: SimpleNamespace(
                devices=None if name in self.gone else self.devices.get(name, ("gpu0", f"gpu{number}")),
                note="",
                why="",
                reason=f"this machine has no {name} link",
            )
            for number, name in enumerate(self.places, 1)
        }

    def ours(self, line: FakeLine, place: FakePlace) -> dict[int, Figure]:
        return {
            size: Figure(number, half_width=self.half_width, assumed=self.assumed, guessed=self.guessed)
            for (a, b, size), number in self.figures.items()
            if (a, b) == (line.name, place.name)
        }

    def asked(self, line: FakeLine, place: FakePlace) -> list[int]:
        return [*self.ours(line, place), *self.planned.get((line.name, place.name), ())]

    def published(self, line: FakeLine, place: FakePlace) -> list[Any]:
        return [
            SimpleNamespace(
                value=SimpleNamespace(machine="m", same_as="", exactness="exact"),
                size_bytes=size,
                quantity=lambda _, n=number: n,
            )
            for (a, b, size), number in self.prints.items()
            if (a, b) == (line.name, place.name)
        ]

    def stands_for(self, name: str, places: Iterable[str]) -> list[str]:
        return []

    def missing(self, line: FakeLine, place: FakePlace, size: int | None) -> str:
        return f"no {line.name} at {place.name}"


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


def checked(check: Mapping[str, Any]) -> ClaimCheck:
    keys = dict(check)
    return ClaimCheck(keys.pop("kind"), keys)


def verdict(sheet: FakeSheet = SHEET, **check: Any) -> Verdict:
    return judge(PublishedClaim("x", "Sec. 1", (checked(check),), "A sentence."), sheet)  # type: ignore[arg-type]


#: Checks of each kind on SHEET, with their verdict where figures are certain.
CHECKS = [
    ({"kind": "value", "of": "kernel@quad/1GiB", "about": "150 GB/s", "within": 0.05}, HOLDS),
    ({"kind": "value", "of": "kernel@quad/1GiB", "about": "140 GB/s", "within": 0.05}, FAILS_HERE),
    ({"kind": "value", "of": "copy@*/1GiB", "at_most": "52 GB/s"}, HOLDS),
    ({"kind": "value", "of": "*@quad/1GiB", "at_most": "52 GB/s"}, FAILS_HERE),
    ({"kind": "value", "of": "kernel@quad/1GiB", "unit": "of peak", "at_least": 0.76}, HOLDS),
    ({"kind": "value", "of": "kernel@quad/1GiB", "at_least": "77 %"}, FAILS_HERE),
    ({"kind": "value", "of": "copy@quad/1GiB", "published": True, "within": 0.03}, HOLDS),
    ({"kind": "value", "of": "kernel@dual/1GiB", "published": True, "within": 0.03}, FAILS_HERE),
    ({"kind": "value", "of": "slow copy@quad/1GiB", "published": True}, UNTESTED),
    ({"kind": "value", "of": "copy@single/1GiB", "at_most": "52 GB/s"}, UNTESTED),
    ({"kind": "value", "of": "copy@quad/2GiB", "at_most": "52 GB/s"}, UNTESTED),
    ({"kind": "ratio", "of": "kernel@quad/1GiB", "to": "copy@quad/1GiB", "about": 3}, HOLDS),
    ({"kind": "ratio", "of": "kernel@quad/1GiB", "to": "copy@quad/1GiB", "about": 2}, FAILS_HERE),
    ({"kind": "ratio", "of": "kernel@*/1GiB", "to": "copy@*/1GiB", "about": 3}, FAILS_HERE),  # dual: 1.5
    ({"kind": "ratio", "of": "kernel@*/1GiB", "to": "copy@*/1GiB", "over": "most", "about": 3}, HOLDS),
    ({"kind": "ratio", "of": "kernel@*/1GiB", "to": "copy@*/1GiB", "over": "least", "at_most": 2}, HOLDS),
    ({"kind": "ratio", "of": "kernel@quad/1GiB", "to": "copy@single/1GiB", "about": 3}, UNTESTED),
    ({"kind": "ratio", "of": "kernel@dual/1GiB", "to": "copy@quad/*", "at_least": 1.5}, HOLDS),  # equal sizes
    ({"kind": "ratio", "of": "kernel@dual/*", "to": ["copy@quad/1MiB", "slow copy@quad/1MiB"]}, UNTESTED),
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
    ({"kind": "spread", "of": "kernel@*/1GiB", "over": "place", "at_most": 0.05}, FAILS_HERE),
    (
        {"kind": "spread", "of": ["copy@quad/1GiB", "kernel@quad/1GiB"], "over": "line", "at_most": 0.5},
        FAILS_HERE,
    ),
    ({"kind": "spread", "of": "copy@quad/*", "over": "place", "at_most": 0.5}, UNTESTED),
    ({"kind": "spread", "of": "copy@quad/*", "over": "size", "at_most": 0.75}, HOLDS),
    ({"kind": "spread", "of": "copy@quad/*", "over": "size", "at_most": 0.5}, FAILS_HERE),
    ({"kind": "order", "of": ["kernel@quad/1GiB", "copy@quad/1GiB", "slow copy@quad/1GiB"]}, HOLDS),
    ({"kind": "order", "of": ["kernel@dual/1GiB", "copy@dual/1GiB"], "margin": 0.6}, FAILS_HERE),
    ({"kind": "order", "of": ["copy@quad/1GiB", "kernel@quad/1GiB"]}, FAILS_HERE),
    ({"kind": "order", "of": ["kernel@single/1GiB", "copy@quad/1GiB"]}, UNTESTED),
    ({"kind": "reaches", "of": "copy@quad/*", "level": "40 GB/s", "size": "1GiB"}, HOLDS),
    ({"kind": "reaches", "of": "copy@quad/*", "level": "25 GB/s", "size": "1GiB"}, FAILS_HERE),
    ({"kind": "reaches", "of": "copy@quad/*", "level": "60 GB/s", "size": "1GiB"}, FAILS_HERE),
    ({"kind": "reaches", "of": "copy@quad/*", "of_best": 0.5, "size": "1MiB"}, UNTESTED),
]
