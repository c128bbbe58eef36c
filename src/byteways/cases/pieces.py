"""Operations that move many pieces with gaps between them: pitched rows or scattered blocks. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from byteways.cases.block_layout import BlockLayout, blocks_of_options, moves_blocks
from byteways.cases.case import Case, Flow
from byteways.cases.pitched_rows import PitchedRows, moves_rows, rows_of_options


def pieces_of(case: Case, flow: Flow) -> PitchedRows | BlockLayout | None:
    """Returns the pieces of a flow; None if it moves contiguous bytes."""
    return pieces_of_options(case.interface_of(flow), case.options_of(flow), case.size_of(flow))


def pieces_of_options(
    interface: str, options: Mapping[str, int | str | bool], size_bytes: int
) -> PitchedRows | BlockLayout | None:
    """Returns the pieces of an operation of `size_bytes`; None if its bytes are contiguous."""
    if moves_rows(interface):
        return rows_of_options(options, size_bytes)
    return blocks_of_options(options, size_bytes) if moves_blocks(interface) else None
