"""Findings from figures with a warning: the sentence says so, or is left out where it hangs on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from byteways.answers.best.ranking import rank
from byteways.answers.results.index import Index
from byteways.answers.results.obstacles import _excess
from byteways.questions.findings import findings
from byteways.record.run_folder import RunFolder
from byteways.record.times import Times
from byteways.record.warnings import Warning
from tests.changed import replace
from tests.report import sample_run

MIB = sample_run.MIB
COPY = [("cpu0:hugepage", "cpu0:hugepage", "cpu0")]


def warning(name: str) -> Warning:
    return Warning(name, 0.48, 0.02, "")


def with_a_noisy_round(rates: tuple[float, float, float] = (13.7, 13.9, 5.4)) -> sample_run.Builder:
    """memcpy at 7.19 GB/s; memcpy-mt in three rounds, the last noisy with an interval of ±48 %."""
    build = sample_run.Builder(sample_run.topology(0), rounds=3, spread=0.0)
    build.measure("memcpy", COPY, 7.19, size=64 * MIB)
    build.measure("memcpy-mt", COPY, 13.7, size=64 * MIB, launch={"blocks": 2, "threads": 1})
    for record, rate, half in zip(build.records[-3:], rates, (0.003, 0.003, 0.48), strict=True):
        median = 64 * MIB / rate
        times = Times(median, (median * (1 - half), median * (1 + half)), median, median, median, 0.0, 30)
        noisy = [warning("noisy")] * (half > 0.01)
        at = build.records.index(record)
        build.records[at] = replace(record, bandwidth_bytes_per_s=rate * 1e9, time_ns=times, warnings=noisy)
    return build


def test_one_noisy_round_is_told_with_its_spread(tmp_path: Path) -> None:
    """Would catch two speeds a factor apart being called equal because one round was noisy."""
    said = sample_run.sentences(with_a_noisy_round(), tmp_path)
    assert said[:2] == [
        "In host memory, not decided between memcpy-mt and memcpy (0.33 to 11 times) at 64 MiB: "
        "14 (1.51–125) and 7.19 (7.15–7.23) GB/s (noisy)",
        "Not decided between 2 threads and one (0.33 to 11 times): 14 (1.51–125) vs "
        "7.19 (7.15–7.23) GB/s (noisy)",
    ]
    assert not any("equal" in title or "no faster" in title for title in said)


def test_a_noisy_best_does_not_hide_what_is_slower(tmp_path: Path) -> None:
    """Would catch "no significant difference" from a noisy result of what a steady one is faster than."""
    build = with_a_noisy_round()
    build.measure("memcpy-stream", COPY, 4.0, size=64 * MIB)
    build.write(tmp_path)
    ranking = rank(Index(RunFolder(tmp_path)).cells)
    assert ranking is not None and ranking.variant.interface == "memcpy"
    assert [one.variant.interface for one in ranking.ties] == ["memcpy-mt"]
    assert [one.variant.interface for one in ranking.slower] == ["memcpy-stream"]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("noisy", "noisy"),
        ("drift", "drifting"),
        ("bimodal", "bimodal"),
    ],
)
def test_a_sentence_carries_the_warnings_of_its_figures(tmp_path: Path, name: str, word: str) -> None:
    """Would catch a finding that does not say that the figure behind it is unsure."""
    build = sample_run.Builder(sample_run.topology(0))
    build.measure("memcpy", COPY, 9.8)
    build.measure("memcpy-stream", COPY, 13.0, warnings=[warning(name)])
    said = sample_run.sentences(build, tmp_path)
    assert said[0].endswith(f"13 GB/s; memcpy reaches 9.8 ({word})")
    assert any(title.startswith("Non-temporal") and title.endswith(f"({word})") for title in said)


@pytest.mark.parametrize(("samples", "doubted"), [(1, True), (2, False)])
def test_samples_count_over_all_rounds(tmp_path: Path, samples: int, doubted: bool) -> None:
    """Would catch a result called unsure for the samples of one of its rounds."""
    build = sample_run.Builder(sample_run.topology(0))
    build.measure("memcpy", COPY, 9.8, warnings=[warning("few-samples")])
    build.records = [
        replace(one, time_ns=replace(one.time_ns, n=samples)) for one in build.records if one.time_ns
    ]
    (cell,) = Index(RunFolder(build.write(tmp_path))).cells
    assert (cell.samples, bool(cell.doubts)) == (3 * samples, doubted)


@pytest.mark.parametrize(("half_width", "claimed"), [(0.002, True), (0.1, False)])
def test_a_small_difference_needs_steady_rounds(tmp_path: Path, half_width: float, claimed: bool) -> None:
    """Would catch a claim of 5 % that the interval does not support, and a warning that hides a clear one."""
    build = sample_run.Builder(sample_run.topology(0), half_width=half_width)
    build.measure("memcpy", COPY, 9.8)
    build.measure("memcpy-stream", COPY, 10.3, warnings=[warning("drift")])
    assert any(title.startswith("Non-temporal") for title in sample_run.sentences(build, tmp_path)) == claimed


def test_full_speed_is_not_claimed_of_noisy_sums(tmp_path: Path) -> None:
    """Would catch a wide interval being taken for proof that nothing is lost."""
    build = sample_run.Builder(sample_run.topology(2), half_width=0.2)
    flows = [("gpu0:device", "gpu1:device", "gpu0"), ("gpu1:device", "gpu0:device", "gpu1")]
    for flow in flows:
        build.measure("copy", [flow], 396.0)
    rates = {"gpu0>gpu1": 340.0, "gpu1>gpu0": 340.0}
    build.measure("copy", flows, rates, pattern="bidirectional", warnings=[warning("noisy")])
    assert not any("full speed" in title for title in sample_run.sentences(build, tmp_path))


def test_flows_that_overlapped_in_part_are_not_the_best(tmp_path: Path) -> None:
    """Would catch rates from different times being added up to more than the links carry, and praised."""
    build = sample_run.Builder(sample_run.topology(3))
    for interface, rate, window in (("copy", 230.5, 2e6), ("kernel", 200.0, 6e6)):
        flows = [(f"gpu{index}:device", "gpu0:device", f"gpu{index}") for index in (1, 2)]
        rates = {f"gpu{index}>gpu0": rate for index in (1, 2)}
        times = {"window_ns": window, "end_to_end_ns": 6.2e6}
        build.measure(interface, flows, rates, pattern="fan-in", peak=450, **times)
    found = findings(RunFolder(build.write(tmp_path)))
    assert (
        found[0].title
        == "2 GPUs to gpu0 at once: kernel issued by the source reaches 400 GB/s in total (89 % of 450)"
    )
    assert found[0].detail.endswith(
        "Only partly overlapped, so not compared: copy issued by the source 461 GB/s."
    )
    above = next(one for one in found if "above the nominal peak" in one.title)
    assert above.detail.endswith(
        "The flows overlapped for only 32 % of the time, so the sum overstates the links' rate."
    )


def test_memory_on_other_pages_is_told_and_not_ranked(tmp_path: Path) -> None:
    """Catches a finding on huge pages from figures of base pages, and their rounds called too few."""
    build = sample_run.Builder(sample_run.topology(0), rounds=3, spread=0.0)
    build.measure("memcpy", COPY, 20.0, size=64 * MIB)
    build.records = [replace(one, warnings=[warning("page-size")]) for one in build.records]
    build.measure("memcpy", [("cpu0:pageable", "cpu0:pageable", "cpu0")], 10.0, size=64 * MIB)
    build.measure("memcpy-mt", [("cpu0:pageable", "cpu0:pageable", "cpu0")], 5.0, size=64 * MIB)
    index = Index.of(RunFolder(build.write(tmp_path)))
    assert {cell.record.flows[0]["source"] for cell in index.ranked} == {"cpu0:pageable"}
    told = [finding for finding in findings(index) if finding.claims]
    assert told and not any("hugepage" in finding.title for finding in told)
    assert any("pages of the expected size" in finding.title for finding in findings(index))
    assert not any("rounds" in finding.title for finding in findings(index))


@pytest.mark.parametrize(
    ("observed", "required", "excess"),
    [(2.0, 1.0, 2.0), (1.0, -4.0, 4.0), (0.0, 3.0, 0.0), ("10 GB/s", 3.0, 0.0), (0.0, 0.0, 0.0)],
)
def test_excess_of_a_warning(observed: Any, required: Any, excess: float) -> None:
    """Catches a factor below 1, and one of numbers that are none."""
    assert _excess(Warning("noisy", observed, required, "")) == excess
