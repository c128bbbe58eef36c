"""Sizes of application patterns: the grid of ranks, tiles, particles and their messages (pure).

`halo` stands for CloverLeaf's exchange, `particles` for Quicksilver's (schieffer2025, section 7). Both have a
buffer of data (the source of a flow) and one of messages (its destination) on every rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from byteways.cases.interfaces import APPLICATIONS
from byteways.cases.options import CROSSING, DEPTH_CELLS, FIELDS, MESSAGE_BYTES, PACKING

HALO, PARTICLES = APPLICATIONS
#: Bytes of a cell, and of a particle (native/interfaces/particles/arguments.hpp).
CELL_BYTES, PARTICLE_BYTES = 8, 128
#: Neighbours of a rank in a grid: the memory of messages has room for all.
MOST_NEIGHBOURS = 4
#: Largest message that the native core takes.
_MOST_MESSAGE_BYTES = MESSAGE_BYTES.span.most if MESSAGE_BYTES.span else 0
#: Transports that hand device memory to a library or to peers, so that a GPU must execute.
GPU_TRANSPORTS = ("mpi-staged", "xccl", "hybrid", "copies", "kernels")
OF_PEERS = ("copies", "kernels")
#: Transports that take messages from other memory than that of the case: what a core packs is new memory.
OF_CORES = ("mpi", "xccl", "hybrid")
#: Transports that need a communicator of NCCL or RCCL.
OF_XCCL = ("xccl", "hybrid")

OptionValues = Mapping[str, int | str | bool]


@dataclass(frozen=True)
class Tile:
    """Cells of one rank in x and y, without its halo of `depth` cells."""

    width: int
    height: int
    depth: int
    fields: int

    @property
    def state_bytes(self) -> int:
        """Bytes of all fields with their halos, before and after a step."""
        cells = (self.width + 2 * self.depth) * (self.height + 2 * self.depth)
        return 2 * self.fields * cells * CELL_BYTES

    @property
    def face_bytes(self) -> tuple[int, int]:
        """Bytes of a message along x and along y, which takes the corners with it."""
        rows = self.depth * self.fields * CELL_BYTES
        return rows * self.height, rows * (self.width + 2 * self.depth)

    @property
    def message_bytes(self) -> int:
        """Bytes of the memory of messages: packed ones, and twice those received."""
        return 3 * 2 * sum(self.face_bytes)


def tile_of(size_bytes: int, options: OptionValues) -> Tile:
    """Returns the tile of a rank whose cells of one field have `size_bytes`.

    Raises:
        ValueError: The cells do not fill whole rows, or have no face of `depth` cells.
    """
    cells = size_bytes // CELL_BYTES
    width = int(options.get("width_cells", 0)) or _near_square(cells)
    depth = int(options.get("depth_cells", DEPTH_CELLS.usual))
    if cells * CELL_BYTES != size_bytes or cells % width:
        raise ValueError(f"{size_bytes} bytes of a field are no whole rows of {width} cells of 8 bytes")
    tile = Tile(width, cells // width, depth, int(options.get("fields", FIELDS.usual)))
    if min(tile.width, tile.height) < depth:
        raise ValueError(f"a tile of {tile.width} × {tile.height} cells has no halo of {depth} cells")
    return tile


def _near_square(cells: int) -> int:
    """Returns the smallest divisor from the square root on."""
    if cells <= 0:
        return 1
    height = next(height for height in range(math.isqrt(cells), 0, -1) if cells % height == 0)
    return cells // height


def leaving(size_bytes: int, options: OptionValues) -> int:
    """Returns the particles of a rank that cross in a trip (native/interfaces/particles/trips.cpp)."""
    particles = size_bytes // PARTICLE_BYTES
    return max(MOST_NEIGHBOURS, particles * int(options.get("crossing", CROSSING.usual)) // 1000)


def _largest_message(leaving: int, batches: int, ranks: int, options: OptionValues) -> int:
    """Returns bytes of the largest message where each rank sends one a batch to every neighbour.

    Messages are of irregular sizes, half of the largest on average (native/interfaces/particles/trips.cpp).
    """
    columns = columns_of(ranks, options)
    rows = ranks // columns
    neighbours = 2 * ((columns - 1) * rows + columns * (rows - 1)) / ranks  # of a rank, on average
    particles = round(2 * leaving / (batches * max(1.0, neighbours)))
    return min(max(1, particles) * PARTICLE_BYTES, _MOST_MESSAGE_BYTES)


def columns_of(ranks: int, options: OptionValues) -> int:
    """Returns the ranks in a row of the grid: as square as possible and rather wide, like MPI_Dims_create.

    Raises:
        ValueError: The ranks do not fill whole rows.
    """
    columns = int(options.get("columns", 0)) or _near_square(ranks)
    if ranks % columns:
        raise ValueError(f"{ranks} ranks do not fill rows of {columns}")
    return columns


def bytes_of_ends(interface: str, size_bytes: int, options: OptionValues) -> tuple[int, int]:
    """Returns the bytes of a rank's data and of its messages.

    Raises:
        ValueError: See tile_of().
    """
    if interface == HALO:
        tile = tile_of(size_bytes, options)
        return tile.state_bytes, tile.message_bytes
    if size_bytes % PARTICLE_BYTES:
        raise ValueError(f"{size_bytes} bytes are no whole number of particles of {PARTICLE_BYTES} bytes")
    part = MOST_NEIGHBOURS * leaving(size_bytes, options) * PARTICLE_BYTES
    return size_bytes + part, 3 * part


def packed_by_core(interface: str, options: OptionValues) -> bool:
    """Returns whether a core of each rank packs its messages, as in Quicksilver."""
    return interface == PARTICLES and options.get("packing") == "original"


def fell_back(asked: str, used: str, reason: str) -> str:
    """Returns why messages were carried otherwise than asked, in words."""
    return f"{asked} fell back to {used}: {reason}"


def native_options(
    interface: str, size_bytes: int, ranks: int, options: OptionValues
) -> dict[str, int | str]:
    """Returns the options by which the native core knows the pattern."""
    common: dict[str, int | str] = {
        "columns": columns_of(ranks, options),
        "transport": str(options.get("transport", "mpi")),
        "timed": str(options.get("timed", "iteration")),
        "packing": str(options.get("packing", PACKING.default)),
    }
    if interface == PARTICLES:
        crossing = int(options.get("crossing", CROSSING.usual))
        most = int(options.get("message_bytes", MESSAGE_BYTES.usual))
        if "batches" in options:
            most = _largest_message(leaving(size_bytes, options), int(options["batches"]), ranks, options)
        return {**common, "crossing": crossing, "message_bytes": most}
    tile = tile_of(size_bytes, options)
    return {
        **common,
        "width_cells": tile.width,
        "height_cells": tile.height,
        "depth": tile.depth,
        "fields": tile.fields,
    }
