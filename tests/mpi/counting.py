"""Calls and bytes of all ranks by function: what pmpi_counter.c counted, and what a watch did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from byteways.ext.watch.bins import Bin

SOURCE = Path(__file__).with_name("pmpi_counter.c")
#: Names the files that it writes, with the rank behind.
VARIABLE = "PMPI_COUNTER"
#: Kinds of operations of a watch that the counter has, too.
_KINDS = ("message", "put", "get", "collective", "synchronisation", "start")

Rows = dict[str, tuple[int, int]]


def counter_rows(base: Path) -> Rows:
    """Reads what all ranks counted: `base` with each rank behind."""
    calls, sizes = Counter[str](), Counter[str]()
    for file in sorted(base.parent.glob(f"{base.name}.*")):
        for line in file.read_text().splitlines():
            function, number, moved = line.split()
            name = function.removesuffix("_c").replace("_c:", ":")
            calls[name] += int(number)
            sizes[name] += int(moved)
    return {name: (calls[name], sizes[name]) for name in calls}


def watch_rows(bins: Iterable[Bin]) -> Rows:
    """The same of the bins of a watch."""
    calls, sizes = Counter[str](), Counter[str]()
    for one in bins:
        if one.what in _KINDS and one.method.startswith("MPI_"):
            receive = ":receive" if one.detail.get("direction") == "receive" else ""
            calls[one.method + receive] += one.count
            sizes[one.method + receive] += one.bytes
    return {name: (calls[name], sizes[name]) for name in calls}
