"""Memory that is opened to each GPU apart, and the cost of memory, on real GPUs: everything is verified.

Every test but the last runs on the CUDA side and, over the façade, on the HIP side of the same GPUs.
"""

from __future__ import annotations

import pytest

from byteways import _core
from tests.asked import asked
from tests.gpu.sides import MIB, quick

pytestmark = pytest.mark.gpu


def step(
    session: _core.Session, interface: str, buffer: str, executor: str, size: int, **words: str
) -> float:
    """Nanoseconds of a verified step."""
    device, memory = buffer.split(":")
    held = session.allocate(device, memory, size, device)
    found = session.measure([_core.Flow(held, held, executor, interface, size, **words)], quick(budget_s=0.3))
    assert found.verified and found.timed_by == "host-clock"
    return found.time_ns.median


@pytest.mark.parametrize("memory", ["pool", "vmm"])
def test_granted_memory_moves_bytes(session: _core.Session, memory: str) -> None:
    """Catches an allocation that another stream, or a copy, cannot use."""
    assert session.offers("gpu0", memory).available, session.offers("gpu0", memory).reason
    source = session.allocate("gpu0", memory, 5 * MIB, "gpu0")
    for interface in ("kernel", "copy"):
        to = session.allocate("gpu0", "device", 4 * MIB, "gpu0")
        assert session.measure(
            [_core.Flow(source, to, "gpu0", interface, 4 * MIB)], quick(budget_s=0.3)
        ).verified
    assert memory == "pool" or source.page_bytes >= 2 * MIB


@pytest.mark.parametrize("memory", ["pool", "vmm"])
def test_granted_memory_is_opened_to_a_peer(
    session: _core.Session, pair: tuple[str, str], memory: str
) -> None:
    """Catches memory of the owner's alone: the peer's kernel would end in an illegal access."""
    executor, owner = pair
    offer = session.prove_peer(executor, owner, memory)
    assert offer.available, offer.reason
    for interface in ("kernel", "copy"):
        source = session.allocate(owner, memory, 4 * MIB, owner)
        to = session.allocate(executor, "device", 4 * MIB, executor)
        assert session.measure(
            [_core.Flow(source, to, executor, interface, 4 * MIB)], quick(budget_s=0.3)
        ).verified


def test_write_combined_memory_is_read_by_a_gpu(session: _core.Session) -> None:
    """Catches stores that stay in the cores' write buffers."""
    source = session.allocate("cpu0", "write-combined", 4 * MIB, "cpu0")
    for interface in ("kernel", "copy"):
        to = session.allocate("gpu0", "device", 4 * MIB, "gpu0")
        assert session.measure(
            [_core.Flow(source, to, "gpu0", interface, 4 * MIB)], quick(budget_s=0.3)
        ).verified


@pytest.mark.parametrize("buffer", ["cpu0:pinned", "gpu0:device", "gpu0:pool", "gpu0:vmm", "cpu0:pageable"])
def test_having_memory_costs_more_with_size(session: _core.Session, buffer: str) -> None:
    """Catches a figure that is the clock's, or one in which what undoes the step is seen."""
    executor = buffer.split(":")[0]
    words = {"touched": "yes"} if buffer == "cpu0:pageable" else {}
    small, large = (step(session, "allocate", buffer, executor, size, **words) for size in (4096, 256 * MIB))
    assert 0 < small < large
    assert step(session, "free", buffer, executor, 64 * MIB) > 0


def test_a_pool_that_keeps_is_faster(session: _core.Session) -> None:
    """Catches a pool whose threshold has no effect."""
    empty, kept = (
        step(session, "allocate", "gpu0:pool", "gpu0", 64 * MIB, pool=word) for word in ("empty", "kept")
    )
    assert kept < empty


def test_registering(session: _core.Session) -> None:
    """Catches pages that are locked twice, or never again plain."""
    small, large = (step(session, "register", "cpu0:pageable", "gpu0", size) for size in (4096, 64 * MIB))
    assert 0 < small < large
    assert step(session, "unregister", "cpu0:pageable", "gpu0", 64 * MIB) > 0


