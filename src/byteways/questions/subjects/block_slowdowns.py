"""What block copies cost a compute kernel that runs at the same time: multiprocessors, and its slowdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from byteways.answers.claims.wording import difference_text
from byteways.answers.results.index import Index
from byteways.cases.block_layout import blocks_of_options, moves_blocks
from byteways.cases.block_list import BlockList
from byteways.cases.case import Flow
from byteways.cases.interfaces import INTERFACES
from byteways.cases.options import SUBMIT
from byteways.questions.display.table import Columns, Table, figures, tabulated, words
from byteways.questions.subjects.interference import Slowdown, slowdowns


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
    found = [_of(index, pair) for pair in pairs if moves_blocks(pair.cell.case.interface_of(_load(pair)))]
    return sorted(found, key=lambda one: -one.pair.own)


def _load(pair: Slowdown) -> Flow:
    return pair.cell.case.flows[1]


def _of(index: Index, pair: Slowdown) -> BlockSlowdown:
    case, load = pair.cell.case, _load(pair)
    interface, options, size = case.interface_of(load), load.options, case.size_of(load)
    layout = blocks_of_options(options, size)
    submit = options.get(SUBMIT.name, SUBMIT.usual_word)
    grids = [
        int(cell.record.launch.get("blocks") or 0)
        for cell in index.cells
        if cell.record.launch
        and (cell.record.interface, cell.size_bytes) == (interface, size)
        and blocks_of_options(cell.record.options, size).sizes == layout.sizes
    ]
    if not INTERFACES[interface].kernels["gpu"]:
        grids = [0]
    known = load.executor in index.topology.names()
    return BlockSlowdown(
        interface if submit == SUBMIT.usual_word else f"{interface} ({SUBMIT.name}={submit})",
        load.path,
        BlockList(layout.count, layout.block_bytes),
        max(grids, default=None),
        index.topology.device(load.executor).multiprocessors if known else None,
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
    columns: Columns[BlockSlowdown] = (
        words("during", lambda one: one.method),
        words("on", lambda one: one.path),
        words("blocks", lambda one: str(one.blocks)),
        words("its grid fills", lambda one: one.grid),
        figures(
            "time, × alone", lambda one: f"{one.pair.own:.2f}" if one.pair.sure else f"({one.pair.own:.2f})"
        ),
    )
    note = "In parentheses where the intervals overlap"
    return tabulated("Arithmetic on a GPU during block copies", columns, found, note)
