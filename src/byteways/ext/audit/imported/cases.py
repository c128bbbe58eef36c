"""Values of other programs as cases of ours: the case that is equal in definition, or what differs.

Published values are mapped here, too (scripts/learn_normal.py): one mapping for all that others measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.collective_counts import bus_factor
from byteways.cases.interfaces import COLLECTIVES, INTERFACES, counts_as_stream, metric_of
from byteways.ext.audit.imported.value import ForeignValue, Operation
from byteways.machine.model import Topology
from byteways.machine.routes import route

#: A device or memory that an output leaves out.
UNKNOWN_END = "?"
#: Carriers of messages between ranks, each with what measures their latency.
_PING_PONGS = {"mpi": "mpi-ping-pong", "xccl": "xccl-ping-pong"}
#: Kinds of devices that have a memory, in the order in which an unknown device is tried.
_USUAL_MEMORY = {"gpu": "device", "cpu": "pinned"}
#: Counts of times of transfers, which the size over the time makes a rate.
_RATES_OF_TIMES = ("per-direction", "read+write", "one-way")
#: Memory of a CPU or a GPU alone; managed memory is of both.
_KIND_OF_MEMORY = {"device": "gpu", "ipc": "gpu"}
#: Between two different devices with more than so many pairs, those of the first device alone are tried.
_MOST_DEVICES = 16


@dataclass(frozen=True)
class OwnCase:
    """A case of ours with the conversion of a printed value to what the case's record counts."""

    case: Case
    counts: str  # of the record: per-direction, sum-of-directions, read+write, bus, round-trip …
    metric: str  # bandwidth in bytes/s, or time in ns
    factor: float = 1.0  # from the printed count to ours
    from_time: bool = False  # a bandwidth, computed from a printed time and the size

    def value_of(self, value: ForeignValue) -> float:
        """Returns the printed value in our count; bytes/s or ns."""
        if not self.from_time:
            return value.value * self.factor
        seconds = value.value / 1e9
        return self.factor * self.case.size_bytes / seconds if seconds else float("inf")

    def time_of(self, value: ForeignValue) -> float:
        """Returns the time of one operation in ns: as printed, or that which the printed rate means."""
        if self.metric == "time":
            return self.value_of(value)
        if self.from_time:
            return value.value
        return 1e9 * self._counted_bytes() / self.value_of(value)

    def _counted_bytes(self) -> float:
        """Returns the bytes of an operation as its rate counts them."""
        size = self.case.size_bytes
        if self.counts == "bus":
            return size * bus_factor(self.case.pattern, len(self.case.flows[0].pairs))
        if self.counts == "sum-of-directions":
            return 2.0 * size
        return float(size * (INTERFACES[self.case.interface].counted if self.counts == "read+write" else 1))


@dataclass(frozen=True)
class CasesOfValue:
    """What a value is for us."""

    own: OwnCase | None  # the case that is equal in definition; None: `differences` says why
    differences: tuple[str, ...]  # codes of record/imported_values.py; empty if there is such a case
    possible: tuple[OwnCase, ...]  # what the output may describe, once for each class of links; may be empty


def cases_of(value: ForeignValue, topology: Topology) -> CasesOfValue:
    """Returns what a value is for us on a machine.

    Several cases are possible where the output leaves out devices, memory or the method: they serve to find
    what no such case exceeds, and the value is not compared with any of them.
    """
    differences = [*value.differences, *_left_open(value, topology)]
    possible = tuple(_possible(value, topology))
    if not possible:
        differences.append("no-case")
    if value.operation.pattern == "bidirectional" and value.counts == "per-direction":
        differences.append("one-of-two-directions")
    found = tuple(dict.fromkeys(differences))
    own = possible[0] if possible and not found else None
    return CasesOfValue(own, found, possible)


