"""Reads the figures of study.toml: which lines at which places, as a curve, a table, a matrix …"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Annotated

from msgspec import Meta, Struct

from byteways.base.toml_reading import Finite, Quantity, TomlPlace
from byteways.base.units import parse_size
from byteways.ext.studies.published.drawing_file import DrawingTable, read_drawing, wrong_drawing
from byteways.ext.studies.published.study import (
    Contest,
    Figure,
    FigureKind,
    FigureUnit,
    Quotient,
    Study,
    StudyLine,
    StudyPlace,
)

#: `size` of a table of the smallest available size.
SMALLEST = "smallest"
#: Kinds with tables of their own in place of `lines`.
_OWN_LINES = {"ratio": "ratios", "best": "contests"}


class RatioTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a quotient of two lines."""

    name: str
    of: str
    to: str
    published: list[Finite] = []
    locator: str = ""


class ContestTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a row of a map of best interfaces."""

    name: str
    lines: Annotated[tuple[str, ...], Meta(min_length=1)]
    place: str
    unit: FigureUnit | None = None


class FigureTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a figure; Figure explains those that it has, too."""

    id: str
    title: str
    locator: str
    kind: FigureKind
    lines: list[str] | None = None
    unit: FigureUnit = "GB/s"
    places: tuple[str, ...] = ("*>*",)
    size: Quantity = ""
    note: str = ""
    ratios: list[RatioTable] | None = None
    contests: list[ContestTable] | None = None
    drawing: DrawingTable = DrawingTable()


def read_figure(
    place: TomlPlace, table: FigureTable, lines: Mapping[str, StudyLine], places: Mapping[str, StudyPlace]
) -> Figure:
    """Returns one figure. Raises BytewaysError if its keys contradict each other."""
    _check_kind(place, table)
    ratios = tuple(
        _quotient(place.below("ratios", index), one) for index, one in enumerate(table.ratios or ())
    )
    contests = tuple(
        Contest(one.name, one.lines, one.place, one.unit or table.unit) for one in table.contests or ()
    )
    named = [name for glob in table.lines or () for name in _named(glob, lines)]
    named += [name for one in ratios for name in (one.of, one.to)]
    named += [name for one in contests for name in one.lines]
    chosen = [name for glob in table.places for name in _named(glob, places)]
    if contests:
        chosen = [one.place for one in contests]
    figure = Figure(
        table.id,
        table.title,
        table.locator,
        table.kind,
        table.unit,
        tuple(dict.fromkeys(named)),
        tuple(dict.fromkeys(chosen)),
        _size(place, table.size),
        table.note,
        ratios,
        contests,
    )
    return replace(figure, drawing=read_drawing(place.below("drawing"), table.drawing, figure))


def _size(place: TomlPlace, size: Quantity) -> int | None:
    if size == SMALLEST:
        return 0
    return place.converted("size", parse_size, str(size)) if size else None


def _check_kind(place: TomlPlace, table: FigureTable) -> None:
    """Checks that a figure has the table of ratios or contests of its kind, and no other."""
    own = _OWN_LINES.get(table.kind, "lines")
    for key in ("lines", *_OWN_LINES.values()):
        if key in place.value and key != own:
            place.fail(key, f"a figure of kind '{table.kind}' has none")
    if own not in place.value:
        place.fail(own, "missing")


def _quotient(place: TomlPlace, table: RatioTable) -> Quotient:
    ends = table.published
    if len(ends) > 2 or ends != sorted(ends):
        place.fail("published", f"{ends} is neither one number nor a range")
    return Quotient(table.name, table.of, table.to, (ends[0], ends[-1]) if ends else None, table.locator)


def _named(glob: str, known: Iterable[str]) -> list[str]:
    """Returns the names that a glob matches; an unknown name is kept for an error message."""
    names = list(known)
    return [name for name in names if fnmatchcase(name, glob)] or [glob]


def wrong_in(figure: Figure, study: Study) -> Iterator[str]:
    """Yields what a figure names that the study does not define, and lines that do not fit its places."""
    strange = [f"line {name} of figure {figure.id}" for name in figure.lines if name not in study.lines]
    strange += [f"place {name} of figure {figure.id}" for name in figure.places if name not in study.places]
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
