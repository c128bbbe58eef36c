"""byteways.copy_, copy_blocks and swap_blocks_batch: copies by the fastest method that a plan knows."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.ext.copy.arrays import ArrayMemory, memory_of
from byteways.ext.copy.frameworks import CopyQueue, queue_of, torch_module
from byteways.ext.copy.native_library import copy_library
from byteways.ext.copy.plans import OpenPlan, PlanArgument, plan_of
from byteways.ext.copy.torch_tensors import copy_tensor, in_stream, is_plain_pair

#: Names of the element types of pointers and sizes: PyTorch's tensors have signed ones.
_POINTER_TYPES = ("int64", "uint64")


def copy_(dst: Any, src: Any, *, stream: object = None, plan: PlanArgument = None) -> Any:
    """Enqueues a copy of an array into another one, as the driver's asynchronous copy call does.

    `dst` and `src` are tensors of PyTorch, or arrays with `__cuda_array_interface__` (CuPy, Numba),
    `__dlpack__` or the buffer protocol (NumPy), of equal shape and type and each in one piece. Other pairs of
    tensors are copied by `dst.copy_(src, non_blocking=True)`.

    Args:
        dst: Destination. It must not be read before the stream has done the copy.
        src: Source. It must not be changed or freed before; PyTorch's allocators keep that of a freed tensor.
        stream: A stream of PyTorch or CuPy, or its handle; None: the current one of their package.
        plan: An open plan or its file; None: BYTEWAYS_PLAN, or this host's plan in the cache.

    Returns:
        `dst`.

    Raises:
        BytewaysError: The arrays differ in shape or type, are in several pieces, or are no arrays.
        CopyError: The library or the driver refuses the copy.
    """
    torch = torch_module()
    if torch is not None and isinstance(dst, torch.Tensor) and isinstance(src, torch.Tensor):
        return _copy_tensors(torch, dst, src, stream, plan)
    queue = queue_of((dst, src), None, stream)
    ends = [memory_of(end, queue.stream) for end in (dst, src)]
    _check_pair(*ends)
    gpu = next((end.gpu for end in ends if end.gpu is not None), None)
    if gpu not in (None, queue.gpu):
        queue = queue_of((dst, src), gpu, stream)
    _copy_bytes(queue, plan_of(plan), ends[0].address, ends[1].address, ends[0].size_bytes)
    return dst


def copy_blocks(
    dst_pointers: Any, src_pointers: Any, sizes: Any, *, stream: object = None, plan: PlanArgument = None
) -> None:
    """Enqueues copies of blocks, each from its own address to its own address.

    The order in which blocks are copied is not defined: those that overlap others are refused. Source and
    destination of every block must stay valid until the stream has done the copy. The arrays of pointers and
    sizes are read during the call only; a graph that captures it repeats the same addresses.

    Args:
        dst_pointers: Addresses of destinations: a tensor or array of int64 or uint64 in host memory.
        src_pointers: Addresses of sources, as many.
        sizes: Bytes of each block, as many; or a number: that of every block.
        stream: A stream of PyTorch or CuPy, or its handle; None: the current one of the arrays' package.
        plan: An open plan or its file; None: BYTEWAYS_PLAN, or this host's plan in the cache.

    Raises:
        BytewaysError: The arrays are not of such a kind, or differ in length, or a size is negative.
        CopyError: The library or the driver refuses the copy.
    """
    copy_blocks_on(None, dst_pointers, src_pointers, sizes, stream, plan)


def copy_blocks_on(
    gpu: int | None,
    dst_pointers: Any,
    src_pointers: Any,
    sizes: Any,
    stream: object = None,
    plan: PlanArgument = None,
) -> None:
    """copy_blocks() by a GPU, given by its number in this process; None: the current one."""
    dst, count = _numbers("dst_pointers", dst_pointers)
    src, sources = _numbers("src_pointers", src_pointers)
    one_size = isinstance(sizes, Integral)
    blocks, number = (int(sizes), count) if one_size else _numbers("sizes", sizes)
    if not count == sources == number:
        raise BytewaysError(
            "the blocks to copy differ in number",
            cause=f"{count} destinations, {sources} sources" + ("" if one_size else f", {number} sizes"),
            hint="pass one of each for every block",
        )
    if (smallest := blocks if one_size else _smallest(sizes)) < 0:
        raise BytewaysError(f"a block to copy has {smallest} bytes", hint="pass sizes of 0 or more")
    queue = queue_of((dst_pointers, src_pointers, sizes), gpu, stream)
    function = "bw_copy_blocks_uniform" if one_size else "bw_copy_blocks"
    _call(queue, plan_of(plan), function, dst, src, blocks, count)


def swap_blocks_batch(
    src_ptrs: Any, dst_ptrs: Any, sizes: Any, is_src_access_order_any: bool = False
) -> None:
    """Takes the place of vLLM's `_custom_ops.swap_blocks_batch`, **sources first** as there.

    Args:
        src_ptrs: Addresses of sources, int64 in host memory.
        dst_ptrs: Addresses of destinations.
        sizes: Bytes of each block.
        is_src_access_order_any: Accepted, and not made use of: sources are read in the order of the stream.

    Raises:
        BytewaysError: As for copy_blocks().
    """
    copy_blocks(dst_ptrs, src_ptrs, sizes)


def _copy_tensors(torch: Any, dst: Any, src: Any, stream: object, plan: PlanArgument) -> Any:
    on_gpu = dst if dst.is_cuda else src
    if not is_plain_pair(torch, dst, src):
        with in_stream(torch, stream if on_gpu.is_cuda else None, on_gpu):
            return dst.copy_(src, non_blocking=True)
    queue, opened = queue_of((dst,), on_gpu.device.index, stream), plan_of(plan)
    copy_tensor(torch, dst, src, stream, lambda *ends: _copy_bytes(queue, opened, *ends))
    return dst


def _copy_bytes(queue: CopyQueue, plan: OpenPlan | None, dst: int, src: int, size_bytes: int) -> None:
    _call(queue, plan, "bw_copy", dst, src, size_bytes)


def _call(queue: CopyQueue, plan: OpenPlan | None, function: str, *arguments: int) -> None:
    """Calls a function that copies, with the GPU current and the plan prepared for it."""
    with queue.scope:
        if plan is not None and queue.gpu is not None:
            plan.prepare_once(queue.gpu, queue.capturing)
        handle = None if plan is None else plan.handle
        copy_library().checked_call("the copy failed", function, *arguments, queue.stream, handle)


def _check_pair(dst: ArrayMemory, src: ArrayMemory) -> None:
    """Raises BytewaysError unless the bytes of one array can become those of the other."""
    if (dst.shape, dst.dtype) != (src.shape, src.dtype):
        raise BytewaysError(
            "the arrays to copy differ",
            cause=f"destination {dst.dtype}{list(dst.shape)}, source {src.dtype}{list(src.shape)}",
            hint="convert or reshape one of them first",
        )
    for name, array in (("destination", dst), ("source", src)):
        if not array.contiguous:
            raise BytewaysError(
                f"the {name} of the copy is in several pieces",
                cause=f"shape {list(array.shape)}, strides {list(array.strides or ())}",
                hint="pass a contiguous array, or its pieces to copy_blocks",
            )
    if not dst.writable:
        raise BytewaysError(
            "the destination of the copy is read-only", hint="pass an array that can be written"
        )


def _numbers(name: str, array: Any) -> tuple[int, int]:
    """Returns address and length of an array of pointers or sizes.

    Raises:
        BytewaysError: It is no such array.
    """
    if _is_plain_tensor_of_numbers(array):
        return array.data_ptr(), array.numel()
    found = memory_of(array)
    if found.dtype not in _POINTER_TYPES or found.on_gpu or not found.contiguous:
        place = "of a GPU" if found.on_gpu else "of the host"
        pieces = "" if found.contiguous else " in several pieces"
        raise BytewaysError(
            f"{name} is no array of numbers that a block copy can take",
            cause=f"{found.dtype}{list(found.shape)}{pieces} in memory {place}",
            hint="pass a contiguous array or tensor of int64 in host memory",
        )
    return found.address, found.count


def _is_plain_tensor_of_numbers(array: Any) -> bool:
    """Whether no more need be known of pointers, which takes a fifth of the time of memory_of()."""
    torch = torch_module()
    if torch is None or type(array) is not torch.Tensor or array.dtype is not torch.int64:
        return False
    return bool(array.device.type == "cpu" and array.is_contiguous())


def _smallest(sizes: Any) -> int:
    """Returns the smallest of the sizes, 0 if there are none."""
    torch = torch_module()
    if torch is not None and isinstance(sizes, torch.Tensor):
        return int(sizes.min()) if sizes.numel() else 0
    values = memoryview(sizes)
    return int(sizes.min()) if hasattr(sizes, "min") and values.nbytes else min(values, default=0)
