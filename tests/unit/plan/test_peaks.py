"""Peaks on toy machines whose answers are known, and what must hold on any machine."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.cases.case import Buffer, Case, Flow
from byteways.machine.capacity import maximum_flow
from byteways.machine.model import Device, Link, Topology
from byteways.machine.routes import route
from byteways.plan.peaks import peak

PCIE5 = 63.015384615384615e9
NVLINK = 450e9
HBM = 4916.736e9


def link(a: str, b: str, kind: str, peak_bytes_per_s: float | None, name: str) -> Link:
    return Link(a, b, kind, 1, None, peak_bytes_per_s, None, f"toy rate of {name}", name)


def devices(cpus: int, gpus: int) -> tuple[Device, ...]:
    return (
        *(
            Device(f"cpu{i}", "cpu", "toy", memory_peak_source="the kernel does not tell")
            for i in range(cpus)
        ),
        *(
            Device(f"gpu{i}", "gpu", "toy", memory_peak_bytes_per_s=HBM, memory_peak_source="toy HBM")
            for i in range(gpus)
        ),
    )


def nvswitch_machine(gpus: int = 4) -> Topology:
    """GPUs behind an NVSwitch, each on its own PCIe link to the one NUMA domain."""
    links = [link(f"gpu{i}", "cpu0", "pcie", PCIE5, "PCIe 5.0 ×16") for i in range(gpus)]
    links += [link(f"gpu{i}", "nvswitch", "nvlink", NVLINK, "NVLink4 ×18") for i in range(gpus)]
    return Topology("toy", devices(1, gpus), ("nvswitch",), tuple(links))


def shared_switch_machine() -> Topology:
    """Two NUMA domains; gpu0 and gpu1 share a PCIe switch with a narrow uplink to cpu0, gpu2 is at cpu1."""
    return Topology(
        "toy",
        devices(2, 3),
        ("pcie-switch0",),
        (
            link("cpu0", "cpu1", "numa", None, "NUMA distance 21"),
            link("gpu0", "pcie-switch0", "pcie", 30e9, "PCIe 4.0 ×16"),
            link("gpu1", "pcie-switch0", "pcie", 30e9, "PCIe 4.0 ×16"),
            link("pcie-switch0", "cpu0", "pcie", 40e9, "uplink"),
            link("gpu2", "cpu1", "pcie", 15e9, "PCIe 4.0 ×8"),
        ),
    )


def flow(source: str, destination: str, executor: str | None = None) -> Flow:
    memory = {"cpu": "pageable", "gpu": "device"}
    ends = [Buffer(device, memory[device[:3]]) for device in (source, destination)]
    return Flow(*ends, executor or source)


def case(pattern: str, *flows: Flow, interface: str = "copy") -> Case:
    return Case(interface, pattern, flows, 2**30)


def test_a_shared_pcie_switch_is_the_bottleneck() -> None:
    """Catches a sum of GPU links where the switch's uplink carries less."""
    machine = shared_switch_machine()
    both = case("fan-out", flow("cpu0", "gpu0"), flow("cpu0", "gpu1"))
    found = peak(machine, both)
    assert found.bytes_per_s == pytest.approx(40e9)
    assert "cpu0>pcie-switch0 (uplink" in found.source
    beside = case("bidirectional", flow("gpu0", "gpu1"), flow("gpu1", "gpu0"))
    assert peak(machine, beside).bytes_per_s == pytest.approx(60e9), (
        "peers below the switch do not use its uplink"
    )


def test_links_of_unknown_rate_make_an_upper_bound_or_nothing() -> None:
    """Catches an invented rate between NUMA domains, and a peak that hides that it is only a bound."""
    machine = shared_switch_machine()
    across = peak(machine, case("unidirectional", flow("cpu0", "gpu2")))
    assert across.bytes_per_s == pytest.approx(15e9)
    assert "upper bound, as the rate of cpu0>cpu1 is unknown" in across.source
    between = peak(machine, case("unidirectional", flow("cpu0", "cpu1")))
    assert between.bytes_per_s is None
    assert "cpu0>cpu1 is unknown" in between.source


def test_interference_counts_the_measured_flow_alone() -> None:
    """Catches disturbing flows in the peak of the measured one."""
    disturbed = case("interference", flow("cpu0", "gpu0"), flow("gpu1", "gpu0"), flow("gpu2", "gpu0"))
    found = peak(nvswitch_machine(), disturbed)
    assert found.bytes_per_s == pytest.approx(PCIE5)
    assert "measured flow alone" in found.source


def test_no_peak_for_a_chase_and_for_strangers() -> None:
    """Catches a bandwidth peak beside a latency, and a crash on a device that the topology lacks."""
    machine = nvswitch_machine()
    assert (
        "latency"
        in peak(machine, case("unidirectional", flow("gpu0", "gpu0"), interface="pointer-chase")).source
    )
    strange = peak(machine, case("unidirectional", flow("gpu0", "gpu9")))
    assert (strange.bytes_per_s, strange.source) == (None, "gpu9 is not in this machine's topology")
    island = Topology("toy", devices(1, 1))
    assert "no link connects" in peak(island, case("unidirectional", flow("cpu0", "gpu0"))).source


