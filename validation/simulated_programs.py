"""What the programs behind the published values did, done on a simulated machine.

A model is checked through the same functions that a real program calls: those of HIP or CUDA, and the
simulator's own for the host. Each program here is a few lines and says whose it is. It gives the time of one
operation in ns, one time a flow; what a source makes of the times (bytes that count, sums) is `figure`.

As a program, this is one process of one environment (`simulate` starts it): standard input names the library,
the sheet of the machine and the operations, standard output gets the times, both as JSON.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulated_messages import messages
from simulated_runtime import Runtime, open_runtime

if TYPE_CHECKING:
    from published_values import PublishedValue

#: Sources whose kernels only store or only load (Comm|Scope); TransferBench's and STREAM's copy.
TOUCHING = ("pearson2023", "pearson-frontier-raw2023")
#: Where a source states no size: large enough that fixed costs and caches do not show.
UNSTATED_BYTES = 2**30
#: Of a walk "beyond the caches": so many that a last-level cache of 256 MiB holds less than 1 % of them.
CHASED_BYTES = 2**35
#: nvbandwidth 0.8: copies in one timed batch (`defaultLoopCount`).
NVBANDWIDTH_COPIES = 16
#: Steps of a walk; the longer one has twice as many.
CHASE_STEPS = 200_000
CHASE_LINE_BYTES = 128
#: Methods whose programs run between ranks.
BETWEEN_RANKS = ("mpi", "xccl")
OPEN = 1  # what a gate waits for
#: TransferBench does all transfers of a GPU in one kernel; as many queues let our kernels do the same.
ALL_PAIRS_ENVIRONMENT = {"GPU_MAX_HW_QUEUES": "16"}


class SimulationError(RuntimeError):
    """The process of the simulated machine failed; the text is what it said."""


@dataclass(frozen=True)
class Operation:
    """What one value is the time of, in plain types."""

    program: str  # a key of PROGRAMS
    method: str
    executor: str
    access: str
    pattern: str
    source: str  # gpu0:device
    destination: str
    size_bytes: int
    copies: int = 1  # back to back, in one timed batch
    blocks: int = 0  # of a kernel; 0: as many as there are multiprocessors
    touches_only: bool = False  # the kernel stores or loads only, and does not copy
    environment: Mapping[str, str] = field(default_factory=dict)
    message: str = ""  # between ranks: a key of PROGRAMS in simulated_messages.py
    ranks: int = 1
    graph: bool = False  # the calls are replayed from a graph

    @property
    def flows(self) -> list[tuple[str, str, str]]:
        """(executor, source, destination) of everything that runs at once."""
        first = (self.executor, self.source, self.destination)
        if self.pattern == "unidirectional":
            return [first]
        source, memory = self.source.split(":")
        destination = self.destination.split(":")[0]
        if self.pattern == "bidirectional":
            other = destination if self.executor == source else source
            executor = other if other.startswith("gpu") else self.executor
            return [first, (executor, self.destination, self.source)]
        gpus = [f"gpu{index}" for index in range(8)]
        return [(a, f"{a}:{memory}", f"{b}:{memory}") for a in gpus for b in gpus if a != b]


def operation_of(value: PublishedValue) -> Operation:
    """What the source of a published value timed."""
    if value.method in BETWEEN_RANKS:
        return _message_of(value)
    timing, copies = value.timing, 1
    if value.method == "pointer-chase":
        program = "chase"
    elif timing.startswith("wall clock"):
        program = "by_wall_clock"
    elif "back-to-back" in timing:
        program, copies = "back_to_back", int(timing.split()[0])
    elif timing.startswith("nvbandwidth") or timing == "not stated":
        program, copies = "back_to_back", NVBANDWIDTH_COPIES
    elif timing.startswith("own run"):
        program, copies = "slope", NVBANDWIDTH_COPIES
        if "pageable" in (value.source.memory, value.destination.memory):
            program = "by_wall_clock"  # behind a gate such a copy would wait for itself
    elif value.pattern != "unidirectional":
        program = "back_to_back"
    else:
        program = "one_at_a_time"
    environment = dict(value.environment)
    if value.pattern == "all-pairs":
        environment |= ALL_PAIRS_ENVIRONMENT
    size = value.size_bytes or (CHASED_BYTES if value.method == "pointer-chase" else UNSTATED_BYTES)
    if value.method == "stream-triad":
        size = size * 3 // 2  # three arrays: our kernel moves two
    return Operation(
        program,
        value.method,
        value.executor,
        value.access,
        value.pattern,
        str(value.source),
        str(value.destination),
        size,
        copies,
        int(value.options.get("compute-units", 0)),
        value.method == "kernel" and value.source_key in TOUCHING,
        environment,
    )


def _message_of(value: PublishedValue) -> Operation:
    """A program of OMB, nccl-tests or rccl-tests."""
    settings = value.options
    return Operation(
        "messages",
        value.method,
        value.executor,
        value.access,
        value.pattern,
        str(value.source),
        str(value.destination),
        value.size_bytes or UNSTATED_BYTES,
        environment=dict(value.environment),
        message="one_process" if settings.get("processes") == "1" else settings["program"],
        ranks=int(settings.get("ranks", 2)),
        graph=settings.get("graph") == "1",
    )


def figure(value: PublishedValue, times_ns: Sequence[float]) -> float:
    """The times of a value's flows as its source prints them: bytes/s, or ns."""
    if value.metric != "bandwidth":
        return times_ns[0]
    size = value.size_bytes or UNSTATED_BYTES
    if value.method in BETWEEN_RANKS:
        return _passes(value) * size / (1e-9 * times_ns[0])
    moved = {"stream-triad": 3}.get(value.method, 2) if value.counts == "read+write" else 1
    return sum(moved * size / (1e-9 * time) for time in times_ns)


