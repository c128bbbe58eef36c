"""Values of other programs as records of a run, and all of them as lines of a file.

A record has what byteways would have recorded of the same case: a value that occurs several times in the
files is one round each. Values without a case that is equal in definition have no record; the file of all
values keeps them, with the codes of what differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from byteways.imported.cases import OwnCase, cases_of
from byteways.imported.reader import Found
from byteways.imported.value import ForeignValue
from byteways.plan.case import PlannedCase
from byteways.plan.interfaces import metric_of
from byteways.plan.peaks import peak
from byteways.record.physical import judged
from byteways.record.record import Record
from byteways.record.requested import request_fields
from byteways.record.times import Times
from byteways.topology.model import Topology

#: In the run folder: every value of the files, one a line.
VALUES_FILE = "imported.jsonl"
SWEEP = "imported"
#: Roundings below this share of a value are alike: far less than repetitions differ by.
LEAST_ROUNDING = 1e-3


@dataclass(frozen=True)
class ImportedRecords:
    """What becomes of the values of some files."""

    records: tuple[Record, ...]
    lines: tuple[dict[str, Any], ...]  # of VALUES_FILE
    differences: Counter[str]  # values without a record, by the first code of what differs


@dataclass(frozen=True)
class _Placed:
    """A value with its case, and where it is in its row."""

    file: str
    output: Found
    value: ForeignValue
    own: OwnCase

    @property
    def row(self) -> tuple[object, ...]:
        """What the columns of one row share: a rate and the time that it was computed from are one result."""
        pointer = (self.value.pointer or "").rpartition("/")[0]
        return self.file, self.output.begins_at, self.value.line, pointer, self.own.case.case_id

    @property
    def rank(self) -> tuple[float, int]:
        """The least is taken of a row: what is rounded least, then what needs no conversion."""
        converted = self.own.from_time + (self.own.factor != 1.0)
        rounding = max(_rounding(self.value.text), LEAST_ROUNDING)
        return rounding, 2 * converted + (self.value.statistic not in ("median", "mean"))


def imported_records(
    files: Sequence[tuple[str, Sequence[Found]]], topology: Topology, method_version: int
) -> ImportedRecords:
    """Returns the records and lines of values on a machine.

    Args:
        files: Names of files with the outputs found in each.
        topology: Of the machine that the programs ran on.
        method_version: Of this byteways, for readers; the method is the program's own.
    """
    rows: dict[tuple[object, ...], _Placed] = {}
    lines: list[dict[str, Any]] = []
    differences: Counter[str] = Counter()
    for name, output, value in _values(files):
        found = cases_of(value, topology)
        differs, case_id = found.differences, None
        if found.own is not None and value.value == 0:
            differs = ("rounded-to-zero",)
        if found.own is None or differs:
            differences[differs[0]] += 1
        else:
            placed = _Placed(name, output, value, found.own)
            case_id = found.own.case.case_id
            known = rows.get(placed.row)
            if known is None or placed.rank < known.rank:
                rows[placed.row] = placed
        lines.append(_line(name, output, value, differs, case_id))
    rounds: Counter[str] = Counter()
    records = []
    for placed in rows.values():
        case_id = placed.own.case.case_id
        records.append(_record(placed, rounds[case_id], topology, method_version))
        rounds[case_id] += 1
    return ImportedRecords(tuple(records), tuple(lines), differences)


def _rounding(text: str) -> float:
    """Returns what the digits of a number leave open, as a share of it: 0.05 is 0.045 to 0.055, hence 0.1."""
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int), text  # readers refuse NaN and infinity
    return float(Decimal((0, (5,), exponent - 1)) / abs(number))


def _values(files: Iterable[tuple[str, Sequence[Found]]]) -> Iterator[tuple[str, Found, ForeignValue]]:
    for name, outputs in files:
        for output in outputs:
            for value in output.values:
                yield name, output, value


def _record(placed: _Placed, number: int, topology: Topology, method_version: int) -> Record:
    own, value = placed.own, placed.value
    planned = PlannedCase(own.case, SWEEP, number, 0.0, 0.0)
    figure, time_ns = own.value_of(value), own.time_of(value)
    fields: dict[str, Any] = {
        **request_fields(planned),
        "status": "measured",
        "reason": None,
        "method_version": method_version,
        "counts": own.counts,
        "time_ns": Times(time_ns, (time_ns, time_ns), time_ns, time_ns, time_ns, 0.0, 1),
        "imported": {
            "program": placed.output.format,
            "version": placed.output.hints.version,
            "test": value.test,
            "column": value.column,
            "text": value.text,
            "unit": value.unit.name,
            "statistic": value.statistic,
            "file": PurePath(placed.file).name,
            "line": value.line,
            "pointer": value.pointer,
        },
    }
    if metric_of(own.case.interface) == "bandwidth":
        nominal = peak(topology, own.case)
        fields |= {
            "bandwidth_bytes_per_s": figure,
            "peak_bytes_per_s": nominal.bytes_per_s,
            "peak_source": nominal.source,
            "fraction_of_peak": figure / nominal.bytes_per_s if nominal.bytes_per_s else None,
        }
    else:
        fields["latency_ns"] = figure
        if own.counts == "round-trip":
            fields["half_round_trip_ns"] = figure / 2
    return judged(Record.from_json(fields), own.case, topology)


def _line(
    file: str, output: Found, value: ForeignValue, differences: Sequence[str], case_id: str | None
) -> dict[str, Any]:
    """Returns a value with all that its output says of it; absent fields are None."""
    return {
        "file": PurePath(file).name,
        "line": value.line,
        "pointer": value.pointer,
        "program": output.format,
        "version": output.hints.version,
        "test": value.test,
        "column": value.column,
        "text": value.text,
        "unit": value.unit.name,
        "written_unit": value.unit.written or value.unit.name,
        "value": value.value,
        "statistic": value.statistic,
        "counts": value.counts,
        "size_bytes": value.size_bytes,
        "operation": {
            name: item for name, item in asdict(value.operation).items() if item not in ("", None, {})
        },
        "differences": list(differences),
        "case_id": case_id,
    }
