"""The recommendation table: the best interface for each kind of pair, at two small sizes and the large one.

Each cell has the interface and its lead over the next best one, each with its best memory, access and
options. Only alternatives for the same job are compared: contiguous data in cold, non-migrating memory, each
byte counted once. A few pairs stand for their class of links only where its pairs are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from byteways.answers.best.decisions import NEAR_SIZE_FACTOR, Decision, Decisions, Place, decisions
from byteways.answers.best.methods import method
from byteways.answers.best.ranking import Ranking, Rival
from byteways.answers.best.wording_answers import many_at_once
from byteways.answers.best.wording_rankings import (
    NO_LEAD_OVER,
    faster_elsewhere,
    margin,
    runner_up,
    tied_interfaces,
)
from byteways.answers.claims.phrases import rate, speed
from byteways.answers.results.index import Index
from byteways.answers.results.summary import RecordedRun, ResultGroup
from byteways.answers.results.variants import Variant
from byteways.base.text import Sentence
from byteways.base.units import format_size

#: Sizes at which latency dominates, and latency and bandwidth; bandwidth does at the large size of the run.
SMALL_SIZES = (4 * 2**10, 2**20)
#: Sizes from which on launch overhead no longer counts, so that one may stand for another.
LARGE = 16 * 2**20
#: Kinds of pair (selection.KINDS) in table order.
ORDER = ("cpu-gpu", "gpu-cpu", "gpu-gpu", "gpu", "cpu", "cpu-cpu")
PAIR_LABELS = {
    "cpu-gpu": "host > GPU",
    "gpu-cpu": "GPU > host",
    "gpu-gpu": "GPU > GPU",
    "gpu": "inside a GPU",
    "cpu": "in host memory",
    "cpu-cpu": "NUMA domain > another",
}


def _name(variant: Variant) -> str:
    needed = " ".join(each.text() for each in (variant.options, variant.environment) if each)
    return f"{variant.interface} with {needed}" if needed else variant.interface


@dataclass(frozen=True)
class Lead:
    """The best alternative for a kind of pair, link class and size."""

    ranking: Ranking
    size_bytes: int
    method: str = ""  # as a programmer writes it
    many: str = ""  # `many at once: batch, 392 GB/s`, where that gains; '' otherwise

    @property
    def variant(self) -> Variant:
        return self.ranking.variant

    @property
    def group(self) -> ResultGroup:
        return self.ranking.group

    @property
    def ties(self) -> tuple[str, ...]:
        """Interfaces without a significant difference from it."""
        return tied_interfaces(self.ranking)

    @property
    def runner_up(self) -> Rival | None:
        """The best of the other interfaces that it leads; None if there is none."""
        return runner_up(self.ranking)

    @property
    def default(self) -> Rival | None:
        """The best with default settings, if this one needs others."""
        return self.ranking.default

    @property
    def margin(self) -> str:
        return margin(self.ranking)

    def text(self, wanted: int, tie: str) -> str:
        """`copy 396 GB/s, 5.4 % over kernel`; `tie` stands before those from which it does not differ."""
        at = self.size_said(wanted)
        result = f"{self.name} {self.figure}{' ' + at if at else ''}"
        parts = result, margin(self.ranking, tie=tie), self.by_default, self.many, self.doubts
        return ", ".join(filter(None, parts))

    def brief_text(self, wanted: int, tie: str) -> str:
        """`copy 396 GB/s, 5.4 % over kernel, noisy`: without intervals, defaults and other ways."""
        at = self.size_said(wanted)
        result = f"{self.name} {self.figure}{' ' + at if at else ''}"
        return ", ".join(filter(None, (result, margin(self.ranking, tie=tie, brief=True), *self._of_data)))

    @property
    def figure(self) -> str:
        """`396 GB/s`, `197 to 392 GB/s` if the pairs differ; of small transfers `2.51 µs (1.63 GB/s)`."""
        return speed(self.group)

    @property
    def name(self) -> str:
        """The interface with required settings: `copy with HSA_ENABLE_SDMA=0`."""
        return _name(self.variant)

    @property
    def by_default(self) -> str:
        """`by default: kernel, 36 GB/s`; '' if it needs no settings."""
        if self.default is None:
            return ""
        return f"by default: {self.default.variant.interface}, {speed(self.default.group)}"

    @property
    def doubts(self) -> str:
        """Data warnings, and faster ways that few pairs have or that cannot be ranked: `noisy, not ranked:
        kernel, 375 GB/s`.
        """
        words = [*self._of_data]
        elsewhere = faster_elsewhere(self.ranking, " GB/s")
        if elsewhere and elsewhere != self.margin:
            words.append(elsewhere)
        for one in self.ranking.unranked[:1]:
            words.append(f"not ranked: {_name(one.variant)}, {rate(one.group)} GB/s")
        return ", ".join(words)

    @property
    def _of_data(self) -> tuple[str, ...]:
        """`noisy`, `drifting`: the data warnings."""
        return tuple(dict.fromkeys(word for cell in self.group.cells for word in cell.doubts))

    @property
    def how(self) -> str:
        """The end that issues it, memory and options: `issued by the source`, `with pinned memory`."""
        return self.variant.settings

    def size_said(self, wanted: int) -> str:
        """`at 64 KiB` if that is not the column's size."""
        return "" if self.size_bytes == wanted else f"at {format_size(self.size_bytes)}"


