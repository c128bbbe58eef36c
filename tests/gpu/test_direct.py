"""Direct collectives on real GPUs: two ranks on one GPU, and one on each of two or more."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work.measurer import open_session
from byteways.measuring.work.rank_threads import RankThreads
from tests.asked import asked
from tests.gpu.device import Device

pytestmark = pytest.mark.gpu

# Kernels of two ranks on one GPU wait for each other: their streams must not share a hardware queue, of which
# the driver makes 8 unless it is told otherwise before it starts.
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")

KIB, MIB = 2**10, 2**20
PATTERNS = ("allreduce", "allgather", "reduce-scatter", "alltoall")
MOST_RANKS, MOST_BLOCKS = 16, 1024  # native/interfaces/direct/arguments.hpp
WORKSPACE_BYTES = 8 * (MOST_BLOCKS + 16 + 2 * MOST_BLOCKS * MOST_RANKS)


class DirectArguments(ctypes.Structure):
    """Of native/interfaces/direct/arguments.hpp; tests/native/test_simulated_direct.py compares them."""

    _fields_ = (
        ("sources", ctypes.c_uint64 * MOST_RANKS),
        ("destinations", ctypes.c_uint64 * MOST_RANKS),
        ("workspaces", ctypes.c_uint64 * MOST_RANKS),
        *((name, ctypes.c_uint64) for name in ("bytes", "source_stride", "destination_stride", "slots")),
        *((name, ctypes.c_uint64) for name in ("slot_stride", "first_operation", "operations")),
        *((name, ctypes.c_uint64) for name in ("patience_ns", "generation", "failure")),
        *(
            (name, ctypes.c_uint32)
            for name in ("ranks", "rank", "adds", "element_bytes", "stage", "block_words")
        ),
    )


@pytest.fixture(scope="module")
def gpus() -> list[str]:
    return [device.name for device in open_session().devices if device.name.startswith("gpu")]


@pytest.fixture(scope="module")
def ranks() -> dict[int, RankThreads]:
    """Ranks in this process, by how many there are."""
    return {}


def measured(
    ranks: dict[int, RankThreads], devices: list[str], pattern: str, size: int, **options: int | str
) -> dict[str, Any]:
    """The outcome of a case with a rank on each of these devices; it succeeded."""
    cache = str(options.pop("cache", "warm"))
    ends = [Buffer(device, "device", rank=rank) for rank, device in enumerate(devices)]
    flow = Flow(ends[0], ends[0], devices[0], others=tuple((end, end) for end in ends[1:]))
    case = Case("direct", pattern, (flow,), size, cache, options)
    threads = ranks.setdefault(len(devices), RankThreads())
    outcome, leaving = threads.measure(asked(case, budget_s=0.05, key=7))
    assert not leaving and outcome["status"] == "measured", outcome["reason"]
    assert outcome["verified"] and outcome["timed_by"] == "device-events"
    return outcome


def places(gpus: list[str], where: str) -> list[str]:
    if where == "one GPU":
        return [gpus[0], gpus[0]]
    if len(gpus) < 2:
        pytest.skip("two GPUs are needed")
    return gpus[:2] if where == "two GPUs" else gpus


WHERE = pytest.mark.parametrize("where", ["one GPU", "two GPUs", "all GPUs"])


@WHERE
@pytest.mark.parametrize("launch", ["thread", "single"])
@pytest.mark.parametrize("size", [64, 4 * KIB, MIB, 64 * MIB])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_element_is_right(
    ranks: dict[int, RankThreads], gpus: list[str], where: str, launch: str, size: int, pattern: str
) -> None:
    """Catches a flag that comes before its data, and a block that none or two of the ranks move."""
    devices = places(gpus, where)
    size -= size % (8 * len(devices))
    measured(ranks, devices, pattern, size, launch=launch)


@WHERE
@pytest.mark.parametrize("cache", ["warm", "cold"])
@pytest.mark.parametrize(
    ("algorithm", "protocol"), [("one-shot", "LL"), ("one-shot", "simple"), ("two-shot", "simple")]
)
@pytest.mark.parametrize("size", [4, 8, 24, 8 * KIB + 8, 256 * KIB])
def test_algorithms_of_allreduce_at_odd_sizes(
    ranks: dict[int, RankThreads],
    gpus: list[str],
    where: str,
    cache: str,
    algorithm: str,
    protocol: str,
    size: int,
) -> None:
    """Catches a tail that is left out, and blocks that are no whole vectors."""
    options = {"launch": "thread", "algorithm": algorithm, "protocol": protocol, "cache": cache}
    outcome = measured(ranks, places(gpus, where), "allreduce", size, **options)
    assert f"{algorithm}, protocol {protocol.replace('simple', 'Simple')}" in outcome["engine_evidence"]


@WHERE
@pytest.mark.parametrize("in_place", ["no", "yes"])
@pytest.mark.parametrize("submit", ["graph", "persistent"])
@pytest.mark.parametrize("size", [4 * KIB, MIB])
@pytest.mark.parametrize("pattern", ["allreduce", "allgather", "reduce-scatter"])
def test_batches_by_one_submission(
    ranks: dict[int, RankThreads],
    gpus: list[str],
    where: str,
    in_place: str,
    submit: str,
    size: int,
    pattern: str,
) -> None:
    """Catches epochs that a graph repeats, and operations that overtake each other in one launch."""
    devices = places(gpus, where)
    size -= size % (8 * len(devices))
    measured(ranks, devices, pattern, size, launch="thread", submit=submit, in_place=in_place)


@WHERE
@pytest.mark.parametrize("submit", ["calls", "graph", "persistent"])
@pytest.mark.parametrize("size", [4, 24, 8 * KIB + 8, MIB, 64 * MIB + 24])
def test_one_shot_sums_in_place(
    ranks: dict[int, RankThreads], gpus: list[str], where: str, submit: str, size: int
) -> None:
    """Catches a rank that stores its sums where another one still loads, and a pass without a barrier.
    The largest message takes several passes of a grid.
    """
    options = {"algorithm": "one-shot", "protocol": "simple", "in_place": "yes", "submit": submit}
    outcome = measured(ranks, places(gpus, where), "allreduce", size, launch="thread", **options)
    assert "one-shot, protocol Simple" in outcome["engine_evidence"]
    assert "in place" in outcome["engine_evidence"]


@WHERE
@pytest.mark.parametrize("launch", ["thread", "single"])
@pytest.mark.parametrize("pattern", ["allgather", "alltoall"])
def test_copies_between_barriers(
    ranks: dict[int, RankThreads], gpus: list[str], where: str, launch: str, pattern: str
) -> None:
    """Catches a flag that overtakes a copy."""
    devices = places(gpus, where)
    size = 4 * MIB - 4 * MIB % (8 * len(devices))
    outcome = measured(ranks, devices, pattern, size, launch=launch, mechanism="copy")
    assert "copies of the vendor's runtime" in outcome["engine_evidence"]


@pytest.mark.parametrize(
    "kernel",
    ["direct_flagged", "direct_pull", "direct_pull_in_place", "direct_two_shot", "direct_barrier"],
)
def test_a_flag_that_never_comes_releases_the_gpu(
    kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a kernel that polls for ever, and a failure that does not say who was missing."""
    monkeypatch.setattr("tests.gpu.device.KERNELS", (kernel,))
    device = Device(tmp_path)
    size = 4 * KIB
    with (
        device.memory(bytes(WORKSPACE_BYTES + 4 * MIB)) as own,
        device.memory(bytes(WORKSPACE_BYTES + 4 * MIB)) as other,
        device.memory(bytes(2 * size)) as data,
        device.memory(bytes(32)) as failure,
    ):
        arguments = DirectArguments(
            bytes=size, slots=1, operations=3, patience_ns=10**7, generation=5, failure=failure
        )
        arguments.ranks, arguments.rank, arguments.adds, arguments.element_bytes = 2, 0, 1, 8
        arguments.block_words = 512
        arguments.sources[0] = arguments.sources[1] = data
        arguments.destinations[0] = arguments.destinations[1] = data + size
        arguments.workspaces[0], arguments.workspaces[1] = own, other
        if kernel == "direct_two_shot":
            arguments.source_stride = size // 2
        device.launch(kernel, (1, 512), arguments)  # returns when the kernel has ended
        generation, rank, stage, epoch = np.frombuffer(device.read(failure, 32), dtype=np.uint64)
        epochs = np.frombuffer(device.read(own, 8), dtype=np.uint64)[0]
    assert (generation, rank, epoch) == (5, 1, 1)
    assert stage == (2 if kernel == "direct_flagged" else 0)
    assert epochs == (0 if kernel == "direct_barrier" else 3)


