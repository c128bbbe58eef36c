"""Operations of all hosts at once: collectives and application patterns of one or more ranks on each (pure).

A template has places for two hosts, as a message has; of_group() writes it for any number of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from byteways.cases.applications import OF_PEERS, columns_of
from byteways.cases.case import OF_ALL_RANKS, Buffer, Case, Flow, on_hosts, with_ranks_of_hosts
from byteways.cases.interfaces import APPLICATIONS, INTERFACES, MULTI_PAIR
from byteways.cases.options import LAUNCH
from byteways.cases.reasons import WITHIN_HOST, Refusal
from byteways.machine.model import Capabilities, Topology
from byteways.plan.hosts.places import FIRST_HOST, SECOND_HOST
from byteways.plan.legality import broken_rule
from byteways.plan.rank_sweep import flows_of_group, takes_part, with_sizes
from byteways.plan.ranks import Rank
from byteways.plan.sweep import cases_of

if TYPE_CHECKING:
    from byteways.plan.suite_types import Sweep


def is_of_all(case: Case) -> bool:
    """Whether all hosts take part, and not a pair of them."""
    return case.pattern in OF_ALL_RANKS


def templates_of_all(
    sweep: Sweep, topology: Topology, notes: list[str], ranks: Sequence[Rank] = ()
) -> Iterator[Case]:
    """Yields the cases of a sweep that all hosts measure together: with one rank on each by the first device
    that matches, with several by those ranks that have one.

    Args:
        sweep: A sweep over ranks.
        topology: Of the host where byteways was started.
        notes: Receives the reasons for fewer cases than expected.
        ranks: The ranks of each host; empty: one, which uses all devices.
    """
    patterns = [pattern for pattern in sweep.patterns if pattern in OF_ALL_RANKS]
    if MULTI_PAIR in patterns:
        notes.append(
            f"sweep '{sweep.name}': no {MULTI_PAIR} between hosts: they are measured in pairs anyway"
        )
        patterns.remove(MULTI_PAIR)
    if patterns and sweep.groups != "all":
        notes.append(f"sweep '{sweep.name}': measured on all hosts together, not on subsets")
    each = [rank for rank in ranks if takes_part(sweep, rank)] if ranks else [_rank(sweep, topology)]
    if patterns and len(each) < len(ranks):
        notes.append(f"sweep '{sweep.name}': {len(each)} of {len(ranks)} ranks of a host have such buffers")
    group = [replace(rank, number=number) for number, rank in enumerate([*each, *each])]
    if not group:
        return
    for pattern, interface in itertools.product(patterns, sweep.interfaces):
        for (flow,) in flows_of_group(sweep, pattern, interface, group):
            yield from cases_of(sweep, pattern, interface, (_placed(flow, len(each)),), topology)


def of_group(case: Case, hosts: Sequence[str]) -> Case:
    """Returns a template's case for some hosts, in this order: a message for two, an operation of all for any
    number, with a size that it divides among them.
    """
    names = {FIRST_HOST: hosts[0], SECOND_HOST: hosts[1]}

    def named(end: Buffer) -> Buffer:
        return replace(end, host=names[end.host or ""])

    flows = tuple(on_hosts(flow, named) for flow in case.flows)
    if not is_of_all(case):
        return replace(case, flows=flows)
    (flow,) = flows
    own = [pair for pair in flow.pairs if pair[0].host == hosts[0]]  # hosts are alike
    others = [
        (replace(first, host=host), replace(second, host=host)) for host in hosts for first, second in own
    ]
    return with_sizes(replace(case, flows=with_ranks_of_hosts((replace(flow, others=tuple(others[1:])),))))


def refusal_of_all(
    case: Case, hosts: int, topology: Topology, capabilities: Capabilities, per_host: int = 1
) -> Refusal | None:
    """Returns why hosts cannot measure the case of a template with so many ranks each; None if they can."""
    if INTERFACES[case.interface].library == "direct":
        return Refusal(WITHIN_HOST, "direct collectives need peer access between GPUs, within one host")
    if case.launch != LAUNCH.default:
        text = f"launch = {case.launch} needs all ranks in one process, and each host has its own"
        return Refusal(WITHIN_HOST, text)
    if case.transport in OF_PEERS:
        return Refusal(WITHIN_HOST, f"transport {case.transport} opens memory of neighbours, within one host")
    if case.pattern in APPLICATIONS:
        try:
            columns_of(hosts * per_host, case.options)
        except ValueError as error:
            text = str(error) if per_host > 1 else str(error).replace("ranks", "hosts", 1)
            return Refusal("grid", text)
        case = replace(case, options={name: one for name, one in case.options.items() if name != "columns"})
    return broken_rule(with_sizes(case), topology, capabilities)


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


def _placed(flow: Flow, per_host: int) -> Flow:
    """Returns the flow of the ranks of two hosts with the places of these."""
    return on_hosts(
        flow, lambda end: replace(end, host=FIRST_HOST if (end.rank or 0) < per_host else SECOND_HOST)
    )
