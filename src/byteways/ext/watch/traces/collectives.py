"""Names, element sizes and counts of collectives as NCCL, RCCL, PyTorch and their recorders write them."""

from __future__ import annotations

import re
from functools import lru_cache

#: Bytes of an element by the code of ncclDataType_t, and the names of these types.
SIZE_OF_CODE = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
NAME_OF_CODE = (
    *("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"),
    *("bfloat16", "float8e4m3", "float8e5m2"),
)
#: Bytes of an element by PyTorch's name of its type.
SIZE_OF_SCALAR = {
    **dict.fromkeys(
        ("Byte", "Char", "Bool", "Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz"), 1
    ),
    **dict.fromkeys(("Half", "BFloat16", "Short", "UInt16"), 2),
    **dict.fromkeys(("Float", "Int", "UInt32", "ComplexHalf"), 4),
    **dict.fromkeys(("Double", "Long", "UInt64", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}
#: Words of a name without signs between them, to NCCL's name. Longer words come first.
_WORDS = (
    ("allreduce", "AllReduce"),
    ("reducescatter", "ReduceScatter"),
    ("allgather", "AllGather"),
    ("alltoallv", "AllToAllv"),
    ("alltoall", "AllToAll"),
    ("broadcast", "Broadcast"),
    ("bcast", "Bcast"),
    ("sendrecv", "SendRecv"),
    ("scatter", "Scatter"),
    ("gather", "Gather"),
    ("reduce", "Reduce"),
    ("barrier", "Barrier"),
    ("send", "Send"),
    ("recv", "Recv"),
)
#: Collectives whose count is of one block, while their size is that of all blocks, as in suites.
_OF_BLOCKS = ("AllGather", "ReduceScatter", "Gather", "Scatter", "AllToAll")
#: `ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)`, `ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(…)`.
_KERNEL = re.compile(r"(?:nccl|rccl)(?:Dev)?Kernel_?(\w+)")
#: Answers about names: a trace has millions of kernels, and hundreds of names.
_KEPT = 1024
#: Names that contain others come first.
_ALGORITHMS = ("COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS_TREE", "NVLS", "RING", "TREE", "PAT")
_PROTOCOLS = ("LL128", "LL", "SIMPLE")


@lru_cache(_KEPT)
def collective_of(name: str) -> str | None:
    """Returns NCCL's name of a collective or message without its `nccl`; None: it is none."""
    bare = re.sub(r"[^a-z]", "", name.lower()).removeprefix("nccl").removeprefix("rccl")
    return next((known for word, known in _WORDS if word in bare), None)


def size_of_all_blocks(call: str, size: int | None, ranks: int | None) -> int | None:
    """Returns the size of a collective in bytes, given that of its caller's count; None: it is not known."""
    if size is None or call not in _OF_BLOCKS:
        return size
    return size * ranks if ranks else None


@lru_cache(_KEPT)
def kernel_collective(name: str) -> tuple[str | None, dict[str, str]] | None:
    """Returns the collective of a kernel of NCCL or RCCL, algorithm and protocol; None: another kernel."""
    found = _KERNEL.match(name)
    if found is None:
        return None
    words = f"_{found[1].upper()}_"
    detail = {}
    for key, choices in (("algorithm", _ALGORITHMS), ("protocol", _PROTOCOLS)):
        chosen = next((choice for choice in choices if f"_{choice}_" in words), None)
        if chosen:
            detail[key] = chosen
    return collective_of(found[1].split("_")[0]), detail
