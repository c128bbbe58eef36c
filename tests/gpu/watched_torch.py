"""A program of PyTorch that copies known numbers of bytes, for test_watch.py: sizes that nothing else has."""

from __future__ import annotations

import os
import signal
import sys

import torch

#: Bytes of one copy of each kind, and how many there are.
PAGEABLE_UP, PINNED_UP, PINNED_DOWN, WITHIN = 1_048_832, 2_097_664, 2_097_920, 4_194_816
COUNT = 50


#: Size of the copies of beside(), and the kernels that are enqueued before them.
BESIDE, KERNELS = 67_110_912, 60


def beside() -> None:
    """Copies from pinned memory while kernels run on another stream, and as often while none does."""
    gpu = torch.device("cuda:0")
    pinned = torch.ones(BESIDE, dtype=torch.uint8).pin_memory()
    target = torch.empty(BESIDE, dtype=torch.uint8, device=gpu)
    alone = torch.empty(BESIDE + 4096, dtype=torch.uint8, device=gpu)
    pinned_alone = torch.ones(BESIDE + 4096, dtype=torch.uint8).pin_memory()
    matrix = torch.ones((8192, 8192), device=gpu)
    other = torch.cuda.Stream()
    torch.mm(matrix, matrix)
    torch.cuda.synchronize()
    for _ in range(COUNT):
        alone.copy_(pinned_alone, non_blocking=True)
    torch.cuda.synchronize()
    with torch.cuda.stream(other):
        for _ in range(KERNELS):
            torch.mm(matrix, matrix)
    for _ in range(COUNT):
        target.copy_(pinned, non_blocking=True)
    torch.cuda.synchronize()
    print("done", flush=True)


def main() -> None:
    """Copies; with the argument `kill` ends itself a while later."""
    gpu = torch.device("cuda:0")
    pageable = torch.ones(PAGEABLE_UP, dtype=torch.uint8)
    pinned = torch.ones(PINNED_UP, dtype=torch.uint8).pin_memory()
    below = torch.empty(PINNED_DOWN, dtype=torch.uint8).pin_memory()
    targets = {size: torch.empty(size, dtype=torch.uint8, device=gpu) for size in (PAGEABLE_UP, PINNED_UP)}
    source = torch.zeros(PINNED_DOWN, dtype=torch.uint8, device=gpu)
    within = torch.zeros(WITHIN, dtype=torch.uint8, device=gpu)
    other = torch.empty_like(within)
    for _ in range(COUNT):
        targets[PAGEABLE_UP].copy_(pageable)
        targets[PINNED_UP].copy_(pinned, non_blocking=True)
        below.copy_(source, non_blocking=True)
        other.copy_(within)
    torch.cuda.synchronize()
    assert int(targets[PINNED_UP].sum()) == PINNED_UP
    print("done", flush=True)
    if sys.argv[1:] == ["kill"]:
        torch.cuda.synchronize()
        signal.sigtimedwait([signal.SIGUSR1], 3)  # longer than the period of flushes and a snapshot
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    beside() if sys.argv[1:] == ["beside"] else main()
