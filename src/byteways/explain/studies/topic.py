"""The topic of a run that reproduces a publication: claim verdicts, and its values beside published ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from byteways.explain.display.chart import Chart
from byteways.explain.display.topic import Chip, Exhibit, Topic, TopicTable
from byteways.explain.studies.claims import Verdict
from byteways.explain.studies.matrices import matrices
from byteways.explain.studies.numbers import number, size_of
from byteways.explain.studies.outcome import FigureOutcome, StudyOutcome
from byteways.explain.studies.pictures import charts_of, colours_of
from byteways.explain.studies.rows import ValueRow
from byteways.explain.studies.scaled import in_drawn_unit
from byteways.explain.studies.verdicts import BUILT_IN, SHOWN
from byteways.studies.study import Study
from byteways.units import format_size

#: Shown instead of a reason that the table notes give.
NOT_HERE = "no counterpart here"


def topic_of(outcome: StudyOutcome) -> Topic:
    """Builds the topic: claims, then figures, then notes on the source."""
    study, colours = outcome.study, colours_of(outcome)
    tables = [_figure(one) for one in outcome.figures]
    return Topic(
        "study",
        "Published vs measured",
        f"{outcome.summary()}. {study.authors}, “{study.title}” ({study.year}), {study.address}. "
        f"Our values are {statistic_of(study)}, as in the source. {study.timing}.",
        (_claims(outcome), *(table for some in tables for table in some), *_about(study)),
        exhibits=tuple(
            _exhibit(one, some, charts_of(one, outcome, colours))
            for one, some in zip(map(in_drawn_unit, outcome.figures), tables, strict=True)
            if some
        ),
        chips=tuple(map(_chip, outcome.verdicts)),
    )


def _exhibit(one: FigureOutcome, tables: Sequence[TopicTable], drawn: Sequence[Chart]) -> Exhibit:
    """Returns a figure as its source draws it: its charts, or its matrices side by side."""
    grids: Sequence[TopicTable] = ()
    if one.figure.drawing.plot == "matrix":
        grids = tables if one.figure.kind == "hops" else matrices(one, "", drawn=True)
    values = () if one.figure.kind in ("hops", "matrix") and grids else tables
    return Exhibit(
        f"study-{one.figure.id}",
        _title(one),
        tuple(map(_chip, one.verdicts)),
        tuple(drawn),
        tuple(grids),
        tuple(values),
        tuple(tables),
    )


def _chip(told: Verdict) -> Chip:
    kind, sign = SHOWN[told.verdict]
    return Chip(told.verdict, kind, sign, told.claim.id, f"{told.claim.text}\n{told.detail}")


def statistic_of(study: Study) -> str:
    """Returns the study's statistic as words within a sentence."""
    return {"mean": "means", "max": "the best of all samples", "median": "medians"}.get(
        study.statistic, "medians (the source does not state its statistic)"
    )


def _claims(outcome: StudyOutcome) -> TopicTable:
    """Builds the table of claims; notes common to several claims are numbered below it."""
    numbers: dict[str, int] = {}
    rows = []
    for one in outcome.verdicts:
        marks = "".join(f" [{numbers.setdefault(note, len(numbers) + 1)}]" for note in one.notes)
        said = f"{one.claim.text} ({one.claim.note})" if one.claim.note else one.claim.text
        rows.append((one.verdict, said, one.claim.locator, f"{one.detail}{marks}"))
    notes = [f"[{number}] {text}" for text, number in numbers.items()]
    if not all(one.claim.quote for one in outcome.verdicts):
        notes.append("text without quotation marks paraphrases the source")
    if any(one.verdict == BUILT_IN for one in outcome.verdicts):
        notes.append("built in: the model cannot do otherwise, since it states this or was fitted to it")
        if outcome.fitted:
            notes.append(f"{outcome.fitted}. A claim on held-out values is tested")
    headings = ("verdict", "claim of the source", "where", "measured")
    return TopicTable("Claims", headings, tuple(rows), note="; ".join(notes))


