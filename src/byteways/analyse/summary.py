"""One figure per case over its rounds: what all analysis is made of.

Pure: records in, plain data out. Base units inside (bytes/s, nanoseconds, bytes).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median
from typing import Any, Protocol, TypeVar

from byteways.analyse.repeatability import LEAST_ROUNDS, Rounds, Spread, spreads
from byteways.analyse.rounds import UNSETTLED, figure, interval, rounds_of
from byteways.plan.case import Buffer, is_managed
from byteways.plan.interfaces import OF_ALL
from byteways.results.record import Record
from byteways.topology.model import Topology
from byteways.units import format_size

#: The word beside a sentence for flows that ran together for a part of the time (as those of UNSETTLED).
PARTIAL = "partial overlap"
#: With these the samples are not of one steady quantity, so that a difference counts from a tenth on.
MISJUDGED = {"few-samples", "few-operations", "drift", "bimodal", "serialised"}

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
class Part:
    """One direction of a concurrent case, with its repeatability interval. Unit: bytes/s."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Cell:
    """A measured case over its rounds.

    `value` is the median over rounds; `low`..`high` where another run would put it (repeatability.py). With
    one round alone they are the interval of its samples, which ranks nothing.
    Unit: bytes/s, or nanoseconds per load for a pointer chase.
    """

    record: Record  # the first round
    records: tuple[Record, ...]
    value: float
    low: float
    high: float
    spread: Spread
    common: frozenset[str] = frozenset()  # options of timing that all cells of the run have alike
    sum_of: tuple[Cell, ...] = ()  # what was added up (compare.summed)

    @property
    def rounds(self) -> int:
        return len(self.records)

    @property
    def ranked(self) -> bool:
        """Whether it was measured in rounds enough to be ranked, compared, fitted and quoted, and in batches
        that the timer can tell: the interval of shorter ones says too little.
        """
        parts = self.sum_of or (self,)
        short = any(
            warning.id == "short-batch"
            for part in parts
            for record in part.records
            for warning in record.warnings
        )
        return not short and all(part.rounds >= LEAST_ROUNDS for part in parts)

    @cached_property
    def middle(self) -> tuple[Record, ...]:
        """The round that the value is from, or the two that it is the mean of."""
        ordered = sorted(self.records, key=lambda record: figure(record) or 0.0)
        return tuple(ordered[(self.rounds - 1) // 2 : self.rounds // 2 + 1])

    @cached_property
    def directions(self) -> dict[str, float]:
        """Bytes/s by path, of the rounds that the value is from: they add up to it."""
        return {path: part.value for path, part in self.parts.items()}

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Each direction with its interval: from its own rounds, no narrower than that of the sum."""
        return {
            path: self.beside(value, [(one.directions or {}).get(path) for one in self.records])
            for path, value in self._shares().items()
        }

    def _shares(self) -> dict[str, float]:
        told = [record.directions or {} for record in self.middle]
        means = {
            path: fmean(one[path] for one in told) for path in told[0] if all(path in one for one in told)
        }
        if self.record.counts != "sum-of-directions" or not sum(means.values()):
            return means
        # Before method 7 a record had the median of each direction, and those do not add up.
        scale = self.value / sum(means.values())
        return {path: scale * mean for path, mean in means.items()}

    def beside(self, value: float, rounds: Sequence[float | None]) -> Part:
        """Another figure of the same rounds, with its interval."""
        known = tuple(one for one in rounds if one)
        own = Rounds(known, 0.0, ()).variance if len(known) > 1 else 0.0
        spread = Spread(max(self.spread.deviation, own**0.5), self.spread.freedom)
        return Part(value, *spread.interval(value, self.rounds))

    @cached_property
    def load(self) -> Part:
        """What those that disturb moved in the rounds that the value is from, in bytes/s."""
        rates = [record.load_bytes_per_s for record in self.records]
        return self.beside(fmean(record.load_bytes_per_s or 0.0 for record in self.middle), rates)

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

    @property
    def time_ns(self) -> float | None:
        """What one operation takes, of the rounds that the value is from; None where no record tells."""
        told = [record.time_ns.median for record in self.middle if record.time_ns]
        return fmean(told) if told else None

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Of a simulated case: what the model's numbers behind it are."""
        return tuple(dict.fromkeys(what for record in self.records for what in record.rests_on or ()))

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
        """Whether pages lie where the path says: not managed (they migrate), first touched by their owner."""
        ends = self.source, self.destination
        return all(not is_managed(end.memory) and end.first_touch in (None, end.device) for end in ends)

    @cached_property
    def warning_ids(self) -> tuple[str, ...]:
        records = (record for part in self.sum_of or (self,) for record in part.records)
        return tuple(dict.fromkeys(warning.id for record in records for warning in record.warnings))

    @property
    def partial(self) -> bool:
        """Whether concurrent flows ran together for less than half the time in which any of them ran."""
        return any(
            record.window_ns is not None
            and record.end_to_end_ns is not None
            and 2 * record.window_ns < record.end_to_end_ns
            for record in self.records
        )

    @cached_property
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
    source: str  # memory, with `@device kind` of a first touch by another device
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


def gpu_caches(run: Run) -> dict[str, int]:
    """Bytes of the last-level cache of each GPU that told."""
    devices = (run.manifest.get("capabilities") or {}).get("devices") or {}
    return {
        name: int(told["last_level_cache_bytes"])
        for name, told in devices.items()
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

    A round beyond the physical limit voids its case. What all cases of a run have alike of `gate`, `batch`
    and `energy` tells none of them from another, so no variant names it.
    """
    records = list(records)
    told = [record for record in records if figure(record) is not None]
    common = frozenset(
        name for name in OF_ALL if len({json.dumps(record.options.get(name)) for record in told}) == 1
    )
    cases = [
        tuple(same)
        for same in group_by(told, lambda record: record.case_id).values()
        if not any(record.beyond_limit for record in same)
    ]
    return [
        _cell(case, spread, common)
        for case, spread in zip(cases, spreads([rounds_of(case) for case in cases]), strict=True)
    ]


def _cell(case: tuple[Record, ...], spread: Spread, common: frozenset[str]) -> Cell:
    value = median(figure(record) or 0.0 for record in case)
    low, high = spread.interval(value, len(case)) if len(case) > 1 else interval(case[0])
    return Cell(case[0], case, value, low, high, spread, common)


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


def _option(name: str, value: object) -> str:
    """As a suite may have it: `4MiB` of `piece_bytes`, words without their quotes."""
    if name.endswith("_bytes") and isinstance(value, int) and value:
        return format_size(value).replace(" ", "")
    return json.dumps(value).replace('"', "")


def _memory(buffer: Buffer) -> str:
    touch = buffer.first_touch
    if touch in (None, buffer.device):
        return buffer.memory
    # Named without its number, so that the same thing done by the neighbouring device is the same variant.
    return f"{buffer.memory}@{str(touch).rstrip('0123456789')}"
