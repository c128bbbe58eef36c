"""What a reader wants to know first: the best interface between each kind of pair, at three sizes.

One word a cell, and by how much it leads the next best interface, each by its best memory, access, options.
Only ways that do the same job are compared: bytes that lie together, from cold memory, that stay where the
path says, each counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from byteways.analyse.best import best
from byteways.analyse.rules.facts import gb, percent
from byteways.analyse.selection import kind, link_class, unidirectional
from byteways.analyse.summary import Cell, Group, Run, Variant, above, cells, group_by, pool
from byteways.plan.interfaces import INTERFACES
from byteways.plan.sweep import nearest_cpu
from byteways.topology.model import Topology
from byteways.units import format_size

#: Latency decides, both do, bandwidth does.
SIZES = (4 * 2**10, 2**20, 2**30)
#: A size stands for another when it is at most so many times larger or smaller: farther off, another
#: interface may be best.
NEAR = 2
#: In place of a figure at a size that nothing measured is near.
NOT_MEASURED = "not measured"
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
    """The best way of one kind of pair at one size. Figures in bytes/s."""

    variant: Variant
    group: Group
    size_bytes: int
    ties: tuple[str, ...]  # interfaces that cannot be told from it
    runner_up: tuple[str, Group] | None  # the best of the other interfaces that can; None: there is none

    @property
    def margin(self) -> str:
        """`5.4 % over kernel`, `2.2 × kernel`, `cannot be told from kernel`; or that there is no other."""
        if self.ties:
            return f"cannot be told from {' and '.join(self.ties)}"
        if self.runner_up is None:
            return "nothing else at this size"
        name, group = self.runner_up
        factor = self.group.value / group.value
        return f"{percent(factor - 1)} over {name}" if factor < 2 else f"{factor:.2g} × {name}"

    @property
    def figure(self) -> str:
        """`396 GB/s`."""
        return f"{gb(self.group.value)} GB/s"

    @property
    def how(self) -> str:
        """Access, memory and options, where there is anything to say: `write`, `pinned`."""
        return self.variant.label().partition(", ")[2]

    def size_said(self, wanted: int) -> str:
        """`at 64 KiB` where that is not the size of the column."""
        return "" if self.size_bytes == wanted else f"at {format_size(self.size_bytes)}"


@dataclass(frozen=True)
class Headline:
    """A row a kind of pair, an entry a size; sizes of SIZES that no row has anything near are left out."""

    sizes: tuple[int, ...]
    rows: tuple[tuple[str, tuple[Lead | None, ...]], ...]

    @property
    def size_names(self) -> tuple[str, ...]:
        return tuple(format_size(size) for size in self.sizes)


def headline(run: Run) -> Headline | None:
    """None where nothing of the kind was measured."""
    compared = [cell for cell in unidirectional(cells(run.records)) if _comparable(cell, run.topology)]
    rows = []
    for name in ORDER:
        of_kind = [cell for cell in compared if kind(cell) == name]
        classes = group_by(of_kind, lambda cell: link_class(run.topology, cell))
        for wires, members in sorted(classes.items(), key=lambda item: -_reach(item[1])):
            named = wires and (name == "gpu-gpu" or len(classes) > 1)
            leads = tuple(_lead(members, size) for size in SIZES)
            if any(leads):
                rows.append((f"{LABELS[name]}, {wires}" if named else LABELS[name], leads))
    kept = [index for index in range(len(SIZES)) if any(leads[index] for _, leads in rows)]
    return (
        Headline(
            tuple(SIZES[index] for index in kept),
            tuple((label, tuple(leads[index] for index in kept)) for label, leads in rows),
        )
        if rows
        else None
    )


def _comparable(cell: Cell, topology: Topology) -> bool:
    known = INTERFACES[cell.record.interface]
    if known.counts != "per-direction" or known.buffers != "pair" or cell.record.cache != "cold":
        return False
    if set(_GAPS) & {*known.options} or not cell.stays:
        return False
    ends = cell.source.agent, cell.destination.agent
    gpus = [end for end in ends if end.startswith("gpu")]
    if len(gpus) == 1 and gpus[0] in topology.names():  # the host is the NUMA domain next to the GPU
        return nearest_cpu(gpus[0], topology) in ends
    return True


def _reach(members: Sequence[Cell]) -> float:
    return max(cell.value for cell in members)


def _lead(members: Sequence[Cell], wanted: int) -> Lead | None:
    """The best at the nearest size that two interfaces have, or that any has."""
    sizes = {
        size: some
        for size, some in group_by(members, lambda cell: cell.record.size_bytes).items()
        if max(size, wanted) <= NEAR * min(size, wanted)
    }
    if not sizes:
        return None
    size = min(
        sizes,
        key=lambda size: (
            len({cell.record.interface for cell in sizes[size]}) < 2,
            abs(log2(size / wanted)),
            -size,
        ),
    )
    entry = best(sizes[size])
    if entry is None:
        return None
    first = entry.variant.interface
    ties = tuple(dict.fromkeys(tie.interface for tie in entry.ties if tie.interface != first))
    others = [
        (same.interface, pool(some))
        for same, some in group_by(sizes[size], lambda cell: cell.variant).items()
        if same.interface not in (first, *ties)
    ]
    slower = [other for other in others if above(entry.group, other[1])]
    runner_up = max(slower, key=lambda other: other[1].value, default=None)
    return Lead(entry.variant, entry.group, size, ties, runner_up)


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
            "cannot_be_told_from": list(lead.ties),
            "next": lead.runner_up[0] if lead.runner_up else None,
            "next_bandwidth_bytes_per_s": lead.runner_up[1].value if lead.runner_up else None,
        }
        for label, leads in found.rows
        for lead, wanted in zip(leads, found.sizes, strict=True)
        if lead is not None
    ]


def rows_of_text(found: Headline) -> list[tuple[str, ...]]:
    """Rows for a terminal: `copy 396 GB/s, 5.4 % faster than kernel`."""
    return [
        (label, *(_text(lead, size) for lead, size in zip(leads, found.sizes, strict=True)))
        for label, leads in found.rows
    ]


def _text(lead: Lead | None, wanted: int) -> str:
    if lead is None:
        return NOT_MEASURED
    at = lead.size_said(wanted)
    return f"{lead.variant.interface} {lead.figure}{' ' + at if at else ''}, {lead.margin}"
