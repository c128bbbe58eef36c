"""Ranks that measure one case together: what one rank's clock says is agreed on by all.

The rules of team_contract.py hold for ranks that are threads, and for processes over each MPI.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from byteways import _core
from byteways.measuring.shared.simulator import simulator_path
from tests.mpi import jobs
from tests.native import simulated as toy
from tests.native import team_contract as contract
from tests.native.team_contract import memcpy, told

KIB, MIB = 1 << 10, 1 << 20
#: Real seconds after which a team is taken to wait for ever. Nothing here takes a tenth of it.
PATIENCE_S = 100


@dataclass(frozen=True)
class Raised:
    """An exception that ended a rank's body, or the team."""

    kind: str
    text: str


def together(size: int, body: Callable[[_core.Team], Any]) -> dict[int, Any]:
    """What `body` returned on each thread, or what it raised; -1: what the team raised in the end. Fails when
    the ranks wait for ever.
    """
    results: dict[int, Any] = {}

    def play(team: _core.Team) -> None:
        try:
            results[team.rank()] = body(team)
        except Exception as failure:
            results[team.rank()] = Raised(type(failure).__name__, str(failure))
            raise

    def run() -> None:
        try:
            _core.run_thread_team(size, play)
        except Exception as failure:
            results[-1] = Raised(type(failure).__name__, str(failure))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "the ranks wait for each other for ever"
    return results


def outcome(found: dict[str, Any]) -> Any:
    return found["returned"] if "returned" in found else Raised(found["kind"], found["text"])


@dataclass(frozen=True)
class Ranks:
    """Plays a body of the contract on ranks of one kind."""

    installation: jobs.Installation | None  # None: threads
    folder: Path

    def play(self, size: int, body: Callable[..., Any], *arguments: Any) -> dict[int, Any]:
        """As together(); -1 is what the lowest rank's team raised."""
        if self.installation is None:
            results = together(size, lambda team: body(team, *arguments))
            return json_like(results)
        words = ("team", self.folder, body.__name__, json.dumps(arguments))
        job = jobs.run(self.installation, size, jobs.python("tests.mpi.rank_program", *words))
        assert job.status == 0, job.output
        found = {
            rank: json.loads((self.folder / f"{rank}.json").read_text(encoding="utf-8"))
            for rank in range(size)
        }
        raised = [outcome(found[rank]["team"]) for rank in range(size) if "kind" in found[rank]["team"]]
        return {rank: outcome(found[rank]["body"]) for rank in range(size)} | dict(
            zip([-1], raised, strict=False)
        )


def json_like(results: dict[int, Any]) -> dict[int, Any]:
    """With lists for tuples, as processes tell them."""
    return {
        rank: each if isinstance(each, Raised) else json.loads(json.dumps(each))
        for rank, each in results.items()
    }


KINDS = (
    None,
    jobs.MPICH,
    pytest.param(jobs.OPEN_MPI, marks=pytest.mark.slow),
    pytest.param(jobs.DEBIAN, marks=pytest.mark.slow),
)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name if kind else "threads")
def ranks(request: pytest.FixtureRequest, tmp_path: Path) -> Ranks:
    if request.param is not None:
        jobs.require(request.param)
    return Ranks(request.param, tmp_path)


def test_verbs_of_a_team(ranks: Ranks) -> None:
    """Catches verbs that answer from this rank alone, in another order, or differently on two ranks."""
    answers = [3, 2.0, True, False, True, False, "rank 1", [0.0, 1.0, 2.0], "rank 2"]
    assert ranks.play(3, contract.verbs) == dict.fromkeys(range(3), answers)


def test_votes_of_any_length(ranks: Ranks) -> None:
    """Catches votes that are cut off at a first block's end, and ranks that disagree on a second exchange."""
    text = "long " * 1000
    answers = [text, text * 2, [0.0, 1.0, 2.0]]
    assert ranks.play(3, contract.long_votes) == dict.fromkeys(range(3), answers)


def test_a_barrier_holds_all(ranks: Ranks) -> None:
    """Catches a rank that goes on while another has not arrived, many times in a row."""
    times = ranks.play(4, contract.barriers)
    assert sorted(times) == [0, 1, 2, 3]
    for of_one_barrier in zip(*times.values(), strict=True):
        assert max(came for came, _ in of_one_barrier) <= min(went for _, went in of_one_barrier)


def test_a_failure_ends_the_phase_on_all_ranks(ranks: Ranks) -> None:
    """Catches ranks that wait for a failed one, errors without its number and cause, and an unusable team
    afterwards.
    """
    results = ranks.play(3, contract.failing_phase)
    assert results[1] == ["no room", 2.0]
    for rank in (0, 2):
        text, afterwards = results[rank]
        assert "rank 1 failed in the phase" in text and "no room" in text
        assert afterwards == 2.0


