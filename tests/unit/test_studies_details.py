"""What every check of a claim says: its verdict at and beside the bound, the figures, and what was wanted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways.explain.studies import topic as study_topic
from byteways.explain.studies.numbers import size_of
from byteways.explain.studies.outcome import FigureOutcome
from byteways.explain.studies.rows import ValueRow
from byteways.explain.studies.scope import scope
from byteways.explain.studies.verdicts import FAILS_HERE as FAILS
from byteways.explain.studies.verdicts import HOLDS, UNTESTED
from tests.report.run_builder import GIB, MIB
from tests.unit import machines
from tests.unit.study_sheet import verdict

QUAD, ALL = "copy@quad/1GiB", "copy@*/1GiB"
KERNEL, KERNELS = "kernel@quad/1GiB", "kernel@*/1GiB"
BOTH = "2 values from 0.77 × published (kernel, dual, 1 GiB) to 1.02 × published (copy, quad, 1 GiB)"
RANGE = "2 values from 1.54× (kernel, dual, 1 GiB to copy, dual) to 3× (kernel, quad, 1 GiB to copy, quad)"
REACHED = "40 GB/s is reached from 1 GiB; expected {}, within a factor of {}"

VALUES = [
    ({"of": QUAD, "about": "56 GB/s"}, HOLDS, "51.00 GB/s (copy, quad, 1 GiB); expected 56 GB/s ± 10 %"),
    ({"of": QUAD, "about": "57 GB/s"}, FAILS, "51.00 GB/s (copy, quad, 1 GiB); expected 57 GB/s ± 10 %"),
    ({"of": QUAD, "about": "47 GB/s"}, HOLDS, "51.00 GB/s (copy, quad, 1 GiB); expected 47 GB/s ± 10 %"),
    ({"of": QUAD, "about": "46 GB/s"}, FAILS, "51.00 GB/s (copy, quad, 1 GiB); expected 46 GB/s ± 10 %"),
    (
        {"of": QUAD, "at_least": "51 GB/s", "at_most": "51 GB/s"},
        HOLDS,
        "51.00 GB/s (copy, quad, 1 GiB); expected at least 51 GB/s and at most 51 GB/s",
    ),
    ({"of": QUAD, "at_most": "200 GB/s"}, UNTESTED, "because the links here allow no more: 200.0 GB/s"),
    ({"of": QUAD, "at_most": "199 GB/s"}, HOLDS, "51.00 GB/s (copy, quad, 1 GiB); expected at most 199 GB/s"),
    ({"of": KERNEL, "at_least": "77 %"}, FAILS, "76.5 % (kernel, quad, 1 GiB); expected at least 77 %"),
    (
        {"of": KERNEL, "unit": "of peak", "about": 0.8},
        HOLDS,
        "76.5 % (kernel, quad, 1 GiB); expected 80 % ± 10 %",
    ),
    (
        {"of": "*@quad/1GiB", "at_most": "52 GB/s"},
        FAILS,
        "3 values from 3.25 GB/s (slow copy, quad, 1 GiB) to 153.0 GB/s (kernel, quad, 1 GiB); "
        "expected at most 52 GB/s",
    ),
    (
        {"of": QUAD, "published": True, "within": 0.03},
        HOLDS,
        "51.00 GB/s, 1.02 × the published 50.00 GB/s (copy, quad, 1 GiB); expected ± 3 %",
    ),
    (
        {"of": [QUAD, "kernel@dual/1GiB"], "published": True, "within": 0.25},
        HOLDS,
        f"{BOTH}; expected ± 25 %",
    ),
    ({"of": [QUAD, "kernel@dual/1GiB"], "published": True}, FAILS, f"{BOTH}; expected ± 10 %"),
]

RATIOS = [
    (
        {"of": KERNELS, "to": ALL, "at_least": 1.5, "at_most": 3},
        HOLDS,
        f"{RANGE}; expected at least 1.5 and at most 3",
    ),
    ({"of": KERNELS, "to": ALL, "about": 3}, FAILS, f"{RANGE}; expected 3 ± 10 %"),
    (
        {"of": KERNELS, "to": ALL, "over": "most", "at_most": 2},
        FAILS,
        "at most 3× (kernel, quad, 1 GiB to copy, quad); expected at most 2",
    ),
    (
        {"of": KERNELS, "to": ALL, "over": "least", "at_most": 2},
        HOLDS,
        "at least 1.54× (kernel, dual, 1 GiB to copy, dual); expected at most 2",
    ),
    # One each: whatever their sizes and places are.
    (
        {"of": KERNEL, "to": "copy@quad/1MiB", "at_least": 5},
        HOLDS,
        "5.1× (kernel, quad, 1 GiB to copy, quad); expected at least 5",
    ),
    # One place to compare with: at equal sizes.
    (
        {"of": "kernel@dual/1GiB", "to": "copy@quad/*", "at_least": 1.5},
        HOLDS,
        "1.51× (kernel, dual, 1 GiB to copy, quad); expected at least 1.5",
    ),
    (
        {"of": "kernel@dual/*", "to": ["copy@quad/1MiB", "slow copy@quad/1MiB"], "at_least": 1.5},
        UNTESTED,
        "because this run has no two comparable values",
    ),
]

SPREADS = [
    (
        {"of": ALL, "over": "place", "at_most": 0.021},
        HOLDS,
        "2 values differ by at most 2.0 % (copy, quad, 1 GiB over copy, dual, 1 GiB); expected at most 2.1 %",
    ),
    (
        {"of": ALL, "over": "place", "at_most": 0.019},
        FAILS,
        "2 values differ by at most 2.0 % (copy, quad, 1 GiB over copy, dual, 1 GiB); expected at most 1.9 %",
    ),
    (
        {"of": [ALL, KERNELS], "over": "place", "at_most": 1.0},
        HOLDS,
        "4 values differ by at most 98.7 % (kernel, quad, 1 GiB over kernel, dual, 1 GiB); "
        "expected at most 100 %",
    ),
    (
        {"of": [ALL, KERNELS], "over": "line", "at_most": 1.9},
        FAILS,
        "4 values differ by at most 200.0 % (kernel, quad, 1 GiB over copy, quad, 1 GiB); "
        "expected at most 190 %",
    ),
    (
        {"of": ALL, "over": "line", "at_most": 2.0},
        UNTESTED,
        "because it needs two lines, and this run has one: without single: this machine has no single link",
    ),
    (
        {"of": ALL, "over": "place", "at_most": 0.05, "across": "gpu"},
        HOLDS,
        "2 values differ by at most 2.0 % (copy, quad, 1 GiB over copy, dual, 1 GiB); expected at most 5 %",
    ),
    (
        {"of": ALL, "over": "place", "at_most": 0.05, "across": "cpu"},
        UNTESTED,
        "because it needs two NUMA domains, and this run's values come from one",
    ),
]

ORDERS = [
    (
        {"of": [KERNELS, ALL]},
        HOLDS,
        "77.00 GB/s (kernel, dual) > 51.00 GB/s (copy, quad); expected in this decreasing order",
    ),
    (
        {"of": [KERNELS, ALL], "margin": 0.5},
        HOLDS,
        "77.00 GB/s (kernel, dual) > 51.00 GB/s (copy, quad); "
        "expected in this decreasing order, each by 50 % at least",
    ),
    (
        {"of": [KERNELS, ALL], "margin": 0.52},
        FAILS,
        "77.00 GB/s (kernel, dual), 51.00 GB/s (copy, quad); "
        "expected in this decreasing order, each by 52 % at least",
    ),
    (
        {"of": [QUAD, QUAD]},
        FAILS,
        "51.00 GB/s (copy, quad), 51.00 GB/s (copy, quad); expected in this decreasing order",
    ),
]

SIZES = [
    ({"level": "40 GB/s", "size": "512MiB"}, HOLDS, REACHED.format("512 MiB", 2)),
    ({"level": "40 GB/s", "size": "2GiB"}, HOLDS, REACHED.format("2 GiB", 2)),
    ({"level": "40 GB/s", "size": "256MiB"}, FAILS, REACHED.format("256 MiB", 2)),
    ({"level": "40 GB/s", "size": "4GiB"}, FAILS, REACHED.format("4 GiB", 2)),
    ({"level": "40 GB/s", "size": "256MiB", "factor": 4}, HOLDS, REACHED.format("256 MiB", 4)),
    (
        {"level": "51 GB/s", "size": "1GiB"},
        HOLDS,
        "51 GB/s is reached from 1 GiB; expected 1 GiB, within a factor of 2",
    ),
    ({"level": "52 GB/s", "size": "1GiB"}, FAILS, "52 GB/s is never reached: 51 GB/s at most"),
    (
        {"of_best": 0.5, "size": "1MiB"},
        UNTESTED,
        "because no size below 1 MiB was measured, where it is already reached",
    ),
    (
        {"of_best": 1.0, "size": "512MiB"},
        UNTESTED,
        "because no size above 1 GiB was measured, where it may still rise",
    ),
    (
        {"of_best": 1.0, "size": "256MiB"},
        FAILS,
        "100 % of the highest value, 51 GB/s is reached from 1 GiB; expected 256 MiB, within a factor of 2",
    ),
]

ROWS = [
    *(({"kind": "value", **check}, wanted, said) for check, wanted, said in VALUES),
    *(({"kind": "ratio", **check}, wanted, said) for check, wanted, said in RATIOS),
    *(({"kind": "spread", **check}, wanted, said) for check, wanted, said in SPREADS),
    *(({"kind": "order", **check}, wanted, said) for check, wanted, said in ORDERS),
    *(({"kind": "reaches", "of": "copy@quad/*", **check}, wanted, said) for check, wanted, said in SIZES),
]


@pytest.mark.parametrize(("check", "wanted", "said"), ROWS, ids=[str(check) for check, _, _ in ROWS])
def test_details(check: dict[str, Any], wanted: str, said: str) -> None:
    """Catches a bound that is off by a factor or excluded, the wrong figure named of several, figures paired
    that differ in place or size, and words of a check that are not what it does.
    """
    found = verdict(**check)
    assert (found.verdict, found.detail) == (wanted, said)


def row(line: str, size: int, ours: float | None, of_peak: float | None = None) -> ValueRow:
    return ValueRow(line, "quad", size, None, False, "m", ours, None, "", "", of_peak)


def figure(*rows: ValueRow) -> FigureOutcome:
    told: Any = SimpleNamespace(title="Copies", locator="Fig. 3", unit="GB/s")
    return FigureOutcome(told, rows, (), {}, {}, ("a note", "another"))


def test_map_of_a_study() -> None:
    """Catches a shade beyond the range of the table, and a missing value taken for the lowest."""
    found = study_topic._map(
        figure(
            row("copy", MIB, 10.0),
            row("copy", GIB, 30.0, 0.6),
            row("kernel", GIB, 20.0),
            row("kernel", MIB, None),
        )
    )
    assert found.title == "Copies (Fig. 3), measured, GB/s and part of the peak"
    assert found.headings == ("method", "1 MiB", "1 GiB")
    assert found.rows == (("copy", "10", "30 (60.0 %)"), ("kernel", "–", "20"))
    assert found.heat == ((None, 0.0, 1.0), (None, None, 0.5))
    assert found.note == "a note; another"


def test_map_of_equal_values() -> None:
    """Catches a division by a range of nothing."""
    found = study_topic._map(figure(row("copy", MIB, 10.0), row("copy", GIB, 10.0)))
    assert found.heat == ((None, 0.0, 0.0),)
    assert found.title == "Copies (Fig. 3), measured, GB/s"


@pytest.mark.parametrize(
    ("kind", "named", "possible"),
    [("matrix", ("gpu0", "gpu1"), True), ("matrix", None, False), ("values", ("gpu0", "gpu1"), False)],
)
def test_figures_without_a_place(
    kind: str, named: Any, possible: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a figure said to be possible where no device has its place: names alone do for a matrix."""
    place = SimpleNamespace(devices=None, named=named, why="no such link", reason="no such link")
    monkeypatch.setattr("byteways.explain.studies.scope.locate", lambda study, topology: {"p": place})
    study: Any = SimpleNamespace(figures=[SimpleNamespace(kind=kind, places=("p",), locator="Fig. 1")])
    found = scope(study, machines.h200x4()[0])
    assert (found.possible == ("Fig. 1",)) == possible


@pytest.mark.parametrize(
    ("size", "said"),
    [(4096, "4 KiB"), (100_000, "100 kB"), (8_000_000, "8 MB"), (1000, "1000 B"), (1500, "1.465 KiB")],
)
def test_sizes_in_powers_of_ten(size: int, said: str) -> None:
    """Catches a size of a publication told with digits that it does not have."""
    assert size_of(size).replace("\N{NO-BREAK SPACE}", " ") == said
