"""The cases of a run or a suite, indexed so that those of a study's line are found by devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from byteways.cases.case import Case, Flow
from byteways.cases.interfaces import INTERFACES, OF_ALL
from byteways.ext.studies.published.study import StudyLine
from byteways.record.record import Record

#: Options that change how a case is timed, not what it does; cases with and without them are comparable.
_TIMING_OPTIONS = OF_ALL


@dataclass(frozen=True)
class IndexedCase:
    """A case, with its record if the run has one."""

    case: Case
    record: Record | None = None


class Entries:
    """Cases indexed by line and devices."""

    def __init__(self, entries: Iterable[IndexedCase]) -> None:
        self._all = list(entries)
        self._by_flow: dict[tuple[str, ...], list[IndexedCase]] = {}
        for entry in self._all:
            key = _flow_key(entry.case.interface, entry.case.pattern, entry.case.flows[0])
            self._by_flow.setdefault(key, []).append(entry)

    def of(
        self, line: StudyLine, devices: tuple[str, ...], environment: dict[str, str], ranks: int = 0
    ) -> list[IndexedCase]:
        """Returns the cases of a line on these devices; `ranks`: of so many, whose first has the devices.

        Those with the line's options; where there are none, those that represent them in earlier runs.
        """
        if line.together:
            return self._all_at_once(line, frozenset(devices))
        found = self._with(line, line.options, devices, environment, ranks)
        if found or line.earlier_options is None:
            return found
        return self._with(line, line.earlier_options, devices, environment, ranks)

    def _with(
        self,
        line: StudyLine,
        options: Mapping[str, Any],
        devices: tuple[str, ...],
        environment: dict[str, str],
        ranks: int,
    ) -> list[IndexedCase]:
        return [
            entry
            for ends in line.ends
            for entry in self._by_flow.get(_flow_key(line.interface, line.pattern, ends.flow(devices)), ())
            if entry.case.environment == environment
            and _same_options(entry.case, options)
            and _same_cache(entry.case, line)
            and ranks in (0, len(entry.case.ranks))
        ]

    def _all_at_once(self, line: StudyLine, gpus: frozenset[str]) -> list[IndexedCase]:
        """Returns cases in which exactly these GPUs exchange data with the host, or run on its arrays."""
        alone = "unidirectional" if line.pattern == "fan-out" else "bidirectional"
        pattern = alone if len(gpus) == 1 else line.pattern
        memory = line.ends[0].source.partition(":")[2]
        return [
            entry
            for entry in self._all
            if (entry.case.interface, entry.case.pattern) == (line.interface, pattern)
            and _gpus(entry.case) == gpus
            and all(memory in (flow.source.memory, flow.destination.memory) for flow in entry.case.flows)
            and _same_options(entry.case, line.options)
            and not entry.case.environment
        ]


def _flow_key(interface: str, pattern: str, flow: Flow) -> tuple[str, ...]:
    # Which rank has a device is ours to choose: sources name devices.
    ends = ">".join(str(replace(end, rank=None)) for end in (flow.source, flow.destination))
    return interface, pattern, ends, str(flow.second_source), flow.executor, str(flow.partner)


def _gpus(case: Case) -> frozenset[str]:
    ends = (
        name for flow in case.flows for name in (flow.source.device, flow.destination.device, flow.executor)
    )
    return frozenset(device for device in ends if device.startswith("gpu"))


def _same_options(case: Case, options: Mapping[str, Any]) -> bool:
    asked = {name: value for name, value in case.options.items() if name not in _TIMING_OPTIONS}
    wanted = {name: value for name, value in options.items() if name not in _TIMING_OPTIONS}
    return asked.keys() == wanted.keys() and all(
        asked[name] in (value if isinstance(value, list) else [value]) for name, value in wanted.items()
    )


def _same_cache(case: Case, line: StudyLine) -> bool:
    """Compares the cache setting; ignored for one-buffer interfaces, whose working set decides."""
    return case.cache == line.cache or INTERFACES[case.interface].buffers == "one"
