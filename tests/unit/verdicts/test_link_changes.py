"""Which links of a node changed between two runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.models.library import load
from byteways.models.topology import topology_of
from byteways.record.record import Record
from byteways.report.node.changes import draw_changes
from byteways.verdicts.two_runs.link_changes import link_changes
from tests.changed import replace
from tests.report.run_builder import Builder
from tests.unit.verdicts.test_comparison import Rate, compared, pairs_run


def slow(gpu: str) -> Rate:
    return lambda a, b: 200.0 if gpu in (a, b) else 396.0


def changed(tmp_path: Path, first: Builder, second: Builder) -> dict[str, float]:
    """Speed of the links with a significant change."""
    found = link_changes(compared(tmp_path, first, second), first.topology)
    return {
        f"{one.link.a}-{one.link.b}": round(one.pair.speed, 3)
        for one in found
        if one.pair is not None and one.pair.claim.differ
    }


def test_only_the_link_of_the_slow_gpu_is_blamed(tmp_path: Path) -> None:
    """Catches links of healthy GPUs that look slow, because transfers to the slow one cross them."""
    assert changed(tmp_path, pairs_run(), pairs_run(slow("gpu2"))) == {"gpu2-nvswitch": 0.505}


def test_a_repaired_link_is_named_alone(tmp_path: Path) -> None:
    """Catches links that look twice as fast because transfers to the repaired one cross them."""
    assert changed(tmp_path, pairs_run(slow("gpu2")), pairs_run()) == {"gpu2-nvswitch": 1.98}


def test_a_link_slow_in_one_direction_is_found(tmp_path: Path) -> None:
    """Catches a change that the other direction hides."""
    into = pairs_run(lambda a, b: 200.0 if b == "gpu2" else 396.0)
    assert changed(tmp_path, pairs_run(), into) == {"gpu2-nvswitch": 0.505}


def test_one_interface_is_enough(tmp_path: Path) -> None:
    """Catches slow copies that fast kernels hide."""
    first = pairs_run()
    second = Builder(first.topology)
    for a in range(4):
        for b in range(4):
            if a != b:
                flows = [(f"gpu{a}:device", f"gpu{b}:device", f"gpu{a}")]
                second.measure("copy", flows, 200.0 if 2 in (a, b) else 396.0, peak=450)
                second.measure("kernel", flows, 0.9 * 396.0, peak=450)
    assert changed(tmp_path, first, second) == {"gpu2-nvswitch": 0.505}


def test_a_wide_link_is_blamed_though_narrow_transfers_cross_it(tmp_path: Path) -> None:
    """Catches a slow bundle of four links that routed transfers hide, which a single link limits anyway."""
    topology = topology_of(load("frontier-mi250x"))

    def build(wide: float) -> Builder:
        made = Builder(topology)
        for a, b, rate in ((0, 1, wide), (1, 0, wide), (0, 2, 38.0), (0, 3, 38.0), (3, 0, 38.0)):
            made.measure("kernel", [(f"gpu{a}:device", f"gpu{b}:device", f"gpu{a}")], rate, peak=200)
        return made

    assert changed(tmp_path, build(150.0), build(75.0)) == {"gpu0-gpu1": 0.5}


def failed(record: Record) -> Record:
    nothing = dict.fromkeys(("time_ns", "bandwidth_bytes_per_s", "directions", "fraction_of_peak"))
    return replace(record, status="failed", reason="link down", samples_ns=(), **nothing)


@pytest.mark.parametrize("same", [True, False])
def test_the_changed_link_stands_out(tmp_path: Path, same: bool) -> None:
    """Catches a changed link that is drawn as thin and grey as the others, or noise that is marked."""
    first, second = pairs_run(), pairs_run(lambda a, b: 397.0) if same else pairs_run(slow("gpu2"))
    found = link_changes(compared(tmp_path, first, second), first.topology)
    strokes = {stroke.name: stroke for stroke in draw_changes(first.topology, found).strokes}
    marked = [name for name, stroke in strokes.items() if stroke.suspect]
    assert marked == ([] if same else ["gpu2 – nvswitch"])
    if not same:
        stroke = strokes["gpu2 – nvswitch"]
        assert (stroke.shade, stroke.number) == ("poor", "-49 %")
        assert stroke.width > 3 * strokes["gpu1 – nvswitch"].width
        assert "gpu2 > nvswitch: -49.5 %, 396 GB/s and 200 GB/s" in stroke.details
    assert strokes["gpu1 – nvswitch"].shade == "unknown"
    assert strokes["gpu0 – cpu0" if "gpu0 – cpu0" in strokes else "cpu0 – gpu0"].shade == "none"


def test_failed_transfers_mark_their_link(tmp_path: Path) -> None:
    """Catches a dead link that is drawn like one that was left out."""
    second = pairs_run()
    second.records = [record if "gpu2" not in record.path else failed(record) for record in second.records]
    first = pairs_run()
    found = link_changes(compared(tmp_path, first, second), first.topology)
    strokes = {stroke.name: stroke for stroke in draw_changes(first.topology, found).strokes}
    stroke = strokes["gpu2 – nvswitch"]
    assert (stroke.shade, stroke.number, stroke.suspect) == ("missing", "failed", True)
    assert "copy gpu2>gpu0: failed, link down" in stroke.details
    assert strokes["gpu1 – nvswitch"].shade == "unknown"
