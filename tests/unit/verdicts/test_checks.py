"""Verdicts of `byteways check` on runs: against a run, peaks and limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from byteways.answers.claims.claim import Reference
from byteways.answers.claims.compare import compare_with_reference
from byteways.answers.results.index import Index
from byteways.base.errors import BytewaysError
from byteways.cases.reasons import OUT_OF_TIME
from byteways.report.verdicts.junit import junit
from byteways.report.verdicts.prometheus import prometheus
from byteways.verdicts.checks.check import Check, CheckQuestion, checked
from byteways.verdicts.checks.verdict import FAIL, HIGH, MISSING, PASS, UNKNOWN
from byteways.verdicts.checks.wording_check import drain_reason, suspicion
from tests.changed import replace
from tests.report import sample_run
from tests.report.run_builder import GIB, KIB, Builder
from tests.unit.verdicts.test_comparison import changed, folder_of, pairs_run

PEER = [("gpu0:device", "gpu1:device", "gpu0")]


def verdicts(found: Check) -> dict[str, int]:
    return {word: number for word, number in found.counts.items() if number}


def against(tmp_path: Path, run: Builder, reference: Builder, **more: Any) -> Check:
    own, other = folder_of(run, tmp_path / "own"), folder_of(reference, tmp_path / "other")
    words = {name: more.pop(name) for name in ("tolerance",) if name in more}
    question = CheckQuestion.of(str(other.path), **words, **more)
    return checked(own, "own", question, other)


def slow_gpu2(a: str, b: str) -> float:
    return 200.0 if "gpu2" in (a, b) else 396.0


def test_a_healthy_run_passes(tmp_path: Path) -> None:
    """Catches noise that turns a healthy node down."""
    found = against(tmp_path, pairs_run(lambda a, b: 395.0), pairs_run())
    assert (verdicts(found), found.verdict, found.failed) == ({PASS: 24}, PASS, False)
    assert found.suspect is None and suspicion(found) == ""


def test_low(tmp_path: Path) -> None:
    """Catches a slow GPU that passes, is not named, or stands below cases that pass."""
    found = against(tmp_path, pairs_run(slow_gpu2), pairs_run())
    assert (verdicts(found), found.verdict, found.failed) == ({FAIL: 12, PASS: 12}, FAIL, True)
    assert [one.verdict for one in found.cases] == [FAIL] * 12 + [PASS] * 12
    assert found.cases[0].speed == pytest.approx(200 / 396)
    assert found.cases[0].value == pytest.approx(200 / 396 * (found.cases[0].expected or 0))
    assert suspicion(found) == "12 of 12 failing cases involve gpu2, and 12 of the 12 cases with it fail"
    assert drain_reason(found) == "byteways check FAIL: 12 of 24 cases fail, gpu2 in 12 of them"


def test_too_good_never_fails(tmp_path: Path) -> None:
    """Catches a machine that is turned down for a result above its reference."""
    found = against(tmp_path, pairs_run(), pairs_run(slow_gpu2))
    assert (verdicts(found), found.verdict, found.failed) == ({HIGH: 12, PASS: 12}, PASS, False)


@pytest.mark.parametrize(("tolerance", "low"), [(None, 0), ("1%", 24), ("2.9%", 24), ("3.1%", 0)])
def test_the_tolerance(tmp_path: Path, tolerance: str | None, low: int) -> None:
    """Catches a difference that is significant and too small to matter, or a tolerance that is ignored."""
    found = against(tmp_path, pairs_run(lambda a, b: 0.97 * 396.0), pairs_run(), tolerance=tolerance)
    assert found.counts[FAIL] == low


def test_a_latency_that_grows_is_low(tmp_path: Path) -> None:
    """Catches nanoseconds judged as if more of them were better."""
    runs = [Builder(sample_run.topology(2)) for _ in range(2)]
    for build, latency in zip(runs, (900.0, 600.0), strict=True):
        flow = [("gpu0:device", "gpu0:device", "gpu0")]
        build.measure("pointer-chase", flow, 0.0, latency_ns=latency)
    found = against(tmp_path, *runs)
    assert verdicts(found) == {FAIL: 1} and found.cases[0].speed == pytest.approx(2 / 3)
    assert verdicts(against(tmp_path / "turned", *reversed(runs))) == {HIGH: 1}


@pytest.mark.parametrize("status", ["failed", "corrupt", "timeout", "lost", "skipped"])
def test_a_case_without_result_fails(tmp_path: Path, status: str) -> None:
    """Catches a check that passes because what is broken has no result to compare."""
    run = pairs_run(gpus=2)
    run.records = [one for one in run.records if (one.interface, one.path) != ("copy", "gpu0>gpu1")]
    run.lose(status, "broken", "copy", PEER)
    found = against(tmp_path, run, pairs_run(gpus=2))
    assert verdicts(found) == {MISSING: 1, PASS: 3} and found.failed
    assert found.cases[0].reason == f"{status}: broken"
    allowed = against(tmp_path / "allowed", run, pairs_run(gpus=2), allow_missing=True)
    assert verdicts(allowed) == {MISSING: 1, PASS: 3}


@pytest.mark.parametrize("status", ["corrupt", "skipped"])
@pytest.mark.parametrize("reference", ["run", "normal", "peak", "limits"])
def test_a_round_that_fails(tmp_path: Path, reference: str, status: str) -> None:
    """Catches corrupt data, or a GPU given up, in one round of three that leaves a case merely UNKNOWN."""
    run = pairs_run(gpus=2)
    record = run.records[1]
    run.records[1] = replace(record, status=status, reason="wrong words", bandwidth_bytes_per_s=None)
    own = folder_of(run, tmp_path / "own")
    other = folder_of(pairs_run(gpus=2), tmp_path / "other")
    (tmp_path / "l.toml").write_text('[[limit]]\nat_least = "1 GB/s"\n')
    words = {"run": str(other.path), "limits": str(tmp_path / "l.toml")}.get(reference, reference)
    found = checked(own, "own", CheckQuestion.of(words), other if reference == "run" else None)
    (failing,) = found.failing
    assert (failing.case_id, failing.reason) == (record.case_id, f"{status}: wrong words")
    assert len({one.case_id for one in found.cases}) == len(found.cases)


def test_cases_not_planned(tmp_path: Path) -> None:
    """Catches a machine that fails for a case that nobody planned on it, and one that nobody is told of."""
    run = pairs_run(gpus=2)
    run.records = run.records[3:]
    run.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 55.0)
    found = against(tmp_path, run, pairs_run(gpus=2))
    assert verdicts(found) == {PASS: 3, UNKNOWN: 1} and not found.failed
    assert found.notes == ("1 case of the reference not planned in this run",)
    assert found.cases[-1].reason == "the reference has no result of it"


def test_left_out_for_lack_of_time(tmp_path: Path) -> None:
    """Catches cases that a shorter budget left out and that nobody is told of."""
    run = pairs_run(gpus=2)
    run.records = run.records[3:]
    run.lose("skipped", "no time", "copy", PEER, reason_code=OUT_OF_TIME)
    assert verdicts(against(tmp_path, run, pairs_run(gpus=2))) == {MISSING: 1, PASS: 3}
    allowed = against(tmp_path / "allowed", run, pairs_run(gpus=2), allow_missing=True)
    assert verdicts(allowed) == {PASS: 3}


def test_missing_parts_of_the_machine(tmp_path: Path) -> None:
    """Catches a GPU or link that is gone, where all that is left is as fast as before."""
    run = pairs_run(gpus=3)
    found = against(tmp_path, run, pairs_run(), allow_missing=True)
    assert [one.case for one in found.failing] == ["1 of 4 NVIDIA H200"]
    run = pairs_run()
    links = run.topology.links
    run.topology = replace(
        run.topology, links=tuple(one for one in links if {one.a, one.b} != {"gpu1", "nvswitch"})
    )
    found = against(tmp_path / "link", run, pairs_run())
    assert [one.case for one in found.failing] == ["link gpu1-nvswitch"]
    assert suspicion(found).startswith("the link gpu1-nvswitch is missing: 1 of 1 failing case involve")


def test_a_void_result_is_missing(tmp_path: Path) -> None:
    """Catches a figure beyond the physical limit that counts as a good result."""
    run = pairs_run(gpus=2)
    warning = {"id": "beyond-limit", "observed": "900 GB/s", "required": "450", "advice": ""}
    run.records = [one for one in run.records if (one.interface, one.path) != ("copy", "gpu0>gpu1")]
    run.measure("copy", PEER, 900.0, warnings=[warning])  # type: ignore[list-item]
    found = against(tmp_path, run, pairs_run(gpus=2))
    assert [one.reason for one in found.failing] == ["void: beyond a physical limit"]


def test_other_definitions_are_unknown(tmp_path: Path) -> None:
    """Catches figures of two definitions that are judged by one another, and few rounds that pass."""
    run = changed(pairs_run(gpus=2), method_version=99)
    found = against(tmp_path, run, pairs_run(gpus=2))
    assert (verdicts(found), found.verdict) == ({UNKNOWN: 4}, UNKNOWN)
    assert {one.reason for one in found.cases} == {"other method version: 1 and 99"}
    few = against(tmp_path / "few", pairs_run(gpus=2, rounds=1), pairs_run(gpus=2))
    assert verdicts(few) == {UNKNOWN: 4} and few.judged == 0


def timed(rounds: Sequence[int], clock: str = "host-clock") -> Builder:
    """A run in whose `rounds` copies and kernels are timed by another clock."""
    build = pairs_run(gpus=2)
    for number, one in enumerate(build.records):
        if one.round in rounds:
            build.records[number] = replace(one, timed_by=clock)
    return build


def test_operations_that_end_otherwise_are_missing(tmp_path: Path) -> None:
    """Catches a copy that returns before its bytes have arrived, called UNKNOWN; and a change of software,
    or a single round, called a fault.
    """
    found = against(tmp_path / "a", timed((0, 1, 2)), pairs_run(gpus=2))
    assert (verdicts(found), found.failed) == ({MISSING: 4}, True)
    said = "its calls complete differently: timed by host-clock, in the reference by device-events"
    assert {one.reason for one in found.cases} == {said}
    once = against(tmp_path / "b", timed((0,)), pairs_run(gpus=2))
    assert verdicts(once) == {UNKNOWN: 4} and not once.failed
    own, other = (
        folder_of(build, tmp_path / name)
        for build, name in ((timed((0, 1, 2)), "c"), (pairs_run(gpus=2), "d"))
    )
    own.manifest["libraries"] = [{"library": "cuda-driver", "usable": True, "version": "another"}]
    updated = checked(own, "own", CheckQuestion.of(str(other.path)), other)
    assert verdicts(updated) == {UNKNOWN: 4}
    assert {one.reason for one in updated.cases} == {"other timer: device-events and host-clock"}


def test_refusals(tmp_path: Path) -> None:
    """Catches runs that are judged although nothing follows from it."""
    simulated = pairs_run()
    simulated.simulated = True
    with pytest.raises(BytewaysError, match="are compared with measured ones only"):
        against(tmp_path / "a", simulated, pairs_run())
    mixed = against(tmp_path / "b", simulated, pairs_run(), mixed=True)
    assert mixed.verdict == PASS and "SIMULATED" in mixed.marks[0]
    other = pairs_run()
    other.topology = sample_run.topology(4, gpu_model="Another GPU")
    with pytest.raises(BytewaysError, match="have different GPUs") as raised:
        against(tmp_path / "c", pairs_run(), other)
    assert raised.value.cause == "NVIDIA H200; Another GPU"
    apart = Builder(sample_run.topology(4))
    apart.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 55.0)
    with pytest.raises(BytewaysError, match="have no case in common"):
        against(tmp_path / "d", apart, pairs_run())
    with pytest.raises(BytewaysError, match="own has no results to check"):
        against(tmp_path / "e", Builder(sample_run.topology(4)), pairs_run())


def test_json_is_complete(tmp_path: Path) -> None:
    """Catches JSON that JSON does not allow, or a verdict without its claim."""
    found = against(tmp_path, pairs_run(slow_gpu2), pairs_run())
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert (data["verdict"], data["counts"][FAIL], data["suspect"]["name"]) == (FAIL, 12, "gpu2")
    assert data["cases"][0]["claim"]["kind"] == "check" and "gpu2" in data["cases"][0]["parts"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-02T03:05:01Z", 1767323101),
        ("2026-01-02T03:05:01", 1767323101),
        ("../..", None),
        (None, None),
    ],
)
def test_when_the_run_ended(tmp_path: Path, text: str | None, seconds: int | None) -> None:
    """Catches a damaged time that ends the check, or one read in the zone of the reader."""
    run, other = (
        folder_of(pairs_run(), tmp_path / "a", finished_at=text),
        folder_of(pairs_run(), tmp_path / "b"),
    )
    found = checked(run, "own", CheckQuestion.of(str(other.path)), other)
    assert (found.finished_at.timestamp() if found.finished_at else None) == seconds
    assert ("byteways_check_run_timestamp_seconds" in prometheus(found)) == (seconds is not None)
    assert ('timestamp="2026-01-02T03:05:01"' in junit(found)) == (seconds is not None)


def peak(tmp_path: Path, build: Builder, at_least: str | None = None) -> Check:
    return checked(folder_of(build, tmp_path / "own"), "own", CheckQuestion.of("peak", None, at_least))


def test_a_path_is_judged_by_its_best_way(tmp_path: Path) -> None:
    """Catches a link turned down for one slow interface, or one that passes and no interface saturates."""
    build = Builder(sample_run.topology(3))
    for interface, rate in (("copy", 200.0), ("kernel", 370.0)):
        build.measure(interface, PEER, rate, peak=450)
    build.measure("copy", [("gpu0:device", "gpu2:device", "gpu0")], 300.0, peak=450)
    build.measure("copy", [("gpu1:device", "gpu2:device", "gpu1")], 50.0, size=64 * KIB, peak=450)
    found = peak(tmp_path, build)
    assert [(one.verdict, one.case) for one in found.cases] == [
        (FAIL, "copy issued by the source, gpu0>gpu2, 1 GiB"),
        (PASS, "kernel issued by the source, gpu0>gpu1, 1 GiB"),
    ]
    assert found.cases[0].expected == pytest.approx(315e9)
    assert verdicts(peak(tmp_path / "lower", build, "60%")) == {PASS: 2}


def test_peaks_unknown_or_exceeded(tmp_path: Path) -> None:
    """Catches a path of unknown peak that passes, or one above its peak of which nothing is said."""
    build = Builder(sample_run.topology(3))
    build.measure("copy", PEER, 500.0, peak=450)
    build.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 50.0)
    build.records = [
        one if one.peak_bytes_per_s else replace(one, peak_source="nobody says it") for one in build.records
    ]
    found = peak(tmp_path, build)
    assert [(one.verdict, one.reason) for one in found.cases] == [
        (HIGH, ""),
        (UNKNOWN, "its peak is unknown: nobody says it"),
    ]


def test_one_memory_is_no_link(tmp_path: Path) -> None:
    """Catches a GPU that shares its memory with a CPU and is turned down for its copy engine."""
    build = Builder(sample_run.topology(2))
    devices = build.topology.devices
    shared = (replace(one, shares_memory_with="cpu0") if one.name == "gpu0" else one for one in devices)
    build.topology = replace(build.topology, devices=tuple(shared))
    build.measure("copy", [("cpu0:pinned", "gpu0:device", "gpu0")], 90.0, peak=2662)
    found = peak(tmp_path, build)
    assert [(one.verdict, one.reason) for one in found.cases] == [(UNKNOWN, "both ends are one memory")]


def limits(tmp_path: Path, build: Builder, text: str) -> Check:
    file = tmp_path / "limits.toml"
    file.write_text(text)
    return checked(folder_of(build, tmp_path / "own"), "own", CheckQuestion.of(str(file)))


def test_limits(tmp_path: Path) -> None:
    """Catches a limit in other units, of other cases, or one that no case is held to."""
    build = pairs_run(slow_gpu2)
    build.measure("pointer-chase", [("gpu0:device", "gpu0:device", "gpu0")], 0.0, latency_ns=700.0)
    text = """