def _figure(one: FigureOutcome) -> list[TopicTable]:
    """Returns the tables of a figure, by its kind."""
    if one.figure.kind == "hops":
        return [
            _hops(hops, f"{_title(one)}{where}", notes)
            for hops, where, notes in (
                (one.hops, "", one.notes),
                (one.hops_there, ", on the source's machine", ()),
            )
            if hops
        ]
    if not one.rows:
        return []
    if one.figure.kind == "matrix":
        return matrices(one, _title(one), drawn=False)
    return [{"map": _map, "grid": _grid, "best": _best}.get(one.figure.kind, _list)(one)]


def _title(one: FigureOutcome) -> str:
    return f"{one.figure.title} ({one.figure.locator})"


def _hops(hops: Mapping[str, Mapping[str, int]], title: str, notes: Sequence[str]) -> TopicTable:
    """Tabulates the number of links between every two GPUs."""
    gpus = list(hops)
    rows = tuple((row, *(str(hops[row].get(column, "–")) for column in gpus)) for row in gpus)
    return TopicTable(title, ("from \\ to", *gpus), rows, tuple(range(1, len(gpus) + 1)), "; ".join(notes))


def _map(one: FigureOutcome) -> TopicTable:
    """Tabulates lines × sizes without published numbers: our values, also as fraction of the peak."""
    sizes = sorted({row.size_bytes for row in one.rows if row.size_bytes})
    lines = list(dict.fromkeys(row.line for row in one.rows))
    found = {(row.line, row.size_bytes): row for row in one.rows if row.ours is not None}
    values = [row.ours for row in found.values() if row.ours is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    rows, heat = [], []
    for line in lines:
        cells = [found.get((line, size)) for size in sizes]
        rows.append((line, *("–" if cell is None else _in_map(cell, one.figure.unit) for cell in cells)))
        ours = [None if cell is None else cell.ours for cell in cells]
        heat.append((None, *(value and (value - low) / ((high - low) or 1.0) for value in ours)))
    peak = " and part of the peak" if any(row.of_peak for row in found.values()) else ""
    title = f"{_title(one)}, measured, {one.figure.unit}{peak}"
    columns = tuple(range(1, len(sizes) + 1))
    headings = ("method", *map(format_size, sizes))
    return TopicTable(title, headings, tuple(rows), columns, "; ".join(one.notes), tuple(heat))


def _grid(one: FigureOutcome) -> TopicTable:
    """Tabulates sources × destinations: our highest value, with the published one where there is one."""
    unit = one.figure.unit
    found = {row.line.rpartition(", ")[2]: row for row in one.rows}
    sources, targets = (list(dict.fromkeys(name.split(" > ")[side] for name in found)) for side in (0, 1))
    cells = [[found.get(f"{source} > {target}") for target in targets] for source in sources]
    most = max((row.ours for row in one.rows if row.ours is not None), default=1.0)
    rows = tuple(
        (source, *("–" if row is None else _in_grid(row, unit) for row in some))
        for source, some in zip(sources, cells, strict=True)
    )
    heat = tuple(
        (None, *(row.ours / most if row and row.ours is not None else None for row in some)) for some in cells
    )
    reasons = {row.reason: row.line.rpartition(", ")[2] for row in reversed(one.rows) if row.reason}
    notes = [*one.notes, *(f"{name}: {reason}" for reason, name in reversed(reasons.items()))]
    columns = tuple(range(1, len(targets) + 1))
    title = f"{_title(one)}, measured (published), {unit}"
    return TopicTable(title, ("from \\ to", *targets), rows, columns, "; ".join(notes), heat)


def _in_grid(row: ValueRow, unit: str) -> str:
    ours = "–" if row.ours is None else number(row.ours, unit)
    return ours if row.published is None else f"{ours} ({_published_text(row, unit)})"


def _best(one: FigureOutcome) -> TopicTable:
    """Tabulates which line is the best of each row at each size."""
    sizes = sorted({row.size_bytes for row in one.rows if row.size_bytes})
    units = {contest.name: contest.unit for contest in one.figure.contests}
    found = {(row.group, row.size_bytes): row for row in one.rows}
    rows = tuple(
        (name, *(_in_best(found.get((name, size)), unit) for size in sizes)) for name, unit in units.items()
    )
    reasons = [f"{row.group}: {row.reason}" for row in one.rows if row.reason]
    note = "; ".join((*one.notes, "several names: their intervals overlap", *reasons))
    headings = ("movement", *map(format_size, sizes))
    return TopicTable(f"{_title(one)}, best by size", headings, rows, note=note)


def _in_best(row: ValueRow | None, unit: str) -> str:
    if row is None or row.ours is None:
        return "–"
    return f"{row.line}: {number(row.ours, unit)} {unit}"


def _in_map(row: ValueRow, unit: str) -> str:
    assert row.ours is not None
    part = f" ({100 * row.of_peak:.1f} %)" if row.of_peak else ""
    return f"{number(row.ours, unit)}{part}"


def _list(one: FigureOutcome) -> TopicTable:
    """Tabulates one row per value: published, ours, and ours over published."""
    unit = "×" if one.figure.kind == "ratio" else one.figure.unit
    with_place = len({row.place for row in one.rows}) > 1
    with_other = any(row.other_count for row in one.rows)
    headings = [*(("place",) if with_place else ()), "method", "size", f"published, {unit}"]
    headings += [
        f"measured, {unit}",
        "ratio",
        *(("other count",) if with_other else ()),
        "source or reason",
    ]
    told = {note.partition(": ")[2] for note in one.notes} - {""}
    rows = tuple(_cells(row, unit, with_place, with_other, told) for row in one.rows)
    first = int(with_place) + 1
    notes = "; ".join(one.notes)
    return TopicTable(_title(one), tuple(headings), rows, tuple(range(first, first + 4)), note=notes)


def _cells(
    row: ValueRow, unit: str, with_place: bool, with_other: bool, told: Collection[str]
) -> tuple[str, ...]:
    """Returns the cells of a row; reasons in `told` are left to the notes."""
    reason = NOT_HERE if row.reason in told else row.reason
    derived = f"derived: {row.derived}" if row.derived else ""
    ours_of = f"ours of {row.machine}" if row.machine else ""
    return (
        *((row.place,) if with_place else ()),
        row.line,
        size_of(row.size_bytes) if row.size_bytes else "not stated",
        _published_text(row, unit),
        "–" if row.ours is None else number(row.ours, unit),
        "–" if row.ratio is None else _ratio(row),
        *((row.other_count,) if with_other else ()),
        "; ".join(part for part in (row.system, ours_of, derived, reason) if part),
    )


def _published_text(row: ValueRow, unit: str) -> str:
    """Formats the published value as the source gives it: a number, "about" a number, or a range."""
    if row.published is None:
        return "–"
    if row.published_range:
        return " to ".join(number(end, unit) for end in row.published_range)
    return f"{'about ' if row.approximate else ''}{number(row.published, unit)}"


def _ratio(row: ValueRow) -> str:
    """Formats the ratio with four significant digits, at most three decimals; ranges use the nearer end."""
    assert row.ratio is not None
    if row.published_range and row.ratio == 1.0:
        return "within"
    return f"{row.ratio:.3f}" if row.ratio < 10 else number(row.ratio, "")


def _about(study: Study) -> tuple[TopicTable, ...]:
    """Lists defects of the source and deviations of this reproduction."""
    rows = [("known error in the source", text) for text in study.defects]
    rows += [("done differently here", text) for text in study.differences]
    return (TopicTable("About the source", ("", ""), tuple(rows)),) if rows else ()
