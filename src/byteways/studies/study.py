"""What a study is, and how it is read from its folder. What a run makes of it is in analyse/studies.

A **line** is a method of the source as cases of ours: interface, memories, executor. A **place** is where the
source measured: a pair of its agents, which another machine may have a counterpart of. A line at a place at a
size is one figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from byteways.errors import BytewaysError
from byteways.plan.case import Buffer, Flow
from byteways.plan.interfaces import INTERFACES
from byteways.plan.suite import parse
from byteways.plan.suite_types import Suite
from byteways.plan.toml_files import read_toml
from byteways.plan.words import closest
from byteways.studies import names
from byteways.studies.values import STATISTICS, Value, values_of_study
from byteways.units import parse_size

#: Letters of a place's agents, in their order.
LETTERS = "abcd"
#: How a figure is shown: over size; lines by places at one size; lines by sizes; every pair of agents; and
#: how many links the way between every pair has, which nothing measures.
KINDS = ("curve", "table", "map", "matrix", "hops")
#: What figures are shown in.
UNITS = ("GB/s", "of peak", "ns", "µs")
CHECKS = ("value", "ratio", "spread", "order", "reaches")


@dataclass(frozen=True)
class Place:
    """Where the source measured. `agents` are its names; one may be "near a": the CPU next to that one.

    `rank` counts the classes of direct links between GPUs from the widest, 1: which class stands for the
    source's on a machine that does not have it. None: nothing else stands for it.
    """

    name: str
    agents: tuple[str, ...]
    meaning: str
    rank: int | None = None
    model: str = ""  # of the system, where it is not the study's first


@dataclass(frozen=True)
class Ends:
    """The buffers of a line, of a letter each: `a:device`, or `c:pageable@a`."""

    source: str
    destination: str
    executor: str
    second_source: str | None = None

    def flow(self, agents: Sequence[str]) -> Flow:
        """The flow at a place with these agents."""
        named = dict(zip(LETTERS, agents, strict=False))

        def buffer(text: str) -> Buffer:
            letter, _, rest = text.partition(":")
            memory, _, toucher = rest.partition("@")
            agent, first = named[letter], named[toucher] if toucher else None
            return Buffer(agent, memory, None if first == agent else first)

        second = buffer(self.second_source) if self.second_source else None
        return Flow(buffer(self.source), buffer(self.destination), named[self.executor], second)


@dataclass(frozen=True)
class Line:
    """A method of the source as cases of ours. Of `ends` the first are the source's own; the others stand
    for it where a runtime has no such memory.
    """

    name: str
    says: str  # what the source did
    interface: str
    ends: tuple[Ends, ...]
    pattern: str = "one-way"
    cache: str = "cold"
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    together: bool = False  # the place's GPUs at once, each with the host next to it and in both directions
    count: str = ""  # `one-direction`: of a figure that counts what is read and written, one of the two
    submits: bool = False  # the time is what the host takes to enqueue one, not until one has ended
    published: tuple[Mapping[str, str], ...] = ({},)  # how its values are told, where not by `ends`
    note: str = ""  # what is done otherwise here


@dataclass(frozen=True)
class Figure:
    """A figure or table of the source."""

    id: str
    title: str
    locator: str
    kind: str
    unit: str
    lines: tuple[str, ...]
    places: tuple[str, ...]
    size_bytes: int | None  # of tables; None: the largest there is
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of the source with a check. `check` holds the keys of its kind, as the file has them."""

    id: str
    says: str
    locator: str
    kind: str
    check: Mapping[str, Any]
    note: str = ""


@dataclass(frozen=True)
class Study:
    """A published work, as far as it can be measured again."""

    key: str
    title: str
    authors: str
    year: int
    address: str
    about: str
    sources: tuple[str, ...]  # keys in published.csv and in machine models, the work itself first
    models: tuple[str, ...]  # of the systems it was measured on
    statistic: str
    ambient: tuple[str, ...]  # variables that the source set for every process, whatever they do there
    timing: str  # how the source timed
    defects: tuple[str, ...]  # known mistakes and contradictions in the source
    differences: tuple[str, ...]  # what is done otherwise here
    places: Mapping[str, Place]
    lines: Mapping[str, Line]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    values: tuple[Value, ...]
    suite: Suite


