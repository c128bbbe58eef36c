"""Draws the figures of a study as their source does, ours and published values together, ratios below."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from byteways.explain.display.picture import Label, Panel, Picture, SeriesStroke, Spot
from byteways.explain.studies.numbers import number
from byteways.explain.studies.outcome import FigureOutcome, StudyOutcome
from byteways.explain.studies.rows import ValueRow
from byteways.studies.drawing import Drawing, DrawnValue, Track, methods_of
from byteways.units import format_size

#: Part of a group's width that its bars take.
FILLED = 0.8
#: Words of the scales in axis titles.
_SCALE = {"log": ", logarithmic", "linear": ""}


def colours_of(outcome: StudyOutcome) -> dict[str, int]:
    """Returns the colour of each method, the same in all figures of the study."""
    return methods_of([figure.drawing for figure in outcome.study.figures])


def pictures(one: FigureOutcome, outcome: StudyOutcome, colours: Mapping[str, int]) -> list[Picture]:
    """Returns the pictures of a figure: one for each scale of y, and for groups of bars with their own axis.

    A figure without any value, and one that is a matrix, has none.
    """
    make = {"lines": _lines, "bars": _bars, "tiles": _tiles}.get(one.figure.drawing.plot)
    if make is None:
        return []
    words = "simulated" if outcome.mark else "measured"
    made = make(one, words, colours, outcome.caches)
    return [picture for picture in made if any(stroke.ours or stroke.published for stroke in picture.strokes)]


def _lines(
    one: FigureOutcome, words: str, colours: Mapping[str, int], caches: Sequence[tuple[str, int]]
) -> Iterator[Picture]:
    """Yields the curves once for each scale of y."""
    drawing, unit = one.figure.drawing, one.figure.unit
    strokes = [_curve(track, one, words, colours) for track in drawing.tracks]
    sizes = [spot.x for stroke in strokes for spot in _spots(stroke)]
    marks = [Label(mark.label, mark.at) for mark in drawing.marks]
    marks += [Label(f"{name} {format_size(size)}", size) for name, size in caches if drawing.caches]
    marks = [mark for mark in marks if sizes and min(sizes) < mark.at < max(sizes)]
    for scale in drawing.y:
        x_scale = drawing.x if len(drawing.y) == 1 else scale  # of several, each has one scale on both axes
        yield Picture(
            "lines",
            _title(one) + (f", {scale}" if len(drawing.y) > 1 else ""),
            _caption(one, strokes, words),
            "size",
            f"{_unit(unit)}{_SCALE[scale]}",
            x_scale,
            scale,
            tuple(_trend(stroke) for stroke in strokes) if drawing.trends else tuple(strokes),
            tuple(_below(one, strokes, drawing, words)),
            words,
            levels=tuple(Label(level.label, level.at) for level in drawing.levels),
            marks=tuple(marks),
        )


def _curve(track: Track, one: FigureOutcome, words: str, colours: Mapping[str, int]) -> SeriesStroke:
    (cell,) = track.cells
    unit = one.figure.unit
    rows = _rows_of(cell, one)
    words = _words(words, rows)
    ours = next(
        (
            series.ours
            for series in one.series
            if (series.line, series.place) == (cell.line, cell.place)
            and (cell.line, cell.place) not in one.repeated
        ),
        (),
    )
    best = max((value for _, value in ours), default=0.0)
    peak = next((size for size, value in ours if value == best), None)
    spots = tuple(
        Spot(
            size,
            value,
            f"{format_size(size)}: {_said(value, unit)}, {words}",
            label=number(value, unit) if one.figure.drawing.maxima and size == peak else "",
        )
        for size, value in ours
    )
    return SeriesStroke(
        track.name,
        track.method,
        colours[track.method],
        track.dash,
        spots,
        _by_system(rows, unit, lambda row: float(row.size_bytes or 0)),
    )


def _bars(
    one: FigureOutcome, words: str, colours: Mapping[str, int], caches: Sequence[tuple[str, int]]
) -> Iterator[Picture]:
    """Yields the bars, and those of groups with an axis of their own in a picture beside it."""
    drawing = one.figure.drawing
    beside = tuple(group for group in drawing.groups if group not in drawing.apart)
    for groups in (beside, *((group,) for group in drawing.apart)):
        strokes, width = _grouped(one, groups, words, colours)
        yield Picture(
            "bars",
            _title(one) + (f", {groups[0]}" if drawing.apart and groups is not beside else ""),
            _caption(one, strokes, words),
            "",
            f"{_unit_of(one)}{_SCALE[drawing.y[0]]}",
            "linear",
            drawing.y[0],
            tuple(strokes),
            tuple(_below(one, strokes, drawing, words)),
            words,
            groups=groups,
            levels=tuple(Label(level.label, level.at) for level in drawing.levels),
            width=width,
        )


def _grouped(
    one: FigureOutcome, groups: Sequence[str], words: str, colours: Mapping[str, int]
) -> tuple[list[SeriesStroke], float]:
    """Returns the bars of some groups, side by side around whole numbers, and their width."""
    drawing, unit = one.figure.drawing, _unit_of(one)
    count = 1 if drawing.alone else len(drawing.tracks)
    width = FILLED / count
    first: dict[str, float] = {}  # ours of the first series by group
    strokes = []
    for index, track in enumerate(drawing.tracks):
        ours: list[Spot] = []
        published: dict[str, tuple[Spot, ...]] = {}
        for at, group in enumerate(groups):
            if drawing.alone and group != track.name:
                continue
            x = at + (0 if drawing.alone else (index - (count - 1) / 2) * width)
            cell = track.cells[0 if drawing.alone else drawing.groups.index(group)]
            rows = _rows_of(cell, one)
            known = [row for row in rows if (row.line, row.place) not in one.repeated]
            found = next((row for row in known if row.ours is not None), None)
            if found is not None and found.ours is not None:
                name = f"{group}, {track.name}" if count > 1 else group
                text = f"{name}: {_said(found.ours, unit)}, {_words(words, rows)}"
                label = _label(found, first.setdefault(group, found.ours), drawing, index)
                ours.append(Spot(x, found.ours, text, label=label))
            for system, spots in _by_system(rows, unit, lambda _, x=x: x).items():  # type: ignore[misc]
                published[system] = (*published.get(system, ()), *spots)
        strokes.append(
            SeriesStroke(track.name, track.method, colours[track.method], track.dash, tuple(ours), published)
        )
    return strokes, width


def _label(row: ValueRow, first: float, drawing: Drawing, index: int) -> str:
    if drawing.label == "of peak" and row.of_peak:
        return f"{100 * row.of_peak:.0f} %"
    if drawing.label == "speed-up" and index and row.ours:
        return f"{first / row.ours:.2f}×"
    return ""


def _tiles(
    one: FigureOutcome, words: str, colours: Mapping[str, int], caches: Sequence[tuple[str, int]]
) -> Iterator[Picture]:
    """Yields the map of the best methods: a square at every size, several where methods are alike."""
    drawing = one.figure.drawing
    groups = tuple(contest.name for contest in one.figure.contests)
    units = {contest.name: contest.unit for contest in one.figure.contests}
    spots: dict[str, list[Spot]] = {track.name: [] for track in drawing.tracks}
    track_of = {cell.line: track.name for track in drawing.tracks for cell in track.cells}
    for row in one.rows:
        if row.ours is None or row.size_bytes is None:
            continue
        known = _tied(row.line, track_of)
        for place, name in enumerate(known):
            offset = (place - (len(known) - 1) / 2) * 0.3
            alike = f" ({len(known)} alike)" if len(known) > 1 else ""
            said = f"{format_size(row.size_bytes)}, {row.group}: {name}{alike}"
            text = f"{said}, {_said(row.ours, units[row.group])}, {words}"
            spots[track_of[name]].append(Spot(row.size_bytes, groups.index(row.group) + offset, text))
    strokes = tuple(
        SeriesStroke(track.name, track.method, colours[track.method], track.dash, tuple(spots[track.name]))
        for track in drawing.tracks
        if spots[track.name]
    )
    caption = (
        f"Each square is the method that is the best at its size, {words}; squares above each other are "
        "methods whose intervals overlap. Published as a drawing without numbers."
    )
    yield Picture("tiles", _title(one), caption, "size", "", "log", "linear", strokes, (), words, groups)


def _tied(joined: str, names: Mapping[str, object]) -> list[str]:
    """Returns the methods that a row of equals names, joined by commas: names may have commas themselves."""
    found, rest = [], joined
    while rest:
        begins = [one for one in names if rest == one or rest.startswith(f"{one}, ")]
        if not begins:
            return []
        found.append(max(begins, key=len))
        rest = rest[len(found[-1]) :].removeprefix(", ")
    return found


def _words(words: str, rows: Sequence[ValueRow]) -> str:
    """Returns how our values are told, with the machine of a run beside this one."""
    machine = next((row.machine for row in rows if row.machine), "")
    return f"{words} on {machine}" if machine else words


def _rows_of(cell: DrawnValue, one: FigureOutcome) -> list[ValueRow]:
    return [
        row
        for row in one.rows
        if (row.line, row.place) == (cell.line, cell.place) and cell.size_bytes in (None, row.size_bytes)
    ]


def _by_system(
    rows: Sequence[ValueRow], unit: str, x: Callable[[ValueRow], float]
) -> dict[str, tuple[Spot, ...]]:
    """Returns the published values by the system that they were measured on."""
    found: dict[str, list[Spot]] = {}
    for row in rows:
        if row.published is None or (unit != "×" and row.size_bytes is None):
            continue
        about = "about " if row.approximate else ""
        low, high = row.published_range or (None, None)
        told = f"{about}{_said(row.published, unit)}, published{f', {row.system}' if row.system else ''}"
        text = f"{format_size(row.size_bytes)}: {told}" if row.size_bytes else told
        found.setdefault(row.system, []).append(Spot(x(row), row.published, text, low, high))
    return {system: tuple(spots) for system, spots in found.items()}


def _below(
    one: FigureOutcome, strokes: Sequence[SeriesStroke], drawing: Drawing, words: str
) -> Iterator[Panel]:
    """Yields the panels below: ours over published, and the quotients that the source draws."""
    ratios = [made for stroke in strokes if (made := _ratio(stroke, words)).published]
    if ratios:
        yield Panel("ratio", tuple(ratios), band=True)
    named = {stroke.name: stroke for stroke in strokes}
    quotients = [
        made
        for against in drawing.against
        if (made := _quotient(against.name, named[against.of], named[against.to])).ours or made.published
    ]
    if quotients:
        yield Panel(quotients[0].name if len(quotients) == 1 else "ratio", tuple(quotients), band=False)


def _ratio(stroke: SeriesStroke, words: str) -> SeriesStroke:
    """Returns ours over published at every published value; over the nearer end of a range."""
    mine = {spot.x: spot.y for spot in stroke.ours}
    found: dict[str, tuple[Spot, ...]] = {}
    for system, spots in stroke.published.items():
        made = []
        for spot in spots:
            ours = mine.get(spot.x)
            beside = spot.y
            if ours is not None and spot.low is not None and spot.high is not None:
                beside = min(max(ours, spot.low), spot.high)
            if ours is not None and beside:
                text = f"{stroke.name}: {ours / beside:.3g} × published; {spot.text}"
                made.append(Spot(spot.x, ours / beside, text))
        if made:
            found[system] = tuple(made)
    return replace(stroke, ours=(), published=found, trend=())


def _quotient(name: str, above: SeriesStroke, below: SeriesStroke) -> SeriesStroke:
    """Returns the quotient of two curves at the sizes of both: ours, and of values published at one size."""
    lower = {spot.x: spot.y for spot in below.ours}
    ours = tuple(_over(name, spot, lower[spot.x]) for spot in above.ours if lower.get(spot.x))
    under = {spot.x: spot.y for spots in below.published.values() for spot in spots}
    told = tuple(
        _over(f"{name}, published", spot, under[spot.x])
        for spots in above.published.values()
        for spot in spots
        if under.get(spot.x)
    )
    return SeriesStroke(name, name, above.colour, "solid", ours, {"": told} if told else {})


def _over(name: str, spot: Spot, under: float) -> Spot:
    return Spot(spot.x, spot.y / under, f"{format_size(round(spot.x))}: {name} {spot.y / under:.3f}")


def _trend(stroke: SeriesStroke) -> SeriesStroke:
    """Adds the straight line, time = a + b × size, that minimizes the squares of relative deviations."""
    if len(stroke.ours) < 3:
        return stroke
    weights = [1 / spot.y**2 for spot in stroke.ours]
    xs, ys = [spot.x for spot in stroke.ours], [spot.y for spot in stroke.ours]
    total = sum(weights)
    x_mean = sum(w * x for w, x in zip(weights, xs, strict=True)) / total
    y_mean = sum(w * y for w, y in zip(weights, ys, strict=True)) / total
    spread = sum(w * (x - x_mean) ** 2 for w, x in zip(weights, xs, strict=True))
    slope = sum(w * (x - x_mean) * (y - y_mean) for w, x, y in zip(weights, xs, ys, strict=True)) / spread
    line = [(x, y_mean + slope * (x - x_mean)) for x in xs]
    return replace(stroke, trend=tuple((x, y) for x, y in line if y > 0))


def _spots(stroke: SeriesStroke) -> Iterator[Spot]:
    yield from stroke.ours
    for spots in stroke.published.values():
        yield from spots


def _title(one: FigureOutcome) -> str:
    return f"{one.figure.title} ({one.figure.locator})"


def _unit_of(one: FigureOutcome) -> str:
    return "×" if one.figure.kind == "ratio" else one.figure.unit


def _unit(unit: str) -> str:
    return {"of peak": "fraction of the nominal peak", "×": "speed-up, ×"}.get(unit, unit)


def _said(value: float, unit: str) -> str:
    return f"{number(value, unit)} {'×' if unit == '×' else _unit(unit)}"


def _caption(one: FigureOutcome, strokes: Sequence[SeriesStroke], words: str) -> str:
    """Says what lines and markers are, and where the source has no numbers."""
    plot = "Bars" if one.figure.drawing.plot == "bars" else "Lines"
    told = any(stroke.published for stroke in strokes)
    text = f"{plot}: {words} here."
    if told:
        text += " Open markers: published. Below: ours over published; the band is ± 10 %."
    else:
        text += " Published as a plot without numbers."
    if one.figure.drawing.against:
        text += f" Lowest: {', '.join(against.name for against in one.figure.drawing.against)}."
    if one.figure.drawing.trends:
        text += " Thin lines: time proportional to size plus a constant, fitted to ours."
    return text
