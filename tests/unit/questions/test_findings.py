"""Findings that no text of tests/unit/said shows, and silence where intervals do not allow a claim."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.answers.results.obstacles import not_measured
from byteways.cases.reasons import OUT_OF_TIME
from byteways.questions.findings import findings
from byteways.record.run_folder import RunFolder
from byteways.record.warnings import Warning
from tests.changed import replace
from tests.report import sample_run

GIB, MIB, KIB = sample_run.GIB, sample_run.MIB, sample_run.KIB


def test_corruption_and_failures_come_first(tmp_path: Path) -> None:
    """Would catch wrong data being reported below a fast link."""
    build = sample_run.h200x4()
    flow = [("gpu0:device", "gpu1:device", "gpu0")]
    bad = {"path": "gpu0>gpu1", "first_offset_bytes": 4096, "expected": "7", "got": "9", "bad_words": 3}
    build.lose("corrupt", "3 words differ", "kernel-bulk", flow, corruption=bad)
    build.lose("lost", "the worker died of SIGSEGV", "kernel-bulk", flow, size=MIB)
    build.lose("timeout", "no answer for 30 s", "kernel-bulk", flow, size=KIB)
    build.extra_lines.append('{"case_id": "torn')
    found = findings(RunFolder(build.write(tmp_path)))
    assert [finding.title for finding in found[:3]] == [
        "Data arrived corrupt in 3 measurements",
        "2 cases without a result: 1 lost its worker and 1 timed out",
        "1 line of measurements.jsonl could not be read",
    ]
    assert found[0].detail == (
        "First: kernel-bulk gpu0:device > gpu1:device issued by gpu0. Offset 4096: expected 7, got 9; 3 "
        "wrong words on gpu0>gpu1. Do not trust results on this path until this is explained."
    )
    assert "the worker died of SIGSEGV" in found[1].detail


def test_damaged_lines_that_were_measured_again(tmp_path: Path) -> None:
    """Would catch advice to resume a run that has a record of every case."""
    build = sample_run.four_pairs()
    build.extra_lines.append('{"case_id": "torn')
    run = RunFolder(build.write(tmp_path))
    said = []
    for planned in (len(build.records), len(build.records) + 1):
        run.manifest["planned"] = planned
        said.append(next(one.detail for one in findings(run) if "could not be read" in one.title))
    assert said == [
        "Every case still has a record: those cases were measured again.",
        "Their cases are missing; `byteways run --resume` measures them again.",
    ]


def test_clocks_that_are_held_back_name_the_gpu(tmp_path: Path) -> None:
    """Would catch throttling that is one word in a list of warnings."""
    build = sample_run.four_pairs()
    warning = Warning("throttled", "power cap", "none", "look at power")
    idle = {"memory_clock_mhz": 1600, "throttle_reasons": 0}
    health = {
        "gpu1": {"before": idle, "after": {**idle, "throttle_reasons": 0x04}},
        "gpu0": {"before": idle, "after": idle},
    }
    build.records[0] = replace(build.records[0], warnings=(warning,), health=health)
    found = findings(RunFolder(build.write(tmp_path)))
    assert found[0].title == "GPU clocks were throttled in 1 measurement: gpu1 (1)"
    assert "throttled, observed power cap, required none" in found[0].detail
    assert not [finding for finding in found if "carries a warning" in finding.title]


def test_a_warning_of_a_case_without_a_result(tmp_path: Path) -> None:
    """Would catch "0 of 4 results carry a warning"."""
    build = sample_run.four_pairs()
    warning = Warning("unstable", "31 %", "3 %", "repeat it")
    build.lose("failed", "no answer", "kernel", [("gpu0:device", "gpu1:device", "gpu0")])
    build.records[-1] = replace(build.records[-1], warnings=(warning,))
    titles = [finding.title for finding in findings(RunFolder(build.write(tmp_path)))]
    assert "Only cases without a result carry a warning: unstable (1)" in titles


def test_replicates_that_scatter_forbid_the_claim(tmp_path: Path) -> None:
    """Would catch judging by one round's interval when rounds differ by more."""
    tight = sample_run.sentences(
        sample_run.four_pairs(slow=370.0, rounds=3, spread=0.002), tmp_path / "tight"
    )
    wide = sample_run.sentences(sample_run.four_pairs(slow=370.0, rounds=3, spread=0.05), tmp_path / "wide")
    assert any("outlier" in title for title in tight)
    assert not any("outlier" in title for title in wide)


