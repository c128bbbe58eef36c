"""ext/audit/imported/cases.py: which case of ours a printed value is, and what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.ext.audit.imported.cases import OwnCase, cases_of
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit
from byteways.machine.nominal import nominal_topology
from byteways.models.library import load
from byteways.models.topology import topology_of

H100 = nominal_topology("h100-x8")
PEERS = Operation("copy", "unidirectional", "gpu2:device", "gpu3:device", "gpu2")
GIB = 2**30


def value(
    operation: Operation,
    counts: str | None = "per-direction",
    unit: str = "GB/s",
    text: str = "100",
    **more: object,
) -> ForeignValue:
    """A number of a program that has the size of 1 GiB."""
    plain = ForeignValue(7, "test", "", text, Unit(unit), "mean", counts, GIB, operation)
    return replace(plain, **more)  # type: ignore[arg-type]


def own(found: ForeignValue) -> OwnCase:
    """The case that is equal in definition."""
    cases = cases_of(found, H100)
    assert cases.own is not None and cases.differences == ()
    return cases.own


def test_a_copy_between_gpus() -> None:
    """Catches other devices, another executor, or a conversion of what needs none."""
    found = own(value(PEERS))
    flow = Flow(Buffer("gpu2", "device"), Buffer("gpu3", "device"), "gpu2")
    assert found.case == Case("copy", "unidirectional", (flow,), GIB)
    assert (found.counts, found.factor, found.value_of(value(PEERS))) == ("per-direction", 1.0, 100e9)


def test_both_directions_are_two_flows() -> None:
    """Catches a sum that is compared with one direction."""
    found = own(value(replace(PEERS, pattern="bidirectional"), "sum-of-directions"))
    assert [flow.path for flow in found.case.flows] == ["gpu2>gpu3", "gpu3>gpu2"]
    assert [flow.executor for flow in found.case.flows] == ["gpu2", "gpu3"]
    assert found.counts == "sum-of-directions"


def test_one_of_two_directions_equals_no_case_of_ours() -> None:
    """Catches a cell of nvbandwidth beside the sum; alone, its direction is limited as any."""
    cases = cases_of(value(replace(PEERS, pattern="bidirectional")), H100)
    assert cases.own is None and cases.differences == ("one-of-two-directions",)
    assert [one.case.pattern for one in cases.possible] == ["unidirectional"]


def test_a_local_copy_that_counts_read_and_write_is_halved() -> None:
    local = Operation("copy", "unidirectional", "gpu0:device", "gpu0:device", "gpu0")
    assert own(value(local, "read+write")).factor == 0.5


def test_a_time_becomes_a_rate() -> None:
    """Catches a time in other units, and division by a time that was rounded to zero."""
    timed = value(PEERS, unit="us", text="10000")
    assert own(timed).value_of(timed) == pytest.approx(GIB / 0.01)
    zero = value(PEERS, unit="us", text="0.00")
    assert own(zero).value_of(zero) == float("inf")


def test_a_time_of_unknown_meaning_is_no_rate() -> None:
    """Catches the duration of a call that is taken for that of the transfer."""
    assert cases_of(value(PEERS, None, "us"), H100).possible == ()


def test_half_a_round_trip_is_doubled() -> None:
    """osu_latency prints one way, our ping-pong the round trip."""
    messages = Operation("mpi", "unidirectional", "0/gpu0:device", "1/gpu1:device", ranks=2)
    found = own(value(messages, "one-way", "us", "2.5", size_bytes=8))
    assert (found.case.interface, found.counts, found.factor) == ("mpi-ping-pong", "round-trip", 2.0)


@pytest.mark.parametrize(("counts", "factor"), [("bus", 1.0), ("algorithm", 1.75)])
def test_a_collective_is_of_the_first_gpus(counts: str, factor: float) -> None:
    """Catches a wrong factor between bus and algorithm bandwidth: 2 · 7 / 8 of eight ranks."""
    found = own(value(Operation("xccl", "allreduce", "?:device", "?:device", ranks=8), counts))
    assert (found.counts, found.factor) == ("bus", factor)
    assert [found.case.devices_of_ranks[rank] for rank in range(8)] == [f"gpu{rank}" for rank in range(8)]


def test_more_ranks_than_gpus_are_of_several_hosts() -> None:
    cases = cases_of(value(Operation("xccl", "allreduce", "?:device", "?:device", ranks=16), "bus"), H100)
    assert cases.possible == () and "no-case" in cases.differences


def test_unknown_gpus_are_two_different_ones() -> None:
    """Catches a value of unknown devices that is compared, and a limit of the fast local path."""
    cases = cases_of(value(replace(PEERS, source="?:device", destination="?:device", executor="")), H100)
    assert cases.own is None and cases.differences == ("devices-unknown",)
    assert [one.case.flows[0].source.device for one in cases.possible] == ["gpu0"]
    assert all(one.case.path.partition(">")[0] != one.case.path.partition(">")[2] for one in cases.possible)


def test_unknown_devices_are_tried_once_for_each_class_of_links() -> None:
    """Catches machines whose pairs differ: GCDs of an MI250X have one, two or four links, or none."""
    crusher = topology_of(load("crusher-mi250x"))
    cases = cases_of(value(replace(PEERS, source="?:device", destination="?:device", executor="")), crusher)
    assert len(cases.possible) >= 3


def test_a_single_domain_is_the_memory_of_the_host() -> None:
    """Catches a host buffer that is called unknown though the machine has one domain alone."""
    host = Operation("copy", "unidirectional", "?:pinned", "gpu5:device", "gpu5")
    assert own(value(host)).case.flows[0].source == Buffer("cpu0", "pinned")
    several = cases_of(value(host), topology_of(load("jureca-a100")))
    assert "devices-unknown" in several.differences


def test_loops_over_arrays_are_on_one_device() -> None:
    stream = Operation("stream-triad", "unidirectional", "?:device", "?:device")
    (found,) = cases_of(value(stream, "read+write"), H100).possible
    assert found.case.path == "gpu0>gpu0" and found.counts == "read+write"


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"counts": None}, "count-unknown"),
        ({"size_bytes": None}, "size-unknown"),
        ({"differences": ("sum-of-turns",)}, "sum-of-turns"),
        ({"operation": replace(PEERS, interface="")}, "method-unknown"),
        ({"operation": replace(PEERS, source="gpu2:?")}, "memory-unknown"),
        ({"operation": replace(PEERS, source="gpu8:device")}, "no-case"),
        ({"operation": replace(PEERS, pattern="fan-out")}, "no-case"),
        ({"operation": Operation()}, "no-case"),
        ({"unit": Unit("1/s")}, "no-case"),
    ],
)
def test_what_differs_is_named(changed: dict[str, object], difference: str) -> None:
    """Catches a value that is compared although its output leaves out what decides."""
    cases = cases_of(replace(value(PEERS), **changed), H100)  # type: ignore[arg-type]
    assert cases.own is None and difference in cases.differences
