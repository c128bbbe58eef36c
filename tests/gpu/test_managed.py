"""Managed pages on real GPUs: prefetches that move them, migration on demand, pages that are kept.

Every test runs on the CUDA side and, over the façade, on the HIP side of the same GPUs.
"""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work.residency import about_pages
from tests.gpu.sides import Side, gpus

pytestmark = pytest.mark.gpu

MIB = 2**20


@pytest.fixture
def pair(session: _core.Session) -> tuple[str, str]:
    names = [device.name for device in gpus(session)]
    if len(names) < 2:
        pytest.skip("two GPUs are needed")
    return names[0], names[1]


def quick(**settings: Any) -> _core.MeasureOptions:
    options = _core.MeasureOptions()
    options.budget_s, options.max_samples = 0.1, 20
    for name, value in settings.items():
        setattr(options, name, value)
    return options


def prefetched(session: _core.Session, source: str, to: str, executor: str, size: int) -> tuple[Any, Any]:
    """The measurement and what is made of where the pages were."""
    buffer = session.allocate(source, "managed", max(128 * MIB, size), source)
    flow = _core.Flow(buffer, buffer, executor, "prefetch", size, partner=to)
    measured = session.measure([flow], quick())
    planned = Flow(Buffer(source, "managed"), Buffer(to, "managed"), executor)
    case = Case("prefetch", "unidirectional", (planned,), size)
    return measured, about_pages(case, measured, [(buffer, buffer)])


def confirmed(measured: _core.Measurement, found: Any, size: int) -> None:
    fields, warnings, refuted = found
    seen = [
        (side.side, side.sampled, dict(side.on_host), side.prefetched_to)
        for side in (*measured.flows[0].before, *measured.flows[0].after, *measured.flows[0].timed)
    ]
    assert measured.verified and refuted is None and warnings == [], seen
    assert fields["migrated_bytes"] == -(-size // 4096) * 4096, seen
    assert measured.flows[0].bytes_per_s < 5e11  # more than any link gives: nothing would have moved


@pytest.mark.parametrize("size", [1000, 4096, 65_544, MIB, 64 * MIB])
def test_to_and_from_the_host(session: _core.Session, size: int) -> None:
    """Catches a driver whose page tables tell other than thought here, or a prefetch that does nothing."""
    confirmed(*prefetched(session, "cpu0", "gpu0", "gpu0", size), size)
    confirmed(*prefetched(session, "gpu0", "cpu0", "gpu0", size), size)


@pytest.mark.parametrize("issuer", [0, 1])
def test_between_gpus(session: _core.Session, pair: tuple[str, str], issuer: int) -> None:
    """Catches a prefetch by either GPU's queue that leaves the pages where they were."""
    confirmed(*prefetched(session, *pair, pair[issuer], 64 * MIB), 64 * MIB)


def test_the_gate_holds_prefetches(session: _core.Session) -> None:
    """Catches a call that runs, or blocks, while its queue is held: then launch cost is in the figure."""
    measured, _ = prefetched(session, "cpu0", "gpu0", "gpu0", MIB)
    assert (measured.gated, measured.timed_by) == (True, "device-events")
    assert measured.engine == "copy-engine", measured.engine_evidence


def touched(session: _core.Session, owner: str, executor: str, **options: Any) -> _core.Measurement:
    source = session.allocate(owner, "managed", 64 * MIB, owner)
    own = "pageable" if executor.startswith("cpu") else "device"
    destination = session.allocate(executor, own, 64 * MIB, executor)
    interface = "memcpy" if executor.startswith("cpu") else "kernel"
    flow = _core.Flow(source, destination, executor, interface, 16 * MIB, **options)
    return session.measure([flow], quick())


def on_host(sides: list[_core.SideResidency]) -> float:
    (side,) = sides
    return sum(side.on_host.values()) / side.sampled


def test_pages_come_when_they_are_touched(session: _core.Session) -> None:
    """Catches pages that stay where they were, or that were not brought back before the operation."""
    by_gpu = touched(session, "cpu0", "gpu0")
    assert by_gpu.verified
    assert (on_host(by_gpu.flows[0].before), on_host(by_gpu.flows[0].after)) == (1.0, 0.0)
    by_core = touched(session, "gpu0", "cpu0")
    assert by_core.verified
    assert (on_host(by_core.flows[0].before), on_host(by_core.flows[0].after)) == (0.0, 1.0)


def test_kept_pages_stay(side: Side, session: _core.Session) -> None:
    """Catches advice that the driver does not follow, and advice that outlives its case."""
    if side.runtime != "cuda":
        pytest.skip("the façade has no setting that keeps pages: it is CUDA's memory underneath")
    kept = touched(session, "cpu0", "gpu0", migration="off")
    assert kept.verified
    assert (on_host(kept.flows[0].before), on_host(kept.flows[0].after)) == (1.0, 1.0)
    moved = touched(session, "cpu0", "gpu0")
    assert on_host(moved.flows[0].after) == 0.0


def test_kept_pages_of_a_peer_are_read_over_the_link(
    side: Side, session: _core.Session, pair: tuple[str, str]
) -> None:
    """Catches pages that move although they are kept: reading again would then be as fast as own memory."""
    if side.runtime != "cuda" or not session.prove_peer(*pair).available:
        pytest.skip("peers of the CUDA side are needed")
    kept = touched(session, pair[1], pair[0], migration="off")
    assert kept.verified
    assert 1e10 < kept.flows[0].bytes_per_s < 5e11


def test_free_memory_is_told(session: _core.Session) -> None:
    """Catches a plan that takes all of a GPU's memory for free."""
    for device in gpus(session):
        assert 0 < session.free_bytes(device.name) < device.memory_bytes
