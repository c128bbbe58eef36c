"""Findings on ranks that keep the others waiting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from byteways.answers.claims.finding import Finding
from byteways.answers.results.index import Index
from byteways.questions.subjects.stragglers import MANY, named
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from byteways.record.stragglers import stragglers
from byteways.record.times import Times
from byteways.record.warnings import Warning
from tests.changed import replace
from tests.report import rank_runs

BATCH_NS = 1e6


def skew(rank: int, **told: float) -> dict[str, Any]:
    return {"rank": rank, "begin_ns": 0.0, "end_ns": BATCH_NS, "begins_last": 0.0, "no_cpu": 0.0, **told}


def found(tmp_path: Path, *ranks: list[dict[str, Any]]) -> list[Finding]:
    """The findings of a run with one measurement between ranks for each list."""
    run = RunFolder(rank_runs.sent().write(tmp_path))
    one = next(record for record in run.records if record.interface == "mpi")
    times = Times(BATCH_NS, (BATCH_NS, BATCH_NS), BATCH_NS, BATCH_NS, BATCH_NS, 0.0, 9)
    said = [Warning("straggler", "seen", "less", "Give each rank a core.")]

    def measured(number: int, told: list[dict[str, Any]]) -> Record:
        return replace(one, round=number, ranks=told, batch=1, time_ns=times, warnings=said)

    index = Index(run)
    index.records = [measured(number, told) for number, told in enumerate(ranks)]
    return list(named(index))


def titles(tmp_path: Path, *ranks: list[dict[str, Any]]) -> list[str]:
    return [finding.title for finding in found(tmp_path, *ranks)]


def test_ranks_without_a_cpu_are_one_finding(tmp_path: Path) -> None:
    """Catches a finding for each of them, and a measurement that is counted for each."""
    first = [skew(0, no_cpu=0.4), skew(1), skew(2), skew(3)]
    second = [skew(0), skew(1, no_cpu=0.3), skew(2), skew(3)]
    third = [skew(0), skew(1), skew(2), skew(3)]
    (one,) = found(tmp_path, first, second, third)
    assert one.title == (
        "Rank 0 (cpu0) and rank 1 (cpu0) have no CPU for up to 40 % of the time in 2 of 3 measurements"
    )
    assert one.detail.startswith("For example rank 0 (cpu0) in MPI ")


def test_one_rank_without_a_cpu(tmp_path: Path) -> None:
    """Catches a plural, and a rank that begins late among those without a CPU."""
    late, waiting = titles(
        tmp_path,
        [skew(0), skew(1), skew(2, begin_ns=4e5, begins_last=1.0), skew(3)],
        [skew(0), skew(1, no_cpu=0.3), skew(2), skew(3)],
    )
    assert late.startswith("Rank 2 (") and "begins up to 400 µs after the first rank, in 1 of 2" in late
    assert waiting == "Rank 1 (cpu0) has no CPU for up to 30 % of the time in 1 of 2 measurements"


def test_many_ranks_without_a_cpu_are_counted(tmp_path: Path) -> None:
    """Catches a title with the names of all ranks of a crowded host."""
    each = [[skew(rank, no_cpu=0.3 * (rank == slow)) for rank in range(2 * MANY)] for slow in range(MANY)]
    (title,) = titles(tmp_path, *each)
    assert title == f"{MANY} ranks have no CPU for up to 30 % of the time in {MANY} of {MANY} measurements"


def late(*begins_ns: float) -> list[dict[str, float]]:
    return [{"rank": rank, "begin_ns": ns, "begins_last": 1.0} for rank, ns in enumerate(begins_ns)]


@pytest.mark.parametrize(
    ("begins_ns", "ranks"),
    [((0.0, 5e4), [1]), ((5e4, 0.0), [0]), ((2e4, 2e4, 5e4), [2]), ((4e4, 4e4, 5e4), [])],
)
def test_a_straggler_is_compared_with_the_others(begins_ns: tuple[float, ...], ranks: list[int]) -> None:
    """Catches a rank that is compared with itself, and ranks that are late together."""
    assert [one.rank for one in stragglers(late(*begins_ns), 1e5)] == ranks
