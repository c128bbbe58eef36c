"""Ranks that records blame: which are named, how, and before what else."""

from __future__ import annotations

from typing import Any

from byteways.answers.results.blamed_ranks import blamed_names, ranks_blamed
from byteways.questions.bottlenecks.culprits import CaseEvidence
from byteways.record.blame import FailureBlame
from byteways.record.record import Record
from byteways.verdicts.two_runs.suspects import suspect
from tests.report import sample_run
from tests.report.run_builder import Builder

PAIR = [("0/gpu0:device", "1/gpu1:device", "gpu0")]
HOSTS = [("node1:gpu0:device", "node2:gpu0:device", "gpu0")]


def failed(blame: FailureBlame | None, flows: Any = PAIR, status: str = "failed") -> Record:
    build = Builder(sample_run.topology(2))
    build.lose(status, "rank 0 waits for rank 5", "mpi", flows, blame=blame)
    return build.records[0]


def test_the_rank_of_a_failure() -> None:
    """Catches a rank that is read in the words of a reason, and one that is lost on the way."""
    assert ranks_blamed(failed(FailureBlame(rank=1))) == (1,)
    assert ranks_blamed(failed(FailureBlame(device="gpu1"))) == ranks_blamed(failed(None)) == ()


def test_names() -> None:
    """Catches a rank without device or host, and the host of this program called that of a model."""
    record = failed(FailureBlame(rank=1))
    real, simulated = {"host": {"name": "node7"}}, {"host": {"name": "node7"}, "simulated": True}
    assert blamed_names(real, [record]) == {record.case_id: frozenset({"rank 1 (gpu1 on node7)"})}
    assert blamed_names(simulated, [record]) == {record.case_id: frozenset({"rank 1 (gpu1)"})}
    other = failed(FailureBlame(rank=1), [("0/gpu1:device", "1/gpu0:device", "gpu1")])
    assert blamed_names(simulated, [record, other])[other.case_id] == {"rank 1"}  # another GPU in each case
    between = failed(FailureBlame(rank=1), HOSTS)
    lost = failed(FailureBlame(host="node2"), HOSTS)  # its rank is not known
    for record in (between, lost):
        assert blamed_names(real, [record])[record.case_id] == {"host node2"}
    assert blamed_names(real, [failed(None)]) == {}


def test_a_rank_that_is_blamed_comes_before_devices() -> None:
    """Catches the first rank's device blamed for a rank that is late, and one of few records that hides a
    slow GPU.
    """
    late = CaseEvidence(frozenset({"gpu0", "gpu1", "rank 1 (gpu1)"}), True)
    plain = frozenset({"gpu0", "gpu1"})
    for number, name in ((1, "rank 1 (gpu1)"), (4, "gpu0")):
        found = suspect([late, *(CaseEvidence(plain, place < number) for place in range(8))])
        assert found is not None and found.name == name
