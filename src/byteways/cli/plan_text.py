"""Prints a plan: what each sweep will run, what it will not and why, and totals.

Cases that differ only in size, an option, interface or executor share a line, and what is common to a sweep
is in
its title: a plan of thousands of cases must be readable on 80 columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from byteways.base.units import format_size
from byteways.cases.case import Case, PlannedCase
from byteways.cases.describe import PlanSummary, concurrent_text, describe
from byteways.cases.interfaces import INTERFACES
from byteways.console.layout import Lines
from byteways.plan.planner import Plan
from byteways.questions.display.table import Table
from byteways.record.simulation_mark import MEASURED, Voice

#: Columns around the options; a column with equal text in all lines moves to the title.
_FIRST = ("interface", "between", "by", "size")
_LAST = ("pattern", "cache", "beside", "variables", "at most", "left out", "skipped")
#: Up to this many values are listed individually; more become a range.
_LISTED = 4

_INTERFACES = tuple(INTERFACES)

#: One line: the values of its cases by column.
_Row = dict[str, tuple[str, ...]]


def plan_blocks(plan: Plan, voice: Voice = MEASURED) -> list[Table | Lines]:
    """Returns a table per sweep, then the totals."""
    summary = describe(plan.cases, plan.notes, plan.estimated_s)
    numbers = {reason: number for number, (reason, _) in enumerate(summary.reasons, 1)}
    by_sweep: dict[str, list[PlannedCase]] = {sweep.name: [] for sweep in plan.suite.sweeps}
    for entry in sorted(plan.cases, key=_place):
        if entry.round == 0:
            by_sweep[entry.sweep].append(entry)
    marks = {told: f"[{numbers[stands]}]" for told, stands in summary.reason_of.items()}
    tables = [_table(name, entries, marks) for name, entries in by_sweep.items() if entries]
    place = [*by_sweep].index
    in_order = tuple(sorted(summary.sweeps, key=lambda sweep: place(sweep.name)))
    return [*tables, *_amount(replace(summary, sweeps=in_order), voice)]


def _place(entry: PlannedCase) -> tuple[object, ...]:
    """Returns the sort key of a case in its table; running order is shuffled."""
    case = entry.case
    values = [(name, *_order(value)) for name, value in _options(case).items()]
    return (
        _INTERFACES.index(case.interface),
        case.path,
        _between(case),
        case.executors,
        values,
        case.size_bytes,
    )


def _order(value: int | str | bool) -> tuple[int, str]:
    """Sorts numbers by value, then words alphabetically."""
    return (-1, value) if isinstance(value, str) else (int(value), "")


def _options(case: Case) -> dict[str, int | str | bool]:
    """Returns options by column, including those of background flows."""
    beside = {
        f"beside {name}": value
        for flow in case.flows
        if flow.interface is not None
        for name, value in flow.options.items()
    }
    return {**dict(sorted(case.options.items())), **dict(sorted(beside.items()))}


def _table(name: str, entries: Sequence[PlannedCase], marks: dict[str, str]) -> Table:
    options = tuple(dict.fromkeys(option for entry in entries for option in _options(entry.case)))
    rows = [_row(entry, options, marks) for entry in entries]
    for column in ("size", *options, "interface", "by"):
        rows = _fold(rows, column)
    heads = (*_FIRST, *options, *_LAST)
    cells = {head: [_text(row[head], head) for row in rows] for head in heads}
    cells["at most"] = _throughout(cells["at most"])
    shown = [head for head in heads if head in _FIRST or len({*cells[head]}) > 1]
    same = [_said(head, cells[head][0]) for head in heads if head not in shown and cells[head][0]]
    table = tuple(zip(*(cells[head] for head in shown), strict=True))
    return Table(": ".join([name, *(["; ".join(same)] if same else [])]), tuple(shown), table)


def _throughout(cells: list[str]) -> list[str]:
    """Returns what is common to all cases that run, even if skipped cases differ."""
    filled = {cell for cell in cells if cell}
    return [*filled] * len(cells) if len(filled) == 1 else cells


def _said(head: str, text: str) -> str:
    """Formats a cell for use in a title."""
    if head == "left out":
        return "left out for lack of time"
    return text if head in ("pattern", "cache", "variables") else f"{head} {text}"


def _row(entry: PlannedCase, options: Sequence[str], marks: dict[str, str]) -> _Row:
    case, given = entry.case, _options(entry.case)
    cells = {
        "interface": case.interface,
        "between": _between(case),
        "by": " and ".join(case.executors),
        "size": format_size(case.size_bytes),
        **{option: str(given.get(option, "")) for option in options},
        "pattern": case.pattern,
        "cache": case.cache,
        "beside": concurrent_text(case),
        "variables": " ".join(f"{name}={value}" for name, value in sorted(case.environment.items())),
        "at most": "" if entry.reason else f"{entry.rounds * entry.budget_s:.2f} s",
        "left out": "yes" if entry.spare else "",
        "skipped": marks[entry.reason] if entry.reason and not entry.spare else "",
    }
    return {head: (text,) for head, text in cells.items()}


def _fold(rows: Sequence[_Row], column: str) -> list[_Row]:
    """Merges rows that are equal in all other columns; collects the values of this one in order."""
    folded: dict[tuple[tuple[str, ...], ...], _Row] = {}
    for row in rows:
        others = tuple(values for head, values in row.items() if head != column)
        kept = folded.setdefault(others, {**row, column: ()})
        kept[column] = tuple(dict.fromkeys((*kept[column], *row[column])))
    return list(folded.values())


def _text(values: Sequence[str], head: str) -> str:
    """Formats `1, 2, 4`, or `4 KiB to 1 GiB (10)`; executors as `gpu0 or gpu1`."""
    if head == "by":
        return " or ".join(values)
    if len(values) <= _LISTED:
        return ", ".join(values)
    return f"{values[0]} to {values[-1]} ({len(values)})"


def _between(case: Case) -> str:
    """Formats the buffers of a flow; for several flows, the devices and the memory kinds."""
    flow = case.flows[0]
    if INTERFACES[case.interface].buffers == "one" and len(case.flows) == 1:
        return str(flow.source)
    if len(case.flows) > 1:
        memories = (end.memory for each in case.flows for end in each.buffers)
        return f"{case.path} ({', '.join(dict.fromkeys(memories))})"
    if flow.others:  # every rank has both buffers
        kinds = dict.fromkeys((flow.source.memory, flow.destination.memory))
        return f"{flow.path} ({' > '.join(kinds)})"
    partner = f" with {flow.partner}" if flow.partner else ""
    return f"{' and '.join(map(str, flow.sources))} > {flow.destination}{partner}"


def _amount(summary: PlanSummary, voice: Voice) -> list[Table | Lines]:
    heads = ("sweep", voice.measured, "left out", "skipped")
    rows = tuple(
        (sweep.name, str(sweep.to_measure), str(sweep.left_out), str(sweep.skipped))
        for sweep in summary.sweeps
    )
    blocks: list[Table | Lines] = [Table("the plan", heads, rows, tuple(range(1, len(heads))))]
    if summary.reasons:
        reasons = (
            f"[{number}] {count} × {voice.quote(reason)}"
            for number, (reason, count) in enumerate(summary.reasons, 1)
        )
        blocks.append(Lines("reasons for skipping", tuple(reasons)))
    if summary.left_out:
        cases = "case" if summary.left_out == 1 else "cases"
        why = f"{summary.left_out} {cases} {voice.quote(summary.why_left_out)}"
        blocks.append(Lines("left out for lack of time", (why,)))
    if summary.notes:
        blocks.append(Lines("notes", tuple(map(voice.quote, summary.notes))))
    return [*blocks, Lines(_total(summary, voice), ())]


def _total(summary: PlanSummary, voice: Voice) -> str:
    rounds = f" in {summary.rounds} rounds" if summary.rounds > 1 else ""
    cases = "1 case" if summary.to_measure == 1 else f"{summary.to_measure} cases"
    left_out = f", {summary.left_out} left out for lack of time" if summary.left_out else ""
    total = f"{cases} to {voice.measure}{rounds}{left_out}, {summary.skipped} skipped"
    if summary.estimated_s is None:
        return total
    return f"{total}; about {summary.estimated_s:.0f} s (estimated from assumed rates)"
