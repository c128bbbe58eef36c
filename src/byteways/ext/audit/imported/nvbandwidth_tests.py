"""What a cell of nvbandwidth's matrices is, by the name of its test and the matrix's part of it.

From its testcases_ce.cpp, testcases_sm.cpp and README of 0.4 to 0.10. The arrows of its titles contradict the
copies between GPUs: a cell of a `read` test is what the row's GPU reads from the column's, one of `write`
what it writes there. Copy engines' bidirectional tests print one of both directions, from 0.5 on both and
their sum.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

#: Of copies, unless `-b` says otherwise; the output does not contain it (README, 0.4 and later).
DEFAULT_BUFFER_BYTES = 512 << 20
#: Of latencies, whatever `-b` says (README, 0.5 and later).
CHASED_BYTES = 2 << 20
_MOVERS = {"ce": "copy", "sm": "kernel", "tma": "kernel-bulk"}
#: Kernels whose warps copy in both directions, so that their bandwidth has both (README of 0.8).
_SPLIT_WARPS_SINCE = (0, 8)


@dataclass(frozen=True)
class Cell:
    """What a cell is: its place, and the part of a bidirectional test that its matrix has."""

    row: int
    column: int
    part: str = ""  # of the title: Read1, Write2, Total
    version: tuple[int, ...] | None = None  # of nvbandwidth


@dataclass(frozen=True)
class Meaning:
    """What a number of nvbandwidth is, as of a ForeignValue."""

    operation: Operation
    counts: str | None = None
    size_bytes: int | None = DEFAULT_BUFFER_BYTES
    differences: tuple[str, ...] = ()


def value_of(
    test: str, cell: Cell, text: str, unit: Unit, *, line: int | None, pointer: str | None
) -> ForeignValue:
    """Returns the value of a cell of a test's matrix."""
    meaning = meaning_of(test, cell)
    return ForeignValue(
        line=line,
        test=test,
        column=f"(row {cell.row}, column {cell.column})" + (f" {cell.part}" if cell.part else ""),
        text=text,
        unit=unit,
        statistic="median",  # of its samples; a mean with --useMean, which is not printed
        counts=meaning.counts,
        size_bytes=meaning.size_bytes,
        operation=meaning.operation,
        differences=meaning.differences,
        pointer=pointer,
    )


def total_of(
    test: str, column: str, text: str, unit: Unit, *, line: int | None, pointer: str | None
) -> ForeignValue:
    """Returns a value below a matrix: sum, least, largest or mean of cells measured one after another."""
    difference = "sum-of-turns" if column.casefold() == "sum" else "devices-unknown"
    return ForeignValue(
        line, test, column, text, unit, None, None, None, Operation(), (difference,), pointer=pointer
    )


def meaning_of(test: str, cell: Cell) -> Meaning:
    """Returns what a cell of a test is; of a test that is not known here, that byteways has no such case."""
    if test.startswith("multinode_"):
        return Meaning(Operation(), differences=("devices-unknown",))
    for pattern, meaning in _FAMILIES:
        if found := pattern.fullmatch(test):
            return meaning(found, cell)
    return Meaning(Operation(), differences=("no-case",))


def _host(found: re.Match[str], cell: Cell) -> Meaning:
    """Between a GPU and the memory of its NUMA domain: host_to_device_memcpy_ce."""
    host, gpu = "?:pinned", f"gpu{cell.column}:device"
    source, destination = (host, gpu) if found["way"] == "host_to_device" else (gpu, host)
    operation = Operation(
        _MOVERS[found["mover"]], "unidirectional", source, destination, executor=f"gpu{cell.column}"
    )
    if not found["both"]:
        return Meaning(operation, "per-direction")
    both = replace(operation, pattern="bidirectional")
    if found["mover"] == "ce":
        return Meaning(both, "per-direction")
    known = cell.version is not None and cell.version >= _SPLIT_WARPS_SINCE
    return Meaning(both, "sum-of-directions" if known else None)


