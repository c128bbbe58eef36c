"""A program that uses libbyteways_copy.so on a simulated machine, in a process of its own.

Memory below 1 MiB is real on a simulated machine, also that of GPUs: its bytes can be written and read here.
"""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from byteways.measuring.shared.simulator import native_folder, simulator_path
from tests.native import simulated as toy

NATIVE = Path(__file__).parents[2] / "native"
HEADER = NATIVE / "copy_library" / "byteways_copy.h"

NULL_POINTER, OVERLAP, NO_DRIVER, FORKED, NOT_READ, DAMAGED, NO_SUCH_GPU = range(-1, -8, -1)
DEFAULT, BATCH, KERNEL, BULK, RELAY = range(5)
METHODS, FALLBACKS = 5, 13
(
    NONE,
    SWITCHED_OFF,
    OTHER_MACHINE,
    NOT_PREPARED,
    MEMORY,
    NOT_MEASURED,
    NO_LEAD,
    CAPTURING,
    BUSY,
    NOT_ALLOWED,
    FAILED,
    OTHER_CONTEXT,
    NOT_ALIGNED,
) = range(FALLBACKS)


class Choice(ctypes.Structure):
    """`struct bw_choice`."""

    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("method", ctypes.c_int32),
        ("fallback", ctypes.c_int32),
        ("time_ns", ctypes.c_double),
        ("default_ns", ctypes.c_double),
    ]


class Statistics(ctypes.Structure):
    """`struct bw_statistics`."""

    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("calls", ctypes.c_uint64 * METHODS),
        ("bytes", ctypes.c_uint64 * METHODS),
        ("fallbacks", ctypes.c_uint64 * FALLBACKS),
        ("staging_bytes", ctypes.c_uint64),
    ]


def copy_library() -> str:
    return str(native_folder() / "libbyteways_copy.so")


def run(
    scene: Callable[[Program], Any],
    sheet: str | None = None,
    vendor: str = "cuda",
    environment: Mapping[str, str] | None = None,
) -> Any:
    """Returns the JSON result of `scene` for a program on the machine."""
    machine = sheet or (toy.nvidia() if vendor == "cuda" else toy.amd())
    variables = {f"BYTEWAYS_LIB{vendor.upper()}": simulator_path(), **(environment or {})}
    return toy.apart(lambda: scene(Program(machine, vendor)), variables)


def checked(*lines: str) -> str:
    """The text of a plan with these lines, and its checksum."""
    text = "".join(f"{line}\n" for line in ("byteways copy plan 1", *lines))
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return f"{text}end {state:016x}\n"


