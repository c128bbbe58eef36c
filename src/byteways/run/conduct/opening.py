"""Opens the machine of a run: the first worker probes it and then continues to measure, if it can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from byteways.plan.device_sample import ALL_UP_TO_DEVICES, DeviceSample
from byteways.plan.probe_scope import ProbeScope
from byteways.record.run_folder import LOG
from byteways.run.conduct.probe import Probe, lost_probe, probe_with
from byteways.run.conduct.process import WorkerLost, WorkerProcess
from byteways.run.conduct.simulation import Simulation
from byteways.topology import kfd, nvml
from byteways.topology.discovery import discover
from byteways.topology.model import Topology
from byteways.topology.nvml import Nvml
from byteways.topology.sysfs_pcie import gpu_addresses


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


def many_gpus(management: Nvml | None) -> bool:
    """Whether this machine may have more GPUs than a plan takes; no worker is needed to see that."""
    if management is None:
        return False
    shown = max(len(management.devices), len(kfd.read(Path("/sys")).gpus), len(gpu_addresses(Path("/sys"))))
    return shown > ALL_UP_TO_DEVICES


def _sampled_gpus(
    sampled: Callable[[Topology], DeviceSample | None],
    management: Nvml | None,
    devices: Mapping[str, Mapping[str, Any]],
) -> Sequence[str] | None:
    sample = sampled(discover(devices, management=management))
    return None if sample is None else [name for name in sample.devices if name.startswith("gpu")]


def open_machine(
    folder: Path,
    tick: Callable[[], None],
    command: Sequence[str] | None,
    simulation: Simulation | None,
    launcher: str | None = None,
    sampled: Callable[[Topology], DeviceSample | None] | None = None,
    scope: ProbeScope | None = None,
    management: Nvml | None = None,
) -> Opened:
    """Starts a worker and lets it probe; its output goes to the run's log.

    Args:
        folder: Of the run.
        tick: Called while waiting.
        command: The worker's command; None: from the settings.
        simulation: The simulated machine; None: this machine.
        launcher: The user's command that starts ranks, if any.
        sampled: Returns the devices that a plan for the machine takes, which are those to try; None: all.
        scope: What the plan may use, which is tried; None: anything.
        management: What NVML said, if it was asked already.

    Raises:
        BytewaysError: The worker did not survive.
        Interrupted: From `tick`.
    """
    if simulation:
        command = simulation.command(simulation.write_sheet(folder), command)
    worker: WorkerProcess | None = None
    # Asked first: if it does not answer, workers leave it out.
    if simulation is None and management is None:
        management = nvml.read_if_wanted()
    try:
        worker = WorkerProcess(folder / LOG, command=command, tick=tick)
        choose = partial(_sampled_gpus, sampled, management) if sampled and many_gpus(management) else None
        probed = replace(probe_with(worker, launcher, choose, scope), management=management)
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
