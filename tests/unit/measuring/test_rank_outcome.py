"""What becomes of a measurement between ranks: the figure of each pattern, its count, and corruption."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work.outcome import outcome_of
from byteways.measuring.work.simulated_ranks import NO_LL128, SimulatedRanks, _without_effect
from byteways.record.record import RECORD_FIELDS
from tests.asked import asked
from tests.unit.measuring.test_outcome import measurement

SIZE = 1 << 20
ENDS = [Buffer("cpu0", "pageable", rank=rank) for rank in range(4)]
TO, BACK = (Flow(ENDS[one], ENDS[other], "cpu0") for one, other in ((0, 1), (1, 0)))
ALL = Flow(ENDS[0], ENDS[0], "cpu0", others=tuple((end, end) for end in ENDS[1:]))
RATE = SIZE / 1000.0 * 1e9
PATHS = "0/cpu0>1/cpu0", "1/cpu0>0/cpu0"


def case(interface: str, pattern: str, *flows: Flow) -> Case:
    return Case(interface, pattern, flows, SIZE)


def skew(
    begin_ns: float = 100.0, begins_last: float = 0.25, waiting: float | None = 0.0, time_ns: float = 0.0
) -> SimpleNamespace:
    return SimpleNamespace(
        begin_ns=begin_ns, end_ns=50.0, begins_last=begins_last, waiting=waiting, time_ns=time_ns
    )


def outcome(case: Case, *, pages: tuple[int, ...] = (4096, 4096), **fields: Any) -> dict[str, Any]:
    ends = [SimpleNamespace(page_bytes=bytes_) if bytes_ >= 0 else None for bytes_ in pages]
    ranks = [skew() for _ in case.ranks]
    measured = SimpleNamespace(**{**vars(measurement()), "ranks": ranks, **fields})
    return outcome_of(case, measured, [tuple(ends)], newness=NEW)  # type: ignore[arg-type]


FIGURES = [
    (case("mpi-barrier", "barrier", ALL), {"latency_ns": 1000.0, "counts": "call"}),
    (
        case("mpi-ping-pong", "unidirectional", TO),
        {"latency_ns": 1000.0, "half_round_trip_ns": 500.0, "counts": "round-trip"},
    ),
    (
        case("mpi", "allreduce", ALL),
        {
            "bandwidth_bytes_per_s": 1.5 * RATE,
            "counts": "bus",
            "other_count": {"counts": "algorithm", "bytes_per_s": RATE},
        },
    ),
    (
        case("mpi", "unidirectional", TO),
        {"bandwidth_bytes_per_s": RATE, "directions": {PATHS[0]: RATE}, "counts": "per-direction"},
    ),
    (
        case("mpi", "bidirectional", TO, BACK),
        {
            "bandwidth_bytes_per_s": 2 * RATE,
            "directions": dict.fromkeys(PATHS, RATE),
            "counts": "sum-of-directions",
        },
    ),
]
NEW = {"memory": "new", "connection": "used"}
NAMES = {"latency_ns", "half_round_trip_ns", "bandwidth_bytes_per_s", "directions", "counts", "other_count"}


@pytest.mark.parametrize(("case", "figures"), FIGURES, ids=[one.pattern for one, _ in FIGURES])
def test_figures(case: Case, figures: dict[str, Any]) -> None:
    """Catches a barrier with a bandwidth, a round trip for half of one, one direction for the sum of both,
    and a collective's bytes over time told as what its links carry.
    """
    found = outcome(case)
    assert {name: found[name] for name in NAMES & found.keys()} == figures
    assert found["time_ns"]["median"] == 1000.0
    assert found["first_use"] == {"time_ns": 5000.0, **NEW}


def test_every_field_is_a_field_of_a_record() -> None:
    """Catches a field that no reader of a run finds."""
    found = outcome(case("mpi", "unidirectional", TO), host_ns=7.0, discarded=[])
    assert found.keys() - {"samples"} <= {*RECORD_FIELDS}
    assert found["status"] == "measured" and found["reason"] is None
    assert (found["gated"], found["batch"], found["host_ns"]) == (False, 4, 7.0)
    assert found["samples_ns"][0] == pytest.approx(999.1234, rel=1e-6)
    assert found["distinct_bytes"] == {"source": 1, "destination": 2}


def test_what_is_not_known_is_left_out() -> None:
    """Catches a zero for a time that nobody took, and figures of no sample."""
    found = outcome(case("mpi", "unidirectional", TO), pages=(-1, 0), samples_ns=[])
    gone = {"host_ns", "discarded_samples", "page_bytes", "time_ns", "bandwidth_bytes_per_s"}
    assert not gone & found.keys()
    told = outcome(case("mpi", "unidirectional", TO), pages=(2 << 20, -1))
    assert told["page_bytes"] == {"source": 2 << 20}


def test_samples_are_kept() -> None:
    """Catches a sample that was thrown away without a word, and one whose reason is another's."""
    thrown = [SimpleNamespace(reason="late", time_ns=5.0), SimpleNamespace(reason="cut", time_ns=6.0)]
    times = [SimpleNamespace(host_ns=3.0), SimpleNamespace(host_ns=4.0)]
    found = outcome(case("mpi", "unidirectional", TO), discarded=thrown, times=times)
    assert found["discarded_samples"] == 2
    assert found["samples"]["host_ns"] == [3.0, 4.0]
    assert found["samples"]["discarded"] == [
        {"reason": "late", "time_ns": 5.0},
        {"reason": "cut", "time_ns": 6.0},
    ]


