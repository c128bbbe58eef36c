"""The figures of a study's lines at its places: those of a run, and the published ones."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from byteways.analyse.studies.places import Located, locate
from byteways.analyse.summary import Run
from byteways.plan.case import Buffer, Flow
from byteways.plan.interfaces import INTERFACES, OF_ALL, READ_WRITE
from byteways.plan.variables import reader_of
from byteways.results.record import Record, Times
from byteways.studies.study import Ends, Line, Place, Study
from byteways.studies.values import Value
from byteways.units import format_size

#: Options that say how a case is timed and not what it does, so that figures with and without compare.
TIMING_OPTIONS = OF_ALL
#: `count` of a line whose bandwidth is what one direction carries of a figure that counts every array.
ONE_DIRECTION = "one-direction"
#: A size of the source that no case of ours has is compared with the nearest one, if it is as near as that.
NEAR_SIZE = 0.15


@dataclass(frozen=True)
class Ours:
    """A figure of the run. `bandwidth` in bytes/s and `time_ns` of one operation are by the source's
    statistic; a latency has a time alone.
    """

    bandwidth: float | None
    time_ns: float
    peak: float | None  # bytes/s, nominal, here
    record: Record  # the first replicate
    other_count: str = ""  # what the bandwidth is when bytes are counted in the other way, with its name

    def quantity(self, unit: str) -> float | None:
        """In GB/s, as a fraction of the peak here, in ns or in µs; None when there is no such figure."""
        if unit == "GB/s":
            return None if self.bandwidth is None else self.bandwidth / 1e9
        if unit == "of peak":
            return self.bandwidth / self.peak if self.bandwidth is not None and self.peak else None
        return self.time_ns if unit == "ns" else self.time_ns / 1e3


@dataclass(frozen=True)
class Published:
    """A published value at a line, a place and a size (None: the source states none).

    `part` of its bandwidth is what the line counts: a half where the source counts what is read and written.
    """

    value: Value
    size_bytes: int | None
    part: float = 1.0

    def quantity(self, unit: str) -> float | None:
        """As of Ours; a fraction is of the peak that the source names."""
        size, is_rate = self.size_bytes, self.value.metric == "bandwidth"
        number = self.value.value * (self.part if is_rate else 1.0)
        if unit in ("ns", "µs"):
            if is_rate:
                return None
            return number if unit == "ns" else number / 1e3
        rate = number if is_rate else size / number * 1e9 if size else None
        if rate is None or unit == "GB/s":
            return None if rate is None else rate / 1e9
        return rate / self.value.peak_bytes_per_s if self.value.peak_bytes_per_s else None


class Sheet:
    """All figures of a study and of a run, by line and place."""

    def __init__(self, study: Study, run: Run) -> None:
        self.study = study
        self.run = run
        self._ours: dict[tuple[str, str], dict[int, Ours]] = {}
        self._published: dict[tuple[str, str], list[Published]] = {}

    @cached_property
    def located(self) -> dict[str, Located]:
        return locate(self.study, self.run.topology)

    @cached_property
    def _runtimes(self) -> set[str]:
        """Names of the runtimes that this run had."""
        agents = (self.run.manifest.get("capabilities") or {}).get("agents") or {}
        return {str(agent.get("runtime")) for agent in agents.values()}

    def environment(self, line: Line) -> dict[str, str]:
        """The line's variables, without those of every process of the source that no runtime here reads."""
        kept = {}
        for name, text in line.environment.items():
            reader = reader_of(name)
            read = reader is None or reader.runtime in self._runtimes
            if read or name not in self.study.ambient:
                kept[name] = text
        return kept

    @cached_property
    def _by_flow(self) -> dict[tuple[str, str, str, str, str, str], list[Record]]:
        found: dict[tuple[str, str, str, str, str, str], list[Record]] = {}
        for record in self.run.records:
            for_flow = Flow.from_json(record.flows[0])
            found.setdefault(_flow_key(record.interface, record.pattern, for_flow), []).append(record)
        return found

    def records(self, line: Line, place: Place) -> list[Record]:
        """Whatever became of the cases of a line at a place, those of the study's own sweeps first."""
        agents = self.located[place.name].agents
        if agents is None:
            return []
        environment = self.environment(line)
        if line.together:
            return self._all_at_once(line, frozenset(agents))
        found = [
            record
            for ends in line.ends
            for record in self._by_flow.get(_flow_key(line.interface, line.pattern, ends.flow(agents)), ())
            if record.environment == environment and _same_options(record, line) and _same_cache(record, line)
        ]
        return sorted(found, key=lambda record: record.sweep not in self._sweeps)

    def _all_at_once(self, line: Line, gpus: frozenset[str]) -> list[Record]:
        """Cases of exactly these GPUs together with the host; of one, its two directions."""
        pattern = "two-way" if len(gpus) == 1 else line.pattern
        memory = line.ends[0].source.partition(":")[2]
        return [
            record
            for record in self.run.records
            if (record.interface, record.pattern) == (line.interface, pattern)
            and _gpus(record) == gpus
            and all(memory in _memories(flow) for flow in record.flows)
            and _same_options(record, line)
            and not record.environment
        ]

    @cached_property
    def _sweeps(self) -> set[str]:
        return {sweep.name for sweep in self.study.suite.sweeps}

    def ours(self, line: Line, place: Place) -> dict[int, Ours]:
        """The run's figures by size, smallest first."""
        key = line.name, place.name
        if key not in self._ours:
            self._ours[key] = self._all_ours(line, place)
        return self._ours[key]

    def _all_ours(self, line: Line, place: Place) -> dict[int, Ours]:
        cases: dict[int, dict[str, list[Record]]] = {}
        for record in self.records(line, place):
            told = record.submit_ns if line.submits else record.time_ns
            if record.status == "measured" and told is not None:
                cases.setdefault(record.size_bytes, {}).setdefault(record.case_id, []).append(record)
        first = {size: next(iter(by_case.values())) for size, by_case in cases.items()}
        return {size: self._figure(first[size], line) for size in sorted(first)}

    def _figure(self, records: Sequence[Record], line: Line) -> Ours:
        statistic = self.study.statistic
        if line.submits:
            submits = [record.submit_ns for record in records if record.submit_ns is not None]
            return Ours(None, _over_replicates(submits, statistic), None, records[0])
        times = [_by_statistic(record.time_ns, statistic) for record in records if record.time_ns]
        record, time_ns = records[0], _over_replicates(times, statistic)
        assert record.time_ns is not None
        rate = record.bandwidth_bytes_per_s
        if rate is not None and line.count == ONE_DIRECTION:
            rate = _one_direction(record, rate)
        if rate is None:
            scale = time_ns / record.time_ns.median if record.time_ns.median else 1.0
            return Ours(None, (record.latency_ns or 0.0) * scale, None, record)
        median = record.time_ns.median
        other = "" if line.count else _other(record)
        return Ours(rate * median / time_ns, time_ns, record.peak_bytes_per_s, record, other)

    def published(self, line: Line, place: Place) -> list[Published]:
        """Values of the source at the line and place, in the order of its file, second prints too."""
        key = line.name, place.name
        if key not in self._published:
            self._published[key] = self._all_published(line, place)
        return self._published[key]

    def _all_published(self, line: Line, place: Place) -> list[Published]:
        found = []
        elsewhere = {other.model for other in self.study.places.values() if other.model}
        for value in self.study.values:
            there = value.machine == place.model if place.model else value.machine not in elsewhere
            if there and _is_at(value, line, place, self.study.ambient):
                one_way = INTERFACES[line.interface].counts != READ_WRITE
                halved = value.counts == READ_WRITE and one_way
                found.append(Published(value, value.size_bytes, 0.5 if halved else 1.0))
        return found

    def missing(self, line: Line, place: Place, size_bytes: int | None) -> str:
        """Why there is no figure of ours at the line, the place and the size (None: any)."""
        located = self.located[place.name]
        if located.agents is None:
            return located.reason
        records = self.records(line, place)
        there = [record for record in records if size_bytes in (None, record.size_bytes)] or records
        told = next(
            (record.reason for record in there if record.status != "measured" and record.reason), None
        )
        if told:
            return told
        at = f" at {format_size(size_bytes)}" if size_bytes else ""
        return f"this run has no case of {line.name}, {place.name}{at}"


