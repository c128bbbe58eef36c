"""Copies between tensors of PyTorch: which pairs the library may copy, and what PyTorch must know of it.

Only called where PyTorch is loaded; `torch` is its module.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from byteways.ext.copy.frameworks import handle_of


def is_plain_pair(torch: Any, dst: Any, src: Any) -> bool:
    """Whether a copy between two tensors is a copy of bytes and nothing more.

    Subclasses, conversions, broadcasts, strides, lazy conjugation, gradients, and copies within host memory
    are left to PyTorch.
    """
    return (
        (dst.is_cuda or src.is_cuda)
        and dst.shape == src.shape
        and dst.dtype == src.dtype
        and all(_is_plain(torch, tensor) for tensor in (dst, src))
        and not (torch.is_grad_enabled() and (dst.requires_grad or src.requires_grad))
    )


def _is_plain(torch: Any, tensor: Any) -> bool:
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.device.type in ("cpu", "cuda")
        and tensor.layout == torch.strided
        and tensor.is_contiguous()
        and not tensor.is_conj()
        and not tensor.is_neg()
    )


def copy_tensor(
    torch: Any, dst: Any, src: Any, stream: object, copy: Callable[[int, int, int], None]
) -> None:
    """Copies the bytes of a plain pair by `copy(dst, src, size_bytes)`, with PyTorch's rules for streams.

    Between two GPUs the copy waits for the current stream of the source's GPU, and that stream for the copy,
    as in Tensor.copy_. Where the caller gives the stream, this is left to the caller.
    """
    both_on_gpus = dst.is_cuda and src.is_cuda and dst.device != src.device
    streams = [torch.cuda.current_stream(end.device) for end in (dst, src)] if both_on_gpus else []
    if streams and stream is None:
        streams[0].wait_stream(streams[1])
    copy(dst.data_ptr(), src.data_ptr(), dst.numel() * dst.element_size())
    if streams and stream is None:
        streams[1].wait_stream(streams[0])
    _note_copy(torch, dst, src, stream)


def _note_copy(torch: Any, dst: Any, src: Any, stream: object) -> None:
    """Lets PyTorch know that a tensor was written, and until when its pinned memory is in use.

    PyTorch gives pinned memory to the next tensor once the events are over that its own copies record, and it
    cannot be told of others. A copy of one element behind the library's copy records one in the same stream.
    """
    pinned = next((end for end in (dst, src) if not end.is_cuda and end.is_pinned()), None)
    if pinned is None or dst.numel() == 0:
        torch.autograd.graph.increment_version(dst)
        return
    with torch.no_grad(), in_stream(torch, stream, dst if dst.is_cuda else src):
        dst.view(-1)[:1].copy_(src.view(-1)[:1], non_blocking=True)


def in_stream(torch: Any, stream: Any, on_gpu: Any) -> Any:
    """Returns a context in which PyTorch's current stream is the one that the caller gave, if any.

    Args:
        torch: PyTorch.
        stream: PyTorch's, a handle, or None.
        on_gpu: A tensor on the stream's GPU.
    """
    if stream is None:
        return nullcontext()
    if not isinstance(stream, torch.cuda.Stream):
        stream = torch.cuda.ExternalStream(handle_of(stream), device=on_gpu.device)
    return torch.cuda.stream(stream)
