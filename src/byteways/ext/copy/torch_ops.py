"""Importing this module registers `torch.ops.byteways.copy_blocks` and `swap_blocks`.

They work in programs that torch.compile compiles: it neither traces them, nor removes them as dead code.
"""

from __future__ import annotations

import torch

from byteways.base.errors import BytewaysError
from byteways.ext.copy.copies import copy_blocks, copy_blocks_on

NAMESPACE = "byteways"
#: The operators live as long as this object.
_OPERATORS = torch.library.Library(NAMESPACE, "FRAGMENT")
_TAGS = (torch.Tag.pt2_compliant_tag,)


def _copy_blocks(dst_pointers: torch.Tensor, src_pointers: torch.Tensor, sizes: torch.Tensor) -> None:
    copy_blocks(dst_pointers, src_pointers, sizes)


def _swap_blocks(
    src: torch.Tensor, dst: torch.Tensor, block_size_in_bytes: int, block_mapping: torch.Tensor
) -> None:
    """Copies block `block_mapping[k, 0]` of `src` to block `block_mapping[k, 1]` of `dst`, for each k.

    Both tensors consist of consecutive blocks of a size in bytes. `block_mapping` is int64 [n, 2] in host
    memory, as for vLLM's operator of this name.
    """
    if block_mapping.dim() != 2 or block_mapping.shape[1] != 2 or block_mapping.is_cuda:
        raise BytewaysError(
            "block_mapping is no list of pairs of block numbers",
            cause=f"shape {list(block_mapping.shape)} on {block_mapping.device}",
            hint="pass a tensor of int64 [n, 2] in host memory: source and destination of each block",
        )
    numbers = block_mapping.to(torch.int64)
    dst_pointers, src_pointers = (
        _pointers(end, tensor, block_size_in_bytes, column)
        for end, tensor, column in (("destination", dst, numbers[:, 1]), ("source", src, numbers[:, 0]))
    )
    gpu = next((end.device.index for end in (dst, src) if end.is_cuda), None)
    copy_blocks_on(gpu, dst_pointers, src_pointers, block_size_in_bytes)


def _pointers(end: str, tensor: torch.Tensor, block_bytes: int, numbers: torch.Tensor) -> torch.Tensor:
    """Returns the addresses of blocks of a tensor.

    Raises:
        BytewaysError: The tensor is in several pieces, or has no such blocks.
    """
    blocks = tensor.numel() * tensor.element_size() // max(block_bytes, 1) if tensor.is_contiguous() else 0
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < blocks:
        raise BytewaysError(
            f"block_mapping names blocks outside the {end}",
            cause=f"blocks {int(numbers.min())} to {int(numbers.max())} of {blocks} in one piece",
            hint="pass a contiguous tensor, and numbers of blocks inside it",
        )
    return numbers * block_bytes + tensor.data_ptr()


def _register(schema: str, function: object) -> None:
    """Defines an operator that does the same for every device, and nothing on fake tensors."""
    _OPERATORS.define(schema, tags=_TAGS)
    name = schema.partition("(")[0]
    _OPERATORS.impl(name, function, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{NAMESPACE}::{name}", lambda *_arguments: None, lib=_OPERATORS)


def _keep(name: str) -> None:
    """Has compiled programs keep an operator that returns nothing and changes no tensor they know of.

    ORDERED, which newer versions of PyTorch have, also keeps calls of it in their order.
    """
    try:
        from torch._library.effects import EffectType

        torch.library._register_effectful_op(f"{NAMESPACE}::{name}", EffectType.ORDERED)
    except (ImportError, AttributeError):
        torch.fx.node.has_side_effect(getattr(torch.ops.byteways, name).default)


_register("copy_blocks(Tensor dst_pointers, Tensor src_pointers, Tensor sizes) -> ()", _copy_blocks)
_keep("copy_blocks")
_register(
    "swap_blocks(Tensor src, Tensor(a!) dst, int block_size_in_bytes, Tensor block_mapping) -> ()",
    _swap_blocks,
)