def nearest_size(size: int | None, sizes: Sequence[int]) -> int | None:
    """The size to compare with: the same one, or a near one; the largest where the source states none."""
    if not sizes:
        return None
    if size is None:
        return max(sizes)
    nearest = min(sizes, key=lambda other: abs(other - size))
    return nearest if abs(nearest - size) <= NEAR_SIZE * size else None


def _flow_key(interface: str, pattern: str, flow: Flow) -> tuple[str, str, str, str, str, str]:
    ends = f"{flow.source}>{flow.destination}"
    return interface, pattern, ends, str(flow.second_source), flow.executor, str(flow.partner)


def _memories(flow: Mapping[str, Any]) -> list[str]:
    return [Buffer.parse(flow[end]).memory for end in ("source", "destination")]


def _gpus(record: Record) -> frozenset[str]:
    ends = (Buffer.parse(flow[end]).agent for flow in record.flows for end in ("source", "destination"))
    return frozenset(agent for agent in ends if agent.startswith("gpu"))


def _same_options(record: Record, line: Line) -> bool:
    asked = {name: value for name, value in record.options.items() if name not in TIMING_OPTIONS}
    wanted = {name: value for name, value in line.options.items() if name not in TIMING_OPTIONS}
    return asked == wanted


def _same_cache(record: Record, line: Line) -> bool:
    """Of walks the working set decides."""
    return record.cache == line.cache or INTERFACES[record.interface].buffers == "one"