def _passes(value: PublishedValue) -> float:
    """How often the size counts: both directions of osu_bibw; the bus bandwidth of nccl-tests."""
    if value.counts == "sum of both directions":
        return 2
    if value.counts != "bus bandwidth":
        return 1
    ranks = int(value.options["ranks"])
    return (2 if value.options["program"].startswith("all_reduce") else 1) * (ranks - 1) / ranks


def simulate(library: Path, sheet: str, operations: Sequence[Operation]) -> list[list[float]]:
    """Times of the operations in ns, one list each with a time a flow; one process for each environment.

    Raises:
        SimulationError: a process failed.
    """
    times: list[list[float]] = [[] for _ in operations]
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for index, operation in enumerate(operations):
        groups.setdefault(tuple(sorted(operation.environment.items())), []).append(index)
    for environment, indices in groups.items():
        task = {
            "library": str(library),
            "sheet": sheet,
            "operations": [asdict(operations[i]) for i in indices],
        }
        done = subprocess.run(
            [sys.executable, __file__],
            input=json.dumps(task),
            env={**_without_vendor_settings(), **dict(environment)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise SimulationError(f"the simulated machine ended with {done.returncode}: {last}")
        for index, result in zip(indices, json.loads(done.stdout), strict=True):
            times[index] = result
    return times


def _without_vendor_settings() -> dict[str, str]:
    """This process's environment without what changes the simulated runtime."""
    vendor = re.compile(r"^(HSA|HIP|ROC|ROCR|GPU|CUDA|AMD|MPICH|NCCL|RCCL)_")
    return {name: text for name, text in os.environ.items() if not vendor.match(name)}


# --- programs: each gives ns, one time a flow


def one_at_a_time(runtime: Runtime, operation: Operation) -> list[float]:
    """Comm|Scope, TransferBench: event, operation, event, wait; what it moved is put back, untimed."""
    flow = _Flow(runtime, operation, *operation.flows[0])
    begin, end = runtime.event(), runtime.event()
    flow.enqueue()  # a first time, that finds everything loaded
    runtime.synchronize(flow.stream)
    flow.prepare()
    runtime.record(begin, flow.stream)
    flow.enqueue()
    runtime.record(end, flow.stream)
    runtime.synchronize(flow.stream)
    return [runtime.elapsed_ns(begin, end)]


def back_to_back(runtime: Runtime, operation: Operation) -> list[float]:
    """p2pBandwidthLatencyTest, nvbandwidth: a batch between events, behind a kernel that spins.

    Several flows, each in a stream of its own, wait for the same word, as in TransferBench.
    """
    flows = [_Flow(runtime, operation, *flow) for flow in operation.flows]
    word = runtime.word()
    marks = []
    for flow in flows:
        runtime.select(flow.gpu)
        flow.enqueue()
        runtime.synchronize(flow.stream)
    for flow in flows:
        runtime.select(flow.gpu)
        begin, end = runtime.event(), runtime.event()
        runtime.launch_gate(word, OPEN, flow.stream)
        runtime.record(begin, flow.stream)
        for _ in range(operation.copies):
            flow.enqueue()
        runtime.record(end, flow.stream)
        marks.append((begin, end))
    runtime.write_word(word, OPEN)
    for flow in flows:
        runtime.select(flow.gpu)
        runtime.synchronize(flow.stream)
    return [runtime.elapsed_ns(begin, end) / operation.copies for begin, end in marks]


def slope(runtime: Runtime, operation: Operation) -> list[float]:
    """byteways: the difference of two batches, so that what a batch costs once cancels."""
    short = back_to_back(runtime, operation)
    long = back_to_back(runtime, replace(operation, copies=2 * operation.copies))
    return [2 * b - a for a, b in zip(short, long, strict=True)]


def by_wall_clock(runtime: Runtime, operation: Operation) -> list[float]:
    """STREAM and its like: the host's clock around operation and wait."""
    flow = _Flow(runtime, operation, *operation.flows[0])
    times = []
    for _ in range(2):  # the first finds nothing loaded
        began = runtime.now_ns()
        flow.enqueue()
        runtime.synchronize(flow.stream)
        times.append(float(runtime.now_ns() - began))
    return times[-1:]


def chase(runtime: Runtime, operation: Operation) -> list[float]:
    """A walk of dependent loads, beyond the caches; from two lengths, so that the launch cancels."""
    runtime.select(_gpu_of(operation.executor) or _gpu_of(operation.source) or 0)
    data = runtime.allocate(operation.source, operation.size_bytes)
    lines = 2 ** int(math.log2(operation.size_bytes // CHASE_LINE_BYTES))
    times = [
        runtime.chase_ns(operation.executor, data, lines, CHASE_LINE_BYTES, steps)
        for steps in (CHASE_STEPS, 2 * CHASE_STEPS)
    ]
    return [(times[1] - times[0]) / CHASE_STEPS]


PROGRAMS: Mapping[str, Callable[[Runtime, Operation], list[float]]] = {
    "one_at_a_time": one_at_a_time,
    "back_to_back": back_to_back,
    "slope": slope,
    "by_wall_clock": by_wall_clock,
    "chase": chase,
    "messages": messages,
}


def _gpu_of(device: str) -> int | None:
    name = device.split(":")[0]
    return int(name[3:]) if name.startswith("gpu") else None


class _Flow:
    """Buffers and a stream, and how to enqueue one operation."""

    def __init__(
        self, runtime: Runtime, operation: Operation, executor: str, source: str, destination: str
    ) -> None:
        self._runtime, self._operation, self._source_name = runtime, operation, source
        gpu = _gpu_of(executor)
        self.gpu = 0 if gpu is None else gpu
        runtime.select(self.gpu)
        size = operation.size_bytes
        # Managed memory moves or is reached where it is: both ends are one buffer, at first at the source.
        self._moves = ":managed" in source and operation.method in ("prefetch", "kernel")
        self._source = runtime.allocate(source, size)
        self._destination = self._source if self._moves else runtime.allocate(destination, size)
        self._target = _gpu_of(destination)
        self.stream = runtime.stream()
        self.prepare()

    def prepare(self) -> None:
        """Managed pages go to where the source is; untimed."""
        if self._moves:
            home = _gpu_of(self._source_name)
            self._runtime.prefetch(self._source, self._operation.size_bytes, home, self.stream)
            self._runtime.synchronize(self.stream)

    def enqueue(self) -> None:
        operation, runtime, size = self._operation, self._runtime, self._operation.size_bytes
        if operation.method == "copy":
            runtime.copy(self._destination, self._source, size, self.stream)
        elif operation.method == "kernel-bulk":
            runtime.launch_bulk_copy(self._destination, self._source, size, self.stream)
        elif operation.method == "prefetch":
            runtime.prefetch(self._source, size, self._target, self.stream)
        elif operation.touches_only:
            touched = self._source if operation.access == "read" else self._destination
            runtime.launch_touch(operation.access, touched, size, self.stream)
        else:
            runtime.launch_copy(self._destination, self._source, size, operation.blocks, self.stream)


def main() -> int:
    task: dict[str, Any] = json.load(sys.stdin)
    runtime = open_runtime(task["library"], task["sheet"])
    results = []
    for entry in task["operations"]:
        operation = Operation(**entry)
        with runtime.scope():
            results.append(PROGRAMS[operation.program](runtime, operation))
    json.dump(results, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
