"""Pairs that are slower than their like: the link or the GPU at fault is named, a sound node has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.answers.claims.importance import Priority
from byteways.machine.routes import route
from byteways.questions.findings import findings
from byteways.record.run_folder import RunFolder
from tests.report import sample_run
from tests.unit import machines


def test_odd_pair(tmp_path: Path) -> None:
    """Would catch a slow link that hides in a matrix of good ones."""
    first = findings(RunFolder(sample_run.four_pairs(slow=310.0).write(tmp_path)))[0]
    assert first.title == (
        "gpu1>gpu2 is an outlier: copy issued by the destination gets 310 GB/s where 5 pairs of NVLink4 "
        "×18 get 394 (21 % less)"
    )
    assert first.detail == "1 GiB, interval 309–311 GB/s."


def test_odd_pairs_name_the_gpu_they_share(tmp_path: Path) -> None:
    """Would catch a bad GPU being reported as several unrelated bad links."""
    build = sample_run.Builder(sample_run.topology(8))
    for a in range(8):
        for b in range(8):
            if a != b:
                sample_run.pair(build, f"gpu{a}", f"gpu{b}", 300.0 if 5 in (a, b) else 394.0)
    first = findings(RunFolder(build.write(tmp_path)))[0]
    assert first.priority is Priority.SLOW_LINK
    assert (first.data["culprit"], first.data["alike"][0]) == ("gpu5", "gpu5-nvswitch")
    assert [len(group["pairs"]) for group in first.data["groups"]] == [14, 42]


@pytest.mark.parametrize("slow", [394.0, 390.0])
def test_equal_pairs_are_not_odd(tmp_path: Path, slow: float) -> None:
    """Would catch scatter of a healthy machine being called odd (390 is 1 % below, beyond the intervals)."""
    assert not any(
        "odd" in title for title in sample_run.sentences(sample_run.four_pairs(slow=slow), tmp_path)
    )


def frontier_pairs(slow: frozenset[int], slow_to: float = 0.5, **options: float) -> sample_run.Builder:
    """Kernel reads between all dies of a Frontier node, one link of which gives `slow_to` of its rate."""
    topology = machines.frontier()[0]
    build = sample_run.Builder(topology, **options)  # type: ignore[arg-type]
    for a in range(8):
        for b in range(8):
            if a != b:
                links = route(topology, f"gpu{a}", f"gpu{b}")
                rates = [
                    (link.peak_bytes_per_s or 0)
                    * (slow_to if {link.a, link.b} == {f"gpu{die}" for die in slow} else 1.0)
                    for link in links
                ]
                sample_run.pair(build, f"gpu{a}", f"gpu{b}", 0.77 * min(rates) / 1e9, "kernel")
    return build


@pytest.mark.parametrize("link", [(0, 1), (0, 6), (1, 5), (2, 4)])
def test_a_link_at_half_its_rate_is_named(tmp_path: Path, link: tuple[int, int]) -> None:
    """Would catch a bad link of a class with two links only, or one that hides behind the routes over it."""
    first = findings(RunFolder(frontier_pairs(frozenset(link)).write(tmp_path)))[0]
    paths = {f"gpu{a}>gpu{b}" for a, b in (link, link[::-1])}
    assert (
        first.data["culprit"] == f"gpu{link[0]}-gpu{link[1]}" and {*first.data["groups"][0]["pairs"]} == paths
    )
    assert first.data["ratio"] == pytest.approx(0.5)


def test_a_sound_node_has_no_odd_pair(tmp_path: Path) -> None:
    """Would catch links of several widths, or routed pairs, that are held against each other."""
    said = sample_run.sentences(frontier_pairs(frozenset((0, 1)), slow_to=1.0), tmp_path)
    assert not [title for title in said if "odd" in title]


def test_ways_over_other_gpus_are_held_against_equal_ones(tmp_path: Path) -> None:
    """Would catch a median between ways of 50 and of 100 GB/s, beside which most of them are odd."""
    build = frontier_pairs(frozenset((0, 1)), slow_to=1.0)
    build.records = [record for record in build.records if "gpu2" not in record.path]
    said = sample_run.sentences(build, tmp_path)
    assert not [title for title in said if "odd" in title]
    assert any(title.startswith("Between GPUs (routed, 50 GB/s), kernel") for title in said)
    assert any(title.startswith("Between GPUs (routed, 100 GB/s), kernel") for title in said)


@pytest.mark.parametrize("loss", [0.5, 0.8, 0.9, 0.95])
def test_half_a_class_that_is_slow_is_the_gpu_it_shares(tmp_path: Path, loss: float) -> None:
    """Would catch a GPU's only link that is slow, and so half the pairs of four GPUs."""
    build = sample_run.Builder(sample_run.topology(4))
    for a in range(4):
        for b in range(4):
            if a != b:
                sample_run.pair(build, f"gpu{a}", f"gpu{b}", 394.0 * (loss if 2 in (a, b) else 1.0))
    first = findings(RunFolder(build.write(tmp_path)))[0]
    assert first.data["culprit"] == "gpu2" and first.data["ratio"] == pytest.approx(loss)
    assert len(first.data["groups"][0]["pairs"]) == 6


def test_two_slow_ports_leave_two_of_twelve_pairs(tmp_path: Path) -> None:
    """Would catch steps of equal height, of which none is wider than the groups on both sides together."""
    build = sample_run.Builder(sample_run.topology(4))
    for a in range(4):
        for b in range(4):
            rate = 2000.0 if a == b else 314.0 if 2 in (a, b) else 353.0 if 1 in (a, b) else 392.0
            sample_run.pair(build, f"gpu{a}", f"gpu{b}", rate + 0.01 * a)
    first, second, *_ = findings(RunFolder(build.write(tmp_path)))
    assert {first.data["culprit"], second.data["culprit"]} == {"gpu1-nvswitch", "gpu2-nvswitch"}
