"""Claims: like with like, pair by pair, simultaneous, and ties named as ties."""

from __future__ import annotations

import random
from itertools import pairwise
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import pytest

from byteways.answers.best.ranking import rank
from byteways.answers.best.wording_rankings import better_way, margin
from byteways.answers.claims.claim import LEADS, MIXED, NOT_COMPARED, TIE, TRAILS, Claim
from byteways.answers.claims.compare import compare, moved, summed
from byteways.answers.claims.phrases import supported
from byteways.answers.claims.wording import by_factor, faster, no_loss
from byteways.answers.results.index import Index
from byteways.answers.results.repeatability import Spread, for_many, student
from byteways.answers.results.summary import Result, cells, pool
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from byteways.record.warnings import Warning
from tests.changed import replace
from tests.report import sample_run
from tests.report.few_records import GB, GIB, MIB, flow, in_rounds, record


def on(path: tuple[str, str], rate: float, interface: str = "copy", **more: object) -> Record:
    ends = (f"{path[0]}:device", f"{path[1]}:device", path[0])
    return record(interface, [flow(*ends)], rate * GB, GIB, **more)  # type: ignore[arg-type]


def found(*records: Record) -> list[Result]:
    return cells(in_rounds(records))


PAIRS = [("gpu0", "gpu1"), ("gpu0", "gpu2"), ("gpu1", "gpu2"), ("gpu1", "gpu0")]


def beside(ones: list[float], others: list[float]) -> Claim:
    """Copy beside kernel, a path each."""
    copies = found(*(on(path, rate) for path, rate in zip(PAIRS, ones, strict=False)))
    kernels = found(*(on(path, rate, "kernel") for path, rate in zip(PAIRS, others, strict=False)))
    return compare(pool(copies), pool(kernels))


def test_a_lead_holds_path_by_path() -> None:
    """Catches a lead of medians over paths where one interface is ahead on some and the other on others."""
    whole = beside([400.0, 401.0, 402.0], [300.0, 301.0, 302.0])
    assert (whole.verdict, whole.pairs, whole.agree, whole.unanimous) == (LEADS, 3, 3, True)
    mixed = beside([400.0, 400.0, 400.0, 400.0], [300.0, 300.0, 300.0, 500.0])
    assert (mixed.verdict, mixed.agree, mixed.against) == (MIXED, 3, 1)
    most = beside([400.0, 400.0, 400.0, 400.0], [300.0, 300.0, 300.0, 400.0])
    assert (most.verdict, most.agree, most.unanimous) == (LEADS, 3, False)


def test_different_paths_are_not_compared() -> None:
    """Catches "vmm is 4 times as fast as pool" of two different links."""
    (first,), (second,) = found(on(PAIRS[0], 152.0)), found(on(PAIRS[1], 38.0, "kernel"))
    claim = compare(first, second)
    assert (claim.verdict, claim.reason) == (NOT_COMPARED, "no path in common")


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"cache": "warm"}, "of different cache"),
        ({"counts": "read+write"}, "of different counts"),
        ({"pattern": "fan-out"}, "of different pattern"),
        ({"options": {"timing": "osu"}}, "of different timing"),
    ],
)
def test_unlike_results_are_not_compared(other: dict[str, Any], reason: str) -> None:
    """Catches warm caches beside cold ones, bytes that are counted twice beside bytes that are not, and the
    mean of OSU's loop beside our median.
    """
    (first,), (second,) = found(on(PAIRS[0], 400.0)), found(on(PAIRS[0], 300.0, "kernel", **other))
    claim = compare(first, second)
    assert (claim.verdict, claim.reason) == (NOT_COMPARED, reason)


def test_sizes_are_compared_only_on_purpose() -> None:
    """Catches a latency hierarchy that is refused, and a transfer of 1 MiB beside one of 1 GiB."""
    (small,), (large,) = (
        found(record("copy", [flow("gpu0:device", "gpu1:device", "gpu0")], 9 * GB, MIB)),
        found(on(PAIRS[0], 300.0)),
    )
    assert compare(small, large).verdict == NOT_COMPARED
    assert compare(large, small, across=("size",)).leads


def test_one_round_ranks_nothing() -> None:
    """Catches a single round that is called the best: equal ways are told apart in a quarter of trials."""
    one = cells([on(PAIRS[0], 400.0), on(PAIRS[0], 300.0, "kernel")])
    assert compare(one[0], one[1]).verdict == NOT_COMPARED
    assert rank(one) is None


def test_less_than_one_percent_is_a_tie() -> None:
    """Catches a lead of 0.077 % that is sure and that nobody can use."""
    sure = [replace(one, time_ns=None) for one in (on(PAIRS[0], 400.0), on(PAIRS[0], 398.0, "kernel"))]
    first, second = found(*sure)
    claim = compare(first, second)
    assert claim.low > 1 and claim.verdict == TIE and claim.equal


