"""Graphs and batches on paper: what is refused while planning, and the table of the three ways."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.answers.results.index import Index
from byteways.cases.case import Case, Flow
from byteways.machine.model import Capabilities, Offer
from byteways.plan.legality import refusal
from byteways.questions.subjects import submission
from byteways.questions.subjects.submission import submitting, topic
from byteways.record.run_folder import RunFolder
from tests.changed import replace
from tests.report import sample_run
from tests.report.few_records import Fixture, flow, record
from tests.unit import machines

TOPOLOGY, BARE = machines.h200x4()
WITH = replace(
    BARE,
    calls={"gpu0": {"graph": Offer(True), "batch": Offer(False, "the driver is of CUDA 12.4")}},
)
BOTH = replace(BARE, calls={"gpu0": {"graph": Offer(True), "batch": Offer(True)}})


def case(
    interface: str = "copy",
    source: str = "gpu0:device",
    pattern: str = "unidirectional",
    cache: str = "cold",
    **options: int | str,
) -> Case:
    flow = Flow.from_json({"source": source, "destination": "gpu1:device", "executor": "gpu0"})
    flows = (flow, replace(flow, source=flow.destination, destination=flow.source))
    return Case(interface, pattern, flows if pattern == "bidirectional" else flows[:1], 2**20, cache, options)


@pytest.mark.parametrize(
    ("what", "capabilities", "why"),
    [
        (case(submit="graph"), BARE, "gpu0 cannot submit a graph"),
        (case(submit="batch"), WITH, "gpu0 cannot submit a batch: the driver is of CUDA 12.4"),
        (case("kernel", submit="batch"), BOTH, "takes copies, not kernels"),
        (case(submit="batch", cache="warm"), BOTH, "would overwrite each other"),
        (case(submit="graph", pattern="bidirectional"), BOTH, "covers one flow"),
        (case("copy-blocks", submit="graph", pattern="bidirectional"), BOTH, "covers one flow"),
        (case(submit="graph", source="cpu0:pageable"), BOTH, "memory that does not migrate, and pageable"),
        (case(submit="graph", pace="one-at-a-time"), BOTH, "cannot wait for each operation"),
    ],
)
def test_refused_while_planning(what: Case, capabilities: Capabilities, why: str) -> None:
    """Catches a missing function, or a combination without a meaning, that a worker only finds out."""
    assert why in (refusal(what, TOPOLOGY, capabilities) or "")


def test_allowed() -> None:
    """Catches a refusal of what works."""
    kernel = case("kernel", submit="graph")
    blocks = case("copy-blocks", submit="batch", pattern="bidirectional")  # a call for each operation
    for what in (case(submit="graph"), case(submit="batch"), case(submit="calls"), kernel, blocks):
        assert refusal(what, TOPOLOGY, BOTH) is None


def test_table(tmp_path: Path) -> None:
    """Catches ways that are mixed up, and a table where nothing is compared."""
    build = sample_run.Builder(sample_run.topology(2))
    ends = [("gpu0:device", "gpu1:device", "gpu0")]
    build.measure("copy", ends, 1.0, size=1024, options={"submit": "calls"}, submit_ns=2000.0)
    lone = RunFolder(build.write(tmp_path / "lone"))
    assert topic(Index.of(lone)) is None
    build.measure("copy", ends, 2.0, size=1024, options={"submit": "graph"}, submit_ns=20.0)
    run = RunFolder(build.write(tmp_path / "two"))
    shown = topic(Index.of(run))
    assert shown is not None
    (table,) = shown.tables
    assert table.headings == ("size", "calls, GB/s", "graph, GB/s", "calls, host ns", "graph, host ns")
    assert table.rows == (("1 KiB", "1.00", "2.00", "2000", "20"),)


def rule_on(build: sample_run.Builder, folder: Path) -> list[str]:
    return [one.title for one in submitting(Index(RunFolder(build.write(folder))))]


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (
            (3.0, 8.0, 40.0),
            "Between GPUs, copy by one graph is 3 times as fast as by calls at 1 KiB (3 vs 1 GB/s), "
            "nothing from 16 KiB on",
        ),
        (
            (1.0, 6.0, 30.0),
            "Between GPUs, copy is fastest with single calls: by one graph it is 25 % slower at 16 KiB",
        ),
        (
            (1.0, 8.0, 40.0),
            "Submission: no significant difference between one graph and single calls: copy gpu0>gpu1",
        ),
    ],
    ids=["gains", "loses", "alike"],
)
def test_what_a_graph_gains_is_said(tmp_path: Path, graph: tuple[float, ...], says: str) -> None:
    """Catches a gain without its size, one within the intervals, and silence where nothing is gained."""
    build = sample_run.Builder(sample_run.topology(2))
    ends = [("gpu0:device", "gpu1:device", "gpu0")]
    for size, calls, other in zip((1024, 16384, 65536), (1.0, 8.0, 40.0), graph, strict=True):
        build.measure("copy", ends, calls, size=size, options={"submit": "calls"}, submit_ns=2000.0)
        build.measure("copy", ends, other, size=size, options={"submit": "graph"}, submit_ns=20.0)
    assert rule_on(build, tmp_path) == [says]


def test_as_fast_is_said_of_what_was_compared(tmp_path: Path) -> None:
    """Catches "as fast by calls" of ways that share no size, and of intervals that merely overlap."""
    build = sample_run.Builder(sample_run.topology(2))
    ends = [("gpu0:device", "gpu1:device", "gpu0")]
    build.measure("copy", ends, 1.0, size=1024, options={"submit": "calls"})
    build.measure("copy", ends, 8.0, size=16384, options={"submit": "graph"})
    assert rule_on(build, tmp_path / "apart") == []
    build.measure("copy", ends, 1.0, size=1024, options={"submit": "graph"})
    run = RunFolder(build.write(tmp_path / "wide"))
    wide = [
        replace(one, time_ns=replace(one.time_ns, ci95=(one.time_ns.median * 0.9, one.time_ns.median * 1.1)))
        for one in run.records
        if one.time_ns is not None
    ]
    [finding] = submitting(Index(Fixture(wide, topology=run.topology)))
    assert finding.title == (
        "Submission: no significant difference between one graph and single calls: copy gpu0>gpu1"
    )


def test_settings_in_any_order_are_the_same() -> None:
    """Catches ways to submit that are not compared because their options were written in another order."""

    def told(**options: int | str) -> Any:
        one = replace(record("copy", [flow("gpu0:device", "gpu1:device", "gpu0")], 1e9), options=options)
        return SimpleNamespace(record=one)

    first, second = told(submit="graph", batch=8, stream=1), told(submit="calls", stream=1, batch=8)
    assert submission._alike(first) == submission._alike(second)
