"""The places that a template has for hosts, their ranks, and the same case within one host (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from byteways.cases.case import Case, on_hosts
from byteways.plan.ranks import Rank

#: Names that stand for the two hosts of a pair, or for the first and any other host of many.
FIRST_HOST, SECOND_HOST = "first", "second"


@dataclass(frozen=True)
class RankOfHost:
    """One of several ranks of a host: its NUMA domain and, unless there are more ranks than GPUs, its GPU."""

    cpu: str
    gpu: str | None

    @classmethod
    def of(cls, rank: Rank) -> RankOfHost:
        return cls(rank.cpu, rank.gpu)


def seats_of(case: Case, ranks: Sequence[RankOfHost]) -> list[tuple[int, str]]:
    """Returns which of a host's ranks take part in the case of a template, each with its device: of a message
    one of the first host and one of the second, otherwise those of any host.

    Args:
        case: Of a template.
        ranks: The ranks of each host; empty: one, which uses all devices.
    """
    (flow, *_) = case.flows
    if not flow.others:
        named = {end.host: end.device for end in (flow.source, flow.destination)}
        return [(_seat({named[host]}, ranks, ()), named[host]) for host in (FIRST_HOST, SECOND_HOST)]
    found: list[tuple[int, str]] = []
    for pair in flow.pairs:
        if pair[0].host == FIRST_HOST:
            devices = {end.device for end in pair}
            taken = [number for number, _ in found]
            found.append((_seat(devices, ranks, taken), pair[0].device))
    return found


def _seat(devices: set[str], ranks: Sequence[RankOfHost], taken: Sequence[int]) -> int:
    """Returns the rank that has one of the devices: a GPU, else the NUMA domain; else the first one, as any
    rank can open any device.
    """
    free = [number for number in range(len(ranks)) if number not in taken]
    with_gpu = (number for number in free if ranks[number].gpu in devices)
    near = (number for number in free if ranks[number].cpu in devices)
    return next(with_gpu, next(near, free[0] if free else 0))


def within_one_host(case: Case) -> Case:
    """Returns the same case between ranks of one host, which estimates are made for."""
    flows = tuple(on_hosts(flow, lambda end: replace(end, host=None)) for flow in case.flows)
    return replace(case, flows=flows)
