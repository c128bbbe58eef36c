"""Answers "how long until 60 GB are in this GPU?": allocation, page faults, reading, copying, relays.

A load allocates memory of the GPU and of the host, reads the data into the host's from the page cache, and
copies it to the GPU. Each part was measured by itself at some size; its time grows with the size beyond that.
Their sum has the interval of the sum. Where the run also loaded as a whole (`cold-load`), that is compared
with the sum of its parts at the same size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from byteways.answers.best.candidates import IMPOSSIBLE
from byteways.answers.best.decisions import Constraints, Decision, decisions
from byteways.answers.best.methods import method
from byteways.answers.best.no_answer import measure_now
from byteways.answers.claims.claim import TIE, Claim
from byteways.answers.claims.compare import compare, summed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import WITH_OWN_TABLES
from byteways.answers.results.summary import Result
from byteways.base.errors import BytewaysError
from byteways.cases.interface_rows import COLD_LOAD
from byteways.cases.interfaces import metric_of
from byteways.cases.question import Question
from byteways.plan.load_question import HOST_MEMORIES, LEAST_LOAD_BYTES, gpu_of
from byteways.record.record import Record
from byteways.record.simulation_mark import mark_of

#: The parts of a load, in their order.
GPU_MEMORY, HOST_MEMORY, REGISTER_PAGES, READ_DATA, COPY_DATA = (
    "gpu-memory",
    "host-memory",
    "register",
    "read",
    "copy",
)
#: The least measured size of a part: below it the cost of a call dominates.
LEAST_PART_BYTES = 16 * 2**20


@dataclass(frozen=True)
class LoadPart:
    """A part of a load: its time in ns for all bytes, and the result that it follows from."""

    what: str
    time: Result
    measured: Result
    method: str = ""  # the best of several, as a programmer writes it

    def to_json(self) -> dict[str, Any]:
        return {
            "part": self.what,
            "time_ns": self.time.value,
            "time_ns_interval": [self.time.low, self.time.high],
            "measured_size_bytes": self.measured.size_bytes,
            "case_id": self.measured.record.case_id,
            "method": self.method or None,
        }


@dataclass(frozen=True)
class LoadMethod:
    """A load through one kind of host memory; without a total if parts are missing."""

    memory: str
    size_bytes: int
    parts: tuple[LoadPart, ...]
    missing: tuple[str, ...] = ()
    refusal: Record | None = None  # of the copy, if this machine cannot run it

    @cached_property
    def time(self) -> Result | None:
        """The sum of the parts in ns; None if a part is missing."""
        return None if self.missing else summed([part.time for part in self.parts])

    @property
    def longest(self) -> LoadPart:
        """The part that dominates."""
        return max(self.parts, key=lambda part: part.time.value)

    def part(self, what: str) -> LoadPart | None:
        return next((part for part in self.parts if part.what == what), None)

    def only(self, *what: str) -> LoadMethod:
        """Returns what is left of the load if the other parts were prepared ahead."""
        left = tuple(part for part in self.parts if part.what in what)
        return replace(self, parts=left, missing=tuple(one for one in self.missing if one in what))

    def to_json(self) -> dict[str, Any]:
        time = self.time
        return {
            "memory": self.memory,
            "parts": [part.to_json() for part in self.parts],
            "missing": [*self.missing],
            "refused": self.refusal.reason if self.refusal else None,
            "time_ns": time.value if time else None,
            "time_ns_interval": [time.low, time.high] if time else None,
        }


@dataclass(frozen=True)
class Trial:
    """A load as a whole at a size at which it fits, beside the sum of its parts at this size."""

    memory: str
    whole: Result  # in ns
    parts: Result

    @property
    def size_bytes(self) -> int:
        return self.whole.size_bytes

    @property
    def ratio(self) -> float:
        """The sum of the parts as a fraction of the whole."""
        return self.parts.value / self.whole.value


@dataclass(frozen=True)
class LoadAnswer:
    """How long a load takes through each kind of host memory, and what shortens it."""

    question: Question
    gpu: str
    cpu: str
    simulated: str
    methods: tuple[LoadMethod, ...]  # the best first, then by time, then those without a total
    claims: tuple[Claim, ...]  # the best against each other one with a total
    faults: LoadPart | None  # the first touch of the pageable pages, as a part of their allocation
    relayed: LoadPart | None  # the copy of pinned memory over other GPUs, if it leads
    all_at_once: tuple[int, LoadPart] | None  # the number of GPUs that load together, and the copy of one
    trials: tuple[Trial, ...]
    host_bytes: int | None
    hint: str  # a command that measures what is missing; '' if nothing is

    @property
    def between(self) -> str:
        return f"load into {self.gpu}"

    @property
    def best(self) -> LoadMethod | None:
        return next((one for one in self.methods if one.time), None)

    def by(self, memory: str) -> LoadMethod:
        return next(one for one in self.methods if one.memory == memory)

    def to_json(self) -> dict[str, Any]:
        pinned = self.by("pinned")
        count, copy = self.all_at_once or (0, None)
        return {
            "load": self.gpu,
            "size_bytes": self.question.size_bytes,
            "methods": [one.to_json() for one in self.methods],
            "prepared": pinned.only(READ_DATA, COPY_DATA).to_json(),
            "kept_in_pinned": pinned.only(COPY_DATA).to_json(),
            "page_faults": self.faults.to_json() if self.faults else None,
            "relayed_copy": self.relayed.to_json() if self.relayed else None,
            "all_at_once": {"gpus": count, "copy": copy.to_json()} if copy else None,
            "checked": [
                {
                    "memory": one.memory,
                    "size_bytes": one.size_bytes,
                    "time_ns": one.whole.value,
                    "sum_of_parts_ns": one.parts.value,
                }
                for one in self.trials
            ],
            "claims": [claim.to_json() for claim in self.claims],
            "simulated": bool(self.simulated),
        }


def load_answer(index: Index, asked: Question, name: str = "RUN") -> LoadAnswer:
    """Returns how long the load takes through each kind of host memory.

    Raises:
        BytewaysError: The device is unknown or has too little memory, or no part of a load was measured.
    """
    gpu = gpu_of(asked, index.topology)
    cpu = index.topology.nearest_cpu(gpu)
    parts = _Parts(index, gpu, cpu, asked.size_bytes)
    methods = [parts.method(memory) for memory in HOST_MEMORIES]
    if not any(one.parts for one in methods):
        raise BytewaysError(
            f"{name} has no part of a load into {gpu}",
            hint=measure_now(index, asked),
        )
    whole = _ordered([one for one in methods if one.time])
    claims = tuple(_compared(whole[0], one, len(whole)) for one in whole[1:])
    return LoadAnswer(
        asked,
        gpu,
        cpu,
        mark_of(index.manifest),
        (*whole, *(one for one in methods if not one.time)),
        claims,
        parts.faults(),
        parts.relayed(),
        parts.all_at_once(),
        tuple(_trials(index, gpu, cpu)),
        index.topology.device(cpu).memory_bytes,
        measure_now(index, asked) if any(one.missing and not one.refusal for one in methods) else "",
    )


def _ordered(whole: Sequence[LoadMethod]) -> list[LoadMethod]:
    """Returns the fastest load first, or the most usual memory of those that tie with it."""
    by_time = sorted(whole, key=lambda one: one.time.value if one.time else 0.0)
    if not by_time:
        return []
    claims = {one.memory: _compared(by_time[0], one, len(by_time)) for one in by_time[1:]}
    ties = [one for one in whole if one is by_time[0] or claims[one.memory].verdict == TIE]
    first = next(one for one in ties if one is by_time[0] or not claims[one.memory].undecided)
    return [first, *(one for one in by_time if one is not first)]


def _compared(one: LoadMethod, other: LoadMethod, ways: int) -> Claim:
    return compare(
        _rate(one),
        _rate(other),
        kind="load",
        ways=ways,
        across=("size", "cache", "counts", "pattern"),
        match=None,
        names=(f"{one.memory} memory", f"{other.memory} memory"),
    )


class _Parts:
    """The parts of loads of one size into one GPU, as far as the run has them."""

    def __init__(self, index: Index, gpu: str, cpu: str, size_bytes: int) -> None:
        self._index, self._gpu, self._cpu, self._size_bytes = index, gpu, cpu, size_bytes

    def method(self, memory: str) -> LoadMethod:
        pages = "pinned" if memory == "pinned" else "pageable"
        found: dict[str, LoadPart | None] = {
            GPU_MEMORY: self._step(GPU_MEMORY, "allocate", self._gpu, "device", self._gpu),
            HOST_MEMORY: self._step(
                HOST_MEMORY, "allocate", self._cpu, pages, self._cpu, touched=pages == "pageable"
            ),
            READ_DATA: self._read(pages),
        }
        if memory == "registered":
            found[REGISTER_PAGES] = self._step(
                REGISTER_PAGES, "register", self._cpu, "pageable", self._gpu, touched=None
            )
        found[COPY_DATA] = self._copy(memory)
        parts = tuple(part for part in found.values() if part)
        missing = tuple(what for what, part in found.items() if part is None)
        return LoadMethod(
            memory, self._size_bytes, parts, missing, self._refusal(memory) if missing else None
        )

    def _refusal(self, memory: str) -> Record | None:
        """Returns the record of a copy of this memory that the machine cannot run; None if there is none."""
        ends = f"{self._cpu}:{memory}", f"{self._gpu}:device"
        refused = (
            one
            for one in self._index.records
            if one.status == "skipped"
            and one.reason_code in IMPOSSIBLE
            and (one.interface, one.source, one.destination) == ("copy", *ends)
        )
        return next(refused, None)

    def faults(self) -> LoadPart | None:
        """Returns the share of page faults in the allocation of pageable memory."""
        pages = (HOST_MEMORY, "allocate", self._cpu, "pageable", self._cpu)
        touched, bare = self._step(*pages, touched=True), self._step(*pages, touched=False)
        if touched is None or bare is None or touched.time.low <= bare.time.high:
            return None
        shares = (touched.time.value - bare.time.value, touched.time.low - bare.time.high)
        most = touched.time.high - bare.time.low
        return replace(touched, time=replace(touched.time, value=shares[0], low=shares[1], high=most))

    def relayed(self) -> LoadPart | None:
        """Returns the copy over other GPUs' links, if it is best."""
        best = self._decided(self._cpu, self._gpu, Constraints(host_memory="pinned"))
        if best is None or best.ranking is None or best.variant.interface not in WITH_OWN_TABLES:
            return None
        leads = not any(
            one.variant.interface not in WITH_OWN_TABLES and not one.claim.leads
            for one in best.ranking.rivals
        )
        (cell,) = best.ranking.group.cells[:1]
        return self._part(COPY_DATA, cell, best.variant.name) if leads else None

    def all_at_once(self) -> tuple[int, LoadPart] | None:
        """Returns how many GPUs load at the same time, and the copy into one of them."""
        found = decisions(self._index, Constraints(pattern="fan-out", host_memory="pinned")).part(
            lambda cell: (
                {flow.destination.device for flow in cell.case.flows} == {*self._index.topology.names("gpu")}
                and all(flow.source.device.startswith("cpu") for flow in cell.case.flows)
            )
        )
        for place in found.places:
            decision = found.large(place)
            if place.cold and place.flows > 1 and decision.ranking:
                (cell,) = decision.ranking.group.cells[:1]
                one = replace(cell, value=cell.value / place.flows)
                one = replace(one, low=cell.low / place.flows, high=cell.high / place.flows)
                return place.flows, self._part(COPY_DATA, one, self._named(decision))
        return None

    def _step(
        self, what: str, interface: str, owner: str, memory: str, executor: str, touched: bool | None = None
    ) -> LoadPart | None:
        """Returns a memory operation, of its largest measured size.

        Args:
            what: The part.
            interface: The operation.
            owner: The device that has the memory.
            memory: Its kind.
            executor: The device that executes it.
            touched: Whether it writes the pages first; None: by default.
        """
        wanted = {True: {"touched": "yes"}, False: {"touched": "no"}, None: {}}[touched]
        if memory not in ("pageable", "hugepage"):
            wanted = {}
        cells = [
            cell
            for cell in self._index.cells
            if cell.record.interface == interface
            and (cell.source.device, cell.source.memory, cell.record.executor) == (owner, memory, executor)
            and cell.record.options == wanted
            and cell.size_bytes >= LEAST_PART_BYTES
            and not cell.record.environment
        ]
        return self._part(what, max(cells, key=lambda cell: cell.size_bytes)) if cells else None

    def _read(self, pages: str) -> LoadPart | None:
        memory = pages if pages == "pageable" else f"pageable > {pages}"
        return self._best(READ_DATA, self._cpu, self._cpu, Constraints(host_memory=memory, relays=False))

    def _copy(self, memory: str) -> LoadPart | None:
        return self._best(COPY_DATA, self._cpu, self._gpu, Constraints(host_memory=memory, relays=False))

    def _best(self, what: str, source: str, destination: str, among: Constraints) -> LoadPart | None:
        """Returns the best method of a transfer, at the largest size with alternatives."""
        best = self._decided(source, destination, among)
        if best is None or best.ranking is None:
            return None
        return self._part(what, best.ranking.group.cells[0], self._named(best))

    def _named(self, decision: Decision) -> str:
        assert decision.ranking is not None
        return method(decision.ranking.group.cells, self._index.topology)

    def _decided(self, source: str, destination: str, among: Constraints) -> Decision | None:
        found = decisions(self._index, among).part(
            lambda cell: (
                (cell.source.device, cell.destination.device) == (source, destination)
                and cell.size_bytes >= LEAST_PART_BYTES
            )
        )
        return next((found.large(place) for place in found.places if place.cold), None)

    def _part(self, what: str, cell: Result, named: str = "") -> LoadPart:
        return LoadPart(what, _time(cell, self._size_bytes), cell, named)


