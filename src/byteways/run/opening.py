"""Opens the machine of a run: the first worker probes it and then continues to measure, if it can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from byteways.results.run_folder import LOG
from byteways.run.probe import Probe, lost_probe, probe_with
from byteways.run.process import WorkerLost, WorkerProcess
from byteways.run.simulation import Simulation
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
    return simulation.topology(devices) if simulation else discover(devices)


def open_machine(
    folder: Path,
    tick: Callable[[], None],
    command: Sequence[str] | None,
    simulation: Simulation | None,
    launcher: str | None = None,
) -> Opened:
    """Starts a worker and lets it probe; its output goes to the run's log.

    Args:
        folder: Of the run.
        tick: Called while waiting.
        command: The worker's command; None: from the settings.
        simulation: The simulated machine; None: this machine.
        launcher: The user's command that starts ranks, if any.

    Raises:
        BytewaysError: The worker did not survive.
        Interrupted: From `tick`.
    """
    if simulation:
        command = simulation.command(simulation.write_sheet(folder), command)
    worker: WorkerProcess | None = None
    try:
        worker = WorkerProcess(folder / LOG, command=command, tick=tick)
        probed = probe_with(worker, launcher)
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
