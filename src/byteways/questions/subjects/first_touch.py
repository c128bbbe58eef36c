"""The first touch: which device wrote the pages of a host buffer first decides where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import gb
from byteways.answers.claims.wording import difference
from byteways.answers.results.index import Index
from byteways.answers.results.selection import unidirectional, variant
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_size
from byteways.cases.memory import is_device
from byteways.questions.display.chart import Axis, Chart, Point, Series, in_rows, of_rows
from byteways.questions.display.grids import grid_of
from byteways.questions.display.table import Table, TableResult
from byteways.questions.display.topic import Topic

INTRODUCTION = (
    "The device that first writes a page decides where it is placed. Rows: memory kind; columns: the "
    "device that touched first."
)
CAPTION = (
    "What to see: where the bars of a row differ, first-touch placement matters. A row is a transfer and "
    "the memory of its host buffer; a colour is the device that touched the pages first."
)
#: Least factor between the placements that a finding reports.
LEAST_FACTOR = 1.05


def topic(index: Index) -> Topic:
    tables = tuple(first_touch_tables(index.cells))
    return Topic("first-touch", "First touch", INTRODUCTION, tables, overview=tuple(_charts(tables)))


def first_touch_tables(results: Sequence[Result]) -> list[Table]:
    """Returns memory × first touch, if several devices touched first and all else is equal."""

    def touched(cell: Result) -> tuple[str, str]:
        ends = cell.source, cell.destination
        buffer = next((end for end in ends if end.first_touch), None) or next(
            (end for end in ends if not is_device(end.memory)), cell.source
        )
        return f"{buffer.device}:{buffer.memory}", buffer.first_touch or buffer.device

    def alike(cell: Result) -> tuple[object, ...]:
        record, setting = cell.record, variant(cell)
        what = record.path, record.interface, record.executor, record.access, record.size_bytes
        return *what, setting.cache, setting.options, setting.environment

    def title(members: Sequence[Result]) -> str:
        return f"{members[0].variant.named(memory=False)}, {members[0].record.path}"

    compared = [
        members
        for members in group_by(unidirectional(results), alike).values()
        if any(end.first_touch for cell in members for end in (cell.source, cell.destination))
        and len({touched(cell)[1] for cell in members}) > 1
    ]
    by_size = group_by(
        compared, lambda members: (title(members), frozenset(touched(cell)[1] for cell in members))
    )
    largest = (max(setting, key=lambda members: members[0].size_bytes) for setting in by_size.values())
    return [
        grid_of(
            title(members),
            "memory \\ first touch",
            ((*touched(cell), cell) for cell in members),
        )
        for members in largest
    ]


def _charts(tables: Iterable[Table]) -> Iterator[Chart]:
    """Yields a chart for each set of devices that touched first; none where nothing can be compared."""
    for touchers, alike in group_by(tables, lambda table: table.headings[1:]).items():
        rows = [
            (label, results)
            for table in alike
            for (label, *_), (_, *results) in zip(table.rows, table.results, strict=True)
            if sum(map(bool, results)) > 1
        ]
        if not rows:
            continue
        series = [
            Series(f"first touch by {name}", of_rows([_bar(results[place]) for _, results in rows]), "bars")
            for place, name in enumerate(touchers)
        ]
        labels = [f"{_transfer(results)}, {memory}" for memory, results in rows]
        title = f"Memory and first touch by {', '.join(touchers)}"
        yield in_rows(title, CAPTION, Axis("GB/s"), labels, series)


def _transfer(results: Iterable[TableResult | None]) -> str:
    cell = next(result.result for result in results if result)
    record = cell.record
    return f"{cell.variant.named(memory=False)}, {record.path}, {format_size(record.size_bytes)}"


def _bar(shown: TableResult | None) -> Point | None:
    if shown is None:
        return None
    cell = shown.result
    details = f"{cell.record.path}: {gb(cell.value)} GB/s ({gb(cell.low)}–{gb(cell.high)})"
    return Point(cell.value / 1e9, 0, cell.low / 1e9, cell.high / 1e9, details, gb(cell.value))


def matters(index: Index) -> Iterator[Finding]:
    """Reports the memory kind for which first touch matters most."""
    differing: list[tuple[Claim, Result, Result]] = []
    for table in first_touch_tables(index.ranked):
        for (label, *_), results in zip(table.rows, table.results, strict=True):
            known = [
                (shown.result, touch) for shown, touch in zip(results, table.headings, strict=True) if shown
            ]
            if len(known) < 2:
                continue
            fast, fast_touch = max(known, key=lambda item: item[0].value)
            slow, slow_touch = min(known, key=lambda item: item[0].value)
            names = f"{label} first touched by {fast_touch}", f"by {slow_touch}"
            claim = compare(fast, slow, kind="first touch", ways=len(known), names=names)
            if claim.leads and claim.effect >= LEAST_FACTOR:
                differing.append((claim, fast, slow))
    if not differing:
        return
    claim, fast, slow = max(differing, key=lambda entry: entry[0].gain)
    record = fast.record
    title = f"First touch matters: on {record.executor}, {difference(claim)}"
    detail = f"{fast.variant.name} by {record.executor}, {record.path}, {format_size(record.size_bytes)}."
    yield finding(title, detail, Priority.FIRST_TOUCH, (fast, slow), [entry[0] for entry in differing])
