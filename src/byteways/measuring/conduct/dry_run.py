"""What a run would measure and how its ranks would start, found out without measuring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from byteways.base.errors import BytewaysError
from byteways.machine.model import Capabilities, Topology
from byteways.machine.unusable_gpus import unusable_here
from byteways.measuring.conduct.execution import plan_of
from byteways.measuring.conduct.opening import topology_of
from byteways.measuring.conduct.probe import probe
from byteways.measuring.conduct.rank_checks import doubts_about_ranks
from byteways.measuring.conduct.simulation import Simulation
from byteways.measuring.shared.launchers import NO_LAUNCHER, check_launcher, job_for
from byteways.measuring.shared.options import RunOptions
from byteways.plan.planner import Plan
from byteways.plan.suite_types import Suite
from byteways.record.unusable_gpus import verdict_on_gpus

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class DryRun:
    """What a run would measure, and how its ranks would start."""

    plan: Plan
    launch: str = ""  # the launcher's line; empty: no launcher starts ranks
    doubts: tuple[str, ...] = ()  # see rank_checks.doubts_about_ranks()

    @classmethod
    def of(
        cls,
        plan: Plan,
        options: RunOptions,
        topology: Topology,
        capabilities: Capabilities,
        *,
        simulated: bool,
    ) -> Self:
        """Raises BytewaysError if the user's launcher is none; a host may yet find its own."""
        try:
            job = job_for(plan.cases, options, topology, capabilities, simulated=simulated)
        except BytewaysError as error:
            if options.launcher is not None:
                raise
            return cls(plan, f"none ({error.what}; {error.hint})")
        if job is None:
            return cls(plan)
        launch = "" if job.launcher is NO_LAUNCHER else job.line()
        return cls(plan, launch, tuple(doubts_about_ranks(job, plan.cases, topology, options.ranks)))


def dry_plan(
    suite: Suite,
    options: RunOptions,
    command: Sequence[str] | None = None,
    simulation: Simulation | None = None,
    on_sweep: Callable[[int, int], None] = lambda done, cases: None,
) -> DryRun:
    """Returns the plan of a run. Raises BytewaysError if the machine cannot be probed, and as DryRun.of()."""
    check_launcher(options, simulated=simulation is not None)
    probed = simulation.probe(command) if simulation else probe(command, launcher=options.launcher)
    topology, simulated = topology_of(probed, simulation), simulation is not None
    plan = plan_of(options.applied(suite), topology, probed, options, simulated, on_sweep)
    if simulation is not None:
        job = job_for(plan.cases, options, topology, probed.capabilities, simulated=True)
        simulation.check_ranks(job.ranks if job else 0)
    dry = DryRun.of(plan, options, topology, probed.capabilities, simulated=simulated)
    unusable = [] if simulated else unusable_here(probed.capabilities.devices, probed.libraries)
    verdict = verdict_on_gpus({"unusable_gpus": unusable})
    return replace(dry, doubts=(verdict, *dry.doubts)) if verdict else dry