@pytest.mark.parametrize("adds", [1, 0])
@pytest.mark.parametrize("last", [256 * KIB, 1000, 4])
def test_a_short_last_piece_stays_in_its_message(
    adds: int, last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches blocks behind the end of a message that move words all the same: through host memory 786,432
    bytes travel as two pieces by grids of one shape, the second of them half as long. The other rank's words
    are there before the kernel starts, so that one GPU is enough.
    """
    monkeypatch.setattr("tests.gpu.device.KERNELS", ("direct_flagged",))
    device = Device(tmp_path)
    blocks, block_words, guard = 64, 1024, MIB
    words = -(-last // 8)
    random = np.random.default_rng(1)
    mine, theirs = (random.integers(0, 2**64, blocks * block_words, dtype=np.uint64) for _ in range(2))
    # words[epoch % 2][sender][block][word]: of rank 1, in epoch 1.
    mailbox = np.zeros((2, 2, blocks * block_words, 4), dtype=np.uint32)
    mailbox[1, 1, :, 0], mailbox[1, 1, :, 2] = theirs & 0xFFFFFFFF, theirs >> 32
    mailbox[1, 1, :, 1] = mailbox[1, 1, :, 3] = 1
    before = random.integers(0, 256, 2 * guard + 2 * MIB, dtype=np.uint8)
    with (
        device.memory(bytes(WORKSPACE_BYTES) + mailbox.tobytes()) as own,
        device.memory(bytes(WORKSPACE_BYTES + 4 * MIB)) as other,
        device.memory(mine.tobytes()) as source,
        device.memory(before.tobytes()) as destination,
        device.memory(bytes(32)) as failure,
    ):
        arguments = DirectArguments(
            bytes=last, slots=1, operations=1, patience_ns=10**9, generation=5, failure=failure
        )
        arguments.ranks, arguments.rank, arguments.adds = 2, 0, adds
        arguments.element_bytes, arguments.block_words = 8, block_words
        arguments.destination_stride = 0 if adds else MIB
        arguments.sources[0], arguments.destinations[0] = source, destination + guard
        arguments.workspaces[0], arguments.workspaces[1] = own, other
        device.launch("direct_flagged", (blocks, 512), arguments)
        gave_up = np.frombuffer(device.read(failure, 8), dtype=np.uint64)[0]
        after = np.frombuffer(device.read(destination, len(before)), dtype=np.uint8)
    expected = before.copy()
    parts = [(0, mine + theirs)] if adds else [(0, mine), (MIB, theirs)]
    for offset, content in parts:
        expected[guard + offset :][:last] = content[:words].view(np.uint8)[:last]
    assert gave_up == 0 and np.array_equal(after, expected)
