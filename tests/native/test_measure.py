"""How a case is measured and what its result confesses, driven through the native module on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy

KIB, MIB = 1 << 10, 1 << 20
#: kSerialisedBelow of native/timing/window.hpp.
SERIALISED_BELOW = 0.75


@pytest.fixture(scope="module")
def session() -> _core.Session:
    return _core.Session(gpus=False)


def options(**values: object) -> _core.MeasureOptions:
    """Options with these values; a short budget unless one is given."""
    made = _core.MeasureOptions()
    made.budget_s = 0.05
    for name, value in values.items():
        setattr(made, name, value)
    return made


def copy(
    session: _core.Session, size: int, *, room: int | None = None, cold: bool = True, **more: int
) -> _core.Flow:
    """One core's memcpy between two separate buffers."""
    source, destination = (session.allocate("cpu0", "pageable", room or size, "cpu0") for _ in range(2))
    return _core.Flow(source, destination, "cpu0", "memcpy", size, cold=cold, **more)


def warnings(measurement: _core.Measurement) -> dict[str, _core.Warning]:
    return {warning.id: warning for warning in measurement.warnings}


def played(
    sizes: Sequence[int], streams: Sequence[int], machine: str = "", **values: object
) -> dict[str, Any]:
    """Concurrent copies by cores of a toy machine, in virtual time: other work here changes nothing."""

    def scene(session: _core.Session) -> dict[str, Any]:
        flows = [copy(session, size, stream=stream) for size, stream in zip(sizes, streams, strict=True)]
        measured = session.measure(flows, options(**{"budget_s": 1.0, **values}))
        return {
            "verified": measured.verified,
            "serialised": [
                (one.observed, one.required, one.unit) for one in measured.warnings if one.id == "serialised"
            ],
            "rates": [flow.bytes_per_s for flow in measured.flows],
            "whole": [flow.end_to_end_bytes_per_s for flow in measured.flows],
            "window_ns": measured.window_ns,
            "end_to_end_ns": measured.end_to_end_ns,
            "time_ns": measured.time_ns.median,
        }

    result: dict[str, Any] = toy.play(machine or toy.nvidia(), scene)
    assert result["verified"]
    return result


def test_flows_on_one_stream_are_serialised() -> None:
    """Catches flows that ran one after another and are reported as if they had overlapped."""
    measured = played([4 * MIB] * 2, [0, 0])
    [[together, alone, unit]] = measured["serialised"]
    assert unit == "bytes/s"
    assert (together, alone) == pytest.approx((toy.CORE_COPY, 2 * toy.CORE_COPY), rel=1e-3)
    assert sum(measured["rates"]) == pytest.approx(together, rel=1e-3)
    assert measured["window_ns"] == 0


def test_flows_on_two_streams_are_not_serialised() -> None:
    """Catches a warning that is always given."""
    measured = played([32 * MIB] * 2, [0, 1])
    assert measured["serialised"] == []
    assert measured["rates"] == pytest.approx([toy.CORE_COPY] * 2, rel=1e-3)
    assert 0 < measured["window_ns"] <= measured["end_to_end_ns"]


@pytest.mark.parametrize("streams", [(0, 0), (0, 1)])
def test_flows_of_this_host_have_a_window(session: _core.Session, streams: tuple[int, int]) -> None:
    """Catches marks of host threads that give no window, or one longer than the whole run."""
    measured = session.measure([copy(session, 4 * MIB, stream=stream) for stream in streams], options())
    assert measured.verified
    assert 0 <= measured.window_ns <= measured.end_to_end_ns
    assert all(flow.bytes_per_s > 0 for flow in measured.flows)


def test_rates_of_flows_that_slow_each_other_are_those_they_had_together() -> None:
    """Catches a window that opens where a flow would have begun had it been as fast as alone: four flows at a
    quarter of their speed came out a quarter too fast.
    """
    marks = [400.0 * k for k in range(1, 5)]
    rates, overlap = _core.window([(0.0, marks, [1, 2, 3, 4])] * 4)
    assert rates == pytest.approx([1 / 400] * 4)
    assert overlap == pytest.approx(1)


