"""Reads a study from its folder: study.toml, suite.toml, claims.toml and published.csv.

A study is data that its author writes by hand, so everything that would stand for nothing is told with its
file: a key that no study has, a line or place that is not there, a letter without an agent.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from byteways.errors import BytewaysError
from byteways.files import MOST_TOML_BYTES, read_text
from byteways.plan.interfaces import INTERFACES
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite
from byteways.plan.toml_files import read_toml
from byteways.plan.words import closest
from byteways.studies import names
from byteways.studies.file_types import check_claims, check_study
from byteways.studies.reference import parts, references
from byteways.studies.study import (
    KINDS,
    LETTERS,
    ORDERS,
    UNITS,
    Claim,
    Ends,
    Figure,
    Line,
    Place,
    Study,
)
from byteways.studies.values import FILE, STATISTICS, Value, read_values
from byteways.units import parse_size

if TYPE_CHECKING:
    from importlib.abc import Traversable

_Keys = tuple[tuple[str, ...], tuple[str, ...]]
#: Keys of study.toml and of the tables in it, those that must be there first.
_STUDY = (
    (
        *("title", "authors", "year", "address", "about", "sources", "models", "statistic", "timing"),
        *("places", "lines", "figures"),
    ),
    ("ambient", "defects", "differences", "grid", "hosts"),
)
_PLACE = (("devices", "meaning"), ("rank", "model", "order"))
_LINE = (
    ("says", "interface", "executor"),
    (
        *("source", "destination", "buffer", "second_source", "pattern", "cache", "environment", "options"),
        *("together", "count", "submits", "published", "each", "note"),
    ),
)
_FIGURE = (("id", "title", "locator", "kind", "lines"), ("unit", "places", "size", "note"))
_CLAIM = (("id", "says", "locator", "check"), ("note",))
_BOUNDS = ("about", "within", "at_least", "at_most", "unit")
_CHECK: Mapping[str, _Keys] = {
    "value": (("of",), (*_BOUNDS, "published")),
    "ratio": (("of", "to"), (*_BOUNDS, "over")),
    "spread": (("of", "over", "at_most"), ("unit", "across")),
    "order": (("of",), ("unit", "margin")),
    "reaches": (("of", "size"), ("level", "of_best", "factor")),
}
GUIDE = "docs/guides/reproduce-a-study.md says what a study consists of"
Made = TypeVar("Made")


def load(name_or_folder: str) -> Study:
    """A study that comes with byteways, or one in a folder.

    Raises:
        BytewaysError: There is none of this name, or its files are wrong.
    """
    if name_or_folder in names():
        return _shipped(name_or_folder)
    folder = Path(name_or_folder)
    if "/" not in name_or_folder and not (folder / "study.toml").is_file():
        raise BytewaysError(f"unknown study '{name_or_folder}'", hint=closest(name_or_folder, names()))
    return replace(read(folder, folder.resolve().name), folder=str(folder.resolve()))


@cache
def _shipped(key: str) -> Study:
    return read(resources.files("byteways.studies") / key, key)


def read(folder: Traversable, key: str) -> Study:
    """The study in a folder.

    Raises:
        BytewaysError: A file is missing or wrong; the message names it.
    """
    texts = {}
    for name in ("study.toml", "suite.toml", "claims.toml", FILE):
        try:
            texts[name] = _text_of(folder / name)
        except (OSError, UnicodeDecodeError) as error:
            cause = error.strerror if isinstance(error, OSError) else f"not UTF-8 text: {error}"
            raise BytewaysError(f"cannot read {key}/{name}", cause=cause, hint=GUIDE) from error
    data = read_toml(texts["study.toml"], file=f"{key}/study.toml")
    claims = read_toml(texts["claims.toml"], file=f"{key}/claims.toml")
    _told(f"{key}/study.toml", lambda: check_study(data))
    _told(f"{key}/claims.toml", lambda: check_claims(claims))
    suite = parse(texts["suite.toml"], file=f"{key}/suite.toml")
    values = _told(f"{key}/{FILE}", lambda: tuple(read_values(texts[FILE].splitlines())))
    found = _told(f"{key}/claims.toml", lambda: tuple(_claim(entry) for entry in claims.get("claim", [])))
    study = _told(f"{key}/study.toml", lambda: _study(key, data, found, values, suite))
    if wrong := _told(f"{key}/study.toml", lambda: _wrong(study)):
        raise BytewaysError(f"study {key} is not consistent", cause="; ".join(wrong), hint=GUIDE)
    return study


def _text_of(file: Traversable) -> str:
    """Of a file on a disk, or in an archive that Python imports from. Raises OSError or
    UnicodeDecodeError.
    """
    return read_text(file, MOST_TOML_BYTES) if isinstance(file, Path) else file.read_text(encoding="utf-8")


def _told(file: str, make: Callable[[], Made]) -> Made:
    """What `make` gives. Raises BytewaysError that names the file when its data are not what they must be."""
    try:
        return make()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, csv.Error) as error:
        what = f"no key {error}" if isinstance(error, KeyError) else str(error)
        raise BytewaysError(f"{file} is no part of a study", cause=what, hint=GUIDE) from error


def _keys(what: str, entry: Mapping[str, Any], keys: _Keys) -> None:
    """Raises ValueError when a key is missing or one that nothing reads."""
    required, optional = keys
    known = (*required, *optional)
    if unknown := [name for name in entry if name not in known]:
        raise ValueError(f"{what} has the unknown key '{unknown[0]}': {closest(unknown[0], known)}")
    if missing := [name for name in required if name not in entry]:
        raise ValueError(f"{what} has no '{missing[0]}'")


def _study(
    key: str, data: Mapping[str, Any], claims: tuple[Claim, ...], values: tuple[Value, ...], suite: Suite
) -> Study:
    _keys("it", data, _STUDY)
    places = _places(data)
    lines = {line.name: line for name, entry in data["lines"].items() for line in _lines(name, entry)}
    return Study(
        key=key,
        title=data["title"],
        authors=data["authors"],
        year=data["year"],
        address=data["address"],
        about=data["about"],
        sources=tuple(data["sources"]),
        models=tuple(data["models"]),
        statistic=data["statistic"],
        ambient=tuple(data.get("ambient", ())),
        timing=data["timing"],
        defects=tuple(data.get("defects", ())),
        differences=tuple(data.get("differences", ())),
        places=places,
        lines=lines,
        figures=tuple(_figure(entry, places) for entry in data["figures"]),
        claims=claims,
        values=values,
        suite=suite,
    )


def _places(data: Mapping[str, Any]) -> dict[str, Place]:
    """Those of [places], one for every pair of `grid`, `gpu0>gpu1`, and of `grid` and `hosts`, both ways."""
    places = {}
    for name, entry in data["places"].items():
        _keys(f"place '{name}'", entry, _PLACE)
        more = {key: entry[key] for key in _PLACE[1] if key in entry}
        places[name] = Place(name, tuple(entry["devices"]), entry["meaning"], **more)
    grid, hosts = data.get("grid", []), data.get("hosts", [])
    pairs = [] if hosts else [(first, second) for first in grid for second in grid]
    pairs += [pair for host in hosts for gpu in grid for pair in ((host, gpu), (gpu, host))]
    for first, second in pairs:
        name = f"{first}>{second}"
        places[name] = Place(name, (first, second), f"{first} to {second}")
    return places


def _lines(name: str, entry: Mapping[str, Any]) -> list[Line]:
    """A line, or one for every value of the option of `each`: `copy, 128 threads`."""
    _keys(f"line '{name}'", entry, _LINE)
    if "each" not in entry:
        return [_line(name, entry)]
    ((option, values),) = entry["each"].items()
    options = entry.get("options", {})
    return [
        _line(f"{name}, {value} {option}", {**entry, "options": {**options, option: value}, "published": ()})
        for value in values
    ]


def _line(name: str, entry: Mapping[str, Any]) -> Line:
    def each(key: str) -> list[str]:
        value = entry[key]
        return [value] if isinstance(value, str) else list(value)

    if "buffer" in entry:
        pairs = [(buffer, buffer) for buffer in each("buffer")]
    else:
        sources, destinations = each("source"), each("destination")
        if len(sources) == len(destinations):  # one by one; else every one with the only other
            pairs = list(zip(sources, destinations, strict=True))
        else:
            pairs = [(source, destination) for source in sources for destination in destinations]
    return Line(
        name,
        entry["says"],
        entry["interface"],
        tuple(Ends(*pair, entry["executor"], entry.get("second_source")) for pair in pairs),
        entry.get("pattern", "unidirectional"),
        entry.get("cache", "cold"),
        entry.get("environment", {}),
        entry.get("options", {}),
        entry.get("together", False),
        entry.get("count", ""),
        entry.get("submits", False),
        tuple(entry.get("published", ({},))),
        entry.get("note", ""),
    )


def _figure(entry: Mapping[str, Any], places: Mapping[str, Place]) -> Figure:
    _keys(f"figure '{entry.get('id', '?')}'", entry, _FIGURE)
    size = entry.get("size")
    chosen = [name for glob in entry.get("places", ["*>*"]) for name in _named(glob, places)]
    return Figure(
        entry["id"],
        entry["title"],
        entry["locator"],
        entry["kind"],
        entry.get("unit", "GB/s"),
        tuple(entry["lines"]),
        tuple(chosen),
        parse_size(str(size)) if size else None,
        entry.get("note", ""),
    )


def _named(glob: str, places: Mapping[str, Place]) -> list[str]:
    """Places of a glob; a name that is none stays, to be told."""
    return [name for name in places if fnmatchcase(name, glob)] or [glob]


def _claim(entry: Mapping[str, Any]) -> Claim:
    _keys(f"claim '{entry.get('id', '?')}'", entry, _CLAIM)
    check = dict(entry["check"])
    kind = check.pop("kind", "")
    if kind not in _CHECK:
        raise ValueError(f"claim '{entry['id']}' has the check '{kind}': {closest(kind, _CHECK)}")
    _keys(f"the check of claim '{entry['id']}'", check, _CHECK[kind])
    return Claim(entry["id"], entry["says"], entry["locator"], kind, check, entry.get("note", ""))


def _wrong(study: Study) -> list[str]:
    """Names that stand for nothing: they would read 'not measured' for ever."""
    wrong: list[str] = []
    if study.statistic not in STATISTICS:
        wrong.append(f"statistic {study.statistic}")
    for place in study.places.values():
        if place.order not in ("", *ORDERS):
            wrong.append(f"order {place.order} of place {place.name}")
    for line in study.lines.values():
        if line.interface not in INTERFACES:
            wrong.append(f"interface {line.interface} of line {line.name}")
        for letter in sorted({letter for ends in line.ends for letter in ends.letters} - set(LETTERS)):
            wrong.append(f"agent '{letter}' of line {line.name}, which is none of {', '.join(LETTERS)}")
    for figure in study.figures:
        wrong += _wrong_in(figure, study)
    for claim in study.claims:
        for reference in references(claim.check):
            try:
                parts(reference, study.lines, study.places)
            except ValueError as error:
                wrong.append(f"claim {claim.id}: {error}")
    wrong += [f"source {value.source_key}" for value in study.values if value.source_key not in study.sources]
    wrong += [f"machine {value.machine}" for value in study.values if value.machine not in study.models]
    if len({claim.id for claim in study.claims}) != len(study.claims):
        wrong.append("two claims have one id")
    return list(dict.fromkeys(wrong))


def _wrong_in(figure: Figure, study: Study) -> list[str]:
    wrong = [f"line {name} of figure {figure.id}" for name in figure.lines if name not in study.lines]
    wrong += [f"place {name} of figure {figure.id}" for name in figure.places if name not in study.places]
    if figure.kind not in KINDS or figure.unit not in UNITS:
        wrong.append(f"kind {figure.kind} or unit {figure.unit} of figure {figure.id}")
    if not figure.lines and figure.kind != "hops":
        wrong.append(f"figure {figure.id} without lines")
    if not figure.places and figure.kind != "hops":
        wrong.append(f"figure {figure.id} without places")
    if not wrong:
        pairs = [(study.lines[line], study.places[place]) for line in figure.lines for place in figure.places]
        wrong += [
            f"line {line.name} takes more agents than place {place.name} of figure {figure.id} has"
            for line, place in pairs
            if not line.fits(place)
        ]
    return wrong
