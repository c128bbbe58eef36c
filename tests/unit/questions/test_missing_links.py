"""A link between GPUs that all others have: what is down, and what is built without it."""

from __future__ import annotations

from itertools import combinations

import pytest

from byteways.answers.results.index import Index
from byteways.answers.results.summary import RecordedRun
from byteways.machine.model import Topology
from byteways.models.library import load
from byteways.models.topology import topology_of
from byteways.questions.subjects.missing_links import missing_link, missing_pairs
from tests.changed import replace


class Empty:
    """A run without records on this machine."""

    def __init__(self, topology: Topology) -> None:
        self.manifest: dict[str, object] = {}
        self.topology, self.records, self.damaged_lines = topology, (), 0


def told(topology: Topology) -> list[tuple[str, str]]:
    run: RecordedRun = Empty(topology)
    return [(one.title, one.detail) for one in missing_link(Index(run))]


@pytest.mark.parametrize(
    ("machine", "fault", "title", "way"),
    [
        (
            "jureca-a100",
            "down:gpu0-gpu1",
            "No direct link connects gpu0 to gpu1, although NVLink3 ×4 connects all other GPUs",
            "NUMA distance 12 + PCIe 4.0 ×16 through host",
        ),
        (
            "h200-x4",
            "down:gpu2-nvswitch",
            "No direct link connects gpu2 to gpu0, gpu1 and gpu3, although NVLink4 ×18 connects all other "
            "GPUs",
            "PCIe 5.0 ×16 through host",
        ),
    ],
)
def test_a_link_that_is_down_is_named(machine: str, fault: str, title: str, way: str) -> None:
    """Catches slow pairs told as a class of their own, without a word that their link is missing."""
    ((said, detail),) = told(topology_of(load(machine), faults=[fault]))
    assert said == title
    assert f"routed over {way}." in detail


@pytest.mark.parametrize(
    "machine", ["jureca-a100", "jureca-mi250", "h200-x4", "frontier-mi250x", "mi300x-8", "elcap-mi300a"]
)
def test_a_machine_that_is_whole_misses_none(machine: str) -> None:
    """Catches an alarm on machines whose GPUs forward for each other by design."""
    assert told(topology_of(load(machine))) == []


def without(topology: Topology, *pairs: tuple[str, str]) -> Topology:
    return replace(topology, links=tuple(link for link in topology.links if (link.a, link.b) not in pairs))


def test_what_is_hidden_or_built_so_is_not_missing() -> None:
    """Catches an alarm where links cannot be seen, or where GPUs are joined in pairs."""
    whole = topology_of(load("jureca-a100"))
    one = without(whole, ("gpu0", "gpu1"))
    assert missing_pairs(one) == [("gpu0", "gpu1")]
    hidden = [replace(device, hidden_links="in a container") for device in one.devices]
    assert not missing_pairs(replace(one, devices=tuple(hidden)))
    bridges = {("gpu0", "gpu1"), ("gpu2", "gpu3")}
    rest = set(combinations(whole.names("gpu"), 2)) - bridges
    assert not missing_pairs(without(whole, *rest))
    assert not missing_pairs(without(whole, *bridges))
