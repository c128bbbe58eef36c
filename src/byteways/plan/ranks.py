"""Placement of ranks: NUMA domain, cores and GPU of each, in one of several orders (pure)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from byteways.cases.options import RANK_ORDERS
from byteways.machine.model import Topology
from byteways.machine.packages import packed, spread

#: Default number of ranks in a run without GPUs.
DEFAULT_RANKS = 2
#: Upper limit: planning all ordered pairs takes long, and one host needs no more.
MOST_RANKS = 256
#: The order without which a case is the default one: rank 0 has the first GPU, rank 1 the second.
BY_DEVICE = RANK_ORDERS[0]
#: An order that names each rank's device by its number.
_NUMBERS = re.compile(r"^\d+(,\d+)+$")


@dataclass(frozen=True)
class Rank:
    """One process: rank number, NUMA domain, GPU and logical CPUs."""

    number: int
    cpu: str
    gpu: str | None  # None: there are more ranks than GPUs
    cores: tuple[int, ...]  # empty: more ranks than cores, which share all cores of the domain
    #: The rank that has the same GPU; this one only exchanges messages with it. None: an ordinary rank.
    twin_of: int | None = None

    def device(self, kind: str) -> str | None:
        """Returns its NUMA domain for 'cpu', its GPU for 'gpu'."""
        return self.cpu if kind == "cpu" else self.gpu


def default_ranks(topology: Topology) -> int:
    """Returns one rank per GPU, at least two."""
    return max(DEFAULT_RANKS, len(topology.names("gpu")))


def twins_of(topology: Topology, count: int) -> int:
    """Returns how many of `count` ranks have a GPU, so that a second rank can share it."""
    return min(count, len(topology.names("gpu")))


def layout(
    topology: Topology, count: int, order: str = BY_DEVICE, *, twins: bool = False
) -> tuple[Rank, ...]:
    """Places `count` ranks: one GPU each while available, the nearest NUMA domain, separate cores.

    Ranks without a GPU are distributed over the NUMA domains. The cores of a domain are divided evenly among
    its ranks; if there are fewer cores than ranks, the ranks share all of them.

    Args:
        topology: The machine.
        count: Number of ranks, twins not counted.
        order: An element of ORDERS, or the number of each rank's GPU (without GPUs: NUMA domain): "2,3,0,1".
        twins: Whether each rank with a GPU gets a twin: a further rank on the same GPU, numbered behind the
            others.

    Raises:
        ValueError: order_mistake() tells why.
    """
    if mistake := order_mistake(topology, count, order):
        raise ValueError(mistake)
    gpus, homes = _devices(topology, count, order)
    shared = range(len(gpus)) if twins else range(0)
    homes += [homes[number] for number in shared]
    placed: list[str | None] = [*gpus, *[None] * (count - len(gpus)), *(gpus[number] for number in shared)]
    ranks = []
    for number, (cpu, gpu) in enumerate(zip(homes, placed, strict=True)):
        cores = topology.device(cpu).cores
        each = len(cores) // homes.count(cpu)
        at = each * homes[:number].count(cpu)
        twin_of = number - count if number >= count else None
        ranks.append(Rank(number, cpu, gpu, tuple(cores[at : at + each]), twin_of))
    return tuple(ranks)


def order_mistake(topology: Topology, count: int, order: str) -> str | None:
    """Returns why the ranks cannot be placed in this order on this machine; None if they can."""
    if not _NUMBERS.match(order):
        return None
    kind = "gpu" if topology.names("gpu") else "cpu"
    here = topology.names("gpu") or topology.with_cores()
    named = [f"{kind}{number}" for number in order.split(",")]
    for name in named:
        if name not in here:
            return f"rank_order '{order}': this machine has no {name}"
        if kind == "gpu" and named.count(name) > 1:
            return f"rank_order '{order}' gives {name} to {named.count(name)} ranks"
    needed = min(count, len(here)) if kind == "gpu" else count
    if len(named) < needed:
        return f"rank_order '{order}' places {len(named)} of {needed} ranks"
    return None


def oversubscribed(ranks: tuple[Rank, ...]) -> bool:
    """Whether some ranks have no core of their own and must wait for time slices."""
    return any(not rank.cores for rank in ranks)


def _devices(topology: Topology, count: int, order: str) -> tuple[list[str], list[str]]:
    """Returns the GPUs of the first ranks, and the NUMA domain of every rank."""
    gpus = _in_order(topology, order)[:count]
    homes = [topology.nearest_cpu(gpu) for gpu in gpus]
    domains = _domains(topology, count, BY_DEVICE if gpus else order)
    return gpus, [*homes, *domains[len(homes) :]]


def _in_order(topology: Topology, order: str) -> list[str]:
    """Returns the GPUs in the order of the ranks that have them."""
    if order == "packed":
        return packed(topology)
    if order == "spread":
        return spread(topology)
    gpus = [*topology.names("gpu")]
    if order == "reversed":
        return gpus[::-1]
    if order == BY_DEVICE or not gpus:
        return gpus
    return [f"gpu{number}" for number in order.split(",")]


def _domains(topology: Topology, count: int, order: str) -> list[str]:
    """Returns the NUMA domain of each rank without a GPU: one domain after the other, each with one rank."""
    cpus = topology.with_cores()
    if order == "packed":
        slots = [cpu for cpu in cpus for _ in topology.device(cpu).cores] or cpus
        return _cycled(slots, count)
    if order == "reversed":
        return _cycled(cpus[::-1], count)
    if order in (BY_DEVICE, "spread"):
        return _cycled(cpus, count)
    return [f"cpu{number}" for number in order.split(",")][:count]


def _cycled(names: Sequence[str], count: int) -> list[str]:
    return [names[number % len(names)] for number in range(count)]
