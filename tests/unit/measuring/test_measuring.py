"""What a worker answers about energy, and which GPUs of a runtime it takes memory from."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work import measuring
from byteways.measuring.work.measuring import NativeMeasurer, _exports, _first_gpus
from tests.asked import asked

SIZES = (1 << 20, 3 << 20)


def case(interface: str = "copy", pattern: str = "unidirectional") -> Case:
    ends = Buffer("gpu0", "device"), Buffer("gpu1", "device")
    flows = tuple(Flow(*ends, "gpu0", size_bytes=size) for size in SIZES)
    return Case(interface, pattern, flows, 4096)


def answered(
    case: Case, *, simulated: bool = False, broken: bool = False
) -> tuple[dict[str, Any], list[Any]]:
    """The field, and how operations were sustained."""
    sustained: list[Any] = []

    def measure(devices: list[str], sustain: Any, moved_bytes: int) -> dict[str, Any]:
        if broken:
            raise _core.UnsupportedError("no counter of energy")
        sustain(0.5)
        return {"devices": devices, "bytes": moved_bytes}

    session = SimpleNamespace(
        sustain=lambda flows, slice_s, interference: sustained.append((flows, slice_s, interference))
    )
    measurer = object.__new__(NativeMeasurer)
    measurer._simulator = "simulator" if simulated else ""
    measurer.session = session  # type: ignore[assignment]
    measurer._meter = SimpleNamespace(measure=measure)  # type: ignore[assignment]
    measurer._flows = lambda case, buffers: ["flows"]  # type: ignore
    return measurer._energy(case, ["gpu0", "gpu1"], []), sustained


class Others:
    """Who else uses the GPUs: notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def before(self, devices: list[str]) -> dict[str, Any]:
        self.asked.append(devices)
        return dict.fromkeys(devices, "use")

    def after(self, before: Any) -> dict[str, Any]:
        self.asked.append(before)
        return dict(before)


def finished(
    monkeypatch: pytest.MonkeyPatch, health: dict[str, Any], status: str = "measured", users: Any = None
) -> tuple[Any, dict[str, Any]]:
    """A measurer that has measured 15 operations with these changes of health, and what was compared."""
    told: dict[str, Any] = {}

    def compare(case: Any, before: Any, after: Any, operations: int, users: Any) -> Any:
        told.update(before=before, after=after, operations=operations, users=users)
        return SimpleNamespace(health=health, warnings=[], link_bytes=health)

    readings = iter(("old", "new"))
    fake: Any = object.__new__(NativeMeasurer)
    fake._health = SimpleNamespace(read=lambda *_, **__: next(readings), compare=compare)
    fake._users, fake._twins, fake._cpu_domain = users, {}, {}
    fake._options = fake._crowded = lambda *_: None
    fake._measured = lambda *_: (SimpleNamespace(samples_ns=[1.0, 2.0, 3.0], batch=5), [])
    fake._energy = lambda *_: "joules"
    monkeypatch.setattr(measuring, "outcome_of", lambda *_: {"status": status, "warnings": []})
    for name in ("misplaced", "on_other_pages"):
        monkeypatch.setattr(measuring, name, lambda *_: [])
    return fake, told