class CasesOfMachine:
    """What values are for us on a machine. A log repeats its operations: each is looked at once."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self._known: dict[tuple[object, ...], CasesOfValue] = {}

    def of(self, value: ForeignValue) -> CasesOfValue:
        """Returns what a value is for us (cases_of), whatever its number is."""
        operation = value.operation
        what = (operation.interface, operation.pattern, operation.executor, operation.ranks)
        ends = operation.source, operation.destination, *operation.options.items()
        key = (*what, *ends, value.unit.metric, value.counts, value.size_bytes, value.differences)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = cases_of(value, self.topology)
        return found


def transfer(
    interface: str,
    pattern: str,
    ends: tuple[Buffer, Buffer],
    executor: str,
    size_bytes: int,
    environment: Mapping[str, str] | None = None,
    options: Mapping[str, int | str | bool] | None = None,
) -> Case:
    """Returns a transfer between two buffers: in one direction, or in both at once, each way in the same
    manner.
    """
    there = Flow(*ends, executor)
    flows: tuple[Flow, ...] = (there,)
    if pattern == "bidirectional":
        source, destination = ends
        back = destination.device if executor == source.device else source.device
        flows = (there, Flow(destination, source, back))
    return Case(
        interface,
        pattern,
        flows,
        size_bytes,
        options=dict(options or {}),
        environment=dict(environment or {}),
    )


def _left_open(value: ForeignValue, topology: Topology) -> Iterator[str]:
    """Yields what the output does not contain of a case, unless the machine has one such device alone."""
    operation = value.operation
    ends = [end for end in (operation.source, operation.destination) if end]
    if any(_device(end) == UNKNOWN_END for end in ends) and operation.pattern not in COLLECTIVES:
        devices = {
            tuple(end.device for end in pair) for pair in _ends(operation, topology, local=_within(value))
        }
        if len(devices) > 1:
            yield "devices-unknown"
    if any(_memory(end) == UNKNOWN_END for end in ends):
        yield "memory-unknown"
    if operation.interface not in INTERFACES:
        yield "method-unknown"
    if value.size_bytes is None:
        yield "size-unknown"
    if value.counts is None and value.unit.metric == "bandwidth":
        yield "count-unknown"


def _possible(value: ForeignValue, topology: Topology) -> Iterator[OwnCase]:
    operation = value.operation
    if value.unit.metric == "rate" or not (operation.source or operation.destination):
        return
    if operation.pattern in COLLECTIVES:
        yield from _collective(value, topology)
        return
    if operation.pattern not in ("unidirectional", "bidirectional", "ping-pong", ""):
        return
    seen = set()
    for ends in _ends(operation, topology, local=_within(value)):
        if (key := _class_of(topology, ends)) not in seen:
            seen.add(key)
            yield from _transfer(value, topology, ends)


def _transfer(value: ForeignValue, topology: Topology, ends: tuple[Buffer, Buffer]) -> Iterator[OwnCase]:
    """Yields the case of a transfer, message or loop over arrays between two buffers."""
    operation = value.operation
    known = set(topology.names())
    if not known.issuperset(end.device for end in ends):
        return
    interface = operation.interface if operation.interface in INTERFACES else ""
    executor = operation.executor if operation.executor in known else _issuer(interface, ends)
    interface = interface or ("copy" if executor.startswith("gpu") else "memcpy")
    pattern = "bidirectional" if operation.pattern == "bidirectional" else "unidirectional"
    # One of two directions that run at once is limited as it is alone.
    both = pattern == "bidirectional" and value.counts != "per-direction"
    timed = value.unit.metric == "time"
    if timed and interface in _PING_PONGS:
        interface = _PING_PONGS[interface]
    if not INTERFACES[interface].executed_by("gpu" if executor.startswith("gpu") else "cpu"):
        return
    size = value.size_bytes or 0
    case = transfer(
        interface,
        "bidirectional" if both else "unidirectional",
        ends,
        executor,
        size,
        None,
        operation.options,
    )
    if metric_of(interface) != "bandwidth":
        if timed:
            factor = (
                2.0 if value.counts == "one-way" and INTERFACES[interface].counts == "round-trip" else 1.0
            )
            yield OwnCase(case, INTERFACES[interface].counts, "time", factor)
        return
    counts = "sum-of-directions" if both else INTERFACES[interface].counts
    if timed and (both or not size or value.counts not in _RATES_OF_TIMES):
        return
    factor = float(INTERFACES[interface].counted) if timed else 1.0
    if value.counts == "read+write" and counts == "per-direction":
        factor = 0.5  # a copy that counts what it reads and what it writes
    yield OwnCase(case, counts, "bandwidth", factor, timed)


def _collective(value: ForeignValue, topology: Topology) -> Iterator[OwnCase]:
    """Yields the case of a collective of ranks on the first devices of a machine."""
    operation, size = value.operation, value.size_bytes or 0
    ranks = operation.ranks or 0
    interface = operation.interface if operation.interface in _PING_PONGS else "xccl"
    memory = _memory(operation.source or operation.destination)
    kind = _KIND_OF_MEMORY.get(memory, "cpu" if memory not in (UNKNOWN_END, "managed") else "gpu")
    names = topology.names("gpu") if kind == "gpu" else topology.with_cores()[:1] * ranks
    if ranks < 2 or ranks > len(names):
        return
    usual = _USUAL_MEMORY[kind] if memory == UNKNOWN_END else memory
    ends = [Buffer(name, usual, rank=rank) for rank, name in enumerate(names[:ranks])]
    pairs = [(end, end) for end in ends]
    flow = Flow(*pairs[0], names[0], others=tuple(pairs[1:]))
    case = Case(interface, operation.pattern, (flow,), size, "warm", dict(operation.options))
    factor = bus_factor(operation.pattern, ranks)
    if value.unit.metric == "time":
        if size:
            yield OwnCase(case, "bus", "bandwidth", factor, from_time=True)
    else:
        yield OwnCase(case, "bus", "bandwidth", factor if value.counts == "algorithm" else 1.0)


def _ends(
    operation: Operation, topology: Topology, *, local: bool = False
) -> Iterator[tuple[Buffer, Buffer]]:
    """Yields the buffers of both ends, for each device that may have been one.

    Between two unknown devices they are different ones: that is what such programs measure, but for loops
    over arrays, and for a copy that counts what it reads and writes (`local`).
    """
    texts = operation.source or operation.destination, operation.destination or operation.source
    if local or (_one_device(operation.interface) and texts[0] == texts[1]):
        yield from ((end, end) for end in _buffers(texts[0], topology))
        return
    unknown = [_device(text) == UNKNOWN_END for text in texts]
    for source in _buffers(texts[0], topology):
        for destination in _buffers(texts[1], topology):
            same = source.device == destination.device
            if any(unknown) and same and source.device.startswith("gpu"):
                continue
            if all(unknown) and len(topology.devices) > _MOST_DEVICES and not source.device.endswith("0"):
                continue
            yield source, destination


def _one_device(interface: str) -> bool:
    """Whether an operation has its arrays on one device."""
    row = INTERFACES.get(interface)
    return row is not None and (counts_as_stream(interface) or row.buffers == "one" or row.walks)


def _within(value: ForeignValue) -> bool:
    operation = value.operation
    same = operation.source == operation.destination
    return same and value.counts == "read+write" and UNKNOWN_END in _device(operation.source)


def _buffers(text: str, topology: Topology) -> Iterator[Buffer]:
    """Yields the buffers that a text of an operation may mean."""
    rank, _, _ = text.rpartition("/")
    device, memory = _device(text), _memory(text)
    kinds = (
        [_KIND_OF_MEMORY.get(memory, "cpu")] if memory not in (UNKNOWN_END, "managed") else [*_USUAL_MEMORY]
    )
    for name in topology.names() if device == UNKNOWN_END else [device]:
        kind = name.rstrip("0123456789")
        if device == UNKNOWN_END and kind not in kinds:
            continue
        usual = _USUAL_MEMORY.get(kind, "device") if memory == UNKNOWN_END else memory
        yield Buffer(name, usual, rank=int(rank) if rank.isdigit() else None)


def _device(text: str) -> str:
    return text.rpartition("/")[2].partition(":")[0]


def _memory(text: str) -> str:
    return text.rpartition("/")[2].partition(":")[2].partition("@")[0] or UNKNOWN_END


def _issuer(interface: str, ends: tuple[Buffer, Buffer]) -> str:
    """Returns the device that runs an operation where the output does not contain it."""
    source, destination = (end.device for end in ends)
    if interface in INTERFACES and not INTERFACES[interface].executed_by("gpu"):
        return source
    return source if source.startswith("gpu") or not destination.startswith("gpu") else destination


def _class_of(topology: Topology, ends: tuple[Buffer, Buffer]) -> tuple[object, ...]:
    """Returns what makes pairs of devices equal: models and memory of both, and the links between them."""
    known = set(topology.names())
    devices = [end.device for end in ends]
    if not known.issuperset(devices):
        return (*devices,)
    links = (link.link_class for one, other in pairwise(devices) for link in route(topology, one, other))
    models = ((topology.device(end.device).model, end.memory) for end in ends)
    return (devices[0] == devices[1], *links, *models)
