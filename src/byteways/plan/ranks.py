"""Where the processes of a run are: the NUMA domain, cores and GPU of each rank (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from byteways.topology.model import Topology

#: Ranks of a run without GPUs when nobody says how many.
DEFAULT_RANKS = 2
#: Beyond this, planning all ordered pairs takes long, and one host has no use for it.
MOST_RANKS = 256


@dataclass(frozen=True)
class Rank:
    """One process: its number, NUMA domain, GPU and logical CPUs."""

    number: int
    cpu: str
    gpu: str | None  # None: more ranks than GPUs
    cores: tuple[int, ...]  # empty: more ranks than cores, so that they share all of the domain's

    def device(self, kind: str) -> str | None:
        """Its NUMA domain for 'cpu', its GPU for 'gpu'."""
        return self.cpu if kind == "cpu" else self.gpu


def default_ranks(topology: Topology) -> int:
    """One rank for each GPU, and at least two."""
    return max(DEFAULT_RANKS, len(topology.names("gpu")))


def layout(topology: Topology, count: int) -> tuple[Rank, ...]:
    """Places `count` ranks: one GPU each as far as there are, the NUMA domain next to it, cores of their own.

    Ranks without a GPU go over the NUMA domains in turn. The cores of a domain are divided evenly among its
    ranks; where it has fewer than ranks, its ranks share all of them.
    """
    from byteways.plan.sweep import nearest_cpu  # which imports this module's users

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
    """Whether some ranks have no core of their own: they wait for each other's time slices."""
    return any(not rank.cores for rank in ranks)