def test_a_shared_variance_counts_once() -> None:
    """Catches two results judged by the same estimate of their variance as if there were two: of two equal
    ways one led in 6 % of trials.
    """
    first, second = found(on(PAIRS[0], 406.0), on(PAIRS[0], 400.0, "kernel"))

    def half_width(*, shared: bool) -> float:
        spread = Spread(0.01, 5.0, shared)
        claim = compare(replace(first, spread=spread), replace(second, spread=spread))
        return claim.high / claim.effect

    apart = student(for_many(1), 10.0) * sqrt(2) * Spread(0.01, 5.0).of_median(3)
    once = student(for_many(1), 5.0) * sqrt(2) * Spread(0.01, 5.0).of_median(3)
    assert half_width(shared=False) == pytest.approx(exp(apart))
    assert half_width(shared=True) == pytest.approx(exp(once))


def test_equal_ways_are_seldom_told_apart() -> None:
    """Catches intervals that hold for one comparison at a time: among six equal ways one always leads."""
    random_ = random.Random(3)
    names = ("copy", "kernel", "kernel-bulk", "torch-copy", "memcpy", "memcpy-mt")
    told = 0
    for _ in range(120):
        records = [
            replace(on(PAIRS[0], 400.0 * exp(random_.gauss(0.0, 0.01)), name), round=number, time_ns=None)
            for name in names
            for number in range(3)
        ]
        ranking = rank(cells(records))
        assert ranking is not None
        told += bool(ranking.slower)
    assert told <= 0.05 * 120 + 4


def test_a_way_that_needs_settings_stands_beside_the_best_without() -> None:
    """Catches "copy 65.5 GB/s" that needs HSA_ENABLE_SDMA=0 where a program gets 34 by default."""
    ranking = rank(
        found(
            on(PAIRS[0], 65.5, environment={"HSA_ENABLE_SDMA": "0"}),
            on(PAIRS[0], 34.0),
            on(PAIRS[0], 62.0, "kernel"),
        )
    )
    assert ranking is not None and ranking.default is not None
    assert ranking.variant.environment == {"HSA_ENABLE_SDMA": "0"}
    assert ranking.default.variant.interface == "kernel"
    title, _ = better_way(ranking, "Between GPUs", GIB)
    assert title == (
        "Between GPUs, copy (HSA_ENABLE_SDMA=0) is fastest at 1 GiB: 65.5 GB/s; "
        "with default settings kernel reaches 62"
    )


def test_settings_that_gain_nothing_are_not_named() -> None:
    """Catches advice to set an option beside which the plain way is as fast."""
    ranking = rank(found(on(PAIRS[0], 400.5, options={"blocks": 8}), on(PAIRS[0], 400.0)))
    assert ranking is not None and not ranking.variant.options and len(ranking.ties) == 1
    assert margin(ranking) == "no alternative at this size"
    fast = of_rounds("copy", 400, 440, 484, options={"blocks": 8})
    noisy = rank(cells([*of_rounds("copy", 320, 400, 480), *fast]))
    assert noisy is not None and not noisy.variant.options
    assert noisy.ties[0].claim.undecided


@pytest.mark.parametrize(
    ("rates", "first"),
    [
        ({"pinned": 50.0, "registered": 50.1, "write-combined": 50.2}, "pinned"),
        ({"pinned": 45.0, "registered": 50.1}, "registered"),
        ({"registered": 50.0, "write-combined": 50.1}, "write-combined"),
    ],
)
def test_memory_that_programs_have_by_default_wins_ties(rates: dict[str, float], first: str) -> None:
    """Catches "with registered memory" as the best beside pinned memory that is as fast, and the reverse."""
    ranking = rank(
        found(
            *(
                record("copy", [flow(f"cpu0:{memory}", "gpu0:device", "gpu0")], rate * GB, GIB)
                for memory, rate in rates.items()
            )
        )
    )
    assert ranking is not None and ranking.variant.source == first


def of_rounds(interface: str, *rates: float, **more: object) -> list[Record]:
    """A result whose rounds have these rates."""
    return [
        replace(on(PAIRS[0], rate, interface, access="write", **more), round=number, time_ns=None)
        for number, rate in enumerate(rates)
    ]


def test_the_usual_method_wins_ties_that_are_decided() -> None:
    """Catches a kernel named beside an equally fast copy, and a copy named that may be a quarter slower."""
    ends = PAIRS[0]
    equal = rank(found(on(ends, 400.2, "kernel", access="write"), on(ends, 400.0, access="write")))
    assert equal is not None and equal.variant.interface == "copy"
    noisy = rank(cells([*of_rounds("kernel", 320, 400, 480), *of_rounds("copy", 264, 330, 396)]))
    assert noisy is not None and noisy.ties[0].claim.undecided
    assert noisy.variant.interface == "kernel"


