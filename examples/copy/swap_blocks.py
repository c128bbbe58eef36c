"""Swaps blocks of a KV cache between host and GPU memory by byteways.copy_blocks, and checks every byte.

    python swap_blocks.py [machine.plan]      (byteways plan --measure -o machine.plan)

The same as swap_blocks.c, in Python without a package for GPUs: memory and stream are the CUDA driver's own.
swap_cache.py is the example for PyTorch.
"""

from __future__ import annotations

import ctypes
import os
import sys
from array import array

import byteways

BLOCKS, BLOCK_BYTES = 24, 16384
PLACES = 2 * BLOCKS


class Driver:
    """The functions of the CUDA driver that the example needs, with GPU 0 current."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ.get("BYTEWAYS_LIBCUDA", "libcuda.so.1"))
        self._call("cuInit", 0)
        self._call("cuCtxSetCurrent", ctypes.c_void_p(self._made("cuDevicePrimaryCtxRetain", 0)))

    def _call(self, name: str, *arguments: object) -> None:
        if code := getattr(self._library, name)(*arguments):
            raise SystemExit(f"{name}: error {code} of the driver")

    def _made(self, name: str, *arguments: object) -> int:
        """What a function writes to its first argument: an address or a handle."""
        made = ctypes.c_void_p()
        self._call(name, ctypes.byref(made), *arguments)
        return made.value or 0

    def pinned(self, size: int) -> int:
        return self._made("cuMemHostAlloc", ctypes.c_size_t(size), 0)

    def device(self, size: int) -> int:
        return self._made("cuMemAlloc_v2", ctypes.c_size_t(size))

    def stream(self) -> int:
        return self._made("cuStreamCreate", 1)

    def synchronize(self, stream: int) -> None:
        self._call("cuStreamSynchronize", ctypes.c_void_p(stream))


def main() -> int:
    driver = Driver()
    stream = driver.stream()
    host, cache = driver.pinned(PLACES * BLOCK_BYTES), driver.device(PLACES * BLOCK_BYTES)
    plan = byteways.open_plan(sys.argv[1]) if len(sys.argv) > 1 else None

    # Block k lies at place k on the host, and at any place in the cache.
    data = b"".join(bytes([block + 1]) * BLOCK_BYTES for block in range(BLOCKS))
    ctypes.memmove(host, data, len(data))
    saved = array("q", (host + block * BLOCK_BYTES for block in range(BLOCKS)))
    cached = array("q", (cache + (7 * block + 3) % PLACES * BLOCK_BYTES for block in range(BLOCKS)))
    back = array("q", (host + (BLOCKS + block) * BLOCK_BYTES for block in range(BLOCKS)))

    # Both are enqueued; the second begins when the first is done, because they are of one stream.
    byteways.copy_blocks(cached, saved, BLOCK_BYTES, stream=stream, plan=plan)
    byteways.copy_blocks(back, cached, BLOCK_BYTES, stream=stream, plan=plan)
    driver.synchronize(stream)

    read = [b"".join(ctypes.string_at(at, BLOCK_BYTES) for at in each) for each in (saved, back)]
    right = sum(
        read[0][at : at + BLOCK_BYTES] == read[1][at : at + BLOCK_BYTES]
        for at in range(0, len(data), BLOCK_BYTES)
    )
    print(f"{right} of {BLOCKS} blocks are right")
    if plan is not None:
        counts = plan.statistics()
        for method, calls in counts.calls.items():
            if calls:
                print(f"{method}: {calls} calls, {counts.bytes[method]} bytes")
        plan.close()
    return 0 if right == BLOCKS else 1


if __name__ == "__main__":
    sys.exit(main())
