"""Ranks that measure one case together, as threads: what one rank's clock says is agreed on by all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from byteways import _core
from byteways.run.simulator import simulator_path
from tests.native import simulated as toy

KIB, MIB = 1 << 10, 1 << 20
#: Real seconds after which a team is taken to wait for ever. Nothing here takes a tenth of it.
PATIENCE_S = 100


def together(size: int, body: Callable[[_core.Team], Any]) -> dict[int, Any]:
    """What `body` returned on each rank, or the exception that it raised; fails when they wait for ever."""
    results: dict[int, Any] = {}

    def play(team: _core.Team) -> None:
        try:
            results[team.rank()] = body(team)
        except Exception as failure:
            results[team.rank()] = failure
            raise

    def run() -> None:
        try:
            _core.run_thread_team(size, play)
        except Exception as failure:
            results[-1] = failure

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "the ranks wait for each other for ever"
    return results


def test_verbs_of_a_team() -> None:
    """Catches verbs that answer from this rank alone, in another order, or differently on two ranks."""

    def body(team: _core.Team) -> list[Any]:
        me = float(team.rank())
        return [
            team.size(),
            team.agree_max("number", me),
            team.agree_any("is two", me == 2),
            team.agree_any("is five", me == 5),
            team.agree_all("below three", me < 3),
            team.agree_all("below two", me < 2),
            team.agree_text("who is not first", "" if me == 0 else f"rank {me:.0f}"),
            team.gather("numbers", me),
            team.broadcast("of the last", f"rank {me:.0f}", 2),
        ]

    answers = [3, 2.0, True, False, True, False, "rank 1", [0.0, 1.0, 2.0], "rank 2"]
    assert together(3, body) == dict.fromkeys(range(3), answers)


def test_a_barrier_holds_all() -> None:
    """Catches a rank that goes on while another has not arrived, many times in a row."""
    arrived: list[int] = []

    def body(team: _core.Team) -> list[int]:
        seen = []
        for _ in range(50):
            arrived.append(team.rank())
            team.barrier("arrived")
            seen.append(len(arrived))
            team.barrier("seen")
        return seen

    assert together(4, body) == {rank: [4 * (k + 1) for k in range(50)] for rank in range(4)}


def test_a_failure_ends_the_phase_on_all_ranks() -> None:
    """Catches ranks that wait for one that failed, errors without its number and cause, and a team that is of
    no use afterwards.
    """

    def body(team: _core.Team) -> list[Any]:
        def phase() -> None:
            if team.rank() == 1:
                raise ValueError("no room")
            team.barrier("a step that rank 1 never gets to")

        try:
            team.together("the phase", phase)
        except (ValueError, _core.Error) as failure:
            return [str(failure), team.agree_max("afterwards", float(team.rank()))]
        return []

    results = together(3, body)
    assert results[1] == ["no room", 2.0]
    for rank in (0, 2):
        text, afterwards = results[rank]
        assert "rank 1 failed in the phase" in text and "no room" in text
        assert afterwards == 2.0


def test_a_failure_after_a_phase_ends_it_too() -> None:
    """Catches a rank that goes on to the next phase though another failed after its last step in this one."""

    def body(team: _core.Team) -> None:
        def phase() -> None:
            team.barrier("last step")
            if team.rank() == 0:
                raise ValueError("too late")

        team.together("the phase", phase)

    results = together(2, body)
    assert isinstance(results[0], ValueError)
    assert "rank 0 failed in the phase" in str(results[1])


@pytest.mark.parametrize("ends", ["returns", "raises"])
def test_a_rank_that_is_gone_is_waited_for_by_none(ends: str) -> None:
    """Catches ranks that wait for one whose thread has ended, with or without an error."""

    def body(team: _core.Team) -> None:
        if team.rank() == 1:
            if ends == "raises":
                raise ValueError("gone")
            return
        team.barrier("nobody comes")

    results = together(3, body)
    for rank in (0, 2):
        assert "rank 1 left before 'nobody comes'" in str(results[rank])
    assert isinstance(results[-1], _core.Error)


def test_ranks_that_lose_step_are_told() -> None:
    """Catches ranks that take each other's answers to another question."""

    def body(team: _core.Team) -> None:
        team.agree_max("one" if team.rank() == 0 else "another", 1.0)

    for failure in together(2, body).values():
        assert "rank 0 is at 'one' and rank 1 at 'another'" in str(failure)


def test_teams_that_cannot_be() -> None:
    """Catches a team of nobody, and a broadcast from a rank that is not there."""
    with pytest.raises(_core.Error, match="0 ranks are no team"):
        _core.run_thread_team(0, lambda team: None)
    results = together(2, lambda team: team.broadcast("text", "", 2))
    assert all("no rank 2" in str(results[rank]) for rank in range(2))


def told(measured: _core.Measurement) -> dict[str, Any]:
    """Everything of a measurement that all ranks have to agree on."""
    return {
        "batch": measured.batch,
        "slope": measured.slope,
        "gated": measured.gated,
        "samples_ns": measured.samples_ns,
        "discarded": [(each.reason, each.time_ns) for each in measured.discarded],
        "times": [(each.device_ns, each.submit_ns, each.host_ns) for each in measured.times],
        "verified": measured.verified,
        "every_sample": measured.verified_every_sample,
        "timed_by": measured.timed_by,
        "warnings": [each.id for each in measured.warnings],  # rates of these ranks differ by their sizes
        "window_ns": measured.window_ns,
    }


def memcpy(session: _core.Session, size: int, **options: int) -> _core.Flow:
    return toy.flow(session, ("cpu0", "pageable"), ("cpu0", "pageable"), "cpu0", "memcpy", size, **options)


@pytest.mark.parametrize("flows", [1, 2])
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_of_this_host_agree(ranks: int, flows: int) -> None:
    """Catches a decision that each rank takes by its own clock: their operations take from 10 us to 1 ms."""

    def body(team: _core.Team) -> dict[str, Any]:
        session = _core.Session(gpus=False)
        size = 128 * KIB << 2 * team.rank()
        cases = [memcpy(session, size, stream=stream) for stream in range(flows)]
        return told(session.measure(cases, toy.options(budget_s=0.1), team))

    results = together(ranks, body)
    assert -1 not in results, results[-1]
    assert results[0]["verified"] and len(results[0]["samples_ns"]) >= 3
    for rank in range(1, ranks):
        assert results[rank] == results[0]


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
            **{
                str(rank): str(each) if isinstance(each, Exception) else each
                for rank, each in results.items()
            },
        }

    machine = toy.nvidia(noise=0.02)
    results = toy.play(machine, scene)
    # Two ranks share a GPU, whose multiprocessors only one of them can hold.
    assert results.pop("engines") == {"0": "staged" if memory == "pageable" else "copy-engine"} | {
        "1": "copy-engine",
        "2": "copy-engine",
    }
    assert sorted(results) == ["0", "1", "2"]
    assert results["0"]["verified"] and len(results["0"]["samples_ns"]) >= 3
    assert results["1"] == results["0"] and results["2"] == results["0"]
    assert results["0"]["timed_by"] == ("host-clock" if memory == "pageable" else "device-events")
