"""One value per case over its rounds: the basis of all analysis.

Pure: records in, plain data out. Base units inside (bytes/s, nanoseconds, bytes).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import Any, Protocol, TypeVar

from msgspec import structs

from byteways.answers.results.families import Families
from byteways.answers.results.repeatability import LEAST_ROUNDS, Rounds, Spread, spreads
from byteways.answers.results.rounds import UNSETTLED, figure, interval, rounds_of
from byteways.answers.results.variants import Variant, variant_of
from byteways.cases.case import Buffer, Case
from byteways.cases.interfaces import INTERFACES, OF_ALL, counts_as_stream, metric_of
from byteways.cases.memory import is_managed
from byteways.cases.options import TIMING
from byteways.machine.model import Topology
from byteways.record.record import Record

#: Samples of all rounds that a 95 % interval of a median needs.
LEAST_SAMPLES = 6
#: Word in sentences for flows that overlapped only partly (like those of UNSETTLED).
PARTIAL = "partial overlap"

#: Warnings whose results are not ranked: the interval is too narrow, or the memory is of another kind.
UNRANKED = ("short-batch", "page-size")
#: Why a result is not ranked, where any of the reasons may hold.
WHY_NOT_RANKED = (
    "fewer than 3 rounds, batches too short for the timer, or pages of another size than asked for"
)

#: Buffers of a flow in a record.
_ENDS = ("source", "second_source", "destination")

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


class RecordedRun(Protocol):
    """The parts of a run folder that analysis reads (`record.run_folder.RunFolder` implements it)."""

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
    """One direction of a concurrent case, with its repeatability interval, in bytes/s."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Result:
    """A measured case over its rounds.

    `value` is the median over rounds; `low`..`high` is the range of another run's value (repeatability.py).
    With a single round they are the interval of its samples, which cannot be ranked.
    Unit: bytes/s, or nanoseconds per load for a pointer chase.
    """

    record: Record  # the first round
    records: tuple[Record, ...]
    value: float
    low: float
    high: float
    spread: Spread
    common: frozenset[str] = frozenset()  # timing options that all cells of the run share
    sum_of: tuple[Result, ...] = ()  # the summands (compare.summed)
    by_round: Mapping[int, float] = field(default_factory=dict, repr=False, compare=False)  # unit of `value`
    between: tuple[Result, ...] = ()  # the results of both neighbouring sizes (best.interpolation)
    families: Families = field(default_factory=Families, repr=False, compare=False)  # those of its run

    @property
    def rounds(self) -> int:
        return len(self.records)

    @cached_property
    def ranked(self) -> bool:
        """Whether it may be ranked, compared, fitted and quoted: enough rounds, batches long enough for the
        timer (intervals of shorter ones are too narrow), and memory of the kind that was asked for.
        """
        parts = self.sum_of or (self,)
        unfit = any(
            warning.id in UNRANKED for part in parts for record in part.records for warning in record.warnings
        )
        return not unfit and all(part.rounds >= LEAST_ROUNDS for part in parts)

    @cached_property
    def middle(self) -> tuple[Record, ...]:
        """The round of the value, or the two rounds of which it is the mean."""
        ordered = sorted(self.records, key=lambda record: figure(record) or 0.0)
        return tuple(ordered[(self.rounds - 1) // 2 : self.rounds // 2 + 1])

    @cached_property
    def directions(self) -> dict[str, float]:
        """Bytes/s by path in the rounds of the value; they add up to it."""
        return {path: part.value for path, part in self.parts.items()}

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Each direction with its interval from its own rounds, at least as wide as that of the sum."""
        return {
            path: self.beside(value, [(record.directions or {}).get(path) for record in self.records])
            for path, value in self._shares().items()
        }

    def _shares(self) -> dict[str, float]:
        directions = [record.directions or {} for record in self.middle]
        means = {
            path: fmean(rates[path] for rates in directions)
            for path in directions[0]
            if all(path in rates for rates in directions)
        }
        if self.record.counts != "sum-of-directions" or not sum(means.values()):
            return means
        # Before method 7 a record had the median of each direction, and these do not add up.
        scale = self.value / sum(means.values())
        return {path: scale * mean for path, mean in means.items()}

    def beside(self, value: float, rounds: Sequence[float | None]) -> Part:
        """Returns another value of the same rounds, with its interval."""
        known = tuple(round for round in rounds if round)
        own = Rounds(known, 0.0, ()).variance if len(known) > 1 else 0.0
        spread = Spread(max(self.spread.deviation, own**0.5), self.spread.freedom)
        return Part(value, *spread.interval(value, self.rounds))

    @cached_property
    def load(self) -> Part:
        """The rate of the background load in the rounds of the value, in bytes/s."""
        rates = [record.load_bytes_per_s for record in self.records]
        return self.beside(fmean(record.load_bytes_per_s or 0.0 for record in self.middle), rates)

    @cached_property
    def kind(self) -> str:
        """Kind of pair (selection.KINDS)."""
        return kind_of_pair(self.source.device, self.destination.device)

    @cached_property
    def job(self) -> Hashable:
        """What results share that may replace each other (families.py), but for the link class."""
        record, interface = self.record, INTERFACES[self.record.interface]
        timing = record.options.get(TIMING.name, TIMING.default)
        moved = record.pattern, record.size_bytes, record.cache, record.counts
        return self.kind, self.stays, *moved, timing, interface.figure, interface.between_ranks

    @property
    def peak(self) -> float | None:
        return self.record.peak_bytes_per_s

    @property
    def fraction(self) -> float | None:
        """Fraction of the peak; None if the peak is unknown."""
        return self.value / self.peak if self.peak else None

    @property
    def samples(self) -> int:
        """Number of samples over all rounds."""
        return sum(record.time_ns.n for record in self.records if record.time_ns)

    @property
    def time_ns(self) -> float | None:
        """Time of one operation in the rounds of the value, in ns; None if not recorded."""
        medians = [record.time_ns.median for record in self.middle if record.time_ns]
        return fmean(medians) if medians else None

    @cached_property
    def rests_on(self) -> tuple[str, ...]:
        """Kinds of the model's numbers behind a simulated case."""
        return tuple(dict.fromkeys(what for record in self.records for what in record.rests_on or ()))

    @cached_property
    def arrives(self) -> bool:
        """Whether it is the bandwidth of a single flow of contiguous bytes."""
        interface = self.record.interface
        return (
            self.record.pattern == "unidirectional"
            and metric_of(interface) == "bandwidth"
            and not counts_as_stream(interface)
            and not INTERFACES[interface].in_pieces
        )

    @property
    def size_bytes(self) -> int:
        """Bytes of one operation."""
        return self.record.size_bytes

    @cached_property
    def case(self) -> Case:
        """What was measured."""
        return Case.from_json(self.record.definition)

    @cached_property
    def source(self) -> Buffer:
        return Buffer.parse(self.record.source)

    @cached_property
    def destination(self) -> Buffer:
        return Buffer.parse(self.record.destination)

    @cached_property
    def variant(self) -> Variant:
        return variant_of(self.record, self.source, self.destination, self.common)

    @cached_property
    def by_ipc(self) -> bool:
        """Whether a buffer is another process's."""
        ends = (str(flow.get(end, "")) for flow in self.record.flows for end in _ENDS)
        return any(end.endswith(":ipc") for end in ends)

    @cached_property
    def between_ranks(self) -> bool:
        """Whether several ranks took part."""
        return bool(INTERFACES[self.record.interface].between_ranks)

    @cached_property
    def within_a_process(self) -> bool:
        """Whether one process measured it on memory of its own."""
        return not self.between_ranks and not self.by_ipc

    @cached_property
    def stays(self) -> bool:
        """Whether pages stay where the path says: not managed, and first touched by their owner."""
        ends = self.source, self.destination
        return all(not is_managed(end.memory) and end.first_touch in (None, end.device) for end in ends)

    @cached_property
    def warning_ids(self) -> tuple[str, ...]:
        records = (record for part in self.sum_of or (self,) for record in part.records)
        return tuple(dict.fromkeys(warning.id for record in records for warning in record.warnings))

    @cached_property
    def partial(self) -> bool:
        """Whether concurrent flows overlapped for less than half of the time in which any ran."""
        return any(
            record.window_ns is not None
            and record.end_to_end_ns is not None
            and 2 * record.window_ns < record.end_to_end_ns
            for record in self.records
        )

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Data warnings, in the words of UNSETTLED; usually empty."""
        warned = {*self.warning_ids}
        if self.rounds >= LEAST_ROUNDS and self.samples >= LEAST_SAMPLES:
            warned.discard("few-samples")  # older records warn of single rounds
        words = [word for warning, word in UNSETTLED.items() if warning in warned]
        if self.partial and "serialised" not in self.warning_ids:
            words.append(PARTIAL)
        return tuple(words)


@dataclass(frozen=True)
class ResultGroup:
    """Equal cases on several pairs: median of the values, and of the interval ends."""

    cells: tuple[Result, ...]
    value: float
    low: float
    high: float

    @property
    def peak(self) -> float | None:
        """The common peak; None if unknown or different between pairs."""
        peaks = {cell.peak for cell in self.cells}
        return peaks.pop() if len(peaks) == 1 else None


def kind_of_pair(source: str, destination: str) -> str:
    """Returns a key of selection.KINDS from device names (`cpu0`, `gpu3`)."""
    ends = source.rstrip("0123456789"), destination.rstrip("0123456789")
    return ends[0] if source == destination else "-".join(ends)


def gpu_caches(run: RecordedRun) -> dict[str, int]:
    """Returns the bytes of each GPU's last-level cache, where known."""
    devices = (run.manifest.get("capabilities") or {}).get("devices") or {}
    return {
        name: int(device["last_level_cache_bytes"])
        for name, device in devices.items()
        if name.startswith("gpu") and device.get("last_level_cache_bytes")
    }


def shown(record: Record) -> Record:
    """Returns the record without a negative window: serialised flows have no common one."""
    return structs.replace(record, window_ns=None) if (record.window_ns or 0.0) < 0 else record


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Groups items by key, both in order of first appearance."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        place = key(item)
        group = groups.get(place)
        if group is None:
            groups[place] = [item]
        else:
            group.append(item)
    return groups


def cells(records: Iterable[Record]) -> list[Result]:
    """Returns one cell per case that was measured at least once, in order of first appearance.

    A round beyond the physical limit voids its case. Options `gate`, `batch` and `energy` that all cases of
    a run share are not part of the variant.
    """
    records = list(records)
    void = {record.case_id for record in records if record.warnings and record.beyond_limit}
    cases: dict[str, list[Record]] = {}
    values: dict[str, list[float]] = {}
    for record in records:
        value = None if record.case_id in void else figure(record)
        if value is not None:
            cases.setdefault(record.case_id, []).append(record)
            values.setdefault(record.case_id, []).append(value)
    common = frozenset(
        name for name in OF_ALL if len({repr(case[0].options.get(name)) for case in cases.values()}) == 1
    )
    families = Families()
    rounds = [rounds_of(*members) for members in zip(cases.values(), values.values(), strict=True)]
    results = [
        _cell(tuple(case), own_rounds, spread, common, families)
        for case, own_rounds, spread in zip(cases.values(), rounds, spreads(rounds), strict=True)
    ]
    families.members += results
    return results


def _cell(
    case: tuple[Record, ...], rounds: Rounds, spread: Spread, common: frozenset[str], families: Families
) -> Result:
    value = median(rounds.values)
    low, high = spread.interval(value, len(case)) if len(case) > 1 else interval(case[0])
    by_round = dict(zip((record.round for record in case), rounds.values, strict=True))
    return Result(case[0], case, value, low, high, spread, common, families=families, by_round=by_round)


def pool(members: Sequence[Result]) -> ResultGroup:
    """Pools equal cases on several pairs. Raises ValueError if empty."""
    if not members:
        raise ValueError("no cells to pool")
    if len(members) == 1:
        (only,) = members
        return ResultGroup((only,), only.value, only.low, only.high)
    return ResultGroup(
        tuple(members),
        median(cell.value for cell in members),
        median(cell.low for cell in members),
        median(cell.high for cell in members),
    )