def test_corruption_is_of_all_ranks() -> None:
    """Catches a wrong word on any rank that is measured as if it were right, and data not looked at."""
    wrong = SimpleNamespace(
        ok=False, checked_bytes=65536, bad_count=3, first_offset_bytes=8, expected=10, got=11, guard_of=""
    )
    both = case("mpi", "bidirectional", TO, BACK)
    found = outcome(both, flows=[SimpleNamespace(verification=wrong)])
    assert found["status"] == "corrupt" and found["corruption"]["path"] == both.path
    assert outcome(both, flows=[], verified=False)["status"] == "corrupt"
    assert outcome(both, flows=[])["status"] == "measured"


def test_when_each_rank_began_is_kept_by_its_number() -> None:
    """Catches delays in the order of a group whose first rank is not rank 0."""
    reversed_flow = Flow(ENDS[3], ENDS[3], "cpu0", others=((ENDS[1], ENDS[1]),))
    found = outcome(
        case("mpi", "allreduce", reversed_flow), ranks=[skew(begin_ns=0.0), skew(begin_ns=7.0, waiting=None)]
    )
    assert found["ranks"] == [
        {"rank": 3, "begin_ns": 0.0, "end_ns": 50.0, "begins_last": 0.25, "no_cpu": 0.0},
        {"rank": 1, "begin_ns": 7.0, "end_ns": 50.0, "begins_last": 0.25, "no_cpu": None},
    ]
    assert found["warnings"] == []


def test_the_time_of_each_rank_is_kept_where_it_was_taken() -> None:
    """Catches a rank without a clock that is told as one whose calls take no time."""
    found = outcome(case("mpi", "allreduce", ALL), ranks=[skew(time_ns=800.0), skew(), skew(), skew()])
    assert [rank.get("time_ns") for rank in found["ranks"]] == [800.0, None, None, None]


LATE = skew(begin_ns=41_000.0, begins_last=0.9)
STRAGGLERS = [
    (
        [LATE, skew(), skew(), skew()],
        "rank 0 begins 41 µs after the first rank",
        "below 10 µs",
        {"rank": 0, "late_ns": 41_000.0},
    ),
    (
        [skew(begin_ns=3.4712e6, begins_last=0.9), skew(), skew(), skew()],
        "rank 0 begins 3.47 ms after the first rank",
        "below 10 µs",
        {"rank": 0, "late_ns": 3.4712e6},
    ),
    (
        [skew(), skew(), skew(waiting=0.48), skew()],
        "rank 2 has no CPU for 48 % of the time",
        "below 5 %",
        {"rank": 2, "no_cpu": 0.48},
    ),
]


@pytest.mark.parametrize(
    ("ranks", "observed", "required", "fields"), STRAGGLERS, ids=["late", "very late", "no-cpu"]
)
def test_a_straggler_is_named(
    ranks: list[SimpleNamespace], observed: str, required: str, fields: dict[str, float]
) -> None:
    """Catches a rank that all others wait for without a word, or without its number for programs."""
    (warning,) = outcome(case("mpi", "allreduce", ALL), ranks=ranks)["warnings"]
    assert (warning["id"], warning["observed"], warning["required"]) == ("straggler", observed, required)
    assert warning["fields"] == fields


QUIET = [
    [skew(begin_ns=9_900.0, begins_last=1.0), skew(), skew(), skew()],  # a barrier's own skew
    [skew(begin_ns=41_000.0, begins_last=0.7), skew(), skew(), skew()],  # not always the same rank
    [LATE, LATE, LATE, skew()],  # most are late: one is early
    [skew(waiting=0.5) for _ in range(4)],  # more ranks than cores
    [skew(waiting=0.04), skew(waiting=None), skew(), skew()],
]


@pytest.mark.parametrize("ranks", QUIET)
def test_what_is_no_straggler(ranks: list[SimpleNamespace]) -> None:
    """Catches a rank that is blamed for what every barrier does, or for what all ranks suffer."""
    assert outcome(case("mpi", "allreduce", ALL), ranks=ranks)["warnings"] == []


def test_a_delay_that_a_long_batch_hides_is_none() -> None:
    """Catches 41 µs at the begin of a batch of half a millisecond."""
    ranks = [LATE, skew(), skew(), skew()]
    assert outcome(case("mpi", "allreduce", ALL), ranks=ranks, batch=500)["warnings"] == []


def test_variables_without_effect_cost_no_worker() -> None:
    """Catches simulated ranks that leave their process because a case was skipped."""
    ends = (Buffer("cpu0", "pageable"), Buffer("cpu1", "pageable", rank=1))
    case = Case("mpi", "unidirectional", (Flow(*ends, "cpu0"),), 8, environment={"UCX_TLS": "sm"})
    outcome, leaves = SimulatedRanks("", "").measure(asked(case))
    assert (outcome["status"], leaves) == ("skipped", False)


def test_a_protocol_without_numbers_is_skipped() -> None:
    """Catches LL128 of a machine model that knows nothing of it, measured as another protocol."""
    ends = (Buffer("gpu0", "device"), Buffer("gpu1", "device", rank=1))
    case = Case("xccl", "unidirectional", (Flow(*ends, "gpu0"),), 8, environment={"NCCL_PROTO": "LL128"})
    outcome, _ = SimulatedRanks("", "xccl.ll128_step_ns\t0.0\n").measure(asked(case))
    assert (outcome["status"], outcome["reason"]) == ("skipped", NO_LL128)


def test_variables_that_no_library_reads_are_left_alone() -> None:
    """Catches a case that is skipped for a variable of the runtime, or one that the simulated MPI reads."""
    read = {"HSA_XNACK": "1", "NOBODY_READS_THIS": "1", "MPICH_GPU_IPC_ENABLED": "0", "NCCL_ALGO": "Ring"}
    assert _without_effect(read) == ""
    assert _without_effect({**read, "UCX_TLS": "sm"}).endswith("do not read UCX_TLS")
