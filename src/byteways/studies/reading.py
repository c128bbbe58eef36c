"""Reads a study from its folder: study.toml, suite.toml, claims.toml, their parts, and published.csv.

Authors write these files by hand, so everything without effect is an error that names the file: an unknown
key, line or place, or a letter without a device.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from byteways.errors import BytewaysError
from byteways.files import MOST_TOML_BYTES, read_text
from byteways.plan.interfaces import INTERFACES
from byteways.plan.spelling import closest
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite
from byteways.plan.toml_files import read_toml
from byteways.studies import names, part_files
from byteways.studies.claim_file import read_claims, wrong_claims
from byteways.studies.figure_file import read_figure, wrong_in
from byteways.studies.line_file import read_lines
from byteways.studies.reference import parts, references
from byteways.studies.shapes import (
    LIST_OF_TABLES,
    NAMED_TABLES,
    SOME_TEXTS,
    STRING,
    TEXTS,
    WHOLE_NUMBER,
    Keys,
)
from byteways.studies.study import (
    LETTERS,
    PLACE_ORDERS,
    PublishedClaim,
    Study,
    StudyLine,
    StudyPlace,
)
from byteways.studies.values import PUBLISHED_FILE, STATISTICS, PublishedValue, read_values
from byteways.system_errors import not_read

if TYPE_CHECKING:
    from importlib.abc import Traversable

#: Keys of study.toml and its tables.
_STUDY = Keys(
    {
        **dict.fromkeys(("title", "authors", "address", "about", "statistic", "timing"), STRING),
        "year": WHOLE_NUMBER,
        "sources": SOME_TEXTS,
        "models": SOME_TEXTS,
        "places": NAMED_TABLES,
        "lines": NAMED_TABLES,
        "figures": LIST_OF_TABLES,
    },
    dict.fromkeys(("ambient", "defects", "differences", "grid", "hosts", "parts"), TEXTS),
)
_PLACE = Keys(
    {"devices": SOME_TEXTS, "meaning": STRING},
    {"rank": WHOLE_NUMBER, "model": STRING, "order": STRING, "ranks": WHOLE_NUMBER},
)
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
    return read(resources.files("byteways.studies") / key, key)


def read(folder: Traversable, key: str) -> Study:
    """Reads the study in a folder.

    Raises:
        BytewaysError: A file is missing or invalid; the message names it.
    """
    texts = {
        name: _read(folder, key, name) for name in ("study.toml", "suite.toml", "claims.toml", PUBLISHED_FILE)
    }
    data = read_toml(texts["study.toml"], file=f"{key}/study.toml")
    parts = _with_file_name(f"{key}/study.toml", lambda: part_files.names_of(data))
    more = {
        stem: {name: _read(folder, key, name) for name in (part_files.file_of(stem, part) for part in parts)}
        for stem in part_files.STEMS
    }
    tables = {name: read_toml(text, file=f"{key}/{name}") for name, text in more["study"].items()}
    whole = _with_file_name(f"{key}/study.toml", lambda: part_files.joined(data, tables))
    claims = read_toml(texts["claims.toml"], file=f"{key}/claims.toml")
    further = [read_toml(text, file=f"{key}/{name}") for name, text in more["claims"].items()]
    sweeps = {"suite.toml": texts["suite.toml"], **more["suite"]}
    text, label = part_files.joined_text(sweeps, lambda name: f"{key}/{name}")
    suite = parse(text, file=label)
    values = _with_file_name(
        f"{key}/{PUBLISHED_FILE}", lambda: tuple(read_values(texts[PUBLISHED_FILE].splitlines()))
    )
    found = _with_file_name(
        f"{key}/claims.toml", lambda: read_claims(part_files.joined_claims(claims, further))
    )
    study = _with_file_name(f"{key}/study.toml", lambda: _study(key, whole, found, values, suite))
    if wrong := _with_file_name(f"{key}/study.toml", lambda: _wrong(study)):
        raise BytewaysError(f"study {key} is inconsistent", cause="; ".join(wrong), hint=GUIDE)
    return study


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
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, csv.Error) as error:
        what = f"no key {error}" if isinstance(error, KeyError) else str(error)
        raise BytewaysError(f"{file} is not a valid study file", cause=what, hint=GUIDE) from error


def _study(
    key: str,
    data: Mapping[str, Any],
    claims: tuple[PublishedClaim, ...],
    values: tuple[PublishedValue, ...],
    suite: Suite,
) -> Study:
    _STUDY.check("it", data)
    places = _places(data)
    lines = read_lines(data["lines"])
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
        figures=tuple(read_figure(entry, lines, places) for entry in data["figures"]),
        claims=claims,
        values=values,
        suite=suite,
    )


def _places(data: Mapping[str, Any]) -> dict[str, StudyPlace]:
    """Returns the places of [places], ordered pairs of `grid` (`gpu0>gpu1`), and `grid` × `hosts`."""
    places = {}
    for name, entry in data["places"].items():
        _PLACE.check(f"place '{name}'", entry)
        more = {key: entry[key] for key in _PLACE.optional if key in entry}
        places[name] = StudyPlace(name, tuple(entry["devices"]), entry["meaning"], **more)
    grid, hosts = data.get("grid", []), data.get("hosts", [])
    pairs = [] if hosts else [(first, second) for first in grid for second in grid]
    pairs += [pair for host in hosts for gpu in grid for pair in ((host, gpu), (gpu, host))]
    for first, second in pairs:
        name = f"{first}>{second}"
        places[name] = StudyPlace(name, (first, second), f"{first} to {second}")
    return places


def _wrong(study: Study) -> list[str]:
    """Returns names without a definition: they would read 'not measured' forever."""
    wrong: list[str] = []
    if study.statistic not in STATISTICS:
        wrong.append(f"statistic {study.statistic}")
    for place in study.places.values():
        if place.order not in ("", *PLACE_ORDERS):
            wrong.append(f"order {place.order} of place {place.name}")
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
