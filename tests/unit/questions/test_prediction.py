"""Concurrent cases as predicted from flows alone, and the name of what holds back those that stay below."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.cases.case import Buffer, Flow
from byteways.machine.capacity import maximum_flow
from byteways.questions.bottlenecks.bottlenecks import explanations
from byteways.questions.bottlenecks.prediction import (
    LEAST_TOGETHER,
    Predictions,
    _rates,
    _together_long,
    even_shares,
    predictions,
)
from byteways.questions.findings import findings
from byteways.questions.subjects import contention as together
from byteways.record.run_folder import RunFolder
from tests.report import sample_run

GPUS = [f"gpu{index}" for index in range(4)]
ALONE = 55.0


def from_host(build: sample_run.Builder, rates: dict[str, float]) -> None:
    flows = [("cpu0:pinned", f"{gpu}:device", gpu) for gpu in rates]
    paths = {f"cpu0>{gpu}": rate for gpu, rate in rates.items()}
    build.measure("copy", flows, paths, pattern="fan-out" if len(flows) > 1 else "unidirectional", peak=63)


def host_machine(switched: tuple[str, ...] = (), memory: float = 1e3) -> sample_run.Builder:
    """Every GPU alone, every two, three and four from the host: some share one link's worth on the way, and
    host memory gives no more than `memory` GB/s.
    """
    build = sample_run.Builder(sample_run.topology(4))
    for gpu in GPUS:
        from_host(build, {gpu: ALONE})
    fans = [(a, b) for a in GPUS for b in GPUS if a < b] + [tuple(GPUS[:3]), tuple(GPUS[1:]), tuple(GPUS)]
    for fan in fans:
        behind = [gpu for gpu in fan if gpu in switched]
        rates = {gpu: ALONE / len(behind) if gpu in behind and len(behind) > 1 else ALONE for gpu in fan}
        part = min(1.0, memory / sum(rates.values()))
        from_host(build, {gpu: part * rate for gpu, rate in rates.items()})
    return build


def predicted(build: sample_run.Builder, folder: Path) -> tuple[RunFolder, Predictions]:
    run = RunFolder(build.write(folder))
    return run, predictions(Index(run))


def names(build: sample_run.Builder, folder: Path) -> list[str]:
    run, found = predicted(build, folder)
    return [
        name for each in explanations(run.topology, found) for one in each.bottlenecks for name in one.names
    ]


def test_flows_that_share_nothing_get_what_they_get_alone(tmp_path: Path) -> None:
    """Would catch a bottleneck that is made up where there is none."""
    run, found = predicted(host_machine(), tmp_path)
    assert len(found.cases) == 9
    assert not found.held_back
    assert explanations(run.topology, found) == []
    titles = [finding.title for finding in findings(run)]
    assert "All 9 concurrent cases perform as predicted from single-flow rates and links" in titles


def test_a_hidden_switch_is_named_by_its_gpus(tmp_path: Path) -> None:
    """Would catch the wrong GPUs, the wrong direction, or host memory named for a switch."""
    assert names(host_machine(("gpu0", "gpu1")), tmp_path) == [
        "an uplink shared by gpu0 and gpu1, from the host"
    ]
    three = tmp_path / "three"
    assert names(host_machine(("gpu0", "gpu1", "gpu2")), three) == [
        "an uplink shared by gpu0, gpu1 and gpu2, from the host"
    ]
    title = next(one.title for one in findings(RunFolder(three)) if one.title.startswith("Shared"))
    assert title.startswith(
        "Shared bottleneck: an uplink shared by gpu0, gpu1 and gpu2, from the host (55 GB/s in total)"
    )


def test_two_bottlenecks_are_both_named(tmp_path: Path) -> None:
    """Would catch one resource taken for the whole explanation where two are needed, or a third one."""
    run, found = predicted(host_machine(("gpu0", "gpu1"), memory=150.0), tmp_path)
    (explained,) = explanations(run.topology, found)
    assert {one.names[0]: round(one.bytes_per_s / 1e9) for one in explained.bottlenecks} == {
        "an uplink shared by gpu0 and gpu1, from the host": 55,
        "reads from cpu0's memory": 150,
    }
    assert explained.unexplained == ()


def test_host_memory_is_named_where_any_gpus_meet_it(tmp_path: Path) -> None:
    """Would catch a hidden switch made up for what all GPUs share."""
    assert names(host_machine(memory=80.0), tmp_path)[0] == "reads from cpu0's memory"


def test_nothing_explains_loads_that_differ(tmp_path: Path) -> None:
    """Would catch a name for cases that have nothing in common."""
    build = sample_run.Builder(sample_run.topology(4))
    for gpu in GPUS:
        from_host(build, {gpu: ALONE})
    from_host(build, {"gpu0": 20.0, "gpu1": 50.0})
    from_host(build, {"gpu1": 51.0, "gpu2": 30.0})
    from_host(build, {"gpu0": 55.0, "gpu2": 55.0, "gpu3": 55.0})
    run, found = predicted(build, tmp_path)
    (explained,) = explanations(run.topology, found)
    assert explained.bottlenecks == ()
    assert len(explained.unexplained) == 2
    topic = together.topic(Index.of(run))
    assert topic is not None
    assert together.NOTHING in {row[-1] for row in topic.tables[-1].rows}
    assert any("the bottleneck is not identified" in finding.title for finding in findings(run))


@pytest.mark.parametrize(
    ("slow", "others", "expected"),
    [
        ("gpu0", 390.0, 197.0),  # its link alone explains all flows from it
        ("", 197.0, 390.0),  # a limit of each flow, such as its copy engine: links carried more together
        ("gpu0 but gpu3", 390.0, 390.0),  # one flow from it is not slow
    ],
)
def test_a_slow_link_of_one_gpu_is_foreseen(
    slow: str, others: float, expected: float, tmp_path: Path
) -> None:
    """Catches a fan-out that counts as held back, or as sharing badly, where a link of its GPU is slow; and a
    limit of flows that is taken for one of their link.
    """
    build = sample_run.Builder(sample_run.topology(4))
    for a in GPUS:
        for b in GPUS:
            is_slow = slow and a == "gpu0" and not (slow.endswith("gpu3") and b == "gpu3")
            rate = 197.0 if is_slow else others
            if a != b:
                build.measure("copy", [(f"{a}:device", f"{b}:device", a)], rate, peak=450)
    for source, rate in (("gpu0", 65.0), ("gpu1", 130.0)):
        rates = {f"{source}>{gpu}": rate for gpu in GPUS if gpu != source}
        fan = [(f"{source}:device", f"{path[-4:]}:device", source) for path in rates]
        build.measure("copy", fan, rates, pattern="fan-out", peak=450)
    _, found = predicted(build, tmp_path)
    first, _ = found.cases
    assert first.even / 1e9 == pytest.approx(expected, rel=0.01)


def test_flows_that_were_not_measured_alone_are_counted(tmp_path: Path) -> None:
    """Would catch a prediction from a flow of another size."""
    build = sample_run.Builder(sample_run.topology(4))
    from_host(build, {"gpu0": ALONE, "gpu1": ALONE})
    _, found = predicted(build, tmp_path)
    assert (found.cases, found.lacking) == ((), 1)


uses = st.lists(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 2), min_size=1, max_size=3),
    min_size=1,
    max_size=6,
)


@given(uses, st.lists(st.floats(1.0, 100.0), min_size=6, max_size=6))
def test_even_shares_are_possible_and_leave_nobody_idle(
    flows: list[dict[str, int]], limits: list[float]
) -> None:
    """Would catch shares that overload a link, exceed the maximum flow, or leave room to some flow."""
    capacities = dict(zip("abcdef", limits, strict=True))
    shares = even_shares(flows, capacities)
    loads = Counter[str]()
    for use, share in zip(flows, shares, strict=True):
        for name, times in use.items():
            loads[name] += times * share  # type: ignore[assignment]
    assert all(load <= capacities[name] * (1 + 1e-6) for name, load in loads.items())
    full = {name for name, load in loads.items() if load >= capacities[name] * (1 - 1e-6)}
    assert all(full & set(use) for use in flows)
    most, _ = maximum_flow(flows, capacities)
    assert sum(shares) <= most * (1 + 1e-6)


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (["cpu0>gpu0", "cpu0>gpu1"], (30e9, 20e9)),
        (["cpu0>gpu1", "cpu0>gpu0"], (20e9, 30e9)),
        (["cpu0>gpu0"], (30e9,)),
        (["cpu0>gpu0", "cpu0>gpu0"], None),  # two flows of one path
        (["cpu0>gpu0", "cpu0>gpu2"], None),  # one that nobody measured
    ],
)
def test_rates_of_flows(tmp_path: Path, paths: list[str], told: tuple[float, ...] | None) -> None:
    """Catches the sum of two flows of one path taken for each of them, and rates in another order."""
    build = sample_run.Builder(sample_run.topology(4))
    from_host(build, {"gpu0": 30.0, "gpu1": 20.0})
    (cell,) = cells(RunFolder(build.write(tmp_path / "run")).records)
    flows = [
        Flow(Buffer("cpu0", "pinned"), Buffer(gpu, "device"), gpu)
        for gpu in (path.partition(">")[2] for path in paths)
    ]
    found = _rates(cell, flows)
    assert found is None if told is None else found == pytest.approx(told)


@pytest.mark.parametrize(
    ("share", "warned", "long"),
    [
        (LEAST_TOGETHER, False, True),
        (0.9 * LEAST_TOGETHER, False, False),
        (0.9 * LEAST_TOGETHER, True, True),  # it says so itself
    ],
)
def test_flows_overlap_for_a_part_of_the_whole_time(share: float, warned: bool, long: bool) -> None:
    """Catches rates of flows that were hardly concurrent, taken for simultaneous ones."""
    warnings = [SimpleNamespace(id="serialised")] if warned else []
    records = [
        SimpleNamespace(window_ns=None, end_to_end_ns=None, warnings=[]),
        SimpleNamespace(window_ns=share * 1e6, end_to_end_ns=1e6, warnings=warnings),
    ]
    cell: Any = SimpleNamespace(records=records)
    assert _together_long(cell) == long
