"""Swaps a KV cache between a GPU and pinned memory beside matrix products, by four methods in turns.

    python benchmarks/kv_swap.py [--plan machine.plan] [--layers 32] [--kv-heads 8 2] [--swapped 64]

The cache has vLLM's layout: for each layer a tensor [2, blocks, tokens, heads, head size] on the GPU, and one
in pinned memory. A step swaps the same random blocks of all layers in or out in a stream of its own, and
enqueues matrix products in another one. The methods:

- loop: a copy_ for each block
- batch: one cuMemcpyBatchAsync, its sources in any order when swapping in, as in vLLM
- triton: a kernel (peers/triton_blocks.py), with vLLM's number of programs for an H100
- byteways: byteways.copy_blocks with a plan

The lists of addresses are prepared, as they are the same for the last three. Printed are medians over rounds,
in which the methods come in random order, with 95 % intervals: of the whole step, of the swap in its stream
(which waits for the call), of the call, and of the products. Then the ratio of each method's step and swap to
byteways', round by round. Methods write every block of the first and the last round correctly, or are named
corrupt and end the program with status 1. Takes about 30 s on an H100; needs PyTorch, and Triton for its
method.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

import byteways
from byteways.ext.copy.plans import plan_of
from peer_runs import interval_of_median, ratio_text

#: Elements as large as those of bfloat16, of which every pattern equals itself.
CACHE_TYPE = torch.int16
WARM_UP_ROUNDS = 2
IN, OUT = "in", "out"
OURS = "byteways"
NO_SWAP = "no swap"
#: CUmemcpySrcAccessOrder.
ORDER_OF_STREAM, ANY_ORDER = 1, 3
#: What a step takes, as its columns.
STEP, SWAP, CALL, PRODUCTS = COLUMNS = ("step", "swap", "call", "products")


@dataclass
class Transfer:
    """Blocks to swap in one direction.

    Attributes:
        direction: `in` (to the GPU) or `out`.
        pairs: Destination and source tensor of each layer.
        numbers: Numbers of the blocks in destination and source.
        pointers: Addresses of destinations and sources, int64 in pinned memory.
        sizes: Bytes of each block, the same.
        block_bytes: Each of them.
    """

    direction: str
    pairs: list[tuple[torch.Tensor, torch.Tensor]]
    numbers: tuple[list[int], list[int]]
    pointers: tuple[torch.Tensor, torch.Tensor]
    sizes: torch.Tensor
    block_bytes: int


Method = Callable[[Transfer], None]


def transfers_of(caches: list[Any], hosts: list[Any], swapped: int) -> list[Transfer]:
    """Both directions: a random choice of blocks on each side, the same for all layers.

    No block is swapped both ways, so that sources keep their data.

    Args:
        caches: Tensors of the GPU by layer.
        hosts: Tensors in pinned memory by layer.
        swapped: Blocks of each layer and direction.
    """
    on_gpu, on_host = (random.sample(range(caches[0].shape[1]), 2 * swapped) for _ in range(2))
    return [
        transfer_of(IN, (caches, hosts), (on_gpu[:swapped], on_host[:swapped])),
        transfer_of(OUT, (hosts, caches), (on_host[swapped:], on_gpu[swapped:])),
    ]


def transfer_of(
    direction: str, ends: tuple[list[Any], list[Any]], numbers: tuple[list[int], list[int]]
) -> Transfer:
    """A transfer of blocks of these numbers. Args: ends: destinations and sources, by layer."""
    caches = ends[0]
    block_bytes = caches[0][0, 0].numel() * caches[0].element_size()
    pointers = []
    for tensors, chosen in zip(ends, numbers, strict=True):
        offsets = torch.tensor(chosen, dtype=torch.int64) * block_bytes
        parts = [offsets + tensor[half].data_ptr() for tensor in tensors for half in (0, 1)]
        pointers.append(torch.cat(parts).pin_memory())
    sizes = torch.full((len(pointers[0]),), block_bytes, dtype=torch.int64).pin_memory()
    pairs = list(zip(*ends, strict=True))
    return Transfer(direction, pairs, numbers, tuple(pointers), sizes, block_bytes)


def loop(transfer: Transfer) -> None:
    for destination, source in transfer.pairs:
        for half in (0, 1):
            for to, at in zip(*transfer.numbers, strict=True):
                destination[half, to].copy_(source[half, at], non_blocking=True)


class _Attributes(ctypes.Structure):
    """CUmemcpyAttributes."""

    _fields_ = (
        ("order", ctypes.c_int),
        ("locations", ctypes.c_int * 4),
        ("flags", ctypes.c_uint),
    )


def batch_method() -> Method:
    """One call of the driver for all blocks.

    Raises:
        OSError: There is no driver.
        AttributeError: It is older than CUDA 12.8.
    """
    driver = ctypes.CDLL("libcuda.so.1")
    newer = hasattr(driver, "cuMemcpyBatchAsync_v2")  # CUDA 13; the older one also names what failed
    call = driver.cuMemcpyBatchAsync_v2 if newer else driver.cuMemcpyBatchAsync
    last = (ctypes.c_void_p,) if newer else (ctypes.c_void_p, ctypes.c_void_p)
    address, size = ctypes.c_void_p, ctypes.c_size_t
    call.argtypes = (address, address, address, size, address, address, size, *last)
    call.restype = ctypes.c_int

    def batch(transfer: Transfer) -> None:
        attributes = _Attributes(order=ANY_ORDER if transfer.direction == IN else ORDER_OF_STREAM)
        first, failed = size(0), size(0)
        destinations, sources = (each.data_ptr() for each in transfer.pointers)
        arguments = [destinations, sources, transfer.sizes.data_ptr(), len(transfer.sizes)]
        arguments += [ctypes.addressof(attributes), ctypes.addressof(first), 1]
        arguments += [] if newer else [ctypes.addressof(failed)]
        if code := call(*arguments, torch.cuda.current_stream().cuda_stream):
            raise RuntimeError(f"cuMemcpyBatchAsync returned {code}")

    return batch


def triton_method(programs: int) -> Method:
    """The kernel, whose lists of addresses go to the GPU's memory first.

    Raises:
        ImportError: Triton is not installed.
    """
    from peers.triton_blocks import copy_blocks

    def kernel(transfer: Transfer) -> None:
        destinations, sources = (each.to("cuda", non_blocking=True) for each in transfer.pointers)
        copy_blocks(sources, destinations, transfer.block_bytes, programs)

    return kernel


def own_method(plan: byteways.OpenPlan | None) -> Method:
    def own(transfer: Transfer) -> None:
        byteways.copy_blocks(*transfer.pointers, transfer.sizes, plan=plan)

    return own


class Steps:
    """Steps of a program: a swap beside matrix products."""

    def __init__(self, size: int, count: int) -> None:
        """Args: size: rows and columns of a matrix; count: products of a step."""
        self._count = count
        self._left, self._right, self._product = (
            torch.randn(size, size, dtype=torch.bfloat16, device="cuda") for _ in range(3)
        )
        self._stream = torch.cuda.Stream()
        self._marks = [torch.cuda.Event(enable_timing=True) for _ in range(4)]

    def take(self, method: Method | None, transfer: Transfer) -> dict[str, float]:
        """Milliseconds of a step by column; without a method, of the products alone."""
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.cuda.stream(self._stream):
            self._marks[0].record()
            if method is not None:
                method(transfer)
            self._marks[1].record()
        called = time.perf_counter()
        self._marks[2].record()
        for _ in range(self._count):
            torch.mm(self._left, self._right, out=self._product)
        self._marks[3].record()
        torch.cuda.synchronize()
        end = time.perf_counter()
        swap, products = (self._marks[at].elapsed_time(self._marks[at + 1]) for at in (0, 2))
        return {STEP: 1e3 * (end - begin), SWAP: swap, CALL: 1e3 * (called - begin), PRODUCTS: products}


def poison(transfer: Transfer) -> None:
    """Overwrites the blocks that will be written; sources have no zeros."""
    for destination, _ in transfer.pairs:
        destination[:, transfer.numbers[0]] = 0
    torch.cuda.synchronize()


def is_correct(transfer: Transfer) -> bool:
    """Whether every block is equal in both memories."""
    to, at = transfer.numbers
    return all(
        torch.equal(destination[:, to].cuda(), source[:, at].cuda()) for destination, source in transfer.pairs
    )


def random_caches(arguments: argparse.Namespace, heads: int) -> tuple[list[Any], list[Any]]:
    """Tensors of all layers on the GPU and in pinned memory, of random data without zeros."""
    shape = (2, arguments.blocks, arguments.block_tokens, heads, arguments.head_size)

    def data() -> torch.Tensor:
        return torch.randint(1, 2**15, shape, dtype=CACHE_TYPE, device="cuda")

    caches = [data() for _ in range(arguments.layers)]
    hosts = [torch.empty(shape, dtype=CACHE_TYPE, pin_memory=True) for _ in range(arguments.layers)]
    for host in hosts:
        host.copy_(data())
    return caches, hosts


def methods_of(arguments: argparse.Namespace, plan: byteways.OpenPlan | None) -> dict[str, Method]:
    """Methods by their names; those that this machine lacks are named on stderr."""
    makers: dict[str, Callable[[], Method]] = {
        "loop": lambda: loop,
        "batch": batch_method,
        "triton": lambda: triton_method(arguments.triton_programs),
        OURS: lambda: own_method(plan),
    }
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except (OSError, AttributeError, ImportError) as error:
            print(f"without {name}: {error}", file=sys.stderr)
    return found


def warmed_up(methods: dict[str, Method], steps: Steps, transfers: Sequence[Transfer]) -> dict[str, Method]:
    """The methods that work: each swaps both ways, with its result verified.

    Raises:
        SystemExit: One wrote wrong data.
    """
    working = {}
    for name, method in methods.items():
        try:
            for transfer in transfers:
                poison(transfer)
                for _ in range(WARM_UP_ROUNDS):
                    steps.take(method, transfer)
                check(name, transfer)
        except (RuntimeError, byteways.BytewaysError) as error:
            print(f"without {name}: {type(error).__name__}: {error}", file=sys.stderr)
        else:
            working[name] = method
    return working


def check(name: str, transfer: Transfer) -> None:
    """Raises SystemExit if a swap wrote wrong data."""
    if not is_correct(transfer):
        raise SystemExit(f"{name} is corrupt: blocks swapped {transfer.direction} differ from their sources")


def measured(
    methods: dict[str, Method], steps: Steps, transfers: Sequence[Transfer], rounds: int
) -> dict[tuple[str, str], list[dict[str, float]]]:
    """Milliseconds by column of every round, by direction and method."""
    found: defaultdict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    turns: list[tuple[str, Method | None, Transfer]] = [
        (name, method, transfer)
        for name, method in (*methods.items(), (NO_SWAP, None))
        for transfer in (transfers if method is not None else transfers[:1])
    ]
    for number in range(rounds):
        random.shuffle(turns)
        for name, method, transfer in turns:
            last = method is not None and number == rounds - 1
            if last:
                poison(transfer)
            found[transfer.direction if method is not None else "", name].append(steps.take(method, transfer))
            if last:
                check(name, transfer)
    return found


def report(found: dict[tuple[str, str], list[dict[str, float]]]) -> None:
    print(f"{'ms':16}" + "".join(f"{column:>32}" for column in COLUMNS))
    for (direction, name), rounds in sorted(found.items()):
        cells = []
        for column in COLUMNS:
            values = [each[column] for each in rounds]
            low, high = interval_of_median(values)
            cells.append(f"{statistics.median(values):.3f} ({low:.3f} to {high:.3f})")
        print(f"{direction:4}{name:12}" + "".join(f"{cell:>32}" for cell in cells))
    for (direction, name), rounds in sorted(found.items()):
        own = found.get((direction, OURS))
        if name != OURS and own:
            for column in (STEP, SWAP):
                ratios = [one[column] / mine[column] for one, mine in zip(rounds, own, strict=True)]
                print(f"{direction:4}{name:12}{column} to byteways': {ratio_text(ratios)}")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plan", help="copy plan; default: BYTEWAYS_PLAN, or this host's in the cache")
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--blocks", type=int, default=1024, help="blocks of a layer, on the GPU and the host")
    parser.add_argument("--swapped", type=int, default=64, help="blocks of a layer that a step swaps")
    parser.add_argument("--block-tokens", type=int, default=16)
    parser.add_argument("--kv-heads", type=int, nargs="+", default=[8, 2], help="a table for each")
    parser.add_argument("--head-size", type=int, default=128)
    parser.add_argument("--products", type=int, default=12, help="matrix products of a step")
    parser.add_argument("--matrix", type=int, default=8192, help="rows of a matrix")
    parser.add_argument("--triton-programs", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds: an interval needs two at least")
    if 2 * arguments.swapped > arguments.blocks:
        parser.error("--swapped: both directions need more --blocks")
    if any(arguments.block_tokens * heads * arguments.head_size % 8 for heads in arguments.kv_heads):
        parser.error("a block must have a multiple of 16 bytes")
    return arguments


def main() -> None:
    arguments = parsed()
    if not torch.cuda.is_available():
        raise SystemExit("PyTorch finds no GPU")
    random.seed(arguments.seed)
    torch.manual_seed(arguments.seed)
    plan = plan_of(arguments.plan)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {plan or 'no copy plan'}")
    for heads in arguments.kv_heads:
        caches, hosts = random_caches(arguments, heads)
        transfers = transfers_of(caches, hosts, arguments.swapped)
        size, count = transfers[0].block_bytes, len(transfers[0].sizes)
        print(
            f"\n{heads} KV heads: {count} blocks of {size / 1024:g} KiB, {size * count / 2**20:g} MiB a step"
        )
        steps = Steps(arguments.matrix, arguments.products)
        methods = warmed_up(methods_of(arguments, plan), steps, transfers)
        report(measured(methods, steps, transfers, arguments.rounds))
        del caches, hosts, transfers, steps
    if plan is not None:
        print(f"\ncalls by method: {plan.statistics().calls}")


if __name__ == "__main__":
    main()