@cache
def load(key: str) -> Study:
    """A study that comes with byteways.

    Raises:
        BytewaysError: There is none of this name.
        ValueError: Its files are wrong, which tests find before users do.
    """
    if key not in names():
        raise BytewaysError(f"unknown study '{key}'", hint=closest(key, names()))
    folder = resources.files("byteways.studies") / key
    texts = {
        name: (folder / f"{name}.toml").read_text(encoding="utf-8") for name in ("study", "suite", "claims")
    }
    data = read_toml(texts["study"], file=f"{key}/study.toml")
    claims = read_toml(texts["claims"], file=f"{key}/claims.toml").get("claim", [])
    places = _places(data)
    lines = {line.name: line for name, entry in data["lines"].items() for line in _lines(name, entry)}
    study = Study(
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
        claims=tuple(_claim(entry) for entry in claims),
        values=tuple(values_of_study(key)),
        suite=parse(texts["suite"], file=f"{key}/suite.toml"),
    )
    _check(study)
    return study


def _places(data: Mapping[str, Any]) -> dict[str, Place]:
    """Those of [places], one for every pair of `grid`, `gpu0>gpu1`, and of `grid` and `hosts`, both ways."""
    places = {
        name: Place(name, tuple(entry["agents"]), entry["meaning"], entry.get("rank"), entry.get("model", ""))
        for name, entry in data["places"].items()
    }
    grid, hosts = data.get("grid", []), data.get("hosts", [])
    pairs = [] if hosts else [(first, second) for first in grid for second in grid]
    pairs += [pair for host in hosts for gpu in grid for pair in ((host, gpu), (gpu, host))]
    for first, second in pairs:
        name = f"{first}>{second}"
        places[name] = Place(name, (first, second), f"{first} to {second}")
    return places


def _lines(name: str, entry: Mapping[str, Any]) -> list[Line]:
    """A line, or one for every value of the option of `each`: `copy, 128 threads`."""
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
    ends = tuple(Ends(*pair, entry["executor"], entry.get("second_source")) for pair in pairs)
    return Line(
        name,
        entry["says"],
        entry["interface"],
        ends,
        entry.get("pattern", "one-way"),
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
    size = entry.get("size")
    kind = entry["kind"]
    chosen = entry.get("places") or [name for name in places if ">" in name]
    return Figure(
        entry["id"],
        entry["title"],
        entry["locator"],
        kind,
        entry.get("unit", "GB/s"),
        tuple(entry["lines"]),
        tuple(chosen),
        parse_size(str(size)) if size else None,
        entry.get("note", ""),
    )


def _claim(entry: Mapping[str, Any]) -> Claim:
    check = dict(entry["check"])
    return Claim(
        entry["id"], entry["says"], entry["locator"], check.pop("kind"), check, entry.get("note", "")
    )


def _check(study: Study) -> None:
    """Raises ValueError when a name stands for nothing: it would read 'not measured' for ever."""
    wrong: list[str] = []
    if study.statistic not in STATISTICS:
        wrong.append(f"statistic {study.statistic}")
    for line in study.lines.values():
        if line.interface not in INTERFACES:
            wrong.append(f"interface {line.interface} of line {line.name}")
    for figure in study.figures:
        wrong += [f"line {name} of figure {figure.id}" for name in figure.lines if name not in study.lines]
        wrong += [f"place {name} of figure {figure.id}" for name in figure.places if name not in study.places]
        if figure.kind not in KINDS or figure.unit not in UNITS:
            wrong.append(f"kind {figure.kind} or unit {figure.unit} of figure {figure.id}")
    wrong += [f"check {claim.kind} of claim {claim.id}" for claim in study.claims if claim.kind not in CHECKS]
    wrong += [f"source {value.source_key}" for value in study.values if value.source_key not in study.sources]
    if len({claim.id for claim in study.claims}) != len(study.claims):
        wrong.append("two claims have one id")
    if wrong:
        raise ValueError(f"study {study.key}: {'; '.join(wrong)}")
