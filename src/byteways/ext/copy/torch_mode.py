"""What `with byteways.fast_copies():` intercepts: large copies between pinned memory and a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from byteways.ext.copy.copies import copy_
from byteways.ext.copy.plans import OpenPlan
from byteways.ext.copy.torch_tensors import is_plain_pair


class FastCopies(TorchFunctionMode):  # type: ignore[misc]
    """A mode of PyTorch: each thread has a stack of them, so they nest, and end with their block.

    Args:
        plan: What knows the fastest method.
        least_bytes: Smaller copies are PyTorch's.
    """

    def __init__(self, plan: OpenPlan, least_bytes: int) -> None:
        super().__init__()
        self._plan, self._least_bytes = plan, least_bytes

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func in _INTERCEPTED and not torch.compiler.is_compiling():
            copied = self._copied(func, args, kwargs)
            if copied is not None:
                return copied
        return func(*args, **kwargs)

    def _copied(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Does a copy with the library; None: it is left to PyTorch."""
        if func is torch.Tensor.copy_:
            pair = _ends_of_copy(self._least_bytes, *args[:2]) if len(args) >= 2 else None
        else:
            pair = _ends_of_move(self._least_bytes, func, args, kwargs)
        if pair is None:
            return None
        dst, src = pair
        copy_(dst, src, plan=self._plan)
        if not _non_blocking(args, kwargs):
            torch.cuda.current_stream(dst.device if dst.is_cuda else src.device).synchronize()
        return dst


#: Tensor.cpu() and moves to the CPU make pageable memory, for which no method is faster.
_INTERCEPTED = {torch.Tensor.copy_, torch.Tensor.to, torch.Tensor.cuda}


def _ends_of_copy(least_bytes: int, dst: Any, src: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Returns destination and source of Tensor.copy_ if the library shall copy."""
    if not isinstance(src, torch.Tensor) or not _is_large(dst, least_bytes) or dst.is_cuda == src.is_cuda:
        return None
    host = src if dst.is_cuda else dst
    return (dst, src) if is_plain_pair(torch, dst, src) and host.is_pinned() else None


def _ends_of_move(
    least_bytes: int, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Returns a new destination and the source of Tensor.to and Tensor.cuda if the library shall copy.

    PyTorch parses the arguments: a move of no element shows the device and the type of the result.
    """
    src = args[0]
    if not _is_large(src, least_bytes) or src.is_cuda or kwargs.get("memory_format") is not None:
        return None
    if not src.is_contiguous() or not src.is_pinned():
        return None
    none = func(src.detach().view(-1)[:0], *args[1:], **kwargs)
    if not none.is_cuda or none.dtype != src.dtype:
        return None
    dst = torch.empty_like(src, device=none.device, requires_grad=False)
    return (dst, src) if is_plain_pair(torch, dst, src) else None


def _is_large(tensor: Any, least_bytes: int) -> bool:
    return isinstance(tensor, torch.Tensor) and tensor.numel() * tensor.element_size() >= least_bytes


def _non_blocking(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether the call may return before its copy is done: the first flag in every form of these calls."""
    return bool(kwargs.get("non_blocking", next((each for each in args if isinstance(each, bool)), False)))
