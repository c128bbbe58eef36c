"""Flows that run together: which GPUs a fan takes, which pairs, halves and rings there are."""

from __future__ import annotations

from unittest import mock

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import PATTERNS, Case
from byteways.cases.vocabulary import PATTERN_NEEDS
from byteways.machine.model import Link, Topology
from byteways.machine.routes import link_class
from byteways.plan.flow_sets import lacking
from byteways.plan.suite import parse
from byteways.plan.sweep import expand
from tests.unit import machines

FRONTIER: Topology = machines.frontier()[0]
H200X4: Topology = machines.h200x4()[0]
HOST = 'source = "cpu*:pinned"\ndestination = "gpu*:device"\npairs = "near"\n'
GPUS = 'source = "gpu*:device"\ndestination = "gpu*:device"\nexecutor = "source"\n'


def cases(lines: str, topology: Topology, interface: str = "copy") -> tuple[Case, ...]:
    text = f'name = "mine"\ntitle = "Mine"\n[[sweep]]\nname = "s"\nsize = "1MiB"\ninterface = "{interface}"\n'
    sweep = parse(text + lines, file="my.toml").sweeps[0]
    return expand(sweep, topology, lambda a, b: link_class(topology, a, b)).cases


def paths(lines: str, topology: Topology) -> list[str]:
    return [case.path for case in cases(lines, topology)]


def test_gpus_run_stream_on_arrays_of_the_host() -> None:
    """Catches a GPU whose arrays are in its own memory or in another GPU's domain, one GPU for all arrays,
    and cases of other GPUs that are told alike."""
    on_host = HOST + 'arrays = "source"\nexecutor = "destination"\n'
    both = on_host + 'pattern = "fan-out"\ngpus = ["packed", "spread"]'
    found = cases(both, FRONTIER, "stream-copy")
    assert found[0].path == "gpu0,gpu1 on cpu3"
    assert len({case.path for case in found}) == len(found) == 7 + 5
    near = {flow.executor: flow.source.device for case in found for flow in case.flows}
    assert near["gpu0"] == near["gpu1"] == "cpu3" and near["gpu4"] == "cpu0"
    assert all(flow.source == flow.destination for case in found for flow in case.flows)
    alone = [case for case in cases(on_host, FRONTIER, "stream-copy") if case.flows[0].executor == "gpu2"]
    assert [(case.path, len(case.flows)) for case in alone] == [("cpu1>cpu1", 1)]


def test_only_stream_has_its_arrays_elsewhere() -> None:
    """Catches a copy that is asked for arrays, which has none."""
    with pytest.raises(BytewaysError) as raised:
        cases(HOST + 'arrays = "source"', FRONTIER)
    assert "copy is no STREAM kernel" in str(raised.value)


def test_a_ring_takes_the_widest_links() -> None:
    """Catches a ring over ways that lead through other GPUs, where links of their own would do."""
    assert paths(GPUS + 'pattern = "ring"', H200X4) == ["ring:gpu0,gpu1,gpu2,gpu3"]
    (case,) = cases(GPUS + 'pattern = "ring"', FRONTIER)
    assert len(case.flows) == 8
    assert all(
        link_class(FRONTIER, flow.source.device, flow.destination.device) != "routed" for flow in case.flows
    )


def test_the_worst_halves_have_the_least_between_them() -> None:
    """Catches a bisection through wide links, and one that misses a pair or a direction."""
    (case,) = cases(GPUS + 'pattern = "bisection"', FRONTIER)
    there, back = case.path.split("<>")
    # Each package stays whole: its dies are joined by the widest links.
    assert {there, back} == {"gpu0,gpu1,gpu2,gpu3", "gpu4,gpu5,gpu6,gpu7"}
    assert len({flow.path for flow in case.flows}) == 2 * 4 * 4
    assert paths(GPUS + 'pattern = "bisection"\nhalves = "all"', H200X4) == [
        "gpu0,gpu1<>gpu2,gpu3",
        "gpu0,gpu2<>gpu1,gpu3",
        "gpu0,gpu3<>gpu1,gpu2",
    ]


def test_odd_numbers_have_halves_that_differ_by_one() -> None:
    """Catches five GPUs of which one has no half."""
    (case,) = cases(GPUS + 'pattern = "bisection"', machines.gpus(5)[0])
    assert sorted(len(half.split(",")) for half in case.path.split("<>")) == [2, 3]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_a_machine_is_too_small_for(pattern: str) -> None:
    """Catches a pattern without a least machine, and one that the plan leaves out in silence."""
    devices, gpus = PATTERN_NEEDS[pattern]
    assert lacking(pattern, FRONTIER) is None
    alone = Topology("alone", H200X4.devices[:2])
    reason = lacking(pattern, alone)
    assert (reason is None) == (devices <= 2 and gpus <= 1)
    if gpus > 1:
        assert reason == f"{pattern} needs {gpus} GPUs, and this machine has 1"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('pattern = "bidirectional"\ngpus = "packed"', "bidirectional is not a fan"),
        ('pattern = "fan-out"\ngpus = "half"', "unknown choice of GPUs 'half'"),
        ('pattern = "ring"\nhalves = "all"', "ring has none"),
        ('pattern = "bisection"\nhalves = "best"', "'best' is not a valid value"),
    ],
)
def test_keys_that_say_nothing_are_refused(lines: str, told: str) -> None:
    """Catches a key that is taken and changes nothing."""
    with pytest.raises(BytewaysError, match=told):
        cases(GPUS + lines, H200X4)


def test_routes_are_computed_once_for_each_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches planning that finds the same routes again for each of n⁴ groups: 49 s on 16 GPUs."""
    from byteways.machine import routes
    from byteways.plan.planner import make_plan
    from byteways.plan.suite import load

    machine, capabilities = machines.gpus(8, domains=2)
    found: list[tuple[str, str]] = []
    search = routes._over_peers  # each route asks it once for the part between GPUs

    def counted(topology: Topology, source: str, destination: str) -> tuple[Link, ...]:
        found.append((source, destination))
        return search(topology, source, destination)

    monkeypatch.setattr(routes, "_over_peers", counted)
    with mock.patch.object(routes, "_neighbours", wraps=routes._neighbours) as graphs:
        assert make_plan(load("full"), machine, capabilities).cases
    assert 0 < len(found) == len(set(found)) <= len(machine.devices) ** 2
    assert graphs.call_count <= 1 + len(machine.links)  # of all links, and of the forwarding ones by width