def test_a_failure_after_a_phase_ends_it_too(ranks: Ranks) -> None:
    """Catches a rank that goes on to the next phase though another failed after its last step in this one."""
    results = ranks.play(2, contract.failure_after_a_phase)
    assert results[0].kind == "ValueError"
    assert "rank 0 failed in the phase" in results[1].text


@pytest.mark.parametrize("ends", ["returns", "raises"])
def test_a_rank_that_is_gone_is_waited_for_by_none(ranks: Ranks, ends: str) -> None:
    """Catches ranks that wait for one whose work has ended, with or without an error."""
    results = ranks.play(3, contract.gone, ends)
    for rank in (0, 2):
        assert "rank 1 left before 'nobody comes'" in results[rank].text
    assert results[-1].kind == "Error"


def test_a_rank_that_is_gone_stays_gone(ranks: Ranks) -> None:
    """Catches a second question that waits for a rank which the first one did not reach."""
    said = ranks.play(2, contract.gone_for_good)[0]
    assert len(said) == 2
    assert "rank 1 left before 'first'" in said[0] and "its work has ended" in said[0]
    assert "rank 1 left before 'second'" in said[1]


def test_ranks_that_lose_step_are_told(ranks: Ranks) -> None:
    """Catches ranks that take each other's answers to another question."""
    for failure in ranks.play(2, contract.out_of_step).values():
        assert "rank 0 is at 'one' and rank 1 at 'another'" in failure.text


def test_teams_that_cannot_be(ranks: Ranks) -> None:
    """Catches an empty team, and a broadcast from a rank that does not exist."""
    with pytest.raises(_core.Error, match="0 ranks are no team"):
        _core.run_thread_team(0, lambda team: None)
    results = ranks.play(2, contract.broadcast_from_nobody)
    assert all("no rank 2" in results[rank].text for rank in range(2))


def require_agreement(results: dict[int, Any], size: int) -> None:
    assert -1 not in results, results[-1]
    assert results[0]["verified"] and len(results[0]["samples_ns"]) >= 3
    for rank in range(1, size):
        assert results[rank] == results[0]


@pytest.mark.parametrize("flows", [1, 2])
def test_ranks_of_this_host_agree(ranks: Ranks, flows: int) -> None:
    """Catches a decision that each rank takes by its own clock: their operations take from 10 us to 1 ms."""
    require_agreement(ranks.play(2, contract.measuring, flows), 2)


@pytest.mark.parametrize("flows", [1, 2])
def test_more_threads_of_this_host_agree(tmp_path: Path, flows: int) -> None:
    """Catches the same of four ranks, whose operations differ sixty-four fold."""
    require_agreement(Ranks(None, tmp_path).play(4, contract.measuring, flows), 4)


def test_ranks_without_a_team_differ() -> None:
    """Catches a test above that proves nothing: the same ranks alone choose different batches."""
    session = _core.Session(gpus=False)
    batches = {
        session.measure([memcpy(session, size)], toy.options(budget_s=0.1)).batch
        for size in (128 * KIB, 8 * MIB)
    }
    assert len(batches) == 2


@pytest.mark.parametrize(("memory", "flows"), [("pinned", 1), ("pinned", 2), ("pageable", 1)])
def test_ranks_of_a_simulated_machine_agree(memory: str, flows: int) -> None:
    """Catches the same of GPUs behind gates. Each rank has its own session on the one machine; one of them
    copies from memory where calls block.
    """

    def scene(first: _core.Session) -> dict[str, Any]:
        def body(team: _core.Team) -> dict[str, Any]:
            session = _core.Session(simulator=simulator_path(), machine=machine)
            rank = team.rank()
            source = ("cpu0", memory if rank == 0 else "pinned")
            cases = [
                toy.flow(session, source, (f"gpu{rank % 2}", "device"), f"gpu{rank % 2}", "copy", size)
                for size in [256 * KIB << rank] * flows
            ]
            measured = session.measure(cases, toy.options(budget_s=0.3), team)
            engines[rank] = measured.engine
            return told(measured)

        engines: dict[int, str] = {}
        results = together(3, body)
        return {
            "engines": engines,
            **{str(rank): each.text if isinstance(each, Raised) else each for rank, each in results.items()},
        }

    machine = toy.nvidia(noise=0.02)
    results = toy.play(machine, scene)
    engines = results.pop("engines")
    if memory == "pageable":
        # Threads that have not joined the machine share its clock: while this rank's call blocks, the
        # watchdogs of the others' gates may go off, so that what they see depends on the threads' scheduling.
        assert engines["0"] == "staged"
    else:  # two ranks share a GPU, whose multiprocessors only one of them can hold
        assert engines == dict.fromkeys("012", "copy-engine")
    assert sorted(results) == ["0", "1", "2"]
    assert results["0"]["verified"] and len(results["0"]["samples_ns"]) >= 3
    assert results["1"] == results["0"] and results["2"] == results["0"]
    assert results["0"]["timed_by"] == ("host-clock" if memory == "pageable" else "device-events")
