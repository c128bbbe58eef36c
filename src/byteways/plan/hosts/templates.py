"""The cases between hosts: messages that every pair of hosts measures, and operations of all hosts, both with
places for two hosts (pure).

All hosts are taken to have the devices of the one where byteways was started; hosts that lack one say so in
their record.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from byteways.cases.case import OF_ALL_RANKS, Buffer, Case, Flow, with_ranks_of_hosts
from byteways.cases.interfaces import INTERFACES, MULTI_PAIR, metric_of
from byteways.cases.memory import MEMORIES, OWNERS
from byteways.cases.options import LAUNCH, RANK_ORDER
from byteways.machine.model import Topology
from byteways.machine.nics import nic_class
from byteways.plan import bounds
from byteways.plan.hosts.all_hosts import is_of_all, of_group, templates_of_all
from byteways.plan.hosts.places import FIRST_HOST, SECOND_HOST
from byteways.plan.legality import kind_of
from byteways.plan.ranks import Rank
from byteways.plan.suite_types import Suite, Sweep
from byteways.plan.suite_values import BufferGlob
from byteways.plan.sweep import Expansion, between_ranks, cases_of

#: Patterns between two ranks; others need all of them.
PAIR_PATTERNS = ("unidirectional", "bidirectional")


def is_for_hosts(suite: Suite) -> bool:
    """Whether most sweeps of a suite have cases between hosts."""
    fitting = [sweep for sweep in suite.sweeps if _has_cases_between_hosts(sweep)]
    return 2 * len(fitting) > len(suite.sweeps)


def _has_cases_between_hosts(sweep: Sweep) -> bool:
    """Whether its ranks are processes that meet by a library and not in a pattern of one host."""
    of_library = any(INTERFACES[interface].library != "direct" for interface in sweep.interfaces)
    processes = {*sweep.options.get(LAUNCH.name, (LAUNCH.default,))} == {LAUNCH.default}
    met = {*PAIR_PATTERNS, *OF_ALL_RANKS} - {MULTI_PAIR}
    return between_ranks(sweep) and of_library and processes and bool(met & {*sweep.patterns})


def templates(sweep: Sweep, topology: Topology, notes: list[str], ranks: Sequence[Rank] = ()) -> list[Case]:
    """Returns the cases of a sweep for one pair of hosts, and those for all hosts together.

    Messages in one direction are measured in both, one after the other; a round trip once.

    Args:
        sweep: Any sweep.
        topology: Of the host where byteways was started.
        notes: Receives the reasons for fewer cases than expected.
        ranks: The ranks of each host; empty: one, which uses all devices.
    """
    if not _applies(sweep, topology, notes):
        return []
    if RANK_ORDER.name in sweep.options:
        order = "its ranks in the order of its GPUs" if ranks else "one rank"
        notes.append(f"sweep '{sweep.name}': each host has {order}, so {RANK_ORDER.name} has no effect")
        options = {name: values for name, values in sweep.options.items() if name != RANK_ORDER.name}
        sweep = sweep.replaced(options=options)
    cases: dict[str, Case] = {}
    for case in templates_of_all(sweep, topology, notes, ranks):
        cases.setdefault(case.case_id, case)
    for pattern in sweep.patterns:
        if pattern not in PAIR_PATTERNS:
            continue
        ends = list(_ends(sweep, topology))
        most = (len(cases) + 2 * len(ends) * len(sweep.interfaces)) * bounds.choices(sweep)
        bounds.within(most, f"{sweep.origin.at('name')}: sweep '{sweep.name}'")
        for (source, destination), interface in itertools.product(ends, sweep.interfaces):
            for flows in _flows(pattern, interface, source, destination):
                for case in cases_of(sweep, pattern, interface, flows, topology):
                    cases.setdefault(case.case_id, case)
    if not cases and not notes:
        notes.append(f"sweep '{sweep.name}': no device matches its 'source' and 'destination'")
    return list(cases.values())


def between_hosts(sweep: Sweep, topology: Topology) -> Expansion:
    """Returns the cases of a sweep for every two hosts of a simulated machine, and for all of them."""
    notes: list[str] = []
    found = templates(sweep, topology, notes)
    of_all = [case for case in found if is_of_all(case)]
    pairs = itertools.combinations(topology.hosts, 2)
    cases = [of_group(case, pair) for pair in pairs for case in found if not is_of_all(case)]
    return Expansion((*cases, *(of_group(case, topology.hosts) for case in of_all)), tuple(notes))


def _applies(sweep: Sweep, topology: Topology, notes: list[str]) -> bool:
    has_gpu = bool(topology.names("gpu"))
    if sweep.when != "always" and has_gpu == (sweep.when == "without-gpu"):
        return False  # the suite itself says so: no note
    if not between_ranks(sweep):
        notes.append(f"sweep '{sweep.name}' is within a host")
        return False
    return True


def _ends(sweep: Sweep, topology: Topology) -> Iterator[tuple[Buffer, Buffer]]:
    """Yields (source, destination): every two devices, or one pair per class of ways to the nearest NIC."""
    known: set[tuple[str, ...]] = set()
    ends = itertools.product(
        _buffers(sweep.sources, topology, FIRST_HOST), _buffers(sweep.destinations, topology, SECOND_HOST)
    )
    for source, destination in ends:
        kind = (
            *(nic_class(topology, end.device) for end in (source, destination)),
            *(end.memory for end in (source, destination)),
        )
        if sweep.pairs == "per-link-class" and kind in known:
            continue
        known.add(kind)
        yield source, destination


def _buffers(globs: tuple[BufferGlob, ...], topology: Topology, host: str) -> list[Buffer]:
    found: dict[Buffer, None] = {}
    for glob, device, memory in itertools.product(globs, topology.names(), MEMORIES):
        matches = fnmatchcase(device, glob.device) and fnmatchcase(memory, glob.memory)
        if matches and kind_of(device) in OWNERS[memory]:
            found[Buffer(device, memory, host=host)] = None
    return list(found)


def _flows(pattern: str, interface: str, source: Buffer, destination: Buffer) -> Iterator[tuple[Flow, ...]]:
    there = Flow(source, destination, source.device)
    back = Flow(
        replace(source, host=SECOND_HOST), replace(destination, host=FIRST_HOST), source.device
    )  # the same memories and devices, in the other direction
    if pattern == "bidirectional":
        yield with_ranks_of_hosts((there, back))
        return
    yield with_ranks_of_hosts((there,))
    if metric_of(interface) == "bandwidth":
        yield with_ranks_of_hosts((back,))
