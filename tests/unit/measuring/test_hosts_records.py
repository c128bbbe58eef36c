"""What records of many ranks on many hosts say and take on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from byteways.measuring.conduct.journal import entry_of
from byteways.measuring.hosts.facts import ends_of
from byteways.measuring.hosts.measuring import HostMeasurer
from byteways.measuring.hosts.recording import measured_between_hosts
from byteways.plan.hosts.names import Host
from byteways.plan.hosts.plan import HostsPlan, make_hosts_plan
from byteways.plan.hosts.rule import PairRule
from byteways.record.stragglers import NO_CPU, STANDS_OUT, stragglers
from tests.unit import planning
from tests.unit.measuring.test_hosts_conductor import ALLREDUCE, OUTCOME, SUITE


class Ranks(HostMeasurer):
    """A rank that has measured with others on these hosts; it has no session."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = tuple(hosts)


@dataclass(frozen=True)
class Offset:
    """A `_core.ClockOffset`, which only the core makes."""

    offset_ns: float
    uncertainty_ns: float


def offsets(uncertainties_ns: Sequence[float]) -> Any:
    return [Offset(1e12 + at, ns) for at, ns in enumerate(uncertainties_ns)]


def outcome_of(
    hosts: Sequence[str], uncertainties_ns: Sequence[float], end: dict[str, Any]
) -> dict[str, Any]:
    """An allreduce of one rank on each host as the ranks send it."""
    ranks = [
        {"rank": rank, "begin_ns": 9e4 + rank, "end_ns": 9e4, "begins_last": 0.125, "no_cpu": 0.0125}
        for rank in range(len(hosts))
    ]
    outcome = {**OUTCOME, "ranks": ranks, "batch": 1, "warnings": [], "hosts": dict.fromkeys(hosts, end)}
    before, after = (offsets(uncertainties_ns), 1e9), (offsets(uncertainties_ns), 2e9)
    Ranks(hosts)._add_clocks(outcome, before, after)
    return outcome


def plan_of(count: int, *sweeps: str, each: int = 1) -> HostsPlan:
    hosts = [Host(f"nid{number:05}") for number in range(count)]
    suite = planning.suite(*sweeps)
    return make_hosts_plan(suite, hosts, PairRule(), *planning.two_cores, ranks_per_host=each)


@pytest.mark.parametrize("count", [4, 64, 1000])
def test_the_disk_that_records_of_many_ranks_take(count: int) -> None:
    """Catches an estimate for which the record of a thousand ranks is one of two."""
    plan = plan_of(count, ALLREDUCE)
    topology, _ = planning.two_cores
    (template,) = plan.of_all
    planned = plan.planned(template, tuple(range(count)), 0)
    outcome = outcome_of(planned.case.hosts, [1234.5] * count, ends_of(topology, "cpu0"))
    entry = entry_of(*measured_between_hosts(planned, outcome, 7, None, started_at="now", wall_s=1.5))
    written = len(entry.line) + len(entry.samples_line)
    estimate = plan.disk_bytes(lambda name: len(json.dumps(ends_of(topology, name))))
    assert written <= estimate
    if count == 1000:
        assert estimate < 1.3 * written


def test_estimates_grow_with_hosts_and_ranks() -> None:
    """Catches time and disk of all hosts that are those of two, and ranks of a host that cost nothing."""
    few, many, several = plan_of(100, ALLREDUCE), plan_of(10_000, ALLREDUCE), plan_of(100, ALLREDUCE, each=4)
    assert many.disk_bytes(lambda _: 100) > 80 * few.disk_bytes(lambda _: 100)
    assert several.disk_bytes(lambda _: 100) > 2 * few.disk_bytes(lambda _: 100)
    (template,) = many.of_all
    # 80 round trips with each of 9,999 hosts, one after the other, at 10 µs at the least
    assert many.exchange_s(template) > 80 * 9_999 * 10e-6
    assert several.exchange_s(several.of_all[0]) > 3 * few.exchange_s(template)
    pairs = plan_of(100, SUITE)
    assert pairs.exchange_s(pairs.of_pairs[0]) < few.exchange_s(template) / 2


@settings(max_examples=100, deadline=None)
@given(doubts_ns=some.lists(some.sampled_from([1.0, 50.0, 300.0, 4e4]), min_size=2, max_size=8))
def test_a_delay_is_doubted_by_two_clocks(doubts_ns: list[float]) -> None:
    """Catches a delay for which the clock of the rank itself counts twice, or the worst of the others not."""
    hosts = [f"n{number}" for number in range(len(doubts_ns))]
    outcome = outcome_of(hosts, doubts_ns, {"device": "cpu0"})
    for place, rank in enumerate(outcome["ranks"]):
        doubt_ns = doubts_ns[place] + max(doubts_ns[:place] + doubts_ns[place + 1 :])
        assert rank["begin_ns"] == pytest.approx(max(0.0, 9e4 + place - doubt_ns))
        assert rank["host"] == hosts[place]


@settings(max_examples=200, deadline=None)
@given(shares=some.lists(some.sampled_from([0.0, 0.01, 0.05, 0.06, 0.1, 0.11, 0.2]), min_size=2, max_size=9))
def test_a_straggler_stands_out_from_all_others(shares: list[float]) -> None:
    """Catches a rank that is compared with itself, and a median of the wrong ranks."""
    ranks = [
        {"rank": rank, "begin_ns": 0.0, "begins_last": 0.0, "no_cpu": share}
        for rank, share in enumerate(shares)
    ]
    wanted = [
        rank
        for rank, share in enumerate(shares)
        if share >= NO_CPU and share >= STANDS_OUT * median(shares[:rank] + shares[rank + 1 :])
    ]
    assert [one.rank for one in stragglers(ranks, 1e6)] == wanted
