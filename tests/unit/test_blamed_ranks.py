"""Ranks that records blame: which are named, how, and before what else."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.explain.results.blamed_ranks import blamed_names, ranks_blamed
from byteways.explain.two_runs.suspects import suspect
from byteways.record.record import Record
from tests.report import sample_run
from tests.report.run_builder import Builder

PAIR = [("0/gpu0:device", "1/gpu1:device", "gpu0")]
HOSTS = [("node1:gpu0:device", "node2:gpu0:device", "gpu0")]
DEADLOCK = "MPI_Allgather: error 1001 (allgather: deadlock: rank 0 waits for rank 1 in allgather; rank 1 {})"


def failed(reason: str, flows: Any = PAIR, status: str = "failed") -> Record:
    build = Builder(sample_run.topology(2))
    build.lose(status, reason, "mpi", flows)
    return build.records[0]


@pytest.mark.parametrize(
    ("reason", "ranks"),
    [
        (DEADLOCK.format("has left"), (1,)),
        (DEADLOCK.format("is dead"), (1,)),
        (f"rank 0: Error: {DEADLOCK.format('waits for nothing: it never enters split')}", (1,)),
        ("no answer within 20 s; rank 1 (gpu1, process 7 on node7) is stopped", (1,)),
        ("worker ended; rank 1 (process 7 on node7) ended first", (1,)),
        ("rank 1 (gpu1, process 7 on node7) failed in set-up: no memory", (1,)),
        ("rank 1 (gpu1, process 7 on node7): cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY", (1,)),
        ("rank 0: CUDA_ERROR_UNKNOWN", (0,)),
        ("gpu1 does not answer any more, and so rank 0 waits for rank 1", ()),
        ("worker ended by SIGSEGV", ()),
    ],
)
def test_the_rank_of_a_failure(reason: str, ranks: tuple[int, ...]) -> None:
    """Catches the rank that waits blamed for the one that does not come."""
    assert ranks_blamed(failed(reason)) == ranks


def test_names() -> None:
    """Catches a rank without device or host, and the host of this program called that of a model."""
    record = failed(DEADLOCK.format("is dead"))
    real, simulated = {"host": {"name": "node7"}}, {"host": {"name": "node7"}, "simulated": True}
    assert blamed_names(real, [record]) == {record.case_id: frozenset({"rank 1 (gpu1 on node7)"})}
    assert blamed_names(simulated, [record]) == {record.case_id: frozenset({"rank 1 (gpu1)"})}
    other = failed(DEADLOCK.format("is dead"), [("0/gpu1:device", "1/gpu0:device", "gpu1")])
    assert blamed_names(simulated, [record, other])[other.case_id] == {"rank 1"}  # another GPU in each case
    between = failed(DEADLOCK.format("is dead"), HOSTS)
    assert blamed_names(real, [between])[between.case_id] == {"host node2"}
    assert blamed_names(real, [failed("worker ended by SIGSEGV")]) == {}


def test_a_rank_that_is_blamed_comes_before_devices() -> None:
    """Catches the first rank's device blamed for a rank that is late, and one of few records that hides a
    slow GPU.
    """
    late = frozenset({"gpu0", "gpu1", "rank 1 (gpu1)"})
    plain = frozenset({"gpu0", "gpu1"})
    for number, name in ((1, "rank 1 (gpu1)"), (4, "gpu1")):
        found = suspect([late, *[plain] * 8], [late, *[plain] * number])
        assert found is not None and found.name == name
