"""Ranks that are threads: what they exchange, the parts they are split into, and a rank that leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.work.answer import WorkerAnswer
from byteways.measuring.work.rank_threads import RankThreads
from tests.asked import asked


def play(size: int, body: Callable[[_core.ThreadRanks], Any]) -> list[Any]:
    """What `body` returns or raises for each rank, all at once."""
    results: list[Any] = [None] * size

    def run(rank: _core.ThreadRanks) -> None:
        try:
            results[rank.rank] = body(rank)
        except Exception as error:
            results[rank.rank] = error
            rank.leave(str(error))

    threads = [threading.Thread(target=run, args=(rank,)) for rank in _core.ThreadRanks.make(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_words_get_through() -> None:
    """Catches the words of another rank, of the round before, or of the wrong root."""

    def body(rank: _core.ThreadRanks) -> Any:
        own = bytes([rank.rank]) * (1 + 300 * rank.rank)
        return [(rank.broadcast(own, root), rank.gather(own)) for root in range(rank.size)]

    every = [bytes([rank]) * (1 + 300 * rank) for rank in range(3)]
    assert play(3, body) == [[(every[root], every) for root in range(3)]] * 3


def test_parts_have_numbers_in_order_of_the_key() -> None:
    """Catches ranks of two parts that meet, or a part numbered by the whole."""

    def body(rank: _core.ThreadRanks) -> Any:
        part = rank.split(-1 if rank.rank == 4 else rank.rank % 2, -rank.rank)
        return None if part is None else (part.rank, part.size, part.gather(bytes([rank.rank])))

    even, odd = [b"\x02", b"\x00"], [b"\x03", b"\x01"]
    assert play(5, body) == [(1, 2, even), (1, 2, odd), (0, 2, even), (0, 2, odd), None]


def test_a_rank_that_leaves_frees_those_that_wait_in_a_part() -> None:
    """Catches threads that wait for ever for one that has failed elsewhere."""

    def body(rank: _core.ThreadRanks) -> Any:
        part = rank.split(0, rank.rank)
        assert part is not None
        if rank.rank == 1:
            raise ValueError("planted")
        return part.gather(b"")

    first, planted, last = play(3, body)
    assert isinstance(planted, ValueError)
    assert "rank 1 left before 'gather': planted" in str(first) and "planted" in str(last)


def test_a_team_of_threads_agrees() -> None:
    """Catches a team whose ranks exchange something else than votes when they are no processes."""
    agreed = play(3, lambda rank: _core.RankTeam(rank).agree_max("value", float(rank.rank)))
    assert agreed == [2.0] * 3
    with pytest.raises(_core.Error, match="0 ranks are none"):
        _core.ThreadRanks.make(0)


class Measurer:
    """A rank that reports its number; the second one breaks down when asked."""

    def __init__(self, rank: _core.ThreadRanks) -> None:
        self.rank = rank

    def measure(self, request: CaseRequest) -> WorkerAnswer:
        if request.fresh and self.rank.rank == 1:
            raise RuntimeError("planted")
        return WorkerAnswer(
            {"status": "measured", "told": [each.decode() for each in self.rank.gather(b"x")]}
        )


def test_ranks_out_of_step_give_up_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a rank that broke down while others wait for it, and a process that goes on with them."""
    monkeypatch.setattr("byteways.measuring.work.rank_measuring.RankMeasurer.open", Measurer)
    ranks = RankThreads()
    ends = (Buffer("gpu0", "device", rank=rank) for rank in (0, 1))
    request = asked(Case("xccl", "unidirectional", (Flow(*ends, "gpu0"),), 8))
    assert ranks.measure(request) == ({"status": "measured", "told": ["x", "x"]}, False)
    outcome, leaving = ranks.measure(replace(request, fresh=True))
    assert leaving and outcome == {
        "status": "failed",
        "reason": "rank 1: RuntimeError: planted",
        "reason_code": "worker-error",
        "blame": {"rank": 1},
    }
