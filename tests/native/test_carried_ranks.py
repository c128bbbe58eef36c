"""Ranks of one simulated machine that measure together: on one thread, with the same figures every time."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import pytest

from byteways import _core
from byteways.measuring.shared.mpi_library import open_mpi
from byteways.measuring.shared.simulator import simulator_path
from tests.native import simulated as toy

#: What a case of two ranks may need to wake threads for: to join, to open sessions, to begin and to end.
TURNS_OF_A_CASE = 150


class Ranks:
    """Two ranks, each a thread with a session of its own."""

    def __init__(self, sheet: str) -> None:
        self.machine = simulator_path(), sheet
        self.kept: list[Any] = []
        _core.load_machine(*self.machine)
        library: Any = ctypes.CDLL(self.machine[0])
        library.bwsim_thread_turns.restype = ctypes.c_uint64
        self.turns: Callable[[], int] = library.bwsim_thread_turns

    def buffer(self, session: _core.Session, device: str, memory: str, size: int) -> _core.Buffer:
        self.kept.append(session.allocate(device, memory, size, device))
        return self.kept[-1]

    def play(self, measure: Callable[[int, _core.Session, _core.Mpi], Any], key: int = 1) -> list[Any]:
        """What `measure` returns for each rank, or the text of its exception."""
        _core.restart_machine(*self.machine, key)
        results: list[Any] = [None, None]

        def run(rank: int) -> None:
            _core.join_machine(*self.machine, rank, 2)
            try:
                mpi = open_mpi(self.machine[0])
                session = _core.Session(simulator=self.machine[0], machine=self.machine[1])
                self.kept += [session, mpi]
                results[rank] = measure(rank, session, mpi)
            except Exception as error:
                results[rank] = f"{type(error).__name__}: {error}"
            finally:
                _core.leave_machine(*self.machine)

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.kept.clear()  # not before all have left: what is let go waits for its turn
        return results

    def between_ranks(self, interface: str, operation: str, size: int, **words: str) -> list[Any]:
        """A case of both ranks in host memory: samples, batch, and whether the data were right."""

        def measure(rank: int, session: _core.Session, mpi: _core.Mpi) -> Any:
            source, destination = (self.buffer(session, "cpu0", "pageable", size) for _ in range(2))
            ucx = None
            if interface.startswith("ucx"):
                ucx = _core.UcxRank(_core.Ucx([], self.machine[0]), mpi.world, session, "cpu0")
            words_of_flow = {"ranks": mpi.world, "ucx": ucx, "operation": operation, **words}
            flow = _core.Flow(source, destination, "cpu0", interface, size, **words_of_flow)
            found = session.measure([flow], options(), _core.RankTeam(mpi.world))
            return [found.samples_ns, found.batch, found.verified]

        return self.play(measure)


def options(gate: bool = False) -> _core.MeasureOptions:
    made = _core.MeasureOptions()
    made.gate, made.budget_s, made.key = gate, 0.1, 5
    return made


def test_turns_within_a_case_wake_no_threads() -> None:
    """Catches ranks whose turns are changes between threads: each costs ten times what a message does."""

    def scene() -> list[Any]:
        ranks = Ranks(toy.nvidia(noise=0.01))
        before = ranks.turns()
        results = ranks.between_ranks("mpi-ping-pong", "unidirectional", 64)
        return [results, ranks.turns() - before]

    results, turns = toy.apart(scene)
    for samples, batch, verified in results:
        assert verified
        assert len(samples) * batch * 2 > 2 * TURNS_OF_A_CASE  # messages that were timed
    assert turns < TURNS_OF_A_CASE


def test_warm_round_trips_are_untimed_first() -> None:
    """Catches samples of warm messages that begin with what checks left in the caches, since the time of a
    round trip and not its bytes is the result; and cold messages that are brought into a cache.
    """

    def scene() -> list[Any]:
        ranks = Ranks(toy.nvidia())
        now = ctypes.CDLL(ranks.machine[0]).bwsim_now
        now.restype = ctypes.c_int64

        def measure(samples: int, cold: bool) -> Any:
            def body(rank: int, session: _core.Session, mpi: _core.Mpi) -> Any:
                ends = (ranks.buffer(session, "cpu0", "pageable", 64) for _ in range(2))
                flow = _core.Flow(*ends, "cpu0", "mpi-ping-pong", 64, cold=cold, ranks=mpi.world)
                made = options()
                made.batch, made.precision, made.max_samples, made.budget_s = 1, 0.0, samples, 10.0
                before = now()
                found = session.measure([flow], made, _core.RankTeam(mpi.world))
                return [now() - before, found.samples_ns]

            return ranks.play(body)[0]

        return [measure(samples, cold) for cold in (True, False) for samples in (10, 40)]

    (few_ns, _), (many_ns, cold_ns), (few_warm_ns, _), (many_warm_ns, warm_ns) = toy.apart(scene)
    assert len(cold_ns) == len(warm_ns) == 40
    each_ns, each_warm_ns = (many_ns - few_ns) / 30, (many_warm_ns - few_warm_ns) / 30
    assert each_warm_ns - each_ns > warm_ns[0]  # and the time to spoil a word of what it wrote


@pytest.mark.parametrize("size", [64, 4 * toy.MIB])
def test_a_case_repeats_to_the_nanosecond(size: int) -> None:
    """Catches noise that is drawn in the order in which threads happen to come, not in that of the clocks."""

    def scene() -> list[Any]:
        ranks = Ranks(toy.nvidia(noise=0.02))
        return [ranks.between_ranks("mpi", "allreduce", size) for _ in range(6)]

    runs = toy.apart(scene)
    assert all(verified for _, _, verified in runs[0]), runs[0]
    assert all(run == runs[0] for run in runs)


@pytest.mark.parametrize("operation", ["allreduce", "allgather"])
@pytest.mark.parametrize("size", [16, 64 * toy.KIB])
def test_collectives_in_place_are_verified_however_often_they_repeat(operation: str, size: int) -> None:
    """Catches sums that are expected as after one operation, and inputs that the checks overwrite."""
    results = toy.apart(lambda: Ranks(toy.nvidia()).between_ranks("mpi", operation, size, in_place="yes"))
    assert all(verified for _, _, verified in results), results


@pytest.mark.parametrize("timing", ["", "osu"])
@pytest.mark.parametrize(
    ("interface", "operation"),
    [
        ("mpi", "unidirectional"),
        ("mpi", "bidirectional"),
        ("mpi-ping-pong", "unidirectional"),
    ],
)
def test_no_message_relies_on_a_buffer_of_the_library(interface: str, operation: str, timing: str) -> None:
    """Catches two ranks that both send before they receive: MPI may let a send wait for its receive, as all
    do where nothing is buffered.
    """
    words = {"timing": timing} if timing else {}
    results = toy.apart(
        lambda: Ranks(toy.nvidia(mpi__eager_bytes=0)).between_ranks(interface, operation, 64, **words)
    )
    assert all(isinstance(result, list) and result[2] for result in results), results


@pytest.mark.parametrize("in_place", ["no", "yes"])
@pytest.mark.parametrize("size", [64 * toy.KIB, 4 * toy.MIB])
def test_a_sum_with_a_wrong_word_is_found(size: int, in_place: str) -> None:
    """Catches a check of sums, word by word or of whole rules, that takes anything for a sum."""

    def scene() -> list[Any]:
        ranks = Ranks(toy.nvidia(faults__0="corrupt:cpu0>cpu0:word=3"))
        return ranks.between_ranks("mpi", "allreduce", size, in_place=in_place)

    results = toy.apart(scene)
    assert not any(verified for _, _, verified in results), results


@pytest.mark.parametrize("peer", [False, True])
def test_ranks_that_measure_gated_copies_alone(peer: bool) -> None:
    """Catches ranks that hang while each looks which engine copies, on its own GPU or on both: the clock
    that one polls held the other back millions of times.
    """

    def scene() -> list[Any]:
        ranks = Ranks(toy.amd(noise=0.01))

        def measure(rank: int, session: _core.Session, mpi: _core.Mpi) -> Any:
            own, other = f"gpu{rank}", f"gpu{1 - rank if peer else rank}"
            source = ranks.buffer(session, own, "device", 64 * toy.MIB)
            destination = ranks.buffer(session, other, "device", 64 * toy.MIB)
            flow = _core.Flow(source, destination, own, "copy", toy.MIB)
            found = session.measure([flow], options(gate=True))
            return [found.gated, found.verified, len(found.samples_ns) > 0]

        return ranks.play(measure)

    assert toy.apart(scene) == [[True, True, True]] * 2


def test_a_rank_that_fails_ends_the_case_of_all() -> None:
    """Catches an exception that stays on the thread that carries the ranks, or ends it."""

    def scene() -> list[Any]:
        ranks = Ranks(toy.nvidia(faults__0="rank-throws:1:call=40"))
        failed = ranks.between_ranks("mpi", "allreduce", 64)
        return [failed, ranks.between_ranks("mpi", "allreduce", 64)]

    failed, again = toy.apart(scene)
    assert "rank 1 fails in its call 40 (fault)" in failed[1]
    assert isinstance(failed[0], str)
    assert failed == again
