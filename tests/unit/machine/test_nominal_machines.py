"""Machines by their vendors' peaks: sourced, marked, and never simulated or taken for measured ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.cli import topo as view
from byteways.machine.capacity import links_between, memory_of
from byteways.machine.model import Topology
from byteways.machine.nominal import NOMINAL_MACHINES, NOMINAL_PEAKS, nominal_mark, nominal_topology
from byteways.machine.routes import route
from byteways.models import load, names
from tests.cli.called import main


@pytest.mark.parametrize("name", NOMINAL_MACHINES)
def test_every_peak_has_a_source_and_every_null_a_code(name: str) -> None:
    """Catches a number without its source, and a row that no real machine could be."""
    topology = nominal_topology(name)
    assert topology.contradiction() == ""
    assert topology.read_from == NOMINAL_PEAKS
    assert {one.what for one in topology.left_out} >= {"cpu.cores", "gpu.memory_bytes", "gpu.pci_address"}
    for gpu in topology.names("gpu"):
        memory = memory_of(topology, gpu)
        assert memory.capacity
        assert memory.source
        for to in topology.names():
            arcs = links_between(topology, gpu, to) or ()
            assert all(arc.source for arc in arcs)
            assert to == gpu or arcs or topology.device(to).kind == "cpu"
    assert Topology.from_json(topology.to_json()) == topology


def test_peaks_of_links() -> None:
    """Catches a peak of both directions, and another generation's."""
    peaks = {
        name: [link.peak_bytes_per_s for link in route(nominal_topology(name), "gpu0", "gpu1")]
        for name in ("a100-x8", "h100-x8", "h200-x8", "b200-x8", "gb200-x4")
    }
    assert peaks == {
        "a100-x8": [300e9] * 2,
        "h100-x8": [450e9] * 2,
        "h200-x8": [450e9] * 2,
        "b200-x8": [900e9] * 2,
        "gb200-x4": [900e9] * 2,
    }
    (c2c,) = route(nominal_topology("gh200"), "cpu0", "gpu0")
    assert (c2c.kind, c2c.peak_bytes_per_s) == ("c2c", 450e9)
    (pcie,) = route(nominal_topology("b200-x8"), "gpu0", "cpu0")
    assert (pcie.peak_bytes_per_s, pcie.unknown is not None) == (None, True)


def test_a_nominal_machine_is_marked_wherever_it_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches peaks of a data sheet that look like those of a machine, or like a simulation."""
    assert main(["topo", "--machine", "h100-x8"]) == 0
    text = capsys.readouterr().out
    assert nominal_mark("h100-x8") in text
    assert main(["topo", "--machine", "h100-x8", "--json"]) == 0
    said = capsys.readouterr().out
    data = json.loads(said)
    assert (data["simulated"], data["mark"]) == (False, nominal_mark("h100-x8"))
    saved = tmp_path / "machine.json"
    saved.write_text(said)
    assert view.read(saved) == (nominal_topology("h100-x8"), nominal_mark("h100-x8"))
    assert main(["list", "machines", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["nominal_machines"]
    assert [row["name"] for row in rows] == [*NOMINAL_MACHINES]


def test_nothing_is_simulated_with_what_is_no_model() -> None:
    """Catches a run on peaks, and a topology that is taken for TOML."""
    files = Path(__file__).parents[2] / "machines/files"
    for name in (*NOMINAL_MACHINES, *map(str, files.iterdir())):
        with pytest.raises(BytewaysError, match=r"nothing can be simulated|no rates to simulate") as caught:
            load(name)
        assert "byteways topo --" in (caught.value.hint or "")
    assert not {*NOMINAL_MACHINES} & {*names()}
