"""Values of other programs as records of a run, and all of them as lines of a file.

A record has what byteways would have recorded of the same case: a value that occurs several times in the
files is one round each. Values without a case that is equal in definition have no record; the file of all
values keeps them, with the codes of what differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from msgspec import structs

from byteways.cases.case import PlannedCase
from byteways.cases.interfaces import metric_of
from byteways.ext.audit.imported.cases import CasesOfMachine, OwnCase
from byteways.ext.audit.imported.reader import Found
from byteways.ext.audit.imported.value import ForeignValue, Operation
from byteways.machine.model import Topology
from byteways.measure.conduct.requested import request_fields
from byteways.plan.peaks import peak
from byteways.plan.physical import judged
from byteways.record.record import Record
from byteways.record.times import Times

SWEEP = "imported"
#: Roundings below this share of a value are alike: far less than repetitions differ by.
LEAST_ROUNDING = 1e-3


@dataclass(frozen=True)
class ImportedOutput:
    """What becomes of the values of one output."""

    path: str  # of its file
    records: list[Record]
    lines: list[dict[str, Any]]  # of record.imported_values.VALUES_FILE
    differences: Counter[str]  # values without a record, by the first code of what differs


@dataclass(frozen=True, slots=True)
class _Placed:
    """A value with its case."""

    value: ForeignValue
    own: OwnCase

    @property
    def row(self) -> tuple[object, ...]:
        """What the columns of one row share: a rate and the time that it was computed from are one result."""
        pointer = (self.value.pointer or "").rpartition("/")[0]
        return self.value.line, pointer, self.own.case.case_id

    @property
    def rank(self) -> tuple[float, int]:
        """The least is taken of a row: what is rounded least, then what needs no conversion."""
        converted = self.own.from_time + (self.own.factor != 1.0)
        rounding = max(self.value.rounding, LEAST_ROUNDING)
        return rounding, 2 * converted + (self.value.statistic not in ("median", "mean"))


def imported_records(
    files: Iterable[tuple[str, Sequence[Found]]], topology: Topology, method_version: int
) -> Iterator[ImportedOutput]:
    """Yields the records and lines of values on a machine, output by output: a log may have a million values.

    Args:
        files: Names of files with the outputs found in each.
        topology: Of the machine that the programs ran on.
        method_version: Of this byteways, for readers; the method is the program's own.
    """
    made = _Records(topology, method_version)
    for path, outputs in files:
        for output in outputs:
            yield made.of_output(path, output)


class _Records:
    """Makes records. Those of a case differ by their figures alone, and a log repeats its cases."""

    def __init__(self, topology: Topology, method_version: int) -> None:
        self._topology = topology
        self._method_version = method_version
        self._cases = CasesOfMachine(topology)
        self._first: dict[tuple[str, str], Record] = {}  # without figures, by case and count
        self._rounds: Counter[str] = Counter()

    def of_output(self, path: str, output: Found) -> ImportedOutput:
        """Returns the records and lines of one output."""
        file = PurePath(path).name
        rows: dict[tuple[object, ...], _Placed] = {}
        lines: list[dict[str, Any]] = []
        differences: Counter[str] = Counter()
        operations: dict[int, dict[str, Any]] = {}  # values share them
        for value in output.values:
            found, number = self._cases.of(value), value.value
            differs, own = found.differences, found.own
            if own is not None and number == 0:
                differs, own = ("rounded-to-zero",), None
            if own is None:
                differences[differs[0]] += 1
            else:
                placed = _Placed(value, own)
                known = rows.setdefault(placed.row, placed)
                if known is not placed and placed.rank < known.rank:
                    rows[placed.row] = placed
            operation = operations.get(id(value.operation))
            if operation is None:
                operation = operations[id(value.operation)] = _described(value.operation)
            case_id = None if own is None else own.case.case_id
            lines.append(_line(file, output, value, number, operation, differs, case_id))
        records = [self._record(file, output, each) for each in rows.values()]
        return ImportedOutput(path, records, lines, differences)

    def _record(self, file: str, output: Found, placed: _Placed) -> Record:
        """Returns the record of a value: the next round of its case."""
        own, value = placed.own, placed.value
        case_id = own.case.case_id
        first = self._first.get((case_id, own.counts))
        if first is None:
            first = self._first[case_id, own.counts] = self._without_figures(own)
        number = self._rounds[case_id]
        self._rounds[case_id] += 1
        figure, time_ns = own.value_of(value), own.time_of(value)
        figures: dict[str, Any] = {}
        if metric_of(own.case.interface) == "bandwidth":
            nominal = first.peak_bytes_per_s
            figures["bandwidth_bytes_per_s"] = figure
            figures["fraction_of_peak"] = figure / nominal if nominal else None
        else:
            figures["latency_ns"] = figure
            if own.counts == "round-trip":
                figures["half_round_trip_ns"] = figure / 2
        record = structs.replace(
            first,
            round=number,
            time_ns=Times(time_ns, (time_ns, time_ns), time_ns, time_ns, time_ns, 0.0, 1),
            imported={
                "program": output.format,
                "version": output.hints.version,
                "test": value.test,
                "column": value.column,
                "text": value.text,
                "unit": value.unit.name,
                "statistic": value.statistic,
                "file": file,
                "line": value.line,
                "pointer": value.pointer,
            },
            **figures,
        )
        return judged(record, own.case, self._topology)

    def _without_figures(self, own: OwnCase) -> Record:
        fields: dict[str, Any] = {
            **request_fields(PlannedCase(own.case, SWEEP, 0, 0.0, 0.0)),
            "status": "measured",
            "reason": None,
            "method_version": self._method_version,
            "counts": own.counts,
        }
        if metric_of(own.case.interface) == "bandwidth":
            nominal = peak(self._topology, own.case)
            fields |= {"peak_bytes_per_s": nominal.bytes_per_s, "peak_source": nominal.source}
        return Record.from_json(fields)


def _described(operation: Operation) -> dict[str, Any]:
    """Returns what is known of an operation; absent fields are left out."""
    return {name: item for name, item in asdict(operation).items() if item not in ("", None, {})}


def _line(
    file: str,
    output: Found,
    value: ForeignValue,
    number: float,
    operation: Mapping[str, Any],
    differences: Sequence[str],
    case_id: str | None,
) -> dict[str, Any]:
    """Returns a value with all that its output says of it; absent fields are None."""
    return {
        "file": file,
        "line": value.line,
        "pointer": value.pointer,
        "program": output.format,
        "version": output.hints.version,
        "test": value.test,
        "column": value.column,
        "text": value.text,
        "unit": value.unit.name,
        "written_unit": value.unit.written or value.unit.name,
        "value": number,
        "statistic": value.statistic,
        "counts": value.counts,
        "size_bytes": value.size_bytes,
        "operation": operation,
        "differences": list(differences),
        "case_id": case_id,
    }
