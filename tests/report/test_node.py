"""The picture of the node: where things stand, and what the strokes say of measured rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from byteways.answers.results.index import Index
from byteways.machine.model import Device, Link, Nic, Topology
from byteways.machine.routes import route
from byteways.models import library
from byteways.models.topology import topology_of
from byteways.questions.findings import findings
from byteways.record.run_folder import RunFolder
from byteways.report.node.boxes import PICTURE_WIDTH, Box
from byteways.report.node.drawing import THINNEST_STROKE, LinkStroke, NodeDrawing, draw
from byteways.report.node.hosts import with_hosts
from byteways.report.node.lines import NUMBER_HEIGHT, Labels, straight
from byteways.report.node.rates import LinkRate, link_rates
from tests.report import sample_run


def unmeasured(topology: Topology) -> list[LinkRate]:
    return [LinkRate(link, None, (), "") for link in topology.links]


def drawn(build: sample_run.Builder, folder: Path) -> NodeDrawing:
    index = Index.of(RunFolder(build.write(folder)))
    return draw(index.topology, link_rates(index, findings(index)))


def stroke(drawing: NodeDrawing, name: str) -> LinkStroke:
    return next(stroke for stroke in drawing.strokes if stroke.name == name)


def boxes(drawing: NodeDrawing) -> dict[str, Box]:
    return {node.box.name: node.box for node in drawing.nodes}


def apart(first: Box, second: Box) -> bool:
    beside = first.x + first.width <= second.x or second.x + second.width <= first.x
    return beside or first.bottom <= second.y or second.bottom <= first.y


def check(drawing: NodeDrawing) -> None:
    """Every box lies in the picture and covers no other."""
    every = list(boxes(drawing).values())
    for box in every:
        assert box.x >= 0 and box.x + box.width <= PICTURE_WIDTH + 0.01, box
        assert box.y >= 0 and box.bottom <= drawing.height, box
    for index, first in enumerate(every):
        assert all(apart(first, second) for second in every[index + 1 :]), first


def mesh(gpus: int, cpus: int = 2) -> Topology:
    """GPUs with a link between every two."""
    base = sample_run.topology(gpus, cpus)
    links = [link for link in base.links if "nvswitch" not in (link.a, link.b)]
    links += [
        Link(f"gpu{a}", f"gpu{b}", "xgmi", 1, None, 64e9, None, "nominal", "xGMI ×1")
        for a in range(gpus)
        for b in range(a)
    ]
    return Topology("host", base.devices, (), tuple(links))


@pytest.mark.parametrize("gpus", [*range(9), 16])
@pytest.mark.parametrize("cpus", [1, 2, 8])
def test_switched_nodes_are_readable(gpus: int, cpus: int) -> None:
    """Would catch boxes that overlap or leave the picture, or links that are not drawn."""
    topology = sample_run.topology(gpus, cpus)
    drawing = draw(topology, unmeasured(topology))
    check(drawing)
    numa = [link for link in topology.links if link.kind == "numa"]
    assert len(drawing.strokes) == len(topology.links) - len(numa) + bool(numa)


@pytest.mark.parametrize(("gpus", "cpus"), [(2, 1), (2, 2), (3, 1), (4, 1), (4, 2), (4, 4), (8, 2), (8, 8)])
def test_meshes_are_readable(gpus: int, cpus: int) -> None:
    """Would catch a ring whose boxes overlap, or a link of the mesh that is missing."""
    topology = mesh(gpus, cpus)
    drawing = draw(topology, unmeasured(topology))
    check(drawing)
    assert sum(stroke.name.count("gpu") == 2 for stroke in drawing.strokes) == gpus * (gpus - 1) // 2


@pytest.mark.parametrize("name", library.names())
def test_machine_models_are_readable(name: str) -> None:
    """Would catch a known machine whose picture has boxes over each other or beyond its edge."""
    topology = topology_of(library.load(name))
    check(draw(topology, unmeasured(topology)))


def test_packages_of_two_dies_stand_together() -> None:
    """Would catch the two dies of an MI250X drawn apart, or a CPU away from its GPUs."""
    topology = topology_of(library.load("frontier-mi250x"))
    drawing = draw(topology, unmeasured(topology))
    assert sorted(sorted(package.name.split(" and ")) for package in drawing.packages) == [
        ["gpu0", "gpu1"],
        ["gpu2", "gpu3"],
        ["gpu4", "gpu5"],
        ["gpu6", "gpu7"],
    ]
    at = boxes(drawing)
    for package in drawing.packages:
        for name in package.name.split(" and "):
            assert package.x < at[name].x and at[name].x + at[name].width < package.x + package.width
            assert package.y < at[name].y and at[name].bottom < package.bottom
    distance = {cpu: abs(at[cpu].middle[0] - at["gpu0"].middle[0]) for cpu in ("cpu3", "cpu2")}
    assert distance["cpu3"] < distance["cpu2"]


def test_apus_hold_their_cpu() -> None:
    """Would catch the CPU of an MI300A outside of its package."""
    topology = topology_of(library.load("elcap-mi300a"))
    drawing = draw(topology, unmeasured(topology))
    assert {tuple(sorted(package.name.split(" and "))) for package in drawing.packages} == {
        (f"cpu{n}", f"gpu{n}") for n in range(4)
    }
    nics = [box for box in boxes(drawing).values() if box.kind == "nic"]
    assert len(nics) == 4
    for nic in nics:  # a NIC is no part of the package, and its link is seen
        assert all(nic.bottom + 10 < frame.y or nic.y > frame.bottom + 10 for frame in drawing.packages)


def test_switches_and_nics_of_a_server() -> None:
    """Would catch PCI Express switches on the wrong level."""
    devices = [Device("cpu0", "cpu", "CPU"), *(Device(f"gpu{n}", "gpu", "GPU") for n in range(2))]
    links = [Link("pcie0", "cpu0", "pcie", 1, "5.0", 63e9, None, "nominal", "PCIe 5.0 ×16")]
    links += [
        Link(end, "pcie0", "pcie", 1, "4.0", 31.5e9, None, "nominal", "PCIe 4.0 ×16")
        for end in ("gpu0", "gpu1", "nic0")
    ]
    nics = (Nic("nic0", "0000:01:00.0", ("eth0",)),)
    topology = Topology("host", tuple(devices), ("pcie0",), tuple(links), nics=nics)
    drawing = draw(topology, unmeasured(topology))
    check(drawing)
    at = boxes(drawing)
    assert at["nic0"].y < at["cpu0"].y < at["pcie0"].y < at["gpu0"].y == at["gpu1"].y
    assert len(drawing.strokes) == 4


def test_strokes_say_what_was_reached(tmp_path: Path) -> None:
    """Would catch a rate at the wrong link, a width or colour that does not follow it, or no direction."""
    drawing = drawn(sample_run.h200x4(), tmp_path)
    fast, host = stroke(drawing, "gpu0 – nvswitch"), stroke(drawing, "gpu0 – cpu0")
    assert (fast.number, fast.shade, host.number, host.shade) == ("396", "good", "55.4", "good")
    assert fast.width / host.width == pytest.approx(396.0 / 55.4, rel=0.1) or host.width == THINNEST_STROKE
    assert fast.details.splitlines() == [
        "gpu0 – nvswitch: NVLink4 ×18",
        "nominal peak 450.0 GB/s per direction",
        "gpu0 > nvswitch: 396 GB/s (88 %), copy issued by the source at 1 GiB",
        "nvswitch > gpu0: 396 GB/s (88 %), copy issued by the source at 1 GiB",
    ]
    assert [(row.name, row.count, row.reached) for row in drawing.classes] == [
        ("PCIe 5.0 ×16", 4, "55.4 GB/s (88 % of peak)"),
        ("NVLink4 ×18", 4, "396 GB/s (88 % of peak)"),
    ]


@pytest.mark.parametrize(
    ("rate", "shade"), [(400.0, "good"), (330.0, "fair"), (230.0, "low"), (100.0, "poor")]
)
def test_colour_is_the_share_of_the_peak(tmp_path: Path, rate: float, shade: str) -> None:
    """Would catch a slow link in the colour of a good one."""
    build = sample_run.Builder(sample_run.topology(2))
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], rate, peak=450)
    drawing = drawn(build, tmp_path)
    assert stroke(drawing, "gpu0 – nvswitch").shade == shade
    assert stroke(drawing, "gpu0 – cpu0").shade == "none"


def test_a_route_over_relays_is_no_rate_of_a_link(tmp_path: Path) -> None:
    """Would catch a transfer over several paths at once as the rate of the direct link: 250 % of its peak."""
    build = sample_run.Builder(sample_run.topology(4))
    flow = [("cpu0:pinned", "gpu0:device", "gpu0")]
    build.measure("copy", flow, 55.0, peak=63)
    build.measure("route", flow, 160.0, peak=252, options={"relays": 3})
    assert stroke(drawn(build, tmp_path), "gpu0 – cpu0").number == "55"


def slowed(slow: Sequence[tuple[int, int]]) -> sample_run.Builder:
    build = sample_run.Builder(mesh(4, 1))
    for a in range(4):
        for b in range(4):
            if a != b:
                rate = 25.0 if (a, b) in slow else 50.0
                build.measure("copy", [(f"gpu{a}:device", f"gpu{b}:device", f"gpu{b}")], rate, peak=64)
    return build


def test_outliers_are_marked(tmp_path: Path) -> None:
    """Would catch a slow link that looks like its neighbours, or a mark on a healthy one."""
    drawing = drawn(slowed([(1, 2), (2, 1)]), tmp_path)
    assert [stroke.name for stroke in drawing.strokes if stroke.suspect] == ["gpu2 – gpu1"]
    assert "outlier: slower than equal links" in stroke(drawing, "gpu2 – gpu1").details
    assert not any(stroke.suspect for stroke in drawn(slowed([]), tmp_path / "healthy").strokes)


def test_a_slow_port_alone_is_marked(tmp_path: Path) -> None:
    """Would catch marks on the ports of healthy GPUs, half of whose pairs are with the slow one."""
    build = sample_run.Builder(sample_run.topology(3))
    for a in range(3):
        for b in range(3):
            rate = 2000.0 if a == b else 300.0 if 2 in (a, b) else 390.0
            build.measure("copy", [(f"gpu{a}:device", f"gpu{b}:device", f"gpu{a}")], rate, peak=4800)
    marked = [stroke.name for stroke in drawn(build, tmp_path).strokes if stroke.suspect]
    assert marked == ["gpu2 – nvswitch"]


def test_a_link_on_the_way_to_a_slow_one_is_not_marked(tmp_path: Path) -> None:
    """Would catch a mark on a healthy link because longer paths over it also cross a slow one."""
    topology = topology_of(library.load("frontier-mi250x"))
    build = sample_run.Builder(topology)
    slow = {"gpu2 – gpu4"}
    for a in range(8):
        for b in range(8):
            way = route(topology, f"gpu{a}", f"gpu{b}")
            if a != b:
                rates = [link.count * (19.0 if f"{link.a} – {link.b}" in slow else 38.0) for link in way]
                flow = [(f"gpu{a}:device", f"gpu{b}:device", f"gpu{b}")]
                build.measure("kernel", flow, min(rates), peak=50.0 * min(link.count for link in way))
    drawing = drawn(build, tmp_path)
    assert {stroke.name for stroke in drawing.strokes if stroke.suspect} == slow


def test_failures_are_marked(tmp_path: Path) -> None:
    """Would catch a link over which transfers fail drawn like one that nothing was measured on."""
    build = slowed([])
    build.lose("corrupt", "wrong bytes", "copy", [("gpu0:device", "gpu3:device", "gpu0")], size=2**20)
    drawing = drawn(build, tmp_path)
    assert [stroke.name for stroke in drawing.strokes if stroke.suspect] == ["gpu3 – gpu0"]
    assert "transfers over it ended as corrupt: wrong bytes" in stroke(drawing, "gpu3 – gpu0").details


def test_a_missing_link_is_drawn() -> None:
    """Would catch a link that is down and simply not there."""
    whole = mesh(4, 1)
    links = tuple(link for link in whole.links if {link.a, link.b} != {"gpu0", "gpu3"})
    topology = Topology("host", whole.devices, (), links)
    drawing = draw(topology, unmeasured(topology))
    (missing,) = (stroke for stroke in drawing.strokes if stroke.shade == "missing")
    assert missing.suspect and missing.name == "gpu0 – gpu3"


def test_numbers_do_not_cover_each_other() -> None:
    """Would catch the numbers of crossing links over each other or over a box."""
    left, right = Box("a", "gpu", 0, 0, 50), Box("b", "gpu", 300, 200, 50)
    low, high = Box("c", "gpu", 0, 200, 50), Box("d", "gpu", 300, 0, 50)
    labels = Labels([left, right, low, high])
    places = [labels.place(line, "100", 2.0) for line in (straight(left, right), straight(low, high))]
    places += [labels.place(straight(left, right), "100", 2.0)]
    for index, (x, y) in enumerate(places):
        assert all(abs(x - u) > 20 or abs(y - v) >= NUMBER_HEIGHT for u, v in places[index + 1 :])


def test_two_hosts_have_a_row_with_what_passes_between_them(tmp_path: Path) -> None:
    """Would catch a second host that is not seen, or the rate of another path between them."""
    build = sample_run.Builder(replace(sample_run.topology(2), hosts=("host0", "host1")))
    for device, rate in (("cpu0:pageable", 11.0), ("gpu0:device", 22.8)):
        flow = (f"host0:{device}", f"host1:{device}", device.partition(":")[0])
        build.measure("mpi", [flow], rate, peak=25.0)
    index = Index.of(RunFolder(build.write(tmp_path)))
    plain = draw(index.topology, link_rates(index, []))
    drawn = with_hosts(plain, index)
    assert [node.box.name for node in drawn.nodes[len(plain.nodes) :]] == ["host0", "network", "host1"]
    strokes = drawn.strokes[len(plain.strokes) :]
    assert [(stroke.number, stroke.shade) for stroke in strokes] == [("22.8", "good")] * 2
    assert strokes[0].details.startswith("host0:gpu0>host1:gpu0: 22.8 GB/s (91 % of the peak), MPI")
    assert all(node.box.bottom <= drawn.height for node in drawn.nodes)
    assert min(node.box.y for node in drawn.nodes[len(plain.nodes) :]) > plain.height - 10
