"""An MPI whose messages of GPU memory are copied by cores, where cores reach that memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.machine.model import Topology
from byteways.measuring.conduct.library_memory_support import LibraryMemorySupport
from byteways.measuring.conduct.message_path import (
    CORES,
    FASTER,
    GPU,
    PATH_BYTES,
    MessagePath,
    probes,
    warned,
)
from byteways.measuring.conduct.process import WorkerLost
from byteways.measuring.shared.simulator import simulator_path
from byteways.measuring.work.simulated_ranks import SimulatedRanks
from byteways.models import load, sheet
from byteways.models.topology import topology_of
from byteways.record.record import Record
from tests.asked import asked
from tests.faults.test_device_messages import planned
from tests.native import simulated as toy

Conduct = Callable[..., list[Record]]
APU, DISCRETE = (topology_of(load(name)) for name in ("elcap-mi300a", "mi300x-8"))


def message(*ends: str, environment: Mapping[str, str] | None = None, **options: str) -> Case:
    source, destination = (Buffer.parse(f"{rank}/{end}") for rank, end in enumerate(ends))
    flow = Flow(source, destination, source.device)
    return Case("mpi", "unidirectional", (flow,), 4096, "warm", dict(options), environment or {})


GPUS = message("gpu0:device", "gpu1:device")


def answers(device_ns: float, host_ns: float) -> Any:
    """A worker that measures messages of device memory and of host memory in these times."""

    def measure(case: Case) -> dict[str, Any]:
        is_host = case.flows[0].source.device.startswith("cpu")
        return {"outcome": {"status": "measured", "time_ns": {"median": host_ns if is_host else device_ns}}}

    return measure


def found_by(measure: Any, case: Case = GPUS) -> LibraryMemorySupport:
    found = LibraryMemorySupport()
    found.try_out(case, lambda: {"outcome": {"status": "measured", "reason": None}}, "MPI 9")
    assert not found.find_path(case, APU, measure)
    return found


@pytest.mark.parametrize(
    ("case", "topology", "applies"),
    [
        (GPUS, APU, True),
        (GPUS, DISCRETE, False),
        (message("gpu0:device", "cpu1:pageable"), APU, False),
        (message("gpu0:managed", "gpu1:managed"), APU, False),
        (message("gpu0:device", "gpu0:device"), APU, False),
        (message("gpu0:device", "gpu1:device", staging="pinned"), APU, False),
    ],
)
def test_where_a_path_is_looked_for(case: Case, topology: Topology, applies: bool) -> None:
    """Catches a message that is measured for nothing, and one between buffers that say nothing."""
    both = probes(case, topology)
    assert (both is not None) == applies
    for probe in both or ():
        assert (probe.size_bytes, probe.members) == (PATH_BYTES, case.members)


def test_host_memory_of_the_same_domains_is_compared() -> None:
    """Catches a comparison with memory of other domains, which other links lead to."""
    both = probes(message("gpu2:device", "gpu3:device", environment={"A": "1"}), APU)
    assert both is not None
    assert [end.device for end in both[1].flows[0].buffers] == ["cpu2", "cpu3"]
    assert [dict(probe.environment) for probe in both] == [{"A": "1"}] * 2


@pytest.mark.parametrize(("ratio", "path"), [(FASTER * 1.01, GPU), (FASTER * 0.99, CORES), (0.5, CORES)])
def test_a_path_is_known_by_rates(ratio: float, path: str) -> None:
    """Catches messages of cores recorded as those of a GPU, and the reverse."""
    found = found_by(answers(1e6, ratio * 1e6))
    assert found.path(GPUS).path == path
    (trial,) = found.trials
    assert trial["path"] == path
    assert trial["bytes_per_s"] == pytest.approx(ratio * trial["host_bytes_per_s"])
    said = [each["id"] for each in warned(found.path(GPUS), {"warnings": []})]
    assert said == (["copied-by-cores"] if path == CORES else [])


def test_a_case_that_asks_for_it_has_no_warning() -> None:
    """Catches a warning on what a case measures on purpose, or that a variable explains."""
    own = message("gpu0:device", "gpu1:device", environment={"MPICH_GPU_IPC_ENABLED": "0"})
    found = found_by(answers(1e6, 1e6), own)
    assert found.path(own) == found.path(GPUS) == MessagePath()
    assert found.trials[0]["path"] == CORES
    by_cores = MessagePath(CORES, 1e9, 1e9)
    assert not warned(by_cores, {"warnings": [{"id": "no-gpu-support"}]})
    assert warned(by_cores, {"warnings": [{"id": "drift"}]}) and not warned(MessagePath(), {})


def test_messages_that_cannot_be_measured_leave_the_path_open() -> None:
    """Catches a case that is lost because its path could not be found out."""
    found = found_by(lambda _: {"outcome": {"status": "skipped", "reason": "no memory"}})
    assert found.path(GPUS) == MessagePath() and found.refusal(GPUS) is None

    def dies(_: Case) -> dict[str, Any]:
        raise WorkerLost("it died")

    dying = LibraryMemorySupport()
    dying.try_out(GPUS, lambda: {"outcome": {"status": "measured", "reason": None}}, "MPI 9")
    assert dying.find_path(GPUS, APU, dies)
    assert dying.refusal(GPUS) is None and "path" not in dying.trials[0]


@pytest.mark.parametrize(("topology", "said"), [(APU, ["copied-by-cores"]), (DISCRETE, [])])
def test_results_say_that_cores_copied(conduct: Conduct, topology: Topology, said: list[str]) -> None:
    """Catches a path that no record has: the fake worker takes equal times for memory of all kinds."""
    host = message("cpu0:pageable", "cpu1:pageable")
    of_gpus, of_host = conduct([planned(GPUS), planned(host)], topology=topology)
    assert (of_gpus.status, of_host.status) == ("measured", "measured")
    assert [each.id for each in of_gpus.warnings] == said
    assert not of_host.warnings


@pytest.mark.parametrize(("variables", "path"), [({}, GPU), ({"MPICH_GPU_IPC_ENABLED": "0"}, CORES)])
def test_the_simulated_library_shows_its_path(variables: dict[str, str], path: str) -> None:
    """Catches a limit that does not tell an engine between two APUs from a core."""

    def scene() -> str | None:
        ranks = SimulatedRanks(str(simulator_path()), sheet(load("elcap-mi300a")))
        return found_by(lambda case: {"outcome": ranks.measure(asked(case)).outcome}).path(GPUS).path

    assert toy.apart(scene, variables) == path
