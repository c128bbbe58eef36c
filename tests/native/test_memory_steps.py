"""What it costs to have memory, step by step: on simulated machines whose costs are known, and on this
host.
"""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy

CALL, PAGE, LOCK, GRANULE = 10_000.0, 250.0, 100.0, 3000.0
COSTS = {
    "memory__call_ns": CALL,
    "memory__page_ns": PAGE,
    "memory__lock_page_ns": LOCK,
    "memory__granule_ns": GRANULE,
    "memory__release_part": 0.5,
    "calls__enqueue_ns": 0.0,
    "calls__synchronize_ns": 0.0,
    "calls__clock_ns": 0.0,
}
SHEETS = pytest.mark.parametrize("sheet", [toy.nvidia(**COSTS), toy.amd(**COSTS)], ids=["nvidia", "amd"])
SIZE = 8 * toy.MIB
PAGES = SIZE / 4096


def step(
    session: _core.Session, interface: str, buffer: str, executor: str, size: int = SIZE, **options: str
) -> list[Any]:
    """Median nanoseconds, whether it was verified, batch and clock."""
    device, memory = buffer.split(":")
    held = session.allocate(device, memory, size, device)
    flow = _core.Flow(held, held, executor, interface, size, **options)
    found = session.measure([flow], toy.options(max_samples=3))
    return [found.time_ns.median, found.verified, found.batch, found.timed_by]


@SHEETS
@pytest.mark.parametrize(
    "interface, buffer, executor, options, expected",
    [
        ("allocate", "cpu0:pageable", "cpu0", {"touched": "no"}, 0.0),
        ("allocate", "cpu0:pageable", "cpu0", {"touched": "yes"}, PAGES * PAGE),
        ("allocate", "cpu1:pinned", "cpu1", {}, CALL + PAGES * (PAGE + LOCK)),
        ("allocate", "gpu1:device", "gpu1", {}, CALL + 4 * GRANULE),
        ("allocate", "gpu0:pool", "gpu0", {"pool": "empty"}, CALL + 4 * GRANULE),
        ("allocate", "gpu0:pool", "gpu0", {"pool": "kept"}, 0.0),
        ("free", "cpu0:pageable", "cpu0", {"touched": "yes"}, 0.5 * PAGES * PAGE),
        ("free", "gpu1:device", "gpu1", {}, 0.5 * (CALL + 4 * GRANULE)),
        ("free", "gpu0:pool", "gpu0", {"pool": "empty"}, 0.0),
        ("free", "gpu0:pool", "gpu0", {"pool": "kept"}, 0.0),
        ("register", "cpu0:pageable", "gpu1", {}, CALL + PAGES * LOCK),
        ("register", "cpu1:hugepage", "gpu1", {"touched": "no"}, CALL + PAGES * (PAGE + LOCK)),
        ("unregister", "cpu0:pageable", "gpu0", {}, 0.5 * (CALL + PAGES * LOCK)),
        ("map-peer", "gpu1:device", "gpu0", {}, CALL + 4 * GRANULE),
        ("map-peer", "gpu1:vmm", "gpu0", {}, CALL + 4 * GRANULE),
    ],
)
def test_only_the_step_is_timed(
    sheet: str, interface: str, buffer: str, executor: str, options: dict[str, str], expected: float
) -> None:
    """Catches a figure with what makes or undoes the step in it, or one that does not see the step."""
    time_ns, verified, _, clock = toy.play(sheet, lambda s: step(s, interface, buffer, executor, **options))
    assert verified and clock == "host-clock"
    # What else the owner holds, a page of the session's, is opened along.
    assert time_ns == pytest.approx(expected, abs=2 * GRANULE if interface == "map-peer" else 1.0)


