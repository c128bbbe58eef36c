"""What a simulated run records of its machine, and what a worker is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs, to_builtins

from byteways.base.errors import BytewaysError
from byteways.measuring.conduct.simulation import (
    Simulation,
    recorded_simulation,
    simulation_changes,
    simulation_of,
)
from byteways.models import library
from byteways.models.sheet import sheet


@pytest.mark.parametrize("name", library.names())
def test_what_a_manifest_holds(name: str) -> None:
    """Catches a simulated run whose machine cannot be played again, or that does not say how good it is."""
    model = library.load(name)
    told = Simulation(model, ("lost:gpu1",)).to_json()
    assert told == {
        "name": model.name,
        "title": model.title,
        "digest": model.digest,
        "text": model.text,
        "faults": ["lost:gpu1"],
        "seed": 1,
        "sources": {key: structs.asdict(source) for key, source in model.sources.items()},
        "fit": None if model.fit is None else to_builtins(model.fit),
    }
    assert told["sources"]


def test_faults_are_for_simulated_machines() -> None:
    """Catches a fault that is left out without a word, and a machine simulated although nobody asked."""
    assert simulation_of(None, None) is None
    assert simulation_of(None, ()) is None
    with pytest.raises(BytewaysError, match="needs a simulated machine"):
        simulation_of(None, ["lost:gpu1"])
    name = library.names()[0]
    found = simulation_of(name, None)
    assert found is not None and (found.model.name, found.faults) == (library.load(name).name, ())


def test_the_seed() -> None:
    """Catches a seed that a worker does not get, a model's that is lost, or one that resuming forgets."""
    name = library.names()[0]
    own, other = simulation_of(name, None), simulation_of(name, None, 7)
    assert own is not None and other is not None
    assert [(one.own_seed, one.to_json()["seed"]) for one in (own, other)] == [(1, 1), (7, 7)]
    lines = [sheet(one.model, (), one.seed).splitlines() for one in (own, other)]
    assert {*lines[1]} - {*lines[0]} == {"seed\t7"} and len(lines[0]) == len(lines[1])
    manifest = {"simulated": True, "machine_model": other.to_json()}
    assert recorded_simulation(Path("R"), manifest) == other
    early = {key: value for key, value in own.to_json().items() if key != "seed"}
    assert recorded_simulation(Path("R"), {"simulated": True, "machine_model": early}) == own
    assert simulation_changes(other, own) == [] == simulation_changes(own, simulation_of(name, None, 1))
    assert simulation_changes(own, other) == ["seed: 1 became 7"]


@pytest.mark.parametrize(
    ("machine", "seed", "said"),
    [
        (None, 2, "--seed 2 needs a simulated machine"),
        (None, 0, "--seed 0 needs a simulated machine"),
        ("h200-x4", -1, "a seed of -1 is out of range"),
        ("h200-x4", 2**53, f"a seed of {2**53} is out of range"),
    ],
)
def test_seeds_that_cannot_be(machine: str | None, seed: int, said: str) -> None:
    """Catches a seed that a measured run ignores, and one that the simulator reads as another."""
    with pytest.raises(BytewaysError, match=said) as raised:
        simulation_of(machine, None, seed)
    assert raised.value.hint


def test_the_command_names_the_sheet() -> None:
    """Catches a worker that measures the real machine."""
    assert Simulation.command(Path("/run/sheet"), ["python", "worker"]) == [
        "python",
        "worker",
        "--machine",
        "/run/sheet",
    ]
    assert Simulation.command(Path("/run/sheet"), None)[-2:] == ["--machine", "/run/sheet"]
