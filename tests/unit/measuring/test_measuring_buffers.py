"""How a worker takes buffers for a case, what it asks the native core for, and how it starts again."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.reasons import UNAVAILABLE, WORKER_ERROR
from byteways.measuring.work import measuring
from byteways.measuring.work.exporter import ExporterLost
from byteways.measuring.work.health import devices_of
from byteways.measuring.work.measuring import NativeMeasurer, _flow_options, _partner, _twins, _unsupported
from byteways.plan.footprint import flow_buffer_bytes
from tests.asked import asked

MIB = 1 << 20


def case(
    interface: str = "copy", memory: str = "device", pattern: str = "unidirectional", **more: Any
) -> Case:
    flow = Flow(Buffer("gpu0", memory), Buffer("gpu1", memory), "gpu0")
    return Case(interface, pattern, (flow,), MIB, **more)


class Events(list[str]):
    """What was done, in order."""

    def note(self, what: str, result: Any = None) -> Any:
        return lambda *arguments, **_: self.append(" ".join([what, *map(str, arguments)])) or result


def measurer(events: Events, free: Any = (), lacking: int = 0) -> Any:
    """A worker on two GPUs and a CPU that notes what it does.

    Args:
        free: Free bytes of a GPU, asked again and again; the last one stays.
        lacking: How often memory runs out while it measures.
    """
    worker: Any = object.__new__(NativeMeasurer)
    left, failures = list(free), iter(range(lacking))

    def free_bytes(device: str) -> int:
        events.append(f"free {device}")
        return int(left.pop(0) if len(left) > 1 else left[0])

    def measure(flows: Any, options: Any) -> str:
        events.append(f"measure {flows}")
        if next(failures, None) is not None:
            raise _core.OutOfMemoryError
        return "measurement"

    worker.session = SimpleNamespace(free_bytes=free_bytes, measure=measure)
    worker._on_host = {"cpu0": True, "gpu0": False, "gpu1": False}
    worker._cache_bytes = {"gpu0": 0, "gpu1": 0}
    worker._arena = SimpleNamespace(
        clear=events.note("clear"),
        renew=events.note("renew"),
        take=events.note("take", ["held"]),
        has_exported=False,
    )
    worker._arena.take = lambda *_: events.append("take") or ["held"]  # type: ignore[func-returns-value]
    worker._exporter = SimpleNamespace(
        close=events.note("close"),
        allocate=events.note("allocate", (7, "handle")),
        free=events.note("release"),
    )
    worker._meter = SimpleNamespace(begin_round=events.note("begin round"))
    worker._flows = lambda case, held, handle="": f"with {held} {handle}".strip()
    return worker


@pytest.mark.parametrize(
    ("what", "exported", "did"),
    [
        (case(), False, ["close", "take", "measure with ['held']"]),
        (case(), True, ["take", "measure with ['held']"]),
        (case(memory="ipc"), False, ["take", "measure with ['held']"]),
        (
            case("open-ipc"),
            False,
            [f"allocate gpu0 device {MIB}", "take", "measure with ['held'] handle", "release 7"],
        ),
    ],
)
def test_memory_of_another_process(what: Case, exported: bool, did: list[str]) -> None:
    """Catches an exporting process that stays while other interfaces are measured, or ends too soon."""
    events = Events()
    worker = measurer(events)
    worker._arena.has_exported = exported
    assert worker._measured(what, None) == ("measurement", ["held"])
    assert events == did


def test_when_memory_runs_out_it_is_tried_once_more() -> None:
    """Catches a case that fails because kept buffers filled the memory, and one tried for ever."""
    again = ["take", "measure with ['held']", "clear", "take", "measure with ['held']"]
    events = Events()
    assert measurer(events, lacking=1)._with_buffers(case(), None)[0] == "measurement"
    assert events == again
    events = Events()
    with pytest.raises(_core.OutOfMemoryError):
        measurer(events, lacking=2)._with_buffers(case(), None)
    assert events == again


MANAGED = case("copy", "managed")


@pytest.mark.parametrize(
    ("what", "free", "cleared", "said"),
    [
        (case(), [1], 0, None),
        (MANAGED, [1 << 40], 0, None),
        (MANAGED, [0], 0, None),  # the runtime does not tell
        (MANAGED, [10, 1 << 40], 1, None),
        (MANAGED, [MIB], 1, "gpu0 currently has 819.2 KiB available"),
        (
            replace(MANAGED, flows=(replace(MANAGED.flows[0], destination=Buffer("cpu0", "pinned")),)),
            [10],
            1,
            "it needs",
        ),
    ],
    ids=[
        "none managed",
        "enough",
        "unknown",
        "enough without kept buffers",
        "too little",
        "one side managed",
    ],
)
def test_room_for_managed_memory(what: Case, free: list[int], cleared: int, said: str | None) -> None:
    """Catches pages that a driver moves to and fro for want of room, and a case skipped that has room."""
    events = Events()
    found = measurer(events, free)._crowded(what)
    assert events.count("clear") == cleared
    assert (found is None) == (said is None) and (said or "") in (found or "")
    assert "free cpu0" not in events


def test_managed_bytes_are_counted_once_for_each_buffer() -> None:
    """Catches room for one of two buffers, and for both ends of pages that move from one to the other."""
    needs = {}
    for name, what in (("both", MANAGED), ("moved", case("prefetch", "managed"))):
        needs[name] = measurer(Events(), [100])._crowded(what)
        size = measuring.flow_buffer_bytes(what, what.flows[0], lambda _: 0)
        total = measuring.format_size(2 * size if name == "both" else size)
        assert needs[name].startswith(f"it needs {total} of managed memory, and gpu0 currently has 80 B")


@pytest.mark.parametrize(
    ("fresh", "interface", "did"),
    [
        (False, "copy", []),
        (True, "copy", ["begin round", "renew"]),
        (False, "allocate", ["clear"]),
        (True, "free", ["begin round", "renew", "clear"]),
    ],
)
def test_what_is_kept_between_cases(fresh: bool, interface: str, did: list[str]) -> None:
    """Catches idle power of an earlier round, and memory of others that a step opens along with its own."""
    events = Events()
    worker = measurer(events)
    worker._outcome = lambda *_: "outcome"
    assert worker.measure(asked(case(interface), fresh=fresh)) == ("outcome", False)
    assert events == did


def test_a_lost_exporter_costs_its_memory() -> None:
    """Catches memory of an ended process that stays open for the next case."""
    events = Events()
    worker = measurer(events)

    def lose(*_: Any) -> None:
        raise ExporterLost("it ended")

    worker._outcome = lose
    outcome = {"status": "failed", "reason": "it ended", "reason_code": WORKER_ERROR}
    assert worker.measure(asked(case())) == (outcome, False)
    assert events == ["clear"]


@pytest.mark.parametrize(
    ("failures", "broken"),
    [
        ({}, False),
        ({"gpu1": "Error"}, True),
        ({"gpu0": "OutOfMemoryError"}, False),
        ({"gpu9": "Error"}, False),
    ],
)
def test_whether_a_device_is_broken(failures: dict[str, str], broken: bool) -> None:
    """Catches a new worker for each failure, none for a lost GPU, and a device tried that is not here."""
    tried = []
    worker = measurer(Events())

    def allocate(device: str, memory: str, size: int, executor: str) -> None:
        tried.append((device, memory, size, executor))
        if device in failures:
            raise getattr(_core, failures[device])("lost")

    worker.session.allocate = allocate
    flows = (Flow(Buffer("cpu0", "pinned"), Buffer("gpu0", "device"), "gpu1"),)
    flows += (Flow(Buffer("gpu9", "device"), Buffer("gpu9", "device"), "gpu9"),)
    assert worker.broken(devices_of(Case("copy", "bidirectional", flows, MIB))) == broken
    expected = [("cpu0", "pageable"), ("gpu0", "device"), ("gpu1", "device")]
    assert tried == [(device, memory, 4096, device) for device, memory in expected]


@pytest.mark.parametrize(
    ("options", "rounds", "set_"),
    [
        ({}, 1, {}),
        ({"gate": False}, 1, {"gate": False}),
        ({"gate": True, "batch": 8}, 3, {"gate": True, "batch": 8}),
        ({"energy": True}, 1, {}),
    ],
)
@pytest.mark.parametrize("pattern", ["unidirectional", "interference"])
def test_options_of_a_measurement(
    options: dict[str, Any], rounds: int, set_: dict[str, Any], pattern: str
) -> None:
    """Catches a fixed batch or gate that is not passed on, and one that nobody asked for."""
    worker = measurer(Events())
    one = case(pattern=pattern, options=options)
    found = worker._options(asked(one, budget_s=0.5, precision=0.01, key=9, rounds=rounds))
    assert (found.rounds, found.budget_s, found.precision, found.key) == (rounds, 0.5, 0.01, 9)
    assert found.interference == (pattern == "interference")
    assert {"gate": found.gate, "batch": found.batch} == {"gate": True, "batch": 0, **set_}


def test_flows_as_the_core_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches ends exchanged, a second array or a partner lost, and warm flows measured cold."""
    worker = measurer(Events())
    core = SimpleNamespace(Flow=lambda *ends, **more: (ends, more))
    monkeypatch.setattr(measuring, "_core", core)
    worker._gpus = ["gpu0", "gpu1"]
    flow = Flow(Buffer("gpu0", "device"), Buffer("gpu1", "device"), "gpu1", partner="gpu0")
    background = replace(flow, interface="copy", size_bytes=8, options={"stream": 3}, partner=None)
    both = Case(
        "kernel", "interference", (flow, background), MIB, "warm", {"blocks": 4, "gate": True, "batch": 2}
    )
    first, second = NativeMeasurer._flows(worker, both, [("a", "b", "c"), ("d", "e")])  # type: ignore[list-item]
    assert first == (
        ("a", "c", "gpu1", "kernel", MIB),
        {"cold": False, "second_source": "b", "partner": "gpu0", "blocks": 4},
    )
    assert second == (
        ("d", "e", "gpu1", "copy", 8),
        {"cold": True, "second_source": None, "partner": "", "stream": 3},
    )
    (opened,) = NativeMeasurer._flows(worker, replace(both, flows=(flow,)), [("a", "c")], "handle")  # type: ignore[list-item]
    assert opened[1]["handle"] == "handle" and opened[1]["second_source"] is None  # type: ignore[index]


