"""What block copies cost a compute kernel that runs at the same time: multiprocessors, and its slowdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from byteways.explain.claims.wording import difference_text
from byteways.explain.display.table import Table
from byteways.explain.results.index import Index
from byteways.explain.subjects.interference import Slowdown, slowdowns
from byteways.plan.block_layout import blocks_of_options, moves_blocks
from byteways.plan.block_list import BlockList
from byteways.plan.interfaces import INTERFACES
from byteways.plan.options import SUBMIT


@dataclass(frozen=True)
class BlockSlowdown:
    """A compute kernel with one method of block copies at the same time."""

    method: str  # `copy-blocks (submit=batch)`
    path: str
    blocks: BlockList
    thread_blocks: int | None  # of the method's grid; 0: the vendor's call; None: not recorded
    multiprocessors: int | None  # of the GPU
    pair: Slowdown

    @property
    def used(self) -> int | None:
        """The multiprocessors that its grid can occupy; None if unknown."""
        if self.thread_blocks is None or self.multiprocessors is None:
            return None
        return min(self.thread_blocks, self.multiprocessors)

    @property
    def grid(self) -> str:
        """`8 of 132 multiprocessors`, `the vendor's call`."""
        if self.thread_blocks == 0:
            return "the vendor's call"
        known = f"{self.used} of {self.multiprocessors} multiprocessors"
        return "grid not recorded" if self.used is None else known

    def to_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "path": self.path,
            "count": self.blocks.count,
            "block_bytes": self.blocks.block_bytes,
            "thread_blocks": self.thread_blocks,
            "multiprocessors": self.used,
            "claim": self.pair.claim.to_json(),
        }


def block_slowdowns(index: Index) -> list[BlockSlowdown]:
    """Returns the slowdowns by block copies that ran at the same time as the kernel, the worst first."""
    pairs = [pair for pair in slowdowns(index.ranked) if pair.together]
    found = [_of(index, pair) for pair in pairs if moves_blocks(_load(pair)["interface"])]
    return sorted(found, key=lambda one: -one.pair.own)


def _load(pair: Slowdown) -> dict[str, Any]:
    return pair.cell.record.flows[1]


def _of(index: Index, pair: Slowdown) -> BlockSlowdown:
    load = _load(pair)
    options = load.get("options") or {}
    size = load.get("size_bytes") or pair.cell.record.size_bytes
    layout = blocks_of_options(options, size)
    submit = options.get(SUBMIT.name, SUBMIT.usual_word)
    ends = [str(load[end]).partition(":")[0] for end in ("source", "destination")]
    grids = [
        int(cell.record.launch.get("blocks") or 0)
        for cell in index.cells
        if cell.record.launch
        and (cell.record.interface, cell.record.size_bytes) == (load["interface"], size)
        and blocks_of_options(cell.record.options, size).sizes == layout.sizes
    ]
    if not INTERFACES[load["interface"]].kernels["gpu"]:
        grids = [0]
    executor = str(load["executor"])
    known = executor in index.topology.names()
    return BlockSlowdown(
        load["interface"] if submit == SUBMIT.usual_word else f"{load['interface']} ({SUBMIT.name}={submit})",
        ">".join(ends),
        BlockList(layout.count, layout.block_bytes),
        max(grids, default=None),
        index.topology.device(executor).multiprocessors if known else None,
        pair,
    )


def slowdown_text(found: Sequence[BlockSlowdown]) -> str:
    """`Time of arithmetic on gpu0 compared to alone: 26 % more during kernel-blocks (132 of 132
    multiprocessors), no significant difference during …`.
    """
    each = [f"{difference_text(one.pair.claim)} during {one.method} ({one.grid})" for one in found]
    return (
        f"Time of arithmetic on {found[0].pair.alone.record.executor} compared to alone: {', '.join(each)}."
    )


def slowdown_table(found: Sequence[BlockSlowdown]) -> Table:
    """Returns a row for each method: what it copies, the multiprocessors of its grid, and the slowdown."""
    rows = tuple(
        (
            one.method,
            one.path,
            str(one.blocks),
            one.grid,
            f"{one.pair.own:.2f}" if one.pair.sure else f"({one.pair.own:.2f})",
        )
        for one in found
    )
    headings = ("during", "on", "blocks", "its grid fills", "time, × alone")
    note = "In parentheses where the intervals overlap"
    return Table("Arithmetic on a GPU during block copies", headings, rows, (4,), (note,))