def test_a_flow_that_waits_for_another_is_not_running() -> None:
    """Catches a flow counted from its release, though its queue stood behind another's operations."""
    first = [100.0 * k for k in range(1, 5)]
    second = [400.0 + mark for mark in first]
    rates, overlap = _core.window([(0.0, first, [1, 2, 3, 4]), (0.0, second, [1, 2, 3, 4])])
    assert overlap == 0
    assert rates == pytest.approx([4 / 800] * 2)  # of the whole time


def test_flows_that_take_turns_get_what_they_did() -> None:
    """Catches turns of one engine counted as overlap: three flows came out above its speed."""
    done = [1, 2, 3, 4, 5, 6]
    turns = [(0.0, [flow + 3.0 * k for k in range(6)], done) for flow in (1, 2, 3)]
    rates, overlap = _core.window(turns)
    assert sum(rates) == pytest.approx(1)
    assert overlap > 0.8


def test_a_flow_slowed_by_company_still_overlaps() -> None:
    """Catches flows called one after another since the slowest had little done when the first ended."""
    fast = (0.0, [100.0 * k for k in range(1, 17)], list(range(1, 17)))
    slow = [(0.0, [1250.0 * k for k in range(1, 5)], [1, 2, 3, 4])] * 3
    _, overlap = _core.window([fast, *slow])
    assert overlap > SERIALISED_BELOW


def test_short_turns_are_no_overlap() -> None:
    """Catches flows that one engine serves three operations at a time, as copies from peers on H200."""
    turn = [1.0, 2.0, 3.0, 10.0, 11.0, 12.0]
    flows = [(0.0, [at + 3.0 * flow for at in turn], [1, 2, 3, 4, 5, 6]) for flow in range(3)]
    _, overlap = _core.window(flows)
    assert overlap < SERIALISED_BELOW


def test_a_flow_that_waits_for_two_is_no_overlap() -> None:
    """Catches what a fan-in of copies did on H200 (its times): two share the engine, one waits."""
    first = [1021.0, 1693.0, 2365.0, 3046.0, 3725.0, 4743.0]
    late = [3728.0, 4745.0, 5097.0, 5458.0, 5811.0, 6163.0]
    numbers = [1, 2, 3, 4, 5, 6]
    _, overlap = _core.window([(0.0, first, numbers), (0.0, first, numbers), (0.0, late, numbers)])
    assert overlap < SERIALISED_BELOW


def test_one_lane_before_two_that_take_turns_is_no_overlap() -> None:
    """Catches a window in which one flow ran and the others were credited with operations that waited."""
    done = [1, 2, 3, 4, 5, 6]
    alone = (0.0, [float(k) for k in done], done)
    after = [(0.0, [first + 2.0 * k for k in range(6)], done) for first in (7, 8)]
    rates, overlap = _core.window([alone, *after])
    assert overlap < 0.2
    assert sum(rates) == pytest.approx(1)


def test_one_mark_gives_the_whole_rate() -> None:
    """Catches a rate read from a single operation, which may have waited as well as been slow."""
    rates, _ = _core.window([(0.0, [200.0], [1]), (0.0, [200.0], [1])])
    assert rates == pytest.approx([1 / 200] * 2)


def test_the_window_is_where_all_lanes_ran() -> None:
    """Catches rates that take in the time after the first flow has ended, when the others are faster."""
    fast_then_alone = [100.0, 200.0, 300.0, 400.0, 450.0, 500.0]
    short = [100.0, 200.0, 300.0, 400.0]
    rates, overlap = _core.window([(0.0, fast_then_alone, [1, 2, 3, 4, 5, 6]), (0.0, short, [1, 2, 3, 4])])
    assert rates == pytest.approx([1 / 100] * 2)
    assert overlap > 0.9


