"""Look up values by line and place: measured in the run, requested by the study, and published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property

from byteways.answers.results.summary import RecordedRun
from byteways.base.errors import BytewaysError
from byteways.base.units import format_size
from byteways.cases.case import Case
from byteways.ext.studies.comparison.figures import Ours, Published, our_value, part_of
from byteways.ext.studies.comparison.hardware import Hardware
from byteways.ext.studies.comparison.indexed_cases import Entries, IndexedCase
from byteways.ext.studies.comparison.places import Located, locate
from byteways.ext.studies.comparison.published_match import is_at, published_matches
from byteways.ext.studies.published.study import Study, StudyLine, StudyPlace
from byteways.machine.routes import link_class
from byteways.plan.legality import kind_of
from byteways.plan.planner import needs_ranks, shares_gpus
from byteways.plan.ranks import Rank, default_ranks, layout
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite
from byteways.plan.sweep import expand
from byteways.plan.variables import reader_of
from byteways.record.record import Record
from byteways.record.simulation_mark import Voice, is_simulated, model_of, voice_of

#: Compare with the nearest measured size if it differs from the published size by at most this fraction.
NEAR_SIZE = 0.15


class Sheet:
    """All values of a study and of a run, indexed by line and place."""

    def __init__(self, study: Study, run: RecordedRun) -> None:
        self.study = study
        self.run = run
        self._ours: dict[tuple[str, tuple[str, ...], int], dict[int, Ours]] = {}
        self._published: dict[tuple[str, str], list[Published]] = {}
        self._changed: tuple[frozenset[str], float] | None = None  # numbers of the machine model

    def changed(self, keys: frozenset[str], factor: float) -> Sheet:
        """Returns the sheet of the machine model with these numbers changed: values that rest on one of them
        are `factor` times as fast.
        """
        other = copy(self)
        other._ours, other._changed = {}, (keys, factor)
        return other

    def _with_changes(self, value: Ours) -> Ours:
        if self._changed is None or not self._changed[0] & self.hardware.numbers_behind(value.record):
            return value
        return value.faster(self._changed[1])

    @cached_property
    def located(self) -> dict[str, Located]:
        return locate(self.study, self.run.topology)

    def side(self, place: StudyPlace) -> Sheet:
        """Returns the sheet that has the values of a place: this one, where no other run is beside it."""
        return self

    @cached_property
    def hardware(self) -> Hardware:
        return Hardware(self.study, self.run.topology, self.run.manifest)

    @cached_property
    def voice(self) -> Voice:
        return voice_of(self.run.manifest)

    @cached_property
    def models(self) -> list[str]:
        """The study's machine models, the one of this run first."""
        own = model_of(self.run.manifest)
        return sorted(self.study.models, key=lambda model: model != own)  # stable: the study's order

    @cached_property
    def _runtimes(self) -> set[str]:
        """Names of the runtimes available in this run."""
        devices = (self.run.manifest.get("capabilities") or {}).get("devices") or {}
        return {str(device.get("runtime")) for device in devices.values()}

    @cached_property
    def _recorded(self) -> Entries:
        return Entries(
            IndexedCase(
                Case.from_json(record.definition),
                record,
            )
            for record in self.run.records
        )

    @cached_property
    def _asked(self) -> Entries:
        """The cases that the study requests on this machine, measured or not.

        Uses the suite in the manifest if the run belongs to this study: newer suites may request more.
        """
        recorded = self.run.manifest.get("study") or {}
        suite = self.study.suite
        if recorded.get("key") == self.study.key:
            suite = _parsed((self.run.manifest.get("suite") or {}).get("text")) or suite
        topology = self.run.topology
        ranks: tuple[Rank, ...] = ()
        if needs_ranks(suite):
            ranks = layout(topology, default_ranks(topology), twins=shares_gpus(suite, topology))
        runtimes = self._runtimes - {"host"}
        return Entries(
            IndexedCase(case)
            for sweep in suite.sweeps
            for case in expand(
                sweep, topology, lambda a, b: link_class(topology, a, b), runtimes, ranks
            ).cases
        )

    @cached_property
    def cut_short(self) -> bool:
        """Whether the run is unfinished, so that more results may follow."""
        return str(self.run.manifest.get("state", "complete")) != "complete"

    def environment(self, line: StudyLine) -> dict[str, str]:
        """The line's variables, without the study-wide ones that no runtime of this run reads."""
        kept = {}
        for name, text in line.environment.items():
            reader = reader_of(name)
            read = reader is None or reader.runtime in self._runtimes
            if read or name not in self.study.ambient:
                kept[name] = text
        return kept

    def _records(self, line: StudyLine, devices: tuple[str, ...] | None, ranks: int) -> list[Record]:
        """All records of a line on these devices, of any status; the study's own sweeps come first."""
        if devices is None:
            return []
        entries = self._recorded.of(line, devices, self.environment(line), ranks)
        records = [entry.record for entry in entries if entry.record is not None]
        return sorted(records, key=lambda record: record.sweep not in self._sweeps)

    @cached_property
    def _sweeps(self) -> set[str]:
        return {sweep.name for sweep in self.study.suite.sweeps}

    def ours(self, line: StudyLine, place: StudyPlace) -> dict[int, Ours]:
        """Returns the run's values by size in bytes, smallest first."""
        return self.at(line, self.devices(line, place), place.ranks)

    def devices(self, line: StudyLine, place: StudyPlace) -> tuple[str, ...] | None:
        """Returns the devices of this machine that a line uses at a place; None if the place is not here."""
        located = self.located[place.name].devices
        if located is None or not line.nearest_host:
            return located
        gpus = [name for name in located if kind_of(name) == "gpu"]
        host = self.run.topology.nearest_cpu(gpus[0])
        return tuple(host if kind_of(name) == "cpu" else name for name in located)

    def at(self, line: StudyLine, devices: tuple[str, ...] | None, ranks: int = 0) -> dict[int, Ours]:
        """Like `ours`, for devices of this machine; None gives no values."""
        if devices is None:
            return {}
        key = line.name, devices, ranks
        if key not in self._ours:
            self._ours[key] = self._all_ours(self.standing_in(line) or line, devices, ranks)
        return self._ours[key]

    def standing_in(self, line: StudyLine) -> StudyLine | None:
        """Returns the line that represents this one in this run; None if it needs none."""
        if line.simulated_by and is_simulated(self.run.manifest):
            return self.study.lines[line.simulated_by]
        if line.otherwise and line.interface not in self._interfaces:
            return self.study.lines[line.otherwise]
        return None

    @cached_property
    def _interfaces(self) -> set[str]:
        return {record.interface for record in self.run.records}

    def stands_for(self, name: str, places: Iterable[str]) -> list[str]:
        """Returns notes on what represents a line at these places in this run: another line or CPU."""
        line = self.study.lines[name]
        notes = []
        if other := self.standing_in(line):
            why = "cannot be simulated" if line.simulated_by else "is not in this run"
            notes.append(f"{name} {why}: {other.name} represents it ({other.says})")
        for place in map(self.study.places.__getitem__, places if line.nearest_host else ()):
            named, used = self.located[place.name].devices, self.devices(line, place)
            if named and used and named != used:
                notes.append(f"{name}, {place.name}: {'>'.join(used)}, as the call names no NUMA domain")
        return notes

    def _all_ours(self, line: StudyLine, devices: tuple[str, ...], ranks: int) -> dict[int, Ours]:
        cases: dict[int, dict[str, list[Record]]] = {}
        for record in self._records(line, devices, ranks):
            value = record.submit_ns if line.submits else record.time_ns
            if record.status == "measured" and value is not None and not record.beyond_limit:
                cases.setdefault(record.size_bytes, {}).setdefault(record.case_id, []).append(record)
        first = {size: next(iter(by_case.values())) for size, by_case in cases.items()}
        return {
            size: self._with_changes(our_value(first[size], line, self.study.statistic))
            for size in sorted(first)
        }

    def reasons(self, line: StudyLine, place: StudyPlace) -> dict[int, str]:
        """Returns why each case of the run has no value, by size in bytes; '' if it was measured."""
        by_size: dict[int, str] = {}
        for record in self._records(line, self.located[place.name].devices, place.ranks):
            text = "" if record.status == "measured" else record.reason or record.status
            by_size[record.size_bytes] = by_size.get(record.size_bytes, text) and text
        return by_size

    def any(self) -> bool:
        """Whether the run has any value of the study."""
        return any(
            self.ours(line, place)
            for line in self.study.lines.values()
            for place in self.study.places.values()
            if line.fits(place)
        )

    def asked(self, line: StudyLine, place: StudyPlace) -> list[int]:
        """Returns the sizes in bytes that the study requests for the line at the place on this machine."""
        devices = self.devices(line, place)
        if devices is None:
            return []
        line = self.standing_in(line) or line
        entries = self._asked.of(line, devices, self.environment(line), place.ranks)
        return sorted({entry.case.size_bytes for entry in entries})

    def published(self, line: StudyLine, place: StudyPlace) -> list[Published]:
        """Returns the published values at the line and place in file order, including repeated prints."""
        key = line.name, place.name
        if key not in self._published:
            self._published[key] = self._all_published(line, place)
        return self._published[key]

    def _all_published(self, line: StudyLine, place: StudyPlace) -> list[Published]:
        """Returns the values of the place's own machine model.

        A place without a model has the values of all machines that no other place names.
        """
        if not line.fits(place):  # of a map, whose lines have places of their own
            return []
        elsewhere = {other.model for other in self.study.places.values() if other.model}
        matches = published_matches(line, place)
        published = []
        for value in self.study.values:
            there = value.machine == place.model if place.model else value.machine not in elsewhere
            if there and is_at(value, line, matches, self.study.ambient):
                published.append(Published(value, value.size_bytes, part_of(value, line)))
        return published

    def missing(self, line: StudyLine, place: StudyPlace, size_bytes: int | None) -> str:
        """Returns why the run has no value at the line, place and size in bytes (None: any size)."""
        devices = self.devices(line, place)
        if devices is None:
            return self.located[place.name].reason
        records = self._records(self.standing_in(line) or line, devices, place.ranks)
        there = [record for record in records if size_bytes in (None, record.size_bytes)] or records
        reason = next(
            (record.reason for record in there if record.status != "measured" and record.reason), None
        )
        if reason:
            return self.voice.quote(reason)
        if any(record.beyond_limit for record in there):
            return "its bandwidth exceeds the physical limit of the path, so the value is void"
        at = f" at {format_size(size_bytes)}" if size_bytes else ""
        sizes = self.asked(line, place)
        if sizes and size_bytes in (None, *sizes) and self.cut_short:
            return f"this run ended before {line.name}, {place.name}{at}"
        if not sizes and (twice := _twice(line, devices)):
            return f"it needs two NUMA domains, and here {twice} is local to both GPUs"
        return f"this run has no case of {line.name}, {place.name}{at}"


def nearest_size(size: int | None, sizes: Sequence[int]) -> int | None:
    """Returns the size to compare with: equal or near; the largest if the source states no size."""
    if not sizes:
        return None
    if size is None:
        return max(sizes)
    nearest = min(sizes, key=lambda other: abs(other - size))
    return nearest if abs(nearest - size) <= NEAR_SIZE * size else None


def _parsed(text: str | None) -> Suite | None:
    """Parses the suite of a manifest; None if missing or unreadable by this version."""
    try:
        return parse(text, file="run.json") if text else None
    except BytewaysError:
        return None


def _twice(line: StudyLine, devices: Sequence[str]) -> str:
    """Returns the device used at both ends of a line that names two different ones; '' otherwise."""
    own = line.ends[0]
    flow = own.flow(devices)
    letters = own.source[0] != own.destination[0]
    return flow.source.device if letters and flow.source.device == flow.destination.device else ""
