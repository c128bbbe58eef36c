"""The topic of a run that reproduces a publication: claim verdicts, and its values beside published ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from byteways.base.units import format_size
from byteways.ext.studies.comparison.claims import Verdict
from byteways.ext.studies.comparison.matrices import ends_of, matrices
from byteways.ext.studies.comparison.numbers import number
from byteways.ext.studies.comparison.outcome import FigureOutcome, StudyOutcome
from byteways.ext.studies.comparison.pictures import charts_of, colours_of
from byteways.ext.studies.comparison.rows import ValueRow
from byteways.ext.studies.comparison.scaled import in_drawn_unit
from byteways.ext.studies.comparison.verdicts import BUILT_IN, SHOWN
from byteways.ext.studies.published.study import Study
from byteways.questions.display.chart import Chart
from byteways.questions.display.table import Table, shaded
from byteways.questions.display.topic import Chip, Exhibit, Topic
from byteways.record.simulation_mark import Voice

#: Shown instead of a reason that the table notes give.
NOT_HERE = "no counterpart here"


def topic_of(outcome: StudyOutcome) -> Topic:
    """Builds the topic: claims, then figures, then notes on the source."""
    study, colours = outcome.study, colours_of(outcome)
    tables = [_figure(figure, outcome.voice) for figure in outcome.figures]
    return Topic(
        "study",
        f"Published vs {outcome.voice.measured}",
        f"{outcome.summary()}. {study.authors}, “{study.title}” ({study.year}), {study.address}. "
        f"Our values are {statistic_of(study)}, as in the source. {study.timing}.",
        (_claims(outcome), *(table for own in tables for table in own), *_about(study)),
        exhibits=tuple(
            _exhibit(each, own, charts_of(each, outcome, colours), outcome.voice)
            for each, own in zip(map(in_drawn_unit, outcome.figures), tables, strict=True)
            if own
        ),
        chips=tuple(map(_chip, outcome.verdicts)),
    )


def _exhibit(
    outcome: FigureOutcome, tables: Sequence[Table], drawn: Sequence[Chart], voice: Voice
) -> Exhibit:
    """Returns a figure as its source draws it: its charts, or its matrices side by side."""
    grids: Sequence[Table] = ()
    if outcome.figure.drawing.plot == "matrix":
        grids = tables if outcome.figure.kind == "hops" else matrices(outcome, "", voice, drawn=True)
    values = () if outcome.figure.kind in ("hops", "matrix") and grids else tables
    return Exhibit(
        f"study-{outcome.figure.id}",
        _title(outcome),
        tuple(map(_chip, outcome.verdicts)),
        tuple(drawn),
        tuple(grids),
        tuple(values),
        tuple(tables),
    )


def _chip(verdict: Verdict) -> Chip:
    kind, sign = SHOWN[verdict.verdict]
    return Chip(verdict.verdict, kind, sign, verdict.claim.id, f"{verdict.claim.text}\n{verdict.detail}")


def statistic_of(study: Study) -> str:
    """Returns the study's statistic as words within a sentence."""
    return {"mean": "means", "max": "the best of all samples", "median": "medians"}.get(
        study.statistic, "medians (the source does not state its statistic)"
    )


def _claims(outcome: StudyOutcome) -> Table:
    """Builds the table of claims; notes common to several claims are numbered below it."""
    numbers: dict[str, int] = {}
    rows = []
    for verdict in outcome.verdicts:
        marks = "".join(f" [{numbers.setdefault(note, len(numbers) + 1)}]" for note in verdict.notes)
        said = f"{verdict.claim.text} ({verdict.claim.note})" if verdict.claim.note else verdict.claim.text
        rows.append((verdict.verdict, said, verdict.claim.locator, f"{verdict.detail}{marks}"))
    notes = [f"[{number}] {text}" for text, number in numbers.items()]
    if not all(judged.claim.quote for judged in outcome.verdicts):
        notes.append("text without quotation marks paraphrases the source")
    if any(judged.verdict == BUILT_IN for judged in outcome.verdicts):
        notes.append("built in: the model cannot do otherwise, since it states this or was fitted to it")
        if outcome.fitted:
            notes.append(f"{outcome.fitted}. A claim on held-out values is tested")
    headings = ("verdict", "claim of the source", "where", outcome.voice.measured)
    return Table("Claims", headings, tuple(rows), notes=tuple(notes))


def _figure(outcome: FigureOutcome, voice: Voice) -> list[Table]:
    """Returns the tables of a figure, by its kind."""
    if outcome.figure.kind == "hops":
        return [
            _hops(hops, f"{_title(outcome)}{where}", notes)
            for hops, where, notes in (
                (outcome.hops, "", outcome.notes),
                (outcome.hops_there, ", on the source's machine", ()),
            )
            if hops
        ]
    if not outcome.rows:
        return []
    if outcome.figure.kind == "matrix":
        return matrices(outcome, _title(outcome), voice, drawn=False)
    return [{"map": _map, "grid": _grid, "best": _best}.get(outcome.figure.kind, _list)(outcome, voice)]


def _title(outcome: FigureOutcome) -> str:
    return f"{outcome.figure.title} ({outcome.figure.locator})"


