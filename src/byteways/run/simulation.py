"""A simulated machine as a run carries it: the model, its faults, and the sheet for every worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from byteways.errors import BytewaysError
from byteways.machines import MachineModel, load, load_text, sheet
from byteways.machines.faults import check_faults
from byteways.plan.case import PlannedCase
from byteways.results.run_folder import MANIFEST, SHEET
from byteways.results.simulated import mark
from byteways.run.private_folder import private_folder
from byteways.run.probe import Probe, probe
from byteways.settings import worker_command
from byteways.topology.model import Topology

#: Real seconds for a simulated case. Virtual time costs next to nothing, so that what takes longer hangs.
DEADLINE_S = 20.0


@dataclass(frozen=True)
class Simulation:
    """What is played in place of this machine.

    Raises:
        BytewaysError: A fault is none, or names what the model does not have.
    """

    model: MachineModel
    faults: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_faults(self.model, self.faults)

    @property
    def mark(self) -> str:
        """The line before every table."""
        return mark(self.model.name, self.faults)

    def write_sheet(self, folder: Path) -> Path:
        """Writes what the simulator reads. Raises BytewaysError when the folder cannot be written.

        Workers get its path, not its text: `ps` shows arguments to everyone.
        """
        path = folder / SHEET
        try:
            path.write_text(sheet(self.model, self.faults), encoding="utf-8")
        except OSError as error:
            raise BytewaysError(
                f"cannot write {path}", cause=error.strerror, hint="choose another --out"
            ) from error
        return path

    @staticmethod
    def command(path: Path, command: Sequence[str] | None) -> list[str]:
        """The worker's command with the sheet, as an argument: a variable could leak into a real run."""
        return [*(command or worker_command()), "--machine", str(path)]

    @contextmanager
    def worker_command(self, command: Sequence[str] | None) -> Iterator[list[str]]:
        """The command of a worker that lives no longer than this context."""
        with private_folder() as folder:
            yield self.command(self.write_sheet(folder), command)

    def probe(self, command: Sequence[str] | None = None) -> Probe:
        """What the simulated machine offers. Raises BytewaysError when the worker did not survive it."""
        with self.worker_command(command) as simulated:
            return probe(simulated, self.model.name)

    def topology(self, devices: Mapping[str, Mapping[str, Any]] | None = None) -> Topology:
        """As the real discovery finds it. `devices`: as a simulated worker saw them."""
        from byteways.machines.topology import topology_of

        return topology_of(self.model, devices, self.faults)

    def to_json(self) -> dict[str, Any]:
        """For the manifest: enough to play it again, and to say how good it is."""
        model = self.model
        return {
            "name": model.name,
            "title": model.title,
            "digest": model.digest,
            "text": model.text,
            "faults": list(self.faults),
            "sources": {key: asdict(source) for key, source in model.sources.items()},
            "fit": asdict(model.fit) if model.fit else None,
        }


def simulation_of(machine: str | None, faults: Sequence[str] | None) -> Simulation | None:
    """What --machine and --fault ask for.

    Raises:
        BytewaysError: There is no such model, a fault is none, or there are faults for a real machine.
    """
    if machine is not None:
        return Simulation(load(machine), tuple(faults or ()))
    if faults:
        raise BytewaysError(
            f"--fault {faults[0]} needs a simulated machine",
            hint="add --machine NAME; byteways list machines",
        )
    return None


def simulated_deadline_s(planned: PlannedCase, first: bool) -> float:
    """Real seconds after which a simulated case is taken to hang, whatever it moves."""
    return DEADLINE_S


def recorded_simulation(folder: Path, manifest: Mapping[str, Any]) -> Simulation | None:
    """The simulation that a run was made with, None for a measured one.

    Raises:
        BytewaysError: The manifest's model is none, or is not the one that the digest is of.
    """
    if not manifest.get("simulated"):
        return None
    file = f"{folder / MANIFEST} (machine_model)"
    try:
        entry = manifest["machine_model"]
        model, digest = load_text(entry["text"], file=file), entry["digest"]
        faults = tuple(entry["faults"])
    except (KeyError, TypeError, AttributeError) as error:
        raise BytewaysError(f"{folder / MANIFEST} is damaged", cause=f"machine_model: {error!r}") from error
    if model.digest != digest:
        raise BytewaysError(
            f"{folder / MANIFEST} is damaged",
            cause=f"machine_model: digest {model.digest}, expected {digest}",
            hint="restore it from a copy, or start a new run",
        )
    return Simulation(model, faults)


def simulation_changes(before: Simulation | None, asked: Simulation | None) -> list[str]:
    """What of the simulation that is asked for is not the run's; empty when nothing is asked for."""
    if asked is None:
        return []
    if before is None:
        return [f"machine: a measured run cannot resume as simulated {asked.model.name}"]
    changes = []
    if before.model.digest != asked.model.digest:
        names = (
            f"{before.model.name} ({before.model.digest}) became {asked.model.name} ({asked.model.digest})"
        )
        changes.append(f"machine model: {names}")
    if before.faults != asked.faults:
        changes.append(f"faults: {_listed(before.faults)} became {_listed(asked.faults)}")
    return changes


def _listed(faults: Sequence[str]) -> str:
    return ", ".join(faults) or "none"
