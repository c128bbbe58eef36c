"""The meaning of each word of a suite in one line, for `byteways list` and the documentation.

Interfaces are described in interfaces.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from byteways.cases.case import OF_ALL_RANKS

MEMORY_MEANINGS: Mapping[str, str] = {
    "pageable": "ordinary pageable host memory",
    "hugepage": "host memory on huge pages",
    "pinned": "page-locked host memory from the GPU runtime, always coherent",
    "pinned-noncoherent": "page-locked host memory that the GPU may cache while a kernel runs",
    "write-combined": "page-locked host memory, uncached by the CPU: fast to write, very slow to read",
    "registered": "pageable host memory, page-locked afterwards",
    "managed": "managed (unified) memory; pages reside on the buffer's device",
    "managed-coarse": "managed memory that is coherent only between kernels (coarse-grained)",
    "device": "GPU memory",
    "device-fine": "fine-grained GPU memory: coherent with other devices while a kernel runs",
    "device-uncached": "GPU memory that bypasses the GPU's caches",
    "pool": "GPU memory from the default pool, allocated in stream order",
    "vmm": "GPU memory mapped through the virtual memory management API",
    "ipc": "GPU memory of another process, opened by its IPC handle",
    "xccl": "GPU memory from NCCL or RCCL, registered with the communicator",
}

PATTERN_MEANINGS: Mapping[str, str] = {
    "unidirectional": "one flow at a time",
    "bidirectional": "both directions of a pair concurrently",
    "fan-out": "one device to several others concurrently",
    "fan-in": "several devices to one concurrently",
    "fan-bidirectional": "one device to several others and back concurrently",
    "two-pairs": "two disjoint pairs of devices concurrently",
    "ring": "every GPU to the next one concurrently",
    "host-and-ring": "a ring, with every GPU from or to the host concurrently",
    "bisection": "every GPU of one half with every GPU of the other, both directions, concurrently",
    "all-pairs": "every pair, both directions, concurrently",
    "transfers": "any transfers that a sweep lists, concurrently",
    "interference": "one measured flow, with background traffic on another",
    "allreduce": "every rank gets the sum of all ranks' data",
    "allgather": "every rank gets the data of all ranks",
    "reduce-scatter": "every rank gets its block of the sum of all ranks' data",
    "alltoall": "every rank sends a block to each rank",
    "broadcast": "every rank gets the first rank's data",
    "reduce": "the first rank gets the sum of all ranks' data",
    "gather": "the first rank gets the data of all ranks",
    "scatter": "every rank gets its block of the first rank's data",
    "multi-pair": "the first half of the ranks sends to the second half concurrently, one rank to one",
    "barrier": "every rank waits until all have arrived",
    "halo": "every rank exchanges the halos of its tile with its neighbours in the grid of ranks",
    "particles": "every rank sends particles to its neighbours in many small messages, and gets them back",
}

#: Devices, and GPUs among them, that a pattern needs at least; with fewer it equals another pattern.
PATTERN_NEEDS: Mapping[str, tuple[int, int]] = {
    "unidirectional": (1, 0),
    "bidirectional": (2, 0),
    "fan-out": (3, 0),
    "fan-in": (3, 0),
    "fan-bidirectional": (3, 0),
    "two-pairs": (4, 0),
    "ring": (3, 3),
    "host-and-ring": (3, 2),
    "bisection": (4, 4),
    "all-pairs": (2, 0),
    "transfers": (1, 0),
    "interference": (1, 0),
    **dict.fromkeys(OF_ALL_RANKS, (1, 0)),
}