def test_overlap_is_never_called_equal(tmp_path: Path) -> None:
    """Would catch naming a winner within the error bars."""
    build = sample_run.Builder(sample_run.topology(2), half_width=0.02)
    sample_run.pair(build, "gpu0", "gpu1", 394.0)
    sample_run.pair(build, "gpu0", "gpu1", 392.0, "kernel")
    assert sample_run.sentences(build, tmp_path)[0] == (
        "Between GPUs, no significant difference between copy and kernel at 1 GiB: "
        "390 (378–411) and 390 (376–409) GB/s (88 % of 450)"
    )


def test_read_against_write_within_intervals_is_silent(tmp_path: Path) -> None:
    """Would catch an asymmetry that is only noise."""
    build = sample_run.Builder(sample_run.topology(2), half_width=0.02)
    sample_run.pair(build, "gpu0", "gpu1", 394.0)
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 398.0)
    assert not any("faster than as a" in title for title in sample_run.sentences(build, tmp_path))


def test_interference(tmp_path: Path) -> None:
    """Would catch a disturbed flow being compared with the sum, or with another flow."""
    build = sample_run.Builder(sample_run.topology(4))
    measured = ("gpu0:device", "gpu1:device", "gpu0")
    build.measure("copy", [measured], 396.0)
    build.measure(
        "copy",
        [measured, ("gpu2:device", "gpu1:device", "gpu2")],
        {"gpu0>gpu1": 200.0},
        pattern="interference",
    )
    assert (
        "gpu0>gpu1 keeps 51 % of its bandwidth with gpu2>gpu1 running: 200 of 396 GB/s"
        in sample_run.sentences(build, tmp_path)
    )


def test_above_peak_is_a_finding(tmp_path: Path) -> None:
    """Would catch a figure above the peak passing unseen."""
    build = sample_run.Builder(sample_run.topology(2))
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 500.0, peak=450)
    assert (
        "1 result above the nominal peak: copy gpu0:device > gpu1:device issued by gpu0 reaches 500 GB/s"
        in sample_run.sentences(build, tmp_path)
    )


def serialised(
    interface: str, build: sample_run.Builder, *, peers: tuple[int, int] = (1, 2), warned: bool = True
) -> None:
    """gpu0 to two peers at once, in turns."""
    flows = [("gpu0:device", f"gpu{peer}:device", "gpu0") for peer in peers]
    warning = Warning("serialised", 389.2e9, 778.4e9, "Compare window_ns with end_to_end_ns.")
    rates = {f"gpu0>gpu{peer}": 194.6 for peer in peers}
    build.measure(interface, flows, rates, pattern="fan-out", warnings=[warning] if warned else [])


@pytest.mark.parametrize("apart", [413.0, 1556.0])
def test_flows_in_turns_do_not_lead(tmp_path: Path, apart: float) -> None:
    """Catches a shortfall of one case before the fastest interface."""
    build = sample_run.Builder(sample_run.topology(3))
    sample_run.pair(build, "gpu0", "gpu1", 390.0)
    sample_run.pair(build, "gpu0", "gpu1", 375.0, "kernel")
    serialised("copy", build)
    build.records = [
        replace(one, warnings=[replace(w, required=apart * 1e9) for w in one.warnings])
        for one in build.records
    ]
    order = [one.title for one in findings(RunFolder(build.write(tmp_path)))]
    turns = next(place for place, title in enumerate(order) if "serialised" in title)
    fastest = next(place for place, title in enumerate(order) if "is fastest" in title)
    assert fastest < turns, order


def test_an_interface_that_took_turns_too_did_not_overlap_there(tmp_path: Path) -> None:
    """Would catch `kernel overlapped there` for one shape beside a finding that it took turns in another."""
    build = sample_run.Builder(sample_run.topology(4))
    for interface in ("copy", "kernel"):
        serialised(interface, build)
    serialised("copy", build, peers=(1, 3))
    serialised("kernel", build, peers=(1, 3), warned=False)
    details = [
        one.detail for one in findings(RunFolder(build.write(tmp_path))) if "were serialised" in one.title
    ]
    assert len(details) == 2
    assert not any("overlapped there" in detail for detail in details)


