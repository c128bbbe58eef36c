"""In which stream, and by which plan, the copy library's Python layer copies."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import byteways
from byteways import CopyError
from byteways.base.errors import BytewaysError
from byteways.base.settings import copy_plan_file
from byteways.ext.copy import copies, plans
from byteways.ext.copy.frameworks import queue_of
from tests.unit.fake_copy_library import PLAN, POINTERS, FakeCopyLibrary, installed


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCopyLibrary]:
    with installed(monkeypatch) as made:
        yield made


# --- streams


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (None, None),
        (7, 7),
        (SimpleNamespace(cuda_stream=7), 7),
        (SimpleNamespace(ptr=7), 7),
        (SimpleNamespace(handle=ctypes.c_void_p(7)), 7),
        (SimpleNamespace(handle=ctypes.c_void_p(None)), None),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 7)), 7),
    ],
)
def test_streams_of_other_packages(library: FakeCopyLibrary, stream: Any, handle: int | None) -> None:
    """Catches a copy in another stream than the caller gives. A handle of 0 arrives as a null pointer."""
    byteways.copy_blocks(POINTERS, POINTERS, 0, stream=stream)
    assert library.named("bw_copy_blocks_uniform")[0][-2] == handle


def test_what_is_no_stream(library: FakeCopyLibrary) -> None:
    """Catches a copy in the default stream in place of an error."""
    with pytest.raises(BytewaysError, match="is no stream"):
        byteways.copy_blocks(POINTERS, POINTERS, 0, stream="stream")
    assert not library.calls


class FakeCuda:
    """As much of `torch.cuda` as a copy uses. GPU 1 is current; the stream of GPU n is 100 + n."""

    def __init__(self, initialized: bool = True) -> None:
        self.initialized, self.capturing = initialized, False
        self.entered: list[int] = []
        self.bound = 0

    def is_initialized(self) -> bool:
        return self.initialized

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 1

    def is_current_stream_capturing(self) -> bool:
        return self.capturing

    def current_stream(self, gpu: int) -> SimpleNamespace:
        return SimpleNamespace(cuda_stream=100 + gpu)

    def mem_get_info(self) -> None:
        self.bound += 1

    @contextmanager
    def device(self, gpu: int) -> Iterator[None]:
        self.entered.append(gpu)
        yield


class TorchTensor:
    __module__ = "torch"


class CupyArray:
    __module__ = "cupy"


def packages(monkeypatch: pytest.MonkeyPatch, *, initialized: bool = True) -> FakeCuda:
    """PyTorch and CuPy, whose current stream is 200 on GPU 0, are loaded."""
    cuda = FakeCuda(initialized)
    current = SimpleNamespace(ptr=200, is_capturing=lambda: False)
    cupy_cuda = SimpleNamespace(
        runtime=SimpleNamespace(getDevice=lambda: 0),
        get_current_stream=lambda: current,
        Device=lambda gpu: SimpleNamespace(gpu=gpu),
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, Tensor=TorchTensor))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cupy_cuda))  # type: ignore[arg-type]
    return cuda


@pytest.mark.parametrize(
    ("arrays", "initialized", "gpu", "expected"),
    [
        ([TorchTensor()], True, None, (101, 1)),
        ([TorchTensor()], False, 0, (100, 0)),
        ([CupyArray()], True, None, (200, 0)),
        ([CupyArray(), TorchTensor()], True, None, (101, 1)),
        ([np.zeros(3)], True, None, (101, 1)),
        ([np.zeros(3)], False, None, (200, 0)),
    ],
)
def test_the_current_stream(
    monkeypatch: pytest.MonkeyPatch, arrays: Any, initialized: bool, gpu: int | None, expected: Any
) -> None:
    """Catches a copy that is not ordered behind what the program enqueued before, or is of another GPU."""
    packages(monkeypatch, initialized=initialized)
    queue = queue_of(arrays, gpu, None)
    assert (queue.stream, queue.gpu) == expected
    assert queue_of(arrays, gpu, 5).stream == 5


def test_a_plan_is_prepared_once_for_each_gpu(
    library: FakeCopyLibrary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches a GPU that copies by the driver's calls for ever, and memory allocated within a capture."""
    cuda = packages(monkeypatch)
    plan = byteways.open_plan(tmp_path)
    cuda.capturing = True
    byteways.copy_blocks(POINTERS, POINTERS, 0, plan=plan)
    assert not library.named("bw_plan_prepare") and cuda.bound == 0
    cuda.capturing = False
    for _ in range(2):
        byteways.copy_blocks(POINTERS, POINTERS, 0, plan=plan)
    assert library.named("bw_plan_prepare") == [[PLAN]]
    copies.copy_blocks_on(0, POINTERS, POINTERS, 0, plan=plan)
    assert library.named("bw_plan_prepare") == [[PLAN], [PLAN]]
    assert cuda.entered[-1] == 0
    assert {call[-1] for call in library.named("bw_copy_blocks_uniform")} == {PLAN}


