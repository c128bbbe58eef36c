"""Words there and back: which cells they are, and where the words lie. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from byteways.analyse.summary import Cell


def between_cores(found: Iterable[Cell]) -> list[Cell]:
    """From core to core."""
    return [cell for cell in _all(found) if "partner_core" in cell.record.options]


def between_gpus(found: Iterable[Cell]) -> list[Cell]:
    """Between GPUs, and within one."""
    return [cell for cell in _others(found) if _gpus(cell) == 2]


def with_cpus(found: Iterable[Cell]) -> list[Cell]:
    """With a CPU on one side or both, but not from one named core to another."""
    return [cell for cell in _others(found) if _gpus(cell) < 2]


def between_kinds(found: Iterable[Cell]) -> list[Cell]:
    """With a CPU on one side and a GPU on the other."""
    return [cell for cell in _others(found) if _gpus(cell) == 1]


def between_cpus(found: Iterable[Cell]) -> list[Cell]:
    """With one CPU on one side and another on the other, but not from one named core to another."""
    cpus = [cell for cell in _others(found) if _gpus(cell) == 0]
    return [cell for cell in cpus if way(cell) != "within"]


def _all(found: Iterable[Cell]) -> list[Cell]:
    return [cell for cell in found if cell.record.interface == "ping-pong"]


def _others(found: Iterable[Cell]) -> list[Cell]:
    return [cell for cell in _all(found) if "partner_core" not in cell.record.options]


def _gpus(cell: Cell) -> int:
    return sum(agent.startswith("gpu") for agent in sides(cell))


def sides(cell: Cell) -> tuple[str, str]:
    """Executor and partner."""
    return cell.record.executor, cell.record.flows[0]["partner"]


def way(cell: Cell) -> str:
    """How the word crosses, by where the executor's is."""
    executor, partner = sides(cell)
    if executor == partner:
        return "within"
    ends = cell.source.agent, cell.destination.agent
    return {(partner, executor): "by store", (executor, partner): "by poll"}.get(ends, "in one memory")
