"""Mistakes that people make with bandwidths, planted into true values of several programs and machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from byteways.cases.collective_counts import bus_factor
from byteways.ext.audit.imported.cases import cases_of
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit
from byteways.ext.audit.judging.expected import References
from byteways.machine.model import Topology
from byteways.machine.nominal import NOMINAL_MACHINES, nominal_topology
from byteways.models.library import load as load_model
from byteways.models.topology import topology_of
from byteways.verdicts.checks.normal import Normal

GB_S, MB_S, MIB_S = Unit("GB/s"), Unit("MB/s"), Unit("MiB/s", "MB/s")
GIB, MIB = 2**30, 2**20


@dataclass(frozen=True)
class Plant:
    """A number with a mistake."""

    name: str
    machine: str
    cause: str  # a key of CAUSES
    value: ForeignValue

    @property
    def topology(self) -> Topology:
        return topology_named(self.machine)


@dataclass(frozen=True)
class Truth:
    """What such machines give, recorded (examples) or published (validation), in bytes/s; None: neither."""

    machine: str
    peer: float | None  # a copy from GPU to GPU
    local: float | None  # a copy within a GPU
    host: float | None  # a copy from pinned host memory
    triad: float | None  # STREAM triad on a GPU
    allreduce: float | None  # bus bandwidth of four GPUs
    allgather: float | None  # … of two


_MACHINES = ("h100-x8", "h200-x4", "a100-x8", "gb200-x4", "mi300x-8", "frontier-mi250x")
#: No plant is the reference itself.
_SLOWER = 0.985


def truth_of(machine: str, normal: Normal) -> Truth:
    """Returns what is known of a machine."""
    topology = topology_named(machine)
    known = References(normal, topology)

    def rate(one: ForeignValue) -> float | None:
        for own in cases_of(one, topology).possible:
            if (found := known.of_machines(own)) is not None:
                return _SLOWER * found.value
        return None

    program = _PROGRAMS[0]
    stream = Operation("stream-triad", "unidirectional", "gpu0:device", "gpu0:device", "gpu0")
    four = Operation("xccl", "allreduce", "?:device", "?:device", ranks=4)
    return Truth(
        machine,
        rate(value(program, 1e9, peers(), 512 * MIB)),
        rate(value(program, 1e9, local(), 512 * MIB)),
        rate(value(program, 1e9, from_host(), 512 * MIB)),
        rate(value(program, 1e9, stream, 256 * MIB, "read+write")),
        rate(value(program, 1e9, four, 256 * MIB, "bus")),
        rate(value(program, 1e9, _GATHER, 256 * MIB, "bus")),
    )


@cache
def topology_named(machine: str) -> Topology:
    if machine in NOMINAL_MACHINES:
        return nominal_topology(machine)
    return topology_of(load_model(machine))


_GATHER = Operation("xccl", "allgather", "?:device", "?:device", ranks=2)
_PROGRAMS = (
    ("nvbandwidth", GB_S, 2),
    ("p2pBandwidthLatencyTest", GB_S, 2),
    ("TransferBench", GB_S, 3),
    ("bandwidthTest", GB_S, 1),
)
_MESSAGES = (("osu_bw", MB_S, 2), ("ucx_perftest", MIB_S, 2), ("IMB-MPI1", MB_S, 2))


def value(
    program: tuple[str, Unit, int],
    rate: float,
    operation: Operation,
    size: int,
    counts: str = "per-direction",
    differences: tuple[str, ...] = (),
) -> ForeignValue:
    """Returns a number as a program prints it."""
    name, unit, digits = program
    text = f"{rate / unit.factor:.{digits}f}"
    return ForeignValue(1, name, "", text, unit, "mean", counts, size, operation, differences)


def peers(interface: str = "copy") -> Operation:
    return Operation(interface, "unidirectional", "gpu0:device", "gpu1:device", "gpu0")


def messages() -> Operation:
    """Between two processes; the output does not contain the GPUs."""
    return Operation("mpi", "unidirectional", "0/?:device", "1/?:device", ranks=2)


def local(interface: str = "copy") -> Operation:
    return Operation(interface, "unidirectional", "gpu0:device", "gpu0:device", "gpu0")


def from_host() -> Operation:
    return Operation("copy", "unidirectional", "cpu0:pinned", "gpu0:device", "gpu0")


def plants(normal: Normal) -> list[Plant]:
    """Returns every mistake with several programs and machines."""
    truths = [truth_of(machine, normal) for machine in _MACHINES]
    return [
        Plant(f"{cause} by {one.test} on {truth.machine}", truth.machine, cause, one)
        for truth in truths
        for cause, one in (*_of(truth), *_of_powers(truth, normal))
    ]


def _of(truth: Truth) -> Iterator[tuple[str, ForeignValue]]:
    if truth.peer is not None:
        topology = topology_named(truth.machine)
        yield from _between_gpus(truth.peer, len(topology.names("gpu")))
        if len(cases_of(value(_MESSAGES[0], 1e9, messages(), GIB), topology).possible) == 1:
            yield from _of_messages(truth.peer, truth.local)
    if truth.local is not None:
        yield from _within_a_gpu(truth.local)
    if truth.host is not None:
        yield from _of_the_host(truth.host)
    if truth.triad is not None:
        yield from _of_memory(truth.triad)
    if truth.allreduce is not None:
        yield from _of_collectives(truth.allreduce)
    if truth.allgather is not None:
        algorithm = truth.allgather / bus_factor("allgather", 2)
        for program in (("all_gather_perf", GB_S, 2), ("osu_nccl_allgather", MB_S, 2)):
            yield "algorithm-for-bus", value(program, algorithm, _GATHER, 256 * MIB, "bus")


def _of_powers(truth: Truth, normal: Normal) -> Iterator[tuple[str, ForeignValue]]:
    """2^30 for 10^9: where machines vary by less than these 7 %, else nobody could tell."""
    topology = topology_named(truth.machine)
    known = References(normal, topology)
    stream = Operation("stream-triad", "unidirectional", "gpu0:device", "gpu0:device", "gpu0")
    asked = (
        (truth.peer, peers(), "per-direction"),
        (truth.local, local(), "per-direction"),
        (truth.host, from_host(), "per-direction"),
        (truth.triad, stream, "read+write"),
    )
    for rate, operation, counts in asked:
        if rate is None:
            continue
        one = value(_PROGRAMS[0], rate / _SLOWER * 2**30 / 1e9, operation, 512 * MIB, counts)
        expected = next(filter(None, (known.expected(own) for own in cases_of(one, topology).possible)), None)
        if expected is not None and one.value > expected.most:
            yield "binary-unit", one


def _between_gpus(peer: float, gpus: int) -> Iterator[tuple[str, ForeignValue]]:
    both = replace(peers(), pattern="bidirectional")
    for program in _PROGRAMS[:3]:
        yield "sum-of-directions", value(program, 2 * peer, peers(), 512 * MIB)
    for program in _PROGRAMS[:2]:
        yield "unit-of-1000", value(program, 1e3 * peer, peers(), 512 * MIB)
        yield "bits-for-bytes", value(program, 8 * peer, peers(), 512 * MIB)
    yield "one-direction", value(_PROGRAMS[0], 0.98 * peer, both, 512 * MIB, "sum-of-directions")
    yield "sum-of-devices", value(_PROGRAMS[2], gpus * peer, peers(), 512 * MIB)
    for program, size in ((_PROGRAMS[0], 512 * MIB), (_PROGRAMS[2], 64 * MIB), (_PROGRAMS[3], 256 * MIB)):
        yield "launch-time", value(program, size / 4e-6, peers(), size)


def _of_messages(peer: float, local_copy: float | None) -> Iterator[tuple[str, ForeignValue]]:
    """Of programs that do not print the GPUs: all pairs of the machine are equal."""
    for program in _MESSAGES:
        yield "sum-of-directions", value(program, 2 * peer, messages(), 64 * MIB)
        if local_copy is not None:
            yield "one-device", value(program, 0.9 * local_copy, messages(), 64 * MIB)
    yield "unit-of-1000", value(_MESSAGES[0], 1e3 * peer, messages(), 64 * MIB)


def _within_a_gpu(rate: float) -> Iterator[tuple[str, ForeignValue]]:
    for program in _PROGRAMS[:3]:
        yield "one-device", value(program, rate, peers(), 512 * MIB)
    for program in _PROGRAMS[1:3]:
        yield "read-and-write", value(program, 2 * rate, local(), 512 * MIB)
    yield "launch-time", value(_PROGRAMS[1], 64 * MIB / 6e-6, local("kernel"), 64 * MIB)


def _of_the_host(rate: float) -> Iterator[tuple[str, ForeignValue]]:
    yield "sum-of-directions", value(_PROGRAMS[3], 1.9 * rate, from_host(), 512 * MIB)
    yield "through-host", value(_PROGRAMS[1], 0.6 * rate, peers(), 512 * MIB)
    yield "unit-of-1000", value(_PROGRAMS[2], 1e-3 * rate, from_host(), 512 * MIB)
    yield "bits-for-bytes", value(_PROGRAMS[3], rate / 8, from_host(), 512 * MIB)


def _of_memory(rate: float) -> Iterator[tuple[str, ForeignValue]]:
    stream = Operation("stream-triad", "unidirectional", "gpu0:device", "gpu0:device", "gpu0")
    for program in (("BabelStream", MB_S, 3), ("stream", MB_S, 1)):
        yield "cache", value(program, 1.7 * rate, stream, 8 * MIB, "read+write", ("extreme",))
    yield "unit-of-1000", value(("BabelStream", MB_S, 3), 1e3 * rate, stream, 256 * MIB, "read+write")


def _of_collectives(rate: float) -> Iterator[tuple[str, ForeignValue]]:
    operation = Operation("xccl", "allreduce", "?:device", "?:device", ranks=4)
    for program in (("all_reduce_perf", GB_S, 2), ("osu_nccl_allreduce", MB_S, 2)):
        yield "bus-for-algorithm", value(program, rate, operation, 256 * MIB, "algorithm")
        yield "unit-of-1000", value(program, 1e3 * rate, operation, 256 * MIB, "bus")
