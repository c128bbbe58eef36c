"""Flows beside each other on real GPUs: latency under load, compute beside transfers, energy.

Every test runs with one GPU; those about links want two.
"""

from __future__ import annotations

import time

import pytest

from byteways import _core
from byteways.measuring.shared.library_paths import library_directories
from byteways.measuring.work.energy import LEAST_S, LEAST_UPDATES, EnergyMeter
from byteways.measuring.work.health import HealthMonitor
from tests.gpu.sides import gpus

pytestmark = pytest.mark.gpu

MIB = 2**20


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> _core.Session:
    cache = str(tmp_path_factory.mktemp("kernels"))
    return _core.Session(library_directories=library_directories(), kernel_cache=cache)


def options(**values: object) -> _core.MeasureOptions:
    made = _core.MeasureOptions()
    made.budget_s = 0.5
    for name, value in values.items():
        setattr(made, name, value)
    return made


def walk(session: _core.Session, size: int = 512 * MIB) -> _core.Flow:
    buffer = session.allocate("gpu0", "device", size, "gpu0")
    return _core.Flow(buffer, buffer, "gpu0", "pointer-chase", size, cold=False)


def transfer(session: _core.Session, to: str, interface: str, size: int, **more: int) -> _core.Flow:
    memory = "pinned" if to.startswith("cpu") else "device"
    ends = session.allocate("gpu0", "device", size, "gpu0"), session.allocate(to, memory, size, to)
    return _core.Flow(*ends, "gpu0", interface, size, **more)


def test_a_walk_beside_next_to_nothing_is_the_walk_alone(session: _core.Session) -> None:
    """Catches launches, marks or a queue that idles which are timed as steps of the walk."""
    alone = session.measure([walk(session)], options()).time_ns.median
    load = transfer(session, "cpu0", "copy", MIB, pause_ns=2_000_000)
    beside = session.measure([walk(session), load], options(interference=True))
    assert beside.verified and beside.flows[0].bytes_per_s == 0
    assert beside.time_ns.median == pytest.approx(alone, rel=0.02)


@pytest.mark.parametrize(("interface", "more"), [("copy", {}), ("kernel", {"blocks": 128})])
def test_pauses_set_the_load(session: _core.Session, interface: str, more: dict[str, int]) -> None:
    """Catches a pause that is longer or shorter than was asked for, and a load that does not fall with it."""
    size, pause_ns = 16 * MIB, 200_000
    alone = session.measure([transfer(session, "gpu0", interface, size, **more)], options()).time_ns.median
    paused = session.measure(
        [transfer(session, "gpu0", interface, size, pause_ns=pause_ns, **more)], options()
    ).time_ns.median
    assert pause_ns <= paused - 0.9 * alone <= pause_ns + 20_000  # the launch of the pause
    beside = session.measure(
        [walk(session), transfer(session, "gpu0", interface, size, pause_ns=pause_ns, **more)],
        options(interference=True),
    )
    assert beside.verified
    assert beside.flows[1].bytes_per_s == pytest.approx(size / paused * 1e9, rel=0.15)


def test_a_local_load_makes_the_walk_wait(session: _core.Session) -> None:
    """Catches a load that ends before the pointer chase, or that never overlaps it."""
    alone = session.measure([walk(session)], options()).time_ns.median
    load = transfer(session, "gpu0", "kernel", 64 * MIB, blocks=128)
    beside = session.measure([walk(session), load], options(interference=True))
    assert beside.time_ns.median > 1.02 * alone
    assert "serialised" not in {warning.id for warning in beside.warnings}


def test_compute_is_right_and_keeps_the_device_busy(session: _core.Session) -> None:
    """Catches arithmetic that rounds otherwise on the GPU, or a kernel that leaves multiprocessors out."""
    buffer = session.allocate("gpu0", "device", MIB, "gpu0")
    whole = session.measure([_core.Flow(buffer, buffer, "gpu0", "compute", MIB)], options())
    assert whole.verified and 20e3 < whole.time_ns.median < 5e6
    [flow] = whole.flows
    few = _core.Flow(buffer, buffer, "gpu0", "compute", MIB, blocks=max(1, flow.blocks // 4))
    assert session.measure([few], options()).time_ns.median > 0.4 * whole.time_ns.median
    twice = _core.Flow(buffer, buffer, "gpu0", "compute", MIB, blocks=4 * flow.blocks)
    assert session.measure([twice], options()).time_ns.median > 1.8 * whole.time_ns.median


def test_compute_beside_a_copy_to_a_peer(session: _core.Session) -> None:
    """Catches a window in which the two took turns."""
    names = [device.name for device in gpus(session)]
    peers = [name for name in names[1:] if session.prove_peer("gpu0", name).available]
    if not peers:
        pytest.skip("two GPUs with peer access are needed")
    buffer = session.allocate("gpu0", "device", MIB, "gpu0")
    compute = _core.Flow(buffer, buffer, "gpu0", "compute", MIB)
    alone = session.measure([transfer(session, peers[0], "copy", 256 * MIB)], options())
    beside = session.measure(
        [compute, transfer(session, peers[0], "copy", 256 * MIB)], options(interference=True)
    )
    assert beside.verified and "serialised" not in {warning.id for warning in beside.warnings}
    assert beside.flows[1].bytes_per_s > 0.5 * alone.flows[0].bytes_per_s


def sustained(session: _core.Session, flows: list[_core.Flow]) -> list[float]:
    """Bytes a second of each flow of 256 MiB."""
    load = session.sustain(flows, 0.01)
    load.start()
    time.sleep(0.2)
    begun, before = time.monotonic(), load.operations
    time.sleep(1.0)
    after, passed = load.operations, time.monotonic() - begun
    load.finish()
    return [256 * MIB * (now - then) / passed for now, then in zip(after, before, strict=True)]


def test_operations_that_go_on_keep_their_rate(session: _core.Session) -> None:
    """Catches a queue that runs dry between two slices."""
    flow = transfer(session, "gpu0", "copy", 256 * MIB)
    rate = session.measure([flow], options()).flows[0].bytes_per_s
    assert sustained(session, [flow]) == [pytest.approx(rate, rel=0.05)]


def test_energy_of_a_copy(session: _core.Session) -> None:
    """Catches an idle device that is not subtracted, and a counter in other units."""
    device = gpus(session)[0]
    monitor = HealthMonitor(_core, {"gpu0": device.uuid})
    if not monitor.energy_mj(["gpu0"]):
        pytest.skip("this GPU has no energy counter")
    flow = transfer(session, "gpu0", "copy", 256 * MIB)
    found = EnergyMeter(monitor.energy_mj).measure(["gpu0"], lambda slice_s: session.sustain([flow], slice_s))
    assert "reason" not in found, found
    assert found["counter_updates"] >= LEAST_UPDATES and found["duration_s"] >= 0.98 * LEAST_S
    assert 10 < found["idle_watts"] < found["watts"] < 1500
    assert 0 < found["joules_per_GB"] < 5  # an HBM copy at 2 TB/s: tenths of a joule
