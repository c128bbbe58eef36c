"""The pool of a worker's buffers: which are kept, which are made anew, and which give way."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work.buffer_pool import KEPT_PART, BufferPool
from byteways.plan.footprint import flow_buffer_bytes

MIB = 1 << 20


@dataclass(eq=False)
class Made:
    """A buffer, by how it was asked for."""

    bytes: int
    asked: tuple[str, ...]


@dataclass
class Pool:
    """An arena over a session that notes what it allocates.

    Attributes:
        lacking: How many allocations fail.
    """

    memory: dict[str, int] = field(default_factory=dict)
    first_gpus: dict[str, str] = field(default_factory=dict)
    lacking: int = 0
    did: list[str] = field(default_factory=list)
    broken: bool = False

    def __post_init__(self) -> None:
        session: Any = SimpleNamespace(allocate=self.allocate, open_exported=self.open_exported)
        self.arena = BufferPool(session, self.memory, self.first_gpus, self)

    def allocate(self, device: str, memory: str, size: Any = 0, touch: str = "", user: str = "") -> Any:
        if isinstance(size, int) and not touch:  # of another process
            self.did.append(f"export {device} {memory}")
            return len(self.did), f"handle {len(self.did)}"
        if self.lacking:
            self.lacking -= 1
            raise _core.OutOfMemoryError
        self.did.append(f"{device}:{memory}")
        return Made(size, (device, memory, touch, user))

    def open_exported(self, device: str, size: int, opener: str, handle: str) -> Made:
        if self.broken:
            raise _core.Error
        self.did.append(f"open {handle} by {opener}")
        return Made(size, (device, "ipc", opener, handle))

    def free(self, number: int) -> None:
        self.did.append(f"free {number}")

    def close(self) -> None: ...

    def take(self, case: Case) -> list[tuple[Any, ...]]:
        """What it takes, without what was done before."""
        self.did.clear()
        return self.arena.take(case, lambda _: 0)


def case(
    source: str = "gpu0:device",
    destination: str = "gpu1:device",
    executor: str = "gpu0",
    interface: str = "copy",
    size: int = MIB,
    flows: int = 1,
) -> Case:
    flow = Flow(Buffer.parse(source), Buffer.parse(destination), executor)
    return Case(interface, "unidirectional", (flow,) * flows, size)


#: A size whose buffers are larger.
LARGE = 1 << 30


def test_buffers_are_used_again_while_their_size_matches() -> None:
    """Catches seconds of allocation for each case, and a larger buffer that rotates further than asked."""
    pool = Pool()
    first = pool.take(case())
    assert pool.did == ["gpu0:device", "gpu1:device"]
    assert pool.take(case(size=MIB // 2)) == first and pool.did == []
    other = pool.take(case(size=LARGE))
    assert other != first and pool.did == ["gpu0:device", "gpu1:device"]
    assert {held.bytes for held in other[0]} == {
        flow_buffer_bytes(case(size=LARGE), case().flows[0], lambda _: 0)
    }
    assert pool.take(case()) != first and len(pool.did) == 2  # one of each kind is kept


@pytest.mark.parametrize(
    ("second", "made"),
    [
        (case("gpu1:device", "gpu0:device"), ["gpu1:device", "gpu0:device"]),
        (case("gpu0:device", "gpu0:device"), ["gpu0:device"]),
        (case("gpu0:device", "gpu1:pool"), ["gpu1:pool"]),
        (case("gpu0:device", "gpu1:device", interface="kernel"), []),
        (case("gpu0:device", "gpu1:device", flows=2), ["gpu0:device", "gpu1:device"]),
        (case("gpu0:device", "gpu0:device", interface="pointer-chase"), ["gpu0:device"]),
        (case("gpu0:device", "gpu0:device", interface="stream-triad"), ["gpu0:device", "gpu0:device"]),
    ],
    ids=str,
)
def test_a_buffer_keeps_its_role(second: Case, made: list[str]) -> None:
    """Catches a source written by the case before, and two flows that find each other's data in a cache."""
    pool = Pool()
    pool.take(case())
    held = pool.take(second)
    assert pool.did == made
    every = [one for flow in held for one in flow]
    single = second.interface == "pointer-chase"
    assert len({id(one) for one in every}) == (1 if single else len(every))
    assert [len(flow) for flow in held] == [3 if "triad" in second.interface else 2] * len(held)


