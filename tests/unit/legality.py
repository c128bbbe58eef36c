"""Cases and machines for tests of what may run where."""

from __future__ import annotations

from dataclasses import replace

from byteways.cases.case import Buffer, Case, Flow
from byteways.machine.model import Capabilities, Topology
from byteways.plan.legality import refusal
from tests.unit import machines

Machine = tuple[Topology, Capabilities]
H200X4: Machine = machines.h200x4()
TWO_CORES: Machine = machines.two_cores()
TWO_DOMAINS: Machine = machines.gpus(4, domains=2)
NO_PEER: Machine = machines.gpus(2, without_peer=[("gpu0", "gpu1")], without_bulk=["gpu1"])
FRONTIER: Machine = machines.frontier()
APU: Machine = machines.frontier(host_access=True)
COHERENT: Machine = machines.gpus(2, pageable_access=True)
MIB, GIB = 2**20, 2**30


def case(
    interface: str, source: str, destination: str, executor: str, size: int = MIB, cache: str = "cold"
) -> Case:
    flow = Flow(Buffer.parse(source), Buffer.parse(destination), executor)
    return Case(interface, "unidirectional", (flow,), size, "warm" if interface == "pointer-chase" else cache)


def within(what: Case, **environment: str) -> Case:
    return replace(what, environment=environment)


def team(threads: int) -> Case:
    return replace(case("memcpy-mt", "cpu0:pageable", "cpu0:pageable", "cpu0"), options={"threads": threads})


def reason(what: Case, machine: Machine = H200X4) -> str | None:
    return refusal(what, *machine)
