"""Reads a study from its folder: study.toml, suite.toml, claims.toml, their parts, and published.csv.

Authors write these files by hand, so everything without effect is an error that names the file: an unknown
key, line or place, or a letter without a device.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from msgspec import Meta, Struct, structs

from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_TOML_BYTES, read_text
from byteways.base.spelling import closest
from byteways.base.system_errors import not_read
from byteways.base.toml_files import read_toml
from byteways.base.toml_reading import TomlPlace
from byteways.cases.interfaces import INTERFACES
from byteways.ext.studies.published import names, part_files
from byteways.ext.studies.published.claim_file import read_claims, wrong_claims
from byteways.ext.studies.published.figure_file import FigureTable, read_figure, wrong_in
from byteways.ext.studies.published.line_file import LineTable, read_lines
from byteways.ext.studies.published.reference import parts, references
from byteways.ext.studies.published.study import LETTERS, PublishedClaim, Study, StudyLine, StudyPlace
from byteways.ext.studies.published.values import PUBLISHED_FILE, PublishedValue, read_values
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite

if TYPE_CHECKING:
    from importlib.abc import Traversable


class PlaceTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a place; StudyPlace explains them."""

    devices: Annotated[tuple[str, ...], Meta(min_length=1)]
    meaning: str
    rank: int | None = None
    model: str = ""
    order: Literal["", "packed", "spread"] = ""
    ranks: int = 0


class PartFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a part of study.toml."""

    places: dict[str, PlaceTable] = {}
    lines: dict[str, LineTable] = {}
    figures: list[FigureTable] = []
    defects: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()


class StudyFile(PartFile, frozen=True, kw_only=True):
    """The keys of study.toml; Study explains them."""

    title: str
    authors: str
    year: int
    address: str
    about: str
    statistic: Literal["mean", "max", "median", "not stated"]
    timing: str
    sources: Annotated[tuple[str, ...], Meta(min_length=1)]
    models: Annotated[tuple[str, ...], Meta(min_length=1)]
    places: dict[str, PlaceTable]
    lines: dict[str, LineTable]
    figures: list[FigureTable]
    ambient: tuple[str, ...] = ()
    grid: list[str] = []
    hosts: list[str] = []
    parts: list[str] = []


#: Device names in a study (machine models number them the same way). Buffer of a line: letter of the device,
#: memory, and letter of the device that touches it first.
BUFFER = re.compile(rf"[{LETTERS}]:[\w-]+(@[{LETTERS}])?")
DEVICE_NAME = re.compile(r"(cpu|gpu)\d+")
GUIDE = "docs/guides/reproduce-a-study.md describes the files of a study"
Made = TypeVar("Made")


def load(name_or_folder: str) -> Study:
    """Loads a built-in study, or one from a folder.

    Raises:
        BytewaysError: No such study, or its files are invalid.
    """
    if name_or_folder in names():
        return _shipped(name_or_folder)
    folder = Path(name_or_folder)
    if "/" not in name_or_folder and not (folder / "study.toml").is_file():
        raise BytewaysError(f"unknown study '{name_or_folder}'", hint=closest(name_or_folder, names()))
    return replace(read(folder, folder.resolve().name), folder=str(folder.resolve()))


@cache
def _shipped(key: str) -> Study:
    return read(resources.files("byteways.ext.studies.published") / key, key)


def read(folder: Traversable, key: str) -> Study:
    """Reads the study in a folder.

    Raises:
        BytewaysError: A file is missing or invalid; the message names it.
    """

    def place_of(name: str) -> TomlPlace:
        text = _read(folder, key, name)
        file = f"{key}/{name}"
        return TomlPlace.of(read_toml(text, file=file), text, file, advice=GUIDE)

    main = place_of("study.toml")
    study = main.read(StudyFile)
    part_files.check_names(main, study.parts)
    files = {
        stem: [f"{stem}.toml", *(part_files.file_of(stem, part) for part in study.parts)]
        for stem in part_files.STEMS
    }
    parts = [place_of(name) for name in files["study"][1:]]
    tables = [(main, study), *((place, place.read(PartFile)) for place in parts)]
    claims = [claim for name in files["claims"] for claim in read_claims(place_of(name))]
    sweeps = {name: _read(folder, key, name) for name in files["suite"]}
    text, label = part_files.joined_text(sweeps, lambda name: f"{key}/{name}")
    published = _read(folder, key, PUBLISHED_FILE).splitlines()
    values = _with_file_name(f"{key}/{PUBLISHED_FILE}", lambda: tuple(read_values(published)))
    whole = _study(key, study, tables, tuple(claims), values, parse(text, file=label))
    if wrong := _wrong(whole):
        raise BytewaysError(f"study {key} is inconsistent", cause="; ".join(wrong), hint=GUIDE)
    return whole


def _read(folder: Traversable, key: str, name: str) -> str:
    """Returns the text of a file of the study. Raises BytewaysError if it cannot be read."""
    try:
        return _text_of(folder / name)
    except (OSError, UnicodeDecodeError) as error:
        raise not_read(f"cannot read {key}/{name}", error, GUIDE) from error


def _text_of(file: Traversable) -> str:
    """Reads a file on disk or in an importable archive. Raises OSError or UnicodeDecodeError."""
    return read_text(file, MOST_TOML_BYTES) if isinstance(file, Path) else file.read_text(encoding="utf-8")


def _with_file_name(file: str, make: Callable[[], Made]) -> Made:
    """Returns make(). Raises BytewaysError with the file's name if its data are invalid."""
    try:
        return make()
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        what = f"no key {error}" if isinstance(error, KeyError) else str(error)
        raise BytewaysError(f"{file} is not a valid study file", cause=what, hint=GUIDE) from error


