"""A run that repeats a published work: its figures beside ours, and what became of its claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from byteways.analyse.studies.outcome import FigureOutcome, Row, StudyOutcome, outcome_of
from byteways.analyse.summary import Cell, Run
from byteways.analyse.topic import Line, Plot, PlotPoint, Table, Topic
from byteways.studies.study import Study
from byteways.units import format_size


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Of a run of `byteways reproduce`; None of any other."""
    outcome = outcome_of(run)
    return None if outcome is None else topic_of(outcome)


def repeated(run: Run) -> str:
    """For the first screen: the work and what became of its claims; '' of other runs."""
    outcome = outcome_of(run)
    if outcome is None:
        return ""
    study = outcome.study
    return f"Repeats {study.authors}, “{study.title}” ({study.year}). {outcome.summary()}."


def topic_of(outcome: StudyOutcome) -> Topic:
    """Claims first, then the figures, then what is to be known of the source."""
    study = outcome.study
    return Topic(
        "study",
        "Published beside measured",
        f"{outcome.summary()}. {study.authors}, “{study.title}” ({study.year}), {study.address}. Figures of "
        f"ours are {statistic_of(study)}, as the source's are. {study.timing}.",
        (_claims(outcome), *(table for one in outcome.figures for table in _figure(one)), *_about(study)),
        tuple(plot for one in outcome.figures if (plot := _plot(one))),
    )


def statistic_of(study: Study) -> str:
    """In words, as it stands in a sentence."""
    return {"mean": "means", "max": "the best of all samples", "median": "medians"}.get(
        study.statistic, "medians (the source does not say what its are)"
    )


def _claims(outcome: StudyOutcome) -> Table:
    rows = tuple(
        (one.verdict, _with_note(one.claim.says, one.claim.note), one.claim.locator, one.detail)
        for one in outcome.verdicts
    )
    note = ""
    if any(one.verdict == "built in" for one in outcome.verdicts):
        note = f"Built in: {outcome.fitted}, so that a claim that holds there tests nothing."
    return Table("Claims", ("verdict", "the source says", "where", "measured"), rows, note=note)


def _with_note(says: str, note: str) -> str:
    return f"“{says}” ({note})" if note else f"“{says}”"


def _figure(one: FigureOutcome) -> list[Table]:
    """The tables of a figure, by its kind."""
    if one.figure.kind == "hops":
        return [_hops(one)] if one.hops else []
    if not one.rows:
        return []
    if one.figure.kind == "matrix":
        return _matrices(one)
    return [_map(one) if one.figure.kind == "map" else _list(one)]


def _title(one: FigureOutcome) -> str:
    return f"{one.figure.title} ({one.figure.locator})"


def _hops(one: FigureOutcome) -> Table:
    """Links on the way between every two GPUs."""
    gpus = list(one.hops)
    rows = tuple((row, *(str(one.hops[row].get(column, "–")) for column in gpus)) for row in gpus)
    return Table(_title(one), ("from \\ to", *gpus), rows, tuple(range(1, len(gpus) + 1)))


def _matrices(one: FigureOutcome) -> list[Table]:
    """Every pair of agents: published, ours, and ours over published, those of them that there are."""
    ends = [row.place.split(">") for row in one.rows]
    sources, targets = (list(dict.fromkeys(pair[side] for pair in ends)) for side in (0, 1))
    by_place = {row.place: row for row in one.rows}
    tables = []
    kinds: tuple[tuple[str, Callable[[Row], float | None], str], ...] = (
        ("published", lambda row: row.published, one.figure.unit),
        ("measured", lambda row: row.ours, one.figure.unit),
        ("measured over published", lambda row: row.ratio, ""),
    )
    for what, pick, unit in kinds:
        numbers = [[pick(by_place[f"{source}>{target}"]) for target in targets] for source in sources]
        known = [value for row in numbers for value in row if value is not None]
        if not known:
            continue
        rows = tuple(
            (source, *("–" if value is None else _in_matrix(value, unit) for value in row))
            for source, row in zip(sources, numbers, strict=True)
        )
        heat = tuple((None, *(value and value / max(known) for value in row)) for row in numbers)
        title = f"{_title(one)}, {what}{', ' + unit if unit else ''}"
        note = "; ".join(one.notes) if what == "measured" else ""
        columns = tuple(range(1, len(targets) + 1))
        tables.append(Table(title, ("from \\ to", *targets), rows, columns, note, heat))
    return tables


