"""What a reader wants to know first: the best interface between each kind of pair, at three sizes.

One word a cell, and by how much it leads the next best interface, each by its best memory, access, options.
Only ways that do the same job are compared: bytes that lie together, from cold memory, that stay where the
path says, each counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log2
from typing import Any

from byteways.analyse.compare import Ranking, Rival, rank
from byteways.analyse.phrases import rate
from byteways.analyse.results_index import Index
from byteways.analyse.selection import kind, unidirectional
from byteways.analyse.summary import Cell, Group, Run, Variant, group_by
from byteways.analyse.wording import margin, runner_up, tied_interfaces
from byteways.plan.interfaces import INTERFACES
from byteways.plan.sweep import nearest_cpu
from byteways.topology.model import Topology
from byteways.units import format_size

#: Latency decides, both do, bandwidth does.
SIZES = (4 * 2**10, 2**20, 2**30)
#: A size stands for another when it is at most so many times larger or smaller: farther off, another
#: interface may be best.
NEAR = 2
#: In place of a figure: nothing was measured near the size; or what was ranks nothing.
NOT_MEASURED, FEW_ROUNDS = "not measured", "too few rounds"
#: Kinds of pair (selection.KINDS) in the order of the table.
ORDER = ("cpu-gpu", "gpu-cpu", "gpu-gpu", "gpu", "cpu", "cpu-cpu")
LABELS = {
    "cpu-gpu": "host > GPU",
    "gpu-cpu": "GPU > host",
    "gpu-gpu": "GPU > GPU",
    "gpu": "inside a GPU",
    "cpu": "in host memory",
    "cpu-cpu": "NUMA domain > another",
}
#: Options that give bytes gaps between them, so that it is another job.
_GAPS = ("pitch_bytes",)


@dataclass(frozen=True)
class Lead:
    """The best way of one kind of pair over one class of links at one size."""

    ranking: Ranking
    size_bytes: int

    @property
    def variant(self) -> Variant:
        return self.ranking.variant

    @property
    def group(self) -> Group:
        return self.ranking.group

    @property
    def ties(self) -> tuple[str, ...]:
        """Interfaces without a significant difference from it."""
        return tied_interfaces(self.ranking)

    @property
    def runner_up(self) -> Rival | None:
        """The best of the other interfaces that it leads; None: there is none."""
        return runner_up(self.ranking)

    @property
    def default(self) -> Rival | None:
        """The best without settings, where this one needs some."""
        return self.ranking.default

    @property
    def margin(self) -> str:
        return margin(self.ranking)

    @property
    def figure(self) -> str:
        """`396 GB/s`."""
        return f"{rate(self.group)} GB/s"

    @property
    def name(self) -> str:
        """The interface with the settings that it needs: `copy with HSA_ENABLE_SDMA=0`."""
        same = self.variant
        needed = " ".join(part for part in (same.options, same.environment) if part)
        return f"{same.interface} with {needed}" if needed else same.interface

    @property
    def by_default(self) -> str:
        """`by default: kernel, 36 GB/s`, '' where it needs no settings."""
        if self.default is None:
            return ""
        return f"by default: {self.default.variant.interface}, {rate(self.default.group)} GB/s"

    @property
    def doubts(self) -> str:
        """What makes the figure unsure: `noisy`."""
        return ", ".join(dict.fromkeys(word for cell in self.group.cells for word in cell.doubts))

    @property
    def how(self) -> str:
        """Access, memory and options, where there is anything to say: `write`, `pinned`."""
        return self.variant.label().partition(", ")[2]

    def size_said(self, wanted: int) -> str:
        """`at 64 KiB` where that is not the size of the column."""
        return "" if self.size_bytes == wanted else f"at {format_size(self.size_bytes)}"


@dataclass(frozen=True)
class Gap:
    """In place of a lead: why there is none."""

    reason: str


@dataclass(frozen=True)
class Headline:
    """A row a kind of pair, an entry a size; sizes of SIZES that no row has anything near are left out."""

    sizes: tuple[int, ...]
    rows: tuple[tuple[str, tuple[Lead | Gap, ...]], ...]

    @property
    def size_names(self) -> tuple[str, ...]:
        return tuple(format_size(size) for size in self.sizes)


def headline(run: Run) -> Headline | None:
    """None where nothing of the kind was measured in rounds enough."""
    index = Index.of(run)
    compared = [cell for cell in unidirectional(index.cells) if _comparable(cell, run.topology)]
    rows = []
    for name in ORDER:
        of_kind = [cell for cell in compared if kind(cell) == name]
        classes = group_by(of_kind, index.link_class)
        for wires, members in sorted(classes.items(), key=lambda item: -_reach(item[1])):
            named = wires and (name == "gpu-gpu" or len(classes) > 1)
            leads = tuple(_entry(members, size) for size in SIZES)
            if any(_told(entry) for entry in leads):
                rows.append((f"{LABELS[name]}, {wires}" if named else LABELS[name], leads))
    if not any(isinstance(entry, Lead) for _, leads in rows for entry in leads):
        return None
    kept = [place for place in range(len(SIZES)) if any(_told(leads[place]) for _, leads in rows)]
    return Headline(
        tuple(SIZES[place] for place in kept),
        tuple((label, tuple(leads[place] for place in kept)) for label, leads in rows),
    )


def _told(entry: Lead | Gap) -> bool:
    """Whether anything was measured there."""
    return entry != Gap(NOT_MEASURED)


def _comparable(cell: Cell, topology: Topology) -> bool:
    known = INTERFACES[cell.record.interface]
    if known.counts != "per-direction" or known.buffers != "pair" or cell.record.cache != "cold":
        return False
    if set(_GAPS) & {*known.options} or not cell.stays:
        return False
    if "pace" in cell.record.options:  # waits for each operation: what a call costs, not what a path carries
        return False
    ends = cell.source.device, cell.destination.device
    gpus = [end for end in ends if end.startswith("gpu")]
    if len(gpus) == 1 and gpus[0] in topology.names():  # the host is the NUMA domain next to the GPU
        return nearest_cpu(gpus[0], topology) in ends
    return True


def _reach(members: Sequence[Cell]) -> float:
    return max(cell.value for cell in members)


def _entry(members: Sequence[Cell], wanted: int) -> Lead | Gap:
    """The best at the nearest size that two interfaces have, or that any has."""
    near = [
        cell
        for cell in members
        if max(cell.record.size_bytes, wanted) <= NEAR * min(cell.record.size_bytes, wanted)
    ]
    sizes = group_by([cell for cell in near if cell.ranked], lambda cell: cell.record.size_bytes)
    if not sizes:
        return Gap(FEW_ROUNDS if near else NOT_MEASURED)
    size = min(
        sizes,
        key=lambda size: (
            len({cell.record.interface for cell in sizes[size]}) < 2,
            abs(log2(size / wanted)),
            -size,
        ),
    )
    ranking = rank(sizes[size])
    return Lead(ranking, size) if ranking is not None else Gap(NOT_MEASURED)


def best_first(found: Headline | None) -> list[dict[str, Any]]:
    """The same as plain data, an object an entry."""
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
            "claims": [asdict(one.claim) for one in lead.ranking.rivals],
        }
        for label, leads in found.rows
        for lead, wanted in zip(leads, found.sizes, strict=True)
        if isinstance(lead, Lead)
    ]


def rows_of_text(found: Headline) -> list[tuple[str, ...]]:
    """Rows for a terminal: `copy 396 GB/s, 5.4 % over kernel`."""
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
