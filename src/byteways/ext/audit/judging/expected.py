"""What a case is expected to give on such machines: measured, published, or a part of the vendors' peaks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log

from byteways.answers.results.index import Index
from byteways.answers.results.repeatability import for_many, student
from byteways.cases.case import OF_ALL_RANKS, Case
from byteways.cases.interfaces import INTERFACES, counts_as_stream
from byteways.ext.audit.imported.cases import CasesOfMachine, CasesOfValue, OwnCase
from byteways.ext.audit.imported.value import ForeignValue
from byteways.ext.audit.judging.bound import NoBound, bound_of
from byteways.ext.audit.judging.verdict import FROM_NORMAL, FROM_PEAK, FROM_PUBLISHED, Bound, Expected
from byteways.machine.model import Topology
from byteways.machine.routes import route
from byteways.plan.peaks import peak
from byteways.record.record import Record
from byteways.verdicts.checks.normal import SINGLE_FAILS_UP_TO, Normal
from byteways.verdicts.checks.peak_reference import AT_LEAST, OVERHEAD_LIMITED_BELOW_BYTES
from byteways.verdicts.two_runs.setting import setting_of_case

#: Below this size, programs differ in how much of the fixed cost of an operation they include.
LEAST_JUDGED_BYTES = 2**20
#: Least difference that is low: programs time differently, and other statistics than the median differ.
LOW_TOLERANCE = 0.10
#: … and that is high. It fails nothing, and 2^20 for 10^6 is a difference of 4.9 %.
HIGH_TOLERANCE = 0.04
#: Largest ratio of sizes at which bandwidths of large transfers are comparable, and what they may differ by.
SIZE_FACTOR, SIZE_TOLERANCE = 8, 0.03
#: The version of a library in a setting: other versions serve where there is none of the same.
_LIBRARY = re.compile(r"^(?:nccl|rccl|mpi) \S")
#: Options and CPUs in a setting (two_runs/setting.py).
_ALONE = '{"batch": 1}'
_CPUS = re.compile(r"\(\d+ domains, \d+ cores\)$")


@dataclass(frozen=True)
class MachineAlone:
    """A machine as a run without records, to name settings."""

    topology: Topology
    libraries: Mapping[str, str] = field(default_factory=dict)  # name to version
    manifest: Mapping[str, object] = field(default_factory=dict)
    records: tuple[Record, ...] = ()
    damaged_lines: int = 0


@dataclass(frozen=True)
class _Place:
    """What a setting has besides its stem: size, cache, libraries with versions, CPUs."""

    size_bytes: int
    cache: str
    libraries: tuple[str, ...]
    key: str
    cpus: str = ""
    alone: bool = False  # each operation was timed alone: a large one takes as long


class References:
    """What is normal on a machine."""

    def __init__(self, normal: Normal, topology: Topology) -> None:
        self._normal = normal
        self.topology = topology
        self._found: dict[tuple[str, str, str], Expected | None] = {}  # a log repeats its cases
        self._cases = CasesOfMachine(topology)
        self._bounds: dict[tuple[str, str], Bound | NoBound] = {}
        names = ("nccl", "rccl", "mpi")
        libraries = [{"library": name, "usable": True, "version": "any"} for name in names]
        self._index = Index(MachineAlone(topology, manifest={"libraries": libraries}))

    def expected(self, own: OwnCase, version: str = "") -> Expected | None:
        """Returns what a case gives; None if nothing is known of it.

        Args:
            own: The case.
            version: Of the library between ranks, which is preferred.
        """
        key = own.case.case_id, own.counts, version
        if key not in self._found:
            self._found[key] = self.of_machines(own, version) or self.of_peak(own)
        return self._found[key]

    def cases(self, value: ForeignValue) -> CasesOfValue:
        """Returns what a value is for us (ext/audit/imported/cases.py), whatever its number is."""
        return self._cases.of(value)

    def bound(self, own: OwnCase) -> Bound | NoBound:
        """Returns what no value of a case exceeds (bound.py)."""
        key = own.case.case_id, own.metric
        if key not in self._bounds:
            self._bounds[key] = bound_of(self.topology, own)
        return self._bounds[key]

    def of_machines(self, own: OwnCase, version: str = "", *, other_cpus: bool = False) -> Expected | None:
        """Returns what such machines give; None if there are none.

        Args:
            own: The case.
            version: See expected().
            other_cpus: Whether machines with other CPUs serve where CPUs matter.
        """
        if own.case.size_bytes < LEAST_JUDGED_BYTES:
            return None
        key = setting_of_case(self._index, own.case)
        if key is None:
            return None
        stem, wanted = _split(key)
        near = [place for place in self._places.get(stem, ()) if _comparable(place, wanted, own)]
        near = [
            place
            for place in near
            if self._normal.settings[place.key].counts == own.counts
            and (other_cpus or place.cpus == wanted.cpus)
        ]
        if not near:
            return None
        chosen = min(near, key=lambda place: (self._published(place), *_distance(place, wanted, version)))
        return self._of(chosen, wanted)

    def _published(self, place: _Place) -> bool:
        """Whether nobody measured it with byteways."""
        samples = self._normal.settings[place.key].samples
        return all(self._normal.machines[sample.machine].published for sample in samples)

    def _of(self, place: _Place, wanted: _Place) -> Expected:
        setting, reference = self._normal.settings[place.key], self._normal.reference(place.key)
        own = sum(not self._normal.machines[sample.machine].published for sample in setting.usual)
        reach = student(for_many(1), reference.freedom) * reference.deviation
        reach += SIZE_TOLERANCE if place.size_bytes != wanted.size_bytes else 0.0
        least = reference.value * (1 - min(max(LOW_TOLERANCE, reach), SINGLE_FAILS_UP_TO))
        if own == 1 and len(setting.usual) == 1:  # a single machine shows what is possible, not what is usual
            least = reference.value * SINGLE_FAILS_UP_TO
        most = reference.value * (1 + max(HIGH_TOLERANCE, reach))
        basis = FROM_NORMAL if own else FROM_PUBLISHED
        return Expected(reference.value, least, most, basis, reference.name, place.size_bytes)

    def of_peak(self, own: OwnCase) -> Expected | None:
        """Returns the part of the nominal peak that copies and kernels reach at large sizes."""
        case = own.case
        row = INTERFACES[case.interface]
        plain = row.copies or counts_as_stream(case.interface)
        if own.metric != "bandwidth" or case.pattern in OF_ALL_RANKS or not plain or row.between_ranks:
            return None
        if case.size_bytes < OVERHEAD_LIMITED_BELOW_BYTES or not _quick(case):
            return None
        if row.by_call and self._of_wide_bundles(case):
            return None
        nominal = peak(self.topology, case)
        if nominal.bytes_per_s is None:
            return None
        rate = nominal.bytes_per_s
        return Expected(rate, AT_LEAST * rate, rate, FROM_PEAK, nominal.source, case.size_bytes)

    def _of_wide_bundles(self, case: Case) -> bool:
        """Whether a copy engine is slower than the links: of xGMI it fills one (pearson2023, table III)."""
        return any(
            link.kind == "xgmi" and link.count > 1
            for flow in case.flows
            for link in route(self.topology, flow.source.device, flow.destination.device)
        )

    @cached_property
    def _places(self) -> Mapping[str, list[_Place]]:
        found: defaultdict[str, list[_Place]] = defaultdict(list)
        for key in self._normal.settings:
            stem, place = _split(key)
            found[stem].append(place)
        return found


def _quick(case: Case) -> bool:
    """Whether a path can come near its peak: not by one thread of a CPU, nor by plain pages of the host."""
    plain = (end.memory for flow in case.flows for end in flow.buffers)
    slow = any(memory.startswith(("pageable", "hugepage", "managed")) for memory in plain)
    return not slow and all(executor.startswith("gpu") for executor in case.executors)


def _split(key: str) -> tuple[str, _Place]:
    """Returns a setting without size, cache, CPUs and libraries (two_runs/setting.py), and these."""
    parts = key.split(" | ")
    at = next(place for place in range(len(parts) - 1, -1, -1) if parts[place].isdigit())
    libraries = tuple(part for part in parts[:at] if _LIBRARY.match(part))
    options = at + 2
    alone = parts[options] == _ALONE
    if alone:
        parts[options] = "{}"
    cpus = next((part for part in parts[:at] if _CPUS.search(part)), "")
    rest = [part for part in (*parts[:at], *parts[at + 2 :]) if part not in libraries and part != cpus]
    return " | ".join(rest), _Place(int(parts[at]), parts[at + 1], libraries, key, cpus, alone)


def _comparable(place: _Place, wanted: _Place, own: OwnCase) -> bool:
    if place.size_bytes == wanted.size_bytes:
        return True
    if own.metric != "bandwidth" or not place.size_bytes or own.case.pattern in OF_ALL_RANKS:
        return False
    small = min(place.size_bytes, wanted.size_bytes) < OVERHEAD_LIMITED_BELOW_BYTES
    return not small and abs(log(place.size_bytes / wanted.size_bytes)) <= log(SIZE_FACTOR) + 1e-9


def _distance(place: _Place, wanted: _Place, version: str) -> tuple[float, bool, bool, bool]:
    """Returns how far a reference is: by size, then by timing, cache and version of the library."""
    apart = abs(log(place.size_bytes / wanted.size_bytes)) if place.size_bytes else 0.0
    other = bool(version) and not any(version in library for library in place.libraries)
    return apart, place.alone, place.cache != "cold", other


def with_caches(topology: Topology) -> Topology:
    """Returns the machine with the last-level caches of its GPUs, where its source leaves them out, at most
    as large as those of the architecture: physical limits of memories count from there on.
    """
    devices = tuple(
        replace(device, last_level_cache_bytes=_LARGEST_CACHES.get(device.architecture or ""))
        if device.kind == "gpu" and not device.last_level_cache_bytes
        else device
        for device in topology.devices
    )
    return replace(topology, devices=devices)


#: Last-level caches of GPUs by architecture, the largest of any model; a cache on the memory side counts. Of
#: NVIDIA: 40 MB of the A100, 60 MB of a whole GH100 die (H100: 50), 126 MB of the B200 (NVIDIA; Chips and
#: Cheese, 2023-07-02). Of AMD: "AMD GPU specifications" in ROCm's documentation.
_LARGEST_CACHES = {
    "sm_80": 40 * 2**20,
    "sm_90": 60 * 2**20,
    "sm_100": 126 * 2**20,
    "sm_103": 126 * 2**20,
    "gfx90a": 8 * 2**20,
    "gfx942": 256 * 2**20,
    "gfx950": 256 * 2**20,
}
