"""A run that repeats a published work: its figures beside ours, and what became of its claims."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.studies.outcome import FigureOutcome, Row, StudyOutcome, outcome_of
from byteways.analyse.summary import Cell, Run
from byteways.analyse.topic import Line, Plot, PlotPoint, Table, Topic
from byteways.studies.study import Study
from byteways.units import format_size


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Of a run of `byteways reproduce`; None of any other."""
    outcome = outcome_of(run)
    return None if outcome is None else topic_of(outcome)


def topic_of(outcome: StudyOutcome) -> Topic:
    """Claims first, then the figures, then what is to be known of the source."""
    study = outcome.study
    return Topic(
        "study",
        "Published beside measured",
        f"{outcome.summary()}. {study.authors}, “{study.title}” ({study.year}), {study.address}. Figures of "
        f"ours are {statistic_of(study)}, as the source's are. {study.timing}.",
        (_claims(outcome), *(table for one in outcome.figures if (table := _figure(one))), *_about(study)),
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


def _figure(one: FigureOutcome) -> Table | None:
    if not one.rows:
        return None
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
    title = f"{one.figure.title} ({one.figure.locator})"
    return Table(title, tuple(headings), rows, tuple(range(first, first + 4)), note="; ".join(one.notes))


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
    title = f"{one.figure.title} ({one.figure.locator})"
    return Plot(
        title, caption, "size of the transfer", unit, tuple(lines), x_sizes=True, y_log=_wide(one, unit)
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
