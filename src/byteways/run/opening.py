"""Opens the machine of a run: the first worker probes it and then continues to measure, if it can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from byteways.results.run_folder import LOG
from byteways.run.probe import Probe, lost_probe, probe_with
from byteways.run.process import WorkerLost, WorkerProcess
from byteways.run.simulation import Simulation
from byteways.topology import nvml
from byteways.topology.discovery import discover
from byteways.topology.model import Topology


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


def open_machine(
    folder: Path,
    tick: Callable[[], None],
    command: Sequence[str] | None,
    simulation: Simulation | None,
) -> Opened:
    """Starts a worker and lets it probe; its output goes to the run's log.

    Raises:
        BytewaysError: The worker did not survive.
        Interrupted: From `tick`.
    """
    if simulation:
        command = simulation.command(simulation.write_sheet(folder), command)
    worker: WorkerProcess | None = None
    # Asked first: if it does not answer, workers leave it out.
    management = None if simulation else nvml.read()
    try:
        worker = WorkerProcess(folder / LOG, command=command, tick=tick)
        probed = replace(probe_with(worker), management=management)
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