def _peers(found: re.Match[str], cell: Cell) -> Meaning:
    """Between two GPUs; the row's executes: device_to_device_memcpy_read_ce."""
    row, column = f"gpu{cell.row}:device", f"gpu{cell.column}:device"
    source, destination = (column, row) if found["access"] == "read" else (row, column)
    operation = Operation(
        _MOVERS[found["mover"]], "unidirectional", source, destination, executor=f"gpu{cell.row}"
    )
    if not found["both"]:
        return Meaning(operation, "per-direction")
    both = replace(operation, pattern="bidirectional")
    if cell.part == "Total":
        return Meaning(both, "sum-of-directions")
    if cell.part.endswith("2"):
        return Meaning(replace(both, source=destination, destination=source), "per-direction")
    if cell.part or found["mover"] == "ce":
        return Meaning(both, "per-direction")
    return Meaning(both, "sum-of-directions")  # of kernels, before there were parts (README of 0.2)


def _host_and_all(found: re.Match[str], cell: Cell) -> Meaning:
    """One GPU's share while all others copy, too: all_to_host_memcpy_ce."""
    host, gpu = "?:pinned", f"gpu{cell.column}:device"
    outward = found["way"] == "host_to_all"
    operation = Operation(
        _MOVERS[found["mover"]],
        "fan-bidirectional" if found["both"] else "fan-out" if outward else "fan-in",
        host if outward else gpu,
        gpu if outward else host,
        executor=f"gpu{cell.column}",
    )
    return Meaning(operation, "per-direction", differences=("no-case",))


def _peer_and_all(found: re.Match[str], cell: Cell) -> Meaning:
    """The sum of what one GPU exchanges with all others at once: all_to_one_write_ce."""
    gpu, outward = f"gpu{cell.column}:device", found["way"] == "one_to_all"
    operation = Operation(
        _MOVERS[found["mover"]],
        "fan-out" if outward else "fan-in",
        gpu if outward else "?:device",
        "?:device" if outward else gpu,
        executor=f"gpu{cell.column}" if (found["access"] == "write") == outward else "?",
    )
    return Meaning(operation, "sum-of-directions")


def _latency(found: re.Match[str], cell: Cell) -> Meaning:
    """Time of a dependent load: host_device_latency_sm, device_to_device_latency_sm."""
    reader, memory = (
        (f"gpu{cell.column}", "?:pinned")
        if found["way"] == "host_device"
        else (f"gpu{cell.row}", f"gpu{cell.column}:device")
    )
    operation = Operation("pointer-chase", "unidirectional", memory, memory, executor=reader)
    return Meaning(operation, "dependent-load", CHASED_BYTES)


def _local(found: re.Match[str], cell: Cell) -> Meaning:
    """Within a GPU: device_local_copy, device_local_read_sm."""
    gpu, what = f"gpu{cell.column}", found["what"]
    mover = _MOVERS[found["mover"] or "ce"]
    interface = {"copy": mover, "read": "load", "write": "store"}[what]
    counts = "per-direction" if what == "copy" else "read+write"
    operation = Operation(interface, "unidirectional", f"{gpu}:device", f"{gpu}:device", executor=gpu)
    return Meaning(operation, counts)


_MOVER = r"_(?P<mover>ce|sm|tma)"
_BOTH = r"(?P<both>_bidirectional)?_memcpy"
#: Families of tests, and what a cell of one is.
_FAMILIES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Cell], Meaning]], ...] = (
    (re.compile(rf"(?P<way>host_to_device|device_to_host){_BOTH}{_MOVER}"), _host),
    (re.compile(rf"device_to_device{_BOTH}_(?P<access>read|write){_MOVER}"), _peers),
    (re.compile(rf"(?P<way>all_to_host|host_to_all){_BOTH}{_MOVER}"), _host_and_all),
    (re.compile(rf"(?P<way>all_to_one|one_to_all)_(?P<access>read|write){_MOVER}"), _peer_and_all),
    (re.compile(rf"(?P<way>host_device|device_to_device)_latency{_MOVER}"), _latency),
    (re.compile(rf"device_local_(?P<what>copy|read|write)(?:{_MOVER})?"), _local),
)
