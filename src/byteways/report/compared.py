"""The content of the page on two runs as plain data: what `byteways compare` found, the node and a map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from byteways.answers.results.counting import count
from byteways.answers.results.index import Index
from byteways.answers.results.machine_names import machine
from byteways.answers.results.selection import broadest_size, concurrent, label_order, unidirectional
from byteways.answers.results.summary import RecordedRun
from byteways.base.units import format_size
from byteways.questions.display.chart import Chart
from byteways.questions.display.numbers import moment
from byteways.record.simulation_mark import is_simulated, mark_of, subject, voice
from byteways.report.node.changes import draw_changes
from byteways.report.node.drawing import NodeDrawing
from byteways.report.views import contention, curve_changes, hierarchy
from byteways.report.views.changed import Changed
from byteways.verdicts.two_runs.comparison import Comparison
from byteways.verdicts.two_runs.environments import Difference
from byteways.verdicts.two_runs.link_changes import LinkChange, link_changes
from byteways.verdicts.two_runs.paired_cases import PairedCase, moved
from byteways.verdicts.two_runs.wording_comparison import (
    change,
    headline,
    interval,
    percent,
    row,
    summary,
    suspicion,
    values,
)

#: Cases in the table of the page; all are in `byteways compare --all`.
MOST_TABLE_CASES = 200
#: Charts of a section that are seen at first: two in a row, those that changed up to the second number.
LEAST_CHARTS, MOST_CHARTS = 2, 4
#: Links and cases beside the picture.
MOST_BESIDE_PICTURE = 3

#: What to see in the curves.
CURVES = (
    "What to see: at which sizes the dashed line departs from the solid one. One chart for each kind of "
    "pair, link class and cache state: the path that changed most, with its fastest methods in the first "
    "run. The largest changes come first; “Any path” has the curves of the other pairs. Solid: first run; "
    "dashed: "
    "second run; the bands are the intervals. Below: speed of the second run relative to the first; filled "
    "marks differ significantly."
)


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    role: str  # first, second
    name: str
    about: str  # suite, machine, time
    mark: str  # '' if measured


@dataclass(frozen=True)
class CaseChange:
    """A case that differs: what `compare` prints, and how strongly it is shaded."""

    texts: tuple[str, ...]  # below wording_comparison.HEADINGS
    slower: bool


@dataclass(frozen=True)
class ComparedView:
    """A section with charts of both runs."""

    anchor: str
    title: str
    lead: str
    charts: tuple[Chart, ...]
    differing: str  # how many of its cases differ
    differ: bool
    shown: int  # how many charts stand outside the fold


@dataclass(frozen=True)
class ComparedPage:
    """Everything the template places."""

    title: str
    summary: str
    suspicion: str
    sides: tuple[Side, Side]
    environment: tuple[Difference, ...]
    drawing: NodeDrawing | None
    links: tuple[str, ...]  # sentences on the links that changed most
    changes: tuple[CaseChange, ...]
    differing: int  # cases, of which `changes` are the first
    lost: tuple[tuple[str, str, str], ...]  # status, case, reason
    notes: tuple[str, ...]  # what is not compared
    map: Mapping[str, Any]  # for the page's script; empty without pairs of devices
    views: tuple[ComparedView, ...]

    @property
    def simulated(self) -> bool:
        return any(side.mark for side in self.sides)

    @property
    def mark(self) -> str:
        """What a saved picture says of the runs; '' if both are measured."""
        roles = " and ".join(side.role for side in self.sides if side.mark)
        return f"SIMULATED: {roles} run" if roles else ""


def from_comparison(runs: Sequence[RecordedRun], compared: Comparison) -> ComparedPage:
    """Returns the page of two runs and their comparison."""
    first, second = map(Index.of, runs)
    links = link_changes(compared, first.topology)
    differing = [pair for pair in compared.pairs if pair.claim.differ]
    quote = voice(any(is_simulated(run.manifest) for run in runs)).quote
    return ComparedPage(
        f"{machine(first.topology)}: {headline(compared)}",
        summary(compared),
        suspicion(compared),
        (_side("first", compared.names[0], runs[0]), _side("second", compared.names[1], runs[1])),
        compared.environment,
        draw_changes(first.topology, links) if first.topology.devices else None,
        tuple(_sentences(links)),
        tuple(CaseChange(row(pair), pair.slower) for pair in differing[:MOST_TABLE_CASES]),
        len(differing),
        tuple(
            (record.status, f"{record.interface} {record.path}", quote(record.reason or ""))
            for record in compared.lost
        ),
        tuple(_notes(compared)),
        _map(compared.pairs, links),
        tuple(_views(first, second, compared.pairs)),
    )


def _side(role: str, name: str, run: RecordedRun) -> Side:
    suite = run.manifest.get("suite") or {}
    started = moment(str(run.manifest.get("started_at") or ""))
    about = f"{suite.get('name', 'run')} on {subject(run.manifest)}, {started}"
    return Side(role, name, about.rstrip(", "), mark_of(run.manifest))


def _sentences(links: Iterable[LinkChange]) -> Iterator[str]:
    """Yields what the picture shows: the links that changed most."""
    changed = [(one, one.pair) for one in links if one.pair is not None and one.pair.claim.differ]
    changed.sort(key=lambda entry: -moved(entry[1]))
    for one, pair in changed[:MOST_BESIDE_PICTURE]:
        before, after = values(pair)
        by = pair.first.record.interface
        yield f"Link {one.link.a} – {one.link.b}: {percent(pair.speed)}, {before} and now {after} by {by}"
    if len(changed) > MOST_BESIDE_PICTURE:
        yield f"{count(len(changed) - MOST_BESIDE_PICTURE, 'more link')} changed"
    if not changed and any(one.pair is not None for one in links):
        yield "No link changed in all transfers of an interface over it"


def _views(first: Index, second: Index, pairs: Sequence[PairedCase]) -> Iterator[ComparedView]:
    """Yields the sections with charts that have any."""
    sections = {
        "curves": ("Bandwidth vs size", CURVES, curve_changes.changes(first, pairs)),
        "together": ("Contention", "", contention.changes(first, second, pairs)),
        "latency": ("Latency", "", hierarchy.changes(first, pairs)),
    }
    for anchor, (title, lead, changed) in sections.items():
        if changed:
            shown = tuple(each.chart for each in changed)
            yield ComparedView(anchor, title, lead, shown, *_counted(changed))


def _counted(changed: Sequence[Changed]) -> tuple[str, bool, int]:
    cases, differ = sum(each.cases for each in changed), sum(each.differ for each in changed)
    shown = min(max(sum(each.differ > 0 for each in changed), LEAST_CHARTS), MOST_CHARTS)
    return f"{differ or 'none'} of {count(cases, 'case')} drawn here differ", differ > 0, shown


def _notes(compared: Comparison) -> Iterator[str]:
    for reason, number in compared.not_compared.items():
        yield f"{count(number, 'case')} not compared: {reason}"
    only = zip((compared.only_first, compared.only_second), ("first", "second"), strict=True)
    yield from (f"{count(number, 'case')} only in the {name} run" for number, name in only if number)
    if not compared.same_gpus:
        yield "The machines have different GPUs: see byteways compare --by link-class"


def _map(pairs: Sequence[PairedCase], links: Sequence[LinkChange]) -> dict[str, Any]:
    """Returns all transfers between two buffers over cold caches by column, the largest changes first."""
    pairs = [pair for pair in pairs if pair.first.record.cache == "cold" and _of_two(pair)]
    if not pairs:
        return {}
    devices = sorted({end for pair in pairs for end in _ends(pair)}, key=label_order)
    sizes = sorted({pair.first.size_bytes for pair in pairs})
    ways = sorted({pair.first.variant.name for pair in pairs})
    across = [pair for pair in pairs if _ends(pair)[0] != _ends(pair)[1]] or pairs
    return {
        "devices": devices,
        "bytes": sizes,
        "sizes": [format_size(size) for size in sizes],
        "ways": ways,
        "size": sizes.index(broadest_size([pair.first for pair in across])),
        "pair": ">".join(_ends(across[0])),
        # The pair that stands for each link of the picture.
        "links": {
            f"{link.link.a} – {link.link.b}": ">".join(_ends(link.pair))
            for link in links
            if link.pair is not None
        },
        "cells": {
            "from": [devices.index(_ends(pair)[0]) for pair in pairs],
            "to": [devices.index(_ends(pair)[1]) for pair in pairs],
            "size": [sizes.index(pair.first.size_bytes) for pair in pairs],
            "way": [ways.index(pair.first.variant.name) for pair in pairs],
            "both": [int(pair.first.record.pattern == "bidirectional") for pair in pairs],
            "differ": [int(pair.claim.differ) for pair in pairs],
            "undecided": [int(pair.undecided) for pair in pairs],
            "speed": [float(f"{pair.speed:.4g}") for pair in pairs],
            "rates": [_rates(pair) for pair in pairs],
            "change": [change(pair.speed) for pair in pairs],
            "interval": [interval(pair) for pair in pairs],
            "first": [values(pair)[0] for pair in pairs],
            "second": [values(pair)[1] for pair in pairs],
        },
    }


def _rates(pair: PairedCase) -> list[float]:
    """Returns value, low and high in GB/s of the first run, then of the second."""
    return [
        float(f"{value / 1e9:.4g}")
        for cell in (pair.first, pair.second)
        for value in (cell.value, cell.low, cell.high)
    ]


def _of_two(pair: PairedCase) -> bool:
    """Whether it is the bandwidth of one flow, or of two in opposite directions."""
    cell = pair.first
    if cell.record.pattern == "bidirectional":
        return bool(concurrent([cell]))
    return bool(unidirectional([cell]))


def _ends(pair: PairedCase) -> tuple[str, str]:
    return pair.first.source.device, pair.first.destination.device
