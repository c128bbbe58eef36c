"""Every table and curve of a run as text: what `show` and the report place beside topics and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from byteways.answers.best.best_interfaces import best_map
from byteways.answers.best.headline import best_first, headline, rows_of_text
from byteways.answers.claims.claim import Claim
from byteways.answers.results.index import Index
from byteways.answers.results.progress import damage, progress, shortfall
from byteways.answers.results.summary import Result, ResultGroup, gpu_caches
from byteways.answers.results.variants import Variant
from byteways.questions.display.chart import Chart, Point
from byteways.questions.display.curves import over_flows, over_size, over_working_set
from byteways.questions.display.table import Table, TableResult
from byteways.questions.tables import tables
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder

#: Longer values get a line for each part.
WIDTH = 300


def of_tables(folder: Path) -> str:
    """A heading for each kind of table, and lines for its parts."""
    run = RunFolder(folder)
    index = Index(run)
    best, found = headline(index), tables(index)
    lists = {anchor: part.tables for anchor, part in found.parts.items() if part.tables}
    parts: dict[str, Any] = {
        "progress": [progress(run), shortfall(run), damage(run)],
        "recommended": [] if best is None else [best.size_names, *rows_of_text(best)],
        "best first": [{**one, "claims": len(one["claims"])} for one in best_first(best)],
        "tables": {"matrices": found.matrices, "inside": found.inside, "host": found.host, **lists},
        "best": best_map(index),
        "over sizes": over_size(index.cells, run.topology),
        "over flows": over_flows(index.cells),
        "over working sets": over_working_set(index.cells, run.topology, gpu_caches(run)),
        "void": [record.case_id for record in index.void],
    }
    lines = [line for name, value in parts.items() for line in (f"# {name}", *_block(value, ""))]
    return "\n".join(lines) + "\n"


def _block(value: Any, indent: str) -> Iterator[str]:
    text = _inline(value)
    parts = _parts(value)
    if parts is None or len(text) + len(indent) <= WIDTH:
        yield indent + text
        return
    for name, part in parts:
        inner = _inline(part)
        if _parts(part) is None or len(inner) + len(indent) + len(name) <= WIDTH:
            yield f"{indent}{name}{inner}"
        else:
            yield f"{indent}{name or '-'}"
            yield from _block(part, f"{indent}  ")


def _parts(value: Any) -> list[tuple[str, Any]] | None:
    """Names and values of what has parts; None for a figure or word."""
    if isinstance(value, (Result, ResultGroup, TableResult, Variant, Record, str)):
        return None
    if isinstance(value, Chart):
        return [("", line) for line in lines_of_chart(value)]
    if isinstance(value, Table):
        return [("", line) for line in lines_of_table(value)]
    if isinstance(value, Claim):  # its sides are derived
        value = value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return [(f"{field.name}: ", getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, Mapping):
        return [(f"{name}: ", one) for name, one in value.items()]
    return [("", one) for one in value] if isinstance(value, (list, tuple)) else None


def _inline(value: Any) -> str:
    if isinstance(value, Result):
        return f"{_interval(value)} {value.record.path}"
    if isinstance(value, TableResult):
        return _inline(value.result)
    if isinstance(value, ResultGroup):
        return f"{_interval(value)} of {len(value.cells)}"
    if isinstance(value, Variant):
        return value.name
    if isinstance(value, Record):
        return value.case_id
    if (parts := _parts(value)) is not None:
        return f"[{', '.join(name + _inline(part) for name, part in parts)}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def lines_of_table(table: Table) -> Iterator[str]:
    """A heading with the unit, and a line for each row with its shades, results and advice."""
    yield f"## {', '.join(filter(None, (table.title, table.unit)))}"
    yield " | ".join(f"{text} »" if at in table.numeric else text for at, text in enumerate(table.headings))
    assert len(set(table.numeric)) == len(table.numeric)
    for at, row in enumerate(table.rows):
        heat = " ".join("–" if one is None else f"{one:.2f}" for one in table.heat[at]) if table.heat else ""
        yield " | ".join(row) + (f" ({heat})" if heat else "")
        if results := list(filter(None, table.results[at])) if table.results else []:
            yield f"  {'; '.join(map(_inline, results))}"
        yield from [f"  {table.advice[at]}"] if table.advice else ()
    yield from [f"({table.note})"] if table.note else ()


def lines_of_chart(chart: Chart) -> Iterator[str]:
    """A heading with the axes, and a line of a dozen points at most for each series."""
    both = ((axis.label, axis.scale, axis.unit) for axis in (chart.x, chart.y))
    axes = (" ".join(filter(None, parts)) for parts in both)
    marks = [f"{mark.label} {mark.at:.4g}" for mark in (*chart.levels, *chart.marks)]
    yield f"## chart: {chart.title}; {chart.caption} {' / '.join(axes)} {marks}"
    for line in chart.series:
        some = line.points[:: max(1, len(line.points) // 6)]
        yield f"{line.label}: {'; '.join(map(_point, some))}"


def _point(point: Point) -> str:
    known = point.low is not None and point.high is not None
    interval = f" ({point.low:.4g} to {point.high:.4g})" if known else ""
    return f"{point.x:.4g}: {point.y:.4g}{interval} {point.text}".rstrip()


def _interval(value: Result | ResultGroup) -> str:
    return f"{value.value:.4g} ({value.low:.4g} to {value.high:.4g})"