def test_rates_of_crowded_flows_are_within_what_was_moved() -> None:
    """Catches window rates that no count of bytes over the whole run bears out."""
    memory = 16 * toy.GB  # half of what four cores ask for
    crowded = toy.nvidia(cpu__read_bytes_per_s=memory, cpu__write_bytes_per_s=memory)
    measured = played([4 * MIB] * 4, range(4), crowded)
    window = sum(measured["rates"])
    assert window == pytest.approx(memory / 2, rel=1e-3)  # each byte is read and written by the same memory
    assert window == pytest.approx(sum(measured["whole"]), rel=1e-3)
    assert 4 * 4 * MIB / measured["time_ns"] * 1e9 == pytest.approx(window, rel=1e-3)


def test_words_that_are_not_the_source_s_are_found(session: _core.Session) -> None:
    """Catches verification that does not look at the buffer that was timed: two flows write one buffer."""
    sources = [session.allocate("cpu0", "pageable", MIB, "cpu0") for _ in range(2)]
    shared = session.allocate("cpu0", "pageable", MIB, "cpu0")
    flows = [_core.Flow(source, shared, "cpu0", "memcpy", MIB) for source in sources]
    measured = session.measure(flows, options())
    assert not measured.verified
    [bad] = [flow.verification for flow in measured.flows if not flow.verification.ok][:1]
    assert 0 < bad.bad_count <= MIB // 8 * 400
    assert bad.first_offset_bytes % 8 == 0 and bad.first_offset_bytes < MIB
    assert bad.expected != bad.got
    assert bad.checked_bytes >= MIB


def test_slope_removes_the_fixed_cost_of_small_operations(session: _core.Session) -> None:
    """Catches small sizes whose figure holds the cost of a batch, and large ones timed twice for nothing."""
    assert session.measure([copy(session, 64 * KIB - 8)], options()).slope
    assert not session.measure([copy(session, 64 * KIB)], options()).slope


def test_a_case_without_the_gate_says_so(session: _core.Session) -> None:
    """Catches launch cost in a figure whose record calls it gated; asked for, it is no warning."""
    flow = copy(session, MIB)
    ungated = session.measure([flow], options(gate=False))
    assert ungated.verified and not ungated.gated
    assert "ungated" not in warnings(ungated)
    assert session.measure([flow], options()).gated


@pytest.mark.parametrize("size", [4 * KIB, MIB])
def test_a_batch_that_is_asked_for_is_kept(session: _core.Session, size: int) -> None:
    """Catches a batch that grows, or is doubled for correlation, although the user chose it."""
    assert session.measure([copy(session, size)], options(batch=7)).batch == 7


def test_one_operation_that_is_asked_for_keeps_its_fixed_cost(session: _core.Session) -> None:
    """Catches a slope that takes away what a program pays that times single operations."""
    flow = copy(session, 4 * KIB)
    assert session.measure([flow], options()).slope
    assert not session.measure([flow], options(batch=1)).slope


def test_concurrent_flows_keep_a_batch_that_is_asked_for(session: _core.Session) -> None:
    """Catches an option that is read for one flow and ignored for two; a window takes four at least."""
    flows = [copy(session, MIB) for _ in range(2)]
    assert session.measure(flows, options(batch=9)).batch == 9
    assert session.measure(flows, options(batch=1)).batch == 4


def test_interference_measures_the_first_flow_only() -> None:
    """Catches disturbers that are counted into the figure."""
    measured = played([MIB, 4 * MIB], [0, 1], interference=True)
    assert MIB / measured["time_ns"] * 1e9 == pytest.approx(measured["rates"][0], rel=1e-3)
    assert measured["rates"][1] > 0  # shown, not counted


@pytest.mark.parametrize(("cold", "distinct"), [(True, 16 * MIB), (False, MIB)])
def test_cold_and_warm_differ_in_the_bytes_touched(session: _core.Session, cold: bool, distinct: int) -> None:
    """Catches a cold case that stays on one slot, and a warm one that rotates."""
    measured = session.measure([copy(session, MIB, room=16 * MIB, cold=cold)], options())
    assert measured.verified
    assert measured.distinct_source_bytes == measured.distinct_destination_bytes == distinct


