"""One GPU through the driver library alone: the project's kernels on memory of the test."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from byteways import _core
from byteways.measuring.shared.library_paths import library_directories
from kernel_arguments import arguments

KERNELS = (
    "fill",
    "poison",
    "check",
    "copy",
    "copy_tiled",
    "copy_resident",
    "copy_bulk",
    "chase_build",
    "chase",
    *(f"stream_{name}{form}" for name in ("copy", "scale", "add", "triad") for form in ("", "_resident")),
    "ping_pong",
)
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


PatternArguments = arguments("service", "PatternArguments")
CopyArguments = arguments("kernel_copy", "CopyArguments")
PingPongArguments = arguments("ping_pong", "PingPongArguments")
ChaseArguments = arguments("pointer_chase", "ChaseArguments")
StreamArguments = arguments("stream", "StreamArguments")


class Device:
    """GPU 0, its primary context current on this thread."""

    def __init__(self, cache: Path) -> None:
        """Compiles every kernel as a session does: what is tested is what it launches."""
        session = _core.Session(library_directories=library_directories(), kernel_cache=str(cache))
        device = next(device for device in session.devices if device.name == "gpu0")
        self.architecture = device.architecture
        self.offered = {kernel for kernel in KERNELS if session.offers_kernel("gpu0", kernel).available}
        self._cache = cache
        self._kernels: dict[str, ctypes.c_void_p] = {}
        self._cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, function: str, *arguments: object) -> None:
        code = getattr(self._cuda, function)(*arguments)
        assert code == 0, f"{function} answered {code}"

    def kernel(self, entry: str) -> ctypes.c_void_p:
        if entry not in self._kernels:
            module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
            source = _core.device_kernels()[entry].removesuffix(".cu").replace("/", ".")
            (kept,) = self._cache.glob(f"{source}-sm_*")
            image = kept.read_bytes().split(b"\n", 1)[1]
            self.call("cuModuleLoadData", ctypes.byref(module), image)
            self.call("cuModuleGetFunction", ctypes.byref(kernel), module, entry.encode())
            self._kernels[entry] = kernel
        return self._kernels[entry]

    @contextmanager
    def memory(self, content: bytes) -> Iterator[int]:
        """Device memory that starts with `content`; its address."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(len(content)))
        try:
            self.call("cuMemcpyHtoD_v2", address, content, ctypes.c_size_t(len(content)))
            yield address.value
        finally:
            self.call("cuMemFree_v2", address)

    def read(self, address: int, length: int) -> bytes:
        content = ctypes.create_string_buffer(length)
        self.call("cuMemcpyDtoH_v2", content, ctypes.c_uint64(address), ctypes.c_size_t(length))
        return content.raw

    def launch(
        self,
        entry: str,
        shape: Sequence[int],
        values: ctypes.Structure,
        shared_bytes: int = 0,
    ) -> None:
        """Launches (blocks, threads) and waits."""
        kernel = self.kernel(entry)
        if shared_bytes:
            self.call("cuFuncSetAttribute", kernel, MAX_DYNAMIC_SHARED, shared_bytes)
        blocks, threads = shape
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(values))
        self.call("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, shared_bytes, None, parameters, None)
        self.call("cuCtxSynchronize")