@SHEETS
@pytest.mark.parametrize("memory", ["pinned", "registered", "pageable"])
def test_a_load_is_the_sum_of_its_parts(sheet: str, memory: str) -> None:
    """Catches a load that leaves out a part, or that times the preparation of its data."""
    plain = "pageable" if memory == "registered" else memory

    def scene(session: _core.Session) -> list[Any]:
        parts = [step(session, "allocate", "gpu0:device", "gpu0")]
        touched = {} if memory == "pinned" else {"touched": "yes"}
        parts.append(step(session, "allocate", f"cpu0:{plain}", "cpu0", **touched))
        if memory == "registered":
            parts.append(step(session, "register", "cpu0:pageable", "gpu0"))
        ends = ("cpu0", "pageable"), ("cpu0", plain)
        flows = [toy.flow(session, *ends, "cpu0", "memcpy-mt", SIZE)]
        flows.append(toy.flow(session, ("cpu0", memory), ("gpu0", "device"), "gpu0", "copy", SIZE))
        moved = [session.measure([flow], toy.options(max_samples=3)).time_ns.median for flow in flows]
        whole = step(session, "cold-load", f"cpu0:{memory}", "gpu0")
        return [whole, sum(part[0] for part in parts) + sum(moved)]

    (time_ns, verified, batch, clock), parts_ns = toy.play(sheet, scene)
    assert verified and clock == "host-clock" and 1 < batch <= 64
    assert time_ns == pytest.approx(parts_ns, rel=0.02)


@pytest.mark.parametrize("maker", [toy.nvidia, toy.amd])
@pytest.mark.parametrize("fault", ["skip:cpu0>gpu0", "corrupt:cpu0>gpu0:word=4099"])
@pytest.mark.parametrize("memory", ["pinned", "registered"])
def test_data_that_do_not_arrive_are_found(maker: Any, fault: str, memory: str) -> None:
    """Catches a load of which one word, or a whole copy, is missing: new memory may still have the data."""
    sheet = maker(**COSTS, faults__0=fault)
    assert not toy.play(sheet, lambda session: step(session, "cold-load", f"cpu0:{memory}", "gpu0"))[1]


def test_one_copy_that_does_not_arrive_is_found() -> None:
    """Catches a load that takes what the last one has left at the same address for its own data."""

    def verified(after: int) -> bool:
        sheet = toy.nvidia(**COSTS, faults__0=f"lapse:cpu0>gpu0:after={after}")
        return bool(toy.play(sheet, lambda session: step(session, "cold-load", "cpu0:pinned", "gpu0"))[1])

    # Of several batches of a sample the last one's memory is still there to be checked.
    assert not all(verified(after) for after in range(8, 15))


@pytest.mark.parametrize("maker", [toy.nvidia, toy.amd])
@pytest.mark.parametrize(
    ("interface", "options", "expected"),
    [
        ("allocate", {"pool": "kept"}, 700.0),
        ("allocate", {"pool": "empty"}, 700.0 + CALL + 4 * GRANULE),
        ("free", {"pool": "kept"}, 700.0),
        ("free", {"pool": "empty"}, 700.0),
    ],
)
def test_a_pool_is_timed_as_a_program_calls_it(
    maker: Any, interface: str, options: dict[str, str], expected: float
) -> None:
    """Catches waits for a stream and queries of the pool in the time of a call that returns at once."""
    sheet = maker(**COSTS | {"calls__enqueue_ns": 700.0, "calls__synchronize_ns": 50_000.0})
    size = SIZE

    def scene(session: _core.Session) -> list[Any]:
        held = session.allocate("gpu0", "pool", size, "gpu0")
        flow = _core.Flow(held, held, "gpu0", interface, size, **options)
        found = session.measure([flow], toy.options(max_samples=3))
        return [found.time_ns.median, found.verified, found.engine_evidence]

    time_ns, verified, evidence = toy.play(sheet, scene)
    assert verified and "ordered in a stream" in evidence
    assert time_ns == pytest.approx(expected, abs=1.0)


