"""Random access on real GPUs: every access size in every memory, and what fine grains cost.

Every test runs on the CUDA side and, over the façade, on the HIP side of the same GPUs.
"""

from __future__ import annotations

import pytest

from byteways import _core
from tests.gpu.sides import quick
from tests.native.test_random_access import INTERFACES

pytestmark = pytest.mark.gpu

MIB = 2**20


def cases() -> list[tuple[str, int]]:
    sizes = (4, 8, 16, 32, 64, 128)
    return [(name, size) for name in INTERFACES for size in sizes if (name, size) != ("random-update", 4)]


def measured(
    session: _core.Session, interface: str, array: str, size: int, room: int, **options: int
) -> _core.Measurement:
    device, memory = array.split(":")
    buffer = session.allocate(device, memory, room, device)
    found = session.measure([_core.Flow(buffer, buffer, "gpu0", interface, size, **options)], quick())
    [result] = found.flows
    assert found.verified and result.verification.ok and found.engine == "kernel"
    return found


@pytest.mark.parametrize(("interface", "access"), cases())
@pytest.mark.parametrize("array", ["gpu0:device", "cpu0:pinned"])
def test_every_place_is_accessed(session: _core.Session, interface: str, access: int, array: str) -> None:
    """Catches an order that leaves places out, half words that land in the wrong half, and lost updates."""
    for size, room in ((1024, 5 * 1024), (MIB, 3 * MIB)):
        measured(session, interface, array, size, room, access_bytes=access)


@pytest.mark.parametrize("shape", [{"threads": 96}, {"blocks": 1, "threads": 32}, {"blocks": 7}])
@pytest.mark.parametrize("interface", INTERFACES)
def test_shapes(session: _core.Session, interface: str, shape: dict[str, int]) -> None:
    """Catches a tail that a grid of odd size leaves out."""
    measured(session, interface, "gpu0:device", MIB, MIB, **shape)


def test_fine_grains_cost_bandwidth(session: _core.Session) -> None:
    """Catches an order that is no random one: neighbours would share transactions, and move bytes as fast."""
    size = 1024 * MIB
    fine = measured(session, "random-load", "gpu0:device", size, size, access_bytes=8)
    coarse = measured(session, "random-load", "gpu0:device", size, size, access_bytes=128)
    assert fine.time_ns.median > 2 * coarse.time_ns.median