def test_routes_do_not_go_through_gpus() -> None:
    """Catches a route over a third GPU, which no GPU forwards, where the way over the host is longer."""
    machine = Topology(
        "toy",
        devices(1, 3),
        (),
        (
            *(link(f"gpu{i}", "cpu0", "pcie", PCIE5, "PCIe 5.0 ×16") for i in range(3)),
            link("gpu0", "gpu1", "nvlink", 100e9, "NVLink4 ×4"),
            link("gpu1", "gpu2", "nvlink", 100e9, "NVLink4 ×4"),
        ),
    )
    assert [step.kind for step in route(machine, "gpu0", "gpu2")] == ["pcie", "pcie"]
    assert [step.kind for step in route(machine, "gpu0", "gpu1")] == ["nvlink"]
    assert route(machine, "gpu0", "gpu0") == ()


rates = st.sampled_from([4e9, 16e9, 31.5e9, 63e9, 450e9])


@st.composite
def machines(draw: st.DrawFn) -> Topology:
    """Two NUMA domains, up to five GPUs on either, some below one shared switch, some with NVLinks."""
    gpus = draw(st.integers(2, 5))
    links = [link("cpu0", "cpu1", "numa", draw(rates), "NUMA")]
    links.append(link("pcie-switch0", "cpu0", "pcie", draw(rates), "uplink"))
    for index in range(gpus):
        home = draw(st.sampled_from(["cpu0", "cpu1", "pcie-switch0"]))
        links.append(link(f"gpu{index}", home, "pcie", draw(rates), "PCIe"))
    for a, b in combinations(range(gpus), 2):
        if draw(st.booleans()):
            links.append(link(f"gpu{a}", f"gpu{b}", "nvlink", draw(rates), "NVLink"))
    return Topology("toy", devices(2, gpus), ("pcie-switch0",), tuple(links))


def known(topology: Topology, wanted: Case) -> float:
    rate = peak(topology, wanted).bytes_per_s
    assert rate is not None
    return rate


@given(machines(), st.data())
def test_the_peak_of_a_sum_lies_between_its_parts(machine: Topology, data: st.DataObject) -> None:
    """Catches a sum above what its flows could do alone, or below what the best of them could."""
    pairs = [(a, b) for a in machine.names() for b in machine.names() if a != b]
    chosen = data.draw(st.lists(st.sampled_from(pairs), min_size=2, max_size=8, unique=True))
    alone = [known(machine, case("unidirectional", flow(*pair))) for pair in chosen]
    together = known(machine, case("all-pairs", *(flow(*pair) for pair in chosen)))
    assert max(alone) * (1 - 1e-9) <= together <= sum(alone) * (1 + 1e-9)


@given(machines(), st.data())
def test_bidirectional_is_twice_unidirectional(machine: Topology, data: st.DataObject) -> None:
    """Catches links whose two directions share one capacity."""
    a, b = data.draw(st.lists(st.sampled_from(machine.names()), min_size=2, max_size=2, unique=True))
    unidirectional = known(machine, case("unidirectional", flow(a, b)))
    assert known(machine, case("bidirectional", flow(a, b), flow(b, a))) == pytest.approx(2 * unidirectional)


@given(st.data())
def test_maximum_flow_is_feasible_and_proved_best(data: st.DataObject) -> None:
    """Catches a simplex that stops early or overshoots: the limiting arcs must prove the sum (weak duality).

    With flows over intervals of a chain the optimum is the least capacity of arcs that meet every flow,
    found here by trying all sets of arcs.
    """
    arcs = [f"arc{i}" for i in range(data.draw(st.integers(1, 5)))]
    capacities = {arc: float(data.draw(st.integers(1, 100))) for arc in arcs}
    uses = []
    for _ in range(data.draw(st.integers(1, 6))):
        begin = data.draw(st.integers(0, len(arcs) - 1))
        end = data.draw(st.integers(begin, len(arcs) - 1))
        uses.append(Counter(arcs[begin : end + 1]))
    covers = [
        sum(capacities[arc] for arc in chosen)
        for size in range(1, len(arcs) + 1)
        for chosen in combinations(arcs, size)
        if all(any(arc in use for arc in chosen) for use in uses)
    ]
    rate, limits = maximum_flow(uses, capacities)
    assert rate == pytest.approx(min(covers))
    assert sum(capacities[arc] for arc in limits) == pytest.approx(rate)


def test_a_flow_that_crosses_an_arc_twice_gets_half() -> None:
    """Catches an incidence that is taken as yes or no."""
    assert maximum_flow([{"arc": 2}], {"arc": 10.0}) == (pytest.approx(5.0), ["arc"])
