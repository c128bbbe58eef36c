"""Everything that shipped suites plan on seven machines, and what may run on them, in a line of text each.

    python -m tests.unit.plans_of_machines MACHINE [SUITE or INTERFACE]

prints the lines that a digest stands for, to compare those of two versions.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interface import Interface
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES, OWNERS
from byteways.cases.options import Option
from byteways.machine.model import Capabilities, Topology
from byteways.plan import suites
from byteways.plan.legality import refusal
from byteways.plan.limits import limit
from byteways.plan.peaks import peak
from byteways.plan.planner import make_plan
from byteways.plan.suite import load
from tests.changed import replace
from tests.unit import legality

MACHINES: Mapping[str, tuple[Topology, Capabilities]] = {
    "two-cores": legality.TWO_CORES,
    "two-domains": legality.TWO_DOMAINS,
    "h200x4": legality.H200X4,
    "coherent": legality.COHERENT,
    "no-peer": legality.NO_PEER,
    "frontier": legality.FRONTIER,
    "apu": legality.APU,
}
SUITES = sorted(path.stem for path in Path(next(iter(suites.__path__))).glob("*.toml"))
#: Suites of the tests, by the names of their files.
OTHERS = {
    path.stem: path
    for path in (
        Path(__file__).with_name("odd_suite.toml"),
        *(Path(__file__).parents[1] / "cli" / "recorded").glob("*.toml"),
    )
}
#: Plans with many cases (of all memory kinds, of all pairs) take seconds: on the small machines only.
LARGE, SMALL = ("full", "latency", "memory", "odd_suite"), ("two-cores", "no-peer")
BUDGETS_S = (300.0, 20.0)
#: Bytes that each side of a planned case touches, for its limits: more than caches hold, and less.
TOUCHED = ({"source": 8 << 30, "destination": 8 << 30}, {"source": 1 << 20, "destination": 1 << 20})
SIZES = (0, 8, 16, 24, 4096, 3 << 20, 1 << 30, 200 << 30)
OPTION_SIZE = 1 << 20
#: Of the flows of plain memory so many get each size, option and variable.
SOME = 8


def digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def planned(machine: str, suite: str, budget_s: float | None) -> Iterator[str]:
    """Each case in its order, with its time, limits and why it does not run."""
    topology, capabilities = MACHINES[machine]
    try:
        plan = make_plan(load(str(OTHERS.get(suite, suite))), topology, capabilities, budget_s=budget_s)
    except BytewaysError as error:
        yield str(error)
        return
    yield f"{plan.estimated_s:.5g} s; {'; '.join(plan.notes)}"
    told: set[tuple[str, ...]] = set()
    for one in plan.cases:
        time = (
            f"{one.estimated_s:.4g} s, {one.budget_s:.4g} s, {one.precision:.4g}, {one.rounds}, {one.spare}"
        )
        yield f"{one.sweep} {one.round} {_case(one.case)}: {time}; {one.reason}"
        kind = one.case.interface, one.case.pattern, one.case.path
        if one.reason is None and kind not in told:
            told.add(kind)
            yield _rates(topology, one.case)


def _case(case: Case) -> str:
    return f"{case.interface} {case.pattern} {case.path} {case.size_bytes} {case.access} {case.case_id}"


def _rates(topology: Topology, case: Case) -> str:
    found: list[Any] = [peak(topology, case), *(limit(topology, case, touched) for touched in TOUCHED)]
    return "; ".join(str(one) for one in found)


def judged(machine: str, interface: str) -> Iterator[str]:
    """Cases of an interface with every memory, option and size, and why they do not run."""
    for case in _cases(machine, interface):
        ends = ", ".join(f"{one.source} > {one.destination} by {one.executor}" for one in case.flows)
        what = f"{case.pattern} {ends}, {case.size_bytes}, {case.cache}, {dict(case.options)}"
        yield f"{what}, {dict(case.environment)}: {refusal(case, *MACHINES[machine]) or 'runs'}"


def _cases(machine: str, interface: str) -> Iterator[Case]:
    row = INTERFACES[interface]
    flows = list(_flows(machine, row))
    plain = [flow for flow in flows if flow.source.memory in ("pageable", "pinned", "device", "managed")]
    plain = plain[:: len(plain) // SOME + 1]
    for flow in flows:
        yield Case(interface, "unidirectional", (flow,), OPTION_SIZE)
    for flow, size in product(plain, SIZES):
        yield Case(interface, "unidirectional", (flow,), size)
    options: list[dict[str, Any]] = [{}]
    options += [{option.name: value} for option in row.options for value in _values(option)]
    for flow, chosen in product(plain, options):
        alone = Case(interface, "unidirectional", (flow,), OPTION_SIZE, options=chosen)
        yield alone
        back = replace(flow, source=flow.destination, destination=flow.source)
        yield replace(alone, pattern="bidirectional", flows=(flow, back), cache="warm")
    for flow, variable in product(plain, ("HSA_XNACK", "CUDA_LAUNCH_BLOCKING", "UCX_TLS", "NCCL_ALGO")):
        yield Case(interface, "unidirectional", (flow,), OPTION_SIZE, environment={variable: "1"})


def _flows(machine: str, row: Interface) -> Iterator[Flow]:
    """One for every two ends and executor, with the same memory at both or what is usual at the other."""
    names = [name for name in MACHINES[machine][0].names() if name in ("cpu0", "cpu1", "gpu0", "gpu1")]
    ends = [Buffer(name, memory) for name in names for memory in MEMORIES if name[:3] in OWNERS[memory]]
    usual = ("pageable", "device")
    for source, destination, executor in product(ends, ends, names):
        if row.buffers != "pair" and source.memory != destination.memory:
            continue
        if row.buffers == "one" and source != destination:
            continue
        if source.memory != destination.memory and destination.memory not in usual:
            continue
        others = [name for name in names if name != executor]
        yield Flow(source, destination, executor, partner=others[0] if row.partner and others else None)


def _values(option: Option) -> list[int | str | bool]:
    if option.span is not None:
        span = option.span
        return [span.least - 1, span.least, span.least + span.step, 4096, span.most, span.most + 1]
    if option.names_gpus:
        return ["gpu0", "gpu1", "gpu1,gpu0", "gpu9"]
    if option.counts_sizes:
        return ["3x1KiB,1x1KiB", "1x24"]
    return [*option.words] or [True]


def of_plans() -> str:
    """A line for each suite on each machine."""
    lines = []
    for machine, suite in product(MACHINES, (*SUITES, *sorted(OTHERS))):
        if machine == "apu":
            continue  # as frontier, but for legality
        for budget_s in BUDGETS_S if machine in SMALL else BUDGETS_S[:1]:
            if suite in LARGE and (machine not in SMALL or budget_s != BUDGETS_S[0]):
                continue
            found = list(planned(machine, suite, budget_s))
            lines.append(f"{machine} {suite} {budget_s}: {len(found) - 1} cases, {digest(found)}")
    return "\n".join(lines) + "\n"


def of_legality() -> str:
    """A line for each interface on each machine."""
    lines = []
    for machine, interface in product(MACHINES, INTERFACES):
        found = list(judged(machine, interface))
        runs = sum(line.endswith(": runs") for line in found)
        reasons = len({line.rpartition(": ")[2] for line in found}) - bool(runs)
        lines.append(f"{machine} {interface}: {runs} of {len(found)}, {reasons} reasons, {digest(found)}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    name, asked = sys.argv[1:3]
    texts = (
        [planned(name, asked, budget_s) for budget_s in BUDGETS_S]
        if asked in (*SUITES, *OTHERS)
        else [judged(name, asked)]
    )
    for text in texts:
        print(*text, sep="\n")
