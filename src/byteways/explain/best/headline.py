"""The recommendation table: the best interface for each kind of pair, at three sizes.

Each cell has the interface and its lead over the next best one, each with its best memory, access and
options. Only alternatives for the same job are compared: contiguous data in cold, non-migrating memory, each
byte counted once. A few pairs stand for their class of links only where its pairs are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from byteways.explain.best.ranking import Ranking, Rival, rank
from byteways.explain.best.wording_rankings import faster_elsewhere, margin, runner_up, tied_interfaces
from byteways.explain.claims.phrases import differ, rate
from byteways.explain.results.index import Index
from byteways.explain.results.selection import broadest_size, by_nearest, does_the_job, kind, unidirectional
from byteways.explain.results.summary import RecordedRun, Result, ResultGroup, group_by
from byteways.explain.results.variants import Variant
from byteways.topology.model import Topology
from byteways.units import format_size

#: Sizes at which latency, both, and bandwidth dominate.
SIZES = (4 * 2**10, 2**20, 2**30)
#: Sizes from which on launch overhead no longer counts, so that one may stand for another.
LARGE = 16 * 2**20
#: A measured size may differ from a column's size by this factor; farther off, another interface may be best.
NEAR_SIZE_FACTOR = 2
#: Shown instead of a value: nothing measured near the size; too few rounds to rank.
NOT_MEASURED, TOO_FEW_TO_RANK = "not measured", "too few rounds"
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
    needed = " ".join(part for part in (variant.options, variant.environment) if part)
    return f"{variant.interface} with {needed}" if needed else variant.interface


@dataclass(frozen=True)
class Lead:
    """The best alternative for a kind of pair, link class and size."""

    ranking: Ranking
    size_bytes: int

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

    @property
    def figure(self) -> str:
        """`396 GB/s`, `197 to 392 GB/s` if the pairs differ."""
        return f"{rate(self.group)} GB/s"

    @property
    def name(self) -> str:
        """The interface with required settings: `copy with HSA_ENABLE_SDMA=0`."""
        return _name(self.variant)

    @property
    def by_default(self) -> str:
        """`by default: kernel, 36 GB/s`; '' if it needs no settings."""
        if self.default is None:
            return ""
        return f"by default: {self.default.variant.interface}, {rate(self.default.group)} GB/s"

    @property
    def doubts(self) -> str:
        """Data warnings, and faster ways that few pairs have or that cannot be ranked: `noisy, not ranked:
        kernel, 375 GB/s`.
        """
        words = [*dict.fromkeys(word for cell in self.group.cells for word in cell.doubts)]
        elsewhere = faster_elsewhere(self.ranking, " GB/s")
        if elsewhere and elsewhere != self.margin:
            words.append(elsewhere)
        for one in self.ranking.unranked[:1]:
            words.append(f"not ranked: {_name(one.variant)}, {rate(one.group)} GB/s")
        return ", ".join(words)

    @property
    def how(self) -> str:
        """Access, memory and options if not default: `write`, `pinned`."""
        return self.variant.label().partition(", ")[2]

    def size_said(self, wanted: int) -> str:
        """`at 64 KiB` if that is not the column's size."""
        return "" if self.size_bytes == wanted else f"at {format_size(self.size_bytes)}"


@dataclass(frozen=True)
class Gap:
    """Why there is no lead."""

    reason: str


@dataclass(frozen=True)
class Headline:
    """A row per kind of pair, an entry per size; sizes without any measurement nearby are omitted."""

    sizes: tuple[int, ...]
    rows: tuple[tuple[str, tuple[Lead | Gap, ...]], ...]

    @property
    def size_names(self) -> tuple[str, ...]:
        return tuple(format_size(size) for size in self.sizes)