@pytest.mark.parametrize("size", [64, 512, 4 * KIB, MIB])
def test_a_chase_is_proved_by_where_it_ends(session: _core.Session, size: int) -> None:
    """Catches a walk of too few steps, also where a whole number of rounds ends where it began."""
    buffer = session.allocate("cpu0", "pageable", MIB, "cpu0")
    measured = session.measure(
        [_core.Flow(buffer, buffer, "cpu0", "pointer-chase", size)], options(batch=8192)
    )
    assert measured.verified and measured.verified_every_sample
    [flow] = measured.flows
    assert flow.verification.ok and flow.verification.expected == flow.verification.got < size // 64
    assert measured.distinct_source_bytes == size


@pytest.mark.parametrize("size", [MIB, 4 * MIB])
def test_a_chase_of_a_cache_goes_round_in_every_batch(session: _core.Session, size: int) -> None:
    """Catches shorter walks: what was evicted between batches counts in full for the part that they walk."""
    buffer = session.allocate("cpu0", "pageable", size, "cpu0")
    measured = session.measure([_core.Flow(buffer, buffer, "cpu0", "pointer-chase", size)], options())
    assert measured.verified and measured.batch >= size // 64


def test_a_chase_has_no_company(session: _core.Session) -> None:
    """Catches a rate of a flow that moves no bytes: it would be no number."""
    buffer = session.allocate("cpu0", "pageable", MIB, "cpu0")
    flows = [copy(session, MIB), _core.Flow(buffer, buffer, "cpu0", "pointer-chase", MIB)]
    with pytest.raises(_core.UnsupportedError, match="measured alone"):
        session.measure(flows, options())


def test_too_little_time_is_confessed(session: _core.Session) -> None:
    """Catches an interval that claims more than its samples can bear, and a time that leaves too few."""

    def hasty(**more: object) -> _core.Measurement:
        return session.measure([copy(session, MIB)], options(budget_s=1e-9, precision=1e-9, **more))

    alone = hasty()
    assert warnings(alone)["noisy"].observed > warnings(alone)["noisy"].required == 1e-9
    assert alone.time_ns.n == 6 and "few-samples" not in warnings(alone)
    of_three = hasty(rounds=3)
    assert of_three.time_ns.n == 3 and "few-samples" not in warnings(of_three)
    few = warnings(hasty(max_samples=4))["few-samples"]
    assert (few.observed, few.required) == (4, 6)


def test_a_team_beyond_any_machine_is_refused(session: _core.Session) -> None:
    """Catches threads created until the system gives in."""
    buffers = [session.allocate("cpu0", "pageable", MIB, "cpu0") for _ in range(2)]
    flow = _core.Flow(*buffers, "cpu0", "memcpy-mt", MIB, threads=2**32 - 1)
    with pytest.raises(_core.UnsupportedError, match="threads"):
        session.measure([flow], options())


@pytest.mark.parametrize(
    ("size", "match"), [(0, "multiples of 8"), (12, "multiples of 8"), (2**63, "larger than a buffer")]
)
def test_sizes_that_cannot_be_copied_are_refused(session: _core.Session, size: int, match: str) -> None:
    """Catches sizes that would be rounded, or wrap around."""
    source, destination = (session.allocate("cpu0", "pageable", MIB, "cpu0") for _ in range(2))
    with pytest.raises(_core.Error, match=match):
        session.measure([_core.Flow(source, destination, "cpu0", "memcpy-mt", size)], options())


def test_one_buffer_is_no_copy(session: _core.Session) -> None:
    """Catches a copy onto itself, which would always verify."""
    buffer = session.allocate("cpu0", "pageable", MIB, "cpu0")
    with pytest.raises(_core.UnsupportedError, match="one buffer"):
        session.measure([_core.Flow(buffer, buffer, "cpu0", "memcpy", MIB)], options())


def test_no_flows_are_no_case(session: _core.Session) -> None:
    """Catches a crash on an empty case."""
    with pytest.raises(_core.Error, match="at least one flow"):
        session.measure([], options())
