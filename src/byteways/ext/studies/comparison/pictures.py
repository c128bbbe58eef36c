"""Draws the figures of a study as their source does, ours and published values together, ratios below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from byteways.base.units import format_size
from byteways.ext.studies.comparison.numbers import number
from byteways.ext.studies.comparison.outcome import FigureOutcome, StudyOutcome
from byteways.ext.studies.comparison.rows import ValueRow
from byteways.ext.studies.published.drawing import Drawing, DrawnValue, Track, methods_of
from byteways.questions.display.chart import (
    FILLED,
    INK,
    Axis,
    Chart,
    Panel,
    Point,
    ReferenceLine,
    Series,
    ratio_axis,
)

#: Part by which a ratio may differ from 1 within the band that is drawn around it.
BAND = 0.1
#: Markers of published values, by system.
PUBLISHED = ("circle", "diamond", "square", "triangle-up")
#: Axes of ours over published go no further than this from 1, where most ratios are within.
FARTHEST_RATIO = 2.0


@dataclass(frozen=True)
class Stroke:
    """The values of one series: ours, and the published ones by system. The colour belongs to the method."""

    name: str
    colour: int
    dash: str
    ours: tuple[Point, ...]
    published: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    trend: tuple[Point, ...] = ()  # of a straight line through `ours`


def colours_of(outcome: StudyOutcome) -> dict[str, int]:
    """Returns the colour of each method, the same in all figures of the study."""
    return methods_of([figure.drawing for figure in outcome.study.figures])


def charts_of(figure: FigureOutcome, outcome: StudyOutcome, colours: Mapping[str, int]) -> list[Chart]:
    """Returns the charts of a figure: one for each scale of y, and for groups of bars with their own axis.

    A figure without any value, and one that is a matrix, has none.
    """
    make = {"lines": _lines, "bars": _bars, "tiles": _tiles}.get(figure.figure.drawing.plot)
    if make is None:
        return []
    made = make(figure, outcome.voice.measured, colours, outcome.caches)
    return [chart for chart in made if any(series.points for series in chart.series)]


def _lines(
    outcome: FigureOutcome, words: str, colours: Mapping[str, int], caches: Sequence[ReferenceLine]
) -> Iterator[Chart]:
    """Yields the curves once for each scale of y."""
    drawing, unit = outcome.figure.drawing, outcome.figure.unit
    strokes = [_curve(track, outcome, words, colours) for track in drawing.tracks]
    sizes = [point.x for stroke in strokes for point in _all_points(stroke)]
    marks = [ReferenceLine(mark.label, mark.at) for mark in drawing.marks]
    if drawing.caches:
        marks += [replace(mark, label=f"{mark.label} {format_size(round(mark.at))}") for mark in caches]
    systems = _systems(strokes)
    for scale in drawing.y:
        x_scale = drawing.x if len(drawing.y) == 1 else scale  # of several, each has one scale on both axes
        yield Chart(
            _title(outcome) + (f", {scale}" if len(drawing.y) > 1 else ""),
            _caption(outcome, strokes, words),
            Axis("size", x_scale, "bytes"),
            Axis(_unit(unit), scale),
            tuple(_series(map(_trend, strokes) if drawing.trends else strokes, systems)),
            tuple(ReferenceLine(level.label, level.at) for level in drawing.levels),
            tuple(mark for mark in marks if sizes and min(sizes) < mark.at < max(sizes)),
            tuple(_below(outcome, strokes, drawing, systems)),
        )


def _systems(strokes: Iterable[Stroke]) -> list[str]:
    return list(dict.fromkeys(system for stroke in strokes for system in stroke.published))


def _series(
    strokes: Iterable[Stroke], systems: Sequence[str], kind: str = "", width: float = 0.0
) -> Iterator[Series]:
    """Yields ours, their trends, and the published values as open markers, named by system in the legend."""
    for stroke in strokes:
        if stroke.ours or stroke.published:
            yield Series(stroke.name, stroke.ours, kind, stroke.colour, stroke.dash, width=width)
        if stroke.trend:
            yield Series("", stroke.trend, "", stroke.colour, "dashed", "none", stroke.name)
        # On a bar of its own colour an open marker is drawn in the colour of the text.
        yield from _marks(stroke, systems, INK if kind == "bars" else stroke.colour, is_open=True)
    for system in systems:
        yield Series(_published(system), (), "points", INK, symbol=_symbol(system, systems))


def _marks(stroke: Stroke, systems: Sequence[str], colour: int, *, is_open: bool) -> Iterator[Series]:
    for system, points in stroke.published.items():
        shown = tuple(replace(point, open=is_open) for point in points)
        label, symbol = _published(system), _symbol(system, systems)
        yield Series(label, shown, "points", colour, symbol=symbol, group=stroke.name)


def _published(system: str) -> str:
    return f"published, {system}" if system else "published"


def _symbol(system: str, systems: Sequence[str]) -> str:
    return PUBLISHED[systems.index(system) % len(PUBLISHED)] if system in systems else PUBLISHED[0]


def _curve(track: Track, outcome: FigureOutcome, words: str, colours: Mapping[str, int]) -> Stroke:
    (cell,) = track.cells
    unit = outcome.figure.unit
    rows = _rows_of(cell, outcome)
    words = _words(words, rows)
    ours = next(
        (
            series.ours
            for series in outcome.series
            if (series.line, series.place) == (cell.line, cell.place)
            and (cell.line, cell.place) not in outcome.repeated
        ),
        (),
    )
    best = max((value for _, value in ours), default=0.0)
    peak = next((size for size, value in ours if value == best), None)
    points = tuple(
        Point(
            size,
            value,
            text=f"{format_size(size)}: {_said(value, unit)}, {words}",
            label=number(value, unit) if outcome.figure.drawing.maxima and size == peak else "",
        )
        for size, value in ours
    )
    return Stroke(
        track.name,
        colours[track.method],
        track.dash,
        points,
        _by_system(rows, unit, lambda row: float(row.size_bytes or 0)),
    )


def _bars(
    outcome: FigureOutcome, words: str, colours: Mapping[str, int], caches: Sequence[ReferenceLine]
) -> Iterator[Chart]:
    """Yields the bars, and those of groups with an axis of their own in a chart beside it."""
    drawing = outcome.figure.drawing
    beside = tuple(group for group in drawing.groups if group not in drawing.apart)
    for groups in (beside, *((group,) for group in drawing.apart)):
        strokes, width = _grouped(outcome, groups, words, colours)
        systems = _systems(strokes)
        yield Chart(
            _title(outcome) + (f", {groups[0]}" if drawing.apart and groups is not beside else ""),
            _caption(outcome, strokes, words),
            Axis(names=groups),
            Axis(_unit_of(outcome), drawing.y[0]),
            tuple(_series(strokes, systems, "bars", width)),
            tuple(ReferenceLine(level.label, level.at) for level in drawing.levels),
            below=tuple(_below(outcome, strokes, drawing, systems)),
        )


def _grouped(
    outcome: FigureOutcome, groups: Sequence[str], words: str, colours: Mapping[str, int]
) -> tuple[list[Stroke], float]:
    """Returns the bars of some groups, side by side around whole numbers, and their width."""
    drawing, unit = outcome.figure.drawing, _unit_of(outcome)
    count = 1 if drawing.alone else len(drawing.tracks)
    width = FILLED / count
    first: dict[str, float] = {}  # ours of the first series by group
    strokes = []
    for index, track in enumerate(drawing.tracks):
        ours: list[Point] = []
        published: dict[str, tuple[Point, ...]] = {}
        for at, group in enumerate(groups):
            if drawing.alone and group != track.name:
                continue
            x = at + (0 if drawing.alone else (index - (count - 1) / 2) * width)
            cell = track.cells[0 if drawing.alone else drawing.groups.index(group)]
            rows = _rows_of(cell, outcome)
            known = [row for row in rows if (row.line, row.place) not in outcome.repeated]
            value = next((row for row in known if row.ours is not None), None)
            if value is not None and value.ours is not None:
                name = f"{group}, {track.name}" if count > 1 else group
                text = f"{name}: {_said(value.ours, unit)}, {_words(words, rows)}"
                label = _label(value, first.setdefault(group, value.ours), drawing, index)
                ours.append(Point(x, value.ours, text=text, label=label))
            for system, points in _by_system(rows, unit, lambda _, x=x: x).items():  # type: ignore[misc]
                published[system] = (*published.get(system, ()), *points)
        strokes.append(Stroke(track.name, colours[track.method], track.dash, tuple(ours), published))
    return strokes, width


def _label(row: ValueRow, first: float, drawing: Drawing, index: int) -> str:
    if drawing.label == "of peak" and row.of_peak:
        return f"{100 * row.of_peak:.0f} %"
    if drawing.label == "speed-up" and index and row.ours:
        return f"{first / row.ours:.2f}×"
    return ""


def _tiles(
    outcome: FigureOutcome, words: str, colours: Mapping[str, int], caches: Sequence[ReferenceLine]
) -> Iterator[Chart]:
    """Yields the map of the best methods: a square at every size, several where methods are alike."""
    drawing = outcome.figure.drawing
    groups = tuple(contest.name for contest in outcome.figure.contests)
    units = {contest.name: contest.unit for contest in outcome.figure.contests}
    points: dict[str, list[Point]] = {track.name: [] for track in drawing.tracks}
    track_of = {cell.line: track.name for track in drawing.tracks for cell in track.cells}
    for row in outcome.rows:
        if row.ours is None or row.size_bytes is None:
            continue
        known = _tied(row.line, track_of)
        for place, name in enumerate(known):
            offset = (place - (len(known) - 1) / 2) * 0.3
            alike = f" ({len(known)} alike)" if len(known) > 1 else ""
            said = f"{format_size(row.size_bytes)}, {row.group}: {name}{alike}"
            text = f"{said}, {_said(row.ours, units[row.group])}, {words}"
            points[track_of[name]].append(Point(row.size_bytes, groups.index(row.group) + offset, text=text))
    series = tuple(
        Series(track.name, tuple(points[track.name]), "points", colours[track.method], symbol="square")
        for track in drawing.tracks
        if points[track.name]
    )
    caption = (
        f"Each square marks the best method at its size, {words}; stacked squares are methods whose "
        f"intervals overlap. Published as a drawing without numbers."
    )
    yield Chart(_title(outcome), caption, Axis("size", "log", "bytes"), Axis(names=groups), series)


def _tied(joined: str, names: Mapping[str, object]) -> list[str]:
    """Returns the methods that a row of equals names, joined by commas: names may have commas themselves."""
    methods, rest = [], joined
    while rest:
        begins = [name for name in names if rest == name or rest.startswith(f"{name}, ")]
        if not begins:
            return []
        methods.append(max(begins, key=len))
        rest = rest[len(methods[-1]) :].removeprefix(", ")
    return methods


def _words(words: str, rows: Sequence[ValueRow]) -> str:
    """Returns how our values are told, with the machine of a run beside this one."""
    machine = next((row.machine for row in rows if row.machine), "")
    return f"{words} on {machine}" if machine else words


def _rows_of(cell: DrawnValue, outcome: FigureOutcome) -> list[ValueRow]:
    return [
        row
        for row in outcome.rows
        if (row.line, row.place) == (cell.line, cell.place) and cell.size_bytes in (None, row.size_bytes)
    ]


def _by_system(
    rows: Sequence[ValueRow], unit: str, x: Callable[[ValueRow], float]
) -> dict[str, tuple[Point, ...]]:
    """Returns the published values by the system that they were measured on."""
    systems: dict[str, list[Point]] = {}
    for row in rows:
        if row.published is None or (unit != "×" and row.size_bytes is None):
            continue
        about = "about " if row.approximate else ""
        low, high = row.published_range or (None, None)
        value = f"{about}{_said(row.published, unit)}, published{f', {row.system}' if row.system else ''}"
        text = f"{format_size(row.size_bytes)}: {value}" if row.size_bytes else value
        systems.setdefault(row.system, []).append(Point(x(row), row.published, low, high, text))
    return {system: tuple(points) for system, points in systems.items()}


def _below(
    outcome: FigureOutcome, strokes: Sequence[Stroke], drawing: Drawing, systems: Sequence[str]
) -> Iterator[Panel]:
    """Yields the panels below: ours over published, and the quotients that the source draws."""
    ratios = [
        series
        for stroke in strokes
        for series in _marks(_ratio(stroke), systems, stroke.colour, is_open=False)
    ]
    at_one = (ReferenceLine("", 1.0),)
    if ratios:
        band = round(1 - BAND, 3), round(1 + BAND, 3)
        yield Panel(ratio_axis("ratio", ratios, FARTHEST_RATIO), tuple(ratios), at_one, band)
    named = {stroke.name: stroke for stroke in strokes}
    quotients = [_quotient(each.name, named[each.of], named[each.to]) for each in drawing.against]
    made = [series for each in quotients for series in _quotient_series(each)]
    if made:
        names = [each.name for each in quotients if each.ours or each.published]
        label = names[0] if len(names) == 1 else "ratio"
        yield Panel(ratio_axis(label, made), tuple(made), at_one)


def _quotient_series(quotient: Stroke) -> Iterator[Series]:
    if quotient.ours:
        group = quotient.name
        yield Series("", quotient.ours, "", quotient.colour, quotient.dash, group=group)
    yield from _marks(quotient, (), quotient.colour, is_open=True)


def _ratio(stroke: Stroke) -> Stroke:
    """Returns ours over published at every published value; over the nearer end of a range."""
    mine = {point.x: point.y for point in stroke.ours}
    ratios: dict[str, tuple[Point, ...]] = {}
    for system, points in stroke.published.items():
        made = []
        for point in points:
            ours = mine.get(point.x)
            beside = point.y
            if ours is not None and point.low is not None and point.high is not None:
                beside = min(max(ours, point.low), point.high)
            if ours is not None and beside:
                text = f"{ours / beside:.3g} × published; {point.text}"
                made.append(Point(point.x, ours / beside, text=text))
        if made:
            ratios[system] = tuple(made)
    return replace(stroke, ours=(), published=ratios, trend=())


def _quotient(name: str, above: Stroke, below: Stroke) -> Stroke:
    """Returns the quotient of two curves at the sizes of both: ours, and of values published at one size."""
    lower = {point.x: point.y for point in below.ours}
    ours = tuple(_over(point, lower[point.x]) for point in above.ours if lower.get(point.x))
    under = {point.x: point.y for points in below.published.values() for point in points}
    quotients = tuple(
        _over(point, under[point.x], ", published")
        for points in above.published.values()
        for point in points
        if under.get(point.x)
    )
    return Stroke(name, above.colour, "solid", ours, {"": quotients} if quotients else {})


def _over(point: Point, under: float, words: str = "") -> Point:
    text = f"{format_size(round(point.x))}: {point.y / under:.3f}{words}"
    return Point(point.x, point.y / under, text=text)


def _trend(stroke: Stroke) -> Stroke:
    """Adds the straight line, time = a + b × size, that minimizes the squares of relative deviations."""
    if len(stroke.ours) < 3:
        return stroke
    weights = [1 / point.y**2 for point in stroke.ours]
    xs, ys = [point.x for point in stroke.ours], [point.y for point in stroke.ours]
    total = sum(weights)
    x_mean = sum(w * x for w, x in zip(weights, xs, strict=True)) / total
    y_mean = sum(w * y for w, y in zip(weights, ys, strict=True)) / total
    spread = sum(w * (x - x_mean) ** 2 for w, x in zip(weights, xs, strict=True))
    slope = sum(w * (x - x_mean) * (y - y_mean) for w, x, y in zip(weights, xs, ys, strict=True)) / spread
    line = (Point(x, y_mean + slope * (x - x_mean)) for x in xs)
    return replace(stroke, trend=tuple(point for point in line if point.y > 0))


def _all_points(stroke: Stroke) -> Iterator[Point]:
    yield from stroke.ours
    for points in stroke.published.values():
        yield from points


def _title(outcome: FigureOutcome) -> str:
    return f"{outcome.figure.title} ({outcome.figure.locator})"


def _unit_of(outcome: FigureOutcome) -> str:
    return "×" if outcome.figure.kind == "ratio" else outcome.figure.unit


def _unit(unit: str) -> str:
    return {"of peak": "fraction of the nominal peak", "×": "speed-up, ×"}.get(unit, unit)


def _said(value: float, unit: str) -> str:
    return f"{number(value, unit)} {'×' if unit == '×' else _unit(unit)}"


def _caption(outcome: FigureOutcome, strokes: Sequence[Stroke], words: str) -> str:
    """Says what lines and markers are, and where the source has no numbers."""
    plot = "Bars" if outcome.figure.drawing.plot == "bars" else "Lines"
    has_published = any(stroke.published for stroke in strokes)
    text = f"{plot}: {words} here."
    if has_published:
        text += " Open markers: published. Below: ours over published; the band is ± 10 %."
    else:
        text += " Published as a plot without numbers."
    if outcome.figure.drawing.against:
        text += f" Lowest: {', '.join(against.name for against in outcome.figure.drawing.against)}."
    if outcome.figure.drawing.trends:
        text += " Thin lines: time proportional to size plus a constant, fitted to ours."
    return text
