"""Placement of ranks: NUMA domain, cores and GPU of each (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from byteways.topology.model import Topology

#: Default number of ranks in a run without GPUs.
DEFAULT_RANKS = 2
#: Upper limit: planning all ordered pairs takes long, and one host needs no more.
MOST_RANKS = 256


@dataclass(frozen=True)
class Rank:
    """One process: rank number, NUMA domain, GPU and logical CPUs."""

    number: int
    cpu: str
    gpu: str | None  # None: there are more ranks than GPUs
    cores: tuple[int, ...]  # empty: more ranks than cores, which share all cores of the domain

    def device(self, kind: str) -> str | None:
        """Returns its NUMA domain for 'cpu', its GPU for 'gpu'."""
        return self.cpu if kind == "cpu" else self.gpu


def default_ranks(topology: Topology) -> int:
    """Returns one rank per GPU, at least two."""
    return max(DEFAULT_RANKS, len(topology.names("gpu")))


def layout(topology: Topology, count: int) -> tuple[Rank, ...]:
    """Places `count` ranks: one GPU each while available, the nearest NUMA domain, separate cores.

    Ranks without a GPU are distributed over the NUMA domains. The cores of a domain are divided evenly among
    its ranks; if there are fewer cores than ranks, the ranks share all of them.
    """
    from byteways.plan.sweep import nearest_cpu  # imported late to avoid a cycle

    gpus, cpus = topology.names("gpu"), topology.names("cpu")
    homes = [
        nearest_cpu(gpus[number], topology) if number < len(gpus) else cpus[number % len(cpus)]
        for number in range(count)
    ]
    ranks = []
    for number, cpu in enumerate(homes):
        cores = topology.device(cpu).cores
        each = len(cores) // homes.count(cpu)
        at = each * homes[:number].count(cpu)
        gpu = gpus[number] if number < len(gpus) else None
        ranks.append(Rank(number, cpu, gpu, tuple(cores[at : at + each])))
    return tuple(ranks)


def oversubscribed(ranks: tuple[Rank, ...]) -> bool:
    """Whether some ranks have no core of their own and must wait for time slices."""
    return any(not rank.cores for rank in ranks)
