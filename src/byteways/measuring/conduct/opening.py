"""Opens the machine of a run: the first worker probes it and then continues to measure, if it can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from byteways.machine import kfd
from byteways.machine.discovery import discover
from byteways.machine.model import Topology
from byteways.machine.nvml import Nvml
from byteways.machine.sysfs_pcie import gpu_addresses
from byteways.measuring.conduct.probe import (
    LIST,
    Probe,
    answered_probe,
    listed_devices,
    lost_probe,
    probe_with,
    request_of_probe,
    started_beside_management,
)
from byteways.measuring.conduct.process import WorkerLost, WorkerProcess
from byteways.measuring.conduct.simulation import Simulation
from byteways.plan.device_sample import ALL_UP_TO_DEVICES
from byteways.plan.probe_scope import ProbeScope
from byteways.record.run_folder import LOG

#: Returns what a plan may use of a machine whose devices have been listed.
ScopeOf = Callable[[Topology], ProbeScope]


@dataclass(frozen=True)
class Opened:
    """A real or simulated machine, as probed by its first worker."""

    worker: WorkerProcess | None  # None: it has left
    probed: Probe
    topology: Topology
    command: Sequence[str] | None  # of additional workers


def topology_of(probed: Probe, simulation: Simulation | None) -> Topology:
    """Returns the topology of this machine or of the simulated one."""
    devices = probed.capabilities.devices
    return simulation.topology(devices) if simulation else discover(devices, management=probed.management)


def many_gpus(root: Path = Path("/")) -> bool:
    """Whether this machine may have more GPUs than a plan takes; no worker is needed to see that."""
    return max(len(kfd.read(root / "sys").gpus), len(gpu_addresses(root / "sys"))) > ALL_UP_TO_DEVICES


def open_machine(
    folder: Path,
    tick: Callable[[], None],
    command: Sequence[str] | None,
    simulation: Simulation | None,
    launcher: str | None = None,
    scope: ProbeScope | ScopeOf | None = None,
) -> Opened:
    """Starts a worker and lets it probe; its output goes to the run's log.

    Args:
        folder: Of the run.
        tick: Called while waiting.
        command: The worker's command; None: from the settings.
        simulation: The simulated machine; None: this machine.
        launcher: The user's command that starts ranks, if any.
        scope: What the plan may use, which is tried, or what returns it for the devices that a worker lists;
            None: anything.

    Raises:
        BytewaysError: The worker did not survive.
        Interrupted: From `tick`.
    """
    if simulation:
        command = simulation.command(simulation.write_sheet(folder), command)
    start = partial(WorkerProcess, folder / LOG, command=command, tick=tick)
    worker: WorkerProcess | None = None
    management: Nvml | None = None
    try:
        if simulation:
            worker = start()
            tried = scope(simulation.topology()) if callable(scope) else scope
            probed = probe_with(worker, launcher, tried)
        elif callable(scope):
            worker, management = started_beside_management(start, LIST)
            tried = scope(discover(listed_devices(worker), management=management))
            probed = probe_with(worker, launcher, tried)
        else:
            worker, management = started_beside_management(start, request_of_probe(launcher, scope))
            probed = answered_probe(worker)
        probed = replace(probed, management=management)
        if probed.leaving:
            worker.stop()
            return Opened(None, probed, topology_of(probed, simulation), command)
        return Opened(worker, probed, topology_of(probed, simulation), command)
    except WorkerLost as loss:
        if worker is not None:
            worker.kill()
        raise lost_probe(loss, simulation.model.name if simulation else "") from loss
    except BaseException:
        if worker is not None:
            worker.kill()
        raise
