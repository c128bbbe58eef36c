"""What reproduced studies print and decide on their models: patterns of the text, and verdicts by claim.

The texts of tests/cli/studies hold every figure, but are renewed by a command; these change by hand alone.
"""

from __future__ import annotations

from collections.abc import Mapping

#: By the name of the text: patterns of what is printed, and verdicts.
EXPECTED: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "schieffer2025-elcap-mi300a": (
        (
            r"own, by CPU +chase +8 GiB +240 +2[34]\d",
            r"neighbour, by CPU +chase +8 GiB +500 +5\d\d",
            r"own, by GPU +chase +8 GiB +346 +34\d",
            r"neighbour, by GPU +chase +8 GiB +690 +69\d",
            r"APU1 +STREAM copy +8 GiB +103 to 104 +20\d.* one direction 10[34]\.\d GB/s",
            r"hipMemcpy, hipMalloc +8 GiB +90 +(89|90)",
            r"hipMemcpy, hipMalloc, SDMA off +8 GiB +– +(89|90)",
            r"hipMemcpy, malloc +8 GiB +– +11\b",
            r"memcpy call +4 MiB +– +1[45]\d\b",
            r"MPI ping-pong, CPU staging +8 B +1\.9 +\d",
            r"hipMallocManaged +\d+\.?\d* +\d+\.?\d* +\d+\.?\d* +\d+",  # RCCL between all allocators
            r"exchange, hipMalloc +3\.516 GiB +1\.5 +\d",
        ),
        {
            "remote-stream-of-peak": "built in",
            "small-memcpy": "the model does not reproduce this",  # at 16 KiB
            "small-hipmemcpy": "built in",
            "hipmemcpy-others": "built in",
            "memcpy-below-20": "built in",
            "hipmemcpy-90": "assumed by the model",  # of the other allocators the model assumes it
            "sdma-no-difference": "built in",
            "latency-neighbour": "the model does not reproduce this",  # held out: it has 584 ns for 500
            "memcpy-gpu-touch": "built in",  # the part of a core is from it
            "cloverleaf-gain": "holds",
            "observation-6": "cannot be tested here",  # no collective was asked for
            "mi250x": "cannot be tested here",
        },
    ),
    "schieffer2024-frontier-mi250x": (
        (
            r"gpu0 +– +1 +1 +2 +2 +2 +1 +2",  # hops
            r"gpu1 +50\.25 +648\.8",  # the published matrix, its diagonal halved
            r"managed, zero-copy +1 GiB +– +2\d",
            r"two links +STREAM triad +",
        ),
        {"bandwidth-matrix": "holds", "latency-detour": "the model does not reproduce this"},
    ),
    "herten2022-jureca-mi250": (
        (
            r"STREAM copy +2 GiB +1420 +14\d\d",
            r"triad, 256 threads +14\d\d \(8[67]\.\d %\) +14\d\d \(8[67]\.\d %\) +14\d\d",
            r"64 MiB .*published(.*\n)+ +gpu0 +496\.07 +166\.43 +42\.9",  # this machine's, not the A100's
            r"64 MiB .*simulated(.*\n)+ +gpu0 +\d{3}\.\d+ +17\d\.\d+ +43\.\d+",  # a pair on one GPU
        ),
        {
            "copy-and-triad": "the model does not reproduce this",
            "saturation": "built in",  # within twice the size
            "osu-first-row": "built in",
            "osu-package": "cannot be tested here",  # of other rows, too
            "osu-a100-self": "cannot be tested here",
        },
    ),
    "memcpy-peer-mi300x-8": (
        (
            r"runtime copy +8 MB +about 40 +4\d",
            r"PyTorch copy_ +8 MB +about 40 +4\d",
            r"PyTorch copy_ cannot be simulated: runtime copy represents it",
            r"gpu1 +\d+\.?\d* +\d{4}\.\d+ +48\.\d",  # all pairs, within a GPU on the diagonal
            r"MPI +16 MiB +about 40 +4\d.*derived: 0.8 of 50 GB/s",
        ),
        {
            "torch-40": "the model does not reproduce this",
            "torch-small": "assumed by the model",  # nobody published the values, and fixed times are assumed
            "link-limits": "assumed by the model",
            "mesh-equal": "assumed by the model",
            "link-bound": "the model does not reproduce this",  # its links have 64 GB/s
            "memory": "built in",
        },
    ),
}