class Program:
    """The driver's functions and the library's, with GPU 0 current."""

    def __init__(self, sheet: str | None, vendor: str) -> None:
        """Loads the machine of `sheet`; without one, this machine's CUDA driver or the HIP that is named."""
        real = "libcuda.so.1" if vendor == "cuda" else os.environ.get("BYTEWAYS_LIBHIP", "libamdhip64.so")
        self.driver = ctypes.CDLL(simulator_path() if sheet else real)
        self.simulated = sheet is not None
        if sheet:
            self.driver.bwsim_now.restype = ctypes.c_int64
            assert self.driver.bwsim_load(sheet.encode()) == 0
        self.vendor = vendor
        self.library = library = ctypes.CDLL(copy_library())
        address, size = ctypes.c_void_p, ctypes.c_size_t
        library.bw_copy.argtypes = [address, address, size, address, address]
        library.bw_copy_blocks.argtypes = [address, address, address, size, address, address]
        library.bw_copy_blocks_uniform.argtypes = [address, address, size, size, address, address]
        library.bw_choose.argtypes = [address, address, size, size, address, address, address]
        for name in ("bw_plan_prepare", "bw_plan_close", "bw_plan_warning"):
            getattr(library, name).argtypes = [address]
        library.bw_plan_limit_staging.argtypes = [address, size]
        library.bw_plan_allow_peers.argtypes = [address, address, size]
        library.bw_get_statistics.argtypes = [address, address]
        for name in (
            "bw_last_error",
            "bw_error_text",
            "bw_plan_warning",
            "bw_method_name",
            "bw_fallback_text",
        ):
            getattr(library, name).restype = ctypes.c_char_p
        self.gpu(0)

    # --- the driver

    def call(self, cuda: str, hip: str, *arguments: Any) -> None:
        name = cuda if self.vendor == "cuda" else hip
        code = getattr(self.driver, name)(*arguments)
        assert code == 0, f"{name}: {code}"

    def gpu(self, number: int) -> None:
        """Makes a GPU current."""
        self.call("cuInit", "hipInit", 0)
        if self.vendor == "hip":
            return self.call("", "hipSetDevice", number)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", "", ctypes.byref(context), number)
        self.call("cuCtxSetCurrent", "", context)
        return None

    def pinned(self, size: int) -> int:
        data = ctypes.c_void_p()
        self.call("cuMemHostAlloc", "hipHostMalloc", ctypes.byref(data), ctypes.c_size_t(size), 3)
        return data.value or 0

    def device(self, size: int) -> int:
        data = ctypes.c_void_p()
        self.call("cuMemAlloc_v2", "hipMalloc", ctypes.byref(data), ctypes.c_size_t(size))
        return data.value or 0

    def pageable(self, size: int) -> int:
        data = ctypes.c_void_p()
        assert self.driver.bwsim_allocate(0, 0, ctypes.c_uint64(size), ctypes.byref(data)) == 0
        return data.value or 0

    def stream(self) -> int:
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", "hipStreamCreateWithFlags", ctypes.byref(stream), 1)
        return stream.value or 0

    def synchronize(self, stream: int = 0) -> None:
        self.call("cuStreamSynchronize", "hipStreamSynchronize", ctypes.c_void_p(stream))

    @contextmanager
    def relaxed(self) -> Iterator[None]:
        """Allows this thread what might break a capture, as a program that waits during one must."""
        mode = ctypes.c_int(2)
        names = "cuThreadExchangeStreamCaptureMode", "hipThreadExchangeStreamCaptureMode"
        self.call(*names, ctypes.byref(mode))
        try:
            yield
        finally:
            self.call(*names, ctypes.byref(mode))

    def free_bytes(self) -> int:
        free, whole = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", "hipMemGetInfo", ctypes.byref(free), ctypes.byref(whole))
        return free.value

    def key(self) -> list[str]:
        """The lines of a plan that name this machine."""
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", "hipRuntimeGetVersion", ctypes.byref(version))
        release = _release() if self.vendor == "cuda" and not self.simulated else "-"
        major, minor = (
            divmod(version.value, 1000) if self.vendor == "cuda" else divmod(version.value, 10_000_000)
        )
        minor //= 10 if self.vendor == "cuda" else 100_000
        lines = [f"driver {self.vendor} {major}.{minor} {release}"]
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", "hipGetDeviceCount", ctypes.byref(count))
        for number in range(count.value):
            text = ctypes.create_string_buffer(64)
            self.call("cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId", text, 64, number)
            uuid = ctypes.create_string_buffer(17)
            self.call("cuDeviceGetUuid", "hipDeviceGetUuid", uuid, number)
            digits = uuid.raw[:16].hex()
            groups = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]
            name = "-".join(groups) if self.vendor == "cuda" else uuid.raw[:16].decode()
            lines.append(f"gpu {number} GPU-{name} {text.value.decode().lower()} Toy")
        return lines

    # --- the library

    def open(self, *lines: str) -> int:
        """Opens a plan of this machine with these further lines."""
        return self.open_text(checked(*self.key(), *lines))

    def open_text(self, text: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "machine.plan"
            path.write_text(text, encoding="utf-8")
            code, plan = self.open_file(str(path))
        assert code == 0, self.last_error()
        return plan

    def open_file(self, path: str) -> tuple[int, int]:
        plan = ctypes.c_void_p()
        return self.library.bw_plan_open(os.fsencode(path), ctypes.byref(plan)), plan.value or 0

    def allow(self, plan: int, *gpus: int) -> int:
        return int(self.library.bw_plan_allow_peers(plan, (ctypes.c_int * len(gpus))(*gpus), len(gpus)))

    def copy_blocks(
        self, to: Sequence[int], sources: Sequence[int], sizes: Sequence[int], stream: int = 0, plan: int = 0
    ) -> int:
        count = len(sizes)
        arrays = [(ctypes.c_size_t * count)(*values) for values in (to, sources, sizes)]
        return int(self.library.bw_copy_blocks(*arrays, count, stream, plan))

    def copy_uniform(
        self, to: Sequence[int], sources: Sequence[int], size: int, stream: int = 0, plan: int = 0
    ) -> int:
        count = len(to)
        arrays = [(ctypes.c_size_t * count)(*values) for values in (to, sources)]
        return int(self.library.bw_copy_blocks_uniform(*arrays, size, count, stream, plan))

    def choose(
        self, to: Sequence[int], sources: Sequence[int], size: int, stream: int = 0, plan: int = 0
    ) -> Choice | int:
        """What a copy would use, or the code of the refusal."""
        count, choice = len(to), Choice(ctypes.sizeof(Choice))
        arrays = [(ctypes.c_size_t * count)(*values) for values in (to, sources)]
        code = self.library.bw_choose(*arrays, size, count, stream, plan, ctypes.byref(choice))
        return choice if code == 0 else code

    def statistics(self, plan: int) -> Statistics:
        counts = Statistics(ctypes.sizeof(Statistics))
        assert self.library.bw_get_statistics(plan, ctypes.byref(counts)) == 0
        return counts

    def fallbacks(self, plan: int) -> dict[int, int]:
        return {reason: calls for reason, calls in enumerate(self.statistics(plan).fallbacks) if calls}

    def last_error(self) -> str:
        return bytes(self.library.bw_last_error()).decode()

    def warning(self, plan: int) -> str:
        return bytes(self.library.bw_plan_warning(plan)).decode()


def driver_file() -> str:
    """The file of the CUDA driver that this process has loaded."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    found = re.search(r"/\S*/libcuda\.so\.\S+$", maps, re.MULTILINE)
    return found[0] if found else "libcuda.so.1"


def _release() -> str:
    """The release of the CUDA driver, which is in the name of its file."""
    found = re.search(r"/libcuda\.so\.(\d+(?:\.\d+)+)$", driver_file())
    return found[1] if found else "-"


def write(address: int, data: bytes) -> None:
    ctypes.memmove(address, data, len(data))


def read(address: int, size: int) -> bytes:
    return ctypes.string_at(address, size)
