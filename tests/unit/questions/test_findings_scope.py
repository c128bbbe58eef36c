"""What findings must not say: mixed links, unnamed settings, worst cases as rules, null effects first."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.answers.best.headline import headline, rows_of_text
from byteways.answers.claims.finding import Finding
from byteways.answers.claims.importance import ASSUMED_IMPORTANCE
from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.questions.bottlenecks.prediction import predictions
from byteways.questions.findings import findings
from byteways.questions.subjects import host, odd_pairs, routes
from byteways.questions.subjects.pages import compared
from byteways.record.run_folder import RunFolder
from byteways.record.warnings import Warning
from tests.changed import replace
from tests.report import sample_run
from tests.report.few_records import GB, GIB, Fixture, flow, in_rounds, record

MIB = sample_run.MIB


def titled(build: sample_run.Builder, folder: Path, start: str) -> list[Finding]:
    return [one for one in findings(RunFolder(build.write(folder))) if one.title.startswith(start)]


def host_memory(build: sample_run.Builder, memory: str, rate: float, **more: object) -> None:
    build.measure("copy", [(f"cpu0:{memory}", "gpu0:device", "gpu0")], rate, **more)  # type: ignore[arg-type]


def test_memories_are_compared_in_one_setting(tmp_path: Path) -> None:
    """Catches "registered is 2.7 times as fast as pinned" of a sweep over blocks that one of them has."""
    build = sample_run.Builder(sample_run.topology(1))
    host_memory(build, "registered", 54.0)
    host_memory(build, "pinned", 54.0)
    for blocks in (1, 2, 4):
        host_memory(build, "pinned", 5.0 * blocks, options={"blocks": blocks})
    index = Index(RunFolder(build.write(tmp_path)))
    assert list(host.memory_kinds(index)) == []


def test_far_memory_is_not_the_worst_of_its_paths(tmp_path: Path) -> None:
    """Catches "70 % slower" of one path of three, the others of which lose 5 %."""
    build = sample_run.Builder(sample_run.topology(0, 4))
    for far, rate in ((0, 10.0), (1, 9.5), (2, 9.5), (3, 3.0)):
        build.measure("memcpy", [("cpu0:pageable", f"cpu{far}:pageable", "cpu0")], rate, size=256 * MIB)
    (one,) = titled(build, tmp_path, "Copies to another")
    assert one.title == (
        "Copies to another NUMA domain are 5 to 70 % slower: memcpy reaches 3 GB/s on cpu0>cpu3, 10 "
        "within cpu0"
    )
    assert one.claims[0].pairs == 3


def test_the_winner_is_named_with_its_setting() -> None:
    """Catches "copy 65.5 GB/s" in the first table, which needs an environment variable that it leaves out."""
    ends = [flow("gpu0:device", "gpu1:device", "gpu0")]
    run = Fixture(
        [
            record("copy", ends, 65.5 * GB, GIB, environment={"HSA_ENABLE_SDMA": "0"}),
            record("copy", ends, 34 * GB, GIB),
            record("kernel", ends, 62 * GB, GIB),
        ],
        topology=sample_run.topology(2),
    )
    found = headline(Index(run))
    assert found is not None
    assert rows_of_text(found)[0][1] == (
        "copy with HSA_ENABLE_SDMA=0 65.5 GB/s, 5.6 % over kernel, by default: kernel, 62 GB/s"
    )


def test_what_another_record_passes_is_no_bottleneck(tmp_path: Path) -> None:
    """Catches "each NVLink both ways carries 450 GB/s" of kernels beside copies of the run that move 780."""
    build = sample_run.Builder(sample_run.topology(4))
    pairs = [(f"gpu{a}", f"gpu{b}") for a in range(4) for b in range(4)]
    for interface, alone, both in (("kernel", 370.0, 225.0), ("copy", 395.0, 390.0)):
        for a, b in pairs:
            if a != b:
                build.measure(interface, [(f"{a}:device", f"{b}:device", a)], alone, peak=450)
        for a, b in [pair for pair in pairs if pair[0] < pair[1]]:
            flows = [(f"{a}:device", f"{b}:device", a), (f"{b}:device", f"{a}:device", b)]
            rates = {f"{a}>{b}": both, f"{b}>{a}": both}
            build.measure(interface, flows, rates, pattern="bidirectional", peak=900)
    assert titled(build, tmp_path, "Shared bottleneck") == []
    kernels = replace_records(build, "kernel")
    assert titled(kernels, tmp_path / "alone", "Shared bottleneck")


def replace_records(build: sample_run.Builder, interface: str) -> sample_run.Builder:
    build.records = [one for one in build.records if one.interface == interface]
    return build


def test_flows_in_turns_are_no_evidence(tmp_path: Path) -> None:
    """Catches a bottleneck that is named for flows that never ran at the same time."""
    build = sample_run.h200x4()
    turns = Warning("serialised", 100e9, 200e9, "")
    build.records = [
        replace(one, warnings=[turns]) if one.pattern != "unidirectional" else one for one in build.records
    ]
    assert titled(build, tmp_path, "Shared bottleneck") == []


def test_cases_without_a_prediction_are_counted(tmp_path: Path) -> None:
    """Catches "All 13 concurrent cases move what their flows predict" while 230 others have no prediction."""
    build = sample_run.Builder(sample_run.topology(4))
    for gpu in range(4):
        build.measure("copy", [("cpu0:pinned", f"gpu{gpu}:device", f"gpu{gpu}")], 55.0)
    for size in (sample_run.GIB, MIB):
        for a in range(4):
            for b in range(a):
                flows = [("cpu0:pinned", f"gpu{gpu}:device", f"gpu{gpu}") for gpu in (a, b)]
                rates = {f"cpu0>gpu{gpu}": 55.0 for gpu in (a, b)}
                build.measure("copy", flows, rates, pattern="fan-out", size=size)
    (one,) = [one for one in findings(RunFolder(build.write(tmp_path))) if "concurrent cases" in one.title]
    assert one.title.startswith("6 of 12 concurrent cases (those with all flows measured alone) perform")


def test_a_doubtful_case_proves_no_capacity(tmp_path: Path) -> None:
    """Catches a prediction that rests on a figure which drifts: all others would then be held back."""
    build = sample_run.h200x4()
    odd = [(f"gpu{gpu}:device", "gpu0:device", f"gpu{gpu}") for gpu in (1, 2)]
    rates = {"gpu1>gpu0": 300.0, "gpu2>gpu0": 300.0}
    build.measure("copy", odd, rates, pattern="fan-in", size=MIB, warnings=[Warning("drift", 1.0, 0.0, "")])
    case = next(
        one
        for one in predictions(Index(RunFolder(build.write(tmp_path)))).cases
        if one.cell.record.path == "gpu1,gpu2,gpu3>gpu0"
    )
    assert case.most == pytest.approx(399e9, rel=0.01) and not case.held_back


@pytest.mark.parametrize(("half_width", "held"), [(0.002, True), (0.2, False)])
def test_held_back_needs_the_intervals(tmp_path: Path, half_width: float, held: bool) -> None:
    """Catches a case that is called held back by a loss that lies within its interval."""
    build = sample_run.Builder(sample_run.topology(2), half_width=half_width)
    flows = [("cpu0:pinned", f"gpu{gpu}:device", f"gpu{gpu}") for gpu in (0, 1)]
    for one in flows:
        build.measure("copy", [one], 55.0)
    build.measure("copy", flows, {"cpu0>gpu0": 50.0, "cpu0>gpu1": 50.0}, pattern="fan-out")
    (case,) = predictions(Index(RunFolder(build.write(tmp_path)))).cases
    assert case.held_back is held


def test_scatter_of_a_class_is_no_odd_pair() -> None:
    """Catches a pair called odd that lies no farther off than its class scatters."""
    rates = (390.0, 400.0, 380.0, 410.0, 370.0, 365.0, 405.0, 375.0)
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b][: len(rates)]
    members = cells(
        in_rounds(
            record("copy", [flow(f"gpu{a}:device", f"gpu{b}:device", f"gpu{a}")], rate * GB, GIB)
            for (a, b), rate in zip(pairs, rates, strict=True)
        )
    )
    assert odd_pairs.groups_of(members) is None
    slow = replace(members[0], value=200 * GB, by_round={})
    found = odd_pairs.groups_of([slow, *members[1:]])
    assert found is not None and [cell.value for cell in found.slow.cells] == [200 * GB]


def test_relays_pay_from_where_they_always_do() -> None:
    """Catches "it pays from 1 MiB up" of a gain at 1 MiB and 1 GiB with a loss between."""
    ends = [flow("gpu0:device", "gpu1:device", "gpu0")]
    made = []
    for size, split in ((MIB, 150.0), (64 * MIB, 80.0), (256 * MIB, 150.0), (GIB, 150.0)):
        made.append(record("route", ends, 100 * GB, size))
        paths = {"gpu0>gpu1": 0.5, "gpu0>gpu2>gpu1": 0.5}
        made.append(record("route", ends, split * GB, size, options={"relays": 1}, parts=paths))
    (gain,) = routes.gains(cells(in_rounds(made)))
    assert (gain.pays_from, gain.loses_at) == (256 * MIB, 64 * MIB)


def test_a_split_transfer_is_no_explicit_copy() -> None:
    """Catches "23 times as long as route": a prefetch beside a transfer over four links."""
    pages = record("prefetch", [flow("cpu0:managed", "gpu0:managed", "gpu0")], 35 * GB, GIB)
    split = record("route", [flow("cpu0:pinned", "gpu0:device", "gpu0")], 160 * GB, GIB)
    copy = record("copy", [flow("cpu0:pinned", "gpu0:device", "gpu0")], 55 * GB, GIB)
    (one,) = compared(sample_run.topology(1), cells(in_rounds([pages, split, copy])))
    assert one.explicit is not None and one.explicit.cells[0].record.interface == "copy"


def test_null_results_never_lead(tmp_path: Path) -> None:
    """Catches "333 ns alone, 337 ns beside copy" or "No energy result for 2 cases" as the first finding."""
    build = sample_run.Builder(sample_run.topology(2))
    pair = ("gpu0:device", "gpu1:device", "gpu0")
    reason = {"reason": "no energy counter on gpu0"}
    build.measure("copy", [pair], 395.0, energy=reason)
    build.measure("kernel", [pair], 370.0, energy=reason)
    both = [pair, ("gpu1:device", "gpu0:device", "gpu1")]
    build.measure("copy", [both[1]], 395.0)
    build.measure("copy", both, {"gpu0>gpu1": 395.0, "gpu1>gpu0": 395.0}, pattern="bidirectional")
    titles = sample_run.sentences(build, tmp_path)
    assert titles[0].startswith("Between GPUs, copy issued by the source is fastest")
    assert any("no significant loss" in title for title in titles[1:])
    assert titles[-1].startswith("No energy result for 2 cases")


def test_assumed_numbers_are_not_told_as_known(tmp_path: Path) -> None:
    """Catches a sentence on a model's guess that reads like one on what was fitted to a machine."""
    build = sample_run.Builder(sample_run.topology(2))
    build.simulated = True
    pair = [("gpu0:device", "gpu1:device", "gpu0")]
    build.measure("copy", pair, 395.0, simulated=True, rests_on=["fitted"])
    build.measure("kernel", pair, 300.0, simulated=True, rests_on=["assumed", "nominal"])
    (one,) = titled(build, tmp_path, "Simulated: Between GPUs, copy")
    assert one.detail.endswith("Based on assumed parameters of the model.")
    assert one.importance <= ASSUMED_IMPORTANCE and "assumed" in one.rests_on


