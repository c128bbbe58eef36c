"""Pages that move, in findings and in the report: exact sentences and tables from known records."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.cases.reasons import PAGES_LAND_ELSEWHERE
from byteways.questions.display.topic import Topic
from byteways.questions.findings import findings
from byteways.questions.subjects.pages import ON_DEMAND, PREFETCH, ZERO_COPY, way_of
from byteways.questions.topics import topics
from byteways.record.run_folder import RunFolder
from tests.report import sample_run

KIB, MIB, GIB = sample_run.KIB, sample_run.MIB, sample_run.GIB
TOUCHED = [("cpu0:managed", "gpu0:device", "gpu0")]
KEPT = {"migration": "off"}


def about_pages(build: sample_run.Builder, folder: Path) -> tuple[list[str], Topic | None]:
    """Titles of all findings, and the topic."""
    run = RunFolder(build.write(folder))
    shown = [topic for topic in topics(Index.of(run)) if topic.anchor == "pages"]
    return [finding.title for finding in findings(run)], shown[0] if shown else None


@pytest.fixture
def build() -> sample_run.Builder:
    return sample_run.Builder(sample_run.topology(2))


def test_which_way_is_fastest_at_which_size(build: sample_run.Builder, tmp_path: Path) -> None:
    """Catches spans that run over a size at which another way, or none, is fastest."""
    rates = {
        64 * KIB: (1.0, 2.0, 9.0),
        MIB: (20.0, 5.0, 30.0),
        16 * MIB: (39.9, 14.0, 40.0),
        GIB: (55, 15, 40),
    }
    for size, (sent, touched, kept) in rates.items():
        build.measure("prefetch", [("cpu0:managed", "gpu0:managed", "gpu0")], sent, size=size)
        build.measure("kernel", TOUCHED, touched, size=size, migrated_bytes=size)
        build.measure("kernel", TOUCHED, kept, size=size, options=KEPT, migrated_bytes=0)
    said, topic = about_pages(build, tmp_path)
    assert (
        "From host to GPU, for managed pages, the fastest is reaching the pages where they are "
        "(zero-copy) from 64 KiB to 1 MiB and prefetching at 1 GiB"
    ) in said
    assert topic is not None
    assert [row[:4] for row in topic.tables[0].rows][-1] == (
        "1 GiB",
        "55.00",
        "15.00",
        "40.00",
    )
    assert topic.tables[0].rows[0][-1] == "64 KiB"
    (chart,) = topic.charts
    assert [line.label for line in chart.series] == [PREFETCH, ON_DEMAND, ZERO_COPY]


def test_what_was_seen_counts(build: sample_run.Builder) -> None:
    """Catches zero-copy that is believed of the option although pages moved, and migration that did not."""
    build.measure("kernel", TOUCHED, 10.0, options=KEPT, migrated_bytes=GIB)
    build.measure("kernel", TOUCHED, 10.0, size=MIB, migrated_bytes=0)
    build.measure("kernel", [("gpu1:managed", "gpu0:device", "gpu0")], 10.0, options=KEPT)
    build.measure("kernel", [("gpu1:managed", "gpu0:device", "gpu0")], 10.0, size=MIB)
    build.measure("kernel", [("gpu0:managed", "gpu0:device", "gpu0")], 10.0)
    build.measure("copy", TOUCHED, 10.0)
    build.measure(
        "kernel", [("gpu1:managed", "gpu0:device", "gpu0")], 10.0, options={"migration": "on-demand"}
    )
    assert [way_of(cell) for cell in cells(build.records)] == [
        ON_DEMAND,
        ZERO_COPY,
        ZERO_COPY,
        None,
        None,
        None,
        ON_DEMAND,
    ]


def test_each_size_of_a_span_has_its_claims(build: sample_run.Builder, tmp_path: Path) -> None:
    """Catches "from 64 KiB to 1 GiB" that rests on a comparison at the last size alone, and more digits than
    the intervals have."""
    sizes = (64 * KIB, MIB, GIB)
    for size in sizes:
        build.measure("prefetch", [("cpu0:managed", "gpu0:managed", "gpu0")], 5.456, size=size)
        build.measure("kernel", TOUCHED, 2.0, size=size, migrated_bytes=size)
        build.measure("kernel", TOUCHED, 9.0, size=size, options=KEPT, migrated_bytes=0)
    run = RunFolder(build.write(tmp_path))
    (one,) = [finding for finding in findings(run) if "managed pages" in finding.title]
    assert "from 64 KiB to 1 GiB" in one.title
    told = {cell.record.case_id: cell.record.size_bytes for cell in cells(run.records)}
    compared = [
        {told[case] for side in (one.first, one.second) for case in side.case_ids} for one in one.claims
    ]
    assert sorted(size for (size,) in compared) == sorted(2 * sizes)
    assert all(claim.leads and claim.first.name == ZERO_COPY for claim in one.claims)
    assert {told[case] for result in one.results for case in result.case_ids} == {*sizes}


def test_pages_that_would_land_elsewhere(tmp_path: Path) -> None:
    """Catches prefetches that are missing without a word on where their pages would go, or a sentence a
    record.
    """
    build = sample_run.Builder(sample_run.topology(2, 2))
    far = [("gpu0:managed", "cpu1:managed", "gpu0")]
    reason = "lands on cpu0: the call names no domain"
    for size in (64 * KIB, GIB):
        build.lose("skipped", reason, "prefetch", far, size=size, reason_code=PAGES_LAND_ELSEWHERE)
    told = [one for one in findings(RunFolder(build.write(tmp_path))) if "would land" in one.title]
    assert [(one.title, one.detail) for one in told] == [
        (
            "Prefetches over gpu0>cpu1 were not run: their pages would land on another NUMA domain",
            f"gpu0>cpu1 (2 cases): {reason}.",
        )
    ]
