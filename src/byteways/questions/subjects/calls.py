"""API overhead and small copies: host and device time, isolated and back-to-back operations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.wording import largest, longer_by
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, kind, link_class
from byteways.answers.results.summary import RecordedRun, Result, group_by, pool
from byteways.base.units import format_size, short_time
from byteways.cases.interfaces import metric_of
from byteways.cases.option_set import OptionSet
from byteways.cases.options import CALL, CALLS_THAT_WAIT
from byteways.questions.display.chart import Axis, Chart, Point, Series
from byteways.questions.display.table import Columns, TableColumn, figures, tabulated, words
from byteways.questions.display.topic import Topic

#: Copies up to this size are "small": launch overhead dominates their time.
SMALL_COPY_BYTES = 64 << 10
#: Maximum number of lines in a plot.
MOST_CALL_LINES = 8


@dataclass(frozen=True)
class CallCost:
    """Equal cases pooled over devices or pairs: nanoseconds per operation, None if not measured."""

    label: str
    size_bytes: int
    behind_ns: float | None
    submit_ns: float | None
    waited_ns: float | None
    cells: tuple[Result, ...]  # all cells that these values come from
    claim: Claim | None  # time per operation, isolated versus back to back

    @property
    def interface(self) -> str:
        return self.cells[0].record.interface

    @property
    def plain_gpu_call(self) -> bool:
        """Whether a GPU's runtime is called, without options."""
        return self.cells[0].record.executor.startswith("gpu") and not _options(self.cells[0])


def _called(cost: CallCost) -> str:
    return cost.label


def _time(value: float | None) -> str:
    return short_time(value) if value else ""


_TIMES: Columns[CallCost] = (
    figures("back to back (device)", lambda cost: _time(cost.behind_ns)),
    figures("enqueue (host)", lambda cost: _time(cost.submit_ns)),
    figures("one at a time", lambda cost: _time(cost.waited_ns)),
)


def topic(index: Index) -> Topic | None:
    """Returns the topic of API overhead and isolated small copies; None if the run has neither."""
    calls, small = call_costs(index.cells, index), copy_costs(index.cells, index)
    if not calls and not small:
        return None
    size: TableColumn[CallCost] = figures("size", lambda cost: format_size(cost.size_bytes))
    tables = [tabulated("Calls", (words("call", _called), *_TIMES), calls)] if calls else []
    if small:
        tables.append(tabulated("Small copies", (words("copy", _called), size, *_TIMES), small))
    return Topic(
        "calls",
        "Launch and call overhead",
        "Back to back: device time per operation with many in its queue. Enqueue: host time per "
        "operation; it is hidden behind the device time unless it exceeds that. One at a time: the round "
        "trip from call to "
        "completion, by the host's clock.",
        tuple(tables),
        _charts(small),
    )


def call_costs(results: Sequence[Result], run: RecordedRun) -> list[CallCost]:
    """Returns the costs of operations that move no data."""
    return costs((cell for cell in results if _is_call(cell)), run)


def copy_costs(results: Sequence[Result], run: RecordedRun) -> list[CallCost]:
    """Returns the costs of small transfers that were measured isolated as well as back to back, or by a call
    that waits.
    """
    return costs(_paired(results), run)


def costs(members: Iterable[Result], run: RecordedRun) -> list[CallCost]:
    """Returns costs pooled over pairs with equal links, by label and size."""
    groups = group_by(members, lambda cell: (_label(cell, run), cell.size_bytes))
    priced = []
    for (label, size), group in sorted(groups.items(), key=lambda item: item[0]):
        behind = [cell for cell in group if not _is_waited(cell) and not _is_host_call(cell)]
        waited = [cell for cell in group if _is_waited(cell) or _is_host_call(cell)]
        submits = [record.submit_ns for cell in behind for record in cell.records if record.submit_ns]
        priced.append(
            CallCost(
                label,
                size,
                _time_ns(behind),
                median(submits) if submits else None,
                _time_ns(waited),
                (*behind, *waited),
                _beside(waited, behind),
            )
        )
    return priced


def _beside(waited: Sequence[Result], behind: Sequence[Result]) -> Claim | None:
    """Compares the time of isolated and back-to-back operations, pair by pair."""
    if not waited or not behind:
        return None
    names = "waited for", "back to back"
    claim = compare(pool(waited), pool(behind), kind="calls", match=_ends, names=names)
    by_rate = metric_of(waited[0].record.interface) == "bandwidth"
    return replace(claim.turned(), quantity="latency") if by_rate else claim


def _ends(cell: Result) -> tuple[str, str]:
    return cell.record.path, cell.record.executor


def _is_call(cell: Result) -> bool:
    return cell.record.interface in ("launch", "synchronize", "event")


def _is_waited(cell: Result) -> bool:
    return cell.record.options.get("pace") == "one-at-a-time"


