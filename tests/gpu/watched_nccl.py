"""A program of two ranks of PyTorch that sum known numbers of bytes by NCCL, for test_watch_nccl.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: Bytes of one sum of each kind, and how many there are.
SMALL, LARGE, COUNT, RANKS = 4_096, 64 << 20, 20, 2


def rank(number: int, meeting: str) -> None:
    """Sums as one rank."""
    import torch
    import torch.distributed as dist

    gpu = torch.device(f"cuda:{number}")
    dist.init_process_group(
        "nccl", init_method=f"file://{meeting}", rank=number, world_size=RANKS, device_id=gpu
    )
    for size in (SMALL, LARGE):
        data = torch.ones(size // 4, device=gpu)
        for _ in range(COUNT):
            dist.all_reduce(data)
        assert float(data[-1]) == RANKS**COUNT
    torch.cuda.synchronize()
    dist.destroy_process_group()


def main() -> int:
    """Starts the ranks, each a process; returns the first status that is not zero."""
    if len(sys.argv) == 3:
        rank(int(sys.argv[1]), sys.argv[2])
        return 0
    meeting = str(Path(sys.argv[1]).resolve())
    ranks = [
        subprocess.Popen([sys.executable, "-m", "tests.gpu.watched_nccl", str(one), meeting])
        for one in range(RANKS)
    ]
    return next((status for status in [one.wait() for one in ranks] if status), 0)


if __name__ == "__main__":
    sys.exit(main())
