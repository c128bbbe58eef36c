"""What the affected cases of two runs have in common: devices, links, roles, and links that are missing."""

from __future__ import annotations

import pytest

from byteways.explain.two_runs.suspects import missing_links, parts_of, suspect
from byteways.record.record import Record
from byteways.topology.model import Topology
from tests.changed import replace
from tests.report import sample_run
from tests.report.run_builder import Builder

MACHINE = sample_run.topology(4)


def record(*flows: tuple[str, str, str], interface: str = "copy") -> Record:
    build = Builder(MACHINE, rounds=1)
    build.lose("skipped", "", interface, flows)
    return build.records[0]


def involved(*flows: tuple[str, str, str], interface: str = "copy") -> frozenset[str]:
    return parts_of(record(*flows, interface=interface), MACHINE)


PEER = ("gpu0:device", "gpu1:device", "gpu0")
HOST = ("cpu0:pinned", "gpu0:device", "gpu0")


def test_parts() -> None:
    """Catches a link, pair or role that a case involves and that is left out, or one it does not involve."""
    assert involved(PEER) == {"gpu0", "gpu1", "gpu0-gpu1", "gpu0-nvswitch", "gpu1-nvswitch"}
    assert involved(("gpu2:device", "gpu2:device", "gpu2")) == {"gpu2", "memory of gpu2"}
    both = involved(HOST, ("gpu0:device", "cpu0:pinned", "gpu0"))
    assert both == {"cpu0", "gpu0", "cpu0-gpu0", "concurrent flows issued by gpu0"}


def test_an_executor_elsewhere_crosses_a_link() -> None:
    """Catches a GPU that reads another one's memory and is not said to use the link between them."""
    remote = involved(("gpu0:device", "gpu0:device", "gpu1"), interface="pointer-chase")
    assert {"gpu0-gpu1", "gpu0-nvswitch", "gpu1-nvswitch"} <= remote and "memory of gpu0" not in remote


def test_ranks_and_strangers() -> None:
    """Catches the rank of a buffer taken for its device, or a route asked for of an unknown device."""
    one = replace(
        record(PEER),
        flows=[{"source": "0/gpu0:device", "destination": "1/gpu9:device@cpu0", "executor": "gpu0"}],
    )
    assert parts_of(one, MACHINE) == {"gpu0", "gpu9", "gpu0-gpu9"}


@pytest.mark.parametrize(
    ("affected", "name"),
    [
        ([{"a", "a-b"}, {"b", "a-b"}], "a-b"),  # all its cases, and all affected ones
        ([{"a"}, {"a", "a-b"}], "a"),
        ([{"a", "link-a"}], "a"),  # among equals the shorter name
    ],
)
def test_the_best_explanation(affected: list[set[str]], name: str) -> None:
    """Catches a part that has most affected cases merely because it has most cases."""
    others = [frozenset({"all"})] * 4
    found = suspect([*map(frozenset, affected), *others], [*map(frozenset, affected)])
    assert found is not None and (found.name, found.of, found.missing) == (name, len(affected), False)


def test_a_missing_link_comes_first() -> None:
    """Catches a neighbour that is blamed where the link between two devices has gone."""
    cases = [frozenset({"gpu0", "gpu0-gpu1"}), frozenset({"gpu0"})]
    found = suspect([*cases, frozenset({"gpu0-gpu1"})], cases, missing=["gpu0-gpu1", "gpu2-gpu3"])
    assert found is not None and (found.name, found.missing, found.slower) == ("gpu0-gpu1", True, 1)
    assert suspect(cases, cases, missing=["gpu2-gpu3"]) == suspect(cases, cases)
    assert suspect(cases, [], missing=["gpu0-gpu1"]) is None


def without(*links: tuple[str, str]) -> Topology:
    left = tuple(link for link in MACHINE.links if (link.a, link.b) not in links)
    return replace(MACHINE, links=left)


def test_missing_links() -> None:
    """Catches a link that is down and not named, or links of devices that the other machine lacks."""
    assert missing_links(MACHINE, MACHINE) == ()
    assert missing_links(MACHINE, without(("gpu0", "nvswitch"))) == ("gpu0-nvswitch",)
    assert missing_links(without(("gpu0", "nvswitch")), MACHINE) == ()
