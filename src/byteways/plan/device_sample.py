"""The devices of a large machine that stand for all: with 64 GPUs there are 4032 ordered pairs (pure).

Beyond MOST_DEVICES of a kind, globs of suites mean a sample: devices among which every class of links between
two GPUs, and between a GPU and its NUMA domain, has a pair. It depends on the machine and the seed alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from byteways.machine.model import Topology
from byteways.machine.routes import link_class
from byteways.plan.suite_types import Suite, Sweep
from byteways.plan.suite_values import BufferGlob

#: Up to this number of GPUs, and of CPU devices, all are taken: 16 GPUs have 240 ordered pairs.
ALL_UP_TO_DEVICES = 16
#: Of the sample; any other would do as well.
SEED = 0
#: The option that takes all devices.
OPTION = "--all-devices"
_NAME = re.compile(r"\b(?:gpu|cpu)[0-9]+\b")


@dataclass(frozen=True)
class DeviceSample:
    """What globs of device names mean in a plan."""

    devices: tuple[str, ...]
    gpus: int  # of the machine
    cpus: int
    classes: tuple[str, ...]  # of links between the sampled devices
    left_out: tuple[str, ...]  # classes of links of the machine that no two sampled devices have
    seed: int = SEED
    option: str = OPTION  # that takes all

    @property
    def opened_gpus(self) -> int:
        """Number of GPUs that workers open."""
        return sum(name.startswith("gpu") for name in self.devices)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def note(self) -> str:
        """Returns the sentence for the plan."""
        taken = [sum(name.startswith(kind) for name in self.devices) for kind in ("gpu", "cpu")]
        counts = [
            f"{some} of {total} {word}"
            for some, total, word in zip(taken, (self.gpus, self.cpus), ("GPUs", "NUMA domains"), strict=True)
            if some < total
        ]
        missed = f"; without {', '.join(self.left_out)}" if self.left_out else ""
        classes = "class" if len(self.classes) == 1 else "classes"
        return (
            f"{' and '.join(counts)} are sampled, with {len(self.classes)} {classes} of links"
            f" (seed {self.seed}){missed}; {self.option} takes all"
        )


def sample_for(
    suite: Suite, topology: Topology, only: Sequence[str] = (), seed: int = SEED
) -> DeviceSample | None:
    """Returns the sample for a suite on a machine; None if all devices are taken.

    Args:
        suite: Devices that it names are in the sample.
        topology: The machine.
        only: `--only` filters; devices that they name are in the sample.
        seed: Chooses among equal devices.
    """
    gpus, cpus = topology.names("gpu"), topology.names("cpu")
    if max(len(gpus), len(cpus)) <= ALL_UP_TO_DEVICES:
        return None
    named = _named(suite, only)
    some_gpus = _gpus(topology, seed, [name for name in gpus if name in named])
    some_cpus = cpus
    if len(cpus) > ALL_UP_TO_DEVICES:
        near = dict.fromkeys(
            [*(name for name in cpus if name in named), *map(topology.nearest_cpu, some_gpus)]
        )
        rest = [name for name in topology.with_cores() if name not in near]
        random.Random(seed).shuffle(rest)
        some_cpus = [*near, *rest[: max(0, ALL_UP_TO_DEVICES - len(near))]]
    chosen = {*some_gpus, *some_cpus}
    devices = tuple(name for name in topology.names() if name in chosen)
    classes = _classes(topology, some_gpus)
    left_out = _classes(topology, gpus) - classes
    return DeviceSample(devices, len(gpus), len(cpus), tuple(sorted(classes)), tuple(sorted(left_out)), seed)


def _classes(topology: Topology, gpus: Sequence[str]) -> set[str]:
    found = {link_class(topology, a, b) for a, b in combinations(gpus, 2)}
    return found | {link_class(topology, gpu, topology.nearest_cpu(gpu)) for gpu in gpus}


def _gpus(topology: Topology, seed: int, kept: list[str]) -> list[str]:
    """Returns the sampled GPUs: a pair of each class, the rarest first, then one of each NUMA domain."""
    gpus = topology.names("gpu")
    if len(gpus) <= ALL_UP_TO_DEVICES:
        return gpus
    order = random.Random(seed).sample(gpus, len(gpus))
    pairs: dict[str, list[tuple[str, ...]]] = {}
    for a, b in combinations(order, 2):
        pairs.setdefault(link_class(topology, a, b), []).append((a, b))
    for gpu in order:
        pairs.setdefault(link_class(topology, gpu, topology.nearest_cpu(gpu)), []).append((gpu,))
    # The first GPU is always there: runtimes try what they offer on it.
    chosen = dict.fromkeys([gpus[0], *kept])

    def take(names: Iterable[str]) -> None:
        wanted = [name for name in names if name not in chosen]
        if len(chosen) + len(wanted) <= max(ALL_UP_TO_DEVICES, len(kept) + 1):
            chosen.update(dict.fromkeys(wanted))

    for name in sorted(pairs, key=lambda name: (len(pairs[name]), name)):
        take(min(pairs[name], key=lambda pair: sum(one not in chosen for one in pair)))
    homes = {topology.nearest_cpu(gpu) for gpu in chosen}
    for gpu in order:
        if topology.nearest_cpu(gpu) not in homes:
            homes.add(topology.nearest_cpu(gpu))
            take([gpu])
    for gpu in order:
        take([gpu])
    return [gpu for gpu in gpus if gpu in chosen]


def _named(suite: Suite, only: Sequence[str]) -> set[str]:
    """Returns the devices that sweeps or filters name."""
    return {name for sweep in suite.sweeps for text in _texts(sweep) for name in _NAME.findall(text)} | {
        name for text in only for name in _NAME.findall(text)
    }


def _texts(sweep: Sweep) -> list[str]:
    buffers: tuple[BufferGlob, ...] = (
        *(*sweep.sources, *sweep.destinations, *sweep.second_sources),
        *(*sweep.beside_sources, *sweep.beside_destinations),
    )
    options = (str(value) for values in sweep.options.values() for value in values)
    return [
        *(buffer.text for buffer in buffers),
        *(*sweep.executors, *sweep.partners, sweep.beside_executor, *options),
    ]
