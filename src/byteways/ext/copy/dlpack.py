"""Where the bytes of an array are that offers DLPack (https://dmlc.github.io/dlpack/latest/c_api.html)."""

from __future__ import annotations

import ctypes
from typing import Any

from byteways.base.errors import BytewaysError

#: DLDeviceType: kinds of memory of GPUs, and of hosts (plain, or pinned by either vendor).
_GPU_MEMORY = {2, 10, 13}  # kDLCUDA, kDLROCM, kDLCUDAManaged
_HOST_MEMORY = {1, 3, 11}  # kDLCPU, kDLCUDAHost, kDLROCMHost
#: DLDataTypeCode by number; others are named by it.
_TYPES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
_BOOL = 6
#: DLPACK_FLAG_BITMASK_READ_ONLY
_READ_ONLY = 1
#: What producers take for the legacy default stream: 1, but 0 for kDLROCM (array API, `__dlpack__`).
_DEFAULT_STREAMS = {10: 0}
_DEFAULT_STREAM = 1


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _VersionedTensor(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.argtypes, _pointer_in.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.argtypes, _is_capsule.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int


def from_dlpack(array: Any, stream: int) -> dict[str, Any]:
    """Returns the fields of an ArrayMemory. Its owner is the capsule, which frees itself.

    Args:
        array: An object with `__dlpack__` and `__dlpack_device__`.
        stream: Handle of the stream that will use the array; its producer orders it behind its own work.

    Raises:
        BytewaysError: The array is in a kind of memory that cannot be copied.
    """
    kind, number = (int(part) for part in array.__dlpack_device__())
    if kind not in _GPU_MEMORY | _HOST_MEMORY:
        raise BytewaysError(
            f"cannot copy an object of type {type(array).__name__}",
            cause=f"DLPack's device type {kind} is neither a host nor a GPU of CUDA or ROCm",
            hint="move it to the host first",
        )
    on_gpu = kind in _GPU_MEMORY
    asked = stream or _DEFAULT_STREAMS.get(kind, _DEFAULT_STREAM)
    capsule = _capsule(array, {"stream": asked} if on_gpu else {})
    versioned = _is_capsule(capsule, b"dltensor_versioned")
    address = _pointer_in(capsule, b"dltensor_versioned" if versioned else b"dltensor")
    managed = _VersionedTensor.from_address(address) if versioned else None
    tensor = managed.tensor if managed is not None else _Tensor.from_address(address)
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    name = (
        "bool" if tensor.code == _BOOL else f"{_TYPES.get(tensor.code, f'type{tensor.code}-')}{tensor.bits}"
    )
    return {
        "address": (tensor.data or 0) + tensor.byte_offset,
        "shape": shape,
        "dtype": name if tensor.lanes == 1 else f"{name}x{tensor.lanes}",
        "item_bytes": (tensor.bits * tensor.lanes + 7) // 8,
        "strides": strides,
        "writable": managed is None or not managed.flags & _READ_ONLY,
        "on_gpu": on_gpu,
        "gpu": number if on_gpu else None,
        "owner": capsule,
    }


def _capsule(array: Any, arguments: dict[str, int]) -> object:
    """Asks for the newer form, which says whether the array is read-only; older producers have the other."""
    try:
        return array.__dlpack__(max_version=(1, 0), **arguments)
    except TypeError:
        return array.__dlpack__(**arguments)
