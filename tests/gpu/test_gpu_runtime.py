"""Memory kinds and interfaces on real GPUs: everything measures, verifies, and never hangs.

Every test runs on the CUDA side and, over the façade, on the HIP side of the same GPUs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byteways import _core
from tests.gpu.sides import HANG_S, MIB, Side, buffer, gpus, has_bulk_copies, quick, warnings

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def cache(side: Side, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp(f"kernels-{side.runtime}")


@pytest.fixture(scope="module")
def session(side: Side, cache: Path) -> _core.Session:
    session = side.open(cache)
    found = {report.library: report for report in session.libraries}
    for library in ("cuda-driver", "nvrtc") if side.runtime == "cuda" else ("hip", "hiprtc"):
        assert found[library].usable, found[library].reason
    assert {device.runtime for device in gpus(session)} == {side.runtime}
    return session


def measure(session: _core.Session, flow: _core.Flow, interface: str) -> _core.Measurement | None:
    """What one flow gives; None where its interface does not exist, which has been refused with a reason."""
    if interface == "kernel-bulk" and not has_bulk_copies(session):
        with pytest.raises(_core.UnsupportedError, match="bulk-copy instructions"):
            session.measure([flow], quick())
        return None
    return session.measure([flow], quick())


def good(measured: _core.Measurement) -> bool:
    """Verified, every flow of it, with a rate."""
    return measured.verified and all(flow.verification.ok and flow.bytes_per_s > 0 for flow in measured.flows)


@pytest.mark.parametrize("to_gpu", [True, False], ids=["to-gpu", "from-gpu"])
@pytest.mark.parametrize("interface", ["copy", "kernel", "kernel-bulk"])
@pytest.mark.parametrize("memory", ["pageable", "hugepage", "pinned", "registered", "managed"])
def test_host_memory_by_every_interface(
    session: _core.Session, memory: str, interface: str, to_gpu: bool
) -> None:
    """Catches memory that one direction or interface cannot use although it is offered, or corrupts."""
    gpu = next(device for device in session.devices if device.name == "gpu0")
    offered = session.offers("cpu0", memory)
    if not offered.available:
        assert memory == "hugepage" and offered.reason
        return
    host, on_gpu = buffer(session, "cpu0", memory), buffer(session, "gpu0", "device")
    flow = _core.Flow(*((host, on_gpu) if to_gpu else (on_gpu, host)), "gpu0", interface, MIB)
    if memory in ("pageable", "hugepage") and interface != "copy" and not gpu.pageable_access:
        with pytest.raises(_core.UnsupportedError, match="pageable"):
            session.measure([flow], quick())
        return
    measured = measure(session, flow, interface)
    if measured is not None:
        assert good(measured)
        assert measured.flows[0].bytes_per_s > 1e8


@pytest.mark.parametrize("interface", ["copy", "kernel", "kernel-bulk"])
@pytest.mark.parametrize("memory", ["device", "managed"])
def test_gpu_memory_by_every_interface(session: _core.Session, memory: str, interface: str) -> None:
    """Catches a local copy that is wrong, or as slow as a link, so that something else moved it."""
    flow = _core.Flow(
        buffer(session, "gpu0", memory, 64 * MIB),
        buffer(session, "gpu0", "device", 64 * MIB),
        "gpu0",
        interface,
        32 * MIB,
    )
    measured = measure(session, flow, interface)
    if measured is None:
        return
    assert good(measured)
    assert (measured.timed_by, measured.gated) == ("device-events", True)
    if memory == "device":
        assert measured.flows[0].bytes_per_s > 2e11


@pytest.mark.parametrize("size", [8, 24, 4104, 65_544, MIB + 8])
@pytest.mark.parametrize("interface", ["copy", "kernel", "kernel-bulk"])
def test_odd_sizes(session: _core.Session, interface: str, size: int) -> None:
    """Catches tails that are not copied, and words beyond the size that are."""
    source, destination = (buffer(session, "gpu0", "device", 8 * MIB) for _ in range(2))
    measured = measure(session, _core.Flow(source, destination, "gpu0", interface, size), interface)
    assert measured is None or good(measured)


@pytest.mark.parametrize(
    ("chunk", "stages", "blocks"), [(1024, 1, 3), (4096, 2, 8), (16_384, 8, 8), (32_768, 6, 132)]
)
def test_bulk_copy_shapes(session: _core.Session, chunk: int, stages: int, blocks: int) -> None:
    """Catches a ring of chunks that only works with its default number of stages."""
    source, destination = (buffer(session, "gpu0", "device", 8 * MIB) for _ in range(2))
    flow = _core.Flow(
        source, destination, "gpu0", "kernel-bulk", MIB + 24, chunk_bytes=chunk, stages=stages, blocks=blocks
    )
    measured = measure(session, flow, "kernel-bulk")
    if measured is not None:
        assert good(measured)
        assert measured.flows[0].blocks == blocks


@pytest.mark.parametrize("memory", ["device", "pinned", "registered"])
def test_chase(session: _core.Session, memory: str) -> None:
    """Catches a chase that ends elsewhere than it should, or is answered by a cache on the way."""
    walked = buffer(session, "gpu0" if memory == "device" else "cpu0", memory, 64 * MIB)
    measured = session.measure(
        [_core.Flow(walked, walked, "gpu0", "pointer-chase", 64 * MIB)], quick(budget_s=0.3)
    )
    assert measured.verified
    least_ns, most_ns = (100, 2000) if memory == "device" else (400, 10_000)
    assert least_ns < measured.time_ns.median < most_ns


@pytest.mark.parametrize(
    ("chunk", "stages", "reason"),
    [(1000, 4, "multiple of 16"), (1024, 33, "stages"), (1 << 27, 32, "shared"), (65_536, 65_536, "stages")],
)
def test_bulk_copy_shapes_that_cannot_be(
    session: _core.Session, chunk: int, stages: int, reason: str
) -> None:
    """Catches shapes that wrap around to none, so that nothing is copied and the GPU is called corrupt."""
    source, destination = (buffer(session, "gpu0", "device", MIB) for _ in range(2))
    flow = _core.Flow(source, destination, "gpu0", "kernel-bulk", MIB, chunk_bytes=chunk, stages=stages)
    if not has_bulk_copies(session):
        reason = "bulk-copy instructions"
    with pytest.raises(_core.UnsupportedError, match=reason):
        session.measure([flow], quick())


def test_peers_are_proved_and_measured(session: _core.Session, pair: tuple[str, str]) -> None:
    """Catches peer access that is believed without a write, and peer copies that corrupt in one direction."""
    for executor in pair:
        for interface in ("copy", "kernel", "kernel-bulk"):
            source, destination = (buffer(session, device, "device", 64 * MIB) for device in pair)
            flow = _core.Flow(source, destination, executor, interface, 32 * MIB)
            measured = measure(session, flow, interface)
            assert measured is None or good(measured), (executor, interface)
    walked = buffer(session, pair[1], "device", 64 * MIB)
    chased = session.measure(
        [_core.Flow(walked, walked, pair[0], "pointer-chase", 64 * MIB)], quick(budget_s=0.3)
    )
    assert chased.verified
    assert chased.time_ns.median > 300


def test_pairs_without_peer_access_have_a_reason(session: _core.Session) -> None:
    """Catches a refusal that cannot be acted on."""
    names = [device.name for device in gpus(session)]
    for first in names:
        for second in names:
            proved = session.prove_peer(first, second)
            assert proved.available or proved.reason


def test_pageable_copy_ends_ungated(session: _core.Session) -> None:
    """Catches a hang: the driver stages a pageable copy and waits for it behind the shut gate."""
    host, device = buffer(session, "cpu0", "pageable", 64 * MIB), buffer(session, "gpu0", "device", 64 * MIB)
    begin = time.monotonic()
    measured = session.measure([_core.Flow(device, host, "gpu0", "copy", 32 * MIB)], quick())
    assert time.monotonic() - begin < HANG_S
    assert good(measured)
    assert not measured.gated and "ungated" in warnings(measured)
    assert measured.timed_by == "host-clock"


def test_full_queue_ends_ungated(session: _core.Session) -> None:
    """Catches a hang: an enqueue blocks when the queue is full, and the gate waits for the enqueue."""
    source, destination = (buffer(session, "gpu0", "device") for _ in range(2))
    begin = time.monotonic()
    flow = _core.Flow(source, destination, "gpu0", "kernel", MIB)
    measured = session.measure([flow], quick(cap_depth=False, batch=20_000, max_samples=3))
    assert time.monotonic() - begin < HANG_S
    assert measured.verified
    assert not measured.gated and "ungated" in warnings(measured)


def test_capped_queue_stays_gated(session: _core.Session) -> None:
    """Catches a queue depth that is more than the driver takes without blocking."""
    for interface in ("copy", "kernel"):
        source, destination = (buffer(session, "gpu0", "device") for _ in range(2))
        flow = _core.Flow(source, destination, "gpu0", interface, 64 * 1024)
        measured = session.measure([flow], quick(batch=20_000, max_samples=3))
        assert measured.gated and measured.batch < 20_000


def in_child(side: Side, script: str, **environment: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **side.environment, **environment},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


OPEN = """
import json
from byteways import _core
from byteways.measuring.shared.library_paths import library_directories
session = _core.Session(library_directories=library_directories())
"""


def test_blocking_launches_end_ungated(side: Side) -> None:
    """Catches a hang: with CUDA_LAUNCH_BLOCKING every launch, the gate's own too, waits for its end; and an
    engine that is guessed where multiprocessors cannot be held and no rule is known.
    """
    answer = in_child(
        side,
        OPEN
        + """
