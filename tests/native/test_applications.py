"""Application patterns in the native core: what one rank lacks refuses the case on all of them."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native.test_thread_ranks import play

SIZE = 4096
OPTIONS: dict[str, Any] = {
    "operation": "halo",
    "columns": 2,
    "width_cells": 32,
    "height_cells": 16,
    "depth": 1,
    "fields": 1,
}


def measured_by(rank: _core.ThreadRanks, has_messages: bool, **options: Any) -> str:
    """What a rank on a host says, with or without a buffer for messages."""
    session = _core.Session(gpus=False)
    data = session.allocate("cpu0", "pageable", 1 << 20, "cpu0")
    messages = session.allocate("cpu0", "pageable", 1 << 20, "cpu0") if has_messages else None
    flow = _core.Flow(data, messages, "cpu0", "halo", SIZE, cold=False, ranks=rank, **{**OPTIONS, **options})
    made = _core.MeasureOptions()
    made.budget_s = 0.01
    with pytest.raises(_core.UnsupportedError) as refused:
        session.measure([flow], made, _core.RankTeam(rank))
    return str(refused.value)


def test_what_one_rank_lacks_refuses_all() -> None:
    """Catches a rank that goes on to an exchange whose partner has already given up."""
    said = play(2, lambda rank: measured_by(rank, has_messages=rank.rank != 1))
    assert said[0] == said[1]
    assert "rank 1: each rank has its data and its messages" in said[0]


def test_threads_have_no_mpi_to_exchange_by() -> None:
    """Catches ranks that wait for messages which nobody can send."""
    said = play(2, lambda rank: measured_by(rank, has_messages=True))
    assert said[0] == said[1] and "rank 0: it takes ranks that MPI has started" in said[0]


@pytest.mark.parametrize(
    "options, reason",
    [({"columns": 3}, "2 ranks do not fill rows of 3"), ({"depth": 17}, "no face of 17 cells")],
)
def test_what_the_plan_would_refuse(options: dict[str, Any], reason: str) -> None:
    """Catches a flow that is believed because a plan has looked at it before."""
    assert all(
        reason in text for text in play(2, lambda rank: measured_by(rank, has_messages=True, **options))
    )