@dataclass(frozen=True)
class Gap:
    """Why there is no lead, and whether anything was measured."""

    reason: Sentence
    measured: bool


@dataclass(frozen=True)
class Headline:
    """A row per kind of pair, an entry per size; sizes without any measurement nearby are omitted."""

    sizes: tuple[int, ...]
    rows: tuple[tuple[str, tuple[Lead | Gap, ...]], ...]

    @property
    def size_names(self) -> tuple[str, ...]:
        return tuple(format_size(size) for size in self.sizes)

    @property
    def methods(self) -> tuple[str, ...]:
        """How a program calls each interface of the table: where it is best for the largest transfers."""
        leads = [lead for _, entries in self.rows for lead in entries if isinstance(lead, Lead)]
        names: dict[str, str] = {}
        for lead in sorted(leads, key=lambda lead: -lead.size_bytes):
            names.setdefault(lead.variant.interface, lead.method)
        return tuple(names.values())


def headline(run: RecordedRun) -> Headline | None:
    """Returns the table; None if nothing suitable was measured in enough rounds."""
    index = Index.of(run)
    found = decisions(index)
    places = found.plain_places()
    if not places:
        return None
    sizes = [size for size in SMALL_SIZES if size * NEAR_SIZE_FACTOR < found.large_bytes]
    sizes.append(found.large_bytes)
    rows = []
    for name in ORDER:
        classes = [place for place in places if place.kind == name]
        for place in sorted(classes, key=lambda place: -_reach(found.large(place))):
            named = place.link_class and (name == "gpu-gpu" or len(classes) > 1)
            leads = tuple(_entry(index, found, place, size) for size in sizes)
            label = f"{PAIR_LABELS[name]}, {place.link_class}" if named else PAIR_LABELS[name]
            rows.append((label, leads))
    if not any(isinstance(entry, Lead) for _, leads in rows for entry in leads):
        return None
    rows = [(label, leads) for label, leads in rows if any(map(_was_measured, leads))]
    kept = [column for column in range(len(sizes)) if any(_was_measured(leads[column]) for _, leads in rows)]
    return Headline(
        tuple(sizes[column] for column in kept),
        tuple((label, tuple(leads[column] for column in kept)) for label, leads in rows),
    )


def _was_measured(entry: Lead | Gap) -> bool:
    return isinstance(entry, Lead) or entry.measured


def _reach(decision: Decision) -> float:
    return max(cell.value for cell in decision.cells)


def _entry(index: Index, found: Decisions, place: Place, wanted: int) -> Lead | Gap:
    """Returns the best near a small size, or at the large size of the place."""
    large = wanted == found.large_bytes
    decision = found.large(place) if large else found.near(place, wanted)
    if decision is None or (large and decision.size_bytes < min(LARGE, wanted)):
        return Gap(f"not {index.voice.measured}", measured=False)
    if decision.ranking is None:
        return Gap("too few rounds", measured=True)
    best = decision.ranking.group
    name = method(best.cells, index.topology)
    return Lead(decision.ranking, decision.size_bytes, name, many_at_once(decision.many, best))


def best_first(found: Headline | None) -> list[dict[str, Any]]:
    """Returns the table as plain data, one object per entry."""
    if found is None:
        return []
    return [
        {
            "between": label,
            "wanted_size_bytes": wanted,
            "size_bytes": lead.size_bytes,
            "interface": lead.variant.interface,
            "method": lead.method,
            "how": lead.how,
            "bandwidth_bytes_per_s": lead.group.value,
            "bandwidth_bytes_per_s_interval": [lead.group.low, lead.group.high],
            "ties": list(lead.ties),
            "next": lead.runner_up.variant.interface if lead.runner_up else None,
            "next_bandwidth_bytes_per_s": lead.runner_up.group.value if lead.runner_up else None,
            "default": lead.default.variant.interface if lead.default else None,
            "default_bandwidth_bytes_per_s": lead.default.group.value if lead.default else None,
            "many_at_once": lead.many or None,
            "claims": [one.claim.to_json() for one in lead.ranking.rivals],
        }
        for label, leads in found.rows
        for lead, wanted in zip(leads, found.sizes, strict=True)
        if isinstance(lead, Lead)
    ]


def rows_of_text(found: Headline, tie: str = NO_LEAD_OVER, *, brief: bool = False) -> list[tuple[str, ...]]:
    """Returns rows for a terminal or a notebook; `tie`: see Lead.text; `brief`: see Lead.brief_text."""
    said = Lead.brief_text if brief else Lead.text
    return [
        (
            label,
            *(
                lead.reason if isinstance(lead, Gap) else said(lead, size, tie)
                for lead, size in zip(leads, found.sizes, strict=True)
            ),
        )
        for label, leads in found.rows
    ]
