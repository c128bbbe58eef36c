"""What a simulated run records of its machine, and what a worker is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from byteways.errors import BytewaysError
from byteways.run.conduct.simulation import Simulation, simulation_of
from byteways.simulate import library


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
        "sources": {key: structs.asdict(source) for key, source in model.sources.items()},
        "fit": None if model.fit is None else structs.asdict(model.fit),
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


def test_the_command_names_the_sheet() -> None:
    """Catches a worker that measures the real machine."""
    assert Simulation.command(Path("/run/sheet"), ["python", "worker"]) == [
        "python",
        "worker",
        "--machine",
        "/run/sheet",
    ]
    assert Simulation.command(Path("/run/sheet"), None)[-2:] == ["--machine", "/run/sheet"]