def _in_matrix(value: float, unit: str) -> str:
    return number(value, unit) if unit else f"{value:.2f}"


def _map(one: FigureOutcome) -> Table:
    """Lines by sizes, which no number was printed of: ours."""
    sizes = sorted({row.size_bytes for row in one.rows if row.size_bytes})
    lines = list(dict.fromkeys(row.line for row in one.rows))
    found = {(row.line, row.size_bytes): row.ours for row in one.rows}
    greatest = max((value for value in found.values() if value), default=1.0)
    rows, heat = [], []
    for line in lines:
        values = [found.get((line, size)) for size in sizes]
        texts = ("–" if value is None else number(value, one.figure.unit) for value in values)
        rows.append((line, *texts))
        heat.append((None, *(value and value / greatest for value in values)))
    title = f"{_title(one)}, measured, {one.figure.unit}"
    columns = tuple(range(1, len(sizes) + 1))
    headings = ("method", *map(format_size, sizes))
    return Table(title, headings, tuple(rows), columns, "; ".join(one.notes), tuple(heat))


def _list(one: FigureOutcome) -> Table:
    """A row a figure: published, ours, and ours over published."""
    unit = one.figure.unit
    with_place = len({row.place for row in one.rows}) > 1
    with_other = any(row.other_count for row in one.rows)
    headings = [*(("place",) if with_place else ()), "method", "size", f"published, {unit}"]
    headings += [
        f"measured, {unit}",
        "ratio",
        *(("the other count",) if with_other else ()),
        "source or reason",
    ]
    rows = tuple(_cells(row, unit, with_place, with_other) for row in one.rows)
    first = int(with_place) + 1
    notes = "; ".join(one.notes)
    return Table(_title(one), tuple(headings), rows, tuple(range(first, first + 4)), note=notes)


def _cells(row: Row, unit: str, with_place: bool, with_other: bool) -> tuple[str, ...]:
    about = "about " if row.approximate else ""
    return (
        *((row.place,) if with_place else ()),
        row.line,
        format_size(row.size_bytes) if row.size_bytes else "not stated",
        "–" if row.published is None else f"{about}{number(row.published, unit)}",
        "–" if row.ours is None else number(row.ours, unit),
        "–" if row.ratio is None else f"{row.ratio:.3f}",
        *((row.other_count,) if with_other else ()),
        "; ".join(part for part in (row.system, row.reason) if part),
    )


def number(value: float, unit: str) -> str:
    """Four significant digits; a fraction with the three decimals that it is printed with."""
    if unit == "of peak":
        return f"{value:.3f}"
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _about(study: Study) -> tuple[Table, ...]:
    """Defects of the source and what is done otherwise here."""
    rows = [("known defect of the source", text) for text in study.defects]
    rows += [("done otherwise here", text) for text in study.differences]
    return (Table("About the source", ("", ""), tuple(rows)),) if rows else ()


def _plot(one: FigureOutcome) -> Plot | None:
    """A curve with the source's points as marks."""
    lines: list[Line] = []
    unit = one.figure.unit
    for series in one.series:
        if series.ours:
            lines.append(Line(series.label, _points(series.ours, unit)))
        for system, points in series.published.items():
            lines.append(Line(f"{series.label}, {system}, published", _points(points, unit), published=True))
    if not lines:
        return None
    caption = "Marks without a line are published figures; what has none was published as a plot only."
    return Plot(
        _title(one), caption, "size of the transfer", unit, tuple(lines), x_sizes=True, y_log=_wide(one, unit)
    )


def _wide(one: FigureOutcome, unit: str) -> bool:
    """Whether figures of one size lie so far apart that a linear axis would press some to the floor."""
    last = [series.ours[-1][1] for series in one.series if series.ours]
    return unit == "GB/s" and bool(last) and max(last) > 10 * min(last)


def _points(points: Sequence[tuple[int, float]], unit: str) -> tuple[PlotPoint, ...]:
    return tuple(
        PlotPoint(size, value, value, value, f"{format_size(size)}: {number(value, unit)} {unit}")
        for size, value in points
    )
