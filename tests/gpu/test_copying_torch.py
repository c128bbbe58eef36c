"""byteways' copies of PyTorch tensors on a real GPU, where PyTorch is installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import byteways
from tests.native.copy_program import Program, checked

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
]

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
BLOCK = 16 << 10
#: The kernel leads for blocks up to 256 KiB, the batched call for larger ones, also single ones.
SMALL, LARGE = range(12, 19), range(20, 29)
COUNTS = range(0, 13, 2)


def grid(powers: range, block_ns: int, mark: str) -> list[str]:
    """Rows of a plan for blocks of these powers of two."""
    return [
        f"row {1 << power} "
        + " ".join(f"{1 << count}:{(block_ns << count) * (1 << power - 12)}{mark}" for count in COUNTS)
        for power in powers
    ]


@pytest.fixture(scope="module")
def torch() -> Any:
    return import_module("torch")


@pytest.fixture
def plan(torch: Any, tmp_path: Path) -> Iterator[byteways.OpenPlan]:
    """A plan by which every copy between pinned memory and GPU 0 has a faster method than the default."""
    lines = Program(None, "cuda").key()
    for path in ("path host gpu0 by gpu0", "path gpu0 host by gpu0"):
        lines += [path, "method default", *grid(range(12, 29), 1000, "")]
        lines += ["method kernel", *grid(SMALL, 500, "+")]
        lines += ["method batch", *grid(LARGE, 500, "+")]
    file = tmp_path / "machine.plan"
    file.write_text(checked(*lines), encoding="utf-8")
    with byteways.open_plan(file) as opened:
        assert opened.warning == ""
        yield opened
        torch.cuda.synchronize()


def pinned(torch: Any, count: int, **more: Any) -> Any:
    return torch.randn(count, **more).pin_memory()


def test_tensors_both_ways(torch: Any, plan: byteways.OpenPlan) -> None:
    """Catches wrong bytes, a copy in another stream, and a change that autograd does not see."""
    for kind in (torch.float32, torch.bfloat16):
        host = pinned(torch, 3 * MIB + 1).to(kind).pin_memory()
        gpu, back = torch.empty_like(host, device="cuda"), torch.empty_like(host).pin_memory()
        stream, version = torch.cuda.Stream(), gpu._version
        assert byteways.copy_(gpu, host, stream=stream, plan=plan) is gpu
        with torch.cuda.stream(stream):
            byteways.copy_(back, gpu, plan=plan)
        stream.synchronize()
        assert torch.equal(host, back) and gpu._version > version
    assert plan.statistics().calls["batch"] == 4


def test_what_is_left_to_pytorch(torch: Any, plan: byteways.OpenPlan) -> None:
    """Catches bytes copied where values must be converted, moved apart, or recorded for gradients."""
    host = pinned(torch, MIB).view(1024, 1024)
    gpu = torch.zeros(1024, 1024, device="cuda")
    for dst, src in ((gpu, host.T), (gpu.T, host), (gpu.double(), host), (gpu, host[0]), (host, gpu.half())):
        byteways.copy_(dst, src, plan=plan)
        torch.cuda.synchronize()
        assert torch.equal(dst.cpu(), src.cpu().to(dst.dtype).expand(1024, 1024))
    leaf = pinned(torch, MIB).view(1024, 1024).requires_grad_()
    result = torch.zeros(1024, 1024, device="cuda")
    byteways.copy_(result, leaf, plan=plan).sum().backward()
    assert leaf.grad is not None and bool((leaf.grad == 1).all())
    assert sum(plan.statistics().calls.values()) == 0


def test_pinned_memory_in_use_is_not_given_away(torch: Any, plan: byteways.OpenPlan) -> None:
    """Catches a freed tensor whose memory PyTorch gives to the next one while it is still being read."""
    host = pinned(torch, 32 * MIB)
    address, expected = host.data_ptr(), host.clone()
    gpu = torch.zeros_like(host, device="cuda")
    byteways.copy_(gpu, host, plan=plan)  # prepares the plan, which may wait
    gpu.zero_()
    torch.cuda.synchronize()
    torch.cuda._sleep(10**9)  # half a second and more
    byteways.copy_(gpu, host, plan=plan)
    del host
    other = torch.empty(32 * MIB, pin_memory=True)
    assert other.data_ptr() != address
    other.zero_()
    assert torch.equal(gpu.cpu(), expected)


def pointers(base: Any, numbers: list[int]) -> Any:
    return import_module("torch").tensor(numbers) * BLOCK + base.data_ptr()


def test_blocks_by_the_kernel(torch: Any, plan: byteways.OpenPlan) -> None:
    """Catches wrong blocks, vLLM's call in the wrong direction, and a plan that is not prepared."""
    host, gpu = pinned(torch, 64 * BLOCK // 4), torch.zeros(64 * BLOCK // 4, device="cuda")
    to, at = list(range(0, 64, 2)), list(range(63, 31, -1))
    sizes = torch.full((32,), BLOCK)
    byteways.copy_blocks(pointers(gpu, to), pointers(host, at), sizes, plan=plan)
    rows, expected = gpu.view(64, -1).cpu(), host.view(64, -1)
    assert torch.equal(rows[to], expected[at]) and not bool(rows[1::2].any())
    assert plan.statistics().calls["kernel"] == 1
    host.zero_()
    byteways.swap_blocks_batch(pointers(gpu, to), pointers(host, at), sizes)
    torch.cuda.synchronize()
    assert torch.equal(host.view(64, -1)[at], rows[to])


def test_a_graph_repeats_the_blocks(torch: Any, plan: byteways.OpenPlan) -> None:
    """Catches a copy that breaks the capture, or happens when it is captured only."""
    host, gpu = pinned(torch, 64 * BLOCK // 4), torch.zeros(64 * BLOCK // 4, device="cuda")
    lists = pointers(gpu, list(range(64))), pointers(host, list(range(64)))
    byteways.copy_blocks(*lists, BLOCK, plan=plan)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        byteways.copy_blocks(*lists, BLOCK, plan=plan)
    for _ in range(2):
        host.normal_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(gpu.cpu(), host)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_operators_in_compiled_programs(torch: Any, backend: str) -> None:
    """Catches an operator that breaks the graph, is removed from it, or writes a copy of the cache."""
    import_module("byteways.ext.copy.torch_ops")
    host, gpu = pinned(torch, 64 * BLOCK // 4), torch.zeros(64 * BLOCK // 4, device="cuda")

    def blocks(x: Any, dst: Any, src: Any, sizes: Any) -> Any:
        torch.ops.byteways.copy_blocks(dst, src, sizes)
        return x * 2

    def swap(cache: Any, saved: Any, mapping: Any) -> Any:
        torch.ops.byteways.swap_blocks(saved, cache, BLOCK, mapping)
        return cache.view(64, -1)[7] + 1

    torch._dynamo.reset()
    lists = pointers(gpu, [3]), pointers(host, [5]), torch.tensor([BLOCK])
    torch.compile(blocks, backend=backend, fullgraph=True)(torch.ones(4, device="cuda"), *lists)
    assert torch.equal(gpu.view(64, -1)[3].cpu(), host.view(64, -1)[5])
    mapping = torch.tensor([[0, 7]])
    found = torch.compile(swap, backend=backend, fullgraph=True)(gpu, host, mapping)
    expected = host.view(64, -1)[0]
    assert torch.equal(found.cpu(), expected + 1) and torch.equal(gpu.view(64, -1)[7].cpu(), expected)


def test_operators_keep_pytorchs_rules(torch: Any) -> None:
    """Catches a schema that does not say what an operator writes, and one without a fake."""
    import_module("byteways.ext.copy.torch_ops")
    host, gpu = pinned(torch, 8 * BLOCK // 4), torch.zeros(8 * BLOCK // 4, device="cuda")
    lists = pointers(gpu, [3]), pointers(host, [5]), torch.tensor([BLOCK])
    torch.library.opcheck(torch.ops.byteways.copy_blocks.default, lists)
    arguments = (host, gpu, BLOCK, torch.tensor([[0, 7]]))
    torch.library.opcheck(torch.ops.byteways.swap_blocks.default, arguments)
    with pytest.raises(byteways.BytewaysError, match="outside the destination"):
        torch.ops.byteways.swap_blocks(host, gpu, BLOCK, torch.tensor([[0, 8]]))


def test_fast_copies(torch: Any, plan: byteways.OpenPlan) -> None:
    """Catches copies that are not intercepted, are wrong, or are intercepted where PyTorch does more."""
    host, small, pageable = pinned(torch, MIB), pinned(torch, 100), torch.randn(MIB)
    parameter = torch.nn.Linear(1024, 1024)
    parameter.weight.data = parameter.weight.data.pin_memory()
    expected = parameter.weight.detach().clone()
    gpu = torch.zeros(MIB, device="cuda")

    def copies() -> int:
        return plan.statistics().calls["batch"]

    torch.cuda.synchronize()
    # A batched call is not possible in the default stream.
    with torch.cuda.stream(torch.cuda.Stream()), byteways.fast_copies(plan):
        moved = [host.to("cuda"), host.cuda(), host.to(gpu), host.to("cuda", non_blocking=True)]
        assert copies() == 4
        gpu.copy_(host)
        assert all(torch.equal(each.cpu(), host) for each in (*moved, gpu))
        back = torch.zeros(MIB).pin_memory()
        back.copy_(gpu)  # waits
        assert torch.equal(back, host) and copies() == 6
        with byteways.fast_copies(plan):
            parameter.to("cuda")
        assert torch.equal(parameter.weight.cpu(), expected) and copies() == 7
        assert parameter.weight.requires_grad
        same = [small.to("cuda"), pageable.to("cuda"), host.to("cuda", torch.float64), host.to(torch.float64)]
        for found, source in zip(same, (small, pageable, host, host), strict=True):
            assert torch.equal(found.cpu(), source.to(found.dtype))
        assert host.to("cpu") is host
        other = threading.Thread(target=lambda: gpu.copy_(host))
        other.start()
        other.join()
        assert copies() == 7
    with pytest.raises(KeyError), byteways.fast_copies(plan):
        raise KeyError
    gpu.copy_(host)
    assert copies() == 7


def test_a_thread_without_a_context(torch: Any, plan: byteways.OpenPlan) -> None:
    """Catches a driver call that fails in a thread that has not used the GPU yet."""
    host, gpu, errors = pinned(torch, MIB), torch.zeros(MIB, device="cuda"), []

    def copy() -> None:
        try:
            byteways.copy_(gpu, host, plan=plan)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=copy)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert errors == [] and torch.equal(gpu.cpu(), host)


def test_another_gpu_than_the_current_one(torch: Any, plan: byteways.OpenPlan) -> None:
    """Catches a copy in the current GPU's stream, and one between GPUs that does not wait."""
    if torch.cuda.device_count() < 2:
        pytest.skip("two GPUs are needed")
    host, gpu = pinned(torch, MIB), torch.zeros(MIB, device="cuda:1")
    byteways.copy_(gpu, host, plan=plan)
    torch.cuda.synchronize(1)
    assert torch.equal(gpu.cpu(), host)
    torch.cuda._sleep(10**8)
    first = host.to("cuda:0") * 2
    byteways.copy_(gpu, first, plan=plan)
    assert torch.equal(gpu.cpu(), host * 2)


@pytest.mark.parametrize(
    "command",
    [
        ["examples/copy/swap_blocks.py"],
        ["examples/copy/swap_cache.py"],
        [
            *(
                "benchmarks/kv_swap.py",
                "--layers",
                "2",
                "--blocks",
                "64",
                "--swapped",
                "8",
                "--kv-heads",
                "2",
            ),
            *("--products", "1", "--matrix", "512", "--rounds", "2"),
        ],
    ],
    ids=["blocks", "cache", "benchmark"],
)
def test_programs(command: list[str]) -> None:
    """Catches an example or a comparison that fails, or moves other bytes."""
    ended = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr + ended.stdout
