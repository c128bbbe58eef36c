"""The loops of OSU's programs on simulated ranks: what is counted, what is not, and whose clock it is."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.test_carried_ranks import Ranks, options
from tests.native.test_simulated_mpi import CACHED, NOTICE_NS, RECEIVE_NS, REGISTRATION_NS, SEND_NS

SKIPPED, ITERATIONS = 3, 20
CLOCK_NS = 20.0


def loops(interface: str, operation: str, size: int = 8, **words: Any) -> list[_core.Measurement]:
    """What each of two ranks measured with a loop of fixed length."""
    ranks = Ranks(toy.nvidia())
    asked = {"timing": "osu", "skipped": SKIPPED, "iterations": ITERATIONS, **words}
    made = options()
    made.max_samples = 1

    def measure(rank: int, session: _core.Session, mpi: _core.Mpi) -> Any:
        ends = (ranks.buffer(session, "cpu0", "pageable", size) for _ in range(2))
        flow = _core.Flow(
            *ends, "cpu0", interface, size, cold=False, ranks=mpi.world, operation=operation, **asked
        )
        return told(session.measure([flow], made, _core.RankTeam(mpi.world)))

    return ranks.play(measure)


def told(found: _core.Measurement) -> dict[str, Any]:
    return {
        "samples_ns": found.samples_ns,
        "batch": found.batch,
        "verified": found.verified,
        "first_ns": found.first_ns,
        "times_ns": [rank.time_ns for rank in found.ranks],
        "warnings": [warning.id for warning in found.warnings],
        "evidence": found.engine_evidence,
    }


def alike(interface: str, operation: str, size: int = 8, **words: Any) -> dict[str, Any]:
    """The same of both ranks, which agree in all that is recorded."""
    first, second = toy.apart(lambda: loops(interface, operation, size, **words))
    assert isinstance(first, dict), first
    assert {**first, "evidence": ""} == {**second, "evidence": ""}
    assert first["verified"] and first["warnings"] == []
    return first


def test_one_sample_is_the_mean_of_the_loop() -> None:
    """Catches warm-up that counts, iterations that do not, and a figure of one message instead of the loop's
    mean; and a warning about the single sample that is meant.
    """
    found = alike("mpi-ping-pong", "unidirectional")
    half_ns = SEND_NS + NOTICE_NS + RECEIVE_NS + 2 * 8 / CACHED * 1e9
    assert found["samples_ns"] == [pytest.approx(2 * half_ns + CLOCK_NS, abs=1.0)]
    assert found["batch"] == ITERATIONS
    assert found["times_ns"] == [0.0, 0.0]
    assert f"{ITERATIONS} iterations after {SKIPPED}" in found["evidence"]


def test_windows_are_iterations() -> None:
    """Catches a window that is cut to the bytes in flight, and an iteration of one message."""
    small, large = (alike("mpi", "unidirectional", size) for size in (8, 4 * toy.MIB))
    assert small["batch"] == large["batch"] == 64 * ITERATIONS
    assert alike("mpi", "unidirectional", window=5)["batch"] == 5 * ITERATIONS


def test_windows_of_both_directions_have_no_acknowledgement() -> None:
    """Catches OSU's bidirectional program with the acknowledgement that ours has."""
    both = alike("mpi", "bidirectional", window=1)
    (both_ns,) = both["samples_ns"]
    assert "acknowledged" not in both["evidence"]
    assert both_ns < SEND_NS + 2 * (NOTICE_NS + RECEIVE_NS) + CLOCK_NS
    assert alike("mpi", "unidirectional", window=1)["samples_ns"][0] > both_ns


def test_collectives_have_the_mean_of_all_ranks() -> None:
    """Catches the slowest rank for the mean, and the barrier between calls within the time."""
    found = alike("mpi", "broadcast", 64)
    root, leaf = found["times_ns"]
    assert root != leaf and found["samples_ns"] == [pytest.approx((root + leaf) / 2)]
    assert root == pytest.approx(SEND_NS + 64 / CACHED * 1e9 + CLOCK_NS, abs=2.0)  # it waits for nobody
    assert found["batch"] == ITERATIONS


def test_pairs_meet_before_each_window() -> None:
    """Catches the barrier of osu_mbw_mr within the time of a window, and one rank that skips it."""
    pairs, alone = (alike("mpi", operation, window=4) for operation in ("multi-pair", "unidirectional"))
    # The receiver has posted its receives when the sender begins, or posts them meanwhile.
    assert pairs["samples_ns"][0] == pytest.approx(alone["samples_ns"][0], rel=0.3)
    assert pairs["batch"] == 4 * ITERATIONS and pairs["times_ns"] == [0.0, 0.0]


def test_a_barrier_has_no_other_barrier_beside_it() -> None:
    """Catches a barrier that finds all ranks there already, as after another one."""
    barrier = alike("mpi-barrier", "barrier")
    assert barrier["batch"] == ITERATIONS
    assert barrier["samples_ns"] == [pytest.approx(sum(barrier["times_ns"]) / 2)]
    assert min(barrier["times_ns"]) > SEND_NS


@pytest.mark.parametrize("in_place", ["no", "yes"])
def test_sums_of_a_loop_are_verified(in_place: str) -> None:
    """Catches sums in place of which the iterations before the timed ones are not counted."""
    assert alike("mpi", "allreduce", 4 * toy.KIB, in_place=in_place)["verified"]


def test_the_first_operation_is_timed_apart() -> None:
    """Catches a first message of device memory without its registration, and one within the mean."""

    def scene() -> list[Any]:
        ranks = Ranks(toy.amd(mpi__registers_once=1))
        size = 4 * toy.MIB

        def measure(rank: int, session: _core.Session, mpi: _core.Mpi) -> Any:
            ends = [
                ranks.buffer(session, f"gpu{rank}", "device", size) if rank == end else None for end in (0, 1)
            ]
            flow = _core.Flow(
                *ends,
                f"gpu{rank}",
                "mpi",
                size,
                cold=False,
                ranks=mpi.world,
                operation="unidirectional",
                window=1,
            )
            return told(session.measure([flow], options(), _core.RankTeam(mpi.world)))

        return ranks.play(measure)

    for found in toy.apart(scene):
        assert isinstance(found, dict), found
        assert found["first_ns"] - found["samples_ns"][0] == pytest.approx(REGISTRATION_NS, rel=0.01)
