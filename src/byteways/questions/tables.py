"""The tables and parts that any run may have: what `show` prints and the report renders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from byteways.answers.results.index import Index
from byteways.answers.results.obstacles import Reason, WarningGroup, not_measured, of_equal_devices
from byteways.answers.results.selection import (
    PAIR_KINDS,
    WITH_OWN_TABLES,
    at_largest,
    concurrent,
    kind,
    label_order,
)
from byteways.answers.results.summary import RecordedRun, Result
from byteways.base.units import bandwidth_number, format_size
from byteways.cases.case import PATTERNS
from byteways.questions.display.curves import over_flows, over_size
from byteways.questions.display.grids import host_tables, inside_gpu, matrices
from byteways.questions.display.numbers import percent_number
from byteways.questions.display.table import Columns, Table, TableResult, figures, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.questions.subjects import first_touch, latency, routes
from byteways.questions.subjects.interference import slowdowns
from byteways.questions.subjects.saturation import below_the_best

#: Which end issues a transfer, by access.
_ISSUERS = {"read": "destination", "write": "source", "remote": "third device"}


@dataclass(frozen=True)
class Tables:
    """The tables and parts that any run may have."""

    matrices: list[Table]
    inside: list[Table]
    host: list[Table]
    parts: Mapping[str, Topic]  # by anchor, those with data

    @property
    def grids(self) -> list[Table]:
        """The tables of results by two of their properties, which a page leaves to its map."""
        return [*self.matrices, *self.inside, *self.host]


def tables(run: RecordedRun) -> Tables:
    """Returns all tables, each at its largest size."""
    index = Index.of(run)
    below = below_the_best(index.cells)
    common = [
        cell
        for cell in index.cells
        if cell.record.interface not in WITH_OWN_TABLES and cell.record.case_id not in below
    ]
    between = matrices(common)
    shown = {cell.record.case_id for table in between for cell in table.members()}
    parts = (build(index) for build in PARTS)
    with_data = {part.anchor: part for part in parts if part.tables or part.charts}
    return Tables(between, inside_gpu(common, shown), host_tables(common), with_data)


def curves(index: Index) -> Topic:
    """Returns bandwidth over size."""
    lead = (
        "What to see: where a curve becomes flat, the link or the engine is the limit; at smaller sizes "
        "the fixed cost dominates. One chart per kind of pair and link class, both axes logarithmic: "
        "medians over equivalent pairs with their 95 % intervals, and the nominal peak per direction as a "
        "dotted line."
    )
    return Topic("curves", "Bandwidth vs size", lead, charts=tuple(over_size(index.cells, index.topology)))


def scaling(index: Index) -> Topic:
    """Returns sums over the number of flows."""
    lead = "How the sum of concurrent flows grows with the number of devices."
    return Topic("scaling", "Scaling", lead, charts=tuple(over_flows(index.cells)))


def patterns(index: Index) -> Topic:
    """Returns concurrent cases at their largest size, ordered by pattern, interface and path.

    The value of a case is the sum of its flows; of one under background load that of the measured flow.
    """
    kinds = list(PAIR_KINDS)
    own_table = {pair.cell.record.case_id for pair in slowdowns(index.cells)}
    cells = sorted(
        at_largest(cell for cell in concurrent(index.cells) if cell.record.case_id not in own_table),
        key=lambda cell: (
            PATTERNS.index(cell.record.pattern),
            kinds.index(kind(cell)),
            cell.variant,
            label_order(cell.record.path),
        ),
    )
    results = [TableResult(cell) for cell in cells]
    records = [cell.record for cell in cells]
    columns: dict[str, list[str]] = {
        "pattern": [record.pattern for record in records],
        "interface": [record.interface for record in records],
        "issued by": [_ISSUERS.get(record.access, record.access) for record in records],
        "path": [record.path for record in records],
    }
    columns["size"] = [format_size(cell.size_bytes) for cell in cells]
    columns["sum"] = [result.absolute for result in results]
    columns["of peak"] = ["" if cell.fraction is None else percent_number(cell.fraction) for cell in cells]
    columns["total run"] = [_rate(_whole(cell)) for cell in cells]
    columns["each direction"] = [_directions(cell) for cell in cells]
    columns["background"] = [_rate(cell.load.value if _disturbed(cell) else None) for cell in cells]
    filled = {name: texts for name, texts in columns.items() if any(texts)}
    at_sum = list(columns).index("sum")
    table = Table(
        "",
        tuple(filled),
        tuple(zip(*filled.values(), strict=True)),
        tuple(
            place
            for place, name in enumerate(filled)
            if name in ("size", "sum", "of peak", "total run", "background")
        ),
        results=tuple(
            tuple(result if place == at_sum else None for place in range(len(filled))) for result in results
        ),
        unit="GB/s",
    )
    lead = (
        "Concurrent flows; rates are from the window in which all of them run. “Total run” is the rate from "
        "the common start to the last end. For a flow under background load, “sum” is its own rate."
    )
    return Topic("patterns", "Patterns", lead, (table,) if cells else ())


def _disturbed(cell: Result) -> bool:
    return cell.record.pattern == "interference"


def _whole(cell: Result) -> float | None:
    """Returns the sum in bytes/s from the gate to the last end, in the rounds of the value."""
    if _disturbed(cell):
        return None
    return fmean(sum((record.end_to_end_bytes_per_s or {}).values()) for record in cell.middle)


def _rate(bytes_per_s: float | None) -> str:
    return bandwidth_number(bytes_per_s) if bytes_per_s else ""


def _directions(cell: Result) -> str:
    return ", ".join(f"{path} {bandwidth_number(rate)}" for path, rate in cell.directions.items())


def warnings(index: Index) -> Topic:
    """Returns the warnings of all records, the most frequent first."""
    quote = index.voice.quote
    groups = index.warning_groups
    columns: Columns[WarningGroup] = (
        words("warning", lambda group: group.id),
        figures("cases", lambda group: str(group.count)),
        figures("observed", lambda group: group.observed),
        figures("required", lambda group: group.required),
        words("example", lambda group: group.example),
    )
    advice = tuple(quote(group.advice) for group in groups)
    table = replace(tabulated("", columns, groups), advice=advice)
    lead = "Results with a warning stay visible; their cells show ⚠."
    return Topic("warnings", "Warnings", lead, (table,) if groups else ())


def gaps(index: Index) -> Topic:
    """Returns the cases without a value by status and reason, the gravest first."""
    reasons = of_equal_devices(not_measured(index.records))
    columns: Columns[Reason] = (
        words("status", lambda reason: reason.status),
        figures("cases", lambda reason: str(reason.count)),
        words("reason", lambda reason: index.voice.quote(reason.reason)),
        words("example", lambda reason: "; also ".join((reason.example, *_others(reason.interfaces)))),
    )
    bands = tuple((reason.status, "", "", "") for reason in reasons)
    table = replace(tabulated("", columns, reasons), bands=bands)
    return Topic("not-measured", f"Not {index.voice.measured}", "", (table,) if reasons else ())


def _others(interfaces: Sequence[str]) -> Iterator[str]:
    """Yields the interfaces that the example of a reason does not name."""
    if len(interfaces) > 1:
        yield ", ".join(interfaces[1:])


#: The parts that any run may have, in the order of the terminal.
PARTS: tuple[Callable[[Index], Topic], ...] = (
    curves,
    scaling,
    first_touch.topic,
    latency.topic,
    patterns,
    warnings,
    gaps,
    routes.topic,
)
