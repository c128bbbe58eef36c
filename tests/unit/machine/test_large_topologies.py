"""Topologies from files: large ones in time that grows with their size, numbers within bounds."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from unittest import mock

import pytest

from byteways.base.errors import BytewaysError
from byteways.cli import main, topo_links
from byteways.cli.topo_links import MOST_IN_MATRIX, matrix
from byteways.machine import foreign, routes
from byteways.machine.model import Device, Link, Topology
from byteways.machine.routes import link_class, route
from byteways.models import load
from byteways.models.topology import topology_of
from tests.report import sample_run


def ring(gpus: int) -> Topology:
    """GPUs that each forward to two others, over links of different widths."""
    devices = tuple(Device(f"gpu{n}", "gpu", "GPU") for n in range(gpus))
    links = tuple(
        Link(f"gpu{n}", f"gpu{(n + 1) % gpus}", "xgmi", 1, None, 1e9 + n, 1e9 + n, "", f"xGMI {n}")
        for n in range(gpus)
    )
    return Topology("ring", (Device("cpu0", "cpu", "CPU"), *devices), (), links)


def test_one_search_serves_all_routes_from_a_device() -> None:
    """Catches a search for each pair: 128 GPUs took 50 s, and a file of 19 KB over 100 s."""
    topology = ring(16)
    with mock.patch.object(routes, "_shortest", wraps=routes._shortest) as searched:
        for a in topology.names("gpu"):
            for b in topology.names("gpu"):
                way = route(topology, a, b)
                assert (len(way) > 0) == (a != b)
    assert searched.call_count <= 16 * 16  # a search for each width from each GPU
    with mock.patch.object(routes.heapq, "heappop", wraps=routes.heapq.heappop) as popped:
        switched = sample_run.topology(8)
        for a in switched.names():
            for b in switched.names():
                link_class(switched, a, b)
    nodes = len(switched.devices) + len(switched.switches)
    assert popped.call_count <= nodes * 4 * len(switched.links)


def test_a_machine_of_1024_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a table, or the time for it, that grows with the square of the devices."""
    gpus = "".join(
        f'<pci busid="{n // 256:04x}:{n % 256:02x}:00.0" link_speed="32.0 GT/s PCIe" link_width="16">'
        f'<gpu dev="{n}" sm="90"><nvlink target="ffff:ff:ff" count="18" tclass="0x068000"/></gpu></pci>'
        for n in range(1024)
    )
    file = tmp_path / "t.xml"
    file.write_text(f'<system version="1"><cpu numaid="0" affinity="ff">{gpus}</cpu></system>')
    with mock.patch.object(topo_links, "link_class", wraps=link_class) as classified:
        assert main(["topo", "--from", str(file)]) == 0
        assert classified.call_count == 2
        shown = capsys.readouterr().out
        assert shown.count("\n") < 60
        assert re.findall(r"(\d+) +(gpu0<>gpu1|cpu0<>gpu0),", shown) == [
            ("523776", "gpu0<>gpu1"),
            ("1024", "cpu0<>gpu0"),
        ]
        assert main(["topo", "--from", str(file), "--all-devices"]) == 0
        assert classified.call_count == 2
        assert "too many for a matrix" in capsys.readouterr().out


@pytest.mark.parametrize("machine", ["h200-x4", "frontier-mi250x", "elcap-mi300a", "jureca-mi250", "ring"])
def test_classes_of_equal_devices_are_those_of_each(machine: str) -> None:
    """Catches pairs that are counted twice or not, and devices taken for equal whose routes differ."""
    topology = ring(12) if machine == "ring" else topology_of(load(machine))
    pairs: dict[str, list[str]] = {}
    for a, b in combinations(topology.names(), 2):
        pairs.setdefault(link_class(topology, a, b), []).append(f"{a}<>{b}")
    assert {row[0]: row[1:] for row in topo_links.classes(topology).rows} == {
        text: (str(len(found)), ", ".join(found[: topo_links.EXAMPLES])) for text, found in pairs.items()
    }


def test_more_classes_than_letters() -> None:
    """Catches a KeyError for the 53rd class of links."""
    links = tuple(
        Link(f"gpu{n}", f"gpu{n + 1}", "nvlink", n + 1, None, 1e9, 1e9, "", f"NVLink ×{n}") for n in range(80)
    )
    devices = tuple(Device(f"gpu{n}", "gpu", "GPU") for n in range(81))
    _, legend = matrix(Topology("host", devices, (), links))
    assert len({line.split()[0] for line in legend.lines}) == len(legend.lines) > 80  # type: ignore[union-attr]
    assert len(devices) < MOST_IN_MATRIX


@pytest.mark.parametrize("number", ["9" * 400, "999999999999", "0", "-1", "1.5", "²", ""])
@pytest.mark.parametrize("place", ["count", "dev", "numaid"])
def test_numbers_of_a_file_are_bounded(place: str, number: str) -> None:
    """Catches an OverflowError, and a link of 999,999,999,999 lanes."""
    given = {"count": "2", "dev": "0", "numaid": "0", place: number}
    text = (
        f'<system><cpu numaid="{given["numaid"]}" affinity="1"><pci busid="0000:01:00.0"><gpu sm="90" '
        f'dev="{given["dev"]}"><nvlink target="0000:02:00.0" count="{given["count"]}" tclass="0x068000"/>'
        "</gpu></pci></cpu></system>"
    )
    if (place != "count" and not number.isdigit()) or (number == "0" and place != "count"):
        assert foreign.of(text.encode(), Path("t.xml")).devices  # numbered in order instead
        return
    with pytest.raises(BytewaysError) as caught:
        foreign.of(text.encode(), Path("t.xml"))
    assert len(caught.value.cause or "") < 120


@pytest.mark.parametrize(
    ("field", "number"),
    [("count", 999999999999), ("count", 0), ("peak_bytes_per_s", 1e300), ("signalling_bytes_per_s", -1.0)],
)
def test_numbers_of_json_are_bounded(field: str, number: float) -> None:
    """Catches the same in the output of `topo --json`, or in a manifest."""
    data = json.loads(json.dumps(sample_run.topology(2).to_json()))
    data["links"][0][field] = number
    with pytest.raises(ValueError, match="gpu0"):
        Topology.from_json(data)
