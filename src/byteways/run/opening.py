"""Opening the machine of a run: the first worker probes it, and goes on to measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from byteways.results.run_folder import LOG
from byteways.run.probe import Probe, lost_probe, probe_with
from byteways.run.process import WorkerLost, WorkerProcess
from byteways.run.simulation import Simulation
from byteways.topology import discover
from byteways.topology.model import Topology


@dataclass(frozen=True)
class Opened:
    """A machine, real or played, as its first worker found it."""

    worker: WorkerProcess
    probed: Probe
    topology: Topology
    command: Sequence[str] | None  # of further workers


def topology_of(probed: Probe, simulation: Simulation | None) -> Topology:
    """Of this machine, or of the one that is played in its place."""
    devices = probed.capabilities.devices
    return simulation.topology(devices) if simulation else discover(devices)


def open_machine(
    folder: Path,
    tick: Callable[[], None],
    command: Sequence[str] | None,
    simulation: Simulation | None,
) -> Opened:
    """Starts a worker and has it probe; what it prints goes to the run's log.

    Raises:
        BytewaysError: It did not survive that.
        Interrupted: From `tick`.
    """
    if simulation:
        command = simulation.command(simulation.write_sheet(folder), command)
    worker: WorkerProcess | None = None
    try:
        worker = WorkerProcess(folder / LOG, command=command, tick=tick)
        probed = probe_with(worker)
        return Opened(worker, probed, topology_of(probed, simulation), command)
    except WorkerLost as loss:
        if worker is not None:
            worker.kill()
        raise lost_probe(loss, simulation.model.name if simulation else "") from loss
    except BaseException:
        if worker is not None:
            worker.kill()
        raise