source, destination = (session.allocate("gpu0", "device", 1 << 22, "gpu0") for _ in range(2))
options = _core.MeasureOptions()
options.budget_s, options.max_samples = 0.05, 5
measured = session.measure([_core.Flow(source, destination, "gpu0", "kernel", 1 << 20)], options)
copied = session.measure([_core.Flow(source, destination, "gpu0", "copy", 1 << 20)], options)
print(json.dumps({"gated": measured.gated, "verified": measured.verified, "engine": copied.engine}))
""",
        CUDA_LAUNCH_BLOCKING="1",
    )
    by_rule = "unknown" if side.runtime == "cuda" else "kernel"
    assert answer == {"gated": False, "verified": True, "engine": by_rule}


def test_copies_on_one_stream_are_serialised(session: _core.Session) -> None:
    """Catches two flows that ran one after another being reported as concurrent."""
    host, device = (
        [buffer(session, *kind, 256 * MIB) for _ in range(2)]
        for kind in (("cpu0", "pinned"), ("gpu0", "device"))
    )
    flows = [
        _core.Flow(host[0], device[0], "gpu0", "copy", 64 * MIB, stream=0),
        _core.Flow(device[1], host[1], "gpu0", "copy", 64 * MIB, stream=0),
    ]
    measured = session.measure(flows, quick(budget_s=0.5))
    assert good(measured)
    assert "serialised" in warnings(measured)


def test_copies_on_two_streams_are_not_serialised(session: _core.Session) -> None:
    """Catches a warning that is always given."""
    host, device = (
        [buffer(session, *kind, 256 * MIB) for _ in range(2)]
        for kind in (("cpu0", "pinned"), ("gpu0", "device"))
    )
    flows = [
        _core.Flow(host[0], device[0], "gpu0", "copy", 64 * MIB),
        _core.Flow(device[1], host[1], "gpu0", "copy", 64 * MIB),
    ]
    measured = session.measure(flows, quick(budget_s=0.5))
    assert good(measured)
    assert "serialised" not in warnings(measured)


def test_compiled_kernels_are_reused(session: _core.Session, side: Side, cache: Path) -> None:
    """Catches kernels that every worker compiles anew."""
    kernels = ("gate", "copy", "check", "chase", "occupy")
    assert all(session.offers_kernel("gpu0", kernel).available for kernel in kernels)
    written = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert len(written) >= len(kernels)
    again = side.open(cache)
    assert all(again.offers_kernel("gpu0", kernel).available for kernel in kernels)
    assert {path: path.stat().st_mtime_ns for path in written} == written


def test_too_much_memory_is_out_of_memory_and_no_more(session: _core.Session) -> None:
    """Catches a context that is unusable after a refused allocation."""
    with pytest.raises(_core.OutOfMemoryError, match="gpu0"):
        buffer(session, "gpu0", "device", 1 << 50)
    source, destination = (buffer(session, "gpu0", "device") for _ in range(2))
    assert good(session.measure([_core.Flow(source, destination, "gpu0", "copy", MIB)], quick()))


def test_engine_of_a_copy_is_observed(session: _core.Session, side: Side) -> None:
    """Catches an engine that is assumed from the interface: host copies are the copy engines' work."""
    host, device = buffer(session, "cpu0", "pinned", 64 * MIB), buffer(session, "gpu0", "device", 64 * MIB)
    measured = session.measure([_core.Flow(host, device, "gpu0", "copy", 32 * MIB)], quick())
    assert measured.engine == "copy-engine"
    assert "spinning kernel" in measured.engine_evidence
    assert ("as by rule (HIP 6.2: " in measured.engine_evidence) == (side.runtime == "hip")


