"""What must hold on every machine, whatever its numbers are: rules of physics, measured on every model."""

from __future__ import annotations

import statistics
from dataclasses import replace
from functools import cache, partial

import pytest

from assumed_numbers import Machine
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.shared.request import CaseRequest
from byteways.models import load, names
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from scripts.unpack_examples import recorded
from tests.native.simulated import apart
from tests.unit.models.test_assumed_numbers import request

GIB = 2**30
#: What the figures of two cases may differ by without being different.
SLACK = 0.01


@cache
def times(machine: str) -> dict[tuple[str, str, str], float]:
    """Median times in ns of chases, copies, kernels and messages, by interface, source and executor."""
    return {(*kind,): time for *kind, time in apart(partial(_times, machine))}


def _times(machine: str) -> list[tuple[str, str, str, float]]:
    model = load(machine)
    first = {kind: model.each(f"{kind}.{'count' if kind == 'gpu' else 'domains'}") for kind in ("gpu", "cpu")}
    memories = [f"gpu{index}:device" for index in range(first["gpu"])]
    memories += [f"cpu{index}:pinned" for index in range(first["cpu"])]
    one, other = "gpu0:device", "gpu1:device"
    requests = [
        request("mpi", f"0/{one}", f"1/{other}", "gpu0", 256 * 2**20),
        request("xccl", f"0/{one}", f"1/{other}", "gpu0", 256 * 2**20),
        *(request("pointer-chase", memory, memory, "gpu0", GIB) for memory in memories),
        *(
            request("pointer-chase", f"cpu{n}:pinned", f"cpu{n}:pinned", "cpu0", GIB)
            for n in range(first["cpu"])
        ),
        *(request(way, one, other, by, 256 * 2**20) for way in ("copy", "kernel") for by in ("gpu0", "gpu1")),
        *(request(way, "cpu0:pageable", "cpu0:pageable", "cpu0", GIB) for way in ("memcpy", "memcpy-stream")),
    ]
    measured = Machine(model, tuple(requests)).times
    by_kernels = request("copy", one, other, "gpu0", 256 * 2**20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HSA_ENABLE_SDMA", "0")  # the runtime of AMD copies by kernels, as libraries may
        case = replace(by_kernels.case, environment={"HSA_ENABLE_SDMA": "0"})
        requests.append(replace(by_kernels, case=case))
        measured += Machine(model, (by_kernels,)).times
    return [
        (f"{one.case.interface}{'-by-kernel' * bool(one.case.environment)}", *_place(one.case), time)
        for one, time in zip(requests, measured, strict=True)
        if time is not None
    ]


def _place(case: Case) -> tuple[str, str]:
    return str(case.flows[0].source), case.flows[0].executor


def latency(machine: str, executor: str, memory: str) -> float:
    return times(machine)["pointer-chase", memory, executor]


def memories(machine: str, executor: str) -> list[str]:
    return [memory for way, memory, by in times(machine) if (way, by) == ("pointer-chase", executor)]


#: All models; of each vendor one in the quick tests.
MACHINES = [
    pytest.param(name, marks=() if name in ("h200-x4", "elcap-mi300a") else pytest.mark.slow)
    for name in names()
]


@pytest.mark.parametrize("machine", MACHINES)
def test_remote_memory_is_at_least_a_hop_farther_than_own(machine: str) -> None:
    """Catches a model in which another device's memory is as near as the own one."""
    model = load(machine)
    own, hop = latency(machine, "gpu0", "gpu0:device"), model.number("gpu.hop_latency_ns")
    apu = model.truth("features.host_access")
    near = {"gpu0:device", *(["cpu0:pinned"] if apu else [])}
    for memory in memories(machine, "gpu0"):
        least = own if memory in near else own + hop
        assert latency(machine, "gpu0", memory) >= least * (1 - SLACK), memory
    if len(memories(machine, "cpu0")) > 1:
        assert latency(machine, "cpu0", "cpu1:pinned") >= latency(machine, "cpu0", "cpu0:pinned")


@pytest.mark.parametrize("machine", [name for name in names() if load(name).truth("features.host_access")])
def test_one_memory_over_one_route_has_one_latency(machine: str) -> None:
    """Catches host memory and GPU memory of an APU, which are the same, at two distances."""
    for index in range(load(machine).each("gpu.count")):
        there = [latency(machine, "gpu0", f"{end}") for end in (f"gpu{index}:device", f"cpu{index}:pinned")]
        assert there[0] == pytest.approx(there[1], rel=SLACK)


@pytest.mark.parametrize("machine", [name for name in names() if not load(name).hosts])
def test_no_message_is_faster_than_the_fastest_copy_or_kernel(machine: str) -> None:
    """Catches a library that moves bytes faster than what it moves them with."""
    found = times(machine)
    fastest = min(time for (way, _, _), time in found.items() if way in ("copy", "kernel", "copy-by-kernel"))
    for library in ("mpi", "xccl"):
        assert all(time >= fastest * (1 - SLACK) for (way, _, _), time in found.items() if way == library), (
            library
        )


@pytest.mark.parametrize("machine", MACHINES)
def test_stores_past_the_caches_are_not_slower(machine: str) -> None:
    """Catches a copy without loads of the written lines that is slower than one with them."""
    found = times(machine)
    plain, past = (found[way, "cpu0:pageable", "cpu0"] for way in ("memcpy", "memcpy-stream"))
    assert past <= plain * (1 + SLACK)


#: How far a model may be from what was measured: of one transfer, and of many at once.
ONE, MANY = 0.12, 0.15
PAIRS = [(a, b) for a in range(4) for b in range(4) if a != b]
ACROSS = [(a, b) for a, b in PAIRS if (a < 2) != (b < 2)]


@cache
def rounds() -> list[Record]:
    return RunFolder(recorded("h200x4-rounds/full")).records


@pytest.mark.parametrize(
    ("interface", "pattern", "pairs", "source", "executor", "within"),
    [
        ("kernel", "ring", [(0, 1), (1, 2), (2, 3), (3, 0)], "device", "source", MANY),
        ("kernel", "bisection", ACROSS, "device", "source", MANY),
        ("kernel-bulk", "all-pairs", PAIRS, "device", "source", MANY),
        ("kernel", "all-pairs", PAIRS, "device", "source", MANY),
        ("copy", "unidirectional", [(0, 1)], "managed", "source", ONE),
        ("copy", "unidirectional", [(0, 1)], "managed", "destination", ONE),
    ],
)
def test_a_model_agrees_with_a_run_of_its_machine(
    interface: str, pattern: str, pairs: list[tuple[int, int]], source: str, executor: str, within: float
) -> None:
    """Catches all pairs over a switch as fast as a ring, and managed pages that move where they stay."""
    flows = tuple(
        Flow(
            Buffer.parse(f"gpu{a}:{source}"),
            Buffer.parse(f"gpu{b}:device"),
            f"gpu{(a, b)[executor != 'source']}",
        )
        for a, b in pairs
    )
    case = Case(interface, pattern, flows, 256 * 2**20)
    planned = CaseRequest(case, budget_s=0.001, precision=0.5, rounds=1, key=1)
    (time_ns,) = apart(lambda: Machine(load("h200-x4"), (planned,)).times)
    found = [
        record.bandwidth_bytes_per_s
        for record in rounds()
        if (record.interface, record.pattern, record.size_bytes) == (interface, pattern, case.size_bytes)
        and record.status == "measured"
        and {Flow.from_json(flow) for flow in record.flows} == {*flows}
        and not record.options
    ]
    assert time_ns and found
    modelled = len(flows) * case.size_bytes / time_ns * 1e9
    assert modelled == pytest.approx(statistics.median(map(float, found)), rel=within)
