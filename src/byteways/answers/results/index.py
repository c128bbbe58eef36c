"""An index of a run: everything that several tables and findings need, computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from byteways.answers.results import selection, summary
from byteways.answers.results.obstacles import WarningGroup, warning_groups
from byteways.answers.results.summary import RecordedRun, Result, group_by
from byteways.machine.model import Topology
from byteways.record.record import Record
from byteways.record.simulation_mark import Voice, is_imported, is_simulated, voice_of

Value = TypeVar("Value")


class Index:
    """A run with its results. It implements `RecordedRun`, so it can replace one."""

    def __init__(self, run: RecordedRun) -> None:
        self.manifest: Mapping[str, Any] = run.manifest
        self.topology: Topology = run.topology
        self.records: Sequence[Record] = run.records
        self.damaged_lines: int = run.damaged_lines
        self.beside: RecordedRun | None = (
            None  # a run of the same study on another machine, drawn with this one
        )

    @classmethod
    def of(cls, run: RecordedRun) -> Index:
        """Returns the index of a run; the run itself if it already is one."""
        return run if isinstance(run, Index) else cls(run)

    @cached_property
    def simulated(self) -> bool:
        return is_simulated(self.manifest)

    @cached_property
    def imported(self) -> bool:
        """Whether other programs measured its values."""
        return is_imported(self.manifest)

    @cached_property
    def voice(self) -> Voice:
        """What sentences on this run say of where its values come from."""
        return voice_of(self.manifest)

    @cached_property
    def cells(self) -> list[Result]:
        """All measured cells within the physical limits."""
        return summary.cells(self.records)

    @cached_property
    def quotable(self) -> list[Result]:
        """The cells with enough rounds to be ranked, compared, fitted and quoted."""
        return [cell for cell in self.cells if cell.ranked]

    @cached_property
    def ranked(self) -> list[Result]:
        """The quotable cells of one process and its own memory: they are compared with each other."""
        return [cell for cell in self.quotable if selection.within_a_process(cell)]

    @cached_property
    def between_ranks(self) -> list[Result]:
        """The quotable cells measured by several ranks: messages and collectives."""
        return [cell for cell in self.quotable if selection.between_ranks(cell)]

    @cached_property
    def void(self) -> list[Record]:
        """Records of cases with a round beyond the physical limit, one per case."""
        records: dict[str, Record] = {}
        for record in self.records:
            if record.warnings and record.beyond_limit:
                records.setdefault(record.case_id, record)
        return list(records.values())

    @cached_property
    def warning_groups(self) -> list[WarningGroup]:
        """The warnings of all records by id, most frequent first."""
        return warning_groups(self.records)

    @cached_property
    def singles(self) -> list[Result]:
        """Unidirectional bandwidth with cold caches, ranked."""
        return [cell for cell in selection.unidirectional(self.ranked) if cell.record.cache == "cold"]

    @cached_property
    def _by_kind(self) -> dict[str, list[Result]]:
        return group_by(self.singles, selection.kind)

    def of_kind(self, name: str) -> list[Result]:
        return self._by_kind.get(name, [])

    def link_class(self, cell: Result) -> str:
        """Returns the link class of the cell's first path."""
        return self.class_between(cell.source.device, cell.destination.device)

    def link_classes(self, cell: Result) -> tuple[str, ...]:
        """Returns the sorted link classes of all flows of a concurrent case; equal ones form a class."""
        ends = [
            [str(flow[end]).partition(":")[0] for end in ("source", "destination")]
            for flow in cell.record.flows
        ]
        return tuple(sorted(self.class_between(a, b) for a, b in ends))

    def class_between(self, source: str, destination: str) -> str:
        """Returns the class of the links between two devices (cached)."""
        ends = source, destination
        if ends not in self._link_classes:
            self._link_classes[ends] = selection.class_between(self.topology, source, destination)
        return self._link_classes[ends]

    @cached_property
    def _link_classes(self) -> dict[tuple[str, str], str]:
        return {}

    def once(self, compute: Callable[[Index], Value]) -> Value:
        """Returns `compute(self)`, computed at the first call."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        value: Value = self._computed[compute]
        return value

    @cached_property
    def _computed(self) -> dict[Callable[[Index], Any], Any]:
        return {}

    def alone(self, cell: Result) -> list[Result | None]:
        """Returns for each flow of a concurrent case its single-flow result (None: not measured)."""
        record = cell.record
        wanted = (
            record.interface,
            record.size_bytes,
            record.cache,
            _frozen(record.options),
            _frozen(record.environment),
        )
        return [
            self._alone.get((flow["source"], flow["destination"], flow["executor"], *wanted))
            for flow in record.flows
        ]

    @cached_property
    def _alone(self) -> dict[tuple[object, ...], Result]:
        table: dict[tuple[object, ...], Result] = {}
        for cell in selection.unidirectional(self.ranked):
            record, flow = cell.record, cell.record.flows[0]
            what = record.interface, record.size_bytes, record.cache
            options = _frozen(record.options), _frozen(record.environment)
            key = (flow["source"], flow["destination"], flow["executor"], *what, *options)
            table[key] = cell
        return table


def _frozen(options: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in options.items()))
