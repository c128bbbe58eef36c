"""What is asked: one transfer first, the usual candidates, times, sizes in between, domains, collectives."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.answers.best.answers import Answer, answers
from byteways.answers.best.placement import Placement
from byteways.answers.claims.claim import LEADS
from byteways.base.errors import BytewaysError
from byteways.cases.question import Question, question
from byteways.record.run_folder import RunFolder
from scripts.unpack_examples import recorded
from tests.changed import replace
from tests.report import sample_run
from tests.report.run_builder import GIB, KIB, MIB, Builder
from tests.unit.answers.test_answers import READ, WRITE, asked, only, pair


def all_of(build: Builder, size: int, fastest: float, each: float = 0.8) -> None:
    """The usual candidates between GPUs, the copy by the source first."""
    for number, (interface, flow) in enumerate(
        (interface, flow) for interface in ("copy", "kernel") for flow in (WRITE, READ)
    ):
        build.measure(interface, flow, fastest * each**number, size=size, peak=450)


def test_one_transfer_comes_first(tmp_path: Path) -> None:
    """Catches the rate of a batched call as the answer to a question about one transfer, and its loss."""
    build = pair()
    all_of(build, MIB, 204.0)
    build.measure("copy", WRITE, 392.0, size=MIB, options={"submit": "batch"})
    answer = only(asked(build, tmp_path / "a", "gpu0", "gpu1", "1MiB"))
    assert answer.sure and not answer.options
    assert answer.bandwidth_bytes_per_s == pytest.approx(204e9)
    assert "; many at once: batch, 392 GB/s; sure" in str(answer)
    many = answer.to_json()["many_at_once"]
    assert (many["options"], many["bandwidth_bytes_per_s"]) == ("submit=batch", pytest.approx(392e9))
    build.records = [one for one in build.records if one.options]
    with pytest.raises(BytewaysError) as raised:
        asked(build, tmp_path / "b", "gpu0", "gpu1", "1MiB")
    assert "in batches or graphs" in (raised.value.cause or "")


@pytest.mark.parametrize(
    ("left_out", "reason", "missing"),
    [
        ("", "", []),
        ("kernel", "", ["kernel issued by the source", "kernel issued by the destination"]),
        ("kernel", "reach", []),
        ("kernel", "out-of-time", ["kernel issued by the source", "kernel issued by the destination"]),
    ],
)
def test_the_usual_candidates(left_out: str, reason: str, missing: list[str], tmp_path: Path) -> None:
    """Catches "sure" with a usual method not measured, and as missing one that the machine cannot run."""
    build = pair()
    all_of(build, GIB, 390.0)
    for one in build.records if reason else ():
        if one.interface == left_out:
            build.records = [
                replace(record, status="skipped", reason="no", reason_code=reason, bandwidth_bytes_per_s=None)
                if record.interface == left_out
                else record
                for record in build.records
            ]
            break
    if not reason:
        build.records = [one for one in build.records if one.interface != left_out]
    answer = only(asked(build, tmp_path))
    assert list(answer.not_measured) == answer.to_json()["not_measured"] == missing
    assert answer.sure is not bool(missing)


def test_one_pair_of_a_class_speaks_for_the_others(tmp_path: Path) -> None:
    """Catches a method on one pair of each class that leaves the answers on all other pairs unsure."""
    build = pair()
    all_of(build, GIB, 390.0)
    for interface in ("copy", "kernel"):
        rate = 390.0 if interface == "copy" else 250.0
        build.measure(interface, [("gpu1:device", "gpu0:device", "gpu1")], rate)
    assert only(asked(build, tmp_path, "gpu1", "gpu0", "1GiB")).not_measured == ()


def test_managed_memory_includes_prefetch(tmp_path: Path) -> None:
    """Catches the fastest way to move managed pages left out of the question about managed memory."""
    build = pair()
    pages = [("gpu0:managed", "gpu1:managed", "gpu0")]
    build.measure("prefetch", pages, 46.0, size=MIB)
    build.measure("kernel", [("gpu0:managed", "gpu1:device", "gpu1")], 9.0, size=MIB)
    answer = only(asked(build, tmp_path, "gpu0", "gpu1", "1MiB", memory="managed"))
    assert (answer.interface, answer.sure) == ("prefetch", True)
    assert answer.method.startswith("cudaMemPrefetchAsync in a stream of gpu0")


def test_time_leads_for_small_sizes(tmp_path: Path) -> None:
    """Catches GB/s and a share of the peak as the answer where launch overhead is all that counts."""
    build = pair()
    all_of(build, 4 * KIB, 1.6)
    all_of(build, 64 * KIB, 25.0)
    small, large = (only(asked(build, tmp_path / size, "gpu0", "gpu1", size)) for size in ("4KiB", "64KiB"))
    assert "source), 2.56 µs (1.6 GB/s), " in str(small) and "of 450" not in str(small)
    assert small.to_json()["time_ns"] == pytest.approx(2560)
    assert "source), 25 GB/s (5.6 % of 450), " in str(large)


def test_between_measured_sizes(tmp_path: Path) -> None:
    """Catches a size between two measured ones that is refused, or interpolated in GB/s instead of time."""
    build = pair()
    all_of(build, MIB, 100.0, 0.5)
    all_of(build, 16 * MIB, 320.0, 0.9)
    answer = only(asked(build, tmp_path, "gpu0", "gpu1", "4MiB"))
    low_s, high_s = MIB / 100e9, 16 * MIB / 320e9
    expected = 4 * MIB / (low_s + (high_s - low_s) * 3 / 15)
    assert answer.bandwidth_bytes_per_s == pytest.approx(expected)
    assert answer.interval[0] < expected < answer.interval[1]
    assert answer.to_json()["interpolated"] == [MIB, 16 * MIB]
    claim, first = answer.claims[0], answer.claims[0].first
    assert 1 / 0.9 < claim.effect < 1 / 0.5
    assert claim.effect == pytest.approx(first.value / claim.second.value, rel=1e-3)
    assert answer.sure and "interpolated in time between 1 MiB and 16 MiB" in str(answer)
    assert len(answer.to_json()["claims"][0]["first"]["case_ids"]) == 2
    with pytest.raises(BytewaysError):
        asked(build, tmp_path / "beyond", "gpu0", "gpu1", "32MiB")


def test_a_pair_of_the_same_class_answers_for_another(tmp_path: Path) -> None:
    """Catches a size measured on one pair of each class that is refused for the others, or called sure."""
    build = pair()
    all_of(build, MIB, 200.0)
    build.measure("copy", [("gpu1:device", "gpu0:device", "gpu1")], 390.0)
    answer = only(asked(build, tmp_path, "gpu1", "gpu0", "1MiB"))
    assert (answer.between, answer.interface, answer.sure) == ("gpu1>gpu0", "copy", False)
    assert answer.doubts == ("measured on gpu0>gpu1, over links of the same class",)


def test_the_best_changes_between_two_sizes(tmp_path: Path) -> None:
    """Catches a sure interpolation across the size from which on another method is best."""
    build = pair()
    all_of(build, MIB, 100.0)
    all_of(build, 16 * MIB, 320.0)
    build.measure("kernel-bulk", WRITE, 130.0, size=MIB)
    build.measure("kernel-bulk", WRITE, 200.0, size=16 * MIB)
    answer = only(asked(build, tmp_path, "gpu0", "gpu1", "15MiB"))
    assert answer.interface == "copy" and not answer.sure
    assert answer.doubts == ("another method is best at one of these sizes",)


def test_numa_domains_are_compared(tmp_path: Path) -> None:
    """Catches `cpu*` answered domain by domain without saying which is better."""
    build = Builder(sample_run.topology(2, 2))
    for cpu, rate in (("cpu0", 55.0), ("cpu1", 40.0)):
        build.measure("copy", [(f"{cpu}:pinned", "gpu0:device", "gpu0")], rate)
    placement = asked(build, tmp_path, "cpu*", "gpu0", "1GiB")[-1]
    assert isinstance(placement, Placement)
    assert [name for name, _ in placement.domains] == ["cpu0", "cpu1"]
    assert [claim.verdict for claim in placement.claims] == [LEADS]
    assert "cpu0, 55 GB/s, 38 % faster than cpu1 (40 GB/s)" in str(placement)


def test_collectives(tmp_path: Path) -> None:
    """Catches a collective without an answer, or our own kernels recommended, which no program can call."""
    run = RunFolder(recorded("h100x2/collectives"))
    found = answers(run, question("", "", "1MiB", pattern="allreduce"))
    answer = found[0]
    assert isinstance(answer, Answer)
    assert (answer.interface, answer.between) == ("xccl", "allreduce of 2 ranks with a GPU each")
    assert answer.method.startswith("ncclAllReduce (NCCL 2.")
    assert answer.own is not None and answer.own.variant.interface == "direct"
    assert answer.not_measured == ("MPI",)
    (named,) = answers(run, question("gpu*", "gpu*", "1MiB", pattern="allreduce"))
    assert str(named) == str(answer)


@pytest.mark.parametrize(("source", "destination", "slow"), [("host", "cpu1", True), ("host", "gpu0", False)])
def test_host_memory_takes_longer_to_prepare(source: str, destination: str, slow: bool) -> None:
    """Catches a question about host memory that is refused because its buffers exceed large caches."""
    usual = Question("gpu0", "gpu1", 2**20).answer_within_s
    assert (Question(source, destination, 2**20).answer_within_s > usual) is slow
    assert Question("", "", 2**20, pattern="allreduce").answer_within_s > usual