[[limit]]
only = "interface=copy"
size = "1GiB"
at_least = "380 GB/s"
[[limit]]
only = ["interface=kernel,path=gpu0>gpu1"]
at_least = "79%"
[[limit]]
only = "interface=pointer-chase"
at_most = "0.65 us"
[[limit]]
title = "host links"
only = "source=cpu*"
at_least = "50 GB/s"
"""
    found = limits(tmp_path, build, text)
    assert verdicts(found) == {FAIL: 7, MISSING: 1, PASS: 7}
    missing = next(one for one in found.cases if one.verdict == MISSING)
    assert (missing.case, missing.reason) == ("host links", "no result to be at least 50 GB/s")
    assert {one.basis for one in found.cases} == {"at least 380 GB/s", "at least 79%", "at most 0.65 us", ""}


def test_a_limit_that_is_met_is_no_note(tmp_path: Path) -> None:
    """Catches HIGH for every result above its least value."""
    assert verdicts(limits(tmp_path, pairs_run(), '[[limit]]\nat_least = "100 GB/s"\n')) == {PASS: 24}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no limits"),
        ("limit = 3", "has no limits"),
        ("[[limits]]\n", "key 'limits': unknown key"),
        (
            "[[limit]]\nat_least = '1 GB/s'\nonly = 'way=copy'",
            "limit 1: only = 'way=copy': unknown key 'way'",
        ),
        ("[[limit]]\nonly = 'path=gpu0>gpu1'", "limit 1: it needs either at_least or at_most"),
        ("[[limit]]\nat_least = '1 GB/s'\nat_most = '1 us'", "limit 1: it needs either"),
        ("[[limit]]\nat_least = '380'", "key 'at_least': the string '380' is no limit"),
        ("[[limit]]\nat_least = '0 GB/s'", "key 'at_least': the string '0 GB/s' is no limit"),
        ("[[limit]]\nat_most = '1 GB/s'", "key 'at_most': the string '1 GB/s' is no limit"),
        ("[[limit]]\nat_least = 380", "key 'at_least': a number is no limit"),
        ("[[limit]]\nonly = 3\nat_least = '1 GB/s'", "key 'only': a number instead of a string"),
        ("[[limit]]\nsize = '1XB'\nat_least = '1 GB/s'", "limit 1, key 'size': '1XB' is not a size"),
        ("[[limit]]\nonly = 'inter=copy'\nat_least = '1 GB/s'", "unknown key 'inter'"),
        ("[[limit]]\nleast = '1 GB/s'", "limit 1, key 'least': unknown key"),
        ("[[limit]\n", "is not valid TOML"),
    ],
)
def test_mistaken_limits(tmp_path: Path, text: str, said: str) -> None:
    """Catches a mistyped limit that nothing is held to."""
    with pytest.raises(BytewaysError) as raised:
        limits(tmp_path, pairs_run(gpus=2), text)
    assert said in raised.value.what


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nromal",), "unknown reference 'nromal'"),
        (("normal", "5"), "--tolerance '5' is not a percentage"),
        (("normal", "101%"), "--tolerance '101%' is not a percentage"),
        (("normal", None, "70%"), "--at-least is a fraction of the peak"),
        (("peak", "5%"), "--tolerance does not change peak"),
        (("limits.toml", "5%"), "--tolerance does not change limits"),
    ],
)
def test_mistaken_questions(words: tuple[str, ...], said: str) -> None:
    """Catches an option that silently does nothing."""
    with pytest.raises(BytewaysError, match=said):
        CheckQuestion.of(*words)


def test_beside_a_reference() -> None:
    """Catches a reference whose own doubt is not in the interval, or a limit that has one."""
    build = Builder(sample_run.topology(2))
    build.measure("copy", PEER, 390.0, size=GIB)
    (cell,) = Index(_Run(build)).cells
    exact = compare_with_reference(cell, Reference("limit", 400e9), kind="check", comparisons=1)
    vague = compare_with_reference(cell, Reference("others", 400e9, 0.05, 10.0), kind="check", comparisons=1)
    many = compare_with_reference(cell, Reference("others", 400e9, 0.05, 10.0), kind="check", comparisons=100)
    assert exact.trails and exact.effect == vague.effect == pytest.approx(0.975)
    assert exact.second.low == exact.second.high == 400e9 and vague.second.low < 370e9
    assert not vague.differ and exact.low > vague.low > many.low
    hopeless = compare_with_reference(
        cell, Reference("nothing", 400e9, 0.05, 0.05), kind="check", comparisons=10**6
    )
    assert 0 < hopeless.low < hopeless.high < float("inf")


class _Run:
    """A builder as the analysis reads it."""

    damaged_lines = 0

    def __init__(self, build: Builder) -> None:
        self.manifest, self.topology, self.records = build.manifest(), build.topology, build.records
