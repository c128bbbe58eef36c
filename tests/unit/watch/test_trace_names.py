"""Names that profilers give to copies, memories, calls, collectives and devices, in all their spellings."""

from __future__ import annotations

import pytest

from byteways.cases.memory import MEMORIES
from byteways.ext.watch.bins import End
from byteways.ext.watch.traces.agents import Agents
from byteways.ext.watch.traces.collectives import NAME_OF_CODE, SIZE_OF_CODE, collective_of, kernel_collective
from byteways.ext.watch.traces.memories import (
    MEMORY_OF_WORD,
    copy_ends,
    direction_of,
    memory_of,
    moves_memory,
    other_call,
    plain_call,
)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Memcpy HtoD (Pinned -> Device)", "HD"),
        ("Host-to-Device", "HD"),
        ("Unified Device-to-Host", "DH"),
        ("MEMORY_COPY_DEVICE_TO_DEVICE", "DD"),
        ("HOST_TO_HOST", "HH"),
        ("Peer-to-Peer", "PP"),
        ("Memcpy PtoP (Device -> Device)", "PP"),
        ("Array-to-Host", "AH"),
        ("Unknown", None),
        ("SIDEWAYS", None),
        ("Stop", None),
    ],
)
def test_directions(name: str, wanted: str | None) -> None:
    """A copy that goes the other way, or a word that only contains one."""
    assert direction_of(name) == (None if wanted is None else tuple(wanted))


def test_memories() -> None:
    """A kind of memory that suites do not know, so that nothing can be compared."""
    assert {*MEMORY_OF_WORD.values()} <= {*MEMORIES}
    assert [memory_of(word) for word in ("Pinned", "Device Static", "Host", "", None, 3)] == [
        *("pinned", "device", None, None, None, None)
    ]


@pytest.mark.parametrize(
    ("direction", "memories", "wanted"),
    [
        ("HD", (None, None), (End(), End("device", "gpu1"))),
        ("DH", ("device", "pageable"), (End("device", "gpu0"), End("pageable"))),
        ("DD", (None, None), (End("device", "gpu0"), End("device", "gpu1"))),
        ("HD", ("managed", "managed"), (End("managed"), End("managed", "gpu1"))),
        (None, (None, None), (End(None, "gpu0"), End(None, "gpu1"))),
    ],
)
def test_ends_of_copies(
    direction: str | None, memories: tuple[str | None, str | None], wanted: tuple[End, End]
) -> None:
    """A host's memory that is given to a GPU."""
    letters = None if direction is None else (direction[0], direction[1])
    assert copy_ends(letters, memories, ("gpu0", "gpu1")) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("cudaMalloc_v3020", ("allocation", "device")),
        ("cuMemAllocHost_v2", ("allocation", "pinned")),
        ("cudaMallocManaged", ("allocation", "managed")),
        ("hipHostMalloc", ("allocation", "pinned")),
        ("cudaFreeHost", ("release", "pinned")),
        ("cuMemFree_v2", ("release", None)),
        ("hipDeviceSynchronize", ("synchronisation", None)),
        ("cudaStreamSynchronize_ptsz", ("synchronisation", None)),
        ("cudaLaunchKernel", None),
        ("cudaMallocArray", None),
    ],
)
def test_calls(name: str, wanted: tuple[str, str | None] | None) -> None:
    """A version of a call that is taken for another call."""
    assert other_call(plain_call(name)) == wanted
    assert not moves_memory(plain_call(name))


def test_calls_that_move_memory() -> None:
    """The time of a launch that counts as that of a copy."""
    calls = ("cudaMemcpyAsync", "cuMemcpyHtoDAsync", "hipMemsetD8", "cudaMemPrefetchAsync")
    assert all(map(moves_memory, calls)) and not moves_memory("cudaGraphLaunch")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("_allgather_base", "AllGather"),
        ("all_gather_into_tensor_coalesced", "AllGather"),
        ("reduce_scatter", "ReduceScatter"),
        ("allreduce_coalesced", "AllReduce"),
        ("ncclReduce", "Reduce"),
        ("all_to_allv", "AllToAllv"),
        ("gather", "Gather"),
        ("recv", "Recv"),
        ("wait", None),
    ],
)
def test_collectives(name: str, wanted: str | None) -> None:
    """A collective that is taken for one whose name it contains."""
    assert collective_of(name) == wanted


@pytest.mark.parametrize(
    ("name", "call", "detail"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_NVLS_SIMPLE(x)", "AllReduce", ("NVLS", "SIMPLE")),
        ("ncclDevKernel_AllReduce_Sum_f32_NVLS_TREE_LL128(x)", "AllReduce", ("NVLS_TREE", "LL128")),
        ("ncclKernel_ReduceScatter_RING_LL_Sum_int8_t(x)", "ReduceScatter", ("RING", "LL")),
        ("ncclDevKernel_SendRecv(x)", "SendRecv", (None, None)),
        ("ncclDevKernel_Generic_1(x)", None, (None, None)),
    ],
)
def test_kernels(name: str, call: str | None, detail: tuple[str | None, str | None]) -> None:
    """An algorithm or protocol that is taken for one whose name it contains."""
    found = kernel_collective(name)
    assert found is not None and found[0] == call
    assert (found[1].get("algorithm"), found[1].get("protocol")) == detail
    assert kernel_collective("ampere_sgemm_128x64") is None


def test_datatypes() -> None:
    """A code that has the size of its neighbour."""
    sizes = dict(zip(NAME_OF_CODE, SIZE_OF_CODE, strict=True))
    assert (sizes["float64"], sizes["bfloat16"], sizes["float16"], sizes["uint32"]) == (8, 2, 2, 4)


def test_devices_by_identifiers() -> None:
    """A GPU under the number that it has among all devices, or under a number that may mean two."""
    rows = [("CPU", 0, 0), ("CPU", 1, 1), ("GPU", 4, 2), ("GPU", 5, 3), ("GPU", 3, 4)]
    known = Agents({"type": kind, "node": node, "logical": logical} for kind, node, logical in rows)
    words = ("Agent 0", "Agent 2", "5", "GPU 1", "GPU-0", "CPU 1", "Agent 99", "", "x", "Agent 3", "Agent 4")
    found = [known.device(word) for word in words]
    assert found[:9] == [None, "gpu1", "gpu2", "gpu1", "gpu0", None, None, None, None]
    assert found[9:] == [None, None]  # node 3 is gpu0, and the third of all is gpu2
    assert Agents().device("Agent 1") is None