def test_a_tie_that_another_method_leads_is_not_named() -> None:
    """Catches the usual method as the best because it ties with a noisy one, where a third one leads it."""
    steady = [*of_rounds("copy", 394, 394.2, 394.4), *of_rounds("kernel-bulk", 402, 402.2, 402.4)]
    ranking = rank(cells([*of_rounds("torch-copy", 400, 404, 408), *steady]))
    assert ranking is not None and ranking.variant.interface != "copy"
    two = rank(cells([*of_rounds("torch-copy", 400, 404, 408), *steady[:3]]))
    assert two is not None and two.variant.interface == "copy"


def test_a_way_of_one_path_does_not_stand_for_all() -> None:
    """Catches the best of twelve pairs named after an option that was tried on one of them."""
    many = [on(path, 380.0) for path in PAIRS]
    ranking = rank(found(*many, on(PAIRS[0], 400.0, options={"submit": "batch"})))
    assert ranking is not None and not ranking.variant.options
    assert [one.claim.second.paths for one in ranking.elsewhere] == [("gpu0>gpu1",)]


def test_results_beyond_the_limit_are_void(tmp_path: Path) -> None:
    """Catches 692 GB/s over a link of 450 that is ranked, quoted or drawn, and a run that is silent on it."""
    build = sample_run.Builder(sample_run.topology(2))
    pair = [("gpu0:device", "gpu1:device", "gpu0")]
    build.measure("copy", pair, 692.0, warnings=[Warning("beyond-limit", 692e9, 450e9, "Void.")])
    build.measure("kernel", pair, 370.0)
    index = Index(RunFolder(build.write(tmp_path)))
    assert [cell.record.interface for cell in index.cells] == ["kernel"]
    assert [one.interface for one in index.void] == ["copy"]
    titles = sample_run.sentences(build, tmp_path / "again")
    assert titles[0] == "1 result beyond the physical limit: void and not ranked"
    assert not any("692" in title for title in titles)


def test_sums_are_as_sure_as_their_parts() -> None:
    """Catches the sum of two flows alone that is taken for exact, or for as unsure as its worst part."""
    quiet, noisy = found(on(PAIRS[0], 400.0), on(PAIRS[1], 400.0))
    noisy = replace(noisy, spread=replace(noisy.spread, deviation=0.1))
    whole = summed([quiet, noisy])
    assert whole.value == 800 * GB
    assert whole.spread.deviation == pytest.approx(0.05, rel=0.01)


@pytest.mark.parametrize("beyond", [1.0, 1.2])
def test_directions_add_up_to_their_sum(beyond: float) -> None:
    """Catches a sum of one round beside directions of another, and medians, which do not add up."""
    paths = ("gpu0>gpu1", "gpu1>gpu0")
    flows = [flow("gpu0:device", "gpu1:device", "gpu0"), flow("gpu1:device", "gpu0:device", "gpu1")]
    both = [
        record(
            "copy",
            flows,
            sum(rates) * GB,
            GIB,
            round=number,
            pattern="bidirectional",
            counts="sum-of-directions",
            directions=dict(zip(paths, (beyond * rate * GB for rate in rates), strict=True)),
        )
        for number, rates in enumerate(((80.0, 82.0), (90.0, 83.3), (120.0, 70.0)))
    ]
    (cell,) = cells(both)
    assert cell.value == pytest.approx(173.3 * GB)
    assert sum(cell.directions.values()) == pytest.approx(cell.value)
    assert all(part.low < part.value < part.high for part in cell.parts.values())


@pytest.mark.parametrize("rounds", [6, 30])
def test_a_steady_series_seldom_moves(rounds: int) -> None:
    """Catches "moved" said of six rounds in which nothing changed: a third of them had it."""
    random_ = random.Random(4)
    told = 0
    for _ in range(40):
        series = []
        for number in range(12):
            values = [400 * GB * exp(random_.gauss(0.0, 0.01)) for _ in range(rounds)]
            (cell,) = found(on(PAIRS[0], values[0] / GB, case_id=str(number)))
            series.append((cell, values))
        told += any(claim.differ for claim in moved(series))
    assert told <= 5


def test_a_slow_drift_moves() -> None:
    """Catches neighbouring rounds so alike that a fall of 3 % over an hour is none."""
    random_ = random.Random(5)
    values = [400 * GB * (1 - 0.001 * number) * exp(random_.gauss(0.0, 0.002)) for number in range(30)]
    (cell,) = found(on(PAIRS[0], 400.0))
    (claim,) = moved([(cell, values)])
    assert claim.trails and claim.effect == pytest.approx(0.98, abs=0.002)


