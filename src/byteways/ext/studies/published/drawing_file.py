"""Reads how a figure is drawn: the table `drawing` of a figure in study.toml, or what its kind suggests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from msgspec import Meta, Struct

from byteways.base.toml_reading import Quantity, TomlPlace
from byteways.base.units import parse_size
from byteways.ext.studies.published.drawing import PLOT_OF, Against, Drawing, DrawnValue, Level, Track
from byteways.ext.studies.published.study import Figure

Scale = Literal["log", "linear"]


class SeriesTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a series: `LINE/SIZE` is of one size."""

    name: str
    lines: Annotated[list[str], Meta(min_length=1)]
    places: Annotated[tuple[str, ...], Meta(min_length=1)] = ("*",)
    method: str | None = None  # None: the name
    dash: Literal["solid", "dashed", "dotted"] = "solid"


class MarkTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a line across the plot."""

    label: str
    at: Quantity


class DrawingTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a drawing; Drawing explains them. Defaults follow from the figure's kind."""

    plot: Literal["lines", "bars", "matrix", "tiles"] | None = None
    x: Scale = "log"
    y: Scale | list[Scale] = "linear"
    series: list[SeriesTable] | None = None
    groups: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    levels: list[MarkTable] = []
    marks: list[MarkTable] = []
    caches: bool = False
    maxima: bool = False
    trends: bool = False
    label: Literal["", "of peak", "speed-up"] = ""
    rows: Literal["downwards", "upwards"] = "downwards"
    diagonal: bool = True
    unit: Literal["", "GiB/s"] = ""
    against: tuple[Against, ...] = ()


#: Keys that drawings have as their tables do.
_AS_WRITTEN = ("x", "apart", "caches", "maxima", "trends", "label", "rows", "diagonal", "unit", "against")


def read_drawing(place: TomlPlace, table: DrawingTable, figure: Figure) -> Drawing:
    """Returns the drawing of a figure; an empty table draws what the figure's kind suggests.

    Raises:
        BytewaysError: The drawing contradicts its figure or itself.
    """
    plot = table.plot or PLOT_OF.get(figure.kind, "lines")
    if table.unit and figure.unit != "GB/s":
        place.fail("unit", f"'{table.unit}' is no unit of values in {figure.unit}")
    drawing = Drawing(
        plot=plot,
        y=(table.y,) if isinstance(table.y, str) else tuple(table.y),
        tracks=tuple(_tracks(place, table, figure, plot)),
        groups=table.groups or _groups(figure, plot),
        alone=plot == "bars" and table.series is None and not figure.ratios and len(figure.places) == 1,
        levels=tuple(Level(one.label, place.converted("levels", float, one.at)) for one in table.levels),
        marks=tuple(
            Level(one.label, float(place.converted("marks", parse_size, str(one.at)))) for one in table.marks
        ),
        **{key: getattr(table, key) for key in _AS_WRITTEN},
    )
    _check(place, drawing)
    return drawing


def _tracks(own: TomlPlace, table: DrawingTable, figure: Figure, plot: str) -> Iterator[Track]:
    """Yields the series: those of the file, or every line at every place."""
    if table.series is not None:
        for one in table.series:
            cells = own.converted("series", lambda one: tuple(_cells(one, figure)), one)
            yield Track(one.name, cells, one.method or one.name, one.dash)
    elif figure.ratios:
        cells = tuple(DrawnValue(one.name, place) for place in figure.places for one in figure.ratios)
        yield Track("speed-up", cells, "speed-up")
    elif plot == "lines":
        many = len(figure.places) > 1
        for place in figure.places:
            for name in figure.lines:
                yield Track(f"{name}, {place}" if many else name, (DrawnValue(name, place),), name)
    elif plot == "bars":
        for name in figure.lines:
            yield Track(name, tuple(DrawnValue(name, place) for place in figure.places), name)
    elif plot == "tiles":
        for name in dict.fromkeys(name for one in figure.contests for name in one.lines):
            yield Track(name, (DrawnValue(name, figure.places[0]),), name)


def _cells(series: SeriesTable, figure: Figure) -> Iterator[DrawnValue]:
    """Yields the values of a series at its places, or at the figure's."""
    for place in _named(series.places, figure.places):
        for text in series.lines:
            glob, _, size = text.partition("/")
            for line in _named([glob], figure.lines):
                yield DrawnValue(line, place, parse_size(size) if size else None)


def _named(globs: Sequence[str], known: Sequence[str]) -> list[str]:
    """Returns what the globs match, in their order; an unknown name is kept for an error message."""
    return [
        name
        for glob in globs
        for name in [one for one in known if one == glob or fnmatchcase(one, glob)] or [glob]
    ]


def _groups(figure: Figure, plot: str) -> tuple[str, ...]:
    if plot != "bars":
        return ()
    if figure.ratios:
        many = len(figure.places) > 1
        return tuple(
            f"{one.name}, {place}" if many else one.name for place in figure.places for one in figure.ratios
        )
    return figure.places if len(figure.places) > 1 else figure.lines


def _check(place: TomlPlace, drawing: Drawing) -> None:
    """Checks that names of series and groups are unique and known."""
    names = [track.name for track in drawing.tracks]
    if len(names) != len(set(names)):
        place.fail("series", "two series have one name")
    if unknown := [group for group in drawing.apart if group not in drawing.groups]:
        place.fail("apart", f"'{unknown[0]}' is none of the groups")
    for one in drawing.against:
        for end, name in (("of", one.of), ("to", one.to)):
            if name not in names:
                place.fail("against", f"{end} = '{name}' is none of the series")


def wrong_drawing(figure: Figure) -> Iterator[str]:
    """Yields the values that a drawing shows and its figure does not have, and series of a wrong length."""
    drawing = figure.drawing
    lines = {one.name for one in figure.ratios} or {*figure.lines}
    wanted = {"lines": 1, "bars": 1 if drawing.alone else len(drawing.groups)}.get(drawing.plot)
    for track in drawing.tracks:
        for cell in track.cells:
            if cell.line not in lines or cell.place not in figure.places:
                yield f"{cell.line} at {cell.place}, which figure {figure.id} draws and does not have"
        if wanted is not None and len(track.cells) != wanted:
            count = len(track.cells)
            yield f"series '{track.name}' of figure {figure.id} has {count} values, and {wanted} are drawn"