# --- plans


def test_which_plan_is_used(
    library: FakeCopyLibrary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches a plan that is not found, that is read for every copy, or goes before the one that is given."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BYTEWAYS_PLAN", raising=False)

    def used(plan: Any = None) -> list[bytes]:
        library.calls.clear()
        for _ in range(2):
            byteways.copy_blocks(POINTERS, POINTERS, 0, plan=plan)
        return [path for path, _ in library.named("bw_plan_open")]

    assert used() == []
    plans._default_plan.cache_clear()
    file = copy_plan_file()
    assert file is not None and file.parent == tmp_path / "byteways"
    file.parent.mkdir()
    file.touch()
    assert used() == [bytes(file)]
    plans._default_plan.cache_clear()
    monkeypatch.setenv("BYTEWAYS_PLAN", "/named/but missing.plan")
    assert used() == [b"/named/but missing.plan"]
    assert used("/given.plan") == [b"/given.plan"]
    assert used(byteways.open_plan("/given.plan")) == []


def test_a_plan_that_cannot_be_opened(library: FakeCopyLibrary) -> None:
    """Catches an error that does not name the file, or comes once only."""
    library.codes["bw_plan_open"], library.detail = -6, b"line 4: not a number"
    for _ in range(2):
        with pytest.raises(CopyError, match=r"/damaged\.plan") as damaged:
            byteways.copy_blocks(POINTERS, POINTERS, 0, plan="/damaged.plan")
        assert damaged.value.cause == "line 4: not a number" and damaged.value.hint


def test_a_plan_that_is_of_no_use_warns_once(library: FakeCopyLibrary) -> None:
    """Catches a program that is no faster, and nobody knows why."""
    library.warning = b"the plan is of another machine"
    with pytest.warns(byteways.PlanWarning, match="another machine") as warned:
        for _ in range(2):
            byteways.copy_blocks(POINTERS, POINTERS, 0, plan="/other.plan")
    assert len(warned) == 1


def test_what_a_plan_says(library: FakeCopyLibrary) -> None:
    """Catches structures that are read at other places than the library writes them."""
    with byteways.open_plan("/some.plan") as plan:
        choice = plan.choose([0x1000], [0x2000], 4096)
        assert (choice.method, choice.fallback, choice.time_ns, choice.default_ns) == (
            "kernel",
            "unknown",
            1500.0,
            None,
        )
        counts = plan.statistics()
        assert (counts.calls["kernel"], counts.bytes["kernel"], counts.fallbacks["no-lead"]) == (3, 4096, 1)
        assert (counts.staging_bytes, counts.calls["relay"]) == (64, 0)
        plan.allow_peers([1, 2])
        plan.limit_staging(1 << 20)
        with pytest.raises(BytewaysError, match="1 destinations, but 0 sources"):
            plan.choose([0x1000], [], 4096)
    assert library.named("bw_plan_allow_peers")[0][-1] == 2
    assert library.named("bw_plan_limit_staging") == [[PLAN, 1 << 20]]
    plan.close()
    assert library.named("bw_plan_close") == [[PLAN]]
    with pytest.raises(BytewaysError, match="was closed"):
        byteways.copy_blocks(POINTERS, POINTERS, 0, plan=plan)


# --- PyTorch, and what is loaded


def test_fast_copies_without_pytorch(library: FakeCopyLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback of an import in a program's own code."""
    monkeypatch.setitem(sys.modules, "torch", None)  # type: ignore[arg-type]
    monkeypatch.delitem(sys.modules, "byteways.ext.copy.torch_mode", raising=False)
    with pytest.raises(BytewaysError, match="needs PyTorch"):
        byteways.fast_copies("/some.plan")


def test_what_a_copy_loads() -> None:
    """Catches the analysis, the native core or PyTorch in a program that only copies."""
    program = (
        "import sys, byteways, numpy\n"
        "try: byteways.copy_(numpy.zeros(1), numpy.ones(1))\n"
        "except byteways.CopyError: pass\n"
        "print(*sys.modules)"
    )
    environment = {"BYTEWAYS_LIBCUDA": "/none", "BYTEWAYS_LIBHIP": "/none", "PATH": "/usr/bin"}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    loaded = {*ended.stdout.split()}
    assert "byteways.ext.copy.copies" in loaded
    assert not {"byteways._core", "byteways.library", "msgspec", "torch", "polars"} & loaded
