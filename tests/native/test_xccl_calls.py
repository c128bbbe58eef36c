"""Alltoall, gather and scatter of NCCL: by its own calls where it has them, otherwise by messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from byteways import _core
from byteways.measuring.shared.simulator import simulator_path
from tests.native import simulated as toy
from tests.native import test_carried_ranks as carried

OWN_CALLS = {"alltoall": "ncclAlltoAll", "gather": "ncclGather", "scatter": "ncclScatter"}


def without(name: str, folder: Path) -> str:
    """A copy of the simulator that lacks a function: the linker knows its symbol by another name."""
    old, new = name.encode() + b"\0", name.replace("nccl", "none").encode() + b"\0"
    library = Path(simulator_path()).read_bytes()
    assert old in library
    copy = folder / "older.so"
    copy.write_bytes(library.replace(b"\0" + old, b"\0" + new))
    return str(copy)


@pytest.mark.parametrize("lacking", [False, True])
@pytest.mark.parametrize("operation", OWN_CALLS)
def test_a_call_of_the_library_or_messages_move_the_same_blocks(
    operation: str, lacking: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches blocks in another order, an older library that is refused, and a record that names another call
    than the one that was made.
    """
    path = without(OWN_CALLS[operation], tmp_path) if lacking else simulator_path()

    def scene() -> list[Any]:
        monkeypatch.setattr(carried, "simulator_path", lambda: path)
        ranks = carried.Ranks(toy.nvidia())

        def measure(rank: int, session: _core.Session, mpi: _core.Mpi) -> list[Any]:
            gpu, size = f"gpu{rank}", 64 * toy.KIB
            library = _core.Xccl("cuda", [], path)
            joined = _core.XcclCommunicator(library, mpi.world, session, gpu)
            ends = [ranks.buffer(session, gpu, "device", size) for _ in range(2)]
            ranks.kept += [library, joined]
            flow = _core.Flow(*ends, gpu, "xccl", size, ranks=mpi.world, xccl=joined, operation=operation)
            few = carried.options()
            few.batch, few.max_samples = 2, 10  # the call and its blocks are asked for, no figure
            found = session.measure([flow], few, _core.RankTeam(mpi.world))
            return [found.verified, found.evidence.call]

        return ranks.play(measure)

    called = "ncclSend and ncclRecv" if lacking else OWN_CALLS[operation]
    assert toy.apart(scene) == [[True, called]] * 2
