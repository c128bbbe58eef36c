"""Scattered blocks on real GPUs, by every method."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.gpu.sides import has_bulk_copies
from tests.gpu.test_rows import ends_of

pytestmark = pytest.mark.gpu

KIB, MIB = 2**10, 2**20
METHODS: dict[str, dict[str, Any]] = {
    "calls": {"interface": "copy-blocks"},
    "batch": {"interface": "copy-blocks", "submit": "batch"},
    "graph": {"interface": "copy-blocks", "submit": "graph"},
    "kernel": {"interface": "kernel-blocks"},
    "few": {"interface": "kernel-blocks", "blocks": 3, "threads": 64},
    "bulk": {"interface": "bulk-blocks"},
    "shallow": {"interface": "bulk-blocks", "chunk_bytes": 48, "stages": 2},
    "pack": {"interface": "pack-blocks", "threads": 2},
}


def measured(session: _core.Session, ends: Any, size: int, room: int, budget_s: float, **options: Any) -> Any:
    wanted = {"layout": "random", "pitch_bytes": 2 * options["block_bytes"], "scattered": "both", **options}
    buffers = [session.allocate(device, memory, room, device) for device, memory in ends]
    flow = _core.Flow(*buffers, "gpu0", wanted.pop("interface"), size, **wanted)
    how = _core.MeasureOptions()
    how.budget_s, how.max_samples = budget_s, 20
    return session.measure([flow], how)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("block", [16, 1008, 4096, 65_536])
def test_blocks_arrive_and_gaps_stay(session: _core.Session, method: str, block: int) -> None:
    """Catches a list that is read too late or written too early, a tile that takes the neighbour's block, and
    stores that reach into a gap.
    """
    if METHODS[method]["interface"] == "bulk-blocks" and not has_bulk_copies(session):
        pytest.skip("this side has no bulk copies")
    size = 300 * block
    for ends in ends_of(session):
        if method == "pack" and "cpu0" not in (ends[0][0], ends[1][0]):
            continue
        for layout, scattered in (("random", "both"), ("strided", "source"), ("random", "destination")):
            got = measured(session, ends, size, 6 * size, 0.05, block_bytes=block, layout=layout,
                           scattered=scattered, **METHODS[method])  # fmt: skip
            found = got.flows[0].verification
            words = found.bad_count, found.first_offset_bytes, hex(found.expected), hex(found.got)
            assert got.verified, (ends, layout, words, found.guard_of, got.gated, got.batch)


@pytest.mark.parametrize("block", [8, 24, 1000])
def test_blocks_of_no_whole_access(session: _core.Session, block: int) -> None:
    """Catches accesses of 16 bytes to blocks that are aligned to 8."""
    for ends in ends_of(session):
        assert measured(session, ends, 999 * block, 8 * 999 * block, 0.05, block_bytes=block,
                        interface="kernel-blocks").verified  # fmt: skip


def test_a_kernel_loads_blocks_at_the_rate_of_its_link(session: _core.Session) -> None:
    """Catches threads that wait for addresses, one after another, as long as for the data."""
    ends = (("cpu0", "pinned"), ("gpu0", "device"))
    size, room = 1024 * 16 * KIB, 64 * MIB
    blocks = measured(session, ends, size, room, 0.2, block_bytes=16 * KIB, interface="kernel-blocks")
    buffers = [session.allocate(device, memory, room, device) for device, memory in ends]
    how = _core.MeasureOptions()
    how.budget_s = 0.2
    whole = session.measure([_core.Flow(*buffers, "gpu0", "kernel", size)], how)
    assert blocks.flows[0].bytes_per_s > 0.85 * whole.flows[0].bytes_per_s
