"""The simulated machine of a run: model, faults, and the sheet that every worker reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs, to_builtins

from byteways.base.errors import BytewaysError
from byteways.base.private_folder import private_folder
from byteways.base.settings import worker_command
from byteways.base.system_errors import cannot_write
from byteways.base.writing import write
from byteways.cases.case import PlannedCase
from byteways.machine.model import Topology
from byteways.measuring.conduct.probe import Probe, probe
from byteways.measuring.shared.native_build import native_library
from byteways.measuring.shared.simulator import SIMULATOR_LIBRARY
from byteways.models import MachineModel, load, load_text, sheet
from byteways.models.faults import check_faults, check_rank_faults
from byteways.models.model import MOST_NOISE_SEED, NOISE_SEED
from byteways.record.run_folder import MANIFEST, SHEET
from byteways.record.simulation_mark import mark

#: Real seconds per simulated case. Virtual time costs little, so a longer case hangs.
DEADLINE_S = 20.0


@dataclass(frozen=True)
class Simulation:
    """The machine that is simulated instead of this one.

    Args:
        model: The machine model.
        faults: Faults to inject.
        seed: Seed of the noise; None: the model's.

    Raises:
        BytewaysError: A fault is invalid, or concerns something that the model does not have.
    """

    model: MachineModel
    faults: tuple[str, ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        check_faults(self.model, self.faults)

    def check_ranks(self, ranks: int) -> None:
        """Raises BytewaysError if a fault is of a rank that a run does not have; 0: no case has ranks."""
        check_rank_faults(self.faults, ranks)

    @property
    def own_seed(self) -> int:
        """The seed of the noise."""
        return self.model.whole(NOISE_SEED) if self.seed is None else self.seed

    @property
    def mark(self) -> str:
        """The line shown above every table."""
        return mark(self.model.name, self.faults)

    def write_sheet(self, folder: Path) -> Path:
        """Writes the simulator's input. Raises BytewaysError if the folder cannot be written.

        Workers receive its path, not its text: `ps` shows arguments to all users. The simulator is built
        here if it is missing: workers have deadlines.
        """
        native_library(SIMULATOR_LIBRARY)
        path = folder / SHEET
        try:
            write(path, sheet(self.model, self.faults, self.seed))
        except OSError as error:
            raise cannot_write(path, error, "choose another --out") from error
        return path

    @staticmethod
    def command(path: Path, command: Sequence[str] | None) -> list[str]:
        """Adds the sheet to the worker's command as an argument: a variable could leak into a real run."""
        return [*(command or worker_command()), "--machine", str(path)]

    @contextmanager
    def worker_command(self, command: Sequence[str] | None) -> Iterator[list[str]]:
        """Yields a worker command that is valid within this context only."""
        with private_folder() as folder:
            yield self.command(self.write_sheet(folder), command)

    def probe(self, command: Sequence[str] | None = None) -> Probe:
        """Probes the simulated machine. Raises BytewaysError if the worker did not survive."""
        with self.worker_command(command) as simulated:
            return probe(simulated, self.model.name)

    def topology(self, devices: Mapping[str, Mapping[str, Any]] | None = None) -> Topology:
        """Returns the topology as discovery does. `devices`: as a simulated worker reports them."""
        from byteways.models.topology import topology_of

        return topology_of(self.model, devices, self.faults)

    def to_json(self) -> dict[str, Any]:
        """Returns the manifest entry: enough to repeat the simulation and to judge its quality."""
        model = self.model
        return {
            "name": model.name,
            "title": model.title,
            "digest": model.digest,
            "text": model.text,
            "faults": list(self.faults),
            "seed": self.own_seed,
            "sources": {key: structs.asdict(source) for key, source in model.sources.items()},
            "fit": to_builtins(model.fit) if model.fit else None,
        }


def simulation_of(
    machine: str | None, faults: Sequence[str] | None, seed: int | None = None
) -> Simulation | None:
    """Returns the simulation for --machine, --fault and --seed; None without them.

    Raises:
        BytewaysError: The model is unknown, a fault is invalid, the seed is out of range, or faults or a seed
            are given for a real machine.
    """
    if seed is not None and not 0 <= seed <= MOST_NOISE_SEED:
        raise BytewaysError(f"a seed of {seed} is out of range", hint=f"--seed takes 0 to {MOST_NOISE_SEED}")
    if machine is not None:
        return Simulation(load(machine), tuple(faults or ()), seed)
    given = f"--fault {faults[0]}" if faults else f"--seed {seed}"
    if faults or seed is not None:
        raise BytewaysError(
            f"{given} needs a simulated machine",
            hint="add --machine NAME; byteways list machines",
        )
    return None


def simulated_deadline_s(planned: PlannedCase, first: bool) -> float:
    """Returns the real seconds after which a simulated case counts as hanging."""
    return DEADLINE_S


def recorded_simulation(folder: Path, manifest: Mapping[str, Any]) -> Simulation | None:
    """Returns the simulation of a run; None for a measured one.

    Raises:
        BytewaysError: The manifest's model is invalid or does not match its digest.
    """
    if not manifest.get("simulated"):
        return None
    file = f"{folder / MANIFEST} (machine_model)"
    try:
        entry = manifest["machine_model"]
        model, digest = load_text(entry["text"], file=file), entry["digest"]
        faults, seed = tuple(entry["faults"]), entry.get("seed")  # early runs: the model's
        if seed is not None and not 0 <= seed <= MOST_NOISE_SEED:
            raise KeyError("seed")
    except (KeyError, TypeError, AttributeError) as error:
        raise BytewaysError(f"{folder / MANIFEST} is damaged", cause=f"machine_model: {error!r}") from error
    if model.digest != digest:
        raise BytewaysError(
            f"{folder / MANIFEST} is damaged",
            cause=f"machine_model: digest {model.digest}, expected {digest}",
            hint="restore it from a copy, or start a new run",
        )
    return Simulation(model, faults, seed)


def simulation_changes(before: Simulation | None, asked: Simulation | None) -> list[str]:
    """Lists differences between the requested simulation and the run's; empty if none is requested."""
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
    if asked.seed is not None and before.own_seed != asked.seed:
        changes.append(f"seed: {before.own_seed} became {asked.seed}")
    return changes


def _listed(faults: Sequence[str]) -> str:
    return ", ".join(faults) or "none"