def managed(device: _core.Device) -> _core.ManagementDevice:
    """The same GPU as NVML knows it."""
    return next(one for one in _core.Management().devices() if one.pci_address == device.pci_address)


def test_devices_match_the_management_library(session: _core.Session, side: Side) -> None:
    """Catches UUIDs and addresses that topology and measurements write differently."""
    for device in gpus(session):
        if device.uuid.startswith("GPU-"):
            uuid = managed(device).uuid
            if side.runtime == "hip":  # which has the first 16 digits
                uuid = "GPU-" + uuid.removeprefix("GPU-").replace("-", "")[:16]
            assert (device.uuid, device.model) == (uuid, managed(device).name)


def test_health_is_answered(session: _core.Session) -> None:
    """Catches figures read from wrong fields: clock, power and temperature have known ranges."""
    health = _core.Management().health(managed(gpus(session)[0]).uuid)
    assert 100 < health.sm_clock_mhz < 5000
    assert 0 < health.temperature_c < 120
    assert health.power_mw > 10_000


def test_visible_devices_are_honoured(session: _core.Session, side: Side) -> None:
    """Catches devices that are not the GPUs the user left visible."""
    last = gpus(session)[-1]
    answer = in_child(
        side,
        OPEN + 'print(json.dumps([a.uuid for a in session.devices if a.name.startswith("gpu")]))',
        CUDA_VISIBLE_DEVICES=managed(last).uuid if side.runtime == "hip" else last.uuid,
    )
    assert answer == [last.uuid]