@pytest.mark.parametrize("memory", ["pinned", "registered", "pageable"])
def test_a_whole_load(session: _core.Session, memory: str) -> None:
    """Catches a load whose data do not arrive, or that leaves out the memory or the copy."""
    small, large = (step(session, "cold-load", f"cpu0:{memory}", "gpu0", size) for size in (4096, 64 * MIB))
    assert 0 < small < large
    alone = step(session, "allocate", "gpu0:device", "gpu0", 64 * MIB)
    assert large > alone


@pytest.mark.parametrize("memory", ["device", "pool", "vmm"])
def test_mapping_to_a_peer_and_what_comes_after(
    session: _core.Session, pair: tuple[str, str], memory: str
) -> None:
    """Catches access that is off after the case that measured switching it on."""
    executor, owner = pair
    assert step(session, "map-peer", f"{owner}:{memory}", executor, 64 * MIB) > 0
    source = session.allocate(owner, memory, 4 * MIB, owner)
    to = session.allocate(executor, "device", 4 * MIB, executor)
    assert session.measure(
        [_core.Flow(source, to, executor, "kernel", 4 * MIB)], quick(budget_s=0.3)
    ).verified


def test_what_has_no_handle_says_so(session: _core.Session) -> None:
    """Catches a raw driver error for memory whose handles are of another kind."""
    for memory in ("pool", "vmm"):
        with pytest.raises(_core.UnsupportedError, match="other kinds"):
            session.allocate("gpu0", memory, 4 * MIB, "gpu0").handle()
    kinds = [
        kind
        for kind in ("device", "device-fine", "device-uncached")
        if session.offers("gpu0", kind).available
    ]
    for memory in kinds:
        assert len(session.allocate("gpu0", memory, 4 * MIB, "gpu0").handle()) == 128


def test_another_process_exports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a handle that is not opened, or memory that is not the other process's."""
    from byteways.cases.case import Buffer, Case, Flow
    from byteways.measuring.work.exporter import Exporter
    from byteways.measuring.work.measuring import NativeMeasurer

    measurer = NativeMeasurer.open()
    obstacle = measurer.session.handle_obstacle("gpu0")
    if obstacle:
        pytest.skip(obstacle)
    exporter = Exporter()
    handles = {exporter.allocate("gpu0", "device", size)[1] for size in (4 * MIB, 64 * MIB)}
    assert [len(handle) for handle in handles] == [128, 128]
    exporter.close()
    end = Buffer("gpu0", "device")
    case = Case("open-ipc", "unidirectional", (Flow(end, end, "gpu0"),), 4 * MIB, "warm")
    outcome, broken = measurer.measure(asked(case, budget_s=0.3, precision=0.05))
    assert not broken and outcome["status"] == "measured" and outcome["verified"], outcome


@pytest.mark.parametrize("interface", ["copy", "kernel"])
def test_transfers_to_memory_of_another_process(interface: str, pair: tuple[str, str]) -> None:
    """Catches opened memory that its opener cannot use, and bytes that do not arrive in it."""
    from byteways.cases.case import Buffer, Case, Flow
    from byteways.measuring.work.measuring import NativeMeasurer

    executor, owner = pair
    measurer = NativeMeasurer.open()
    obstacle = measurer.session.handle_obstacle(owner)
    if obstacle:
        pytest.skip(obstacle)
    for ends in ((f"{executor}:device", f"{owner}:ipc"), (f"{owner}:ipc", f"{executor}:device")):
        source, destination = (Buffer.parse(end) for end in ends)
        flow = Flow(source, destination, executor)
        case = Case(interface, "unidirectional", (flow,), 64 * MIB, "warm")
        outcome, broken = measurer.measure(asked(case, budget_s=0.3, precision=0.05))
        assert not broken and outcome["status"] == "measured" and outcome["verified"], outcome
