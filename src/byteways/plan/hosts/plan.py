"""The plan of a run between hosts: the cases of one pair and of all hosts together, and the rule that says
which pairs meet (pure).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from byteways.base.errors import BytewaysError
from byteways.cases.case import Case, PlannedCase
from byteways.machine.model import Capabilities, Topology
from byteways.plan.estimate import Estimator
from byteways.plan.filters import only_filter, sizes_filter
from byteways.plan.hosts.all_hosts import is_of_all, of_group, refusal_of_all
from byteways.plan.hosts.names import Host
from byteways.plan.hosts.places import RankOfHost, seats_of, within_one_host
from byteways.plan.hosts.rule import HostGroup, Meetings, PairRule, Tournament
from byteways.plan.hosts.templates import templates
from byteways.plan.legality import broken_rule
from byteways.plan.rank_sweep import with_sizes
from byteways.plan.ranks import layout
from byteways.plan.requested_sizes import sweeps_of_requested_sizes
from byteways.plan.suite_types import Suite
from byteways.plan.unmatched import nothing_matches

#: Starting the ranks of all hosts once: a rough value, for the estimate only.
RANKS_START_S, HOST_START_S = 5.0, 0.01
#: Telling all ranks of a case and collecting what they found.
EXCHANGE_S = 0.02
#: For each rank of an operation of all hosts: 40 round trips before it and after it estimate its clock
#: (measuring/hosts/measuring.py), with 20 µs each (assumed: TCP; fast networks take less); writing and reading what
#: it says of itself takes 0.1 ms (measured with 10,000 ranks).
RANK_S = 2 * 40 * 20e-6 + 1e-4
#: Bytes of a record and its samples on disk, about; and those of each rank of an operation of all hosts: its
#: buffers, delays and clock. What says which device a host has comes on top: HostsPlan.disk_bytes().
RECORD_BYTES, RANK_BYTES = 6000, 280


@dataclass(frozen=True)
class HostsPlan:
    """What pairs and what all hosts measure (`cases`, with places for two hosts), and when they meet."""

    suite: Suite
    hosts: tuple[Host, ...]
    rule: PairRule
    cases: tuple[PlannedCase, ...]
    notes: tuple[str, ...]
    ranks_of_host: tuple[RankOfHost, ...] = ()  # empty: one, which uses all devices of its host

    @property
    def ranks_per_host(self) -> int:
        return len(self.ranks_of_host) or 1

    @property
    def tournament(self) -> Tournament:
        return Tournament(self.hosts, self.rule)

    @cached_property
    def of_pairs(self) -> tuple[PlannedCase, ...]:
        """The cases that every pair measures."""
        return tuple(planned for planned in self.cases if not is_of_all(planned.case))

    @cached_property
    def of_all(self) -> tuple[PlannedCase, ...]:
        """The cases that all hosts measure together."""
        return tuple(planned for planned in self.cases if is_of_all(planned.case))

    @property
    def records(self) -> int:
        """Records of the whole run: one for each pair or for all hosts, case and round of the suite."""
        return (self.tournament.pairs * len(self.of_pairs) + len(self.of_all)) * self.suite.rounds

    def seats(self, template: PlannedCase) -> int:
        """Returns how many ranks of each host take part in a case of all hosts."""
        return len(seats_of(template.case, self.ranks_of_host))

    def exchange_s(self, template: PlannedCase) -> float:
        """Returns the seconds of a case beside its measurement: the ranks are told of it, estimate their
        clocks, and say what they found.
        """
        ranks = len(self.hosts) * self.seats(template) if is_of_all(template.case) else 2
        return EXCHANGE_S + RANK_S * ranks

    @property
    def estimated_s(self) -> float:
        """Wall time of the whole run; pairs of a round measure at the same time."""
        pair_s, all_s = (
            sum(planned.estimated_s + self.exchange_s(planned) for planned in cases)
            for cases in (self.of_pairs, self.of_all)
        )
        start_s = RANKS_START_S + HOST_START_S * len(self.hosts)
        return start_s + self.suite.rounds * (self.tournament.rounds * pair_s + all_s)

    def disk_bytes(self, end_bytes: Callable[[str], int]) -> int:
        """Returns the bytes of all records and their samples.

        Args:
            end_bytes: Of what a record says of a device of a host (measuring/hosts/facts.py), by its name.
        """
        of_all = 0
        for planned in self.of_all:
            seats = seats_of(planned.case, self.ranks_of_host)
            told = sum(end_bytes(device) for device in {device for _, device in seats})
            of_all += RECORD_BYTES + len(self.hosts) * (RANK_BYTES * len(seats) + told)
        of_pairs = self.tournament.pairs * len(self.of_pairs) * RECORD_BYTES
        return self.suite.rounds * (of_pairs + of_all)

    def meetings(self) -> Iterator[Meetings]:
        """Yields all rounds of the tournament and then all hosts together, once for each round of the suite,
        as far as there are cases.
        """
        everyone = tuple(range(len(self.hosts)))
        for round_ in range(self.suite.rounds):
            if self.of_pairs:
                yield from self.tournament.meetings(round_)
            if self.of_all:
                yield Meetings(round_, self.tournament.rounds, (everyone,))

    def is_together(self, met: Meetings) -> bool:
        """Whether all hosts meet, and not pairs of them."""
        return met.number == self.tournament.rounds

    def order(self, met: Meetings) -> list[PlannedCase]:
        """Returns the cases of a meeting: shuffled, cases of one environment together."""
        shuffled = list(self.of_all if self.is_together(met) else self.of_pairs)
        random.Random(f"{self.suite.name} {met.round} {met.number}").shuffle(shuffled)
        return sorted(shuffled, key=lambda planned: sorted(planned.case.environment.items()))

    def planned(self, template: PlannedCase, group: HostGroup, round_: int) -> PlannedCase:
        """Returns a case of some hosts in a round of the suite."""
        names = [self.hosts[number].name for number in group]
        return replace(template, case=of_group(template.case, names), round=round_)


def make_hosts_plan(
    suite: Suite,
    hosts: Sequence[Host],
    rule: PairRule,
    topology: Topology,
    capabilities: Capabilities,
    *,
    only: Sequence[str] = (),
    sizes: str | None = None,
    ranks_per_host: int = 1,
) -> HostsPlan:
    """Plans a suite between hosts.

    Args:
        suite: The suite; only its sweeps between ranks apply.
        hosts: At least two.
        rule: Which pairs meet.
        topology: Of the host where byteways was started; the others are taken to be alike.
        capabilities: What its runtimes offer.
        only: `--only` filters; alternatives.
        sizes: `--size` filter.
        ranks_per_host: Ranks on each host, with a GPU each as far as there are enough.

    Raises:
        BytewaysError: A filter is malformed or matches nothing, or no sweep applies.
    """
    lets_through, right_size = only_filter(only), sizes_filter(sizes)
    notes: list[str] = []
    reasons: dict[str, int] = {}
    asked: list[tuple[Case, str]] = []
    found: dict[str, PlannedCase] = {}  # by the case as all hosts measure it: small sizes may become one
    estimator = Estimator(topology, capabilities)
    ranks = layout(topology, ranks_per_host) if ranks_per_host > 1 else ()
    expanded = [(sweep, templates(sweep, topology, notes, ranks)) for sweep in suite.sweeps]
    more = sweeps_of_requested_sizes(sizes, expanded, lets_through).values()
    expanded += [(sweep, templates(sweep, topology, [], ranks)) for sweep in more]
    for sweep, cases in expanded:
        for case in cases:
            asked.append((case, sweep.name))
            if not lets_through(case, sweep.name) or not right_size(case.size_bytes):
                continue
            if is_of_all(case):
                refused = refusal_of_all(case, len(hosts), topology, capabilities, ranks_per_host)
            else:
                refused = broken_rule(case, topology, capabilities)
            if refused:
                reasons[refused.text] = reasons.get(refused.text, 0) + 1
                continue
            local = within_one_host(with_sizes(case))
            seconds = estimator.case_s(local, sweep.case_budget_s, suite.rounds)
            seconds += sum(estimator.allocation_s(end, case.size_bytes) for end in local.flows[0].buffers)
            sized = case
            if is_of_all(case):
                sized = with_sizes(case, len(hosts) * len(case.ranks) // 2)
            found.setdefault(
                sized.case_id,
                PlannedCase(
                    case,
                    sweep.name,
                    0,
                    sweep.case_budget_s / suite.rounds,
                    sweep.precision,
                    estimated_s=seconds,
                    rounds=suite.rounds,
                ),
            )
    if asked and not found and not reasons:
        raise nothing_matches(asked, only, sizes)
    notes += [f"{_cases(count)} cannot run between hosts: {reason}" for reason, count in reasons.items()]
    if not found:
        raise BytewaysError(
            f"suite '{suite.name}' has no case between hosts",
            cause="; ".join(notes) or "it has no sweep of messages between ranks",
            hint=f"byteways run mpi --hosts FILE; without it, byteways run {suite.name} measures one host",
        )
    each = tuple(RankOfHost.of(rank) for rank in ranks)
    return HostsPlan(suite, tuple(hosts), rule, tuple(found.values()), tuple(notes), each)


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"