def _is_host_call(cell: Result) -> bool:
    """Whether the call itself blocks, so that nothing can run back to back."""
    return cell.record.interface == "synchronize" or cell.record.options.get(CALL.name) in CALLS_THAT_WAIT


def _time_ns(members: Sequence[Result]) -> float | None:
    """Returns the median time of one operation over the cells, in ns, whatever metric they report."""
    times = [record.time_ns.median for cell in members for record in cell.records if record.time_ns]
    return median(times) if times else None


def _paired(results: Sequence[Result]) -> list[Result]:
    """Returns small single-flow transfers that were measured isolated, and the same back to back."""
    single = [
        cell
        for cell in results
        if cell.record.pattern == "unidirectional"
        and metric_of(cell.record.interface) == "bandwidth"
        and cell.size_bytes <= SMALL_COPY_BYTES
    ]
    waited = {_same(cell) for cell in single if _is_waited(cell) or _is_host_call(cell)}
    return [cell for cell in single if _same(cell) in waited]


def _options(cell: Result) -> OptionSet:
    return OptionSet(cell.record.options).without("pace")


def _same(cell: Result) -> tuple[Hashable, ...]:
    """Returns the key that the isolated and the back-to-back measurement of a transfer share."""
    record = cell.record
    ends = record.interface, record.executor, record.path, record.source, record.destination
    return (*ends, record.cache, record.size_bytes, _options(cell))


def _label(cell: Result, run: RecordedRun) -> str:
    record, options = cell.record, _options(cell)
    if _is_call(cell):
        where = "GPU" if record.executor.startswith("gpu") else record.executor
        what = {"event": "event round trip"}.get(record.interface, record.interface)
        return ", ".join(part for part in (f"{where}: {what}", options.text()) if part)
    class_name = link_class(run.topology, cell)
    parts = (PAIR_KINDS[kind(cell)], class_name, replace(cell.variant, options=options).name)
    return ", ".join(part for part in parts if part)


def _charts(small: Sequence[CallCost]) -> tuple[Chart, ...]:
    """Draws time over size, isolated and back-to-back transfers together."""
    lines: list[Series] = []
    for label, members in group_by(small, lambda cost: cost.label).items():
        for name, value in (("back to back", "behind_ns"), ("one at a time", "waited_ns")):
            points = tuple(
                Point(cost.size_bytes, getattr(cost, value)) for cost in members if getattr(cost, value)
            )
            if len(points) > 1:
                lines.append(Series(f"{label}, {name}", points))
    if not lines:
        return ()
    caption = "Time per copy: back to back in the device's queue, and from call to completion."
    x, y = Axis("copy size", "log", "bytes"), Axis("time of a copy", unit="ns")
    return (Chart("Small copies", caption, x, y, tuple(lines[:MOST_CALL_LINES])),)


def launches(index: Index) -> Iterator[Finding]:
    """Reports the launch overhead of an empty kernel on a GPU."""
    for cost in call_costs(index.ranked, index):
        if cost.interface == "launch" and cost.plain_gpu_call and (said := _paces(cost)):
            title = f"GPU kernel launch: {said}"
            yield finding(
                title,
                _submit(cost),
                Priority.KERNEL_LAUNCH,
                cost.cells,
                [cost.claim] if cost.claim else (),
                about=(cost.label,),
            )


def small_copies(index: Index) -> Iterator[Finding]:
    """Reports the copy that slows down most when isolated, at its smallest size."""
    copies = copy_costs(index.ranked, index)
    whole = [cost for cost in copies if cost.behind_ns and cost.waited_ns and cost.interface == "copy"]
    if not whole:
        return
    least = min(cost.size_bytes for cost in whole)
    most = max(
        (cost for cost in whole if cost.size_bytes == least),
        key=lambda cost: (cost.waited_ns or 0) / (cost.behind_ns or 1),
    )
    said = _paces(most)
    if said:
        title = f"{most.label}, {format_size(least)}: {said}"
        detail = f"{largest('relative cost of waiting among small copies')} {_submit(most)}"
        yield finding(title, detail, Priority.SMALL_COPIES, most.cells, [most.claim] if most.claim else ())


def _paces(cost: CallCost) -> str:
    """'1.45 µs back to back, 10.1 µs (7 times) when each is waited for'; empty unless both were measured."""
    if not cost.behind_ns or not cost.waited_ns:
        return ""
    factor = f" ({longer_by(cost.claim)})" if cost.claim is not None and cost.claim.leads else ""
    behind, waited = short_time(cost.behind_ns), short_time(cost.waited_ns)
    return f"{behind} back to back, {waited}{factor} when each is waited for"


def _submit(cost: CallCost) -> str:
    return f"Enqueueing one takes {short_time(cost.submit_ns)} of host time." if cost.submit_ns else ""
