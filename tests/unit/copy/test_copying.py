"""The copy library's Python layer, over a library of Python functions that copy within host memory."""

from __future__ import annotations

import array
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import byteways
from byteways import CopyError
from byteways.base.errors import BytewaysError
from byteways.ext.copy import native_library
from tests.unit.fake_copy_library import POINTERS, FakeCopyLibrary, installed

HEADER = Path(__file__).parents[3] / "native" / "copy_library" / "byteways_copy.h"
FLOATS = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCopyLibrary]:
    with installed(monkeypatch) as made:
        yield made


class Exporter:
    """An array that offers DLPack alone, of an older producer or a newer one.

    `device`: what it says of its memory, which is the host's. `streams`: those that it was asked for.
    """

    def __init__(self, data: np.ndarray, newer: bool, device: tuple[int, int] = (1, 0)) -> None:
        self._data, self._newer, self._device = data, newer, device
        self.streams: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, *, stream: Any = None, **arguments: Any) -> object:
        if arguments and not self._newer:
            raise TypeError("unexpected keyword")
        self.streams.append(stream)
        return self._data.__dlpack__(**arguments)


# --- the header


def test_the_headers_numbers() -> None:
    """Catches a code, method or reason that the header has under another number, or not at all."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    numbers = {name: int(value) for name, value in re.findall(r"\b(BW_[A-Z_]+) = (-?\d+)", text)}
    assert {name: code for name, code in numbers.items() if code < 0} == {
        name: code for name, (code, _) in native_library.ERRORS.items()
    }
    for prefix, names in (
        ("BW_METHOD_", native_library.COPY_METHODS),
        ("BW_FALLBACK_", native_library.COPY_FALLBACKS),
    ):
        listed = {name: code for name, code in numbers.items() if name.startswith(prefix)}
        words = {prefix + word.upper().replace("-", "_"): number for number, word in enumerate(names)}
        assert words == listed
        assert numbers[f"{prefix.rstrip('_')}S"] == len(names)
    assert re.search(r"#define BW_ABI (\d+)", text)[1] == str(native_library.ABI)  # type: ignore[index]


def test_the_library_that_was_built_is_loaded() -> None:
    """Catches a function that it does not export, and a file that is not beside the native core."""
    loaded = native_library.CopyLibrary(native_library.native_library(native_library.LIBRARY))
    assert loaded.functions["bw_error_text"](native_library.ERRORS["BW_OVERLAP"][0])


def test_another_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback of ctypes, and a call into a library of another version, which may crash."""
    with pytest.raises(BytewaysError) as missing:
        native_library.CopyLibrary(tmp_path / "none.so")
    assert missing.value.cause and missing.value.hint
    monkeypatch.setattr(native_library, "ABI", 99)
    with pytest.raises(BytewaysError, match="cannot be used"):
        native_library.CopyLibrary(native_library.native_library(native_library.LIBRARY))


# --- copy_


@pytest.mark.parametrize(
    ("dst", "src"),
    [
        (np.zeros_like(FLOATS), FLOATS),
        (bytearray(5), b"bytes"),
        (array.array("d", [0.0, 0.0]), np.array([1.5, 2.5])),
        (Exporter(np.zeros_like(FLOATS), True), FLOATS),
        (np.zeros_like(FLOATS), Exporter(FLOATS, False)),
        (np.zeros((2, 1, 3), dtype=bool), np.array([[[1, 0, 1]], [[0, 1, 1]]], dtype=bool)),
        (np.zeros((0, 3)), np.zeros((0, 3))),
    ],
)
def test_arrays_of_all_kinds(library: FakeCopyLibrary, dst: Any, src: Any) -> None:
    """Catches bytes that are left out, and a type that two packages name differently."""
    assert byteways.copy_(dst, src, stream=77) is dst
    assert bytes(getattr(dst, "_data", dst)) == bytes(getattr(src, "_data", src))
    ((_, _, _, stream, plan),) = library.named("bw_copy")
    assert (stream, plan) == (77, None)


def read_only(newer: bool = True) -> Exporter:
    data = FLOATS.copy()
    data.flags.writeable = False
    return Exporter(data, newer)


@pytest.mark.parametrize(
    ("dst", "src"),
    [
        (np.zeros((4, 3), np.float32), FLOATS),
        (np.zeros((3, 4)), FLOATS),
        (np.zeros((3, 4), ">f4"), FLOATS),
        (np.zeros((3, 4), np.int32), FLOATS),
        (np.zeros((3, 8), np.float32)[:, ::2], FLOATS),
        (np.zeros((4, 3), np.float32).T, FLOATS),
        (memoryview(bytearray(10))[::2], b"bytes"),
        (b"fives", b"bytes"),
        (read_only(), FLOATS),
        (3, FLOATS),
        (SimpleNamespace(__dlpack__=None, __dlpack_device__=lambda: (7, 0)), FLOATS),
    ],
)
def test_pairs_that_are_refused(library: FakeCopyLibrary, dst: Any, src: Any) -> None:
    """Catches a copy of other bytes than the caller means, or into memory that must not be written."""
    with pytest.raises(BytewaysError) as refused:
        byteways.copy_(dst, src)
    assert refused.value.hint and not library.calls


