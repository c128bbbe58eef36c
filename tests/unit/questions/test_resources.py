"""Which resources may explain what concurrent cases lack: all that flows can share, each once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.cases.case import Buffer, Flow
from byteways.questions.bottlenecks.resources import Resource, _gpus, _memories, resources
from tests.unit import machines
from tests.unit.questions.test_prediction import host_machine, predicted

GPUS = [f"gpu{number}" for number in range(4)]


def named(folder: Path, *switched: str) -> dict[str, int]:
    """Names of candidates with how many alike each stands for."""
    run, found = predicted(host_machine(switched), folder)
    held_back = [case for case in found.cases if case.held_back and len(case.flows) == 2]
    listed = resources(run.topology, found.cases, held_back)
    assert len({one.name for one in listed}) == len(listed)
    return {one.name: len(one.uses) for one in listed}


def test_all_candidates(tmp_path: Path) -> None:
    """Catches a resource that no case can be explained by, one that is there twice, and a family of one."""
    found = named(tmp_path, "gpu0", "gpu1")
    links = [name for gpu in GPUS for name in (f"the link {gpu}>cpu0", f"the link cpu0>{gpu}")]
    links += [f"the link {gpu}–cpu0, both directions together" for gpu in GPUS]
    memory = [f"{what} cpu0's memory" for what in ("reads from", "writes to", "reads and writes of")]
    hidden = [f"an uplink shared by gpu0 and gpu1, {way} the host" for way in ("from", "to and from")]
    each = ("the peer copy engines of", "the copy engines of", "total egress of", "total ingress of")
    each += ("total ingress and egress of",)
    alone = [*links, *memory, *hidden, *(f"{what} {gpu}" for what in each for gpu in GPUS)]
    families = ["each PCIe 5.0 ×16 link, both directions together"]
    families += ["each GPU's peer copy engines", "each GPU's copy engines"]
    families += [f"{what} a GPU" for what in each[2:]]
    assert found == {**dict.fromkeys(alone, 1), **dict.fromkeys(families, 4)}


def test_what_nothing_hints_at_is_not_there(tmp_path: Path) -> None:
    """Catches a switch made up for GPUs that share none."""
    assert not [name for name in named(tmp_path) if "uplink" in name]


def test_traffic_of_each_gpu() -> None:
    """Catches traffic into a GPU counted out of it, and that of another."""
    topology, _ = machines.h200x4()
    ends = Flow(Buffer("gpu0", "device"), Buffer("gpu2", "device"), "gpu0")
    found = {one.name: [uses(ends) for uses in one.uses] for one in _gpus(topology)}
    assert found["total egress of gpu0"] == found["total ingress of gpu2"] == [True]
    assert found["total egress of gpu2"] == found["total ingress of gpu0"] == [False]
    assert found["total ingress of gpu1"] == found["total ingress of gpu3"] == [False]


def _host_resources() -> Iterator[tuple[str, list[bool]]]:
    topology, _ = machines.gpus(2, domains=2)
    inward = Flow(Buffer("gpu0", "device"), Buffer("cpu1", "pinned"), "gpu0")
    outward = Flow(Buffer("cpu0", "pinned"), Buffer("gpu1", "device"), "gpu1")
    together: Any = SimpleNamespace(flows=(inward, outward))
    for one in _memories(topology, [together]):
        yield one.name, [uses(inward) for uses in one.uses]


def test_memory_of_all_domains() -> None:
    """Catches host memory that a flow writes and is not held to use."""
    found = dict(_host_resources())
    assert found["reads from all host memory"] == [False]
    assert found["writes to all host memory"] == found["reads and writes of all host memory"] == [True]


@pytest.mark.parametrize(("members", "family"), [(1, False), (2, True)])
def test_a_family_has_several_resources(members: int, family: bool) -> None:
    """Catches one link told as "each link"."""
    assert Resource("the link", (lambda _: True,) * members).family == family