@pytest.mark.parametrize("memory", ["pinned", "registered", "write-combined", "pinned-noncoherent"])
def test_locked_memory_takes_any_role_and_stays(memory: str) -> None:
    """Catches half a second of page-locking for each direction, size and round."""
    pool = Pool()
    (there,) = pool.take(case(f"cpu0:{memory}", "gpu0:device"))
    (back,) = pool.take(case("gpu0:device", f"cpu0:{memory}"))
    assert back[1] is there[0] and pool.did == ["gpu0:device"]
    (large,) = pool.take(case(f"cpu0:{memory}", "gpu0:device", size=LARGE))
    (again,) = pool.take(case(f"cpu0:{memory}", "gpu0:device"))
    assert again[0] is there[0] and large[0] is not there[0]
    pool.arena.renew()
    (renewed,) = pool.take(case(f"cpu0:{memory}", "gpu0:device"))
    assert renewed[0] is there[0] and renewed[1] is not again[1] and pool.did == ["gpu0:device"]
    pool.arena.clear()
    pool.take(case(f"cpu0:{memory}", "gpu0:device"))
    assert pool.did == [f"cpu0:{memory}", "gpu0:device"]


def test_how_memory_is_asked_for() -> None:
    """Catches pages touched by another device than asked, and memory of another runtime's GPU."""
    pool = Pool(first_gpus={"gpu0": "gpu0", "gpu3": "gpu1"})
    ((source, destination),) = pool.take(case("cpu0:pageable@gpu3", "cpu0:pinned", "gpu3"))
    assert source.asked == ("cpu0", "pageable", "gpu3", "gpu1")
    assert destination.asked == ("cpu0", "pinned", "cpu0", "gpu1")
    ((moved, same),) = pool.take(case("gpu0:managed", "cpu0:managed", "gpu0", "prefetch"))
    assert moved is same and moved.asked == ("gpu0", "managed", "gpu0", "gpu0")
    ((other, _),) = pool.take(case("cpu0:pageable@gpu3", "cpu0:pinned", "cpu1"))
    assert other.asked[3] == ""


def test_memory_that_runs_out_is_taken_from_what_is_kept() -> None:
    """Catches a case that fails because of buffers kept for others, and one tried more than twice."""
    pool = Pool()
    (old,) = pool.take(case())
    pool.lacking = 1
    (new,) = pool.take(case("gpu0:device", "gpu0:pool"))
    assert pool.did == ["gpu0:device", "gpu0:pool"] and new[0] is not old[0]
    pool.arena.clear()
    pool.lacking = 2
    with pytest.raises(_core.OutOfMemoryError):
        pool.take(case())


def test_the_longest_unused_give_way() -> None:
    """Catches a device filled by buffers of earlier cases, and one that this case needs dropped."""
    one = flow_buffer_bytes(case(), case().flows[0], lambda _: 0)
    pool = Pool(memory={"gpu0": int(3 * one / KEPT_PART), "gpu1": 0})
    kinds = ("device", "pool", "vmm")
    first = {kind: pool.take(case(f"gpu0:{kind}", "gpu1:device"))[0][0] for kind in kinds}
    pool.take(case("gpu0:device", "gpu1:device"))
    assert pool.did == []  # three fill the share exactly
    pool.take(case("gpu0:managed", "gpu1:device"))  # the one longest unused, pool, goes
    assert pool.take(case("gpu0:vmm", "gpu1:device"))[0][0] is first["vmm"]
    assert pool.take(case("gpu0:device", "gpu1:device"))[0][0] is first["device"]
    assert pool.take(case("gpu0:pool", "gpu1:device"))[0][0] is not first["pool"]
    small = Pool(memory={"gpu0": int(one / KEPT_PART)})
    small.take(case("gpu0:device", "gpu0:device"))
    assert small.did == ["gpu0:device", "gpu0:device"]  # both are needed at once
    (kept,) = small.take(case("gpu0:device", "gpu0:device"))
    assert small.did == [] and kept[0] is not kept[1]


