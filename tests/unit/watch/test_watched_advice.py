"""Advice on a watched program: what it would gain, and what no gain is stated for."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

from byteways.answers.results.index import Index
from byteways.ext.watch.advice.advice import CHANGES, NO_GAIN, AdvisedBin, advice
from byteways.ext.watch.advice.wording_advice import advice_lines, advice_table
from byteways.ext.watch.bins import Bin, End, Watched, What
from byteways.record.run_folder import RunFolder

MIB = 2**20
PAGEABLE, PINNED = End("pageable"), End("pinned", "cpu0")
GPU0, GPU1 = End("device", "gpu0"), End("device", "gpu1")
#: Of 1 MiB from pinned memory to a GPU in the run below.
HOST_TO_GPU_NS = 21_800


@cache
def run() -> Index:
    """Returns the run `full` of two H100."""
    sys.path[:0] = [str(Path(__file__).parents[3] / "scripts")]
    from unpack_examples import recorded

    return Index.of(RunFolder(recorded("h100x2/full")))


def copies(
    source: End,
    destination: End,
    each_ns: float,
    *,
    size: int = MIB,
    method: str = "cuMemcpyHtoDAsync",
    count: int = 1000,
    overlap_ns: int | None = None,
    what: What = "copy",
) -> Bin:
    """Returns a bin of equal copies."""
    time_ns = round(count * each_ns)
    return Bin(
        *(what, method, count, count * size, size, size),
        source=source,
        destination=destination,
        time_ns=time_ns,
        overlap_ns=overlap_ns,
    )


def advised(one: Bin) -> AdvisedBin:
    (found,) = advice(Watched([], [one]), run()).bins
    return found


def test_pageable_copies_gain_by_pinned_memory() -> None:
    """Catches a gain that is not the difference to the best method's time over all copies."""
    found = advised(copies(PAGEABLE, GPU0, 100_000))
    assert found.gain is not None and found.gain.change == "pinned"
    assert found.best_ns is not None and found.best_ns.value == pytest.approx(1000 * HOST_TO_GPU_NS, rel=0.05)
    taken = 1000 * 100_000
    assert (found.gain.low_ns, found.gain.high_ns) == (taken - found.best_ns.high, taken - found.best_ns.low)
    assert 0 < found.gain.low_ns < found.gain.high_ns


def test_copies_beside_kernels_may_gain_nothing() -> None:
    """Catches the promise of a time in which the program computes anyway."""
    found = advised(copies(PAGEABLE, GPU0, 100_000, overlap_ns=90_000_000))
    assert found.gain is not None and found.gain.low_ns == 0.0 and found.gain.high_ns > 0


def test_another_method_gains_only_where_it_leads() -> None:
    """Catches a promise that rests on a tie, and a kernel for copies within a GPU that is missed."""
    found = advised(copies(GPU0, GPU0, 4_000, method="cuMemcpyDtoDAsync"))
    assert found.gain is not None and (found.gain.change, found.gain.answer.interface) == ("method", "kernel")
    assert any(
        one.claim.leads and one.variant.interface == "copy" for one in found.gain.answer.ranking.rivals
    )


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (copies(PINNED, GPU0, HOST_TO_GPU_NS), "best-already"),
        (copies(PINNED, GPU0, 2 * HOST_TO_GPU_NS), "slower-than-run"),
        (copies(PAGEABLE, GPU0, HOST_TO_GPU_NS / 2), "faster"),
        (copies(PAGEABLE, GPU0, HOST_TO_GPU_NS), "within-interval"),
        (copies(End(), GPU0, 100_000), "devices-unknown"),
        (copies(End("device", "gpu7"), GPU0, 100_000), "devices-unknown"),
        (copies(PAGEABLE, GPU0, 1e9, size=64 << 40, count=1), "not-in-run"),
        (copies(End(), End(), 100_000, what="link", method="nvlink"), "no-bytes"),
        (copies(GPU0, GPU1, 100_000, what="collective", method="MPI_Ibarrier"), "not-in-run"),
    ],
)
def test_no_gain_is_stated(one: Bin, code: str) -> None:
    """Catches a gain without a ground, and a reason that is another one's."""
    found = advised(one)
    assert (found.gain, found.no_gain) == (None, code)


def test_collectives_are_asked_by_their_calls() -> None:
    """Catches a collective of NCCL or MPI whose call is not known."""
    run_of_ranks = advice(
        Watched([], [copies(End("device", "gpu0"), GPU0, 1e7, what="collective", method="ncclAllReduce")]),
        run(),
    )
    assert run_of_ranks.bins[0].no_gain == "not-in-run"  # the run has no ranks
    assert run_of_ranks.to_json()["bins"][0]["no_gain"] == "not-in-run"


def test_the_largest_gain_is_first_and_small_bins_are_left_out() -> None:
    """Catches an order by time, and a question for each of thousands of bins."""
    bins = [
        copies(PINNED, GPU0, HOST_TO_GPU_NS, count=100_000),
        copies(PAGEABLE, GPU0, 50_000, count=1000),
        copies(PAGEABLE, GPU0, 100_000, count=1000),
        copies(PAGEABLE, GPU0, 50_000, count=1),
    ]
    found = advice(Watched([], bins), run())
    assert [one.bin for one in found.bins] == [bins[2], bins[1], bins[0]]
    assert found.taken_ns == sum(one.time_ns or 0 for one in bins[:3])
    table = advice_table(found, "R")
    assert len(table.rows) == 2 and all(len(row) == len(table.headings) for row in table.rows)
    assert len([*advice_lines(found)]) == 2  # the sum, and one reason


def test_every_code_has_a_sentence() -> None:
    assert all(NO_GAIN.values()) and all(CHANGES.values())
