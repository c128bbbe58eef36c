"""A rank meets MPI with its GPU's memory before any other rank does, and once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work.mpi_gpu_setup import MpiGpuSetup


class World:
    """The ranks; notes what this one sends itself."""

    def __init__(self, rank: int, failure: Exception | None = None) -> None:
        self.rank = rank
        self.sent: list[str] = []
        self._failure = failure

    def message_to_self(self, buffer: str) -> None:
        self.sent.append(buffer)
        if self._failure is not None:
            raise self._failure


def setup(world: World, *gpus: str) -> MpiGpuSetup:
    devices = [SimpleNamespace(name="cpu0", runtime="host")]
    devices += [SimpleNamespace(name=name, runtime="cuda") for name in gpus]
    session = SimpleNamespace(devices=devices, allocate=lambda device, memory, *_: f"{device}:{memory}")
    return MpiGpuSetup(session, world)  # type: ignore[arg-type]


def message(*ends: tuple[str, str], interface: str = "mpi", **options: str) -> Case:
    source, destination = (Buffer(device, memory, rank=rank) for rank, (device, memory) in enumerate(ends))
    flow = Flow(source, destination, source.device)
    return Case(interface, "unidirectional", (flow,), 4096, options=dict(options))


GPU, OTHER, HOST, MANAGED = ("gpu0", "device"), ("gpu1", "device"), ("cpu0", "pageable"), ("gpu0", "managed")


def test_a_rank_that_takes_no_part_is_set_up_once() -> None:
    """Would catch ranks that only set up in their own first case, when the attempts of others are used up."""
    world = World(rank=2)
    own = setup(world, "gpu0", "gpu1")
    own.before(message(HOST, HOST))
    assert world.sent == []
    own.before(message(GPU, OTHER))
    own.before(message(GPU, OTHER))
    assert world.sent == ["gpu0:device"]


@pytest.mark.parametrize(
    "case",
    [
        message(HOST, HOST),
        message(MANAGED, HOST),
        message(GPU, OTHER, interface="xccl"),
        message(GPU, OTHER, staging="pinned"),
    ],
)
def test_memory_that_mpi_does_not_get_sets_nothing_up(case: Case) -> None:
    """Would catch a device pointer given to an MPI that need not take any."""
    world = World(rank=0)
    setup(world, "gpu0").before(case)
    assert world.sent == []


def test_without_gpus_there_is_nothing_to_set_up() -> None:
    """Would catch a rank on a host without GPUs that fails in another rank's case."""
    world = World(rank=1)
    setup(world).before(message(GPU, HOST))
    assert world.sent == []


def test_a_refusal_is_left_to_the_case() -> None:
    """Would catch a rank that fails alone, while the others wait for it in the next exchange."""
    world = World(rank=0, failure=_core.Error("MPI_Isend: error 1"))
    setup(world, "gpu0").before(message(GPU, OTHER))
    assert world.sent == ["gpu0:device"]
