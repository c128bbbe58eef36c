"""The question "how long does a load into a GPU take?", and the sweeps that measure it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from byteways.base.errors import BytewaysError
from byteways.base.units import format_size
from byteways.cases.interface_rows import COLD_LOAD
from byteways.cases.question import Question, question
from byteways.machine.device_names import devices_named
from byteways.machine.model import Topology
from byteways.plan.built_suite import NamedSweep, SuiteKeys

#: Kinds of host memory that a load goes through.
HOST_MEMORIES = ("pinned", "registered", "pageable")
#: A smaller load is a copy: allocation has no share that grows with its size.
LEAST_LOAD_BYTES = 64 * 2**20
#: The parts are measured at this size at most: allocation and page faults take tenths of a second then, and
#: each further page as long. Of a small memory a smaller part, since each case holds a few buffers.
MOST_MEASURED_BYTES = 2**28
_PART_OF_HOST_MEMORY = 32
#: Relays that are tried: one, and as many as usual nodes have.
_RELAYS = (1, 3)


def load_question(gpu: str, size: str) -> Question:
    """Returns the question how long a load into a GPU takes.

    Raises:
        BytewaysError: The device is a word of something else, or the size is none or too small.
    """
    copy = question("host", gpu, size)
    if copy.size_bytes < LEAST_LOAD_BYTES:
        least, asked = format_size(LEAST_LOAD_BYTES), format_size(copy.size_bytes)
        raise BytewaysError(f"a load has {least} or more: {asked} are a copy", hint=copy.command())
    return replace(copy, load=True)


def gpu_of(asked: Question, topology: Topology) -> str:
    """Returns the GPU of the question. Raises BytewaysError if it is none, several, or has less memory."""
    names = devices_named(topology, asked.destination)
    if len(names) != 1 or topology.device(names[0]).kind != "gpu":
        gpus = ", ".join(topology.names("gpu"))
        hint = f"name one of {gpus}" if gpus else "this machine has no GPU; byteways topo lists its devices"
        raise BytewaysError(f"'{asked.destination}' is not one GPU to load into", hint=hint)
    room = topology.device(names[0]).memory_bytes
    if room and asked.size_bytes > room:
        raise BytewaysError(
            f"{names[0]} has {format_size(room)} of memory, less than {format_size(asked.size_bytes)}",
            hint=f"divide it among GPUs, or ask for at most --load {room // 2**30}GiB",
        )
    return names[0]


def measured_bytes(size_bytes: int, topology: Topology, cpu: str) -> int:
    """Returns the size at which the parts of a load are measured: a power of two that fits the memory."""
    room = topology.device(cpu).memory_bytes or 0
    most = min(size_bytes, MOST_MEASURED_BYTES, max(room // _PART_OF_HOST_MEMORY, LEAST_LOAD_BYTES))
    return 1 << (int(most).bit_length() - 1)


def sweeps_of_load(size_bytes: int, topology: Topology, gpu: str) -> Iterator[NamedSweep]:
    """Yields name and keys of each sweep that measures a part of a load into a GPU, or all of it."""
    cpu = topology.nearest_cpu(gpu)
    size = measured_bytes(size_bytes, topology, cpu)
    yield "gpu-memory", _step("allocate", f"{gpu}:device", gpu, size)
    yield "pinned", _step("allocate", f"{cpu}:pinned", cpu, size)
    yield "pageable", _step("allocate", f"{cpu}:pageable", cpu, size, touched=["no", "yes"])
    yield "register", _step("register", f"{cpu}:pageable", gpu, size)
    for memory in ("pinned", "pageable"):
        ends = [f"{cpu}:pageable"], [f"{cpu}:{memory}"]
        yield f"read-{memory}", _transfer(["memcpy-mt"], *ends, size)
    buffers = [f"{cpu}:{memory}" for memory in HOST_MEMORIES]
    yield "copies", _transfer(["copy"], buffers, [f"{gpu}:device"], size)
    if len(topology.names("gpu")) > 1:
        relays = [number for number in _RELAYS if number < len(topology.names("gpu"))]
        route = _transfer(["route"], [f"{cpu}:pinned"], [f"{gpu}:device"], size)
        yield "relays", {**route, "options": {"relays": relays}, "priority": 7}
        everywhere = _transfer(["copy"], ["cpu*:pinned"], ["gpu*:device"], size)
        yield "all-at-once", {**everywhere, "pattern": "fan-out", "pairs": "near", "priority": 6}
    yield "whole", {**_step(COLD_LOAD, buffers, gpu, size), "priority": 5}


def _step(interface: str, buffer: object, executor: str, size: int, **options: object) -> SuiteKeys:
    keys = {"interface": [interface], "buffer": buffer, "executor": executor, "size": size, "priority": 9}
    return {**keys, "options": options} if options else keys


def _transfer(interfaces: list[str], sources: list[str], destinations: list[str], size: int) -> SuiteKeys:
    ends = {"source": sources, "destination": destinations}
    return {"interface": interfaces, **ends, "size": size, "priority": 8}
