"""The façade that runs the HIP side on an NVIDIA GPU (tests/gpu): what it translates, without one."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

from byteways import _core
from byteways.measuring.shared.library_paths import library_directories
from tests.native import fake_libraries as fake
from tests.native import simulated as toy
from tests.native.copy_program import Program

INVALID_VALUE = 1


@pytest.fixture(scope="module")
def nvrtc() -> Path:
    return next(path for folder in library_directories() for path in Path(folder).glob("libnvrtc.so.*"))


@pytest.fixture(scope="module", autouse=True)
def facade(tmp_path_factory: pytest.TempPathFactory, nvrtc: Path) -> Iterator[Path]:
    """HIP over a CUDA driver that does nothing; it and the driver are opened once in a process."""
    folder = tmp_path_factory.mktemp("facade")
    library = fake.build_facade(folder)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FACADE_LIBCUDA", str(fake.build(folder, "cuda.def")))
        environment.setenv("FACADE_LIBNVRTC", str(nvrtc))
        environment.setenv("BYTEWAYS_LIBCUDA", "/nosuch/libcuda.so")
        environment.setenv("BYTEWAYS_LIBHIP", str(library))
        yield library


@pytest.fixture(scope="module")
def hip(facade: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(facade))
    assert library.hipInit(0) == 0
    return library


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def test_a_session_sees_a_hip_gpu() -> None:
    """Catches an attribute that is passed on by HIP's number, which means another thing to CUDA."""
    session = _core.Session()
    assert [device.runtime for device in session.devices if device.name == "gpu0"] == ["hip"]
    gpu = next(device for device in session.devices if device.name == "gpu0")
    assert (gpu.model, gpu.architecture) == ("Fake GPU", "gfx90a:sramecc+:xnack-")
    assert (gpu.uuid, gpu.pci_address) == ("GPU-0001020304050607", "0000:3b:00.0")
    assert (gpu.multiprocessors, gpu.copy_engines, gpu.memory_bytes) == (132, 3, 1 << 37)
    assert gpu.last_level_cache_bytes == 60 << 20
    assert gpu.memory_bytes_per_s == 2 * 3_201_000_000 * 6144 // 8
    for memory in ("device", "pinned", "pinned-noncoherent", "registered", "managed", "managed-coarse"):
        assert session.offers("gpu0", memory).available, memory
    assert "hipErrorOutOfMemory" in session.offers("gpu0", "device-fine").reason, "the fake has no memory"


def test_kernels_are_compiled_for_the_gpu_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches AMD's architecture handed to NVRTC, and text loaded instead of a cubin."""
    image = tmp_path / "image"
    monkeypatch.setenv("FAKE_IMAGE", str(image))
    session = _core.Session()
    for kernel in ("gate", "fill", "check", "copy", "chase", "occupy"):
        offered = session.offers_kernel("gpu0", kernel)
        assert offered.available, offered.reason
    assert set(image.read_bytes().split(b"\x7f")) == {b"", b"ELF"}
    assert not session.offers_kernel("gpu0", "copy_bulk").available


def test_flags_of_pinned_memory(hip: ctypes.CDLL, log: Path) -> None:
    """Catches flags that only HIP has reaching CUDA, which refuses them."""
    data = ctypes.c_void_p()
    portable, mapped, numa_user = 1, 2, 0x20000000
    coherent, noncoherent = 0x40000000, 0x80000000
    for coherence in (coherent, noncoherent):
        flags = portable | mapped | numa_user | coherence
        assert hip.hipHostMalloc(ctypes.byref(data), ctypes.c_size_t(8), ctypes.c_uint(flags)) == 0
    assert log.read_text() == 2 * "cuMemHostAlloc 3 0\n"
    both = ctypes.c_uint(coherent | noncoherent)
    assert hip.hipHostMalloc(ctypes.byref(data), ctypes.c_size_t(8), both) == INVALID_VALUE


def test_places_of_prefetching(hip: ctypes.CDLL, log: Path) -> None:
    """Catches pages sent to GPU -1, or to the host as if it were a GPU."""
    for device in (0, -1):
        assert hip.hipMemPrefetchAsync(ctypes.c_void_p(8), ctypes.c_size_t(8), device, None) == 0
    assert log.read_text() == "cuMemPrefetchAsync_v2 1 0\ncuMemPrefetchAsync_v2 2 0\n"
    assert hip.hipMemPrefetchAsync(ctypes.c_void_p(8), ctypes.c_size_t(8), 7, None) == INVALID_VALUE


def test_what_hip_would_refuse(hip: ctypes.CDLL, log: Path) -> None:
    """Catches a façade that takes anything, so that a wrong number passes here and fails on AMD's runtime."""
    data, value = ctypes.c_void_p(), ctypes.c_int()
    size, memory = ctypes.c_size_t(8), ctypes.c_void_p(8)
    assert hip.hipExtMallocWithFlags(ctypes.byref(data), size, ctypes.c_uint(2)) == INVALID_VALUE
    assert hip.hipMemAdvise(memory, size, 100, 0) == 0
    assert hip.hipMemAdvise(memory, size, 3, 0) == INVALID_VALUE
    assert hip.hipDeviceGetAttribute(ctypes.byref(value), 99, 0) == INVALID_VALUE
    assert hip.hipMemcpyAsync(memory, memory, size, 1, None) == INVALID_VALUE
    assert hip.hipMemcpyAsync(memory, memory, size, 4, None) == 0
    assert log.read_text() == "cuMemcpyAsync 8 0\n"
    assert hip.hipSetDevice(7) != 0


def test_the_copy_library_gives_the_compiler_all_that_its_kernels_include() -> None:
    """Catches a header that is missing in the library, which only a real compiler finds."""
    lines = (
        "path host gpu0 by gpu0",
        "method default",
        "row 4096 16:16000",
        "method kernel",
        "row 4096 16:4000+",
    )

    def scene() -> str:
        program = Program(None, "hip")
        return program.warning(program.open(*lines))

    # The driver that does nothing copies nothing, so that the kernel fails its test after it was compiled.
    assert toy.apart(scene, {"FAKE_MEMORY": "1"}) == "method kernel failed its test on gpu0"