def _study(
    key: str,
    study: StudyFile,
    tables: Sequence[tuple[TomlPlace, PartFile]],
    claims: tuple[PublishedClaim, ...],
    values: tuple[PublishedValue, ...],
    suite: Suite,
) -> Study:
    places: dict[str, StudyPlace] = {}
    lines: dict[str, StudyLine] = {}
    for place, table in tables:
        for name, own in table.places.items():
            if name in places:
                place.below("places").fail(name, "it is defined already")
            places[name] = StudyPlace(name, **structs.asdict(own))
        for line in read_lines(place.below("lines"), table.lines):
            if line.name in lines:
                place.below("lines").fail(line.name, "two lines have this name")
            lines[line.name] = line
    places |= _grid(study)
    figures = [
        read_figure(place.below("figures", index), figure, lines, places)
        for place, table in tables
        for index, figure in enumerate(table.figures)
    ]
    same = ("title", "authors", "year", "address", "about", "sources", "models", "statistic")
    return Study(
        key=key,
        **{name: getattr(study, name) for name in same},
        ambient=study.ambient,
        timing=study.timing,
        defects=tuple(defect for _, table in tables for defect in table.defects),
        differences=tuple(one for _, table in tables for one in table.differences),
        places=places,
        lines=lines,
        figures=tuple(figures),
        claims=claims,
        values=values,
        suite=suite,
    )


def _grid(study: StudyFile) -> dict[str, StudyPlace]:
    """Returns the ordered pairs of `grid` (`gpu0>gpu1`), or those of `grid` × `hosts`."""
    pairs = [] if study.hosts else [(first, second) for first in study.grid for second in study.grid]
    pairs += [pair for host in study.hosts for gpu in study.grid for pair in ((host, gpu), (gpu, host))]
    named = {f"{first}>{second}": (first, second) for first, second in pairs}
    return {name: StudyPlace(name, ends, " to ".join(ends)) for name, ends in named.items()}


def _wrong(study: Study) -> list[str]:
    """Returns names without a definition: they would read 'not measured' forever."""
    wrong: list[str] = []
    for place in study.places.values():
        if place.ranks and (place.ranks < 2 or place.order or place.rank):
            wrong.append(f"ranks of place {place.name}: two or more, without 'order' and 'rank'")
        if place.model and place.model not in study.models:
            wrong.append(f"model {place.model} of place {place.name}")
        wrong += [f"device {one} of place {place.name}" for one in _strange(place.devices)]
    for line in study.lines.values():
        if line.interface not in INTERFACES:
            wrong.append(f"interface {line.interface} of line {line.name}")
        others = {line.simulated_by, line.otherwise} - {"", *study.lines}
        wrong += [f"line {other}, which represents line {line.name}" for other in sorted(others)]
        wrong += [
            f"buffer '{text}' of line {line.name}" for text in _buffers(line) if not BUFFER.fullmatch(text)
        ]
        for letter in sorted({letter for ends in line.ends for letter in ends.letters} - set(LETTERS)):
            wrong.append(f"device '{letter}' of line {line.name}, not one of {', '.join(LETTERS)}")
    for figure in study.figures:
        wrong += wrong_in(figure, study)
    for claim in study.claims:
        if claim.machine and claim.machine not in study.models:
            wrong.append(f"machine {claim.machine} of claim {claim.id}")
        for reference in (one for check in claim.leaves() for one in references(check.keys)):
            try:
                parts(reference, study.lines, study.places)
            except ValueError as error:
                wrong.append(f"claim {claim.id}: {error}")
        wrong += [
            f"place {at} of claim {claim.id}"
            for check in claim.leaves()
            if (at := check.keys.get("at")) is not None
            and (at not in study.places or len(study.places[at].devices) < len(LETTERS[:2]))
        ]
    wrong += [f"source {value.source_key}" for value in study.values if value.source_key not in study.sources]
    wrong += [f"machine {value.machine}" for value in study.values if value.machine not in study.models]
    wrong += wrong_claims(study.claims)
    return list(dict.fromkeys(wrong))


def _buffers(line: StudyLine) -> Iterator[str]:
    """Yields the buffers as written in the file, including those of published values."""
    for ends in line.ends:
        yield from (ends.source, ends.destination)
        if ends.second_source is not None:
            yield ends.second_source
    for told in line.published:
        yield from (told[name] for name in ("source", "destination") if name in told)
        yield from (f"{told[name]}:device" for name in ("executor",) if name in told)


def _strange(devices: Sequence[str]) -> list[str]:
    """Returns names that are neither a device nor "near" an earlier device."""
    return [
        name
        for number, name in enumerate(devices)
        if not DEVICE_NAME.fullmatch(name)
        and name not in {f"near {letter}" for letter, _ in zip(LETTERS, devices[:number], strict=False)}
    ]