def _by_statistic(times: Times, statistic: str) -> float:
    """ns; the highest bandwidth is the shortest time. A source that does not say gets the median."""
    return {"mean": times.mean, "max": times.min}.get(statistic, times.median)


def _over_replicates(times: Sequence[float], statistic: str) -> float:
    if statistic == "max":
        return min(times)
    return statistics.fmean(times) if statistic == "mean" else statistics.median(times)


def _other(record: Record) -> str:
    """'one direction 90.0 GB/s' where a record counts what is read and what is written."""
    if not record.other_count:
        return ""
    return f"one direction {_one_direction(record, 0.0) / 1e9:.1f} GB/s"


def _one_direction(record: Record, rate: float) -> float:
    """bytes/s that go one way: of arrays on other agents the busier way, locally what arrives."""
    other = record.other_count
    if not other:
        return rate
    if "read_bytes_per_s" in other:
        return float(max(other["read_bytes_per_s"], other["written_bytes_per_s"]))
    return float(other["bytes_per_s"])


def _is_at(value: Value, line: Line, place: Place, ambient: Sequence[str]) -> bool:
    """Whether the source's value is of the line at the place, by the source's own agents and memory."""
    extra = {name: text for name, text in value.environment.items() if line.environment.get(name) != text}
    missing = [name for name in line.environment if name not in value.environment]
    if value.options or value.pattern != line.pattern or missing or set(extra) - set(ambient):
        return False
    agents = tuple(_told_agent(agent, place) for agent in place.agents)
    ends = (value.source, value.destination, value.executor)
    own = line.ends[0]
    for told in line.published:
        as_told = Ends(
            told.get("source", own.source),
            told.get("destination", own.destination),
            told.get("executor", own.executor),
        )
        flow = as_told.flow(agents)
        if told.get("metric", value.metric) != value.metric:
            continue
        if value.method == told.get("method", line.interface) and ends == (
            flow.source,
            flow.destination,
            flow.executor,
        ):
            return True
    return False


def _told_agent(agent: str, place: Place) -> str:
    """The CPU "near a" as the source calls it: of an APU the one with the GPU's number."""
    if not agent.startswith("near "):
        return agent
    anchor = place.agents["abcd".index(agent.removeprefix("near "))]
    return anchor.replace("gpu", "cpu")
