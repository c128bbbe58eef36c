"""One figure per case over its rounds: what all analysis is made of.

Pure: records in, plain data out. Base units inside (bytes/s, nanoseconds, bytes).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any, Protocol, TypeVar

from byteways.plan.case import Buffer, is_managed
from byteways.plan.interfaces import OF_ALL, figure_of
from byteways.results.record import Record
from byteways.topology.model import Topology
from byteways.units import format_size

#: Warnings that say a figure may be another next time, and the word for each beside a sentence.
UNSETTLED = {
    "noisy": "noisy",
    "few-samples": "few samples",
    "few-operations": "few operations",
    "drift": "drifting",
    "bimodal": "two groups of samples",
    "serialised": "in turns",
    "gpu-shared": "shared GPU",
}
#: The same for flows that ran together for a part of the time.
PARTIAL = "overlapped in part only"
#: Of these the interval itself says too little, as it takes the samples for many of one steady quantity …
MISJUDGED = {"few-samples", "few-operations", "drift", "bimodal", "serialised"}
#: … so that a difference is claimed only from this factor on.
MISJUDGED_FACTOR = 1.1
#: Two figures are as good as equal where both intervals leave room for less than this part between them.
ALIKE = 0.03

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


class Run(Protocol):
    """What of a run folder the analysis reads (`results.run_folder.RunFolder` is one)."""

    @property
    def manifest(self) -> Mapping[str, Any]: ...
    @property
    def topology(self) -> Topology: ...
    @property
    def records(self) -> Sequence[Record]: ...
    @property
    def damaged_lines(self) -> int: ...


@dataclass(frozen=True)
class Cell:
    """A measured case over its rounds.

    `value` is the median over rounds; `low`..`high` the interval of the median of a single one, or the
    span of the rounds: of all their medians, and of the intervals of those that are not noisy. So no
    difference is claimed within the spread of rounds, and a noisy one does not stretch it beyond what it
    measured.
    Unit: bytes/s, or nanoseconds per load for a chase.
    """

    record: Record  # the first round
    records: tuple[Record, ...]
    value: float
    low: float
    high: float
    common: frozenset[str] = frozenset()  # options of timing that all cells of the run have alike

    @property
    def peak(self) -> float | None:
        return self.record.peak_bytes_per_s

    @property
    def fraction(self) -> float | None:
        """Share of the peak, None without a known peak."""
        return self.value / self.peak if self.peak else None

    @property
    def samples(self) -> int:
        """Samples over all rounds."""
        return sum(record.time_ns.n for record in self.records if record.time_ns)

    @cached_property
    def source(self) -> Buffer:
        return Buffer.parse(self.record.source)

    @cached_property
    def destination(self) -> Buffer:
        return Buffer.parse(self.record.destination)

    @cached_property
    def variant(self) -> Variant:
        record = self.record
        return Variant(
            record.interface,
            record.access,
            _memory(self.source),
            _memory(self.destination),
            record.cache,
            " ".join(
                f"{name}={_option(name, value)}"
                for name, value in sorted(record.options.items())
                if name not in self.common
            ),
            " ".join(f"{name}={value}" for name, value in sorted(record.environment.items())),
        )

    @property
    def stays(self) -> bool:
        """Whether the pages lie where the path says: not managed, and first touched by their owner.

        Other pages may migrate or lie elsewhere, so the figure need not be one of the path.
        """
        ends = self.source, self.destination
        return all(not is_managed(end.memory) and end.first_touch in (None, end.agent) for end in ends)

    @property
    def warning_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(warning.id for record in self.records for warning in record.warnings))

    @property
    def partial(self) -> bool:
        """Whether concurrent flows ran together for less than half the time in which any of them ran."""
        return any(
            record.window_ns is not None
            and record.end_to_end_ns is not None
            and 2 * record.window_ns < record.end_to_end_ns
            for record in self.records
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """What makes this figure unsure, in the words of UNSETTLED; empty for most."""
        found = [word for warning, word in UNSETTLED.items() if warning in self.warning_ids]
        if self.partial and "serialised" not in self.warning_ids:
            found.append(PARTIAL)
        return tuple(found)

    @property
    def misjudged(self) -> bool:
        """Whether the interval says too little: the samples are few, drift, fall in groups or took turns."""
        return self.partial or bool(MISJUDGED & set(self.warning_ids))


@dataclass(frozen=True)
class Group:
    """Equal cases on several pairs: median of the values, and of the interval ends."""

    cells: tuple[Cell, ...]
    value: float
    low: float
    high: float

    @property
    def peak(self) -> float | None:
        """The common peak, None when unknown or when the pairs' peaks differ."""
        found = {cell.peak for cell in self.cells}
        return found.pop() if len(found) == 1 else None

    @property
    def misjudged(self) -> bool:
        """Whether that is so of at least half the cells, so of their median."""
        return 2 * sum(cell.misjudged for cell in self.cells) >= len(self.cells)


