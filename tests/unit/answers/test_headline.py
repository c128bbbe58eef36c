"""The first table: the best interface between each kind of pair at three sizes, and by how much it leads."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.answers.best.headline import Headline, best_first, headline, rows_of_text
from byteways.record.run_folder import RunFolder
from byteways.record.warnings import Warning
from tests.report import sample_run

GIB, MIB, KIB = sample_run.GIB, sample_run.MIB, sample_run.KIB
PAIR = [("gpu0:device", "gpu1:device", "gpu0")]


def of(build: sample_run.Builder, folder: Path) -> Headline:
    found = headline(RunFolder(build.write(folder)))
    assert found is not None
    return found


def cell(build: sample_run.Builder, folder: Path, column: int = -1) -> str:
    (row,) = rows_of_text(of(build, folder))
    return row[column]


@pytest.mark.parametrize(
    ("rate", "spread", "text"),
    [
        (390.0, 0.0, "copy 396 GB/s, 1.5 % over kernel"),
        (395.0, 0.0, "copy 396 GB/s, no significant difference from kernel"),
        (390.0, 0.02, "copy 400 GB/s, no significant difference from kernel"),
        (100.0, 0.02, "copy 400 GB/s, 4 × kernel"),
    ],
)
def test_a_lead_within_the_spread_is_none(rate: float, spread: float, text: str, tmp_path: Path) -> None:
    """Would catch a lead that the next run may turn round: rounds spread further than intervals."""
    build = sample_run.Builder(sample_run.topology(2), rounds=3, spread=spread)
    build.measure("copy", PAIR, 396.0, peak=450)
    build.measure("kernel", PAIR, rate, peak=450)
    assert cell(build, tmp_path) == text


def test_the_nearest_size_is_said(tmp_path: Path) -> None:
    """Would catch a figure of another size that passes for that of the column, and one from too far away."""
    build = sample_run.Builder(sample_run.topology(2))
    build.measure("copy", PAIR, 24.0, size=512 * KIB, peak=450)
    build.measure("kernel", PAIR, 20.0, size=512 * KIB, peak=450)
    build.measure("copy", PAIR, 30.0, size=MIB, peak=450)
    build.measure("copy", PAIR, 396.0, size=GIB, peak=450)
    found = of(build, tmp_path)
    assert found.size_names == ("1 MiB", "1 GiB")
    assert rows_of_text(found)[0][1] == "copy 24 GB/s at 512 KiB, 20 % over kernel"


def test_a_size_far_off_stands_for_none(tmp_path: Path) -> None:
    """Would catch the column of 4 KiB filled from 64 KiB, where another interface may be best."""
    build = sample_run.Builder(sample_run.topology(2))
    for size in (64 * KIB, 512 * KIB, 256 * MIB):
        build.measure("copy", PAIR, 24.0, size=size, peak=450)
    build.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 2.0, size=4 * KIB)
    found = of(build, tmp_path)
    assert found.size_names == ("4 KiB", "1 MiB", "256 MiB")
    alone = "copy 24 GB/s{}, no alternative at this size"
    assert rows_of_text(found) == [
        ("host > GPU", "copy 2.05 µs (2 GB/s), no alternative at this size", "not measured", "not measured"),
        ("GPU > GPU, NVLink4 ×18", "not measured", alone.format(" at 512 KiB"), alone.format("")),
    ]


def test_only_the_same_job_is_compared(tmp_path: Path) -> None:
    """Would catch figures that count bytes twice, come from caches, or are of pages that lie elsewhere."""
    build = sample_run.Builder(sample_run.topology(2))
    build.measure("copy", PAIR, 390.0, peak=450)
    build.measure("stream-copy", PAIR, 790.0, peak=900)
    build.measure("kernel", PAIR, 800.0, cache="warm")
    build.measure("kernel", [("gpu0:managed", "gpu1:device", "gpu0")], 800.0)
    assert cell(build, tmp_path) == "copy 390 GB/s, no alternative at this size"


def test_the_host_is_the_near_domain(tmp_path: Path) -> None:
    """Would catch a far NUMA domain that decides what is best for GPUs with one next to them."""
    build = sample_run.Builder(sample_run.topology(2, 2))
    for domain, rate in (("cpu0", 50.0), ("cpu1", 60.0)):
        build.measure("copy", [(f"{domain}:pinned", "gpu0:device", "gpu0")], rate)
    assert cell(build, tmp_path) == "copy 50 GB/s, no alternative at this size"


def test_too_few_rounds_are_not_called_unmeasured(tmp_path: Path) -> None:
    """Would catch "not measured" where there are results, which one round too few keeps from being ranked."""
    build = sample_run.Builder(sample_run.topology(2))
    build.measure("copy", PAIR, 396.0, peak=450)
    build.rounds = 1
    build.measure("copy", PAIR, 24.0, size=MIB)
    build.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 20.0, size=MIB)
    found = of(build, tmp_path / "some")
    assert found.size_names == ("1 MiB", "1 GiB")
    assert rows_of_text(found) == [
        ("host > GPU", "too few rounds", "not measured"),
        ("GPU > GPU, NVLink4 ×18", "too few rounds", "copy 396 GB/s, no alternative at this size"),
    ]
    assert len(best_first(found)) == 1
    none = sample_run.Builder(sample_run.topology(2), rounds=1)
    none.measure("copy", PAIR, 396.0)
    assert headline(RunFolder(none.write(tmp_path / "none"))) is None


def test_waiting_for_each_operation_is_no_way(tmp_path: Path) -> None:
    """Catches "copy with pace=one-at-a-time 0.3 GB/s" as what is best between two GPUs."""
    build = sample_run.Builder(sample_run.topology(2))
    build.measure("copy", PAIR, 396.0, peak=450, options={"pace": "one-at-a-time"})
    build.measure("kernel", PAIR, 370.0, peak=450)
    assert cell(build, tmp_path) == "kernel 370 GB/s, no alternative at this size"


@pytest.mark.parametrize(
    ("slowest", "text"),
    [
        (390.0, "copy 391 GB/s, no alternative at this size"),
        (197.0, "copy 197 to 392 GB/s, no alternative at this size"),
    ],
)
def test_the_large_size_is_that_of_most_pairs(slowest: float, text: str, tmp_path: Path) -> None:
    """Would catch the rate of one pair given as that of a link class whose other pairs have another."""
    build = sample_run.Builder(sample_run.topology(3), rounds=3, spread=0.0)
    build.measure("copy", PAIR, 396.0, peak=450)
    for pair, rate in (("gpu0>gpu1", 392.0), ("gpu1>gpu2", 391.0), ("gpu2>gpu0", slowest)):
        source, destination = pair.split(">")
        flow = [(f"{source}:device", f"{destination}:device", source)]
        build.measure("copy", flow, rate, size=128 * MIB, peak=450)
    assert cell(build, tmp_path) == text


def test_many_at_once_follows_one_transfer(tmp_path: Path) -> None:
    """Would catch a batched call as the best for one transfer, and its gain that nobody is told."""
    build = sample_run.Builder(sample_run.topology(2))
    build.measure("copy", PAIR, 204.0, size=MIB)
    build.measure("kernel", PAIR, 149.0, size=MIB)
    build.measure("copy", PAIR, 392.0, size=MIB, options={"submit": "batch"})
    assert cell(build, tmp_path) == "copy 204 GB/s, 37 % over kernel, many at once: batch, 392 GB/s"


def test_a_faster_way_that_cannot_be_ranked_is_named(tmp_path: Path) -> None:
    """Catches 1.9 GB/s as what is best beside batches of 390 GB/s that are too short for the timer."""
    build = sample_run.Builder(sample_run.topology(2))
    build.measure("copy", PAIR, 1.9, size=4 * KIB)
    build.measure("kernel", PAIR, 0.7, size=4 * KIB)
    short = [Warning("short-batch", 2500.0, 100000.0, "more operations")]
    build.measure("copy", PAIR, 390.0, size=4 * KIB, options={"stream": 1}, warnings=short)
    said = "copy 2.16 µs (1.9 GB/s), 2.7 × kernel, not ranked: copy with stream=1, 390 GB/s"
    assert cell(build, tmp_path) == said