@pytest.mark.parametrize(("memory", "is_asked"), [("device", True), ("ipc", False)])
@pytest.mark.parametrize("watched", [True, False])
def test_our_exporter_is_no_other_user(
    memory: str, is_asked: bool, watched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a warning that our own exporting process shares the GPU, and none of others."""
    others = Others()
    measurer, told = finished(monkeypatch, {"gpu0": "h"}, users=others if watched else None)
    flow = Flow(Buffer("gpu1", memory), Buffer("gpu0", "device"), "gpu0")
    measurer._outcome(asked(Case("copy", "unidirectional", (flow,), 4096)))
    users = {"gpu1": "use", "gpu0": "use"} if is_asked and watched else {}
    assert told == {"before": "old", "after": "new", "operations": 15, "users": users}
    assert others.asked == ([["gpu1", "gpu0"], users] if users else [{}] * watched)


@pytest.mark.parametrize("pattern", ["unidirectional", "interference"])
def test_energy_of_all_flows(pattern: str) -> None:
    """Catches energy per byte of the first flow alone, and a load sustained as if it were measured."""
    found, asked = answered(case(pattern=pattern))
    assert found == {"devices": ["gpu0", "gpu1"], "bytes": sum(SIZES)}
    assert asked == [(["flows"], 0.5, pattern == "interference")]


@pytest.mark.parametrize(
    ("interface", "simulated", "broken", "reason"),
    [
        ("copy", True, False, "energy is not modelled"),
        ("pointer-chase", False, False, "pointer-chase moves no bytes, so energy per GB is undefined"),
        ("copy", False, True, "no counter of energy"),
    ],
)
def test_why_there_is_no_energy(interface: str, simulated: bool, broken: bool, reason: str) -> None:
    """Catches a case that is lost because a GPU has no counter, and energy of a machine model."""
    found, asked = answered(case(interface), simulated=simulated, broken=broken)
    assert found == {"reason": reason} and not asked


@pytest.mark.parametrize(
    ("devices", "first"),
    [
        ("cpu0 host, gpu0 cuda, gpu1 cuda", {}),
        ("cpu0 host", {}),
        (
            "cpu0 host, gpu0 cuda, gpu1 hip, gpu2 cuda, gpu3 hip",
            {"gpu0": "gpu0", "gpu1": "gpu1", "gpu2": "gpu0", "gpu3": "gpu1"},
        ),
    ],
)
def test_the_first_gpu_of_each_runtime(devices: str, first: dict[str, str]) -> None:
    """Catches memory of one runtime handed to GPUs of another, and buffers kept apart where one will do."""
    pairs = (words.split() for words in devices.split(", "))
    found = [SimpleNamespace(name=name, runtime=runtime) for name, runtime in pairs]
    assert _first_gpus(found) == first  # type: ignore[arg-type]


@pytest.mark.parametrize("energy", [False, True])
@pytest.mark.parametrize("status", ["measured", "corrupt"])
@pytest.mark.parametrize("noticed", [False, True])
def test_what_is_added_to_an_outcome(
    energy: bool, status: str, noticed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches energy of what was not asked for or is corrupt, and empty fields of health."""
    told = {"gpu0": {"ecc": 1}} if noticed else {}
    measurer, _ = finished(monkeypatch, told, status)
    one = case()
    wanted = Case(one.interface, one.pattern, one.flows, one.size_bytes, options={"energy": energy})
    found = measurer._outcome(asked(wanted))
    assert found.pop("energy", None) == ("joules" if energy and status == "measured" else None)
    assert found == {"status": status, "warnings": []} | (
        {"health": told, "link_bytes": told} if noticed else {}
    )


def test_an_option_that_nothing_reads_is_refused() -> None:
    """Catches figures of an option that had no effect."""
    one = case()
    mistaken = Case(one.interface, one.pattern, one.flows, one.size_bytes, options={"colour": 3})
    with pytest.raises(ValueError, match="unknown option colour of copy"):
        object.__new__(NativeMeasurer)._options(asked(mistaken))


@pytest.mark.parametrize(
    ("error", "status", "broken"),
    [("UnsupportedError", "failed", False), ("OutOfMemoryError", "failed", False), ("Error", "failed", True)],
)
def test_errors_of_a_case(error: str, status: str, broken: bool) -> None:
    """Catches a worker that is given up for want of memory, and one that is kept with a broken runtime."""
    measurer: Any = object.__new__(NativeMeasurer)
    measurer.broken = lambda _: True

    def fail(*_: Any) -> None:
        raise getattr(_core, error)("it happened")

    measurer._outcome = fail
    outcome, given_up = measurer.measure(asked(case()))
    assert (outcome["status"], given_up) == (status, broken)
    assert outcome["reason"] == "it happened" + "; the runtime is unusable; a new worker continues" * broken
    measurer.broken = lambda _: False
    kept, given_up = measurer.measure(asked(case()))
    assert (kept["reason"], given_up) == ("it happened", False)


@pytest.mark.parametrize(
    ("interface", "memory", "exports"),
    [
        ("open-ipc", "device", True),
        ("copy", "ipc", True),
        ("copy", "device", False),
        ("store", "pool", False),
    ],
)
def test_cases_with_memory_of_another_process(interface: str, memory: str, exports: bool) -> None:
    """Catches the exporting process reported as a foreign user of the GPU."""
    moved = Flow(Buffer("gpu0", "device"), Buffer("gpu1", memory), "gpu0")
    assert _exports(Case(interface, "unidirectional", (moved,), 4096)) == exports
