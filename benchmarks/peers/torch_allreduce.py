"""PyTorch's all-reduce over NCCL (or RCCL), which byteways' is compared with. Needs PyTorch alone.

    python torch_allreduce.py --library
    mpiexec -n N python torch_allreduce.py --port PORT SIZE [SIZE …]

`--library` prints the file of the library that PyTorch loads, and its version. Otherwise each rank has the
GPU of its number and sums 64-bit integers in place, which PyTorch always does; byteways has another buffer
for the result. Operations of a batch are enqueued back to back between two events, and the last one is waited
for. Rank 0 prints, as a line of JSON, the library and for each size in bytes the nanoseconds of one operation
in each batch, of the slowest rank.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

#: Operations of a batch: at 16 MiB on two GPUs over NVLink about 2.5 ms, as long as a batch of byteways.
OPERATIONS = 32
BATCHES, WARM_UP = 30, 5
WORD_BYTES = 8
#: Where launchers tell a process its number and how many there are.
RANKS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
_FILE = re.compile(r"/\S*/lib[nr]ccl\.so[\w.]*$", re.MULTILINE)


def rank_and_size(environment: Mapping[str, str]) -> tuple[int, int]:
    """Number of this process and how many there are.

    Raises:
        SystemExit: No launcher has told it.
    """
    for rank, size in RANKS:
        if rank in environment and size in environment:
            return int(environment[rank]), int(environment[size])
    raise SystemExit(f"no launcher tells the rank: none of {', '.join(rank for rank, _ in RANKS)} is set")


def library_in(maps: str) -> str:
    """The file of NCCL or RCCL that a process has loaded.

    Args:
        maps: /proc/self/maps.

    Raises:
        SystemExit: It has none, or several.
    """
    found = sorted(set(_FILE.findall(maps)))
    if len(found) != 1:
        raise SystemExit(f"PyTorch has loaded {' and '.join(found) or 'no library of NCCL or RCCL'}")
    return str(found[0])


def loaded_library() -> dict[str, Any]:
    """`library`, the file, and `version`, as ncclGetVersion gives it."""
    file = library_in(Path("/proc/self/maps").read_text(encoding="utf-8"))
    version = ctypes.c_int()
    if ctypes.CDLL(file).ncclGetVersion(ctypes.byref(version)) != 0:
        raise SystemExit(f"{file} does not tell its version")
    return {"library": file, "version": version.value}


def times_of(torch: Any, size: int, ranks: int) -> list[float]:
    """Nanoseconds of one operation in each batch, of the slowest rank.

    Args:
        torch: The module, with its group of processes begun.
        size: Bytes of each rank's data.
        ranks: How many there are.
    """
    distributed, cuda = torch.distributed, torch.cuda
    data = torch.ones(size // WORD_BYTES, dtype=torch.int64, device="cuda")
    distributed.all_reduce(data)
    if not bool((data == ranks).all()):
        raise SystemExit("a sum of PyTorch's all-reduce is wrong")
    data.zero_()  # so that sums in place stay what they are
    begin, end = (cuda.Event(enable_timing=True) for _ in range(2))
    batches = []
    for _ in range(WARM_UP + BATCHES):
        cuda.synchronize()
        distributed.barrier()
        begin.record()
        works = [distributed.all_reduce(data, async_op=True) for _ in range(OPERATIONS)]
        works[-1].wait()
        end.record()
        end.synchronize()
        batches.append(begin.elapsed_time(end) * 1e6 / OPERATIONS)
    slowest = torch.tensor(batches[WARM_UP:], dtype=torch.float64, device="cuda")
    distributed.all_reduce(slowest, op=distributed.ReduceOp.MAX)
    return [float(value) for value in slowest.tolist()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", action="store_true", help="print the library that PyTorch loads")
    parser.add_argument("--port", type=int, help="where rank 0 listens for the others")
    parser.add_argument("sizes", type=int, nargs="*", help="in bytes")
    arguments = parser.parse_args()
    if not arguments.library and (arguments.port is None or not arguments.sizes):
        parser.error("a run needs --port and sizes")
    torch: Any = import_module("torch")
    if arguments.library:
        print(json.dumps(loaded_library()))
        return 0
    rank, ranks = rank_and_size(os.environ)
    torch.cuda.set_device(rank)
    address = f"tcp://127.0.0.1:{arguments.port}"
    torch.distributed.init_process_group("nccl", init_method=address, rank=rank, world_size=ranks)
    times = {str(size): times_of(torch, size, ranks) for size in arguments.sizes}
    if rank == 0:
        print(json.dumps({**loaded_library(), "times_ns": times}), flush=True)
    torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
