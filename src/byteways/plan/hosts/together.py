"""Operations of all hosts at once: collectives and application patterns with one rank on each host (pure).

A template has places for two hosts, as a message has; of_group() writes it for any number of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from byteways.plan.applications import OF_PEERS, columns_of
from byteways.plan.case import OF_ALL_RANKS, Buffer, Case, Flow, on_hosts, with_ranks_of_hosts
from byteways.plan.hosts.places import FIRST, SECOND
from byteways.plan.interfaces import APPLICATIONS, INTERFACES, MULTI_PAIR
from byteways.plan.legality import refusal
from byteways.plan.options import LAUNCH
from byteways.plan.rank_sweep import flows_of_group, with_sizes
from byteways.plan.ranks import Rank
from byteways.plan.suite_types import Sweep
from byteways.plan.sweep import cases_of
from byteways.topology.model import Capabilities, Topology


def is_of_all(case: Case) -> bool:
    """Whether all hosts take part, and not a pair of them."""
    return case.pattern in OF_ALL_RANKS


def templates_of_all(sweep: Sweep, topology: Topology, notes: list[str]) -> Iterator[Case]:
    """Yields the cases of a sweep that all hosts measure together, each by the first device that matches.

    Args:
        sweep: A sweep over ranks.
        topology: Of the host where byteways was started.
        notes: Receives the reasons for fewer cases than expected.
    """
    patterns = [pattern for pattern in sweep.patterns if pattern in OF_ALL_RANKS]
    if MULTI_PAIR in patterns:
        notes.append(f"sweep '{sweep.name}': no {MULTI_PAIR} between hosts, which meet in pairs anyway")
        patterns.remove(MULTI_PAIR)
    if patterns and sweep.groups != "all":
        notes.append(f"sweep '{sweep.name}': all hosts together, no groups of fewer")
    here = _rank(sweep, topology)
    group = [replace(here, number=number) for number in range(2)]
    for pattern, interface in itertools.product(patterns, sweep.interfaces):
        for (flow,) in flows_of_group(sweep, pattern, interface, group):
            yield from cases_of(sweep, pattern, interface, (_placed(flow),), topology)


def of_group(case: Case, hosts: Sequence[str]) -> Case:
    """Returns a template's case for some hosts, in this order: a message for two, an operation of all for any
    number, with a size that it divides among them.
    """
    names = {FIRST: hosts[0], SECOND: hosts[1]}

    def named(end: Buffer) -> Buffer:
        return replace(end, host=names[end.host or ""])

    flows = tuple(on_hosts(flow, named) for flow in case.flows)
    if not is_of_all(case):
        return replace(case, flows=flows)
    (flow,) = flows
    first, second = flow.others[0]
    others = tuple((replace(first, host=host), replace(second, host=host)) for host in hosts[1:])
    return with_sizes(replace(case, flows=with_ranks_of_hosts((replace(flow, others=others),))))


def refusal_of_all(case: Case, hosts: int, topology: Topology, capabilities: Capabilities) -> str | None:
    """Returns why hosts cannot measure the case of a template; None if they can."""
    if INTERFACES[case.interface].library == "direct":
        return "direct collectives are of GPUs that have peer access, within one host"
    if case.launch != LAUNCH.default:
        return f"launch = {case.launch} is of the ranks of one process, and each host has its own"
    if case.transport in OF_PEERS:
        return f"transport {case.transport} opens memory of neighbours, within one host"
    if case.pattern in APPLICATIONS:
        try:
            columns_of(hosts, case.options)
        except ValueError as error:
            return str(error).replace("ranks", "hosts", 1)
        case = replace(case, options={name: one for name, one in case.options.items() if name != "columns"})
    return refusal(with_sizes(case), topology, capabilities)


def _rank(sweep: Sweep, topology: Topology) -> Rank:
    """Returns the rank of any host: the first GPU and the first NUMA domain that the sweep names, or those
    nearest to each other.
    """
    globs = (*sweep.sources, *sweep.destinations)

    def named(kind: str) -> list[str]:
        return [
            name for name in topology.names(kind) if any(fnmatchcase(name, glob.device) for glob in globs)
        ]

    gpus, cpus = named("gpu") or list(topology.names("gpu")), named("cpu")
    gpu = gpus[0] if gpus else None
    near = topology.nearest_cpu(gpu) if gpu else topology.names("cpu")[0]
    cpu = near if near in cpus or not cpus else cpus[0]
    return Rank(0, cpu, gpu, tuple(topology.device(cpu).cores))


def _placed(flow: Flow) -> Flow:
    """Returns the flow of two ranks with the places of two hosts."""
    return on_hosts(flow, lambda end: replace(end, host=SECOND if end.rank else FIRST))
