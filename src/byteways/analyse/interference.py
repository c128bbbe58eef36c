"""What a transfer costs others: each measured flow beside each transfer, and both of them alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from byteways.analyse.loaded import disturber, in_window
from byteways.analyse.summary import ALIKE, Cell, above
from byteways.plan.interfaces import figure_of

#: A slowdown that anybody would act on, however sure a smaller one is.
NOTEWORTHY = 0.01


@dataclass(frozen=True)
class Slowdown:
    """One measured flow beside one transfer.

    `own` is how many times as long the measured flow takes as alone, `most` the same by the far ends of both
    intervals, `others` the same of the transfer; None where that was not measured alone. All of them say what
    the one costs the other only where both ran `together`, in one window.
    """

    cell: Cell
    alone: Cell
    beside: str
    load_bytes_per_s: float
    load_alone: Cell | None

    @property
    def own(self) -> float:
        if figure_of(self.cell.record.interface) == "bandwidth":
            return self.alone.value / self.cell.value
        return self.cell.value / self.alone.value

    @property
    def together(self) -> bool:
        return in_window(self.cell)

    @property
    def most(self) -> float:
        if figure_of(self.cell.record.interface) == "bandwidth":
            return self.alone.high / self.cell.low
        return self.cell.high / self.alone.low

    @property
    def others(self) -> float | None:
        if self.load_alone is None or self.load_bytes_per_s <= 0:
            return None
        return self.load_alone.value / self.load_bytes_per_s

    @property
    def sure(self) -> bool:
        """Whether the measured flow is slower beyond both intervals."""
        if figure_of(self.cell.record.interface) == "bandwidth":
            return above(self.alone, self.cell)
        return above(self.cell, self.alone)

    @property
    def free(self) -> bool:
        """Whether the measured flow is no slower than by next to nothing, by the intervals too."""
        misjudged = self.alone.misjudged or self.cell.misjudged
        return self.own < 1 + NOTEWORTHY and self.most < 1 + ALIKE and not misjudged


def slowdowns(found: Sequence[Cell]) -> list[Slowdown]:
    """All pairs of a flow alone and beside one transfer of another kind, in order of first appearance.

    Walks under load are curves of their own (analyse/loaded.py).
    """
    alone = {_key(cell.record, cell.record.flows[0]): cell for cell in found if _single(cell)}
    pairs = []
    for cell in found:
        record = cell.record
        if record.pattern != "interference" or record.interface == "pointer-chase" or len(record.flows) != 2:
            continue
        measured, other = record.flows
        same = alone.get(_key(record, measured))
        if same is None or other.get("interface") is None:
            continue
        load = median(one.load_bytes_per_s or 0.0 for one in cell.records)
        beside = disturber(record.flows, record.interface)
        pairs.append(Slowdown(cell, same, beside, load, alone.get(_key(record, other))))
    return pairs


def _single(cell: Cell) -> bool:
    return cell.record.pattern == "unidirectional" and len(cell.record.flows) == 1


def _key(record: Any, flow: Mapping[str, Any]) -> tuple[object, ...]:
    """What a flow is, wherever it runs: with what of its record it does not say itself."""
    own = flow.get("interface")
    options = record.options if own is None else flow.get("options") or {}
    return (
        own or record.interface,
        flow["source"],
        flow["destination"],
        flow["executor"],
        flow.get("size_bytes") or record.size_bytes,
        record.cache if own is None else "cold",
        json.dumps(options, sort_keys=True),
        json.dumps(record.environment, sort_keys=True),
    )
