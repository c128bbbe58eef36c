"""Routes on a simulated machine equal those that `topo` shows for it."""

from __future__ import annotations

import pytest

from byteways.machine.routes import nodes_of, route
from byteways.models import load, names, sheet
from byteways.models.topology import topology_of
from tests.native import simulated as sim

from .conftest import Play


@pytest.mark.parametrize("name", names())
def test_as_topo_shows_them(play: Play, name: str) -> None:
    """Would catch two rules for one machine, and a way back that is not the way there."""
    model = load(name)
    topology = topology_of(model)  # of the first host
    told = play("routes", sheet(model))
    # No discovery shows the switches of PCI Express.
    known = {*topology.names(), *topology.switches}
    # Where a GPU and a CPU share one memory, the simulator has it once: under the GPU's name.
    shared = any(device.shares_memory_with for device in topology.devices)
    compared = 0
    for pair, ((way, *_),) in told.items():
        source, destination = pair.split(">")
        if source == destination or (shared and "cpu" in pair):
            continue
        if not {source, destination} <= set(topology.names()):
            continue
        seen = [node for node in way.split("-") if node in known]
        assert seen == [*nodes_of(source, route(topology, source, destination))], pair
        compared += 1
    assert compared >= len(topology.names("gpu")) * (len(topology.names("gpu")) - 1)


def test_an_own_link_is_taken_however_narrow(play: Play) -> None:
    """Would catch a detour over wider links, which no hardware takes."""
    pairs = {"links.3.pairs.0": "gpu0-gpu1", "links.3.pairs.1": "gpu1-gpu2", "links.4.pairs.0": "gpu0-gpu2"}
    third = {"gpu.count": 3, "gpu.domains.2": 1, "gpu.pci_addresses.2": "0000:9b:00.0"}
    narrow = {"links.4.kind": "xgmi", "links.4.width": 1, "links.4.peak_bytes_per_s": 10e9}
    narrow |= {"links.4.duplex_bytes_per_s": 0, "links.4.switch_blocking": 0.0}
    values = {key.replace(".", "__"): value for key, value in {**pairs, **third, **narrow}.items()}
    assert play("routes", sim.amd(**values))["gpu0>gpu2"][0][0] == "gpu0-gpu2"
    down = play("routes", sim.amd(**values, faults__0="down:gpu0-gpu2"))
    assert down["gpu0>gpu2"][0][0] == "gpu0-gpu1-gpu2"
    assert down["gpu2>gpu0"][0][0] == "gpu2-gpu1-gpu0"
