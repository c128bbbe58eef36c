"""Latency under load, and what a transfer costs others: from records to curves, pairs and sentences."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.answers.claims.importance import NO_DIFFERENCE_IMPORTANCE
from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.questions.subjects import interference, loaded
from byteways.questions.subjects import interference as company
from byteways.questions.subjects.interference import slowdowns
from byteways.questions.subjects.loaded import load_curves
from byteways.record.warnings import Warning
from tests.changed import replace
from tests.report.few_records import GB, MIB, Fixture, flow, record

WALK = flow("gpu0:device", "gpu0:device", "gpu0")


def load(pause_ns: int, interface: str = "copy") -> dict[str, Any]:
    options = {"pause_ns": pause_ns}
    return flow("gpu0:device", "gpu1:device", "gpu0", interface=interface, options=options, size_bytes=MIB)


@pytest.fixture
def walked() -> Fixture:
    """A walk alone, and beside copies at three loads that arrive in no order."""
    points = [(0, 390, 700.0), (100_000, 30, 350.0), (10_000, 200, 400.0)]
    beside = [
        record("pointer-chase", [WALK, load(pause)], ns, load_bytes_per_s=rate * GB)
        for pause, rate, ns in points
    ]
    return Fixture([record("pointer-chase", [WALK], 340.0), *beside])


@pytest.mark.parametrize(
    "other",
    [{"options": {"steps": 4}}, {"environment": {"HSA_XNACK": "1"}}, {"cache": "cold"}],
    ids=["options", "environment", "cache"],
)
def test_a_walk_is_held_against_the_same_one_alone(other: dict[str, Any]) -> None:
    """Catches an idle figure of another process environment, cache or option beside a curve."""
    run = Fixture(
        [record("pointer-chase", [WALK], 340.0, **other), record("pointer-chase", [WALK, load(0)], 700.0)]
    )
    [curve] = load_curves(cells(run.records))
    assert curve.idle is None
    assert list(loaded.loaded_latency(Index(run))) == []
    same = Fixture([run.records[0], record("pointer-chase", [WALK, load(0)], 700.0, **other)])
    [curve] = load_curves(cells(same.records))
    assert curve.idle is not None and curve.idle.value == 340.0


def own(rate: float, whole: float) -> dict[str, Any]:
    """Rates as the core writes them of flows without a window: each of its own time, and of the whole."""
    path = "gpu0>gpu1"
    return {
        "directions": {path: rate * GB},
        "end_to_end_bytes_per_s": {path: whole * GB},
        "load_bytes_per_s": rate * GB,
    }


def warned(name: str) -> list[dict[str, Any]]:
    return [{"id": name, "observed": 220.6 * GB, "required": 359.8 * GB, "advice": ""}]


WINDOWLESS = {
    "serialised": {**own(360, 221), "window_ns": 0.0, "warnings": warned("serialised")},
    "in turns in part": {**own(360, 221), "window_ns": 5e6, "warnings": warned("serialised")},
    "few operations": {**own(360, 221), "window_ns": 5e6, "warnings": warned("few-operations")},
    "no overlap": {**own(360, 221), "window_ns": 0.0},
    "older record": own(360, 360),
}


@pytest.mark.parametrize("turns", WINDOWLESS.values(), ids=list(WINDOWLESS))
def test_flows_without_a_window_give_no_figure(
    walked: Fixture, disturbed: Fixture, turns: dict[str, Any]
) -> None:
    """Catches rates of whole runs or of each flow's own time, where walk and load took turns, drawn as
    latency under load or named as the price of a transfer.
    """
    walked.records.append(record("pointer-chase", [WALK, load(77)], 900.0, **turns))
    [curve] = load_curves(cells(walked.records))
    assert len(curve.points) == 3 and curve.without_window == 1
    topic = loaded.topic(Index.of(walked))
    assert topic is not None and topic.tables[0].note.startswith("Excludes 1 case in which")
    none = Fixture([walked.records[0], walked.records[-1]])
    topic = loaded.topic(Index.of(none))
    assert topic is not None and topic.tables[0].rows[0][2:5] == ("0", "340", "–") and not topic.charts
    assert list(loaded.loaded_latency(Index(none))) == []
    fields = {**turns, "warnings": [Warning(**one) for one in turns.get("warnings", [])]}
    apart = [replace(one, **fields) if len(one.flows) > 1 else one for one in disturbed.records]
    assert not any(pair.together for pair in slowdowns(cells(apart)))
    for finding in company.transfer_costs(Index(Fixture(apart))):
        assert finding.title.endswith(": no transfer ran at the same time")
        assert finding.detail.startswith("No overlap with ")


def test_what_was_measured_without_a_window_stands_by_itself(disturbed: Fixture) -> None:
    """Catches times in turns under "the window in which both ran", and a measured time that is lost."""
    turns = Warning("serialised", 220.6 * GB, 359.8 * GB, "")
    disturbed.records[-3:] = [
        replace(one, **own(360, 221), window_ns=0.0, warnings=[turns]) for one in disturbed.records[-3:]
    ]
    topic = interference.topic(Index.of(disturbed))
    assert topic is not None
    together, apart = topic.tables
    assert [row[0][:7] for row in together.rows] == ["kernel ", "kernel "]
    assert [row[2:] for row in apart.rows] == [("260 µs", "261 µs", "394", "360", "221", "serialised")]
    [_, finding] = company.transfer_costs(Index(disturbed))
    assert "is not slowed down" not in finding.title


@pytest.mark.parametrize(
    ("half", "warnings", "free"), [(0.01, [], True), (0.08, [], False), (0.01, ["bimodal"], False)]
)
def test_a_wide_interval_keeps_no_speed(half: float, warnings: list[str], free: bool) -> None:
    """Catches "is not slowed down" said of a median whose interval leaves room for a slowdown."""
    beside = {**COPY, "interface": "copy", "size_bytes": 4 * MIB}
    loaded_one = record("compute", [BOUND, beside], 261_000.0, load_bytes_per_s=394 * GB)
    assert loaded_one.time_ns is not None
    ends = (261_000.0 * (1 - half), 261_000.0 * (1 + half))
    wide = replace(
        loaded_one,
        time_ns=replace(loaded_one.time_ns, ci95=ends),
        warnings=[Warning(one, 1.0, 0.0, "") for one in warnings],
    )
    [finding] = company.transfer_costs(Index(Fixture([record("compute", [BOUND], 260_000.0), wide])))
    assert ("is not slowed down" in finding.title) is free
    assert ("no significant difference" in finding.title) is not free
    assert finding.importance <= NO_DIFFERENCE_IMPORTANCE  # what costs nothing comes late


def test_what_a_load_does_to_a_walk_is_said(walked: Fixture) -> None:
    """Catches a finding that names another load than the worst, or one that the intervals do not bear out."""
    [finding] = loaded.loaded_latency(Index(walked))
    assert finding.title == (
        "Latency of gpu0:device from gpu0: 340 ns alone, 700 ns (2.1 ×) under copy gpu0>gpu1 by gpu0 "
        "at 390 GB/s"
    )
    little = Fixture(
        [walked.records[0], record("pointer-chase", [WALK, load(0)], 360.0, load_bytes_per_s=26.04 * GB)]
    )
    [finding] = loaded.loaded_latency(Index(little))
    assert "360 ns (5.9 % more) under" in finding.title  # not 1 ×
    steady = Fixture(
        [walked.records[0], record("pointer-chase", [WALK, load(0)], 341.0, load_bytes_per_s=390 * GB)]
    )
    assert list(loaded.loaded_latency(Index(steady))) == []


BOUND = flow("gpu0:device", "gpu0:device", "gpu0")
COPY = flow("gpu0:device", "gpu1:device", "gpu0")


@pytest.fixture
def disturbed() -> Fixture:
    """A memory-bound kernel and arithmetic beside a copy and a kernel's copy, all of them alone too."""
    beside = {name: {**COPY, "interface": name, "size_bytes": 4 * MIB} for name in ("copy", "kernel")}
    return Fixture(
        [
            record("kernel", [BOUND], 1900 * GB),
            record("compute", [BOUND], 260_000.0),
            record("copy", [COPY], 394 * GB, 4 * MIB),
            record("kernel", [BOUND, beside["copy"]], 1740 * GB, load_bytes_per_s=390 * GB),
            record("kernel", [BOUND, beside["kernel"]], 1350 * GB, load_bytes_per_s=300 * GB),
            record("compute", [BOUND, beside["copy"]], 261_000.0, load_bytes_per_s=394 * GB),
        ]
    )


def test_both_sides_of_a_pair_are_judged(disturbed: Fixture) -> None:
    """Catches a slowdown by the ratio of rates for one side and of times for the other, and a transfer that
    is compared with one of another size.
    """
    by_copy, by_kernel, arithmetic = slowdowns(cells(disturbed.records))
    assert by_copy.own == pytest.approx(1900 / 1740) and by_copy.sure
    assert by_copy.others == pytest.approx(394 / 390)
    assert by_kernel.own == pytest.approx(1900 / 1350)
    assert by_kernel.others is None  # its transfer was not measured alone
    assert arithmetic.own == pytest.approx(261 / 260) and not arithmetic.sure


def test_the_table_says_what_was_not_measured(disturbed: Fixture) -> None:
    """Catches a missing figure that is shown as another one, and a doubtful one without its brackets."""
    topic = interference.topic(Index.of(disturbed))
    assert topic is not None
    [table] = topic.tables
    assert [row[4] for row in table.rows] == ["1.09", "1.41", "(1.00)"]
    assert [row[5] for row in table.rows] == ["394", "not measured", "394"]