def test_pages_that_move_are_no_read_against_write(tmp_path: Path) -> None:
    """Catches "as a write 24 times as fast" where the one migrated the pages and the other copied them."""
    build = sample_run.Builder(sample_run.topology(2))
    for executor, rate in (("gpu0", 394.0), ("gpu1", 16.0)):
        build.measure("copy", [("gpu0:managed", "gpu1:device", executor)], rate)
    assert not [
        title for title in sample_run.sentences(build, tmp_path) if "issued by the destination" in title
    ]


@pytest.mark.parametrize(("window_ns", "predicted"), [(0.2e6, 0), (6e6, 1)])
def test_flows_that_hardly_overlap_are_not_predicted(
    tmp_path: Path, window_ns: float, predicted: int
) -> None:
    """Catches rates of different times held against what the links carry at once."""
    build = sample_run.Builder(sample_run.topology(2))
    flows = [("cpu0:pinned", f"gpu{gpu}:device", f"gpu{gpu}") for gpu in (0, 1)]
    for one in flows:
        build.measure("copy", [one], 55.0)
    rates = {"cpu0>gpu0": 50.0, "cpu0>gpu1": 50.0}
    build.measure("copy", flows, rates, pattern="fan-out", window_ns=window_ns, end_to_end_ns=6.2e6)
    assert len(predictions(Index(RunFolder(build.write(tmp_path)))).cases) == predicted