@pytest.mark.parametrize(
    ("rounds", "third", "freedom"), [(3, 1, 1), (4, 1, 2), (6, 2, 3), (9, 3, 5), (10, 3, 6), (12, 4, 7)]
)
def test_the_thirds_of_a_series(rounds: int, third: int, freedom: int) -> None:
    """Catches ends of the wrong length, and steps counted as if they were independent: rounds that alternate
    by 2 % around a rise differ by the rise, within Student's t of two thirds of the steps.
    """
    values = [400 * GB * exp(0.01 * (-1) ** number) for number in range(rounds)]
    values[-third:] = [value * exp(0.5) for value in values[-third:]]
    (cell,) = found(on(PAIRS[0], 400.0))
    (claim,) = moved([(cell, values)])
    early, late = (
        exp(sum(log(value) for value in some) / third) for some in (values[:third], values[-third:])
    )
    steps = [log(b / a) for a, b in pairwise(values)]
    deviation = sqrt(sum(step**2 for step in steps) / len(steps) / 2)
    half = student(for_many(1), freedom) * deviation * sqrt(2 / third)
    assert claim.effect == pytest.approx(late / early)
    assert (claim.low, claim.high) == pytest.approx((claim.effect * exp(-half), claim.effect * exp(half)))
    assert [(one.name, one.value) for one in (claim.first, claim.second)] == [
        ("last third", pytest.approx(late)),
        ("first third", pytest.approx(early)),
    ]
    ends = (claim.first.low, claim.first.high)
    assert ends == pytest.approx((late * exp(-half), late * exp(half)))
    assert (claim.kind, claim.comparisons, claim.pairs) == ("moved", 1, 1)


@pytest.mark.parametrize(
    ("ratio", "half", "verdict"),
    [
        (1.02, 0.001, LEADS),
        (1.02, 0.03, TIE),
        (0.98, 0.001, TRAILS),
        (0.98, 0.03, TIE),
        (1.009, 0.001, TIE),
        (1 / 1.009, 0.001, TIE),
    ],
)
def test_the_least_lead(ratio: float, half: float, verdict: str) -> None:
    """Catches a lead below 1 %, and one that is within its interval."""
    first, second = found(on(PAIRS[0], 400.0 * ratio), on(PAIRS[0], 400.0, "kernel"))
    spread = Spread(half / student(for_many(1), 10.0) / sqrt(2) / Spread(1.0, 1.0).of_median(3), 5.0)
    claim = compare(replace(first, spread=spread), replace(second, spread=spread))
    assert claim.verdict == verdict
    assert claim.effect == pytest.approx(ratio)
    assert claim.high / claim.effect == pytest.approx(exp(half))


def test_the_parts_of_a_sum_bring_their_own_freedom() -> None:
    """Catches a sum as certain as its largest part: variances add, and so do degrees of freedom (Welch)."""
    parts = found(on(PAIRS[0], 300.0), on(PAIRS[1], 100.0))
    wide, narrow = Spread(0.02, 4.0), Spread(0.04, 6.0)
    whole = summed([replace(parts[0], spread=wide), replace(parts[1], spread=narrow)])
    squares = (0.75 * 0.02) ** 2, (0.25 * 0.04) ** 2
    assert whole.value == 400 * GB
    assert whole.spread.deviation == pytest.approx(sqrt(sum(squares)))
    assert whole.spread.freedom == pytest.approx(
        sum(squares) ** 2 / (squares[0] ** 2 / 4 + squares[1] ** 2 / 6)
    )
    assert (whole.low, whole.high) == pytest.approx(whole.spread.interval(400 * GB, 3))
    assert not whole.spread.shared
    assert summed([parts[0], replace(parts[1], spread=replace(narrow, shared=True))]).spread.shared


def test_words_need_a_lead() -> None:
    """Catches "faster" of a tie, and "no loss" of a result that may have lost a tenth."""
    tie = beside([400.0], [399.0])
    with pytest.raises(ValueError, match="no lead"):
        faster(tie)
    with pytest.raises(ValueError, match="shows no equality"):
        no_loss(beside([400.0], [300.0]))
    assert faster(beside([400.0], [100.0])) == "4 times as fast as"


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (774.7, 120.0, "770"),
        (396.3, 1.2, "396"),
        (13.72, 0.01, "13.7"),
        (2084.4, 8.0, "2084"),
        (0.5, 0.0, "0.5"),
    ],
)
def test_no_digit_beyond_the_interval(value: float, half: float, text: str) -> None:
    """Catches 774.7 of a result that is known to 120."""
    assert supported(value, value - half, value + half) == text


def test_factors_are_for_people() -> None:
    """Catches "7e+02 times"."""
    assert [by_factor(beside([factor], [1.0])) for factor in (12.3, 92.0, 99999.0)] == [
        "12 times",
        "92 times",
        "over 100 times",
    ]
