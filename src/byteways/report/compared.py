"""The content of the page on two runs as plain data: what `byteways compare` found, the node and a map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from byteways.analyse.compared import Pair
from byteways.analyse.comparison import Comparison
from byteways.analyse.environments import Difference
from byteways.analyse.link_changes import LinkChange, link_changes, moved
from byteways.analyse.phrases import count
from byteways.analyse.results_index import Index
from byteways.analyse.selection import broadest_size, concurrent, label_order, unidirectional
from byteways.analyse.summary import Run
from byteways.analyse.title import machine
from byteways.analyse.wording_comparison import change, headline, interval, row, summary, suspicion, values
from byteways.report.node.changes import draw_changes
from byteways.report.node.drawing import Drawing
from byteways.report.numbers import moment
from byteways.results.simulated import is_simulated, mark_of, subject, worded
from byteways.units import format_size

#: Cases in the table of the page; all are in `byteways compare --all`.
MOST_CASES = 200
#: Links and cases beside the picture.
FIRST = 3


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    role: str  # first, second
    name: str
    about: str  # suite, machine, time
    mark: str  # '' if measured


@dataclass(frozen=True)
class Change:
    """A case that differs: what `compare` prints, and how strongly it is shaded."""

    texts: tuple[str, ...]  # below wording_comparison.HEADINGS
    slower: bool


@dataclass(frozen=True)
class ComparedPage:
    """Everything the template places."""

    title: str
    summary: str
    suspicion: str
    sides: tuple[Side, Side]
    environment: tuple[Difference, ...]
    drawing: Drawing | None
    links: tuple[str, ...]  # sentences on the links that changed most
    changes: tuple[Change, ...]
    differing: int  # cases, of which `changes` are the first
    lost: tuple[tuple[str, str, str], ...]  # status, case, reason
    notes: tuple[str, ...]  # what is not compared
    map: Mapping[str, Any]  # for the page's script; empty without pairs of devices

    @property
    def simulated(self) -> bool:
        return any(side.mark for side in self.sides)


def from_comparison(runs: Sequence[Run], compared: Comparison) -> ComparedPage:
    """Returns the page of two runs and their comparison."""
    first = Index.of(runs[0])
    simulated = any(is_simulated(run.manifest) for run in runs)
    links = link_changes(compared, first.topology)
    differing = [pair for pair in compared.pairs if pair.claim.differ]

    def told(text: str) -> str:
        return worded(text, simulated)

    return ComparedPage(
        f"{machine(first.topology)}: {headline(compared)}",
        told(summary(compared)),
        told(suspicion(compared)),
        (_side("first", compared.names[0], runs[0]), _side("second", compared.names[1], runs[1])),
        compared.environment,
        draw_changes(first.topology, links) if first.topology.devices else None,
        tuple(_sentences(links)),
        tuple(Change(row(pair), pair.slower) for pair in differing[:MOST_CASES]),
        len(differing),
        tuple((one.status, f"{one.interface} {one.path}", told(one.reason or "")) for one in compared.lost),
        tuple(told(text) for text in _notes(compared)),
        _map(compared.pairs, links),
    )


def _side(role: str, name: str, run: Run) -> Side:
    suite = run.manifest.get("suite") or {}
    started = moment(str(run.manifest.get("started_at") or ""))
    about = f"{suite.get('name', 'run')} on {subject(run.manifest)}, {started}"
    return Side(role, name, about.rstrip(", "), mark_of(run.manifest))


def _sentences(links: Iterable[LinkChange]) -> Iterator[str]:
    """Yields what the picture shows: the links that changed most."""
    changed = [(one, one.pair) for one in links if one.pair is not None and one.pair.claim.differ]
    changed.sort(key=lambda entry: -moved(entry[1]))
    for one, pair in changed[:FIRST]:
        before, after = values(pair)
        by = pair.first.record.interface
        yield f"Link {one.link.a} – {one.link.b}: {change(pair.speed)} %, {before} and now {after} by {by}"
    if len(changed) > FIRST:
        yield f"{count(len(changed) - FIRST, 'more link')} changed"
    if not changed and any(one.pair is not None for one in links):
        yield "No link changed in all transfers of an interface over it"


def _notes(compared: Comparison) -> Iterator[str]:
    for reason, number in compared.not_compared.items():
        yield f"{count(number, 'case')} not compared: {reason}"
    only = zip((compared.only_first, compared.only_second), ("first", "second"), strict=True)
    yield from (f"{count(number, 'case')} only in the {name} run" for number, name in only if number)
    if not compared.same_gpus:
        yield "The machines have different GPUs: byteways compare --by link-class compares parts of the peak"


def _map(pairs: Sequence[Pair], links: Sequence[LinkChange]) -> dict[str, Any]:
    """Returns all transfers between two buffers over cold caches by column, the largest changes first."""
    pairs = [pair for pair in pairs if pair.first.record.cache == "cold" and _of_two(pair)]
    if not pairs:
        return {}
    devices = sorted({end for pair in pairs for end in _ends(pair)}, key=label_order)
    sizes = sorted({pair.first.record.size_bytes for pair in pairs})
    ways = sorted({pair.first.variant.label() for pair in pairs})
    across = [pair for pair in pairs if _ends(pair)[0] != _ends(pair)[1]] or pairs
    return {
        "devices": devices,
        "sizes": [format_size(size) for size in sizes],
        "ways": ways,
        "size": sizes.index(broadest_size([pair.first for pair in across])),
        "pair": ">".join(_ends(across[0])),
        # The pair that stands for each link of the picture.
        "links": {
            f"{one.link.a} – {one.link.b}": ">".join(_ends(one.pair)) for one in links if one.pair is not None
        },
        "cells": {
            "from": [devices.index(_ends(pair)[0]) for pair in pairs],
            "to": [devices.index(_ends(pair)[1]) for pair in pairs],
            "size": [sizes.index(pair.first.record.size_bytes) for pair in pairs],
            "way": [ways.index(pair.first.variant.label()) for pair in pairs],
            "both": [int(pair.first.record.pattern == "bidirectional") for pair in pairs],
            "differ": [int(pair.claim.differ) for pair in pairs],
            "speed": [float(f"{pair.speed:.4g}") for pair in pairs],
            "change": [change(pair.speed) for pair in pairs],
            "interval": [interval(pair) for pair in pairs],
            "first": [values(pair)[0] for pair in pairs],
            "second": [values(pair)[1] for pair in pairs],
        },
    }


def _of_two(pair: Pair) -> bool:
    """Whether it is the bandwidth of one flow, or of two in opposite directions."""
    cell = pair.first
    if cell.record.pattern == "bidirectional":
        return bool(concurrent([cell]))
    return bool(unidirectional([cell]))


def _ends(pair: Pair) -> tuple[str, str]:
    return pair.first.source.device, pair.first.destination.device