def _time(cell: Result, size_bytes: int) -> Result:
    """Returns the time in ns for a size, in proportion to the measured one; its relative spread stays."""
    if metric_of(cell.record.interface) == "bandwidth":
        value, low, high = (1e9 * size_bytes / rate for rate in (cell.value, cell.high, cell.low))
    else:
        scale = size_bytes / cell.size_bytes
        value, low, high = scale * cell.value, scale * cell.low, scale * cell.high
    return replace(cell, value=value, low=low, high=high, by_round={})


def _rate(load: LoadMethod) -> Result:
    """Returns the bytes/s of a load as a whole, for comparisons."""
    time, copy = load.time, load.part(COPY_DATA)
    assert time is not None and copy is not None  # of loads without a missing part
    value, low, high = (1e9 * load.size_bytes / ns for ns in (time.value, time.high, time.low))
    same = replace(copy.measured, value=value, low=low, high=high, spread=time.spread, by_round={})
    return replace(same, sum_of=time.sum_of)


def _trials(index: Index, gpu: str, cpu: str) -> Iterator[Trial]:
    """Yields the loads as a whole that the run has, each beside the sum of its parts."""
    for cell in index.cells:
        record = cell.record
        if record.interface == COLD_LOAD and record.executor == gpu and cell.source.device == cpu:
            parts = _Parts(index, gpu, cpu, record.size_bytes).method(cell.source.memory)
            if parts.time is not None and record.size_bytes >= LEAST_LOAD_BYTES:
                yield Trial(cell.source.memory, cell, parts.time)
