"""Reads the figures of study.toml: which lines at which places, as a curve, a table, a matrix …"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from byteways.studies.drawing_file import read_drawing, wrong_drawing
from byteways.studies.shapes import (
    LIST_OF_TABLES,
    NUMBER_WITH_UNIT,
    NUMBERS,
    ONE_TABLE,
    SOME_TEXTS,
    STRING,
    TEXTS,
    Keys,
)
from byteways.studies.study import (
    FIGURE_KINDS,
    FIGURE_UNITS,
    Contest,
    Figure,
    Quotient,
    Study,
    StudyLine,
    StudyPlace,
)
from byteways.units import parse_size

_FIGURE = Keys(
    {"id": STRING, "title": STRING, "locator": STRING, "kind": STRING},
    {
        "lines": TEXTS,
        "unit": STRING,
        "places": TEXTS,
        "size": NUMBER_WITH_UNIT,
        "note": STRING,
        "ratios": LIST_OF_TABLES,
        "contests": LIST_OF_TABLES,
        "drawing": ONE_TABLE,
    },
)
_RATIO = Keys({"name": STRING, "of": STRING, "to": STRING}, {"published": NUMBERS, "locator": STRING})
_CONTEST = Keys({"name": STRING, "lines": SOME_TEXTS, "place": STRING}, {"unit": STRING})
#: `size` of a table of the smallest available size.
SMALLEST = "smallest"
#: Kinds with tables of their own in place of `lines`.
_OWN_LINES = {"ratio": "ratios", "best": "contests"}


def read_figure(
    entry: Mapping[str, Any], lines: Mapping[str, StudyLine], places: Mapping[str, StudyPlace]
) -> Figure:
    """Parses one figure. Raises KeyError, TypeError or ValueError if its data are invalid."""
    what = f"figure '{entry.get('id', '?')}'"
    _FIGURE.check(what, entry)
    _check_kind(what, entry)
    size, unit = entry.get("size"), entry.get("unit", "GB/s")
    ratios = tuple(_quotient(what, one) for one in entry.get("ratios", ()))
    contests = tuple(_contest(what, one, unit) for one in entry.get("contests", ()))
    named = [name for glob in entry.get("lines", ()) for name in _named(glob, lines)]
    named += [name for one in ratios for name in (one.of, one.to)]
    named += [name for one in contests for name in one.lines]
    chosen = [name for glob in entry.get("places", ["*>*"]) for name in _named(glob, places)]
    if contests:
        chosen = [one.place for one in contests]
    figure = Figure(
        entry["id"],
        entry["title"],
        entry["locator"],
        entry["kind"],
        unit,
        tuple(dict.fromkeys(named)),
        tuple(dict.fromkeys(chosen)),
        0 if size == SMALLEST else parse_size(str(size)) if size else None,
        entry.get("note", ""),
        ratios,
        contests,
    )
    return replace(figure, drawing=read_drawing(what, entry.get("drawing", {}), figure))


def _check_kind(what: str, entry: Mapping[str, Any]) -> None:
    """Raises ValueError for a table of ratios or contests that the kind has no use for, or that it lacks."""
    own = _OWN_LINES.get(entry["kind"], "lines")
    for key in ("lines", *_OWN_LINES.values()):
        if key in entry and key != own:
            raise ValueError(f"{what} of kind '{entry['kind']}' has no '{key}'")
    if own not in entry:
        raise ValueError(f"{what} has no '{own}'")


def _quotient(what: str, entry: Mapping[str, Any]) -> Quotient:
    _RATIO.check(f"a ratio of {what}", entry)
    published = entry.get("published", ())
    if len(published) not in (0, 1, 2) or list(published) != sorted(published):
        raise ValueError(f"a ratio of {what} has published = {published}: one number, or a range")
    ends = (float(published[0]), float(published[-1])) if published else None
    return Quotient(entry["name"], entry["of"], entry["to"], ends, entry.get("locator", ""))


def _contest(what: str, entry: Mapping[str, Any], unit: str) -> Contest:
    _CONTEST.check(f"a contest of {what}", entry)
    return Contest(entry["name"], tuple(entry["lines"]), entry["place"], entry.get("unit", unit))


def _named(glob: str, known: Iterable[str]) -> list[str]:
    """Returns the names that a glob matches; an unknown name is kept for an error message."""
    names = list(known)
    return [name for name in names if fnmatchcase(name, glob)] or [glob]


def wrong_in(figure: Figure, study: Study) -> Iterator[str]:
    """Yields what a figure names that the study does not define, and lines that do not fit its places."""
    strange = [f"line {name} of figure {figure.id}" for name in figure.lines if name not in study.lines]
    strange += [f"place {name} of figure {figure.id}" for name in figure.places if name not in study.places]
    units = (figure.unit, *(one.unit for one in figure.contests))
    for unit in dict.fromkeys(units):
        if figure.kind not in FIGURE_KINDS or unit not in FIGURE_UNITS:
            strange.append(f"kind {figure.kind} or unit {unit} of figure {figure.id}")
    if not figure.lines and figure.kind != "hops":
        strange.append(f"figure {figure.id} without lines")
    if not figure.places and figure.kind != "hops":
        strange.append(f"figure {figure.id} without places")
    yield from strange
    if strange:
        return
    for line, place in _pairs(figure, study):
        if not line.fits(place):
            yield _unfit(line, place, figure)
        if figure.kind == "grid" and not line.cell:
            yield f"line {line.name} of figure {figure.id} has no 'sources' and 'destinations'"
    yield from wrong_drawing(figure)


def _pairs(figure: Figure, study: Study) -> Iterator[tuple[StudyLine, StudyPlace]]:
    pairs = [(line, one.place) for one in figure.contests for line in one.lines]
    pairs = pairs or [(line, place) for line in figure.lines for place in figure.places]
    yield from ((study.lines[line], study.places[place]) for line, place in pairs)


def _unfit(line: StudyLine, place: StudyPlace, figure: Figure) -> str:
    if line.of_all_ranks != bool(place.ranks):
        has, wants = ("has", "does not take") if place.ranks else ("has no", "takes")
        return f"place {place.name} of figure {figure.id} {has} 'ranks', and line {line.name} {wants} them"
    return f"line {line.name} takes more devices than place {place.name} of figure {figure.id} has"
