"""PyTorch and CuPy where a program uses them: their current streams and GPUs. Neither is ever imported here.

Their modules are looked up among the loaded ones, so that a copy of NumPy arrays loads no other package.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from byteways.base.errors import BytewaysError

#: The legacy default stream of both vendors.
DEFAULT_STREAM = 0
#: GPUs whose context is current in this thread, once PyTorch selects them.
_bound = threading.local()


class CopyQueue(NamedTuple):
    """Where a copy is enqueued.

    Attributes:
        stream: Handle of the stream.
        gpu: Number of the GPU in this process; None: unknown, the one whose context is current.
        scope: Makes the GPU current.
        capturing: Whether the current stream captures a graph.
    """

    stream: int
    gpu: int | None
    scope: AbstractContextManager[object]
    capturing: Callable[[], bool]


def torch_module() -> Any:
    """Returns PyTorch if this process has loaded it, else None."""
    return sys.modules.get("torch")


def queue_of(arrays: Iterable[object], gpu: int | None, stream: object) -> CopyQueue:
    """Returns where a copy is enqueued.

    Args:
        arrays: Arrays of the call. The current stream is that of their package; if they belong to neither
            PyTorch nor CuPy, that of PyTorch if the program uses GPUs by it, else of CuPy.
        gpu: The GPU that they are on; None: the current one.
        stream: The stream that the caller gives; None: the current one.
    """
    torch, cupy = torch_module(), sys.modules.get("cupy")
    packages = {type(array).__module__.partition(".")[0] for array in arrays}
    if torch is not None and _queues_by(torch, packages):
        return _of_torch(torch, gpu, stream)
    if cupy is not None:
        return _of_cupy(cupy, gpu, stream)
    return CopyQueue(handle_of(stream), None, nullcontext(), lambda: False)


def _queues_by(torch: Any, packages: set[str]) -> bool:
    """Whether a copy goes to a stream of PyTorch. It has none without a GPU, which the library reports."""
    if torch.cuda.is_initialized():
        return "torch" in packages or "cupy" not in packages
    return "torch" in packages and torch.cuda.is_available()


def _of_torch(torch: Any, gpu: int | None, stream: object) -> CopyQueue:
    gpu = torch.cuda.current_device() if gpu is None else gpu
    scope = torch.cuda.device(gpu)
    capturing = torch.cuda.is_current_stream_capturing
    bound: set[int] = _bound.__dict__.setdefault("gpus", set())
    if gpu not in bound and not capturing():
        # A new thread has no context until it calls the vendor's runtime, and driver calls fail without one.
        with scope:
            torch.cuda.mem_get_info()
        bound.add(gpu)
    current = 0 if stream is not None else torch.cuda.current_stream(gpu).cuda_stream
    return CopyQueue(handle_of(stream, current), gpu, scope, capturing)


def _of_cupy(cupy: Any, gpu: int | None, stream: object) -> CopyQueue:
    gpu = cupy.cuda.runtime.getDevice() if gpu is None else gpu
    current = cupy.cuda.get_current_stream()
    return CopyQueue(handle_of(stream, current.ptr), gpu, cupy.cuda.Device(gpu), current.is_capturing)


def handle_of(stream: Any, current: int = DEFAULT_STREAM) -> int:
    """Returns the handle of a stream: a number, or an object of PyTorch, CuPy, Numba or CUDA Python.

    Raises:
        BytewaysError: It is none of these.
    """
    if stream is None:
        return current
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr", "handle"):
        if (found := getattr(stream, name, None)) is not None:
            return int(getattr(found, "value", found) or 0)
    if hasattr(stream, "__cuda_stream__"):  # CUDA Python: (version of the protocol, handle)
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    raise BytewaysError(
        f"an object of type {type(stream).__name__} is no stream",
        hint="pass a stream of PyTorch or CuPy, or its handle as a number",
    )