def test_the_cache_of_an_unknown_device() -> None:
    """Catches buffers of another length for a device without a cache."""
    worker = measurer(Events())
    worker._cache_bytes = {"gpu0": 60 * MIB}
    assert (worker._cache("gpu0"), worker._cache("gpu9")) == (60 * MIB, 0)


def test_partners() -> None:
    """Catches pages that move to nobody."""
    moved = case("prefetch", "managed")
    assert _partner(moved, moved.flows[0]) == "gpu1"
    assert _partner(case(), case().flows[0]) == ""
    assert _partner(case("ping-pong"), replace(case().flows[0], partner="gpu1")) == "gpu1"


def test_options_of_a_flow() -> None:
    """Catches a truth value that the core does not take, and a route without its relays."""
    assert _flow_options(case(options={"gate": True, "energy": True, "stream": 2}), case().flows[0], []) == {
        "stream": 2
    }
    found = _flow_options(case(options={"in_place": True}), case().flows[0], [])
    assert found == {"in_place": 1} and type(found["in_place"]) is int
    routed = _flow_options(
        case("route", options={"relays": 1, "depth": 2}), case().flows[0], ["gpu0", "gpu1", "gpu2"]
    )
    assert routed == {"depth": 2, "via": "gpu2"}
    rows = _flow_options(
        case("copy-2d", options={"width_bytes": 64, "pitch_bytes": 128}), case().flows[0], []
    )
    assert (rows["width_bytes"], rows["pitch_bytes"]) == (64, 128) and rows["strided"]