def test_an_array_of_a_gpu(library: FakeCopyLibrary) -> None:
    """Catches an address or strides of `__cuda_array_interface__` that are misread."""
    memory = np.zeros_like(FLOATS)
    interface = {"data": (memory.ctypes.data, False), "shape": (3, 4), "typestr": "<f4", "strides": (16, 4)}
    byteways.copy_(SimpleNamespace(__cuda_array_interface__=interface), FLOATS)
    assert (memory == FLOATS).all()


@pytest.mark.parametrize(
    ("device", "stream", "asked"),
    [((2, 0), None, 1), ((2, 0), 77, 77), ((10, 0), None, 0), ((3, 0), 77, None)],
)
def test_the_stream_that_a_producer_is_asked_for(
    library: FakeCopyLibrary, device: Any, stream: Any, asked: Any
) -> None:
    """Catches data that its producer still writes, and the default stream of the other vendor."""
    exporter = Exporter(FLOATS, True, device)
    byteways.copy_(np.zeros_like(FLOATS), exporter, stream=stream)
    assert exporter.streams == [asked]


# --- copy_blocks


def addresses(data: np.ndarray) -> np.ndarray:
    return data.ctypes.data + np.arange(len(data)) * data.strides[0]


@pytest.mark.parametrize("kind", [np.int64, np.uint64, "q"])
@pytest.mark.parametrize("sizes", [16, [16, 8, 0]])
def test_blocks(library: FakeCopyLibrary, kind: Any, sizes: Any) -> None:
    """Catches pointers that are swapped, and sizes of other blocks."""
    source, target = FLOATS.copy(), np.zeros_like(FLOATS)

    def numbers(values: Any) -> Any:
        return array.array("q", list(values)) if kind == "q" else np.array(values, dtype=kind)

    given = sizes if isinstance(sizes, int) else numbers(sizes)
    byteways.copy_blocks(numbers(addresses(target)), numbers(addresses(source)), given)
    for row, size in enumerate([sizes] * 3 if isinstance(sizes, int) else sizes):
        assert (target[row, : size // 4] == source[row, : size // 4]).all() and not target[
            row, size // 4 :
        ].any()


def test_vllms_order_of_arguments(library: FakeCopyLibrary) -> None:
    """Catches the cache overwritten by what it should be saved to."""
    source, target = FLOATS.copy(), np.zeros_like(FLOATS)
    sizes = np.full(3, 16)
    byteways.swap_blocks_batch(addresses(source), addresses(target), sizes, is_src_access_order_any=True)
    assert (source == FLOATS).all() and (target == FLOATS).all()


@pytest.mark.parametrize(
    "lists",
    [
        (POINTERS, POINTERS[:1], 16),
        (POINTERS, POINTERS, np.array([16])),
        (POINTERS, POINTERS, np.array([16, -1])),
        (POINTERS, POINTERS, array.array("q", [16, -1])),
        (POINTERS, POINTERS, -16),
        (POINTERS.astype(np.int32), POINTERS, 16),
        (POINTERS[::-1], POINTERS, 16),
        ([0x1000, 0x2000], POINTERS, 16),
    ],
)
def test_lists_that_are_refused(library: FakeCopyLibrary, lists: Any) -> None:
    """Catches a read beyond the end of a list, and a negative size, which C takes for a huge one."""
    with pytest.raises(BytewaysError) as refused:
        byteways.copy_blocks(*lists)
    assert refused.value.hint and not library.calls


@pytest.mark.parametrize("code", [-2, 700])
def test_a_copy_that_fails(library: FakeCopyLibrary, code: int) -> None:
    """Catches a failure that is not raised, or loses the driver's own code and the library's details."""
    library.codes["bw_copy_blocks_uniform"], library.detail = code, b"blocks 3 and 7"
    with pytest.raises(CopyError) as failed:
        byteways.copy_blocks(POINTERS, POINTERS, 16)
    assert (failed.value.code, failed.value.cause) == (code, "blocks 3 and 7")
    assert bool(failed.value.hint) == (code < 0)
    library.detail = b""
    with pytest.raises(CopyError) as failed:
        byteways.copy_blocks(POINTERS, POINTERS, 16)
    assert failed.value.cause == f"text of {code}"
