"""What each word of a suite means, in one line: the texts of `byteways list` and of the documentation.

Those of the interfaces are in interfaces.py.
"""

from __future__ import annotations

from collections.abc import Mapping

MEMORIES: Mapping[str, str] = {
    "pageable": "plain host memory",
    "hugepage": "plain host memory on huge pages",
    "pinned": "page-locked host memory from the GPU runtime, coherent with the host at any time",
    "pinned-noncoherent": "the same, which the GPU may cache while a kernel runs",
    "write-combined": "page-locked host memory that cores write past their caches, and read very slowly",
    "registered": "plain host memory, page-locked afterwards",
    "managed": "one address on host and GPUs; pages are kept on the agent that owns the buffer",
    "managed-coarse": "the same, coherent only between kernels",
    "device": "memory of a GPU",
    "device-fine": "memory of a GPU, coherent with other agents while a kernel runs",
    "device-uncached": "memory of a GPU that passes its caches by",
    "pool": "memory of a GPU from its default pool, allocated in the order of a stream",
    "vmm": "physical memory of a GPU, mapped to addresses that were reserved for it",
}

PATTERNS: Mapping[str, str] = {
    "unidirectional": "one flow at a time",
    "bidirectional": "both directions of a pair at once",
    "fan-out": "one agent to several others at once",
    "fan-in": "several agents to one at once",
    "fan-bidirectional": "one agent to several others and back at once",
    "two-pairs": "two pairs of agents at once, no agent in both",
    "ring": "every GPU to the next one at once",
    "host-and-ring": "the same, and every GPU from or to the host at once",
    "bisection": "every GPU of one half with every GPU of the other at once, both directions",
    "all-pairs": "every pair at once, both directions",
    "interference": "one measured flow while another disturbs it",
}

#: The agents, and of them GPUs, that a machine must have for a pattern; with fewer it is another pattern.
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
    "interference": (1, 0),
}
