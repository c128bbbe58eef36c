"""What simulated records say they rest on."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.plan.case import Buffer, Case, Flow, PlannedCase
from byteways.record.record import Record
from byteways.run.conduct.recording import record_without_values, request_fields
from byteways.simulate import load, names
from byteways.simulate.basis import rests_on
from byteways.simulate.model import MachineModel, SourcedValue
from tests.changed import replace

GIB = 2**30


def case(interface: str, source: str, destination: str, executor: str, size: int = GIB, **more: Any) -> Case:
    ends = [Buffer.parse(end) for end in (source, destination)]
    return Case(interface, "unidirectional", (Flow(*ends, executor),), size, **more)


def changed(key: str, source: str) -> MachineModel:
    """The H200 model, all fitted, with one number from elsewhere."""
    model = load("h200-x4")
    facts = {
        name: replace(fact, source="fitted: x") if fact.source else fact for name, fact in model.facts.items()
    }
    assert facts[key].source
    return replace(model, facts={**facts, key: SourcedValue(facts[key].value, source)})


COPY = case("copy", "gpu0:device", "gpu1:device", "gpu0")
PULL = case("kernel", "gpu0:device", "gpu1:device", "gpu1")
SHORT = case("kernel", "gpu0:device", "gpu1:device", "gpu1", size=2**16)
UNGATED = case("copy", "gpu0:device", "gpu1:device", "gpu0", size=2**16, options={"gate": False})
MESSAGE = case("mpi", "0/cpu0:pageable", "1/cpu0:pageable", "cpu0", size=2**16)
LIBRARY = case("xccl", "0/gpu0:device", "1/gpu1:device", "gpu0", size=2**16)
HOST = case("copy", "cpu0:pinned", "gpu0:device", "gpu0")
STAGED = case("copy", "cpu0:pageable", "gpu0:device", "gpu0")
WALK = case("pointer-chase", "gpu1:device", "gpu1:device", "gpu0")
PREFETCH = case("prefetch", "cpu0:managed", "gpu0:managed", "gpu0")
TOUCH = case("kernel", "cpu0:managed", "gpu0:device", "gpu0")
CORE = case("memcpy", "cpu0:pageable", "cpu0:pageable", "cpu0")
CALL = case("launch", "gpu0:device", "gpu0:device", "gpu0")
NCCL_MESSAGE = case("xccl", "0/gpu0:device", "1/gpu1:device", "gpu0")
STEP = case("allocate", "gpu0:device", "gpu0:device", "gpu0")


@pytest.mark.parametrize(
    ("key", "resting", "not_resting"),
    [
        ("links.0.peak_bytes_per_s", [COPY, PULL], [HOST, CORE, WALK]),
        ("links.1.peak_bytes_per_s", [HOST, STAGED, PREFETCH], [COPY, CORE]),
        ("rates.engine-peer-write.efficiency", [COPY], [PULL, HOST, WALK]),
        ("rates.kernel-peer-read.fixed_ns", [SHORT], [COPY, TOUCH, PULL]),
        ("rates.kernel-peer-read.efficiency", [PULL], [COPY, TOUCH]),
        ("rates.engine-host-read.efficiency", [HOST], [STAGED, COPY]),
        ("staging.to.0.bytes_per_s", [STAGED], [HOST]),
        ("gpu.peer_latency_ns", [WALK], [COPY, CALL]),
        ("gpu.hop_latency_ns", [], [WALK]),
        ("gpu.memory_bytes_per_s", [COPY, HOST, PULL], [CORE, WALK]),
        ("managed.prefetch_to_gpu_bytes_per_s", [PREFETCH], [TOUCH, COPY]),
        ("managed.to_gpu_bytes_per_s", [TOUCH], [PREFETCH, HOST]),
        ("cpu.core_copy_bytes_per_s", [CORE], [COPY, HOST]),
        ("calls.launch_ns", [CALL, UNGATED], [COPY, WALK]),
        ("mpi.handshake_ns", [MESSAGE], [COPY, LIBRARY, CORE]),
        ("mpi.send_ns", [MESSAGE], [NCCL_MESSAGE, COPY]),
        ("xccl.ll_step_ns", [LIBRARY], [MESSAGE, COPY]),
        ("xccl.simple_step_ns", [LIBRARY], [COPY, MESSAGE]),
        ("xccl.ll_efficiency", [LIBRARY], [COPY, MESSAGE]),
        ("memory.call_ns", [STEP], [COPY, CALL]),
    ],
)
def test_an_assumed_number_is_told_where_it_is_used(
    key: str, resting: list[Case], not_resting: list[Case]
) -> None:
    """Catches a figure that passes for known though it rests on a guess, and blame without a cause."""
    model = changed(key, "assumed: somebody's guess")
    assert all("assumed" in rests_on(one, model) for one in resting)
    assert all("assumed" not in rests_on(one, model) for one in not_resting)


@pytest.mark.parametrize("machine", names())
def test_every_model_has_something_to_rest_on(machine: str) -> None:
    """Catches keys that models of one vendor or shape do not have."""
    model = load(machine)
    cases = (COPY, PULL, HOST, STAGED, WALK, PREFETCH, TOUCH, CORE, CALL, STEP)
    assert [one for one in cases if not rests_on(one, model)] == []


def test_records_say_so() -> None:
    """Catches records of a simulated run that read like measured ones, whatever became of the case."""
    planned = PlannedCase(COPY, "sweep", 0, 1.0, 0.01)
    model = load("h200-x4")
    assert request_fields(planned, model)["rests_on"] == ["fitted", "nominal"]
    record = record_without_values(planned, 5, "skipped", "no time", model)
    assert (record.simulated, record.rests_on) == (True, ["fitted", "nominal"])
    assert Record.from_json(record.to_json()) == record
    assert record_without_values(planned, 5, "skipped", "no time").simulated is None
