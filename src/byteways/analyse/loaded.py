"""Latency under load: chases beside flows that only load the machine, as curves over the achieved rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from byteways.analyse.selection import chases
from byteways.analyse.summary import Cell, group_by
from byteways.plan.interfaces import one_buffer
from byteways.results.record import Record
from byteways.units import format_size

#: Warnings that say that rates are not from a window of all flows.
APART = {"serialised", "few-operations"}


@dataclass(frozen=True)
class LoadPoint:
    """`load_bytes_per_s` was achieved in the very window that the latency is from."""

    load_bytes_per_s: float
    cell: Cell


@dataclass(frozen=True)
class Walk:
    """All that must be alike for two walks to be one."""

    walker: str
    memory: str  # `gpu1:device`
    size_bytes: int
    cache: str
    options: str
    environment: str

    @property
    def label(self) -> str:
        """'gpu0: gpu1:device, 512 MiB', with what else sets it."""
        rest = [part for part in (self.options, self.environment) if part]
        return ", ".join([f"{self.walker}: {self.memory}", format_size(self.size_bytes), *rest])


@dataclass(frozen=True)
class LoadCurve:
    """One walk beside one way to load the machine. `idle`: the same walk with nothing beside it.

    Without points where no case had a window in common.
    """

    walk: Walk
    load: str
    idle: Cell | None
    points: tuple[LoadPoint, ...]  # by load, ascending
    apart: int = 0  # cases whose flows had no window in common, and so no figure


def disturber(record_flows: Sequence[Mapping[str, Any]], interface: str, *, leave_out: str = "") -> str:
    """`copy gpu0>gpu1 by gpu0`, `kernel gpu0>gpu0 (blocks=264)`: what loads the machine, in words.

    Args:
        record_flows: `flows` of a record.
        interface: Of the record; that of flows that name none.
        leave_out: Option that is not named.
    """
    words = []
    for flow in record_flows[1:]:
        source, destination = (str(flow[end]) for end in ("source", "destination"))
        ends = [source.partition(":")[0], destination.partition(":")[0]]
        by = "" if ends[0] == ends[1] == flow["executor"] else f" by {flow['executor']}"
        memories = [end.partition(":")[2] for end in (source, destination)]
        options = [
            f"{name}={value}" for name, value in (flow.get("options") or {}).items() if name != leave_out
        ]
        plain = [memory for memory in dict.fromkeys(memories) if memory != "device"]
        rest = ", ".join([*plain, *options])
        words.append(
            f"{flow.get('interface') or interface} {'>'.join(ends)}{by}" + (f" ({rest})" if rest else "")
        )
    return " and ".join(dict.fromkeys(words))


def in_window(cell: Cell) -> bool:
    """Whether the rates of disturbed flows are from a window that all of them share.

    Where there was none (flows took turns, or one left a single mark) each has the rate of its own time, or,
    in older records, of the whole run: that is no figure of the one beside the other.
    """
    return not any(_apart(record) for record in cell.records)


def _apart(record: Record) -> bool:
    if APART & {warning.id for warning in record.warnings}:
        return True
    if record.window_ns is not None and record.window_ns <= 0:
        return True
    # Older records: a rate in a window is never that of the whole run to the last digit.
    return bool(record.directions) and record.directions == record.end_to_end_bytes_per_s


def load_curves(found: Sequence[Cell]) -> list[LoadCurve]:
    """Every walk beside every way to load the machine, in order of first appearance."""
    idle = {_walk(cell): cell for cell in chases(found)}
    loaded = [
        cell
        for cell in found
        if cell.record.pattern == "interference"
        and cell.record.interface == "pointer-chase"
        and not any(one_buffer(str(flow.get("interface"))) for flow in cell.record.flows[1:])
    ]
    curves = []
    groups = group_by(
        loaded,
        lambda cell: (
            _walk(cell),
            disturber(cell.record.flows, "pointer-chase", leave_out="pause_ns"),
            tuple(flow.get("size_bytes") for flow in cell.record.flows[1:]),
        ),
    )
    for (walk, load, _), cells in groups.items():
        points = [LoadPoint(_load(cell), cell) for cell in cells if in_window(cell)]
        points.sort(key=lambda point: point.load_bytes_per_s)
        curves.append(LoadCurve(walk, load, idle.get(walk), tuple(points), len(cells) - len(points)))
    return curves


def _walk(cell: Cell) -> Walk:
    record = cell.record
    return Walk(
        str(record.flows[0]["executor"]),
        record.source,
        record.size_bytes,
        record.cache,
        cell.variant.options,
        cell.variant.environment,
    )


def _load(cell: Cell) -> float:
    return median(record.load_bytes_per_s or 0.0 for record in cell.records)
