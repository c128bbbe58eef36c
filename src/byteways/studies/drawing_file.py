"""Reads how a figure is drawn: the table `drawing` of a figure in study.toml, or what its kind suggests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from byteways.studies.drawing import (
    BAR_LABELS,
    DRAWING_DASHES,
    ORDERS_OF_ROWS,
    PER_GB,
    PLOT_OF,
    PLOTS,
    SCALES,
    Against,
    Drawing,
    DrawnValue,
    Level,
    Track,
)
from byteways.studies.shapes import (
    ANY_NUMBER,
    FLAG,
    LIST_OF_TABLES,
    NUMBER_WITH_UNIT,
    ONE_OR_TEXTS,
    SOME_TEXTS,
    STRING,
    TEXTS,
    Keys,
)
from byteways.studies.study import Figure
from byteways.units import parse_size

_DRAWING = Keys(
    {},
    {
        **dict.fromkeys(("plot", "x", "label", "rows", "unit"), STRING),
        "y": ONE_OR_TEXTS,
        **dict.fromkeys(("groups", "apart"), TEXTS),
        **dict.fromkeys(("series", "levels", "marks", "against"), LIST_OF_TABLES),
        **dict.fromkeys(("caches", "maxima", "trends", "diagonal"), FLAG),
    },
)
_SERIES = Keys(
    {"name": STRING, "lines": SOME_TEXTS}, {"places": SOME_TEXTS, "method": STRING, "dash": STRING}
)
_LEVEL = Keys({"label": STRING, "at": ANY_NUMBER}, {})
_MARK = Keys({"label": STRING, "at": NUMBER_WITH_UNIT}, {})
_AGAINST = Keys({"name": STRING, "of": STRING, "to": STRING}, {})


def read_drawing(what: str, entry: Mapping[str, Any], figure: Figure) -> Drawing:
    """Parses the table `drawing` of a figure; an empty one draws what the figure's kind suggests.

    Raises:
        ValueError: A key, a word, or the number of values of a series is wrong.
    """
    what = f"the drawing of {what}"
    _DRAWING.check(what, entry)
    plot = entry.get("plot", PLOT_OF.get(figure.kind, "lines"))
    y = entry.get("y", "linear")
    scales = (y,) if isinstance(y, str) else tuple(y)
    _words(what, "plot", (plot,), PLOTS)
    _words(what, "x", (entry.get("x", "log"),), SCALES)
    _words(what, "y", scales, SCALES)
    _words(what, "label", (entry.get("label", ""),), BAR_LABELS)
    _words(what, "unit", (entry.get("unit", ""),), ("", *PER_GB))
    if "unit" in entry and figure.unit != "GB/s":
        raise ValueError(f"{what} has unit = '{entry['unit']}', and its values are in {figure.unit}")
    _words(what, "rows", (entry.get("rows", "downwards"),), ORDERS_OF_ROWS)
    tracks = tuple(_tracks(what, entry, figure, plot))
    groups = tuple(entry.get("groups", ())) or _groups(figure, plot)
    against = tuple(_against(what, one, tracks) for one in entry.get("against", ()))
    drawing = Drawing(
        plot,
        entry.get("x", "log"),
        scales,
        tracks,
        groups,
        _alone(entry, figure, plot),
        tuple(entry.get("apart", ())),
        tuple(_level(what, one, _LEVEL) for one in entry.get("levels", ())),
        tuple(_level(what, one, _MARK) for one in entry.get("marks", ())),
        entry.get("caches", False),
        entry.get("maxima", False),
        entry.get("trends", False),
        entry.get("label", ""),
        entry.get("rows", "downwards"),
        entry.get("diagonal", True),
        entry.get("unit", ""),
        against,
    )
    _check(what, drawing)
    return drawing


def _words(what: str, key: str, found: Sequence[str], known: Sequence[str]) -> None:
    if wrong := [word for word in found if word not in known]:
        told = ", ".join(word for word in known if word)
        raise ValueError(f"{what} has {key} = '{wrong[0]}': expected one of {told}")


def _tracks(what: str, entry: Mapping[str, Any], figure: Figure, plot: str) -> Iterator[Track]:
    """Yields the series: those of the file, or every line at every place."""
    if "series" in entry:
        for one in entry["series"]:
            _SERIES.check(f"a series of {what}", one)
            _words(f"series '{one['name']}' of {what}", "dash", (one.get("dash", "solid"),), DRAWING_DASHES)
            cells = tuple(_cells(one, figure))
            yield Track(one["name"], cells, one.get("method", one["name"]), one.get("dash", "solid"))
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


def _cells(entry: Mapping[str, Any], figure: Figure) -> Iterator[DrawnValue]:
    """Yields the values of a series at its places, or at the figure's; `LINE/SIZE` is of one size."""
    for place in _named(entry.get("places", ["*"]), figure.places):
        for text in entry["lines"]:
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


def _alone(entry: Mapping[str, Any], figure: Figure, plot: str) -> bool:
    """Whether each line is a bar of its own: lines at one place, without series."""
    return plot == "bars" and "series" not in entry and not figure.ratios and len(figure.places) == 1


def _level(what: str, entry: Mapping[str, Any], keys: Keys) -> Level:
    keys.check(f"a mark of {what}", entry)
    at = entry["at"]
    return Level(entry["label"], float(parse_size(str(at)) if keys is _MARK else at))


def _against(what: str, entry: Mapping[str, Any], tracks: Sequence[Track]) -> Against:
    _AGAINST.check(f"a quotient of {what}", entry)
    names = [track.name for track in tracks]
    for end in ("of", "to"):
        if entry[end] not in names:
            raise ValueError(f"a quotient of {what} has {end} = '{entry[end]}', which is no series of it")
    return Against(entry["name"], entry["of"], entry["to"])


def _check(what: str, drawing: Drawing) -> None:
    """Raises ValueError for series of one name, and for a group that is none."""
    names = [track.name for track in drawing.tracks]
    if len(names) != len(set(names)):
        raise ValueError(f"{what} has two series of one name")
    if unknown := [group for group in drawing.apart if group not in drawing.groups]:
        raise ValueError(f"{what} has apart = '{unknown[0]}', which is none of its groups")


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
