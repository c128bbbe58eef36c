"""What only the HIP side has, and that it measures what the CUDA side does on the same GPU."""

from __future__ import annotations

import pytest

from byteways import _core
from tests.gpu import sides

pytestmark = pytest.mark.gpu

MIB = 2**20
SIZE = 256 * MIB
ROUNDS = 5
MOST_APART = 0.01  # of the better figure


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, _core.Session]:
    """One session a side, in this one process: they share the GPU's primary context."""
    folder = tmp_path_factory.mktemp("sides")
    return {name: sides.make(name, folder).open(folder / name) for name in sides.RUNTIMES}


@pytest.mark.parametrize("interface", ["copy", "kernel"])
@pytest.mark.parametrize(
    ("device", "memory"),
    [
        ("cpu0", "pinned"),
        ("cpu0", "pinned-noncoherent"),
        ("cpu0", "managed-coarse"),
        ("gpu0", "managed-coarse"),
        ("gpu0", "device-fine"),
        ("gpu0", "device-uncached"),
    ],
)
def test_amds_kinds_of_memory(
    sessions: dict[str, _core.Session], device: str, memory: str, interface: str
) -> None:
    """Catches a kind whose allocation, advice or release goes to the wrong function."""
    session = sessions["hip"]
    source = session.allocate(device, memory, 4 * MIB, device)
    destination = session.allocate("gpu0", "device", 4 * MIB, "gpu0")
    options = _core.MeasureOptions()
    options.budget_s, options.max_samples = 0.05, 20
    measured = session.measure([_core.Flow(source, destination, "gpu0", interface, MIB)], options)
    assert measured.verified and measured.flows[0].bytes_per_s > 1e8


def rate(session: _core.Session, device: str, memory: str, interface: str) -> float:
    """Bytes per second into GPU memory of the same session."""
    source = session.allocate(device, memory, SIZE, device)
    destination = session.allocate("gpu0", "device", SIZE, "gpu0")
    options = _core.MeasureOptions()
    options.budget_s = 0.2
    measured = session.measure([_core.Flow(source, destination, "gpu0", interface, SIZE)], options)
    assert measured.verified
    return measured.flows[0].bytes_per_s


@pytest.mark.parametrize("interface", ["copy", "kernel"])
@pytest.mark.parametrize(("device", "memory"), [("cpu0", "pinned"), ("gpu0", "device")])
def test_both_sides_give_the_same_figure(
    sessions: dict[str, _core.Session], device: str, memory: str, interface: str
) -> None:
    """Catches a HIP side that launches other shapes, copies by another way or times something else.

    The better of some rounds by turns on either side: what else happens on the machine only takes away.
    """
    best = dict.fromkeys(sides.RUNTIMES, 0.0)
    for _ in range(ROUNDS):
        for name, session in sessions.items():
            best[name] = max(best[name], rate(session, device, memory, interface))
    assert min(best.values()) > (1 - MOST_APART) * max(best.values()), best
