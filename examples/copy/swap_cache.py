"""Saves blocks of a KV cache of PyTorch tensors to pinned memory, and loads them back, in its own stream.

    python swap_cache.py [machine.plan]      (byteways plan --measure -o machine.plan)

The cache has vLLM's layout: for each layer a tensor [2, blocks, tokens, heads, head size]. Without an
argument the plan is that of BYTEWAYS_PLAN, or of this host in the cache; without one the driver copies.
"""

from __future__ import annotations

import sys

import torch

import byteways

LAYERS, BLOCKS, TOKENS, HEADS, HEAD_SIZE = 4, 64, 16, 8, 128
SHAPE = (2, BLOCKS, TOKENS, HEADS, HEAD_SIZE)


def pointers(tensors: list[torch.Tensor], numbers: list[int]) -> torch.Tensor:
    """Addresses of these blocks of all layers, keys and values: int64 in host memory."""
    offsets = torch.tensor(numbers) * tensors[0].stride(1) * tensors[0].element_size()
    return torch.cat([offsets + half.data_ptr() for tensor in tensors for half in tensor])


def main() -> int:
    plan = byteways.open_plan(sys.argv[1]) if len(sys.argv) > 1 else None
    cache = [torch.randn(SHAPE, dtype=torch.bfloat16, device="cuda") for _ in range(LAYERS)]
    host = [torch.empty(SHAPE, dtype=torch.bfloat16, pin_memory=True) for _ in range(LAYERS)]
    before = [tensor.clone() for tensor in cache]
    cached, saved = list(range(0, BLOCKS, 3)), list(range(BLOCKS // 3 + 1))
    on_gpu, on_host = pointers(cache, cached), pointers(host, saved)
    block_bytes = cache[0].stride(1) * cache[0].element_size()

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())  # the cache must have been written
    with torch.cuda.stream(stream):
        byteways.copy_blocks(on_host, on_gpu, block_bytes, plan=plan)
        for tensor in cache:
            tensor[:, cached] = 0  # as if other requests had used the blocks
        byteways.copy_blocks(on_gpu, on_host, block_bytes, plan=plan)
    torch.cuda.current_stream().wait_stream(stream)

    right = all(torch.equal(*pair) for pair in zip(cache, before, strict=True))
    print(
        f"{len(on_gpu)} blocks of {block_bytes} bytes were saved and loaded: {'right' if right else 'wrong'}"
    )
    if plan is not None:
        print({method: calls for method, calls in plan.statistics().calls.items() if calls})
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
