"""What simulated records say they rest on."""

from __future__ import annotations

from typing import Any

import pytest
from byteways.measure.conduct.requested import request_fields

from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.measuring.conduct.recording import record_without_values
from byteways.models import load, names
from byteways.models.basis import rests_on
from byteways.models.model import MachineModel, SourcedValue
from byteways.record.record import Record
from tests.changed import replace

GIB = 2**30


def case(interface: str, source: str, destination: str, executor: str, size: int = GIB, **more: Any) -> Case:
    ends = [Buffer.parse(end) for end in (source, destination)]
    return Case(interface, "unidirectional", (Flow(*ends, executor),), size, **more)


def changed(key: str, source: str, machine: str = "h200-x4") -> MachineModel:
    """A model, all fitted, with one number from elsewhere."""
    model = load(machine)
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
        ("links.1.peak_bytes_per_s", [HOST, STAGED], [COPY, CORE, PREFETCH]),
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
    key: str, resting: list[Case], not_resting: list[Case], machine: str = "h200-x4"
) -> None:
    """Catches a figure that passes for known though it rests on a guess, and blame without a cause."""
    model = changed(key, "assumed: somebody's guess", machine)
    assert all("assumed" in rests_on(one, model) for one in resting)
    assert all("assumed" not in rests_on(one, model) for one in not_resting)


TEAM = case("memcpy-mt", "cpu0:pageable", "cpu0:pageable", "cpu0")
MANAGED = case("copy", "cpu0:managed", "gpu0:device", "gpu0", size=2**16)
BULK = case("kernel-bulk", "gpu0:device", "gpu1:device", "gpu0")
ROUTED = case("copy", "gpu0:device", "gpu3:device", "gpu0")
PEER_PREFETCH = case("prefetch", "gpu0:managed", "gpu1:managed", "gpu0")
BOTH_PREFETCHES = replace(
    PEER_PREFETCH, pattern="bidirectional", flows=(*PEER_PREFETCH.flows, PEER_PREFETCH.flows[0])
)
BETWEEN_HOSTS = case("mpi", "host0:cpu0:pageable", "host1:cpu0:pageable", "cpu0", 2**20)


@pytest.mark.parametrize(
    ("machine", "key", "resting", "not_resting"),
    [
        ("h200-x4", "cpu.cores", [TEAM], [CORE]),
        ("h200-x4", "gpu.bulk_block_bytes_per_s", [BULK], [PULL]),
        ("h200-x4", "rates.blit-local.fixed_ns", [MANAGED], [HOST]),
        ("h200-x4", "calls.enqueue_ns", [], [STEP]),  # its calls are far shorter than the step
        ("h200-x4", "links.0.peak_bytes_per_s", [BOTH_PREFETCHES], [PEER_PREFETCH]),  # 170 GB/s each of 395
        ("h200-x4", "gpu.routed_efficiency", [], [COPY]),  # switches forward
        ("crusher-mi250x", "links.0.peak_bytes_per_s", [COPY], [PEER_PREFETCH]),  # 3 GB/s of 200
        ("crusher-mi250x", "calls.enqueue_ns", [STEP], []),
        ("jureca-a100", "gpu.kernel_overlap", [LIBRARY], [COPY]),
        ("jureca-mi250", "gpu.routed_efficiency", [ROUTED], [COPY]),  # both have a switch of PCI Express
        ("jureca-mi250", "links.0.peak_bytes_per_s", [ROUTED], [HOST]),  # the widest way is taken
        ("frontier-mi250x-2", "gpu.routed_efficiency", [BETWEEN_HOSTS], [COPY]),  # NICs are at GPUs
    ],
)
def test_a_number_counts_by_what_a_machine_has(
    machine: str, key: str, resting: list[Case], not_resting: list[Case]
) -> None:
    """Catches a rule for one machine's links, calls or pages that is taken for all machines."""
    test_an_assumed_number_is_told_where_it_is_used(key, resting, not_resting, machine)


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
