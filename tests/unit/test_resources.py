"""Which resources may explain what concurrent cases lack: all that flows can share, each once."""

from __future__ import annotations

from pathlib import Path

from byteways.explain.bottlenecks.resources import resources
from tests.unit.test_prediction import host_machine, predicted

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