@dataclass(frozen=True, order=True)
class Variant:
    """What two cases of equal path and size may differ in."""

    interface: str
    access: str
    source: str  # memory, with `@agent kind` of a first touch by another agent
    destination: str
    cache: str
    options: str
    environment: str

    @property
    def managed(self) -> bool:
        return any(memory.startswith("managed") for memory in (self.source, self.destination))

    @property
    def host_memory(self) -> str:
        """The memory that is not plain GPU memory, empty when both are.

        Managed memory may be on either end, of a GPU too, so it is named with the other end.
        """
        if "device" in (self.source, self.destination) and self.managed:
            return f"{self.source} > {self.destination}"
        named = dict.fromkeys(memory for memory in (self.source, self.destination) if memory != "device")
        return " > ".join(named)

    def label(self, *, memory: bool = True, access: bool = True) -> str:
        """`copy, write`, `kernel-bulk, read, pinned, blocks=8`."""
        parts = [self.interface]
        if access and self.access != "local":
            parts.append(self.access)
        if memory and self.host_memory:
            parts.append(self.host_memory)
        parts += [part for part in (self.options, self.environment) if part]
        if self.cache == "warm":
            parts.append("warm")
        return ", ".join(parts)


def figure(record: Record) -> float | None:
    """Bytes/s, or nanoseconds per step or call where that is the figure; None when nothing was measured, or
    what no link could carry.
    """
    if record.status != "measured" or record.beyond_limit:
        return None
    if figure_of(record.interface) == "bandwidth":
        return record.bandwidth_bytes_per_s
    return record.latency_ns


def interval(record: Record) -> tuple[float, float]:
    """The 95 % interval of `figure`, carried over from that of the median time."""
    value = figure(record)
    if value is None:
        raise ValueError(f"case {record.case_id} has no figure")
    times = record.time_ns
    if times is None or min(times.ci95) <= 0:
        return value, value
    low, high = times.ci95
    if figure_of(record.interface) != "bandwidth":
        return value * low / times.median, value * high / times.median
    return value * times.median / high, value * times.median / low


def gpu_caches(run: Run) -> dict[str, int]:
    """Bytes of the last-level cache of each GPU that told."""
    agents = (run.manifest.get("capabilities") or {}).get("devices") or {}
    return {
        name: int(told["last_level_cache_bytes"])
        for name, told in agents.items()
        if name.startswith("gpu") and told.get("last_level_cache_bytes")
    }


def shown(record: Record) -> Record:
    """The record without a negative window: flows that took turns have none in common."""
    return replace(record, window_ns=None) if (record.window_ns or 0.0) < 0 else record


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by key, both in order of first appearance."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def cells(records: Iterable[Record]) -> list[Cell]:
    """One cell per case that was measured at least once, in order of first appearance.

    What all cases of a run have alike of `gate`, `batch` and `energy` tells none of them from another, so no
    variant names it.
    """
    records = list(records)
    told = [record for record in records if figure(record) is not None]
    common = frozenset(
        name for name in OF_ALL if len({json.dumps(record.options.get(name)) for record in told}) == 1
    )
    found = []
    for same in group_by(records, lambda record: record.case_id).values():
        measured = [(record, value) for record in same if (value := figure(record)) is not None]
        if not measured:
            continue
        low, high = _span(measured)
        found.append(
            Cell(
                measured[0][0],
                tuple(record for record, _ in measured),
                median(value for _, value in measured),
                low,
                high,
                common,
            )
        )
    return found


def _span(measured: Sequence[tuple[Record, float]]) -> tuple[float, float]:
    """The span of rounds: all medians, and the intervals of those that are not noisy (or of all)."""
    quiet = [record for record, _ in measured if not any(one.id == "noisy" for one in record.warnings)]
    intervals = [interval(record) for record in quiet or [record for record, _ in measured]]
    ends = [end for both in intervals for end in both] + [value for _, value in measured]
    return min(ends), max(ends)


def pool(members: Sequence[Cell]) -> Group:
    """The group of equal cases on several pairs. Raises ValueError when empty."""
    if not members:
        raise ValueError("no cells to pool")
    return Group(
        tuple(members),
        median(cell.value for cell in members),
        median(cell.low for cell in members),
        median(cell.high for cell in members),
    )


def above(first: Cell | Group, second: Cell | Group) -> bool:
    """Whether `first` is greater beyond both intervals, and clearly so where these say too little."""
    clearly = MISJUDGED_FACTOR if first.misjudged or second.misjudged else 1.0
    return first.low > second.high and first.value > clearly * second.value


def alike(first: Cell | Group, second: Cell | Group) -> bool:
    """Whether the two are as good as equal by the far ends of both intervals; not: whether they overlap."""
    apart = max(first.high / second.low, second.high / first.low)
    return apart < 1 + ALIKE and not (first.misjudged or second.misjudged)


def _option(name: str, value: object) -> str:
    """As a suite may have it: `4MiB` of `piece_bytes`, words without their quotes."""
    if name.endswith("_bytes") and isinstance(value, int) and value:
        return format_size(value).replace(" ", "")
    return json.dumps(value).replace('"', "")


def _memory(buffer: Buffer) -> str:
    touch = buffer.first_touch
    if touch in (None, buffer.agent):
        return buffer.memory
    # Named without its number, so that the same thing done by the neighbouring agent is the same variant.
    return f"{buffer.memory}@{str(touch).rstrip('0123456789')}"
