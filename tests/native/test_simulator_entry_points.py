"""The simulator as a library: it offers every function that the core looks for, and leans on no other."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from byteways import _core
from byteways.measuring.shared.simulator import simulator_path
from tests.native import simulated as toy

NATIVE = Path(__file__).parents[2] / "native"
TABLES = sorted([*NATIVE.glob("runtimes/*/*.def"), *NATIVE.glob("simulator/vendors/*.def")])

NO_DEVICE = 100


def dynamic_symbols(which: str) -> set[str]:
    """Names in the library's dynamic table; `which` as nm has it."""
    command = ["nm", "--dynamic", which, "--format=just-symbols", simulator_path()]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split("@")[0] for line in output.split()}


def rows(table: Path) -> list[str]:
    return re.findall(r"^BYTEWAYS_FUNCTION\(\w+, (\w+),", table.read_text("utf-8"), flags=re.MULTILINE)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_row_has_its_entry_point(table: Path) -> None:
    """Catches a row that was added to a table and that the simulator cannot answer."""
    assert set(rows(table)) <= dynamic_symbols("--defined-only")


def test_nothing_else_is_exported() -> None:
    """Catches C++ templates that another library's copies could take the place of."""
    assert dynamic_symbols("--defined-only") == {row for table in TABLES for row in rows(table)}


def test_entry_points_are_never_called_through_the_linker() -> None:
    """Catches an entry point that calls another: a real driver, loaded globally, would catch it."""
    vendor = re.compile(r"(cu|nvrtc|nvml|hip|hsa|bwsim_)[A-Z_]")
    assert not [name for name in dynamic_symbols("--undefined-only") if vendor.match(name)]


def library(sheet: str) -> Any:
    loaded = ctypes.CDLL(simulator_path())
    loaded.bwsim_last_error.restype = ctypes.c_char_p
    assert loaded.bwsim_load(sheet.encode()) == 0, loaded.bwsim_last_error()
    return loaded


def error(loaded: Any, number: int) -> tuple[str, str]:
    """Name and text of a CUDA error."""
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    assert loaded.cuGetErrorName(number, ctypes.byref(name)) == 0
    assert loaded.cuGetErrorString(number, ctypes.byref(text)) == 0
    return (name.value or b"").decode(), (text.value or b"").decode()


def test_a_vendors_machine_has_no_gpu_of_the_other() -> None:
    """Catches an AMD machine whose GPUs CUDA or NVML shows too, and the other way round."""

    def on_amd() -> list[int]:
        loaded = library(toy.amd())
        return [loaded.cuInit(0), loaded.nvmlInit_v2(), loaded.hipInit(0)]

    def on_nvidia() -> list[int]:
        loaded = library(toy.nvidia())
        return [loaded.cuInit(0), loaded.nvmlInit_v2(), loaded.hipInit(0)]

    driver_not_loaded = 9
    assert toy.apart(on_amd) == [NO_DEVICE, driver_not_loaded, 0]
    assert toy.apart(on_nvidia) == [0, 0, NO_DEVICE]


def test_errors_have_the_vendors_numbers_and_words() -> None:
    """Catches a code that doctor, a hint or an outcome would not recognise."""

    def scene() -> dict[str, Any]:
        loaded = library(toy.nvidia())
        context, device = ctypes.c_void_p(), ctypes.c_int()
        data, module = ctypes.c_void_p(), ctypes.c_void_p()
        codes = {"before": loaded.cuDeviceGet(ctypes.byref(device), 0)}
        loaded.cuInit(0)
        codes["ordinal"] = loaded.cuDeviceGet(ctypes.byref(device), 2)
        codes["context"] = loaded.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(64))
        loaded.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        loaded.cuCtxSetCurrent(context)
        codes["image"] = loaded.cuModuleLoadData(ctypes.byref(module), b"no image")
        codes["size"] = loaded.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(0))
        codes["memory"] = loaded.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(9 * toy.GIB))
        return {what: [code, *error(loaded, code)] for what, code in codes.items()}

    assert toy.apart(scene) == {
        "before": [3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"],
        "ordinal": [101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"],
        "context": [201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"],
        "image": [200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"],
        "size": [1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"],
        "memory": [2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"],
    }


def test_unknown_kernels_fail_as_with_the_driver() -> None:
    """Catches a kernel that the simulator makes up because its name was asked for."""

    def scene() -> list[int]:
        loaded = library(toy.nvidia())
        program, size, context = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p()
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        loaded.cuInit(0)
        loaded.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        loaded.cuCtxSetCurrent(context)
        codes = []
        for source in (b"int nothing;", b"BYTEWAYS_KERNEL(1024) copy(CopyArguments arguments) {}"):
            loaded.nvrtcCreateProgram(ctypes.byref(program), source, b"copy.cu", 0, None, None)
            codes.append(loaded.nvrtcCompileProgram(program, 0, None))
        loaded.nvrtcGetCUBINSize(program, ctypes.byref(size))
        image = ctypes.create_string_buffer(size.value)
        loaded.nvrtcGetCUBIN(program, image)
        codes.append(loaded.cuModuleLoadData(ctypes.byref(module), image))
        codes.append(loaded.cuModuleGetFunction(ctypes.byref(kernel), module, b"gate"))
        codes.append(loaded.cuModuleGetFunction(ctypes.byref(kernel), module, b"copy"))
        return codes

    compilation, not_found = 6, 500
    assert toy.apart(scene) == [compilation, 0, 0, not_found, 0]


def test_a_sheet_that_is_none_is_refused_with_the_reason() -> None:
    """Catches a machine that is played with what the simulator made of a typing mistake."""

    def scene() -> str:
        try:
            _core.Session(simulator=simulator_path(), machine=toy.nvidia(gpu__cuont=2))
        except _core.Error as error:
            return str(error)
        return ""

    assert "gpu.cuont" in toy.apart(scene)


def test_a_process_plays_one_machine() -> None:
    """Catches a second session whose host is one machine and whose GPUs are another."""

    def scene() -> list[bool]:
        _core.load_machine(simulator_path(), toy.nvidia())
        _core.load_machine(simulator_path(), toy.nvidia())
        try:
            _core.load_machine(simulator_path(), toy.amd())
        except _core.Error:
            return [True]
        return [False]

    assert toy.apart(scene) == [True]


def test_a_simulator_that_is_not_there() -> None:
    """Catches a crash, or a real machine in place of the simulated one."""
    with pytest.raises(_core.Error, match=r"the simulator is not there: /nowhere/sim\.so"):
        _core.Session(simulator="/nowhere/sim.so", machine=toy.nvidia())