def test_memory_of_another_process() -> None:
    """Catches memory freed by its process while it is open here, and a handle opened by another GPU."""
    pool = Pool()
    (held,) = pool.take(case("gpu1:ipc", "gpu0:device", "gpu0"))
    assert (
        pool.did == ["export gpu1 device", "open handle 1 by gpu0", "gpu0:device"] and pool.arena.has_exported
    )
    (again,) = pool.take(case("gpu1:ipc", "gpu0:device", "gpu0"))
    assert again[0] is held[0] and pool.did == []
    (other,) = pool.take(case("gpu1:ipc", "gpu0:device", "gpu2"))
    assert other[0] is not held[0] and other[0].asked[2] == "gpu2"
    pool.did.clear()
    pool.arena.clear()
    assert len(pool.did) == 2 and all(what.startswith("free ") for what in pool.did)
    assert not pool.arena.has_exported


def test_memory_that_cannot_be_opened_is_freed_again() -> None:
    """Catches an allocation of the exporting process that nobody uses and nobody frees."""
    pool = Pool(broken=True)
    with pytest.raises(_core.Error):
        pool.take(case("gpu1:ipc", "gpu0:device", "gpu0"))
    assert pool.did == ["export gpu1 device", "free 1"] and not pool.arena.has_exported


def test_whether_all_buffers_are_new() -> None:
    """Catches one buffer of an earlier case among new ones, and a pool that is cleared for want of room."""
    pool = Pool()
    pool.take(case())
    assert pool.arena.all_new
    pool.take(case())
    assert not pool.arena.all_new
    pool.take(case(destination="gpu2:device"))
    assert not pool.arena.all_new
    pool.lacking = 1
    pool.take(case("gpu0:device", "gpu3:device"))
    assert pool.arena.all_new


def test_a_larger_locked_buffer_serves_where_the_other_end_limits_the_rotation() -> None:
    """Catches gigabytes that are locked again for each number of flows, a flow that rotates further than
    asked, and two flows in one buffer.
    """
    pool = Pool()
    (large,) = pool.take(case("cpu0:pinned", "gpu0:device", size=LARGE))
    (smaller,) = pool.take(case("gpu0:device", "cpu0:pinned"))
    assert smaller[1] is large[0] and smaller[0].bytes < large[0].bytes and pool.did == ["gpu0:device"]
    (walked,) = pool.take(case("cpu0:pinned", "cpu0:pinned", interface="pointer-chase", size=LARGE))
    assert walked[0] is large[0] and pool.did == []
    first, second = pool.take(case("cpu0:pinned", "gpu0:device", flows=2))
    assert first[0] is large[0] and second[0] is not large[0] and pool.did.count("cpu0:pinned") == 1
    pool.arena._buffers.popitem(last=False)  # as if room had been made
    first, second = pool.take(case("cpu0:pinned", "gpu0:device", flows=2))
    assert first[0] is not second[0]
    pool.lacking = 1
    (small,) = pool.take(case("cpu0:pinned", "gpu1:device"))
    assert small[0].bytes == small[1].bytes  # as the pool was emptied for lack of memory
    pool = Pool()
    (large,) = pool.take(case("cpu0:pinned", "cpu0:pinned", size=LARGE))
    (exact,) = pool.take(case("cpu0:pinned", "cpu0:pinned"))
    assert large[0] not in exact and large[1] not in exact  # nothing else would limit it
