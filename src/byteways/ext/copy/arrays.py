"""Where the bytes of an array are, whoever made it: PyTorch, CuPy, NumPy, DLPack, or Python's own buffers."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.ext.copy.dlpack import from_dlpack
from byteways.ext.copy.frameworks import torch_module

#: Kinds of NumPy's type strings, and those of the formats of buffers (module struct).
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_FORMATS = {
    "?": "b",
    **dict.fromkeys("bhilqn", "i"),
    **dict.fromkeys("BHILQN", "u"),
    **dict.fromkeys("efd", "f"),
}


@dataclass(frozen=True)
class ArrayMemory:
    """The memory of an array.

    Attributes:
        address: Of its first element.
        shape: Elements in each dimension.
        dtype: Type of an element: `float16`, `int64`, or the array's own name of a rarer one.
        item_bytes: Size of an element.
        strides: Elements from one to the next in each dimension; None: one piece in C order.
        writable: Whether the array says that it may be written.
        on_gpu: Whether it is in the memory of a GPU.
        gpu: Number of that GPU in this process; None: unknown.
        owner: What keeps the address valid.
    """

    address: int
    shape: tuple[int, ...]
    dtype: str
    item_bytes: int
    strides: tuple[int, ...] | None
    writable: bool
    on_gpu: bool
    gpu: int | None
    owner: object

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return self.count * self.item_bytes

    @property
    def contiguous(self) -> bool:
        """Whether it is one piece in C order. Strides of dimensions with one element do not matter."""
        if self.strides is None or self.count == 0:
            return True
        expected = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length != 1 and stride != expected:
                return False
            expected *= length
        return True


def memory_of(array: Any, stream: int = 0) -> ArrayMemory:
    """Returns where the bytes of an array are.

    Args:
        array: A tensor of PyTorch, or an object with `__cuda_array_interface__`, `__array_interface__`,
            `__dlpack__` or the buffer protocol.
        stream: Handle of the stream that will use the array, for producers that order it behind their own.

    Raises:
        BytewaysError: It is none of them.
    """
    torch = torch_module()
    if torch is not None and isinstance(array, torch.Tensor):
        return _of_tensor(array)
    for name, on_gpu in (("__cuda_array_interface__", True), ("__array_interface__", False)):
        if (interface := getattr(array, name, None)) is not None:
            return _of_interface(array, interface, on_gpu)
    if hasattr(array, "__dlpack__"):
        return ArrayMemory(**from_dlpack(array, stream))
    try:
        view = memoryview(array)
    except TypeError as error:
        raise BytewaysError(
            f"cannot copy an object of type {type(array).__name__}",
            cause="it has neither __dlpack__, nor __cuda_array_interface__, nor the buffer protocol",
            hint="pass a tensor or an array",
        ) from error
    return _of_buffer(view)


def _of_tensor(tensor: Any) -> ArrayMemory:
    return ArrayMemory(
        address=tensor.data_ptr(),
        shape=tuple(tensor.shape),
        dtype=str(tensor.dtype).removeprefix("torch."),
        item_bytes=tensor.element_size(),
        strides=tensor.stride(),
        writable=True,
        on_gpu=tensor.is_cuda,
        gpu=tensor.device.index if tensor.is_cuda else None,
        owner=tensor,
    )


def _of_interface(array: Any, interface: dict[str, Any], on_gpu: bool) -> ArrayMemory:
    """https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html; NumPy's has the same keys."""
    address, read_only = interface["data"]
    order, kind, item_bytes = interface["typestr"][0], interface["typestr"][1], int(interface["typestr"][2:])
    strides = interface.get("strides")
    return ArrayMemory(
        address=address or 0,
        shape=tuple(interface["shape"]),
        dtype=_name(order, kind, item_bytes),
        item_bytes=item_bytes,
        strides=None if strides is None else tuple(_quotient(stride, item_bytes) for stride in strides),
        writable=not read_only,
        on_gpu=on_gpu,
        # The interface does not say which GPU; CuPy's arrays do.
        gpu=getattr(getattr(array, "device", None), "id", None) if on_gpu else None,
        owner=array,
    )


def _quotient(stride_bytes: int, item_bytes: int) -> int:
    """Elements in a stride; one that is no multiple of them, as in a record of NumPy, equals no other."""
    return stride_bytes // item_bytes if stride_bytes % item_bytes == 0 else -1


def _name(order: str, kind: str, item_bytes: int) -> str:
    """`float16` for <f2; types of the other byte order, and records, keep a name of their own."""
    if order == ">" or kind not in _KINDS:
        return f"{order}{kind}{item_bytes}"
    return "bool" if kind == "b" else f"{_KINDS[kind]}{8 * item_bytes}"


def _of_buffer(view: memoryview) -> ArrayMemory:
    order = view.format[0] if view.format[0] in "@=<>!" else "@"
    letter = view.format.removeprefix(order)
    kind = _FORMATS.get(letter, letter)
    return ArrayMemory(
        address=_address(view),
        shape=tuple(view.shape or ()),
        dtype=_name(">" if order in ">!" else "<", kind, view.itemsize),
        item_bytes=view.itemsize,
        strides=None if view.c_contiguous else _strides(view),
        writable=not view.readonly,
        on_gpu=False,
        gpu=None,
        owner=view,
    )


def _strides(view: memoryview) -> tuple[int, ...]:
    return tuple(_quotient(stride, view.itemsize) for stride in view.strides or ())


class _Buffer(ctypes.Structure):
    """Py_buffer."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("owner", ctypes.py_object),
        ("size", ctypes.c_ssize_t),
        ("item_size", ctypes.c_ssize_t),
        ("read_only", ctypes.c_int),
        ("dimensions", ctypes.c_int),
        ("format", ctypes.c_char_p),
        *((name, ctypes.c_void_p) for name in ("shape", "strides", "suboffsets", "internal")),
    )


#: PyBUF_FULL_RO: of any layout, perhaps read-only.
_ANY_LAYOUT = 0x11C


def _address(view: memoryview) -> int:
    """Where a buffer is. ctypes' own from_buffer() refuses what is read-only."""
    found = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(found), _ANY_LAYOUT)
    address: int | None = found.address
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(found))  # the view still holds the buffer
    return address or 0