def _hops(hops: Mapping[str, Mapping[str, int]], title: str, notes: Sequence[str]) -> Table:
    """Tabulates the number of links between every two GPUs."""
    gpus = list(hops)
    rows = tuple((row, *(str(hops[row].get(column, "–")) for column in gpus)) for row in gpus)
    return Table(title, ("from \\ to", *gpus), rows, tuple(range(1, len(gpus) + 1)), tuple(notes))


def _map(outcome: FigureOutcome, voice: Voice) -> Table:
    """Tabulates lines × sizes without published numbers: our values, also as fraction of the peak."""
    sizes = sorted({row.size_bytes for row in outcome.rows if row.size_bytes})
    lines = list(dict.fromkeys(row.line for row in outcome.rows))
    at = {(row.line, format_size(row.size_bytes or 0)): row for row in outcome.rows if row.ours is not None}
    values = [row.ours for row in at.values() if row.ours is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    unit, peak = (
        outcome.figure.unit,
        " and part of the peak" if any(row.of_peak for row in at.values()) else "",
    )
    return shaded(
        f"{_title(outcome)}, {voice.measured}, {unit}{peak}",
        "method",
        (lines, list(map(format_size, sizes))),
        at,
        lambda row: _in_map(row, unit),
        lambda row: ((row.ours or 0.0) - low) / ((high - low) or 1.0),
        notes=tuple(outcome.notes),
    )


def _grid(outcome: FigureOutcome, voice: Voice) -> Table:
    """Tabulates sources × destinations: our highest value, with the published one where there is one."""
    unit = outcome.figure.unit
    at = {ends_of(row.line.rpartition(", ")[2], " > "): row for row in outcome.rows}
    sources, targets = (list(dict.fromkeys(ends[side] for ends in at)) for side in (0, 1))
    most = max((row.ours for row in outcome.rows if row.ours is not None), default=1.0)
    reasons = {row.reason: row.line.rpartition(", ")[2] for row in reversed(outcome.rows) if row.reason}
    notes = [*outcome.notes, *(f"{name}: {reason}" for reason, name in reversed(reasons.items()))]
    return shaded(
        f"{_title(outcome)}, {voice.measured} (published), {unit}",
        "from \\ to",
        (sources, targets),
        at,
        lambda row: _in_grid(row, unit),
        lambda row: None if row.ours is None else row.ours / most,
        notes=tuple(notes),
    )


def _in_grid(row: ValueRow, unit: str) -> str:
    ours = "–" if row.ours is None else number(row.ours, unit)
    return ours if row.published is None else f"{ours} ({_published_text(row, unit)})"


def _best(outcome: FigureOutcome, voice: Voice) -> Table:
    """Tabulates which line is the best of each row at each size."""
    sizes = sorted({row.size_bytes for row in outcome.rows if row.size_bytes})
    units = {contest.name: contest.unit for contest in outcome.figure.contests}
    at = {(row.group, row.size_bytes): row for row in outcome.rows}
    rows = tuple(
        (name, *(_in_best(at.get((name, size)), unit) for size in sizes)) for name, unit in units.items()
    )
    reasons = [f"{row.group}: {row.reason}" for row in outcome.rows if row.reason]
    notes = (*outcome.notes, "several names: their intervals overlap", *reasons)
    headings = ("movement", *map(format_size, sizes))
    return Table(f"{_title(outcome)}, best by size", headings, rows, notes=notes)


def _in_best(row: ValueRow | None, unit: str) -> str:
    if row is None or row.ours is None:
        return "–"
    return f"{row.line}: {number(row.ours, unit)} {unit}"


def _in_map(row: ValueRow, unit: str) -> str:
    assert row.ours is not None
    part = f" ({100 * row.of_peak:.1f} %)" if row.of_peak else ""
    return f"{number(row.ours, unit)}{part}"


def _list(outcome: FigureOutcome, voice: Voice) -> Table:
    """Tabulates one row per value: published, ours, and ours over published."""
    unit = "×" if outcome.figure.kind == "ratio" else outcome.figure.unit
    with_place = len({row.place for row in outcome.rows}) > 1
    with_other = any(row.other_count for row in outcome.rows)
    headings = [*(("place",) if with_place else ()), "method", "size", f"published, {unit}"]
    headings += [
        f"{voice.measured}, {unit}",
        "ratio",
        *(("other count",) if with_other else ()),
        "source or reason",
    ]
    noted = {note.partition(": ")[2] for note in outcome.notes} - {""}
    rows = tuple(_cells(row, unit, with_place, with_other, noted) for row in outcome.rows)
    first = int(with_place) + 1
    return Table(
        _title(outcome), tuple(headings), rows, tuple(range(first, first + 4)), notes=tuple(outcome.notes)
    )


def _cells(
    row: ValueRow, unit: str, with_place: bool, with_other: bool, noted: Collection[str]
) -> tuple[str, ...]:
    """Returns the cells of a row; reasons in `noted` are left to the notes."""
    reason = NOT_HERE if row.reason in noted else row.reason
    derived = f"derived: {row.derived}" if row.derived else ""
    ours_of = f"ours of {row.machine}" if row.machine else ""
    return (
        *((row.place,) if with_place else ()),
        row.line,
        format_size(row.size_bytes) if row.size_bytes else "not stated",
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


def _about(study: Study) -> tuple[Table, ...]:
    """Lists defects of the source and deviations of this reproduction."""
    rows = [("known error in the source", text) for text in study.defects]
    rows += [("done differently here", text) for text in study.differences]
    return (Table("About the source", ("", ""), tuple(rows)),) if rows else ()