def test_devices_that_share_a_memory() -> None:
    """Catches a GPU with its own memory, or one of another domain, taken for the CPU's twin."""

    def device(name: str, domain: int, host_access: bool = False) -> Any:
        runtime = "host" if name.startswith("cpu") else "hip"
        return SimpleNamespace(name=name, runtime=runtime, numa_domain=domain, host_access=host_access)

    found = [
        device("cpu0", 0),
        device("cpu1", 1),
        device("gpu0", 1, True),
        device("gpu1", 0),
        device("gpu2", 5, True),
    ]
    assert _twins(found) == {"gpu0": "cpu1", "cpu1": "gpu0"}


@pytest.mark.parametrize(
    ("environment", "outcome"),
    [
        ({}, {"status": "failed", "reason": "no"}),
        ({"B": "1", "A": "2"}, {"status": "skipped", "reason": "with A=2, B=1: no"}),
    ],
)
def test_what_the_plan_thought_possible(environment: dict[str, str], outcome: dict[str, str]) -> None:
    """Catches a failure where a setting took something away, and a skip that hides a failure."""
    code = {"failed": WORKER_ERROR, "skipped": UNAVAILABLE}[outcome["status"]]
    found = _unsupported(case(environment=environment), RuntimeError("no"))
    assert found == {**outcome, "reason_code": code}


@pytest.mark.parametrize(
    ("size", "all_mib"), [(4096, 128), (2 * MIB, 128), (50 * MIB, 100), (1024 * MIB, 1024)]
)
def test_regions_of_prefetches(size: int, all_mib: int) -> None:
    """Catches too few regions for a batch that can be timed: 128 MiB of them, in blocks of 2 MiB."""
    moved = Flow(Buffer("cpu0", "managed"), Buffer("gpu0", "managed"), "cpu0")
    case = Case("prefetch", "unidirectional", (moved,), size)
    assert flow_buffer_bytes(case, moved, lambda _: 0) == all_mib * MIB
