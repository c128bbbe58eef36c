"""Suites of a few lines and the machines that tests plan them for."""

from __future__ import annotations

from typing import Any

from byteways.cases.case import PlannedCase
from byteways.machine.model import Capabilities, Topology
from byteways.plan.planner import make_plan
from byteways.plan.suite import Suite, parse
from tests.unit import machines

MIB, GIB = 2**20, 2**30
Machine = tuple[Topology, Capabilities]
two_cores: Machine = machines.two_cores()
h200x4: Machine = machines.h200x4()
two_domains: Machine = machines.gpus(4, domains=2)
eight: Machine = machines.gpus(8, domains=2)
frontier: Machine = machines.frontier()
patchy: Machine = machines.gpus(
    3, without_peer=[("gpu0", "gpu1")], without_bulk=["gpu2"], pageable_access=True, linked=False
)
EVERY = {"two-cores": two_cores, "h200x4": h200x4, "two-domains": two_domains, "patchy": patchy}


def suite(*sweeps: str, head: str = "rounds = 1") -> Suite:
    """A suite of sweeps given as the lines of their tables, of one round unless `head` says otherwise."""
    tables = "".join(f'[[sweep]]\nname = "s{index}"\n{sweep}\n' for index, sweep in enumerate(sweeps))
    return parse(f'name = "mine"\ntitle = "Mine"\n{head}\n{tables}', file="my.toml")


def plan(suite: Suite, topology: Topology, capabilities: Capabilities, **options: Any) -> list[PlannedCase]:
    """The cases of make_plan(), in running order."""
    return list(make_plan(suite, topology, capabilities, **options).cases)


PAIRS = (
    'interface = "copy"\nsource = "gpu*:device"\ndestination = "gpu*:device"\nsame_device = "never"\n'
    'size = "64MiB"'
)
MEMCPY = 'interface = "memcpy"\nsource = "cpu*:pageable"\ndestination = "cpu*:pageable"\nsize = "1MiB"'