@SHEETS
def test_a_pool_gives_back_what_was_freed(sheet: str) -> None:
    """Catches memory that a step has freed in order of a stream and that nothing else can have: 8 GiB of a
    toy's GPU.
    """

    def scene(session: _core.Session) -> bool:
        for interface in ("free", "allocate", "free"):
            step(session, interface, "gpu0:pool", "gpu0", 5 * toy.GIB // 2)
        session.allocate("gpu0", "device", 7 * toy.GIB, "gpu0")
        return True

    assert toy.play(sheet, scene)


@SHEETS
def test_what_is_held_at_once_is_bounded(sheet: str) -> None:
    """Catches a batch that takes all of the memory: 16 GiB of a toy's domain, 8 of a GPU."""

    def scene(session: _core.Session) -> list[int]:
        small = step(session, "allocate", "gpu0:device", "gpu0", 4096)
        large = step(session, "allocate", "gpu0:device", "gpu0", 5 * toy.GIB // 2)
        locked = step(session, "register", "cpu0:pageable", "gpu0", 4 * toy.GIB)
        assert step(session, "unregister", "cpu0:pageable", "gpu0", 4 * toy.GIB)[1]
        return [small[2], large[2], locked[2]]

    small, large, locked = toy.play(sheet, scene)
    assert 1 < small <= 64 and large == 1 and locked == 1


@SHEETS
def test_access_stays_on_after_mapping(sheet: str) -> None:
    """Catches a case after which the next one's kernel breaks its GPU: access is proved once only."""

    def scene(session: _core.Session) -> list[bool]:
        good = []
        for memory in ("device", "pool", "vmm"):
            step(session, "map-peer", f"gpu1:{memory}", "gpu0")
            flow = toy.flow(session, ("gpu1", memory), ("gpu0", "device"), "gpu0", "kernel", toy.MIB)
            good.append(session.measure([flow], toy.options(max_samples=3)).verified)
        return good

    assert toy.play(sheet, scene) == [True, True, True]


@SHEETS
@pytest.mark.parametrize(
    "interface, buffer, executor, options, reason",
    [
        ("allocate", "cpu0:pageable", "cpu1", {}, "the device that owns it"),
        ("register", "gpu0:device", "gpu0", {}, "only plain pages"),
        ("map-peer", "gpu0:device", "gpu0", {}, "one GPU is given access to another's"),
        ("cold-load", "gpu0:device", "gpu0", {}, "through memory of the host"),
        ("cold-load", "cpu0:pinned", "cpu0", {}, "loaded into a GPU"),
        ("open-ipc", "gpu0:device", "gpu1", {}, "no other process"),
        ("open-ipc", "gpu0:device", "gpu1", {"handle": "zz"}, "no handle of another process"),
    ],
)
def test_what_there_is_not(
    sheet: str, interface: str, buffer: str, executor: str, options: dict[str, str], reason: str
) -> None:
    """Catches a step that makes no sense and is measured, or that ends the worker."""

    def scene(session: _core.Session) -> str:
        try:
            step(session, interface, buffer, executor, **options)
        except _core.Error as error:
            return str(error)
        return ""

    assert reason in toy.play(sheet, scene)


def test_sizes_are_pages() -> None:
    """Catches half a page that is timed as one."""

    def scene(session: _core.Session) -> str:
        try:
            step(session, "allocate", "cpu0:pageable", "cpu0", 5000)
        except _core.UnsupportedError as error:
            return str(error)
        return ""

    assert "pages of 4096 bytes" in toy.play(toy.nvidia(), scene)


def test_on_this_host() -> None:
    """Catches an untouched allocation that makes pages, or a touched one that does not."""
    session = _core.Session(gpus=False)
    small = 4096
    times = {
        (size, touched): step(session, "allocate", "cpu0:pageable", "cpu0", size, touched=touched)
        for size in (small, 16 * toy.MIB)
        for touched in ("no", "yes")
    }
    assert all(found[1] for found in times.values())
    untouched, touched = (times[16 * toy.MIB, word][0] for word in ("no", "yes"))
    assert touched > 3 * untouched  # 4096 page faults
    assert times[small, "no"][0] < touched