def test_turns_are_no_interference(tmp_path: Path) -> None:
    """Would catch a share of the time being called a loss of speed."""
    build = sample_run.Builder(sample_run.topology(3))
    measured = ("gpu0:device", "gpu1:device", "gpu0")
    build.measure("copy", [measured], 396.0)
    warning = Warning("serialised", 393e9, 786e9, "Compare window_ns with end_to_end_ns.")
    flows = [measured, ("gpu0:device", "gpu2:device", "gpu0")]
    build.measure("copy", flows, {"gpu0>gpu1": 157.0}, pattern="interference", warnings=[warning])
    assert not any("keeps" in title for title in sample_run.sentences(build, tmp_path))


def test_threads_that_do_not_help(tmp_path: Path) -> None:
    """Would catch more threads being praised when they are slower or within the noise."""
    flow = [("cpu0:pageable", "cpu0:pageable", "cpu0")]
    for rate, expected in (
        (
            9.8,
            "No significant difference between 2 threads and one: 9.8 (9.72–9.88) vs 9.8 (9.72–9.88) GB/s",
        ),
        (4.9, "2 threads copy 50 % slower than one: 4.9 (4.86–4.94) vs 9.8 (9.72–9.88) GB/s"),
    ):
        build = sample_run.Builder(sample_run.topology(0))
        build.measure("memcpy", flow, 9.8)
        build.measure("memcpy-mt", flow, rate, launch={"blocks": 2, "threads": 1})
        assert expected in sample_run.sentences(build, tmp_path / str(rate))


def test_skips_that_differ_in_the_gpu_only_are_one_reason(tmp_path: Path) -> None:
    """Would catch one missing ability filling the finding, once for each GPU, and hiding other reasons."""
    build = sample_run.four_pairs()
    for number, record in enumerate(build.records[:3]):
        reason = f"kernel-bulk is not available on gpu{number}: no such instructions"
        build.records[number] = replace(record, status="skipped", reason=reason)
    build.records[3] = replace(build.records[3], status="skipped", reason="gpu0 has too little memory")
    finding = next(one for one in findings(RunFolder(build.write(tmp_path))) if "skipped" in one.title)
    assert finding.detail == (
        "3 cases: kernel-bulk is not available on gpu0: no such instructions (and 2 more reasons like it). "
        "1 case: gpu0 has too little memory."
    )


def test_what_had_no_time_is_left_out_and_not_skipped(tmp_path: Path) -> None:
    """Would catch a case that had no time among those that cannot run."""
    build = sample_run.four_pairs()
    reasons = ["left out to fit the budget of 60 s; run with --budget 90", "gpu0 has too little memory"]
    for number, code in enumerate((OUT_OF_TIME, None)):
        build.records[number] = replace(
            build.records[number], status="skipped", reason=reasons[number], reason_code=code
        )
    titles = [finding.title for finding in findings(RunFolder(build.write(tmp_path)))]
    assert {"1 case was skipped", "1 case was left out for lack of time"} <= set(titles)
    told = [(reason.status, reason.reason) for reason in not_measured(build.records)]
    assert told == [("skipped", reasons[1]), ("left out", reasons[0])]


def test_a_result_at_its_peak_is_not_above_it(tmp_path: Path) -> None:
    """Would catch a finding of figures that reach the peak, and a share of another figure."""
    build = sample_run.Builder(sample_run.topology(2), spread=0.0)
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 450.0, peak=450)
    assert not [one for one in sample_run.sentences(build, tmp_path / "at") if "above the nominal" in one]
    build.measure("kernel", [("gpu0:device", "gpu1:device", "gpu0")], 500.0, peak=450)
    run = RunFolder(build.write(tmp_path / "above"))
    (found,) = [one for one in findings(run) if "above the nominal" in one.title]
    assert found.detail.startswith("That is 111 % of 450 GB/s (")