def headline(run: RecordedRun) -> Headline | None:
    """Returns the table; None if nothing suitable was measured in enough rounds."""
    index = Index.of(run)
    compared = [cell for cell in unidirectional(index.cells) if _comparable(cell, run.topology)]
    rows = []
    for name in ORDER:
        of_kind = [cell for cell in compared if kind(cell) == name]
        classes = group_by(of_kind, index.link_class)
        for link_class, members in sorted(classes.items(), key=lambda item: -_reach(item[1])):
            named = link_class and (name == "gpu-gpu" or len(classes) > 1)
            leads = tuple(_entry(members, size) for size in SIZES)
            if any(_was_measured(entry) for entry in leads):
                rows.append((f"{PAIR_LABELS[name]}, {link_class}" if named else PAIR_LABELS[name], leads))
    if not any(isinstance(entry, Lead) for _, leads in rows for entry in leads):
        return None
    kept = [place for place in range(len(SIZES)) if any(_was_measured(leads[place]) for _, leads in rows)]
    return Headline(
        tuple(SIZES[place] for place in kept),
        tuple((label, tuple(leads[place] for place in kept)) for label, leads in rows),
    )


def _was_measured(entry: Lead | Gap) -> bool:
    """Whether anything was measured there."""
    return entry != Gap(NOT_MEASURED)


def _comparable(cell: Result, topology: Topology) -> bool:
    return cell.record.cache == "cold" and cell.stays and does_the_job(cell) and by_nearest(cell, topology)


def _reach(members: Sequence[Result]) -> float:
    return max(cell.value for cell in members)


def _entry(members: Sequence[Result], wanted: int) -> Lead | Gap:
    """Returns the best at the nearest size with two interfaces, or at the nearest size with any."""
    near = [
        cell
        for cell in members
        if max(cell.record.size_bytes, wanted) <= NEAR_SIZE_FACTOR * min(cell.record.size_bytes, wanted)
    ]
    sizes = group_by([cell for cell in near if cell.ranked], lambda cell: cell.record.size_bytes)
    if not sizes:
        return Gap(TOO_FEW_TO_RANK if near else NOT_MEASURED)
    size = min(
        sizes,
        key=lambda size: (
            len({cell.record.interface for cell in sizes[size]}) < 2,
            abs(log2(size / wanted)),
            -size,
        ),
    )
    ranking = rank(cell for cell in near if cell.record.size_bytes == size)
    return _of_all_pairs(Lead(ranking, size), members) if ranking is not None else Gap(NOT_MEASURED)


def _of_all_pairs(lead: Lead, members: Sequence[Result]) -> Lead:
    """Returns the best at the large size with most pairs if it has more than the lead, and they differ.

    Otherwise the lead: pairs that are alike stand for each other.
    """
    large = [cell for cell in members if cell.ranked and cell.record.size_bytes >= LARGE]
    if lead.size_bytes < LARGE or not large:
        return lead
    size = broadest_size(large)
    broadest = rank(cell for cell in members if cell.record.size_bytes == size)
    if broadest is None or len(_pairs(broadest)) <= len(_pairs(lead.ranking)) or not differ(broadest.group):
        return lead
    return Lead(broadest, size)


def _pairs(ranking: Ranking) -> set[str]:
    return {cell.record.path for cell in ranking.group.cells}


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
            "how": lead.how,
            "bandwidth_bytes_per_s": lead.group.value,
            "bandwidth_bytes_per_s_interval": [lead.group.low, lead.group.high],
            "ties": list(lead.ties),
            "next": lead.runner_up.variant.interface if lead.runner_up else None,
            "next_bandwidth_bytes_per_s": lead.runner_up.group.value if lead.runner_up else None,
            "default": lead.default.variant.interface if lead.default else None,
            "default_bandwidth_bytes_per_s": lead.default.group.value if lead.default else None,
            "claims": [one.claim.to_json() for one in lead.ranking.rivals],
        }
        for label, leads in found.rows
        for lead, wanted in zip(leads, found.sizes, strict=True)
        if isinstance(lead, Lead)
    ]


def rows_of_text(found: Headline) -> list[tuple[str, ...]]:
    """Returns rows for a terminal: `copy 396 GB/s, 5.4 % over kernel`."""
    return [
        (label, *(_text(lead, size) for lead, size in zip(leads, found.sizes, strict=True)))
        for label, leads in found.rows
    ]


def _text(lead: Lead | Gap, wanted: int) -> str:
    if isinstance(lead, Gap):
        return lead.reason
    at = lead.size_said(wanted)
    parts = f"{lead.name} {lead.figure}{' ' + at if at else ''}", lead.margin, lead.by_default, lead.doubts
    return ", ".join(part for part in parts if part)
