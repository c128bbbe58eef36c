"""What every team does, whatever carries its votes: one body for each rule, played by each rank.

A body takes the team and arguments that JSON can say, and returns what JSON can say: ranks may be processes.
"""

from __future__ import annotations

import time
from typing import Any

from byteways import _core
from tests.native import simulated as toy

KIB = 1 << 10


def verbs(team: _core.Team) -> list[Any]:
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


def long_votes(team: _core.Team) -> list[Any]:
    """One rank's vote is longer than a first block, then none is."""
    text = "long " * 1000
    return [
        team.agree_text("long", text if team.rank() == 1 else ""),
        team.broadcast("a long question " * 50, text * (team.rank() + 1), 1),
        team.gather("short", float(team.rank())),
    ]


def barriers(team: _core.Team) -> list[tuple[int, int]]:
    """When this rank came to each barrier and went on, in ns of the host's monotonic clock."""
    times = []
    for _ in range(50):
        came = time.monotonic_ns()
        team.barrier("arrived")
        times.append((came, time.monotonic_ns()))
        team.barrier("seen")
    return times


def failing_phase(team: _core.Team) -> list[Any]:
    def phase() -> None:
        if team.rank() == 1:
            raise ValueError("no room")
        team.barrier("a step that rank 1 never gets to")

    try:
        team.together("the phase", phase)
    except (ValueError, _core.Error) as failure:
        return [str(failure), team.agree_max("afterwards", float(team.rank()))]
    return []


def failure_after_a_phase(team: _core.Team) -> None:
    def phase() -> None:
        team.barrier("last step")
        if team.rank() == 0:
            raise ValueError("too late")

    team.together("the phase", phase)


def gone(team: _core.Team, ends: str) -> None:
    if team.rank() == 1:
        if ends == "raises":
            raise ValueError("gone")
        return
    team.barrier("nobody comes")


def gone_for_good(team: _core.Team) -> list[str]:
    """The error on ranks whenever they query one that has left."""
    said = []
    for question in ("first", "second") if team.rank() == 0 else ():
        try:
            team.barrier(question)
        except _core.Error as failure:
            said.append(str(failure))
    return said


def out_of_step(team: _core.Team) -> None:
    team.agree_max("one" if team.rank() == 0 else "another", 1.0)


def broadcast_from_nobody(team: _core.Team) -> str:
    return team.broadcast("text", "", 2)


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


def measuring(team: _core.Team, flows: int) -> dict[str, Any]:
    session = _core.Session(gpus=False)
    size = 128 * KIB << 2 * team.rank()
    cases = [memcpy(session, size, stream=stream) for stream in range(flows)]
    return told(session.measure(cases, toy.options(budget_s=0.1), team))
